"""Narrow-phase kernels by the shapes of a pair.

A kernel takes the geoms A and B as `Shape` values, writes the contacts with a gap below the margin from row n on, and
returns the next row.  Normals point from A to B.
"""
