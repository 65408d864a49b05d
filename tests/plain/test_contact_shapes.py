"""The tests of contacts of shapes, with kernels as plain Python."""

from __future__ import annotations

import test_contact_patches
import test_convex_gaps

test_cylinders_side_by_side = test_convex_gaps.test_cylinders_that_cross_and_cylinders_side_by_side
test_depths_of_hulls = test_convex_gaps.test_depths_of_hulls_against_all_their_faces_and_edges
globals().update({name: test for name, test in vars(test_contact_patches).items() if name.startswith("test_")})


def test_ellipsoids_that_are_spheres():
    """One pair at each distance: each takes a second as plain Python."""
    test_convex_gaps.require_gaps_of_spheres(4)
