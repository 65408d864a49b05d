"""Paths through the hole of a torus: conditions of a shortest path, a boundary value problem, and special positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from force_scenes import moved, varied, wrenches
from geodesics import shortest, torus, ways_through
from wrapped import Path

from multibody_cli.cables.surface_kinds import follow

R, r = 0.3, 0.08
SHAPES = {"ring": (R, r), "thin": (0.3, 0.01), "thick": (0.3, 0.2)}
every_shape = pytest.mark.parametrize("shape", SHAPES)


def ring(shape: str = "ring", seed: int = 0) -> Path:
    major, minor = SHAPES[shape]
    return Path({"type": "torus", "major_radius": major, "minor_radius": minor}, seed=seed)


def ends(shape: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """Two points outside of a torus, m."""
    level = torus(*SHAPES[shape])
    points: list[Any] = []
    while len(points) < 2:
        point = rng.normal(size=3) * 0.6
        if level.value(point[:, None])[0] > 0.02:
            points.append(point)
    return points[0], points[1]


def arcs_of(path: Path) -> list[Any]:
    return [surface for surface in path.points.surfaces if surface["touches"]]


def along(surface: Any, parts: Any) -> tuple[Any, Any]:
    """Points and directions (3, n) of an arc at parts of its length, in the frame of the surface."""
    length, found = float(surface["arc"]), []
    for part in [*parts, 1.0]:
        surface["arc"] = part * length
        follow(surface)
        found.append((np.array(surface["end"]), np.array(surface["end_heading"])))
    return np.array([x for x, _ in found[:-1]]).T, np.array([t for _, t in found[:-1]]).T


def crosses_outside(line: Any, major: float) -> bool:
    """Whether a curve (3, n) crosses the plane of the ring outside of it."""
    crosses = np.nonzero(line[2, 1:] * line[2, :-1] < 0.0)[0]
    return bool((np.hypot(line[0, crosses], line[1, crosses]) > major).any())


def straight(a: Any, b: Any) -> Any:
    return a[:, None] + (b - a)[:, None] * np.linspace(0.0, 1.0, 2001)


def check_random_paths(shape: str, count: int, ways: int, least: int = 0) -> tuple[float, int]:
    """Check random paths; return the largest error of a length, m, and the number of paths with two arcs.

    Paths with fewer arcs than `least` are left out.

    Each line is straight outside of the tube and each arc a geodesic between its neighbors by the boundary value
    problem, nowhere hollow, so that no change of the path near it is shorter.  Nor is another geodesic through the
    hole, but for a thick tube, over which two ways may be locally shortest.  Newton's method may fail, with a warning.
    """
    rng, path, worst, twice, found, tried, refused = np.random.default_rng(7), ring(shape), 0.0, 0, 0, 0, 0
    (major, minor), level, nodes = SHAPES[shape], torus(*SHAPES[shape]), 60 if shape == "thick" else 40
    while found < count:
        a, b = ends(shape, rng)
        length, _, shortest_line = path.between(a, b)
        tried += 1
        if shortest_line < 0.0:
            refused += 1
            continue
        arcs = arcs_of(path)
        if len(arcs) < least:
            continue
        found, twice = found + (len(arcs) > 0), twice + (len(arcs) > 1)
        if not arcs:
            assert length == pytest.approx(np.linalg.norm(b - a), abs=1e-14)
        geodesics = [along(arc, np.linspace(0.0, 1.0, 30)) for arc in arcs]
        joints = [a, *(x for line, _ in geodesics for x in (line[:, 0], line[:, -1])), b]
        for begin, end in zip(joints[::2], joints[1::2], strict=True):
            assert level.value(straight(begin, end)).min() > -1e-6
            assert not crosses_outside(straight(begin, end), major)
        for k, (line, tangents) in enumerate(geodesics):
            assert not crosses_outside(line, major)
            assert (0.5 * minor**2 * level.curvature(line, tangents) > -1.01e-3).all()  # of that of the tube
            begin, end = joints[2 * k], joints[2 * k + 3]
            solved = shortest(level, begin, end, line + 0.01 * minor * rng.normal(size=(3, 1)), nodes)
            assert solved is not None
            lines = np.linalg.norm(line[:, 0] - begin) + np.linalg.norm(end - line[:, -1])
            worst = max(worst, abs(solved[0] - float(lines + arcs[k]["arc"])))
        for guess in ways_through(major, minor, a, b, ways) if arcs and shape != "thick" else ():
            other = shortest(level, a, b, guess)
            if other is not None and not any(
                crosses_outside(line, major) or level.value(line).min() < -1e-6
                for line in (straight(a, other[1]), other[3], straight(other[2], b))
            ):
                assert length < other[0] + 1e-9
    assert worst < 1e-9
    assert refused <= 2 + 0.002 * tried
    return worst, twice


@every_shape
def test_random_paths_are_shortest(shape):
    check_random_paths(shape, 10, 2)


@pytest.mark.parametrize("shape", ["ring", "thick"])
def test_paths_with_two_arcs_are_shortest(shape):
    _, twice = check_random_paths(shape, 4, 2, least=2)
    assert twice == 4


@pytest.mark.parametrize("shape", ["ring", "thin"])
@pytest.mark.nightly
def test_a_thousand_random_paths_are_shortest(shape):
    check_random_paths(shape, 1000, 6)


@every_shape
def test_a_path_does_not_cross_the_plane_of_the_ring_outside_and_turn_back(shape):
    """Below the outermost circle, an arc whose constant of Clairaut is beyond R - r turns back."""
    path = ring(shape)
    _, _, shortest_line = path.between([1.171, 0.031, 0.281], [-0.088, -0.705, -0.02])
    assert shortest_line > 0.0
    for arc in arcs_of(path):
        assert not crosses_outside(along(arc, np.linspace(0.0, 1.0, 60))[0], SHAPES[shape][0])


@every_shape
def test_random_paths_are_solved(shape):
    """Also those that leave a thick tube between two arcs; few fail that begin or end beside the plane of the ring."""
    rng, path = np.random.default_rng(7), ring(shape)
    refused = [points for points in (ends(shape, rng) for _ in range(2000)) if path.between(*points)[2] < 0.0]
    assert len(refused) <= 4
    assert all(min(abs(a[2]), abs(b[2])) < 0.06 for a, b in refused)


# --- continuity -------------------------------------------------------------------------------------------------------
MOTIONS = {
    "touch and release": ([-0.2, 0.05, 0.6], [-0.1, -0.1, -0.5], [1.0, 0.1, -0.05], {0, 1}),
    "two arcs join": ([0.9, 0.8, 0.15], [-0.25, -1.1, -0.2], [-0.9, -0.9, 0.0], {1, 2}),
}


@pytest.mark.parametrize("motion", MOTIONS)
def test_length_and_rate_are_continuous(motion):
    begin, end, out, counts = MOTIONS[motion]
    path, h, a, b, out = ring(), 1e-3, np.array(begin), np.array(end), np.array(out)
    path.work.bodies["v"], path.work.bodies["w"] = 0.0, 0.0
    for row in path.points.entries["row"][[0, -1]]:
        path.work.bodies["v"][row] = path.axes @ out
    found = []
    for s in np.arange(0.0, 1.2, h):
        length, rate, shortest_line = path.between(a + s * out, b + s * out)
        assert shortest_line > 0.0, (a, b, found)
        found.append((length, rate, len(arcs_of(path))))
    length, rate, arcs = np.array(found).T
    assert np.abs(np.diff(rate)).max() < 20.0 * h
    assert np.abs(np.diff(length) - h * 0.5 * (rate[1:] + rate[:-1])).max() < 5.0 * h * h
    assert {*arcs} == counts


@pytest.mark.parametrize("seed", range(12))
def test_stiffness_is_the_derivative(seed):
    rng, path = np.random.default_rng(seed), ring(seed=seed)
    wanted_arcs = 1 + seed % 2
    while True:
        path.between(*ends("ring", rng))
        arcs = arcs_of(path)
        if len(arcs) == wanted_arcs and min(arc["arc"] for arc in arcs) > 1e-2:
            break
    change = rng.normal(size=(len(path.work.bodies), 6))
    change[0] = 0.0
    system, work, h = path.system, path.work, 1e-5
    plus, minus = (wrenches(system, moved(work, change, s * h))[0] for s in (1.0, -1.0))
    wanted = (plus - minus) / (2.0 * h)
    found = varied(system, work, change, 1.0, 0.0, True)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * (1.0 + np.abs(wanted).max()))


# --- special positions ------------------------------------------------------------------------------------------------
def test_a_path_in_a_plane_of_the_axis_is_round_a_circle():
    """In the plane y = 0 the tube is a circle about [R, 0, 0], which the path passes on the side of the hole."""
    path = ring()
    length, _, _ = path.between([R - r, 0.0, 0.5], [R + 0.4, 0.0, -r])
    assert length == pytest.approx(0.5 + 0.4 + r * np.pi / 2, abs=1e-10)  # integrated
    (arc,) = arcs_of(path)
    np.testing.assert_allclose(path.local(arc["enter"]), [R - r, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(path.local(arc["leave"]), [R, 0.0, -r], atol=1e-12)
    length, _, _ = path.between([R + 0.3, 0.0, r], [R + 0.4, 0.0, -r])  # the plane of the ring is crossed outside
    assert length == pytest.approx(0.3 + 0.4 + r * np.pi, abs=1e-10)


def test_a_path_along_the_axis_or_through_the_hole_is_straight():
    path = ring()
    for a, b in (([0.0, 0.0, 0.5], [0.0, 0.0, -0.3]), ([0.05, 0.1, 0.5], [-0.1, 0.0, -0.3])):
        length, _, shortest_line = path.between(a, b)
        assert length == pytest.approx(np.linalg.norm(np.subtract(a, b)), abs=1e-15)
        assert shortest_line > 0.0
        assert not arcs_of(path)


def test_points_on_either_side_of_the_axis_have_symmetric_arcs():
    """Over the tube, straight through the middle of the hole, and under the tube."""
    path = ring()
    path.between([0.9, 0.0, 0.02], [-0.9, 0.0, -0.02])
    one, other = arcs_of(path)
    assert one["arc"] == pytest.approx(other["arc"], abs=1e-12)
    np.testing.assert_allclose(path.local(one["leave"]), -path.local(other["enter"]), atol=1e-9)
    assert one["after"] == pytest.approx(2.0 * np.sqrt(R * R - r * r), abs=1e-9)


def test_points_above_each_other_have_a_symmetric_arc():
    path = ring()
    path.between([0.2, 0.6, 0.3], [0.2, 0.6, -0.3])
    (arc,) = arcs_of(path)
    np.testing.assert_allclose(path.local(arc["enter"]), path.local(arc["leave"]) * [1, 1, -1], atol=1e-9)


def test_a_path_from_the_axis_to_a_point_is_in_their_plane():
    path = ring()
    path.between([0.0, 0.0, 0.4], [0.3, 0.4, -0.3])
    (arc,) = arcs_of(path)
    for lever in (arc["enter"], arc["leave"]):
        x, y, _ = path.local(lever)
        assert 0.4 * x == pytest.approx(0.3 * y, abs=1e-9)


@pytest.mark.parametrize("b", [[-0.9, 0.0, 0.0], [0.05, 0.0, 0.0]])
def test_a_path_in_the_plane_of_the_ring_has_a_length_and_a_warning(b):
    """From outside, over or under the tube is as short; where Newton's method fails, the path ignores the torus."""
    path = ring()
    length, _, shortest_line = path.between([0.9, 0.0, 0.0], b)
    assert shortest_line < 0.0
    assert np.isfinite(length)
    assert length > np.linalg.norm(np.subtract([0.9, 0.0, 0.0], b)) - 1e-12


def test_a_point_within_the_tube_warns():
    path = ring()
    _, _, shortest_line = path.between([R, 0.01, 0.0], [0.0, 0.7, 0.3])
    assert shortest_line < 0.0


def test_a_warning_does_not_outlast_its_position():
    """That of the second arc, which has a record of its own."""
    path = ring()
    path.points.surfaces["doubtful"] = 1
    _, _, shortest_line = path.between([0.9, 0.0, 0.02], [-0.9, 0.0, -0.02])
    assert shortest_line > 0.0


@pytest.mark.parametrize("minor", [0.25, 0.29])
def test_a_hole_that_is_nearly_closed_is_passed(minor):
    """In a plane of the axis, beside the closed form."""
    path = Path({"type": "torus", "major_radius": R, "minor_radius": minor})
    length, _, _ = path.between([R - minor, 0.0, 0.5], [R + 0.4, 0.0, -minor])
    assert length == pytest.approx(0.5 + 0.4 + minor * np.pi / 2, abs=1e-9)
