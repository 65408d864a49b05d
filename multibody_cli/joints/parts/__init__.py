"""The numerics of the parts of joints: pose, motion subspace and bias of each kind, one file a kind.

Every method shares these.  A part is crossed in world axes: from the orientation of its inner frame it gives the
outer orientation R, the displacement d of the origin, the relative twist (spin, slip) at the outer origin and
the bias of that twist, and it writes its columns of S, in world axes about its outer origin.
"""
