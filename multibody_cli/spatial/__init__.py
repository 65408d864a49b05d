"""Vectors, matrices, rotations and spatial values, in plain Python and in kernels."""
