"""The command line.

Each verb is a module of this folder that defines one click command named `verb`. A verb imports the simulation packages
when it is called, so that help and usage errors appear at once. To add a verb, add its module and its name to
`app.VERBS`.
"""
