"""Optimization: parameters of a scene with which an expression of the channels of a run is least."""
