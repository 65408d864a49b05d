"""Gaps, normals and points of pairs in random poses against independent formulations."""

from __future__ import annotations

from itertools import combinations_with_replacement

import cores
import numpy as np
import pytest
from geoms import SOME_FORMS, Pose, at, contacts_of, random_pose, surface_points

from multibody_cli.contacts.forms import box, capsule, plane, sphere
from multibody_cli.contacts.shapes.box_box import nearest_points
from multibody_cli.contacts.shapes.separation import BIAS
from multibody_cli.contacts.shapes.switch import Shape
from multibody_cli.spatial.values import Mat3, Vec3

CORED = {"sphere": SOME_FORMS["sphere"], "capsule": SOME_FORMS["capsule"], "box": SOME_FORMS["box"]}
CORED |= {
    "rod": capsule(0.02, 3.0),
    "slab": box([3.0, 2.5, 0.1]),
    "needle": box([0.05, 0.04, 2.0]),
    "dot": sphere(0.01),
}
PAIRS = list(combinations_with_replacement(CORED, 2))
pairs = pytest.mark.parametrize(("one", "other"), PAIRS, ids=["-".join(pair) for pair in PAIRS])

WAYS = np.random.default_rng(1).normal(size=(2000, 3))
WAYS /= np.linalg.norm(WAYS, axis=1)[:, None]


def poses(seed, count):
    """Poses from deep in each other to far apart."""
    generator = np.random.default_rng(seed)
    for k in range(count):
        spread = (0.005, 0.2, 1.0, 2.0)[k % 4]
        yield random_pose(generator, spread), random_pose(generator, spread)


@pairs
def test_the_smallest_gap_is_the_signed_distance(one, other):
    form_a, form_b = CORED[one], CORED[other]
    for a, b in poses(2, 200):
        expected, contacts = cores.gap(form_a, a, form_b, b), contacts_of(form_a, a, form_b, b)
        smallest = contacts["gap"].min()
        assert smallest <= expected + 1e-8
        assert smallest >= expected * (1.0 + BIAS * (expected < 0.0)) - 2e-8


@pairs
def test_the_gap_along_the_normal_is_the_shortest_separation(one, other):
    """A displacement of B by minus the gap along the normal ends contact; no sampled direction needs clearly less."""
    form_a, form_b = CORED[one], CORED[other]
    deep = 0
    for a, b in poses(3, 120):
        contacts = contacts_of(form_a, a, form_b, b)
        worst = contacts[contacts["gap"].argmin()]
        if worst["gap"] < 0.0:
            deep += 1
            moved = Pose(b.x - worst["gap"] * worst["normal"], b.R)
            assert cores.way_out(form_a, a, form_b, moved, worst["normal"][None])[0] == pytest.approx(0.0, abs=1e-9)
            assert -worst["gap"] <= cores.way_out(form_a, a, form_b, b, WAYS).min() * (1.0 + BIAS) + 2e-8
    assert deep > 0


@pairs
def test_points_lie_between_points_of_both_surfaces(one, other):
    """The ends of the smallest gap of shapes that are apart are on A and on B."""
    form_a, form_b = CORED[one], CORED[other]
    for a, b in poses(4, 60):
        contacts = contacts_of(form_a, a, form_b, b)
        contact = contacts[contacts["gap"].argmin()]
        np.testing.assert_allclose(np.linalg.norm(contacts["normal"], axis=1), 1.0, atol=1e-14)
        if contact["gap"] > 0.0:
            p, q = surface_points(contact)
            assert cores.distance(form_a, a, sphere(1.0), at(*p)) == pytest.approx(
                cores.core_of(form_a, a)[2], abs=1e-8
            )
            assert cores.distance(form_b, b, sphere(1.0), at(*q)) == pytest.approx(
                cores.core_of(form_b, b)[2], abs=1e-8
            )


@pairs
def test_a_pair_is_detected_if_and_only_if_its_gap_is_below_the_margin(one, other):
    form_a, form_b = CORED[one], CORED[other]
    for a, b in poses(5, 60):
        expected = cores.gap(form_a, a, form_b, b)
        if expected > 0.0:
            assert len(contacts_of(form_a, a, form_b, b, margin=expected + 1e-7)) >= 1
            assert len(contacts_of(form_a, a, form_b, b, margin=max(0.0, expected - 1e-7))) == 0


def shape_of(form, pose):
    """A shape as kernels take it."""
    x, *columns = (Vec3(*map(float, v)) for v in (pose.x, *pose.R.T))
    return Shape(x, Mat3(*columns), Vec3(*form.size))


def test_nearest_points_of_separated_boxes():
    """Of all features, also of edges that cross: these are a tie with a face too seldom to be met above."""
    form_a, form_b = CORED["box"], box([0.2, 0.4, 2.0])
    apart = 0
    for a, b in poses(10, 400):
        expected = cores.distance(form_a, a, form_b, b)
        if expected > 1e-9:
            apart += 1
            p, q = map(np.array, nearest_points(shape_of(form_a, a), shape_of(form_b, b)))
            assert np.linalg.norm(q - p) == pytest.approx(expected, abs=1e-8)
            assert cores.distance(form_a, a, sphere(1.0), at(*p)) == pytest.approx(0.0, abs=1e-8)
            assert cores.distance(form_b, b, sphere(1.0), at(*q)) == pytest.approx(0.0, abs=1e-8)
    assert apart > 100


def surface_samples(form, count=20000):
    """Points of the surface of a shape, in its frame."""
    generator = np.random.default_rng(6)
    u = generator.normal(size=(count, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    if form is SOME_FORMS["ellipsoid"]:
        return u * form.size
    if form is SOME_FORMS["hull"]:
        return form.vertices
    if form is SOME_FORMS["cylinder"]:
        radius, half = form.size
        angle = generator.uniform(0.0, 2.0 * np.pi, count)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), generator.choice([-half, half], count)])
    _, G, radius = cores.core_of(form, at(0.0, 0.0, 0.0))
    return generator.choice([-1.0, 1.0], (count, G.shape[1])) @ G.T + radius * u


@pytest.mark.parametrize("name", SOME_FORMS)
def test_a_plane_touches_at_the_lowest_point(name):
    """No point of the surface is lower than the contact, which is a point of it (or as near as samples are dense)."""
    form, generator = SOME_FORMS[name], np.random.default_rng(7)
    samples = surface_samples(form)
    for _ in range(20):
        ground, body = random_pose(generator, 1.0), random_pose(generator, 1.0)
        contacts = contacts_of(plane(), ground, form, body)
        heights = (samples @ body.R.T + body.x - ground.x) @ ground.R[:, 2]
        lowest = contacts["gap"].min()
        assert lowest - 1e-12 <= heights.min() <= lowest + 5e-3
        for contact in contacts:
            p, q = surface_points(contact)
            np.testing.assert_allclose(contact["normal"], ground.R[:, 2], atol=1e-15)
            assert (p - ground.x) @ ground.R[:, 2] == pytest.approx(0.0, abs=1e-12)
            local = body.R.T @ (q - body.x)
            assert np.linalg.norm(samples - local, axis=1).min() < 0.06


def test_an_ellipsoid_touches_a_plane_where_its_tangent_is_parallel():
    form, generator = SOME_FORMS["ellipsoid"], np.random.default_rng(8)
    for _ in range(20):
        ground, body = random_pose(generator, 1.0), random_pose(generator, 1.0)
        (contact,) = contacts_of(plane(), ground, form, body)
        p = body.R.T @ (surface_points(contact)[1] - body.x)
        assert np.sum((p / form.size) ** 2) == pytest.approx(1.0, abs=1e-13)
        gradient = body.R @ (p / np.square(form.size))
        np.testing.assert_allclose(gradient / np.linalg.norm(gradient), -ground.R[:, 2], atol=1e-13)


def test_a_sphere_against_a_cylinder():
    """Outside, no sample of the cylinder is nearer; inside, the way out is the shorter one of side and ends."""
    form, generator = SOME_FORMS["cylinder"], np.random.default_rng(9)
    radius, half = form.size
    inside = 0
    for _ in range(300):
        a, b = random_pose(generator, 0.5), random_pose(generator, 0.5)
        (contact,) = contacts_of(sphere(0.1), a, form, b)
        p = b.R.T @ (a.x - b.x)
        rho = np.hypot(p[0], p[1])
        out = np.array([rho - radius, abs(p[2]) - half])
        expected = np.linalg.norm(out.clip(0.0)) if out.max() > 0.0 else out.max()
        inside += out.max() <= 0.0
        assert contact["gap"] == pytest.approx(expected - 0.1, abs=1e-14)
        q = b.R.T @ (surface_points(contact)[1] - b.x)
        on = np.array([np.hypot(q[0], q[1]) - radius, abs(q[2]) - half])
        assert on.max() == pytest.approx(0.0, abs=1e-14)
    assert 20 < inside < 280
