"""The command line.

A verb is a module of this folder that holds one click command, named `verb`; it imports what it needs when it
is called, so that help and wrong words are answered at once.  To add a verb: that module, and its name in
`app.VERBS`.
"""
