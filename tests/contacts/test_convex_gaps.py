"""Gaps of convex shapes without a closed form against independent formulations."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
import supports
from geoms import SOME_FORMS, Pose, at, contacts_of, random_pose, surface_points, turned
from scipy.optimize import minimize

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.forms import box, capsule, cylinder, ellipsoid, hull, sphere

FORMS = {
    **SOME_FORMS,
    "disc": cylinder(1.0, 0.02),
    "rod": cylinder(0.02, 3.0),
    "lens": ellipsoid([1.0, 0.8, 0.05]),
    "brick": hull([(x, y, z) for x in (-0.4, 0.4) for y in (-0.2, 0.2) for z in (-0.1, 0.1)]),
    "ball of many faces": hull((lambda p: 0.4 * p / np.linalg.norm(p, axis=1)[:, None])(supports.WAYS[:200])),
}
NEW = {GeomKind.CYLINDER, GeomKind.ELLIPSOID, GeomKind.HULL}
PAIRS = [
    (one, other)
    for one, other in combinations_with_replacement(FORMS, 2)
    if {FORMS[one].kind, FORMS[other].kind} & NEW and {one, other} != {"sphere", "cylinder"}
]
pairs = pytest.mark.parametrize(("one", "other"), PAIRS, ids=["-".join(pair) for pair in PAIRS])
ORIGIN, ALONG_X = at(0.0, 0.0, 0.0), turned(0.0, np.pi / 2, 0.0)


def poses(seed, count):
    """Poses from deep in each other to far apart."""
    generator = np.random.default_rng(seed)
    for k in range(count):
        spread = (0.02, 0.3, 0.6, 1.5)[k % 4]
        yield random_pose(generator, spread), random_pose(generator, spread)


def nearest_of(contacts):
    return contacts[contacts["gap"].argmin()]


@pairs
def test_the_normal_maximizes_the_separation(one, other):
    """The gap equals the separation along its normal to round-off; no sampled direction has a larger separation."""
    form_a, form_b = FORMS[one], FORMS[other]
    for a, b in poses(1, 40):
        contact = nearest_of(contacts_of(form_a, a, form_b, b))
        along = supports.between(form_a, a, form_b, b, contact["normal"][None])[0]
        assert contact["gap"] == pytest.approx(along, abs=1e-12)
        assert contact["gap"] >= supports.between(form_a, a, form_b, b, supports.WAYS).max() - 1e-12


@pairs
def test_the_smallest_gap_is_the_signed_distance(one, other):
    form_a, form_b = FORMS[one], FORMS[other]
    for a, b in poses(2, 4):
        contact = nearest_of(contacts_of(form_a, a, form_b, b))
        assert contact["gap"] == pytest.approx(supports.gap(form_a, a, form_b, b), abs=1e-8)


@pairs
def test_the_ends_of_a_gap_are_points_of_both_shapes(one, other):
    """Both ends lie in their shapes, so the gap is an upper bound of the distance too, and therefore exact."""
    form_a, form_b = FORMS[one], FORMS[other]
    for a, b in poses(3, 40):
        contact = nearest_of(contacts_of(form_a, a, form_b, b))
        p, q = surface_points(contact)
        n = contact["normal"][None]
        assert n[0] @ p == pytest.approx(supports.reach(form_a, a, n)[0], abs=1e-9)
        assert -n[0] @ q == pytest.approx(supports.reach(form_b, b, -n)[0], abs=1e-9)
        if contact["gap"] > 0.0:
            assert (supports.WAYS @ p <= supports.reach(form_a, a, supports.WAYS) + 1e-9).all()
            assert (supports.WAYS @ q <= supports.reach(form_b, b, supports.WAYS) + 1e-9).all()


@pairs
def test_a_shift_by_the_depth_along_the_normal_ends_penetration(one, other):
    form_a, form_b = FORMS[one], FORMS[other]
    for a, b in poses(4, 20):
        contact = nearest_of(contacts_of(form_a, a, form_b, b))
        if contact["gap"] < 0.0:
            for share, sign in ((1.0 + 1e-6, 1.0), (1.0 - 1e-6, -1.0)):
                moved = Pose(b.x - share * contact["gap"] * contact["normal"], b.R)
                assert sign * nearest_of(contacts_of(form_a, a, form_b, moved))["gap"] > 0.0
            for way in supports.WAYS[:20]:
                moved = Pose(b.x - 0.999 * contact["gap"] * way, b.R)
                assert nearest_of(contacts_of(form_a, a, form_b, moved))["gap"] < 0.0


@pairs
def test_a_pair_is_detected_if_and_only_if_its_gap_is_below_the_margin(one, other):
    form_a, form_b = FORMS[one], FORMS[other]
    for a, b in poses(5, 40):
        gap = nearest_of(contacts_of(form_a, a, form_b, b))["gap"]
        if gap > 0.0:
            assert len(contacts_of(form_a, a, form_b, b, margin=gap + 1e-9)) >= 1
            assert len(contacts_of(form_a, a, form_b, b, margin=max(0.0, gap - 1e-9))) == 0


@pairs
def test_gaps_of_round_off_keep_distance_and_normal(one, other):
    """Where faces or round surfaces meet, the normal stays too; corners may be pushed along any between their faces."""
    form_a, form_b = FORMS[one], FORMS[other]
    round_ones = GeomKind.ELLIPSOID in (form_a.kind, form_b.kind)
    for a, b in poses(6, 8):
        first = nearest_of(contacts_of(form_a, a, form_b, b))
        if first["gap"] > 0.0:
            for gap in (1e-5, 1e-9, 1e-12, 0.0, -1e-15, -1e-12, -1e-9):
                moved = Pose(b.x + (gap - first["gap"]) * first["normal"], b.R)
                near = nearest_of(contacts_of(form_a, a, form_b, moved, margin=1e-3))
                along = supports.between(form_a, a, form_b, moved, near["normal"][None])[0]
                assert near["gap"] >= gap - 1e-12
                assert near["gap"] <= max(gap, 0.0) + 1e-9
                assert along == pytest.approx(near["gap"], abs=4e-8)
                if round_ones:
                    assert near["gap"] == pytest.approx(gap, abs=1e-12)
                    np.testing.assert_allclose(near["normal"], first["normal"], atol=1e-6)


def test_an_ellipsoid_near_a_sphere_is_a_point_on_its_normal():
    """The nearest point p of an ellipsoid to a center c: c = p + t grad, for a t that solves a sum of three squares."""
    form = ellipsoid([0.5, 0.3, 0.2])
    generator = np.random.default_rng(7)
    for _ in range(50):
        p = generator.normal(size=3)
        p *= np.array(form.size) / np.linalg.norm(p)
        outward = p / np.square(form.size)
        outward /= np.linalg.norm(outward)
        for gap in (0.7, 0.01, 0.0):
            world = random_pose(generator, 2.0)
            center = world.R @ (p + (0.1 + gap) * outward) + world.x
            (contact,) = contacts_of(sphere(0.1), at(*center), form, world)
            assert contact["gap"] == pytest.approx(gap, abs=1e-14)
            np.testing.assert_allclose(contact["normal"], -world.R @ outward, atol=1e-12)
            np.testing.assert_allclose(contact["point"], world.R @ (p + 0.5 * gap * outward) + world.x, atol=1e-12)


def require_gaps_of_spheres(count):
    """Of a number of pairs of ellipsoids whose axes are equal."""
    generator = np.random.default_rng(8)
    for a, b in poses(8, count):
        radii = generator.uniform(0.1, 0.5, 2)
        (contact,) = contacts_of(ellipsoid([radii[0]] * 3), a, ellipsoid([radii[1]] * 3), b)
        apart = b.x - a.x
        assert contact["gap"] == pytest.approx(np.linalg.norm(apart) - radii.sum(), abs=1e-14)
        np.testing.assert_allclose(contact["normal"], apart / np.linalg.norm(apart), atol=1e-13)


def test_ellipsoids_that_are_spheres():
    require_gaps_of_spheres(8)


def test_cylinders_that_cross_and_cylinders_side_by_side():
    for angle in (0.2, 1.0, np.pi / 2):
        contacts = contacts_of(cylinder(0.1, 2.0), ORIGIN, cylinder(0.2, 2.0), at(0.1, 0.5, 0, R=turned(0, angle, 0)))
        assert len(contacts) == 1
        assert contacts["gap"][0] == pytest.approx(0.2, abs=1e-15)
        np.testing.assert_allclose(contacts["normal"][0], [0.0, 1.0, 0.0], atol=1e-14)
    contacts = contacts_of(cylinder(0.1, 2.0), ORIGIN, cylinder(0.2, 2.0), at(0.0, 0.5, 1.5))
    np.testing.assert_allclose(contacts["gap"], 0.2, atol=1e-15)
    np.testing.assert_allclose(contacts["point"], [[0.0, 0.2, 0.5], [0.0, 0.2, 1.0]], atol=1e-14)


def test_a_hull_that_is_a_box_touches_all_as_the_box_does():
    brick, corners = box([0.8, 0.4, 0.2]), FORMS["brick"]
    for name in ("box", "cylinder", "ellipsoid", "hull"):
        for a, b in poses(9, 20):
            one, other = contacts_of(FORMS[name], a, brick, b), contacts_of(FORMS[name], a, corners, b)
            assert nearest_of(one)["gap"] == pytest.approx(nearest_of(other)["gap"], rel=2e-3, abs=1e-12)


def test_distances_of_hulls_against_quadratic_programs():
    """The nearest means of the vertices of both, with weights that are not negative."""
    form_a, form_b = FORMS["hull"], FORMS["brick"]
    apart = 0
    for a, b in poses(10, 24):
        contact = nearest_of(contacts_of(form_a, a, form_b, b))
        if contact["gap"] > 0.05:
            apart += 1
            p, q = form_a.vertices @ a.R.T + a.x, form_b.vertices @ b.R.T + b.x
            columns, count = np.vstack([p, -q]), len(p)
            solved = minimize(
                lambda w, columns=columns: (0.5 * (w @ columns) @ (w @ columns), columns @ (w @ columns)),
                np.r_[np.full(count, 1.0 / count), np.full(len(q), 1.0 / len(q))],
                jac=True, method="SLSQP", bounds=[(0.0, 1.0)] * len(columns), options={"ftol": 1e-15, "maxiter": 500},
                constraints=[
                    {"type": "eq", "fun": lambda w, c=count: w[:c].sum() - 1.0},
                    {"type": "eq", "fun": lambda w, c=count: w[c:].sum() - 1.0},
                ],
            )  # fmt: skip
            assert contact["gap"] == pytest.approx(np.linalg.norm(solved.x @ columns), abs=1e-6)
            ends = surface_points(contact)
            for form, pose, end in ((form_a, a, ends[0]), (form_b, b, ends[1])):
                assert supports.contains(form.vertices, pose.R.T @ (end - pose.x) * (1.0 - 1e-9))
    assert apart > 5


def test_depths_of_hulls_against_all_their_faces_and_edges():
    """Faces of the difference of two polyhedra are spanned by faces of either and by an edge of each."""
    form_a, form_b = FORMS["brick"], hull(np.random.default_rng(3).normal(0.0, 0.3, (8, 3)))
    deep = 0
    for a, b in poses(11, 60):
        contact = nearest_of(contacts_of(form_a, a, form_b, b))
        if contact["gap"] < 0.0:
            deep += 1
            edges_a, edges_b = (
                [(f.vertices[i] - f.vertices[j]) @ pose.R.T for i, j in combinations(range(len(f.vertices)), 2)]
                for f, pose in ((form_a, a), (form_b, b))
            )
            ways = [np.cross(u, v) for u, v in combinations(edges_a, 2)] + [
                np.cross(u, v) for u, v in combinations(edges_b, 2)
            ]
            ways = np.array(ways + [np.cross(u, v) for u in edges_a for v in edges_b])
            lengths = np.linalg.norm(ways, axis=1)
            ways = ways[lengths > 1e-9] / lengths[lengths > 1e-9, None]
            best = supports.between(form_a, a, form_b, b, np.vstack([ways, -ways])).max()
            assert contact["gap"] == pytest.approx(best, abs=1e-12)
    assert deep > 15


def test_capsules_against_hulls_are_segments_with_a_radius():
    generator = np.random.default_rng(12)
    for radius in (0.05, 0.5):
        a, b = random_pose(generator, 1.0), random_pose(generator, 1.0)
        thin, thick = (contacts_of(capsule(r, 1.0), a, FORMS["hull"], b) for r in (1e-9, radius))
        assert nearest_of(thick)["gap"] == pytest.approx(nearest_of(thin)["gap"] + 1e-9 - radius, abs=1e-12)


def test_distances_agree_with_coal():
    """Comparison with an independent library, for distances and depths of random pairs.

    It may miss the shortest way out, and fails for some round shapes: few of all, and where it does ours is shorter.
    """
    coal = pytest.importorskip("coal")

    def made(form):
        if form.kind is GeomKind.HULL:
            points = coal.StdVec_Vec3s()
            for p in form.vertices:
                points.append(p)
            return coal.Convex.convexHull(points, False, "")
        kinds = {
            GeomKind.SPHERE: lambda r: coal.Sphere(r),
            GeomKind.CAPSULE: lambda r, h: coal.Capsule(r, 2.0 * h),
            GeomKind.BOX: lambda x, y, z: coal.Box(2.0 * x, 2.0 * y, 2.0 * z),
            GeomKind.CYLINDER: lambda r, h: coal.Cylinder(r, 2.0 * h),
            GeomKind.ELLIPSOID: lambda a, b, c: coal.Ellipsoid(a, b, c),
        }
        return kinds[form.kind](*form.size)

    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    agreed = compared = 0
    for one, other in PAIRS:
        if {one, other} <= set(SOME_FORMS):
            form_a, form_b = FORMS[one], FORMS[other]
            shape_a, shape_b = made(form_a), made(form_b)
            for a, b in poses(13, 40):
                result = coal.DistanceResult()
                coal.distance(shape_a, coal.Transform3s(a.R, a.x), shape_b, coal.Transform3s(b.R, b.x), request, result)
                ours = nearest_of(contacts_of(form_a, a, form_b, b))["gap"]
                compared += 1
                agreed += abs(ours - result.min_distance) < 1e-7
                assert not ours < result.min_distance - 1e-7 or ours < -1e-3
    assert agreed > 0.95 * compared
