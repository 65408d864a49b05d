"""From a validated scene to the arrays of a model."""
