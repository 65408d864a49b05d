"""From YAML text to a tree of nodes with marks: includes, variables, templates, overrides.  Knows no physics."""
