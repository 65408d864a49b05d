"""Geodesics by extrapolation and by integrals: against an integration in space, each other, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from geodesics import Level, quadric, torus
from scipy.integrate import solve_ivp
from wrapped import Path

from multibody_cli.cables import torus as torus_surface
from multibody_cli.cables.surface_kinds import follow, settle
from multibody_cli.kernel import kernel
from multibody_cli.spatial.values import Vec3

RADII = np.array([0.3, 0.2, 0.25])
FLAT = np.array([0.3, 0.1, 0.3])
SURFACES: dict[str, tuple[dict[str, Any], Level]] = {
    "ellipsoid": ({"type": "ellipsoid", "radii": RADII.tolist()}, quadric(RADII**-2)),
    "disc": ({"type": "ellipsoid", "radii": FLAT.tolist()}, quadric(FLAT**-2)),
    "torus": ({"type": "torus", "major_radius": 0.3, "minor_radius": 0.08}, torus(0.3, 0.08)),
    "thick torus": ({"type": "torus", "major_radius": 0.3, "minor_radius": 0.2}, torus(0.3, 0.2)),
}
every_surface = pytest.mark.parametrize("kind", SURFACES)
EXACT = 1e-13
"""The accuracy of the end of an arc, relative to the size of the surface, that is asked for."""


@kernel
def start_at(surface, given):
    """Write the start of an arc near a point with a direction: six numbers."""
    settle(surface, Vec3(given[0], given[1], given[2]), Vec3(given[3], given[4], given[5]))


@kernel
def follow_by_steps(surface):
    """Write the end of a geodesic of a torus, and its Jacobi fields, by extrapolation."""
    torus_surface.follow_steps(surface)


class Arc:
    """The first arc of a path, in the frame of its surface."""

    def __init__(self, kind: str, x: Any, t: Any, length: float) -> None:
        given, self.level = SURFACES[kind]
        self.record = Path(given).surface
        start_at(self.record, np.array([*x, *t], dtype=float))
        self.x, self.t = np.array(self.record["start"]), np.array(self.record["heading"])
        self.length = length

    def follow(self, shift: Any = (0.0, 0.0, 0.0), turn: Any = (0.0, 0.0, 0.0), accuracy: float = EXACT) -> Any:
        """The end (2, 3) of the geodesic whose start is moved and whose direction is turned: point and direction."""
        start_at(self.record, np.concatenate([self.x + shift, self.t + turn]))
        self.record["arc"], self.record["accuracy"] = self.length, accuracy
        follow(self.record)
        return np.array([self.record["end"], self.record["end_heading"]])

    def across(self) -> Any:
        """N x t at the start."""
        normal = self.level.gradient(self.x[:, None])[:, 0]
        return np.cross(normal / np.linalg.norm(normal), self.t)

    def in_space(self) -> Any:
        """The end (2, 3) by an integration of x'' = -(x' . F'' x') / |F'|^2 F'."""

        def slope(s: float, y: Any) -> Any:
            x, v = y[:3, None], y[3:, None]
            n = self.level.gradient(x)
            return np.concatenate([y[3:], (-self.level.curvature(x, v) / (n * n).sum(axis=0) * n)[:, 0]])

        start = np.concatenate([self.x, self.t])
        found = solve_ivp(slope, (0.0, self.length), start, method="DOP853", rtol=1e-13, atol=1e-15)
        return found.y[:, -1].reshape(2, 3)


def arcs(kind: str) -> list[Arc]:
    """Random arcs, forward and back, and some along circles and over the innermost circle of a torus."""
    rng = np.random.default_rng(3)
    found = [Arc(kind, rng.normal(size=3), rng.normal(size=3), length) for length in (0.01, -0.2, 0.4, 0.7)]
    for x, t in (((1, 0, 0), (0, 1, 0)), ((1, 0, 0), (0, 0, 1)), ((0.1, 0, 0), (0, 1, 0)), ((0.1, 0, 0), (0, 0, 1))):
        found.append(Arc(kind, x, t, 0.5))
    return found


@every_surface
def test_ends_are_those_of_an_integration_in_space(kind):
    for arc in arcs(kind):
        np.testing.assert_allclose(arc.follow()[0], arc.in_space()[0], rtol=0.0, atol=3e-11)
        np.testing.assert_allclose(arc.follow()[1], arc.in_space()[1], rtol=0.0, atol=3e-10)


@every_surface
@pytest.mark.parametrize("accuracy", [1e-6, 1e-8, 1e-10])
def test_arcs_have_their_accuracy(kind, accuracy):
    """Those of one step: over several, errors grow with the distance of neighboring geodesics."""
    for arc in arcs(kind):
        longest = 0.3 * min(np.array(arc.record["radii"]))
        arc.length = min(max(arc.length, -longest), longest)
        error = np.linalg.norm(arc.follow(accuracy=accuracy)[0] - arc.follow()[0])
        assert error < (accuracy + EXACT) * np.linalg.norm(arc.record["radii"])


@pytest.mark.parametrize("kind", ["torus", "thick torus"])
def test_integrals_of_clairaut_have_the_ends_and_fields_of_steps(kind):
    """Along random arcs of up to three radii of the tube, and along the meridian.  Those that turn back have steps."""
    rng, major, minor, integrated = np.random.default_rng(5), 0.3, SURFACES[kind][0]["minor_radius"], 0
    cases = [(rng.normal(size=3), rng.normal(size=3), minor * rng.uniform(-3.0, 3.0)) for _ in range(60)]
    for x, t, length in [*cases, ((0.1, 0.0, 0.0), (0.0, 0.0, 1.0), 0.4), ((0.6, 0.0, 0.0), (0.0, 0.0, 1.0), -0.3)]:
        arc = Arc(kind, x, t, length)
        one, fields = arc.follow(), np.array(arc.record["jacobi"])
        integrated += int(major - abs(arc.record["invariant"]) > 1.08 * minor)
        follow_by_steps(arc.record)
        other = np.array([arc.record["end"], arc.record["end_heading"]])
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(fields, arc.record["jacobi"], rtol=0.0, atol=1e-9 * (1.0 + np.abs(fields).max()))
    assert integrated > 5


@every_surface
def test_fields_are_derivatives_of_the_end(kind):
    for arc in arcs(kind):
        arc.follow()
        normal, heading = np.array(arc.record["end_normal"]), np.array(arc.record["end_heading"])
        b, fields, h = np.cross(normal, heading), np.array(arc.record["jacobi"]), 1e-6
        step = h * arc.across()
        moved = (arc.follow(shift=step) - arc.follow(shift=-step)) / (2.0 * h) @ b
        turned = (arc.follow(turn=step) - arc.follow(turn=-step)) / (2.0 * h) @ b
        np.testing.assert_allclose([*moved, *turned], fields, rtol=0.0, atol=3e-6 * np.abs(fields).max())


@every_surface
def test_curvature_and_torsion_are_derivatives_of_the_normal(kind):
    """Along a geodesic, dN/ds = -k t - tau b for the outward normal and k > 0 where the surface bends away from it."""
    for arc in arcs(kind):
        h, whole = 1e-5, arc.length
        normals = []
        for arc.length in (whole - h, whole + h):
            arc.follow()
            normals.append(np.array(arc.record["end_normal"]))
        arc.length = whole
        arc.follow()
        t, N = np.array(arc.record["end_heading"]), np.array(arc.record["end_normal"])
        change = (normals[1] - normals[0]) / (2.0 * h)
        size = np.abs(change).max()
        np.testing.assert_allclose(arc.record["end_bend"], [change @ t, change @ np.cross(N, t)], atol=1e-6 * size)
