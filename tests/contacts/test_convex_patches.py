"""Patches of convex shapes that stand, lie and lean on each other."""

from __future__ import annotations

import numpy as np
import pytest
from geoms import Pose, at, contacts_of, turned

from multibody_cli.contacts.forms import box, box_corners, box_faces, capsule, cylinder, ellipsoid, hull, polyhedron

ORIGIN, ALONG_X, ALONG_Y = at(0.0, 0.0, 0.0), turned(0.0, np.pi / 2, 0.0), turned(np.pi / 2, 0.0, 0.0)
CUBE = hull(box_corners([0.5, 0.5, 0.5]))
TABLE = box([4.0, 4.0, 1.0])
CAN = cylinder(0.5, 1.0)
WEDGE = hull([(x, y, 0.0) for x in (-1.0, 1.0) for y in (-0.5, 0.5)] + [(-1.0, 0.0, 1.0), (1.0, 0.0, 1.0)])
PRISM = hull([(np.cos(t), np.sin(t), z) for t in np.arange(40) * np.pi / 20 for z in (-0.5, 0.5)])
CORNERS = [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)]

# lower and upper shape, pose of the upper one where they touch, and how many points there are
STANDING = {
    "cylinder on box": (TABLE, CAN, at(0.3, 0.2, 1.0), 8),
    "box on cylinder": (cylinder(2.0, 1.0), box([1.0, 1.0, 1.0]), at(0.3, 0.2, 1.0), 4),
    "cylinder on hull": (hull(box_corners([2.0, 2.0, 0.5])), CAN, at(0.3, 0.2, 1.0), 8),
    "hull on box": (TABLE, CUBE, at(0.3, 0.2, 1.0, R=turned(0.0, 0.0, 0.4)), 4),
    "hull on hull": (CUBE, CUBE, at(0.0, 0.0, 1.0), 4),
    "hull turned on hull": (CUBE, CUBE, at(0.0, 0.0, 1.0, R=turned(0.0, 0.0, np.pi / 4)), 8),
    "hull on cylinder": (cylinder(2.0, 1.0), CUBE, at(0.2, 0.1, 1.0), 4),
    "cylinder on cylinder": (CAN, CAN, at(0.0, 0.0, 1.0), 8),
    "cylinder turned on cylinder": (CAN, CAN, at(0.0, 0.0, 1.0, R=turned(0.0, 0.0, 0.1)), 8),
    "small cylinder on large one": (cylinder(2.0, 1.0), CAN, at(0.4, 0.3, 1.0), 8),
    "large cylinder on small one": (CAN, cylinder(2.0, 1.0), at(0.0, 0.0, 1.0), 8),
    "many corners on box": (TABLE, PRISM, at(0.0, 0.0, 1.0), 8),
    "cylinder lying on box": (TABLE, CAN, at(0.3, 0.2, 1.0, R=ALONG_X), 2),
    "cylinder lying on hull": (CUBE, cylinder(0.1, 3.0), at(0.0, 0.2, 0.6, R=ALONG_X), 2),
    "capsule lying on hull": (CUBE, capsule(0.1, 3.0), at(0.0, 0.2, 0.6, R=ALONG_X), 2),
    "capsule lying on cylinder": (CAN, capsule(0.1, 3.0), at(0.0, 0.0, 0.6, R=ALONG_X), 2),
    "wedge on box": (TABLE, WEDGE, at(0.0, 0.0, 0.5), 4),
    "ridge on box": (TABLE, WEDGE, at(0.0, 0.0, 1.5, R=turned(np.pi, 0.0, 0.0)), 2),
    "ellipsoid on hull": (CUBE, ellipsoid([0.3, 0.2, 0.1]), at(0.2, 0.1, 0.6), 1),
    "ellipsoid on cylinder": (CAN, ellipsoid([0.3, 0.2, 0.1]), at(0.2, 0.1, 0.6), 1),
}
cases = pytest.mark.parametrize("case", STANDING)


def both_ways(lower, upper, pose, margin=0.01):
    """Contacts with the lower shape as A, and as B; normals from the lower to the upper one."""
    one = contacts_of(lower, ORIGIN, upper, pose, margin)
    other = contacts_of(upper, pose, lower, ORIGIN, margin)
    other["normal"] *= -1.0
    return one, other


@cases
@pytest.mark.parametrize("gap", [0.0, 1e-3, 1e-15, -1e-15, -1e-3])
def test_patches_have_equal_gaps_and_enclose_the_weight(case, gap):
    """All gaps are equal, all normals up, all features different, and the weight is over the patch."""
    lower, upper, pose, count = STANDING[case]
    for contacts in both_ways(lower, upper, Pose(pose.x + np.array([0.0, 0.0, gap]), pose.R)):
        assert len(contacts) == len(set(contacts["feature"])) == count
        np.testing.assert_allclose(contacts["gap"], gap, rtol=0.0, atol=1e-14)
        assert np.ptp(contacts["gap"]) <= 1e-14
        np.testing.assert_allclose(contacts["normal"], np.tile([0.0, 0.0, 1.0], (count, 1)), atol=1e-13)
        if count > 2:
            angles = np.sort(np.arctan2(*(contacts["point"] - contacts["point"].mean(axis=0)).T[[1, 0]]))
            assert np.diff([*angles, angles[0] + 2.0 * np.pi]).max() < np.pi


@cases
def test_round_off_of_a_pose_changes_no_patch(case):
    """Nothing but by round-off, for any tilt: neither normals, nor the outline, nor features."""
    lower, upper, pose, count = STANDING[case]
    still = contacts_of(lower, ORIGIN, upper, pose, 0.01)
    generator = np.random.default_rng(1)
    for noise in (1e-16, 1e-14, 1e-12):
        for _ in range(10):
            moved = Pose(pose.x + generator.normal(0.0, noise, 3), turned(*generator.normal(0.0, noise, 3)) @ pose.R)
            contacts = contacts_of(lower, ORIGIN, upper, moved, 0.01)
            assert len(contacts) == count
            np.testing.assert_allclose(contacts["gap"], 0.0, atol=1e-14 + 20 * noise)
            np.testing.assert_allclose(contacts["normal"], still["normal"], atol=1e-13 + 20 * noise)
            np.testing.assert_allclose(contacts["point"].mean(axis=0), still["point"].mean(axis=0), atol=0.05)


@pytest.mark.parametrize("case", ["cylinder on box", "hull on box", "hull on cylinder", "small cylinder on large one",
                                  "cylinder lying on box", "capsule lying on hull"])  # fmt: skip
def test_features_stay_when_it_moves_a_little(case):
    lower, upper, pose, count = STANDING[case]
    before = np.sort(contacts_of(lower, ORIGIN, upper, pose, 0.01), order="feature")
    generator = np.random.default_rng(2)
    for _ in range(50):
        moved = Pose(pose.x + generator.normal(0.0, 1e-4, 3), turned(*generator.normal(0.0, 1e-4, 3)) @ pose.R)
        after = contacts_of(lower, ORIGIN, upper, moved, 0.01)
        kept = np.sort(after[np.isin(after["feature"], before["feature"])], order="feature")
        assert list(kept["feature"]) == list(before["feature"])
        np.testing.assert_allclose(kept["point"], before["point"], atol=2e-3)
        assert len(after) <= count + 1  # and the lowest point


@cases
def test_a_tilted_shape_touches_at_its_lowest_point(case):
    """The smallest gap is the exact one at any tilt, and patches end without a jump of it."""
    lower, upper, pose, _ = STANDING[case]
    before = None
    for tilt in np.linspace(0.0, 0.3, 61):
        moved = Pose(pose.x, turned(0.7 * tilt, tilt, 0.0) @ pose.R)
        smallest = contacts_of(lower, ORIGIN, upper, moved, margin=5.0)["gap"].min()
        if before is not None:
            assert abs(smallest - before) <= 0.005 * 1.3 * 2.5
        before = smallest


def test_cylinders_side_by_side_and_along_edges_touch_at_both_ends():
    log = cylinder(0.1, 2.0)
    for other, x in ((log, 0.2), (capsule(0.1, 2.0), 0.2)):
        contacts = contacts_of(log, ORIGIN, other, at(x, 0.0, 0.5), margin=0.01)
        np.testing.assert_allclose(np.sort(contacts["point"][:, 2]), [-0.5, 1.0], atol=1e-14)
        np.testing.assert_allclose(contacts["gap"], 0.0, atol=1e-15)
    for edge in (CUBE, box([1.0, 1.0, 1.0])):
        contacts = contacts_of(cylinder(0.1, 0.5), at(0.56, 0.0, 0.58, R=ALONG_Y), edge, ORIGIN, margin=0.01)
        np.testing.assert_allclose(np.sort(contacts["point"][:, 1]), [-0.25, 0.25], atol=1e-12)
        np.testing.assert_allclose(contacts["normal"], [[-0.6, 0.0, -0.8]] * 2, atol=1e-12)
    ridges = contacts_of(WEDGE, ORIGIN, WEDGE, at(0.5, 0.0, 2.0, R=turned(np.pi, 0.0, 0.0)), margin=0.01)
    np.testing.assert_allclose(np.sort(ridges["point"][:, 0]), [-0.5, 1.0], atol=1e-12)
    np.testing.assert_allclose(ridges["gap"], 0.0, atol=1e-14)


def test_an_overhanging_can_touches_where_both_are():
    contacts = contacts_of(TABLE, ORIGIN, CAN, at(2.0, 0.0, 1.0), margin=0.01)
    assert contacts["point"][:, 0].max() == pytest.approx(2.0, abs=1e-8)
    assert contacts["point"][:, 0].min() == pytest.approx(1.5, abs=1e-12)
    assert (np.hypot(contacts["point"][:, 0] - 2.0, contacts["point"][:, 1]) <= 0.5 + 1e-8).all()


def test_a_tilted_can_rests_on_its_rim():
    tilt = 0.4
    height = 0.5 + 0.5 * np.cos(tilt) + 0.5 * np.sin(tilt)
    (contact,) = contacts_of(TABLE, ORIGIN, CAN, at(0.0, 0.0, height, R=turned(0.0, tilt, 0.0)), margin=1e-3)
    assert contact["gap"] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(contact["normal"], [0.0, 0.0, 1.0], atol=1e-14)


def test_a_box_as_triangles_has_six_faces():
    for subdivided in (2, 5):
        steps = np.linspace(-1.0, 1.0, subdivided)
        grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
        corners, faces = polyhedron(grid * [0.4, 0.3, 0.2] + np.random.default_rng(3).normal(0.0, 1e-9, grid.shape))
        assert len(faces) == 6
        assert [len(face.corners) for face in faces] == [4] * 6
        normals = np.array([face.normal for face in faces])
        np.testing.assert_allclose(np.abs(normals).max(axis=1), 1.0, atol=1e-6)
        for face in faces:
            loop = corners[list(face.corners)]
            turns = np.cross(np.roll(loop, -1, axis=0) - loop, np.roll(loop, -2, axis=0) - np.roll(loop, -1, axis=0))
            assert (turns @ face.normal > 0.0).all()


def test_faces_of_a_box_go_round_counterclockwise_and_are_numbered_as_its_sides():
    corners = box_corners([1.0, 2.0, 3.0])
    for number, face in enumerate(box_faces()):
        loop = corners[list(face.corners)]
        np.testing.assert_array_equal(face.normal, (1.0 if number % 2 else -1.0) * np.eye(3)[number // 2])
        np.testing.assert_array_equal(np.ptp(loop @ face.normal), 0.0)
        assert (loop @ face.normal > 0.0).all()
        assert (np.cross(loop - np.roll(loop, 1, axis=0), np.roll(loop, -1, axis=0) - loop) @ face.normal > 0.0).all()
