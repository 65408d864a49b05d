"""Discrete motions by the logarithm in SE(3): the discrete Lagrangian, its derivatives, and its exact values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import logm
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from variational_runs import both_methods, end_of, errors_of, orders, stepped

from multibody_cli.spatial.values import Vec3
from multibody_cli.variational.discrete_motion import rotation_factor
from multibody_cli.variational.se3 import coupling_change, coupling_energy, coupling_factor, coupling_momentum

ANGLES = [0.0, 1e-6, 0.05, 0.109, 0.11, 1.0, 2.5]
"""The power series ends between the fourth and the fifth."""

AXIS = np.array([0.48, -0.6, 0.64])
ACROSS = np.array([0.8, 0.0, -0.6])
DISPLACEMENTS = {
    "oblique": np.array([0.3, -0.7, 0.4]),
    "along": 0.8 * AXIS,
    "across": 0.9 * ACROSS,
    "none": np.zeros(3),
}


def parts(rotation: Rotation) -> tuple[float, Vec3, Any]:
    x, y, z, s = rotation.as_quat(canonical=True)
    u = Vec3(x, y, z)
    squared = x * x + y * y + z * z
    return s, u, coupling_factor(squared, *rotation_factor(s, u))


def change(vector: np.ndarray) -> Vec3:
    return Vec3(*vector)


@pytest.mark.plain
@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("displacement", DISPLACEMENTS.values(), ids=list(DISPLACEMENTS))
def test_the_term_is_the_difference_of_logarithm_and_displacement(angle: float, displacement: np.ndarray) -> None:
    """The logarithm by SciPy, of the displacement of a pose."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_rotvec(angle * AXIS).as_matrix(), displacement
    translation = np.real(logm(pose))[:3, 3]
    rotation = Rotation.from_rotvec(angle * AXIS)
    _, u, factor = parts(rotation)
    expected = 0.5 * 1.7 * (translation @ translation - displacement @ displacement)
    assert coupling_energy(1.7, change(displacement), u, factor) == pytest.approx(expected, abs=1e-12)


@pytest.mark.plain
@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("displacement", DISPLACEMENTS.values(), ids=list(DISPLACEMENTS))
def test_momenta_and_their_changes_are_derivatives(angle: float, displacement: np.ndarray) -> None:
    """Central differences over turns of the end of the step and over displacements of the center of mass."""
    m, eps = 1.7, 1e-5
    rotation = Rotation.from_rotvec(angle * AXIS)

    def momentum(turned: Rotation, D: np.ndarray) -> np.ndarray:
        s, u, factor = parts(turned)
        found = coupling_momentum(m, change(D), s, u, factor)
        return np.array([*found.t, *found.f])

    def at_start(turned: Rotation, D: np.ndarray) -> np.ndarray:
        found = momentum(turned, D)
        return np.array([*(found[:3] + np.cross(D, found[3:])), *found[3:]])

    def energy(turned: Rotation, D: np.ndarray) -> float:
        _, u, factor = parts(turned)
        return float(coupling_energy(m, change(D), u, factor))

    def derivatives(function: Any) -> np.ndarray:
        found = []
        for d in eps * np.eye(3):
            pair = (function(Rotation.from_rotvec(sign * d) * rotation, displacement) for sign in (1, -1))
            found.append(np.subtract(*pair) / (2 * eps))
        for d in eps * np.eye(3):
            found.append((function(rotation, displacement + d) - function(rotation, displacement - d)) / (2 * eps))
        return np.array(found)

    np.testing.assert_allclose(momentum(rotation, displacement), derivatives(energy), atol=1e-9)
    s, u, factor = parts(rotation)
    D, zero = change(displacement), Vec3(0.0, 0.0, 0.0)
    turns = [coupling_change(m, D, s, u, factor, change(axis), zero) for axis in np.eye(3)]
    moves = [coupling_change(m, D, s, u, factor, zero, change(axis)) for axis in np.eye(3)]
    found = np.array([[*one.t, *one.f] for one in (*turns, *moves)])
    np.testing.assert_allclose(found, derivatives(at_start), atol=1e-9)


OFF_AXIS: dict[str, Any] = {
    "gravity": [0, 0, 0],
    "bodies": {"link": {"mass": 2.0, "com": [0.5, 0, 0], "inertia": {"principal": [0.1, 0.2, 0.3]}}},
    "joints": {"hinge": {"type": "revolute", "child": "link", "axis": [0, 0, 1], "v": 50.0}},
}


@both_methods
@pytest.mark.parametrize("discretization", ["se3", "decoupled"])
def test_rotation_about_a_fixed_axis_is_exact(method: str, discretization: str) -> None:
    """By 0.5 rad in a step; without the term, by the angle whose momentum about the axis is that of 0.5 rad."""
    run = stepped(OFF_AXIS, method, 0.01, discretization=discretization).advance(0.5)
    _, _, z, w = np.roll(run.body("link", "quaternion"), -1)
    step = 0.5 if discretization == "se3" else brentq(lambda phi: 0.3 * phi + 0.5 * math.sin(phi) - 0.8 * 0.5, 0.0, 1.0)
    difference = 2.0 * math.atan2(z, w) - 50.0 * step
    assert math.remainder(difference, math.tau) == pytest.approx(0.0, abs=1e-9)


@both_methods
@pytest.mark.parametrize(
    ("direction", "factor"),
    [([1.0, 0.0, 0.0], (math.sin(0.1) / 0.1) ** 2), ([0.0, 0.0, 1.0], 1.0)],
    ids=["across", "along"],
)
def test_free_flight_is_too_short_across_the_rotation(method: str, direction: list[float], factor: float) -> None:
    """1 m/s across and along a spin of 200 rad/s, at 1 ms: the factor of the text of the module."""
    velocity = {"angular": [0, 0, 200.0], "linear": direction}
    body = {"mass": 2.0, "inertia": {"principal": [0.1, 0.2, 0.3]}, "velocity": velocity}
    run = stepped({"gravity": [0, 0, 0], "bodies": {"rotor": body}}, method, 1e-3, discretization="se3").advance(1.0)
    np.testing.assert_allclose(run.body("rotor", "position"), factor * np.array(direction), atol=1e-9)


BALLS: dict[str, Any] = {
    "bodies": {
        name: {"mass": 1.0 + k, "com": [0.1, -0.2, -0.4], "inertia": {"principal": [0.2, 0.25, 0.3]}}
        for k, name in enumerate(("upper", "lower"))
    },
    "joints": {
        "shoulder": {"type": "spherical", "child": "upper", "v": [1.0, 2.0, -1.0]},
        "elbow": {"type": "universal", "parent": "upper", "child": "lower", "q": [0.4, 0.3], "v": [1.0, -2.0],
                  "origin": {"position": [0.1, -0.2, -0.8]}},
    },
}  # fmt: skip


@both_methods
@pytest.mark.parametrize("root_finder", ["riqn", "newton"])
def test_both_methods_and_root_finders_compute_the_same_motion(method: str, root_finder: str) -> None:
    reference = end_of(stepped(BALLS, "variational", 0.02, discretization="se3", root_finder="newton"), 1.0)
    other = end_of(stepped(BALLS, method, 0.02, discretization="se3", root_finder=root_finder), 1.0)
    np.testing.assert_allclose(other, reference, atol=1e-9)
    assert np.abs(end_of(stepped(BALLS, method, 0.02), 1.0) - reference).max() > 1e-4


def test_the_scheme_is_of_second_and_of_fourth_order() -> None:
    second = errors_of(BALLS, "variational", 0.4, [0.02, 0.01, 0.005], discretization="se3")
    fourth = errors_of(BALLS, "variational", 0.4, [0.04, 0.02], discretization="se3", order=4)
    assert orders(second) == pytest.approx([2.0, 2.0], abs=0.1)
    assert orders(fourth) == pytest.approx([4.0], abs=0.4)


@both_methods
def test_the_modified_energy_wavers_as_h4(method: str) -> None:
    wavering = []
    for h in (0.02, 0.01):
        run, found = stepped(BALLS, method, h, discretization="se3"), []
        for k in range(1, round(1.0 / h) + 1):
            run.advance(k * h)
            found.append(run.method._stepper._scratch[0].energy[2])
        wavering.append(np.ptp(found))
    assert wavering[0] / wavering[1] == pytest.approx(16.0, rel=0.25)
