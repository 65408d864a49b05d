"""Frames along curves: the properties of each orientation, from poses alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from shapes import CURVES, ORIENTED, QUINTIC, columns_at, curve_joint, joint, parts_of, pose_at
from strategies import Z

from multibody_cli.joints.geometry.alignment import KNOTS

ENDS = {"bezier": (0.0, 1.0), "bspline": (0.0, 4.0), "closed bspline": (0.0, 4.0), "expression": (0.0, math.tau)}
MINIMIZED = sorted(CURVES)
WITH_TANGENT = [
    (name, orientation) for name, orientation in ORIENTED if orientation in ("rotation_minimizing", "frenet")
]


def along(name, orientation, **fields):
    """The parts of a joint, and parameters all along the curve, off its knots."""
    spec = curve_joint(name, orientation, **fields)
    start, end = ENDS.get(name, (0.5, 5.5))
    return parts_of(spec), np.linspace(start, end, 41)[1:-1] + 1e-3


def twist(parts, s):
    """Twist by the parameter, in the axes of the moving frame."""
    R, _ = pose_at(parts, np.array([s]))
    S = columns_at(parts, np.array([s]))[:, 0]
    return R.T @ S[:3], R.T @ S[3:]


@pytest.mark.parametrize(("name", "orientation"), WITH_TANGENT)
def test_x_is_the_tangent(name, orientation):
    parts, places = along(name, orientation)
    for s in places:
        _, v = twist(parts, s)
        assert v[0] > 0.0
        np.testing.assert_allclose(v[1:], 0.0, atol=1e-12 * v[0])


@pytest.mark.parametrize("name", sorted({*MINIMIZED} - {"closed bspline", "expression"}))
def test_the_frame_does_not_rotate_about_the_tangent(name):
    """Of the curves that are not closed; between knots the turn is a polynomial, which is not quite the integral."""
    parts, places = along(name, "rotation_minimizing")
    for s in places:
        w, _ = twist(parts, s)
        np.testing.assert_allclose(w[0], 0.0, atol=1e-9 * max(1.0, np.linalg.norm(w)))


def test_the_number_of_knots_follows_the_curve():
    """A helix by expressions, 160 rounds of it; with the knots of a short curve 5e-5 would be left."""
    curve = {"type": "expression", "domain": [0, 1000], "position": ["cos(s)", "sin(s)", "0.3*s"]}
    parts = parts_of(joint("curve", curve=curve, orientation="tangent", q=0.5))
    for s in (3.2, 500.3, 998.7):
        assert abs(twist(parts, s)[0][0]) < 1e-9


@pytest.mark.parametrize("name", ["closed bspline", "expression"])
def test_a_closed_curve_returns_to_the_same_frame_with_uniform_correction(name):
    parts, places = along(name, "rotation_minimizing")
    start, end = ENDS[name]
    (R0, x0), (R1, x1) = (pose_at(parts, np.array([s])) for s in (start, end - 1e-12))
    np.testing.assert_allclose(R1, R0, atol=1e-9)
    np.testing.assert_allclose(x1, x0, atol=1e-9)
    turns = np.array([twist(parts, s)[0][0] for s in places])
    np.testing.assert_allclose(turns, turns[0], atol=1e-8)
    assert abs(turns[0]) * (end - start) <= math.pi + 1e-6


@pytest.mark.parametrize("orientation", ["fixed", "rotation_minimizing"])
def test_a_closed_curve_may_have_nonperiodic_expressions(orientation):
    parts = parts_of(joint("curve", curve=QUINTIC, orientation=orientation))
    for s in (0.1, 0.45, 0.97):
        at, later = np.array([s]), np.array([s + 3.0])
        assert pose_at(parts, at)[1][0] == pytest.approx(15 * s**2 * (1 - s) ** 2, rel=1e-14)
        np.testing.assert_allclose(pose_at(parts, later)[0], pose_at(parts, at)[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(pose_at(parts, later)[1], pose_at(parts, at)[1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(columns_at(parts, later), columns_at(parts, at), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", MINIMIZED)
def test_pose_and_twist_are_continuous_at_knots(name):
    parts, _ = along(name, "rotation_minimizing")
    start, end = ENDS.get(name, (0.5, 5.5))
    for k in (1, 7, KNOTS // 2):
        knot = start + k * (end - start) / KNOTS
        beside = [np.array([knot - 1e-9]), np.array([knot + 1e-9])]
        sides = [(pose_at(parts, q)[0], columns_at(parts, q)) for q in beside]
        np.testing.assert_allclose(sides[0][0], sides[1][0], atol=1e-7)
        np.testing.assert_allclose(sides[0][1], sides[1][1], atol=1e-6)


@pytest.mark.parametrize("up", [Z, (1.0, 0.3, 0.2)])
def test_z_starts_closest_to_the_vertical(up):
    parts, _ = along("bezier", "rotation_minimizing", up=list(up), q=0.0)
    R, _ = pose_at(parts, np.array([0.0]))
    best = np.array(up) - (R[:, 0] @ up) * R[:, 0]
    np.testing.assert_allclose(R[:, 2], best / np.linalg.norm(best), atol=1e-12)


def test_frenet_frame_of_a_helix():
    """Curvature R / (R^2 + h^2), torsion h / (R^2 + h^2)."""
    parts, places = along("helix", "frenet")
    R, h = 0.5, -0.7 / math.tau
    speed = math.hypot(R, h)
    for s in places:
        w, v = twist(parts, s)
        np.testing.assert_allclose(v, [speed, 0, 0], atol=1e-14)
        np.testing.assert_allclose(w, np.array([h, 0, R]) / speed, atol=1e-13)
        pose, _ = pose_at(parts, np.array([s]))
        np.testing.assert_allclose(pose[:, 1], [-math.cos(s), -math.sin(s), 0], atol=1e-13)


@pytest.mark.parametrize("name", MINIMIZED)
def test_the_path_does_not_depend_on_the_orientation(name):
    fixed, places = along(name, "fixed")
    turned, _ = along(name, "rotation_minimizing")
    for s in places:
        np.testing.assert_allclose(
            pose_at(turned, np.array([s]))[1], pose_at(fixed, np.array([s]))[1], rtol=0, atol=1e-13
        )
