"""Initial conditions: assembly of loops, checks of the start, and the initial state."""
