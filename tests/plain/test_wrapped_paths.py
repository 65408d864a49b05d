"""Paths over surfaces: lengths against a boundary value problem, touch and release, and special positions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from force_scenes import INERTIA, element_in, moved, varied, wrenches
from geodesics import quadric, shortest
from loops import loaded
from strategies import random_rotation

from multibody_cli.cables.lines import length_of, measure
from multibody_cli.compile import compile_scene
from multibody_cli.model import System
from multibody_cli.tree.workspace import Work, workspace_for

RADIUS = 0.3
SURFACES: dict[str, dict[str, Any]] = {
    "sphere": {"type": "sphere", "radius": RADIUS},
    "cylinder": {"type": "cylinder", "radius": RADIUS},
}
LEVELS = {
    "sphere": quadric(np.full(3, RADIUS**-2)),
    "cylinder": quadric(np.array([RADIUS**-2, RADIUS**-2, 0.0])),
}
POSE = {"position": [0.1, -0.2, 0.3], "rotation": {"axis": [1, -2, 3], "angle": 0.6}}
every_surface = pytest.mark.parametrize("kind", SURFACES)


@cache
def scene_with(kind: str, side: tuple[float, float, float] | None) -> System:
    """A spring between two points over a surface of a third body."""
    arc: dict[str, Any] = {"wrap": {**SURFACES[kind], "body": "c", **POSE}}
    arc |= {} if side is None else {"side": list(side)}
    spring = {"path": [{"body": "a"}, arc, {"body": "b"}], "stiffness": 30, "damping": 4, "rest_length": 0.4}
    scene = {"bodies": {body: INERTIA for body in "abc"}, "springs": {"e": spring}}
    return compile_scene(loaded(scene)).model.system


class Path:
    """The path over a surface whose points are given in the frame of the surface."""

    def __init__(self, kind: str, side: tuple[float, float, float] | None = None, seed: int = 0) -> None:
        self.system, rng = scene_with(kind, side), np.random.default_rng(seed)
        self.work: Work = workspace_for(self.system)
        self.points = self.system.forces.points
        self.surface = self.points.surfaces[0]
        for row in range(1, 4):
            body = self.work.bodies[row]
            body["R"] = random_rotation(rng).T.ravel()
            body["x"], body["v"], body["w"] = rng.normal(size=(3, 3))

    def between(self, a: Any, b: Any) -> tuple[float, float, float]:
        """Length, rate and shortest line of the path between two points (3,) in the frame of the surface, m."""
        entries, bodies = self.points.entries, self.work.bodies
        for entry, point in zip(entries[[0, 2]], (a, b), strict=True):
            body = bodies[entry["row"]]
            R = np.array(body["R"]).reshape(3, 3).T
            body["x"] = self.origin + self.axes @ np.asarray(point, dtype=float) - R @ entry["point"]
        length, rate, shortest = measure(self.points, 0, 3, bodies)
        return float(length), float(rate), float(shortest)

    @property
    def axes(self) -> Any:
        """The axes of the surface in the world."""
        return self._body_axes @ np.array(self.surface["axes"]).reshape(3, 3).T

    @property
    def origin(self) -> Any:
        """The centre of the surface in the world, m."""
        return self._body["x"] + self._body_axes @ self.surface["centre"]

    def local(self, lever: Any) -> Any:
        """A point at a lever of the body of the surface, in the frame of the surface, m."""
        return self.axes.T @ (self._body["x"] + lever - self.origin)

    @property
    def _body(self) -> Any:
        return self.work.bodies[self.points.entries[1]["row"]]

    @property
    def _body_axes(self) -> Any:
        return np.array(self._body["R"]).reshape(3, 3).T


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


def check_random_paths(kind: str, count: int) -> None:
    rng, path, found = np.random.default_rng(7), Path(kind), 0
    while found < count:
        a, b = outside(kind, rng), outside(kind, rng)
        length, _, _ = path.between(a, b)
        if not meets(kind, a, b):
            assert not path.surface["touches"] or length > np.linalg.norm(b - a)
            continue
        line = a[:, None] + (b - a)[:, None] * np.linspace(0.0, 1.0, 4001)
        inside = line[:, LEVELS[kind].value(line) < 0.0]
        inside = inside[:, np.linspace(0, inside.shape[1] - 1, 30).astype(int)]
        scale = np.array([[1.0], [1.0], [0.0 if kind == "cylinder" else 1.0]])
        guess = inside * (1.0 - scale) + scale * inside / np.sqrt(1.0 + LEVELS[kind].value(inside))
        solved = shortest(LEVELS[kind], a, b, guess)
        if solved is None or solved[0] > length + 1e-3:  # round the other side
            continue
        found += 1
        assert path.surface["touches"] == 1
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
    path, h = Path(kind, side), 1e-3
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
    """Beside random positions of `test_force_derivatives`, of which few touch."""
    rng = np.random.default_rng(seed)
    path = Path(kind, (0.8, 0.6, 0.0) if seed % 2 else None, seed)
    while True:
        path.between(outside(kind, rng), outside(kind, rng))
        if path.surface["touches"] and path.surface["arc"] > 1e-2:
            break
    change = rng.normal(size=(len(path.work.bodies), 6))
    change[0] = 0.0
    system, work, h = path.system, path.work, 1e-5
    plus, minus = (wrenches(system, moved(work, change, s * h))[0] for s in (1.0, -1.0))
    wanted = (plus - minus) / (2.0 * h)
    found = varied(system, work, change, 1.0, 0.0, True)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * (1.0 + np.abs(wanted).max()))
    assert element_in(system).name == "springs"


# --- special positions ------------------------------------------------------------------------------------------------
@every_surface
def test_quarter_and_half_turns_have_closed_forms(kind):
    path = Path(kind)
    length, _, _ = path.between([0.5, RADIUS, 0.0], [RADIUS, 0.7, 0.0])  # lines along x and y
    assert not path.surface["touches"]
    assert length == pytest.approx(np.hypot(0.5 - RADIUS, 0.7 - RADIUS), abs=1e-15)
    length, _, _ = Path(kind, (0.6, 0.8, 0.0)).between([-0.5, RADIUS, 0.0], [RADIUS, -0.7, 0.0])
    assert length == pytest.approx(0.5 + 0.7 + RADIUS * np.pi / 2, abs=1e-15)
    path = Path(kind, (0.0, 1.0, 0.0))
    length, _, _ = path.between([-RADIUS, -0.5, 0.0], [RADIUS, -0.7, 0.0])
    assert length == pytest.approx(0.5 + 0.7 + RADIUS * np.pi, abs=1e-15)
    assert np.isclose(path.surface["arc"], RADIUS * np.pi)


@every_surface
def test_points_on_the_surface_begin_the_arc(kind):
    path = Path(kind, (0.0, 1.0, 0.0))
    length, _, shortest_line = path.between([-RADIUS, 0.0, 0.0], [RADIUS, 0.0, 0.0])
    assert length == pytest.approx(RADIUS * np.pi, abs=1e-12)
    assert shortest_line > 0.0  # no warning
    np.testing.assert_allclose(path.axes.T @ path.surface["entering"], [0.0, 1.0, 0.0], atol=1e-12)


@every_surface
def test_a_line_through_the_centre_has_a_length_and_a_warning(kind):
    path = Path(kind)
    length, _, shortest_line = path.between([-0.6, 0.0, 0.0], [0.5, 0.0, 0.0])
    assert shortest_line < 0.0
    before, after = np.sqrt(0.6**2 - RADIUS**2), np.sqrt(0.5**2 - RADIUS**2)
    arc = RADIUS * (np.pi - np.arctan(before / RADIUS) - np.arctan(after / RADIUS))
    assert length == pytest.approx(before + after + arc, abs=1e-12)
    for shift in (1e-5, -1e-5):
        close, _, shortest_line = path.between([-0.6, shift, 0.0], [0.5, 0.0, 0.0])
        assert shortest_line > 0.0
        assert close == pytest.approx(length, abs=2e-5)


@every_surface
def test_a_point_within_the_surface_warns_and_the_path_leads_past_it(kind):
    path = Path(kind)
    length, _, shortest_line = path.between([0.0, 0.1, 0.0], [0.0, 0.7, 0.3])
    assert shortest_line < 0.0
    assert length == pytest.approx(np.hypot(0.6, 0.3), abs=1e-15)


def test_a_point_on_the_axis_beyond_the_sphere_wraps_and_within_the_cylinder_does_not():
    for kind, touches in (("sphere", 1), ("cylinder", 0)):
        path = Path(kind)
        path.between([0.0, 0.0, 0.5], [0.05, 0.0, -0.6])
        assert path.surface["touches"] == touches


@every_surface
def test_points_symmetric_about_a_plane_have_symmetric_arcs(kind):
    path = Path(kind, (0.0, 1.0, 0.0))
    path.between([-0.4, 0.05, 0.2], [0.4, 0.05, 0.2])
    enter, leave = path.local(path.surface["enter"]), path.local(path.surface["leave"])
    np.testing.assert_allclose(enter, leave * [-1.0, 1.0, 1.0], atol=1e-15)
    assert path.surface["before"] == pytest.approx(path.surface["after"], abs=1e-15)


def test_lines_and_arc_of_a_branch_have_its_factor():
    path = Path("cylinder", (0.0, 1.0, 0.0))
    whole = path.between([-RADIUS, -0.5, 0.0], [RADIUS, -0.7, 0.0])[:2]
    path.points.entries["factor"][1:] = 0.25
    assert path.between([-RADIUS, -0.5, 0.0], [RADIUS, -0.7, 0.0])[:2] == pytest.approx(np.array(whole) / 4.0)
    length = length_of(path.points, 0, 3, path.work.bodies)
    path.points.entries["factor"][1:] = 1.0
    assert length == pytest.approx(whole[0] / 4.0)


def test_a_line_along_the_axis_of_a_cylinder_is_straight():
    path = Path("cylinder")
    length, _, shortest_line = path.between([0.4, 0.1, -0.5], [0.4, 0.1, 0.8])
    assert not path.surface["touches"]
    assert length == pytest.approx(1.3)
    assert shortest_line > 0.0
