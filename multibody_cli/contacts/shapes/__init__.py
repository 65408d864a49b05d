"""Shapes against each other, one file a shape: each holds it against those before it in `GeomKind`.

A kernel takes the geoms A and B as `Shape` values, writes the contacts whose gap is below the margin from row n on, and
gives the number of the next row.  Normals lead from A to B.
"""
