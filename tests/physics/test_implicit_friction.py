"""Dry friction of joints beside implicit springs, dampers and muscles on bodies.

Its loads are those of the forces at the end of a step: by inverse dynamics that is written here, by the same problem as
rows, and by the multipliers of `baraff`.
"""

from __future__ import annotations

import numpy as np
import pytest
import test_disc_friction
import test_tree_friction
from friction_trees import H, compare_with_rows, prepared, simulated, started, started_with_rows

G, L, MASS, SPIN = 9.81, 0.5, 1.5, 0.04
MU, RADIUS = 0.5, 0.08
INTEGRATOR = "linearly_implicit_euler"


SPRINGS = [
    ((-1, 0.1), (0, 0.2)),
    ((0, 1.0), (1, 0.3)),
    ((1, 0.8), (2, 0.4)),
    ((1, 0.9), (3, -0.3)),
    ((2, 0.9), (5, -0.9)),
]
"""Pairs of points: rods, and distances below their hinges as parts of the length; the ground is rod -1."""


def sprung_chain(n, stiffness):
    """Rods about y below one another, each with its centre of mass in the middle, with springs."""
    bodies, joints = {}, {}
    for i in range(n):
        bodies[f"rod{i}"] = {"mass": MASS, "com": [0, 0, -L / 2], "inertia": {"principal": [SPIN, SPIN, 0.01]}}
        joints[f"hinge{i}"] = {
            "type": "revolute",
            "axis": [0, 1, 0],
            "parent": f"rod{i - 1}" if i else "world",
            "child": f"rod{i}",
            "origin": {"position": [0, 0, -L if i else 0]},
            "q": float(0.3 * np.sin(1 + i)),
            "v": float(0.3 * np.cos(2 + 3 * i)),
            "friction": {"coefficient": MU, "surface": {"radius": RADIUS, "length": 0.3}},
        }
    scene = simulated(bodies, joints, INTEGRATOR)

    def end(rod, below):
        return (
            {"body": f"rod{rod}", "point": [0, 0, -L * below]}
            if rod >= 0
            else {"body": "world", "point": [below, 0, 0]}
        )

    scene["springs"] = {
        f"spring{k}": {"between": [end(*a), end(*b)], "stiffness": stiffness, "rest_length": 0}
        for k, (a, b) in enumerate(SPRINGS)
    }
    return scene


def moment(arm, force):
    """Moment about y of a force in the plane x, z."""
    return arm[1] * force[0] - arm[0] * force[1]


def hinge_torques_and_loads(q, v, a, stiffness):
    """Torques about y, and loads |f_x| + |f_z| in the axes of the rods, of all hinges: Newton and Euler.

    Springs have the forces of displacements by h times the velocities at the end of the step, at constant levers.
    """
    n = len(q)
    angle, spin, turning = np.cumsum(q), np.cumsum(v), np.cumsum(a)
    down = 0.5 * L * np.array([-np.sin(angle), -np.cos(angle)]).T  # from the hinge to the centre of mass, (x, z)
    across = 0.5 * L * np.array([-np.cos(angle), np.sin(angle)]).T
    pull = across * turning[:, None] - down * spin[:, None] ** 2

    def at_hinges(of_rods):
        return np.vstack([np.zeros(2), np.cumsum(2 * of_rods, axis=0)[:-1]])

    places, velocities, accelerations = at_hinges(down), at_hinges(across * spin[:, None]), at_hinges(pull)
    forces, moments = np.zeros((n, 2)), np.zeros(n)

    def at_end(rod, below):
        if rod < 0:
            return np.array([below, 0.0]), np.zeros(2), np.zeros(2)
        arm, end_spin = 2 * below * down[rod], spin[rod] + H * turning[rod]
        velocity = velocities[rod] + H * accelerations[rod] + 2 * below * across[rod] * end_spin
        return places[rod] + arm, velocity, arm

    for one, other in SPRINGS:
        (x, u, arm), (y, w, other_arm) = at_end(*one), at_end(*other)
        force = stiffness * (y - x + H * (w - u))
        for (rod, _), lever, sign in ((one, arm, 1.0), (other, other_arm, -1.0)):
            if rod >= 0:
                forces[rod] += sign * force
                moments[rod] += sign * moment(lever, force)
    inertial = MASS * (accelerations + pull + [0, G])
    torques, loads, force, torque = np.zeros(n), np.zeros(n), np.zeros(2), 0.0
    for i in reversed(range(n)):
        torque += SPIN * turning[i] + moment(down[i], inertial[i]) - moments[i] + moment(2 * down[i], force)
        force = force + inertial[i] - forces[i]
        c, s = np.cos(angle[i]), np.sin(angle[i])
        loads[i] = abs(c * force[0] - s * force[1]) + abs(s * force[0] + c * force[1])
        torques[i] = torque
    return torques, loads


@pytest.mark.parametrize("method", ["aba", "redmax"])
@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6])
def test_hinges_stick_within_the_limits_of_the_forces_at_the_end_of_the_step(tmp_path, method, stiffness):
    """Coulomb's law for the mean acceleration of each step."""
    scene = sprung_chain(6, stiffness)
    state, stepper = started(prepared(tmp_path, scene, f"simulation.method={method}"))
    sticks = slides = 0
    for _ in range(200):
        q, v = state.q.copy(), state.v.copy()
        assert stepper.step(state, 1) is None
        torques, loads = hinge_torques_and_loads(q, v, (state.v - v) / H, stiffness)
        limit, stuck = MU * RADIUS * loads, np.abs(state.v) < 1e-14
        accuracy = 1e-8 * limit.max()
        assert (np.abs(torques[stuck]) <= limit[stuck] + accuracy).all()
        np.testing.assert_allclose(torques[~stuck], (-np.sign(state.v) * limit)[~stuck], atol=accuracy)
        sticks += stuck.sum()
        slides += (~stuck).sum()
    assert not stepper.contact_work.factors.rank.any(), "no rows are solved"
    assert sticks > 50
    assert slides > 200


def test_what_sticks_does_not_creep(tmp_path):
    """Friction holds the chain against stretched springs."""
    scene = sprung_chain(6, 1e4)
    for joint in scene["joints"].values():
        joint.pop("v")
        joint["friction"]["coefficient"] = 100.0
    state, stepper = started(prepared(tmp_path, scene))
    q = state.q.copy()
    assert stepper.step(state, 200) is None
    np.testing.assert_array_equal(state.q, q)
    assert stepper.contact_work.diagnostics.unsolved_steps[0] == 0


def with_forces(scene, rng):
    """Add springs, a bushing, a muscle and drag to seven bodies."""

    def at(body):
        return {"body": body, "point": rng.uniform(-0.2, 0.2, 3).tolist()}

    scene["springs"] = {
        "ground": {"between": [at("world"), at("b1")], "stiffness": 5e3, "damping": 5.0, "rest_length": 0},
        "far": {"between": [at("b0"), at("b6")], "stiffness": 2e3, "damping": 2.0, "rest_length": 0.2},
        "cable": {"path": [at("b2"), at("b3"), at("b5")], "stiffness": 1e3, "rest_length": 0.1},
        "bushing": {
            "type": "bushing",
            "parent": "b1",
            "child": "b4",
            "origin": {"position": rng.uniform(-0.2, 0.2, 3).tolist()},
            "stiffness": {"linear": [300, 200, 100], "angular": [3, 2, 1]},
            "damping": {"linear": [3, 2, 1], "angular": [0.3, 0.2, 0.1]},
        },
    }
    muscle = {"max_isometric_force": 50, "optimal_length": 0.3, "max_velocity": 3, "activation": 0.5}
    scene["muscles"] = {"m": {"path": [at("b2"), at("b6")], **muscle}}
    scene["forces"] = {"drag": {"body": "b6", "viscous": {"linear": 5, "angular": 0.1}}}
    return scene


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
@pytest.mark.parametrize("seed", range(3))
def test_trees_move_as_with_rows(tmp_path, monkeypatch, seed, method):
    """Friction in joints of all types."""
    rng = np.random.default_rng(seed)
    compare_with_rows(
        tmp_path, monkeypatch, with_forces(test_disc_friction.random_tree(rng, 7, 0.3, INTEGRATOR), rng), method
    )


@pytest.mark.parametrize("seed", range(8))
def test_multipliers_of_joints_are_the_loads_of_their_friction(tmp_path, monkeypatch, seed):
    """With rows of `baraff`, loads follow from multipliers; otherwise from the forces on all bodies.

    At rest, the coordinates of joints and of bodies define the same step.
    """
    rng, found = np.random.default_rng(seed), []
    scene = with_forces(test_tree_friction.random_tree(rng, 7, 0.2, 0.2, INTEGRATOR, crosses=0.2), rng)
    for joint in scene["joints"].values():
        joint.pop("v", None)
    for method in ("aba", "baraff"):
        simulation = prepared(tmp_path, scene, f"simulation.method={method}")
        state, stepper = started_with_rows(monkeypatch, simulation) if method == "baraff" else started(simulation)
        assert stepper.step(state, 1) is None
        assert stepper.contact_work.diagnostics.unsolved_steps[0] == 0
        assert stepper.contact_work.factors.rank.any() == (method == "baraff")
        found.append(stepper.contact_work.joint_friction.previous_impulses[:, 1])
    np.testing.assert_allclose(*found, atol=1e-8 * np.abs(found[1]).max())
