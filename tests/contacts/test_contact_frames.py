"""Contacts under exchange of shapes, change of frame and motion, and in poses with undefined directions."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from geoms import SOME_FORMS, at, contacts_of, found, random_pose, smallest_gaps, turned
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.forms import Collider, geometry_of, plane
from multibody_cli.contacts.shapes.separation import BIAS

FORMS = {"plane": plane(), **SOME_FORMS}
NAMES = {form.kind: name for name, form in FORMS.items()}
PAIRS = [pair for pair in combinations_with_replacement(GeomKind, 2) if pair != (GeomKind.PLANE, GeomKind.PLANE)]
pairs = pytest.mark.parametrize(("kind_a", "kind_b"), PAIRS, ids=[f"{a.name}-{b.name}".lower() for a, b in PAIRS])
seeds = st.integers(0, 2**32 - 1)


def form_of(kind):
    return FORMS[NAMES[kind]]


def two_poses(seed):
    generator = np.random.default_rng(seed)
    spread = generator.choice([0.1, 0.5, 1.0])
    return random_pose(generator, spread), random_pose(generator, spread)


def test_every_pair_of_shapes_but_two_planes_is_tested():
    for kind_a, kind_b in product(GeomKind, GeomKind):
        contacts = contacts_of(form_of(kind_a), at(0.0, 0.0, 0.0), form_of(kind_b), at(0.0, 0.0, 0.1))
        assert (len(contacts) > 0) == ((min(kind_a, kind_b), max(kind_a, kind_b)) in PAIRS)


@pairs
@given(seed=seeds)
def test_exchanging_a_and_b_reverses_the_normal(kind_a, kind_b, seed):
    a, b = two_poses(seed)
    one = contacts_of(form_of(kind_a), a, form_of(kind_b), b)
    other = contacts_of(form_of(kind_b), b, form_of(kind_a), a)
    assert one["gap"].min() == pytest.approx(other["gap"].min(), rel=2 * BIAS, abs=1e-7)
    if kind_a != kind_b:
        for name in ("gap", "point", "feature"):
            np.testing.assert_array_equal(one[name], other[name])
        np.testing.assert_array_equal(one["normal"], -other["normal"])
    elif len(one) == len(other) == 1:  # otherwise another face may be the one that is looked at
        np.testing.assert_allclose(one["point"], other["point"], atol=1e-7)
        np.testing.assert_allclose(one["normal"], -other["normal"], atol=1e-7)


@pairs
@given(seed=seeds)
def test_contacts_move_with_the_world(kind_a, kind_b, seed):
    a, b = two_poses(seed)
    world = random_pose(np.random.default_rng(seed + 1), 3.0)
    here = contacts_of(form_of(kind_a), a, form_of(kind_b), b)
    there = contacts_of(form_of(kind_a), world.after(a), form_of(kind_b), world.after(b))
    np.testing.assert_array_equal(here["feature"], there["feature"])
    np.testing.assert_allclose(there["gap"], here["gap"], atol=1e-12)
    np.testing.assert_allclose(there["normal"], here["normal"] @ world.R.T, atol=1e-9)
    np.testing.assert_allclose(there["point"], here["point"] @ world.R.T + world.x, atol=1e-9)


@pairs
@given(seed=seeds)
def test_gaps_change_by_no_more_than_bodies_move(kind_a, kind_b, seed):
    """Also from apart to deep: B goes through A along a line, and turns."""
    generator = np.random.default_rng(seed)
    a, b = random_pose(generator, 0.1), random_pose(generator, 0.1)
    way, turn = generator.normal(size=3), generator.normal(size=3)
    form_a, form_b, steps = form_of(kind_a), form_of(kind_b), 200
    h = 4.0 / steps
    largest = (np.linalg.norm(way) + np.linalg.norm(turn) * form_b.bounding_radius) * h
    s = h * np.arange(steps) - 2.0
    gaps = smallest_gaps(
        form_a, a, form_b, b.x + np.outer(s, way), Rotation.from_rotvec(np.outer(s, turn)).as_matrix() @ b.R
    )
    bounds = largest * (1.0 + 1e-9) + 2.0 * BIAS * np.maximum(0.0, -gaps[1:]) + 1e-7
    assert (np.abs(np.diff(gaps)) <= bounds).all()


QUARTERS = [turned(*(np.pi / 2 * np.array(axis))) for axis in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]
DEGENERATE = [
    *(at(*(0.1 * k * np.array(way)), R=R) for k in range(12) for way in ((1, 0, 0), (0, 0, 1)) for R in QUARTERS),
    *(at(0.0, 0.0, z, R=turned(tilt, 0.0, 0.0)) for z in (0.0, 1.0) for tilt in (1e-300, 1e-160, 1e-17, 1e-9, np.pi)),
    at(1e-300, 0.0, 0.0), at(1e-160, 1e-160, 0.0), at(1e-17, 0.0, 0.0), at(1e6, 1e6, 1e6), at(1e150, 0.0, 0.0),
]  # fmt: skip


@pairs
def test_no_pose_gives_nan(kind_a, kind_b):
    for a, b in [(at(0.0, 0.0, 0.0), pose) for pose in DEGENERATE]:
        contacts = contacts_of(form_of(kind_a), a, form_of(kind_b), b)
        for name in ("gap", "point", "normal"):
            assert np.isfinite(contacts[name]).all(), (b, name)
        np.testing.assert_allclose(np.linalg.norm(contacts["normal"], axis=1), 1.0, atol=1e-12)


@pairs
def test_the_same_poses_give_the_same_bytes(kind_a, kind_b):
    a, b = two_poses(11)
    one, other = (contacts_of(form_of(kind_a), a, form_of(kind_b), b).tobytes() for _ in range(2))
    assert one == other


def test_a_geom_moves_with_its_body():
    """The frame of a geom in its body, and that of the body, one after the other."""
    generator = np.random.default_rng(12)
    for kind_a, kind_b in PAIRS:
        place, carrier = random_pose(generator, 0.4), random_pose(generator, 0.4)
        colliders = [Collider(form_of(kind_a), 1), Collider(form_of(kind_b), 2, place.x, place.R)]
        apart = found(geometry_of(colliders), [at(0.0, 0.0, 0.0), carrier])
        at_once = contacts_of(form_of(kind_a), at(0.0, 0.0, 0.0), form_of(kind_b), carrier.after(place))
        np.testing.assert_allclose(apart["gap"], at_once["gap"], atol=1e-13)


def test_a_contact_has_its_bodies_and_material():
    rough, smooth = Collider(FORMS["box"], 2, friction=0.9, restitution=0.1), Collider(FORMS["sphere"], 1, friction=0.4)
    contacts = found(geometry_of([rough, smooth]), [at(0.0, 0.0, 0.0), at(0.1, 0.0, 0.0)])
    (contact,) = contacts
    assert [contact[name] for name in ("geom_a", "geom_b", "body_a", "body_b")] == [0, 1, 2, 1]
    assert contact["friction"] == pytest.approx(0.6)
    assert contact["restitution"] == 0.1
    assert contact["mode"] == 0
    assert not contact["impulse"].any()
