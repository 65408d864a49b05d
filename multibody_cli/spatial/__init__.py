"""Vectors, matrices, rotations and spatial values, for plain Python and for kernels."""
