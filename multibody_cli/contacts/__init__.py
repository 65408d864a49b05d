"""The geometry of contact: which shapes of bodies are near each other, and at which points they touch."""
