"""Invariants of any number of variational steps: momenta, a modified energy, and the loops closed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from variational_runs import SCENES, both_methods, delivered, stepped

from multibody_cli import MemorySink, prepare
from multibody_cli.methods.contract import Status
from multibody_cli.spatial.values import Sym3, Vec3
from multibody_cli.variational.discrete_motion import discrete_angular_momentum, momentum_derivative


# --- momenta ------------------------------------------------------------------------------------------------------
def floating() -> dict[str, Any]:
    """Three bodies that nothing holds: a base, an arm on a ball and one on a hinge, all of them spinning."""
    arm = {"mass": 0.7, "com": [0.3, 0, 0], "inertia": {"principal": [0.01, 0.05, 0.055]}}
    base = {
        "mass": 2.0,
        "inertia": {"principal": [0.2, 0.3, 0.4]},
        "velocity": {"linear": [0.19, -0.41, 0.07], "angular": [0.9, -1.4, 2.0]},
    }
    return {
        "gravity": [0, 0, 0],
        "bodies": {"base": base, "left": arm, "right": {**arm, "mass": 1.1}},
        "joints": {
            "ball": {"type": "spherical", "parent": "base", "child": "left", "v": [1.0, 2.0, -1.0],
                     "origin": {"position": [0.2, 0.1, 0]}, "q": {"rotvec": [0.4, 0.3, -0.2]}},
            "hinge": {"type": "revolute", "parent": "base", "child": "right", "axis": [1, 2, 2], "v": 3.0,
                      "origin": {"position": [-0.2, 0, 0.1]}, "stiffness": 2.0, "q": 0.4},
        },
    }  # fmt: skip


@both_methods
@pytest.mark.parametrize("discretization", ["decoupled", "se3"])
def test_momenta_stay_over_a_hundred_thousand_steps(method: str, discretization: str) -> None:
    """The momentum map of the discrete Lagrangian, to 1e-10 of its size; velocities at the ends of steps follow it.

    As a whole it hardly moves: far from the origin the round-off of positions, over a step, is of that size.
    """
    run = stepped(floating(), method, 0.01, tolerance=1e-12, discretization=discretization)
    first = momenta(run.advance(0.01))
    sizes = np.array([4.0] * 3 + [np.linalg.norm(first[3:])] * 3)  # linear: the sum of those of the bodies
    assert np.linalg.norm(first[3:]) > 1.0
    seen = run.observed()
    for t in (10.0, 100.0, 1000.0):
        assert (np.abs(momenta(run.advance(t)) - first) < 1e-10 * sizes).all()
    now = run.observed()
    assert np.abs(now.linear_momentum - seen.linear_momentum).max() < 1e-9
    assert np.abs(now.angular_momentum - seen.angular_momentum).max() < 1e-9


def momenta(run: Any) -> np.ndarray:
    """Linear and angular momentum of the last step."""
    return run.method._stepper._scratch[0].momentum.copy()


def with_drives_and_jellies() -> dict[str, Any]:
    """The same with drives in a hinge and in a loop, and two affine bodies, which springs and dampers stretch."""
    scene, ends = floating(), [{"position": [0, 0, z]} for z in (0.3, -0.3)]
    axle = {"type": "revolute", "parent": "base", "child": "wheel", "armature": 0.4, "v": 2.0}
    scene["joints"] |= {f"end{k}": {**axle, "origin": end, "child_origin": end} for k, end in enumerate(ends)}
    scene["joints"]["hinge"]["armature"] = 0.5
    brick = {"kind": "affine", "mass": 0.6, "shapes": [{"type": "box", "size": [0.1, 0.2, 0.3]}]}
    scene["bodies"] |= {
        "wheel": {"mass": 0.5, "inertia": {"principal": [0.01, 0.01, 0.02]}},
        "near": {**brick, "position": [0.1, -0.6, 0.2], "velocity": {"linear": [0.2, 0.1, -0.4]}},
        "far": {**brick, "position": [0, 2, 0], "velocity": {"linear": [0.3, -0.2, 0.5], "angular": [1, 2, 3]}},
    }
    low, high = {"body": "far", "point": [-0.05, 0.1, -0.15]}, {"body": "far", "point": [0.05, 0.1, 0.15]}
    spring = {"stiffness": 20.0, "damping": 0.1, "rest_length": 0.6}
    pairs = ([low, high], [high, {"body": "near", "point": [0, 0.1, 0]}], [low, {"body": "base"}])
    scene["springs"] = {f"s{k}": {**spring, "between": pair} for k, pair in enumerate(pairs)}
    return scene


@pytest.mark.filterwarnings("ignore:.*(depend on the others|no effect in the initial state)")
@both_methods
@pytest.mark.parametrize("options", [{}, {"implicit_forces": True}, {"order": 4}])
def test_momenta_of_drives_and_affine_bodies_are_those_of_velocities(method: str, options: dict[str, Any]) -> None:
    """Rotors have none, and directors no linear one: those of the start, from velocities, stay as the bodies deform."""
    run = stepped(with_drives_and_jellies(), method, 4e-3, **options)
    seen = run.observed()
    first = np.concatenate([seen.linear_momentum[0], seen.angular_momentum[0]])
    for t in (0.0, 4e-3, 0.4):
        np.testing.assert_allclose(momenta(run.advance(t)), first, rtol=0.0, atol=1e-11)
    now = run.observed()
    assert np.abs(now.deformation - seen.deformation).max() > 0.1
    np.testing.assert_allclose(now.linear_momentum[0], first[:3], rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(now.angular_momentum[0], first[3:], rtol=0.0, atol=1e-11)


# --- rotations ----------------------------------------------------------------------------------------------------
@both_methods
@pytest.mark.parametrize("rate", [1e-3, 30.0, 54.0, 56.0, 200.0, -1200.0])
@pytest.mark.parametrize("held", [True, False])
def test_a_rotation_about_a_principal_axis_is_exact(method: str, rate: float, held: bool) -> None:
    """Of a rotor on an axle that leans, and of a free body; up to 1.2 rad in a step of 1 ms."""
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    body: dict[str, Any] = {"mass": 1.0, "inertia": {"principal": [2.0, 3.0, 4.0]}}
    frame = {"rotation": {"axis": [1, 2, 0], "angle": 0.7}}
    scene: dict[str, Any] = {"gravity": [0, 0, 0], "bodies": {"rotor": body}}
    if held:
        body["inertia"] = {"principal": [0.5, 0.5, 0.5]}
        scene["joints"] = {"axle": {"type": "revolute", "child": "rotor", "axis": axis.tolist(), "v": rate}}
    else:
        body |= {**frame, "velocity": {"angular": [0, 0, rate]}, "rotation": {"axis": [0, 0, 1], "angle": 0.7}}
    run = stepped(scene, method, 1e-3, tolerance=1e-14).advance(0.1)
    w, x, y, z = run.body("rotor", "quaternion")
    turned = Rotation.from_quat([x, y, z, w])
    start = Rotation.identity() if held else Rotation.from_rotvec([0, 0, 0.7])
    expected = Rotation.from_rotvec(0.1 * rate * (axis if held else np.array([0, 0, 1.0]))) * start
    assert (turned * expected.inv()).magnitude() < 1e-11 * max(1.0, abs(rate))


@pytest.mark.plain
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.1, 0.2, 1.0, 2.0, 3.0])
def test_discrete_momenta_are_derivatives_of_the_discrete_lagrangian(angle: float) -> None:
    """Differences of the Lagrangian of the rotation vector, which SciPy computes, on both sides of the series."""
    generator, h, e = np.random.default_rng(5), 0.01, 1e-5
    half = generator.normal(size=(3, 3))
    J = half @ half.T + np.eye(3)
    inertia = Sym3(J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2])
    axis = generator.normal(size=3)
    rotation = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))

    def lagrangian(turned: Rotation) -> float:
        vector = turned.as_rotvec()
        return float(vector @ J @ vector) / (2.0 * h)

    def momentum(turned: Rotation) -> np.ndarray:
        x, y, z, s = turned.as_quat(canonical=True)
        return np.array(discrete_angular_momentum(inertia, s, Vec3(x, y, z), h))

    def derivative(function: Any) -> np.ndarray:
        pairs = ((Rotation.from_rotvec(e * d) * rotation, Rotation.from_rotvec(-e * d) * rotation) for d in np.eye(3))
        return np.array([(function(one) - function(other)) / (2.0 * e) for one, other in pairs])

    x, y, z, s = rotation.as_quat(canonical=True)
    L = np.array(momentum_derivative(inertia, s, Vec3(x, y, z)))
    scale = np.abs(J).max() / h
    np.testing.assert_allclose(momentum(rotation), derivative(lagrangian), atol=1e-8 * scale)
    np.testing.assert_allclose(L / h, derivative(momentum), atol=1e-8 * scale)


# --- energy -------------------------------------------------------------------------------------------------------
def energies(method: str, step: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the energy and of the modified energy of two plates on balls, at the end of every step."""
    run, found = stepped(delivered("ball_chain_2"), method, step), []
    began, _ = run.energy()
    for k in range(1, round(duration / step) + 1):
        assert run.method.advance(run.state, k * step).status is Status.OK
        found.append((run.energy()[0], run.method._stepper._scratch[0].energy[2]))
    total, modified = np.array(found).T
    return total - began, modified - began


@both_methods
def test_the_modified_energy_wavers_as_h4_and_the_energy_as_h2(method: str) -> None:
    """And it differs from the energy at the start by a constant of the order of h^2."""
    pairs = [energies(method, h, 2.0) for h in (0.008, 0.004)]
    wavering = [[np.ptp(energy) for energy in pair] for pair in pairs]
    assert wavering[0][0] / wavering[1][0] == pytest.approx(4.0, rel=0.1)
    assert wavering[0][1] / wavering[1][1] == pytest.approx(16.0, rel=0.15)
    assert wavering[0][1] < 0.1 * wavering[0][0]
    assert pairs[0][1].mean() / pairs[1][1].mean() == pytest.approx(4.0, rel=0.1)


@both_methods
def test_the_energy_of_a_double_pendulum_has_no_trend(method: str) -> None:
    """A hundred seconds of chaos at 10 ms; explicit methods of second order gain or lose without end."""
    energy = energy_over(method, 100.0)
    energy -= energy[0]
    assert np.ptp(energy) < 0.5
    slope = np.polyfit(np.linspace(0.0, 1.0, len(energy)), energy, 1)[0]
    assert abs(slope) < 0.1 * np.ptp(energy)


def energy_over(method: str, duration: float) -> np.ndarray:
    """Energy over a run of `double_pendulum_rods` at 10 ms."""
    words = [f"simulation.method={method}", "simulation.step=10ms", f"simulation.duration={duration}", "expect=[]"]
    sink = MemorySink()
    prepare(SCENES / "validation" / "double_pendulum_rods.yaml", words).run(sink)
    values: np.ndarray = sink.trajectory().channel("energy/total").values
    return values
