"""Scene documents: YAML text, includes, variables, templates and overrides; independent of mechanics."""
