"""From the text of a scene to the arrays of a model."""
