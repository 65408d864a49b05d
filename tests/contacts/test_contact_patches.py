"""Contacts with points, normals and gaps in closed form: single contacts and patches."""

from __future__ import annotations

import numpy as np
import pytest
from geoms import at, contacts_of, found, random_pose, surface_points, turned

from multibody_cli.contacts.forms import (
    Collider,
    box,
    capsule,
    cylinder,
    ellipsoid,
    geometry_of,
    hull,
    plane,
    sphere,
)

DOWN_X, ALONG_X, ALONG_Y = turned(0.0, np.pi, 0.0), turned(0.0, np.pi / 2, 0.0), turned(np.pi / 2, 0.0, 0.0)
GROUND, ORIGIN = (plane(), at(0.0, 0.0, 0.0)), at(0.0, 0.0, 0.0)
CUBE = box([1.0, 1.0, 1.0])


def close(actual, expected, atol=1e-15):
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=atol)


# form and pose of A, form and pose of B, then gap, normal and point of the only contact
SINGLE = {
    "sphere on plane": (*GROUND, sphere(0.5), at(1.0, 2.0, 0.7), 0.2, (0, 0, 1), (1.0, 2.0, 0.1)),
    "sphere in plane": (*GROUND, sphere(0.5), at(0.0, 0.0, 0.4), -0.1, (0, 0, 1), (0.0, 0.0, -0.05)),
    "two spheres": (sphere(1.0), ORIGIN, sphere(0.5), at(0.0, 2.0, 0.0), 0.5, (0, 1, 0), (0.0, 1.25, 0.0)),
    "spheres in one place": (sphere(1.0), ORIGIN, sphere(0.5), ORIGIN, -1.5, (0, 0, 1), (0.0, 0.0, 0.25)),
    "sphere at a capsule": (sphere(0.2), at(1.0, 0.0, 0.5), capsule(0.3, 2.0), ORIGIN, 0.5, (-1, 0, 0), (0.55, 0, 0.5)),
    "sphere over a capsule": (sphere(0.2), at(0, 0, 2.0), capsule(0.3, 2.0), ORIGIN, 0.5, (0, 0, -1), (0, 0, 1.55)),
    "sphere in a capsule": (sphere(0.2), ORIGIN, capsule(0.3, 2.0), ORIGIN, -0.5, (1, 0, 0), (-0.05, 0, 0)),
    "crossed capsules": (
        capsule(0.1, 2.0), ORIGIN, capsule(0.2, 2.0), at(0.0, 0.5, 0.0, R=ALONG_X), 0.2, (0, 1, 0), (0.0, 0.2, 0.0),
    ),
    "capsules that meet": (
        capsule(0.1, 2.0), ORIGIN, capsule(0.2, 2.0), at(0.0, 0.0, 0.0, R=ALONG_X), -0.3, (0, 1, 0), (0.0, -0.05, 0.0),
    ),
    "capsules in line": (capsule(0.1, 2.0), ORIGIN, capsule(0.2, 2.0), at(0, 0, 3.0), 0.7, (0, 0, 1), (0, 0, 1.45)),
    "sphere at a face": (sphere(0.2), at(1.0, 0.1, 0.2), CUBE, ORIGIN, 0.3, (-1, 0, 0), (0.65, 0.1, 0.2)),
    "sphere at an edge": (
        sphere(0.2), at(0.8, 0.9, 0.2), CUBE, ORIGIN, 0.3, (-0.6, -0.8, 0), (0.59, 0.62, 0.2),
    ),
    "sphere at a corner": (
        sphere(0.1), at(0.7, 0.7, 0.6), CUBE, ORIGIN, 0.2, (-2 / 3, -2 / 3, -1 / 3),
        (0.5 + 0.2 / 3, 0.5 + 0.2 / 3, 0.5 + 0.1 / 3),
    ),
    "sphere in a box": (sphere(0.1), at(0.1, 0.0, -0.3), CUBE, ORIGIN, -0.3, (0, 0, 1), (0.1, 0, -0.35)),
    "sphere amid a box": (sphere(0.1), ORIGIN, CUBE, ORIGIN, -0.6, (-1, 0, 0), (0.2, 0, 0)),
    "capsule standing on a box": (capsule(0.1, 1.0), at(0.1, 0, 1.2), CUBE, ORIGIN, 0.1, (0, 0, -1), (0.1, 0, 0.55)),
    "capsule across an edge": (
        capsule(0.1, 2.0), at(0.8, 0.9, 0.0, R=turned(0.0, 0.0, np.arctan2(4, 3)) @ ALONG_Y), CUBE, ORIGIN,
        0.4, (-0.6, -0.8, 0), (0.62, 0.66, 0.0),
    ),
    "capsule into a face": (capsule(0.1, 1.0), at(0.1, 0, 0.9), CUBE, ORIGIN, -0.2, (0, 0, -1), (0.1, 0, 0.4)),
    "edges of boxes that cross": (
        box([1.0, 1.0, 4.0]), at(0, 0, 0, R=turned(0, 0, np.pi / 4)), box([4.0, 1.0, 1.0]),
        at(0.0, 2.0, 0.0, R=turned(np.pi / 4, 0, 0)), 2.0 - np.sqrt(2.0), (0, 1, 0), (0.0, 1.0, 0.0),
    ),
    "corner of a box over another": (
        CUBE, ORIGIN, CUBE, at(1.5, 1.5, 1.5), np.sqrt(0.75), (3**-0.5,) * 3, (0.75, 0.75, 0.75),
    ),
    "sphere on the end of a cylinder": (
        sphere(0.2), at(0.3, 0, 1.0), cylinder(0.5, 1.0), ORIGIN, 0.3, (0, 0, -1), (0.3, 0, 0.65),
    ),
    "sphere beside a cylinder": (
        sphere(0.2), at(0, 1.0, 0.1), cylinder(0.5, 1.0), ORIGIN, 0.3, (0, -1, 0), (0, 0.65, 0.1),
    ),
    "sphere at the rim of a cylinder": (
        sphere(0.2), at(0.8, 0, 0.9), cylinder(0.5, 1.0), ORIGIN, 0.3, (-0.6, 0, -0.8), (0.59, 0, 0.62),
    ),
    "sphere amid a cylinder": (sphere(0.2), ORIGIN, cylinder(0.5, 2.0), ORIGIN, -0.7, (-1, 0, 0), (0.15, 0, 0)),
    "ellipsoid on plane": (*GROUND, ellipsoid([0.3, 0.2, 0.1]), at(0, 0, 0.5, R=ALONG_X), 0.2, (0, 0, 1), (0, 0, 0.1)),
}  # fmt: skip


@pytest.mark.parametrize("case", SINGLE)
def test_one_point(case):
    form_a, a, form_b, b, gap, normal, point = SINGLE[case]
    (contact,) = contacts_of(form_a, a, form_b, b, margin=max(gap, 0.0) + 0.1)
    close(contact["gap"], gap, 1e-14)
    close(contact["normal"], normal, 1e-14)
    close(contact["point"], point, 1e-14)


def test_a_box_stands_on_four_corners_and_lies_on_all_that_are_near():
    standing = contacts_of(*GROUND, CUBE, at(0.0, 0.0, 0.5), margin=0.01)
    assert len(standing) == 4
    close(standing["gap"], 0.0)
    assert {tuple(p) for p in standing["point"]} == {(x, y, 0.0) for x in (-0.5, 0.5) for y in (-0.5, 0.5)}
    assert len(set(standing["feature"])) == 4
    assert len(contacts_of(*GROUND, CUBE, at(0.0, 0.0, 0.5), margin=2.0)) == 8
    tilted = contacts_of(*GROUND, CUBE, at(0.0, 0.0, 0.5, R=turned(0.1, 0.0, 0.0)), margin=0.01)
    assert len(tilted) == 2


@pytest.mark.parametrize("gap", [1e-3, 0.0, -1e-3, -0.2])
@pytest.mark.parametrize("height", [1.0, 0.1, 30.0])
def test_stacked_boxes_touch_in_four_corners_with_equal_gaps(height, gap):
    brick = box([1.0, 1.0, height])
    contacts = contacts_of(brick, ORIGIN, brick, at(0.0, 0.0, height + gap), margin=0.01)
    if -gap < height:
        assert len(contacts) == 4
        close(contacts["gap"], gap, 1e-15 * max(1.0, height))
        close(np.ptp(contacts["gap"]), 0.0, 1e-15)
        close(contacts["normal"], np.tile([0.0, 0.0, 1.0], (4, 1)))
        close(np.sort(contacts["point"][:, :2].sum(axis=1)), [-1.0, 0.0, 0.0, 1.0])


def test_a_tower_has_four_contacts_a_storey_despite_round_off():
    generator = np.random.default_rng(3)
    count = 10
    colliders = [Collider(plane()), *(Collider(CUBE, k + 1) for k in range(count))]
    for noise in (0.0, 1e-16, 1e-14, 1e-12, 1e-10):
        poses = [
            at(*generator.normal((0.0, 0.0, k + 0.5), noise), R=turned(*generator.normal(0.0, noise, 3)))
            for k in range(count)
        ]
        contacts = found(geometry_of(colliders), poses, margin=0.01)
        assert len(contacts) == 4 * count
        close(contacts["gap"], 0.0, 1e-14 + 8 * noise)
        close(contacts["normal"], np.tile([0.0, 0.0, 1.0], (4 * count, 1)), 1e-14 + 8 * noise)
        assert set(contacts["geom_b"] - contacts["geom_a"]) == {1}


def test_features_of_a_stack_stay_when_it_moves_a_little():
    """Also where the face that is cut changes from one box to the other."""
    before = np.sort(contacts_of(CUBE, ORIGIN, CUBE, at(0.2, 0.1, 1.0), margin=0.01), order="feature")
    assert len(set(before["feature"])) == 4
    for k in range(50):
        generator = np.random.default_rng(k)
        moved = at(*generator.normal((0.2, 0.1, 1.0), 1e-4), R=turned(*generator.normal(0.0, 1e-4, 3)))
        after = contacts_of(CUBE, ORIGIN, CUBE, moved, margin=0.01)
        kept = np.sort(after[np.isin(after["feature"], before["feature"])], order="feature")
        assert list(kept["feature"]) == list(before["feature"])
        close(kept["point"], before["point"], 2e-3)
        assert len(after) <= 5  # and a point between edges that cross


def test_an_overhanging_box_touches_where_both_are():
    contacts = contacts_of(CUBE, ORIGIN, CUBE, at(0.75, 0.0, 1.0), margin=0.01)
    assert len(contacts) == 4
    assert sorted(np.round(contacts["point"][:, 0], 6)) == [0.25, 0.25, 0.5, 0.5]


def test_boxes_turned_on_each_other_touch_in_an_octagon():
    contacts = contacts_of(CUBE, ORIGIN, CUBE, at(0.0, 0.0, 1.0, R=turned(0.0, 0.0, np.pi / 4)), margin=0.01)
    assert len(contacts) == 8
    close(contacts["gap"], 0.0)
    close(np.linalg.norm(contacts["point"][:, :2], axis=1), 0.5 / np.cos(np.pi / 8), 1e-8)
    assert len(set(contacts["feature"])) == 8


def test_a_small_box_on_a_large_box_touches_at_its_corners():
    small, large = box([0.2, 0.2, 0.2]), box([5.0, 5.0, 1.0])
    for contacts in (
        contacts_of(large, ORIGIN, small, at(1.0, -2.0, 0.6), margin=0.01),
        contacts_of(small, at(1.0, -2.0, 0.6), large, ORIGIN, margin=0.01),
    ):
        assert {tuple(p) for p in np.round(contacts["point"], 8)} == {
            (x, y, 0.5) for x in (0.9, 1.1) for y in (-2.1, -1.9)
        }
        close(contacts["gap"], 0.0)


def test_coincident_boxes_separate_along_the_shortest_axis():
    contacts = contacts_of(box([1.0, 2.0, 3.0]), ORIGIN, box([1.0, 2.0, 3.0]), ORIGIN)
    close(contacts["gap"].min(), -1.0)
    close(contacts["normal"], np.tile([1.0, 0.0, 0.0], (len(contacts), 1)))


def test_a_capsule_lies_on_two_points():
    contacts = contacts_of(*GROUND, capsule(0.1, 2.0), at(0, 0, 0.1, R=ALONG_X), margin=0.01)
    close(np.sort(contacts["point"][:, 0]), [-1.0, 1.0])
    close(contacts["gap"], 0.0, 1e-15)
    assert len(contacts_of(*GROUND, capsule(0.1, 2.0), at(0, 0, 1.1), margin=0.01)) == 1


@pytest.mark.parametrize("gap", [0.005, 0.0, -0.05, -0.15])
@pytest.mark.parametrize("tilt", [0.0, 1e-17, 1e-12])
def test_a_capsule_on_a_box_touches_at_both_ends_of_what_lies_on_it(gap, tilt):
    pose = at(0.0, 0.2, 0.6 + gap, R=turned(0, tilt, 0) @ ALONG_X)
    long = contacts_of(capsule(0.1, 3.0), pose, CUBE, ORIGIN, margin=0.01)
    close(np.sort(long["point"][:, 0]), [-0.5, 0.5], 1e-12)
    short = contacts_of(capsule(0.1, 0.5), pose, CUBE, ORIGIN, margin=0.01)
    close(np.sort(short["point"][:, 0]), [-0.25, 0.25], 1e-12)
    for contacts in (long, short):
        close(contacts["gap"], gap, 1e-11)
        close(contacts["normal"], [[0.0, 0.0, -1.0]] * 2, 1e-11)


def test_a_capsule_along_an_edge_of_a_box_touches_at_both_ends():
    contacts = contacts_of(capsule(0.1, 0.5), at(0.56, 0.0, 0.58, R=ALONG_Y), CUBE, ORIGIN, margin=0.01)
    close(np.sort(contacts["point"][:, 1]), [-0.25, 0.25], 1e-12)
    close(contacts["gap"], 0.0, 1e-15)
    close(contacts["normal"], [[-0.6, 0.0, -0.8]] * 2, 1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-17, 1e-6, 0.01])
def test_capsules_side_by_side_touch_at_both_ends_of_their_overlap(angle):
    log = capsule(0.1, 2.0)
    contacts = contacts_of(log, ORIGIN, log, at(0.0, 0.2, 0.5, R=turned(angle, 0.0, 0.0)), margin=0.02)
    assert len(contacts) == 2
    close(np.sort(contacts["point"][:, 2]), [-0.5, 1.0], 3.0 * angle + 1e-15)
    assert len(contacts_of(log, ORIGIN, log, at(0.0, 0.2, 0.5, R=turned(0.0, 0.3, 0.0)), margin=0.001)) == 1


@pytest.mark.parametrize("tilt", [0.0, 1e-14, 1e-9])
def test_a_standing_cylinder_has_contacts_on_all_sides(tilt):
    contacts = contacts_of(*GROUND, cylinder(0.5, 2.0), at(0, 0, 1.0, R=turned(tilt, tilt, 0)), margin=0.01)
    close(contacts["gap"], 0.0, 1e-15 + 2 * tilt)
    angles = np.sort(np.arctan2(contacts["point"][:, 1], contacts["point"][:, 0]))
    assert len(angles) >= 8
    assert np.diff([*angles, angles[0] + 2 * np.pi]).max() <= np.pi / 4 + 1e-8
    close(np.linalg.norm(contacts["point"][:, :2], axis=1), 0.5, 1e-8)


def test_a_lying_cylinder_has_two_contacts_and_a_tilted_one_has_one():
    lying = contacts_of(*GROUND, cylinder(0.5, 2.0), at(0, 0, 0.5, R=ALONG_X), margin=0.01)
    close(np.sort(lying["point"][:, 0]), [-1.0, 1.0])
    close(lying["gap"], 0.0, 1e-15)
    tilt = 0.4
    (point,) = contacts_of(*GROUND, cylinder(0.5, 2.0), at(0, 0, 1.12, R=turned(0, tilt, 0)), margin=0.01)
    close(point["gap"], 1.12 - np.cos(tilt) - 0.5 * np.sin(tilt), 1e-15)


def test_a_disc_that_rolls_on_its_rim_keeps_the_feature_of_its_lowest_point():
    features = set()
    for turn in np.linspace(0.0, 6.0, 40):
        contacts = contacts_of(*GROUND, cylinder(0.5, 0.02), at(0, 0, 0.4, R=turned(1.0, 0, 0) @ turned(0, 0, turn)))
        features.add(int(contacts["feature"][contacts["gap"].argmin()]))
    assert len(features) == 1


def test_a_hull_touches_at_the_corners_of_its_outline():
    """Very many vertices within the margin: the lowest, and every corner of the outline."""
    generator = np.random.default_rng(4)
    for angle in np.linspace(0.0, 1.5, 7):
        corners = np.array([(x, y, 0.0) for x in (-2.0, 2.0) for y in (-1.0, 1.0)]) @ turned(0, 0, angle).T
        inner = generator.uniform(0.0, 1.0, (300, 4))
        inner = (inner / inner.sum(axis=1)[:, None]) @ corners
        inner[:, 2] = 1e-4 * ((inner[:, :2] @ turned(0, 0, angle)[:2, :2] / [2.0, 1.0]) ** 2 - 1.0).sum(
            axis=1
        )  # a bowl
        contacts = contacts_of(*GROUND, hull([*corners, *inner, (0.0, 0.0, 3.0)]), ORIGIN, margin=0.01)
        outer = np.abs(contacts["point"] @ turned(0, 0, angle))[:, :2]
        assert sum(np.allclose(point, [2.0, 1.0]) for point in outer) == 4
        assert len(contacts) == len(set(contacts["feature"])) <= 9


@pytest.mark.parametrize("sides", [12, 200])
def test_a_hull_on_a_plane_touches_at_its_lowest_corner_and_the_outermost_ones_within_the_margin(sides):
    """Few and many corners, flat on the plane, tilted and above it, against the definition."""
    generator, margin = np.random.default_rng(8), 0.02
    angles = 2.0 * np.pi * np.arange(sides) / sides
    form = hull([(np.cos(t), np.sin(t), z) for t in angles for z in (-0.5, 0.5)])
    turns = [np.eye(3), turned(np.pi / 2, 0.0, 0.0), turned(0.0, 0.01, 0.0), *(turned(*v) for v in np.eye(3))]
    turns += [random_pose(generator, 0.0).R for _ in range(10)]
    for R in turns:
        for gap in (-0.03, 0.0, 0.01, 0.03):
            heights = form.vertices @ R[2]
            z = gap - heights.min()
            contacts = contacts_of(*GROUND, form, at(0.3, -0.2, z, R=R), margin)
            near = np.flatnonzero(heights + z < margin)
            around = np.pi / 4 * np.arange(8)
            ways = np.array([(np.cos(angle), np.sin(angle), 0.0) for angle in around]) @ R
            if gap >= margin:
                assert len(contacts) == 0
                continue
            assert heights[contacts["feature"][0]] == pytest.approx(heights.min(), abs=1e-14)
            assert set(contacts["feature"].tolist()) <= set(near.tolist())
            for way in ways:
                reach = form.vertices @ way
                assert reach[contacts["feature"]].max() == pytest.approx(reach[near].max(), abs=1e-12)
            assert len(contacts) == len(set(contacts["feature"].tolist())) <= 9
            np.testing.assert_allclose(contacts["gap"], heights[contacts["feature"]] + z, atol=1e-12)


def test_a_hull_that_is_a_box_touches_as_the_box_does():
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.3, 0.3) for z in (-0.2, 0.2)]
    for R in (turned(0.0, 0.0, 0.3), turned(0.004, 0.003, 1.0), turned(1.0, 0.2, 0.0)):
        pose = at(1.0, 2.0, 0.201, R=R)
        block = contacts_of(*GROUND, box([1.0, 0.6, 0.4]), pose, margin=0.02)
        same = contacts_of(*GROUND, hull(corners), pose, margin=0.02)
        close(sorted(map(tuple, same["point"])), sorted(map(tuple, block["point"])), 1e-14)


def test_points_of_patches_lie_between_the_surfaces():
    tilted = at(0.1, 0.2, 1.0, R=turned(0.002, 0.001, 0.3))
    for contact in contacts_of(CUBE, ORIGIN, CUBE, tilted, margin=0.02):
        p, q = surface_points(contact)
        close(p[2], 0.5, 1e-12)
        close((tilted.R.T @ (q - tilted.x))[2], -0.5, 1e-9)
    for contact in contacts_of(CUBE, tilted, CUBE, ORIGIN, margin=0.02):
        p, q = surface_points(contact)
        close((tilted.R.T @ (p - tilted.x))[2], -0.5, 1e-5)
        close(q[2], 0.5, 1e-5)


@pytest.mark.parametrize("seed", range(40))
def test_no_two_points_of_a_rocking_box_coincide(seed):
    """Whichever axis is the best, edges that meet have one point with one normal."""
    rng = np.random.default_rng(seed)
    tilt = 10.0 ** rng.uniform(-9, -1) * rng.normal(size=2)
    gap = 10.0 ** rng.uniform(-8, -2)
    upper = at(*rng.uniform(-0.8, 0.8, 2), 1.0 + gap, R=turned(*tilt, 0.0) @ turned(0.0, 0.0, rng.uniform(-3, 3)))
    contacts = contacts_of(CUBE, ORIGIN, CUBE, upper, margin=0.5)
    points = contacts["point"]
    apart = np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(len(points), 1)]
    assert len(points) > 1
    assert apart.min() > 1e-3
    assert len(set(contacts["feature"])) == len(points)
