"""Paths over surfaces: lengths against a boundary value problem, touch and release, and special positions."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from force_scenes import INERTIA, element_in, moved, varied, wrenches
from geodesics import quadric, sections, shortest
from loops import loaded
from scipy.integrate import quad
from scipy.special import ellipe
from wrapped import Path

from multibody_cli.cables.lines import length_of, measure
from multibody_cli.compile import compile_scene
from multibody_cli.tree.workspace import workspace_for

RADIUS = 0.3
RADII = {"ball": np.full(3, RADIUS), "ellipsoid": np.array([0.3, 0.2, 0.25]), "egg": np.array([0.2, 0.2, 0.35])}
SURFACES: dict[str, dict[str, Any]] = {
    "sphere": {"type": "sphere", "radius": RADIUS},
    "cylinder": {"type": "cylinder", "radius": RADIUS},
    **{name: {"type": "ellipsoid", "radii": radii.tolist()} for name, radii in RADII.items()},
}
LEVELS = {
    "sphere": quadric(np.full(3, RADIUS**-2)),
    "cylinder": quadric(np.array([RADIUS**-2, RADIUS**-2, 0.0])),
    **{name: quadric(radii**-2.0) for name, radii in RADII.items()},
}
every_surface = pytest.mark.parametrize("kind", SURFACES)
round_surface = pytest.mark.parametrize("kind", ["sphere", "cylinder", "ball"])


def path_over(kind: str, side: tuple[float, float, float] | None = None, seed: int = 0) -> Path:
    return Path(SURFACES[kind], side, seed)


def outside(kind: str, rng: np.random.Generator) -> Any:
    """A point outside of a surface, m."""
    while True:
        point = rng.normal(size=3) * 0.6
        if LEVELS[kind].value(point[:, None])[0] > 0.02:
            return point


def meets(kind: str, a: Any, b: Any) -> bool:
    """Whether the line between two points cuts the surface."""
    line = a[:, None] + (b - a)[:, None] * np.linspace(0.0, 1.0, 401)
    return bool(LEVELS[kind].value(line).min() < -1e-3)


def near_geodesics(kind: str, a: Any, b: Any) -> Any:
    """Curves (3, n) from which the boundary value problem is solved."""
    if kind in RADII:
        return sections(RADII[kind], a, b)
    line = a[:, None] + (b - a)[:, None] * np.linspace(0.0, 1.0, 4001)
    inside = line[:, LEVELS[kind].value(line) < 0.0]
    inside = inside[:, np.linspace(0, inside.shape[1] - 1, 30).astype(int)]
    scale = np.array([[1.0], [1.0], [0.0 if kind == "cylinder" else 1.0]])
    return [inside * (1.0 - scale) + scale * inside / np.sqrt(1.0 + LEVELS[kind].value(inside))]


def check_random_paths(kind: str, count: int) -> None:
    rng, path, found = np.random.default_rng(7), path_over(kind), 0
    while found < count:
        a, b = outside(kind, rng), outside(kind, rng)
        length, _, _ = path.between(a, b)
        if not meets(kind, a, b):
            assert not path.surface["touches"] or length > np.linalg.norm(b - a)
            continue
        ways = [way for line in near_geodesics(kind, a, b) if (way := shortest(LEVELS[kind], a, b, line)) is not None]
        if not ways or min(way[0] for way in ways) > length + 1e-3:  # round the other side
            continue
        found += 1
        solved = min(ways, key=lambda way: way[0])
        assert path.surface["touches"] == 1
        assert path.surface["doubtful"] == 0
        assert length == pytest.approx(solved[0], abs=1e-9)
        np.testing.assert_allclose(path.local(path.surface["enter"]), solved[1], atol=1e-6)
        np.testing.assert_allclose(path.local(path.surface["leave"]), solved[2], atol=1e-6)


@every_surface
def test_random_paths_are_geodesics(kind):
    check_random_paths(kind, 40)


@every_surface
@pytest.mark.nightly
def test_a_thousand_random_paths_are_geodesics(kind):
    check_random_paths(kind, 1000)


@every_surface
@pytest.mark.parametrize(("side", "end"), [(None, 2.0), ((0.8, 0.6, 0.0), 1.2)])
def test_length_and_rate_are_continuous_through_touch_and_release(kind, side, end):
    """The points move on lines, so that the path touches the surface; its rate integrates to its length.

    Over a sphere with a side, the centre remains in one plane with both: elsewhere a line through it turns the path.
    """
    path, h = path_over(kind, side), 1e-3
    path.work.bodies["v"], path.work.bodies["w"] = 0.0, 0.0
    a, b, down = np.array([-0.6, 0.9, -0.2]), np.array([0.5, 0.8, 0.3]), np.array([0.05, -1.0, 0.1])
    if side is not None and kind != "cylinder":
        a[2] = b[2] = down[2] = 0.0
    for row in path.points.entries["row"][[0, 2]]:
        path.work.bodies["v"][row] = path.axes @ down
    steps = np.arange(0.0, end, h)
    found = np.array([(*path.between(a + s * down, b + s * down)[:2], path.surface["touches"]) for s in steps])
    length, rate, touches = found.T
    changes = {*np.diff(touches)}
    jumps, errors = np.abs(np.diff(rate)), np.abs(np.diff(length) - h * 0.5 * (rate[1:] + rate[:-1]))
    if side is None:  # where the shorter way changes sides, the length is continuous and the rate is not
        crossed = np.argmax(jumps)
        assert errors[crossed] < 2.0 * h
        jumps[crossed] = errors[crossed] = 0.0
        assert changes == {-1.0, 0.0, 1.0}
    else:
        assert changes == {0.0, 1.0}
    assert jumps.max() < 20.0 * h
    assert errors.max() < 3.0 * h * h


@every_surface
@pytest.mark.parametrize("seed", range(20))
def test_stiffness_of_touching_paths_is_the_derivative(kind, seed):
    """Beside random positions of `test_force_derivatives`, of which few touch; on an egg, the long way may jump."""
    rng = np.random.default_rng(seed)
    path = path_over(kind, (0.8, 0.6, 0.0) if seed % 2 else None, seed)
    while True:
        path.between(outside(kind, rng), outside(kind, rng))
        surface = path.surface
        if surface["touches"] and surface["arc"] > 1e-2 and not (surface["saddle"] or surface["doubtful"]):
            break
    change = rng.normal(size=(len(path.work.bodies), 6))
    change[0] = 0.0
    system, work, h = path.system, path.work, 1e-5
    plus, minus = (wrenches(system, moved(work, change, s * h))[0] for s in (1.0, -1.0))
    wanted = (plus - minus) / (2.0 * h)
    found = varied(system, work, change, 1.0, 0.0, True)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * (1.0 + np.abs(wanted).max()))
    assert element_in(system).name == "springs"


# --- surfaces in a row ------------------------------------------------------------------------------------------------
ROW: list[dict[str, Any]] = [
    {"type": "sphere", "radius": 0.3, "body": "c"},
    {"type": "cylinder", "radius": 0.2, "body": "d", "position": [0.8, 0.1, 0.0],
     "rotation": {"axis": [1, 0.2, 0.1], "angle": 1.1}},
    {"type": "ellipsoid", "radii": [0.3, 0.2, 0.25], "body": "c", "position": [1.6, 0.05, 0.1],
     "rotation": {"axis": [1, 2, 0.1], "angle": 0.7}},
]  # fmt: skip
rows = pytest.mark.parametrize("kinds", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])


class Row:
    """A spring from a point over surfaces of two other bodies in a row to a point."""

    def __init__(self, kinds: tuple[int, ...], side: list[float] | None = None) -> None:
        arcs = [{"wrap": ROW[k], **({} if side is None else {"side": side})} for k in kinds]
        spring = {"path": [{"body": "a"}, *arcs, {"body": "b"}], "stiffness": 30, "damping": 4, "rest_length": 0.4}
        scene = {"bodies": {body: INERTIA for body in "abcd"}, "springs": {"e": spring}}
        self.system = compile_scene(loaded(scene)).model.system
        self.work, self.points = workspace_for(self.system), self.system.forces.points
        for row in range(1, 5):
            self.work.bodies["R"][row], self.work.bodies["x"][row] = np.eye(3).ravel(), 0.0
            self.work.bodies["v"][row] = self.work.bodies["w"][row] = 0.0

    def between(self, a: Any, b: Any) -> tuple[float, float, float]:
        self.work.bodies["x"][1:3] = a, b
        length, rate, shortest = measure(self.points, 0, len(self.points.entries), self.work.bodies)
        return float(length), float(rate), float(shortest)


def ends_of_row(rng: np.random.Generator) -> tuple[Any, Any]:
    return np.array([-0.7, 0.0, 0.0]) + 0.12 * rng.normal(size=3), np.array([2.4, 0.0, 0.0]) + 0.12 * rng.normal(size=3)


@rows
def test_each_arc_of_a_row_is_the_arc_between_its_neighbors(kinds):
    """That over one surface between two points, which the other tests compare with a boundary value problem."""
    rng, row = np.random.default_rng(3), Row(kinds)
    single = {k: Row((k,)) for k in kinds}
    touched = []
    for _ in range(60):
        a, b = ends_of_row(rng)
        length, _, shortest_line = row.between(a, b)
        assert shortest_line > 0.0
        surfaces = [surface for surface in row.points.surfaces if surface["touches"]]
        touched.append(len(surfaces))
        begins = [a, *(np.array(surface["leave"]) for surface in surfaces)]
        total = 0.0
        for i, surface in enumerate(row.points.surfaces):
            before = sum(1 for one in row.points.surfaces[:i] if one["touches"])
            after = before + int(surface["touches"])
            end = np.array(surfaces[after]["enter"]) if after < len(surfaces) else b
            alone = single[kinds[i]]
            alone.between(begins[before], end)
            other = alone.points.surfaces[0]
            assert other["touches"] == surface["touches"]
            if surface["touches"]:
                np.testing.assert_allclose(other["enter"], surface["enter"], atol=1e-9)
                np.testing.assert_allclose(other["leave"], surface["leave"], atol=1e-9)
                total += surface["before"] + surface["arc"]
        total += surfaces[-1]["after"] if surfaces else float(np.linalg.norm(b - a))
        assert length == pytest.approx(total, abs=1e-12)
    assert max(touched) == len(kinds)
    assert min(touched) < len(kinds)


@rows
def test_length_and_rate_of_a_row_are_continuous(kinds):
    row, h = Row(kinds), 1e-3
    a, b = np.array([-0.7, 0.5, 0.1]), np.array([2.4, 0.45, -0.1])
    down = np.array([0.05, -1.0, 0.1])
    row.work.bodies["v"][1:3] = down
    found = []
    for s in np.arange(0.0, 0.4, h):
        length, rate, _ = row.between(a + s * down, b + s * down)
        found.append((length, rate, sum(int(surface["touches"]) for surface in row.points.surfaces)))
    length, rate, touched = np.array(found).T
    assert max(touched) == len(kinds)
    assert min(touched) < len(kinds)
    assert np.abs(np.diff(rate)).max() < 20.0 * h
    assert np.abs(np.diff(length) - h * 0.5 * (rate[1:] + rate[:-1])).max() < 10.0 * h * h


@rows
@pytest.mark.parametrize("seed", range(4))
def test_stiffness_of_rows_is_the_derivative(kinds, seed):
    rng, row = np.random.default_rng(seed), Row(kinds)
    row.between(np.array([-0.7, -0.05, 0.04]), np.array([2.4, 0.0, 0.03]))
    assert all(surface["touches"] for surface in row.points.surfaces)
    row.work.bodies["v"][1:], row.work.bodies["w"][1:] = rng.normal(size=(2, 4, 3))
    change = rng.normal(size=(len(row.work.bodies), 6))
    change[0] = 0.0
    system, work, h = row.system, row.work, 1e-5
    plus, minus = (wrenches(system, moved(work, change, s * h))[0] for s in (1.0, -1.0))
    wanted = (plus - minus) / (2.0 * h)
    np.testing.assert_allclose(varied(system, work, change, 1.0, 0.0, True), wanted, atol=1e-6 * np.abs(wanted).max())


# --- special positions ------------------------------------------------------------------------------------------------
@round_surface
def test_quarter_and_half_turns_have_closed_forms(kind):
    path, tolerance = path_over(kind), 1e-9 if kind == "ball" else 1e-15  # integrated
    length, _, _ = path.between([0.5, RADIUS, 0.0], [RADIUS, 0.7, 0.0])  # lines along x and y
    assert not path.surface["touches"]
    assert length == pytest.approx(np.hypot(0.5 - RADIUS, 0.7 - RADIUS), abs=1e-15)
    length, _, _ = path_over(kind, (0.6, 0.8, 0.0)).between([-0.5, RADIUS, 0.0], [RADIUS, -0.7, 0.0])
    assert length == pytest.approx(0.5 + 0.7 + RADIUS * np.pi / 2, abs=tolerance)
    path = path_over(kind, (0.0, 1.0, 0.0))
    length, _, _ = path.between([-RADIUS, -0.5, 0.0], [RADIUS, -0.7, 0.0])
    assert length == pytest.approx(0.5 + 0.7 + RADIUS * np.pi, abs=tolerance)
    assert path.surface["arc"] == pytest.approx(RADIUS * np.pi, abs=1e-9)


@round_surface
def test_points_on_the_surface_begin_the_arc(kind):
    path = path_over(kind, (0.0, 1.0, 0.0))
    length, _, shortest_line = path.between([-RADIUS, 0.0, 0.0], [RADIUS, 0.0, 0.0])
    assert length == pytest.approx(RADIUS * np.pi, abs=1e-12)
    assert shortest_line > 0.0  # no warning
    if kind != "ball":  # where every half circle on the side is as short
        np.testing.assert_allclose(path.axes.T @ path.surface["entering"], [0.0, 1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("radii", [(0.3, 0.3, 0.3), (0.3, 0.3, 0.2), (0.2, 0.2, 0.35), (0.03, 0.02, 0.025)])
@pytest.mark.parametrize(("axis", "one", "other"), [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_opposite_points_on_an_ellipsoid_have_half_an_ellipse_between_them(radii, axis, one, other):
    """The shorter one of two principal sections; opposite points of a sphere, and poles of a spheroid, are conjugate.

    Errors of 1e-13 of the size a step turn the direction by the order of the series, 16, as much, and add up over 10 to
    20 steps: to 1e-11, and the bound is ten times that.
    """
    end, side = np.zeros(3), np.zeros(3)
    end[axis], side[one], side[other] = radii[axis], 0.8, 0.6
    path = Path({"type": "ellipsoid", "radii": list(radii)}, tuple(side))
    length, _, shortest_line = path.between(-end, end)
    halves = []
    for long, short in (sorted((radii[axis], radii[k]), reverse=True) for k in (one, other)):
        halves.append(2.0 * long * ellipe(1.0 - (short / long) ** 2))
    assert shortest_line > 0.0  # no warning
    assert length == pytest.approx(min(halves), abs=1e-10 * min(radii))


def length_round_an_ellipse(along: float, up: float, begin: Any, end: Any) -> float:
    """The shortest way in the plane from one point to another, over the top of an ellipse between them."""

    def tangent(point: Any, sign: float) -> float:
        x, y = point[0] / along, point[1] / up
        return float(np.arctan2(y, x) + sign * np.arccos(1.0 / np.hypot(x, y)))

    first, last = tangent(begin, -1.0) % (2.0 * np.pi), tangent(end, 1.0)
    ends = [np.array([along * np.cos(angle), up * np.sin(angle)]) for angle in (first, last)]
    arc, _ = quad(lambda a: np.hypot(along * np.sin(a), up * np.cos(a)), last, first, epsabs=1e-14, epsrel=1e-13)
    return float(np.linalg.norm(ends[0] - begin) + np.linalg.norm(ends[1] - end) + arc)


@pytest.mark.parametrize("radii", [(0.06, 0.05, 0.04), (0.05, 0.05, 0.04), (0.06, 0.04, 0.04), (0.05, 0.05, 0.05)])
@pytest.mark.parametrize(("along", "up", "across"), list(permutations(range(3))))
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("sided", [True, False])
@pytest.mark.parametrize("aligned", [True, False])
def test_a_path_in_a_plane_of_symmetry_of_an_ellipsoid_stays_there(radii, along, up, across, sign, sided, aligned):
    """Lines through the centre, and beside it, with the side in the plane; without a side, lines beside the centre.

    Over the longer of two semi-axes, the arc in the plane is stationary and no shortest one: a line beside the centre
    has another one as well.  Over a ball, all arcs of a line through the centre are as long, so that Newton's method
    leaves an error of 3e-7 in the direction.
    """
    side = np.zeros(3)
    side[up] = sign
    path = Path({"type": "ellipsoid", "radii": list(radii)}, tuple(side) if sided else None, 0, aligned)
    tilts = [-1e-5, -1e-3, -0.1, *([0.0, 1e-12, 1e-6, 1e-3, 0.05, 0.12, 0.3, -1e-12, -1e-6] if sided else [])]
    if radii[up] > radii[across]:
        tilts = [0.0] if sided else []
    for tilt in tilts:
        begin, end = np.array([-0.3, 0.0]), 0.3 * np.array([np.cos(tilt), -np.sin(tilt)])
        a, b = np.zeros((2, 3))
        a[along], b[along], b[up] = begin[0], end[0], sign * end[1]
        length, _, shortest_line = path.between(a, b)
        assert shortest_line > 0.0  # no warning
        wanted = length_round_an_ellipse(radii[along], radii[up], begin, end)
        assert length == pytest.approx(wanted, abs=1e-11)
        assert abs((path.axes.T @ path.surface["entering"])[across]) < 1e-5


@pytest.mark.parametrize("turn", [0.4, 0.5 * np.pi, 3.0, np.pi - 1e-7])
@pytest.mark.parametrize("height", [0.0, 1e-17, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3])
def test_lengths_are_continuous_as_points_come_to_the_surface(turn, height):
    """Those over a sphere as an ellipsoid: lines of the length sqrt(2 R h) come to the surface with the points."""
    path, R = path_over("ball", (0.0, 1.0, 0.0)), RADIUS
    begin, end = np.array([-1.0, 0.0, 0.0]), np.array([-np.cos(turn), np.sin(turn), 0.0])
    line = np.sqrt(height * (2.0 * R + height))
    for low in (0.0, height):
        lines, angles = [line, np.sqrt(low * (2.0 * R + low))], turn
        length, _, shortest_line = path.between((R + height) * begin, (R + low) * end)
        angles -= sum(np.arctan(part / R) for part in lines)
        assert shortest_line > 0.0  # no warning
        assert length == pytest.approx(sum(lines) + R * angles, abs=1e-12)


@round_surface
def test_a_line_through_the_centre_has_a_length_and_a_warning(kind):
    path = path_over(kind)
    length, _, shortest_line = path.between([-0.6, 0.0, 0.0], [0.5, 0.0, 0.0])
    assert shortest_line < 0.0
    before, after = np.sqrt(0.6**2 - RADIUS**2), np.sqrt(0.5**2 - RADIUS**2)
    arc = RADIUS * (np.pi - np.arctan(before / RADIUS) - np.arctan(after / RADIUS))
    assert length == pytest.approx(before + after + arc, abs=1e-9 if kind == "ball" else 1e-12)
    for shift in (1e-5, -1e-5):
        close, _, shortest_line = path.between([-0.6, shift, 0.0], [0.5, 0.0, 0.0])
        assert shortest_line > 0.0
        assert close == pytest.approx(length, abs=2e-5)


@round_surface
def test_a_point_within_the_surface_warns_and_the_path_leads_past_it(kind):
    path = path_over(kind)
    length, _, shortest_line = path.between([0.0, 0.1, 0.0], [0.0, 0.7, 0.3])
    assert shortest_line < 0.0
    assert length == pytest.approx(np.hypot(0.6, 0.3), abs=1e-15)


def test_a_point_on_the_axis_beyond_the_sphere_wraps_and_within_the_cylinder_does_not():
    for kind, touches in (("sphere", 1), ("cylinder", 0)):
        path = path_over(kind)
        path.between([0.0, 0.0, 0.5], [0.05, 0.0, -0.6])
        assert path.surface["touches"] == touches


@round_surface
def test_points_symmetric_about_a_plane_have_symmetric_arcs(kind):
    path, tolerance = path_over(kind, (0.0, 1.0, 0.0)), 1e-9 if kind == "ball" else 1e-15
    path.between([-0.4, 0.05, 0.2], [0.4, 0.05, 0.2])
    enter, leave = path.local(path.surface["enter"]), path.local(path.surface["leave"])
    np.testing.assert_allclose(enter, leave * [-1.0, 1.0, 1.0], atol=tolerance)
    assert path.surface["before"] == pytest.approx(path.surface["after"], abs=tolerance)


def test_lines_and_arc_of_a_branch_have_its_factor():
    path = path_over("cylinder", (0.0, 1.0, 0.0))
    whole = path.between([-RADIUS, -0.5, 0.0], [RADIUS, -0.7, 0.0])[:2]
    path.points.entries["factor"][1:] = 0.25
    assert path.between([-RADIUS, -0.5, 0.0], [RADIUS, -0.7, 0.0])[:2] == pytest.approx(np.array(whole) / 4.0)
    length = length_of(path.points, 0, 3, path.work.bodies)
    path.points.entries["factor"][1:] = 1.0
    assert length == pytest.approx(whole[0] / 4.0)


def test_a_line_along_the_axis_of_a_cylinder_is_straight():
    path = path_over("cylinder")
    length, _, shortest_line = path.between([0.4, 0.1, -0.5], [0.4, 0.1, 0.8])
    assert not path.surface["touches"]
    assert length == pytest.approx(1.3)
    assert shortest_line > 0.0
