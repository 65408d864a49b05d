"""Static equilibrium and steady motion of scenes: the question, the answer by names, and its files."""
