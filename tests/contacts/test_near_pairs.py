"""The broad phase: all near pairs and no others, in order, at a cost that grows with their number alone."""

from __future__ import annotations

import numpy as np
import pytest
from geoms import at, bodies_at, found
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.contacts.detect import detect
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
from multibody_cli.contacts.grid import FEW
from multibody_cli.contacts.shapes.switch import contact_points, place_geoms
from multibody_cli.contacts.work import CONTACTS_OVERFLOW, FITS, PAIRS_OVERFLOW, detection_workspace_for, grown
from multibody_cli.spec.rotations import quaternion_of_vector, rotation_matrix

BALL = sphere(0.5)


def pairs_of(geometry, poses, margin=0.0):
    """The pairs of the broad phase, and its number of distance tests."""
    work = detection_workspace_for(geometry, pairs=len(geometry.geoms) ** 2, contacts=0)
    detect(geometry, bodies_at(poses), margin, work)
    return [tuple(map(int, pair)) for pair in work.pairs[: work.counted[0]]], int(work.counted[1])


def cloud(count, generator):
    """Places of balls of one size, evenly dense in a cube."""
    return [at(*x) for x in generator.uniform(0.0, count ** (1 / 3), (count, 3))]


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 40) | st.integers(FEW - 3, FEW + 60),
    spread=st.sampled_from([0.3, 3.0, 1e3]),
    places=st.sampled_from(["anywhere", "on a lattice", "on a lattice, of one size", "far away"]),
)
def test_near_pairs_are_those_of_the_exhaustive_search(seed, count, spread, places):
    """Few geoms, which are on one level, and more; on a lattice, centers are on the planes between cells."""
    generator = np.random.default_rng(seed)
    radii = 10.0 ** generator.uniform(-3.0, 0.5, count)
    positions = generator.uniform(-spread, spread, (count, 3))
    if places.startswith("on a lattice"):
        radii, positions = 2.0 ** np.floor(np.log2(radii)), (4.0 * positions / spread).round() * spread / 4.0
    if places.endswith("of one size"):
        radii[:] = spread / 8.0
    if places == "far away":
        positions += [1e5, -1e6, 1e7]
    poses = [at(*x) for x in positions]
    floor = [Collider(plane(), position=(0.0, 0.0, -0.5 * spread))]
    geometry = geometry_of([*(Collider(sphere(r), k + 1) for k, r in enumerate(radii)), *floor])
    margin = float(generator.choice([0.0, 0.1]))
    expected = []
    for i in range(count):
        near = ((positions - positions[i]) ** 2).sum(axis=1) < (radii + radii[i] + margin) ** 2
        expected += [(i, int(j)) for j in np.flatnonzero(near) if j > i]
        if poses[i].x[2] + 0.5 * spread < radii[i] + margin:
            expected.append((i, count))
    assert pairs_of(geometry, poses, margin)[0] == expected


FORMS = (
    lambda size: sphere(size[0]),
    lambda size: capsule(size[0], size[1]),
    lambda size: box(size),
    lambda size: cylinder(size[0], size[1]),
    lambda size: ellipsoid(size),
    lambda size: hull(np.random.default_rng(1).normal(size=(12, 3)) * size + [0.5, 0.0, 0.0]),
)


@given(seed=st.integers(0, 2**32 - 1))
def test_pairs_with_contacts_have_near_boxes(seed):
    """No pair that the bounding boxes leave out has a contact; special orientations and margins as well."""
    generator = np.random.default_rng(seed)
    kinds = generator.integers(0, len(FORMS), 2)
    forms = [FORMS[kind](10.0 ** generator.uniform(-2.0, 0.3, 3)) for kind in kinds]
    turns = [rotation_matrix(quaternion_of_vector(generator.choice([0.0, np.pi / 2, 1.0], 3).tolist())) for _ in forms]
    geometry = geometry_of([Collider(form, k + 1, rotation=turns[k]) for k, form in enumerate(forms)])
    poses = [at(0.0, 0.0, 0.0), at(*generator.normal(size=3))]
    margin = float(generator.choice([0.0, 0.3]))
    work = detection_workspace_for(geometry)
    place_geoms(geometry.geoms, bodies_at(poses), work.placed)
    touching = contact_points(0, 1, geometry, margin, work, work.contacts, 0) > 0
    near, _ = pairs_of(geometry, poses, margin)
    assert near == [(0, 1)] or not touching


def test_boxes_separate_what_spheres_do_not():
    """Two rods side by side, at any angle about the axis between them."""
    for angle in (0.0, 0.3, np.pi / 2):
        turned = rotation_matrix(quaternion_of_vector([angle, 0.0, 0.0]))
        rods = [Collider(box([0.1, 2.0, 0.1]), 1), Collider(capsule(0.05, 2.0), 2, rotation=turned)]
        floor = Collider(plane(), position=(0.0, 0.0, -1.2))
        for distance, expected in ((0.09, [(0, 1)]), (0.11, [])):
            found, _ = pairs_of(geometry_of(rods), [at(0.0, 0.0, 0.0), at(distance, 0.0, 0.0)])
            assert found == expected
        pairs, _ = pairs_of(geometry_of([*rods[:1], floor]), [at(0.0, 0.0, 0.0)])
        assert pairs == []


def growth(comparisons, counts):
    """Exponent of the growth."""
    return np.polyfit(np.log(counts), np.log(comparisons), 1)[0]


@pytest.mark.parametrize("extra", [0, 1], ids=["balls of one size", "and a slab below all of them"])
def test_the_number_of_tests_grows_linearly_with_bodies(extra):
    counts, comparisons = (512, 4096, 32768), []  # a side twice as long each time
    for count in counts:
        poses = cloud(count, np.random.default_rng(1))
        side = count ** (1 / 3)
        slab = [Collider(box([side, side, 1.0]), position=(side / 2, side / 2, -0.5))] * extra
        geometry = geometry_of([*(Collider(BALL, k + 1) for k in range(count)), *slab])
        work = detection_workspace_for(geometry, pairs=20 * count, contacts=0)
        detect(geometry, bodies_at(poses), 0.0, work)
        comparisons.append(work.counted[1])
    assert 0.95 < growth(comparisons, counts) < 1.1
    assert comparisons[-1] < 40 * counts[-1]


def test_sizes_of_different_magnitude_need_few_tests():
    """Tiny grains in the cells of a few boulders: compared with the boulders and with their neighbors only."""
    counts, comparisons = (4096, 32768), []
    for count in counts:
        generator = np.random.default_rng(2)
        grains = [at(*x) for x in generator.uniform(0.0, 1e-3 * count ** (1 / 3), (count, 3))]
        boulders = [at(1e3 * k, 0.0, -1e3) for k in range(3)]
        forms = [sphere(5e-4)] * count + [sphere(500.0)] * 3
        geometry = geometry_of([Collider(form, k + 1) for k, form in enumerate(forms)])
        work = detection_workspace_for(geometry, pairs=20 * count, contacts=0)
        detect(geometry, bodies_at(grains + boulders), 0.0, work)
        comparisons.append(work.counted[1])
    assert 0.95 < growth(comparisons, counts) < 1.1


def test_excluded_pairs_do_not_touch():
    """With all bodies in one place, exactly the pairs that are not excluded are detected."""
    colliders = [
        Collider(BALL, 0),  # 0
        Collider(BALL, 0),  # 1 same body as 0
        Collider(BALL, 1, weld=0),  # 2 never moves, and neither does the ground
        Collider(BALL, 2),  # 3
        Collider(BALL, 2),  # 4 same body as 3
        Collider(BALL, 3, group=2),  # 5 not with its own group
        Collider(BALL, 4, group=2),  # 6
        Collider(BALL, 5, group=4, mask=8),  # 7 with nobody here
        Collider(BALL, 6, group=4, mask=2),  # 8 with 5 and 6, whose masks do not name its group
    ]
    geometry = geometry_of(colliders, excluded=[(2, 0), (3, 4), (1, 3)])
    pairs, _ = pairs_of(geometry, [at(0.0, 0.0, 0.0)] * 6)
    of_default = [(0, 5), (0, 6), (1, 5), (1, 6), (2, 3), (2, 4), (2, 6), (3, 5), (3, 6), (4, 5), (4, 6)]
    assert pairs == [*of_default, (5, 8), (6, 8)]


@given(seed=st.integers(0, 2**32 - 1))
def test_groups_are_those_of_contype_and_conaffinity(seed):
    """The rule of MuJoCo, for all pairs of balls in one place."""
    generator = np.random.default_rng(seed)
    group, mask = (generator.integers(0, 2**32, 12) & generator.integers(0, 2**32, 12) for _ in range(2))
    sparse = generator.random(12) < 0.5
    group[sparse] &= 0x10001
    mask[sparse] &= 0x80001
    colliders = [Collider(BALL, k + 1, group=int(group[k]), mask=int(mask[k])) for k in range(12)]
    pairs, _ = pairs_of(geometry_of(colliders), [at(0.0, 0.0, 0.0)] * 12)
    assert pairs == [(i, j) for i in range(12) for j in range(i + 1, 12) if (group[i] & mask[j]) | (group[j] & mask[i])]


def test_many_excluded_pairs_are_all_known():
    generator = np.random.default_rng(3)
    excluded = {tuple(map(int, np.sort(generator.choice(20, 2, replace=False) + 1))) for _ in range(100)}
    geometry = geometry_of([Collider(BALL, k + 1) for k in range(20)], excluded)
    pairs, _ = pairs_of(geometry, [at(0.0, 0.0, 0.0)] * 20)
    assert set(pairs) == {(i, j) for i in range(20) for j in range(i + 1, 20)} - {(i - 1, j - 1) for i, j in excluded}


def test_small_tables_are_reported_and_grow():
    poses = cloud(60, np.random.default_rng(4))
    geometry = geometry_of([Collider(BALL, k + 1) for k in range(60)])
    expected = found(geometry, poses, margin=0.1)
    assert len(expected) > 20
    small = detection_workspace_for(geometry, pairs=len(expected), contacts=3)
    count, overflow = detect(geometry, bodies_at(poses), 0.1, small)
    assert (count, overflow) == (len(expected), CONTACTS_OVERFLOW)
    np.testing.assert_array_equal(np.array(small.contacts), expected[:3])
    work = detection_workspace_for(geometry, pairs=2, contacts=1)
    count, overflow = detect(geometry, bodies_at(poses), 0.1, work)
    assert overflow == PAIRS_OVERFLOW | CONTACTS_OVERFLOW
    while overflow != FITS:
        work = grown(geometry, work, count, overflow)
        count, overflow = detect(geometry, bodies_at(poses), 0.1, work)
    np.testing.assert_array_equal(np.array(work.contacts[:count]), expected)


def test_contacts_are_ordered_by_their_geoms_wherever_the_world_is():
    poses = cloud(200, np.random.default_rng(5))
    geometry = geometry_of([Collider(BALL, k + 1) for k in range(200)])
    names = None
    for shift in (0.0, 0.37, -1234.5):
        contacts = found(geometry, [at(*(pose.x + shift)) for pose in poses], margin=0.1)
        pairs = list(zip(contacts["geom_a"], contacts["geom_b"], strict=True))
        assert pairs == sorted(pairs)
        assert names is None or pairs == names
        names = pairs


def test_distant_pairs_are_detected():
    geometry = geometry_of([Collider(BALL, k + 1) for k in range(4)])
    poses = [at(1e14, 0.0, -1e15), at(1e14, 0.5, -1e15), at(1e200, 0.0, 0.0), at(0.0, 0.0, 0.0)]
    assert pairs_of(geometry, poses)[0] == [(0, 1)]
