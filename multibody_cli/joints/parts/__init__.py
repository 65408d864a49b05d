"""Numerics of the parts of joints: pose, motion subspace and bias of each kind, one module per kind.

All methods share these.  A part is evaluated in world axes: from the orientation of its inner frame, it computes the
outer orientation R, the displacement d of the origin, the relative twist (spin, slip) at the outer origin and the bias
of that twist, and writes its columns of S, in world axes about its outer origin.
"""
