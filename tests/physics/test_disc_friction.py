"""Dry friction in two directions in trees: spherical, cylindrical and planar joints in O(n).

Its laws by inverse dynamics that is written here, and the same problem as rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from friction_trees import (
    H,
    compare_with_rows,
    friction_of_joints,
    most_passes,
    prepared,
    require_losses,
    simulated,
    started,
    started_with_rows,
    without_passes,
)
from scipy.optimize import minimize

from multibody_cli import MemorySink
from multibody_cli.contact_solver.friction_limits import compute_limit, write_load_shares
from multibody_cli.contact_solver.tree_friction_workspace import load_vector
from multibody_cli.contact_solver.two_directional_friction import linearize_friction

G, MASS, MU = 9.81, 1.5, 0.4
DOWN = np.array([0.0, 0.0, -G])


# --- balls ------------------------------------------------------------------------------------------------------------
RADIUS, LENGTH, SPIN = 0.03, 0.5, np.array([0.04, 0.03, 0.01])


def ball_chain(n, swing=0.3):
    """Rods below one another on balls, each with its centre of mass in the middle."""
    bodies, joints = {}, {}
    for i in range(n):
        bodies[f"rod{i}"] = {"mass": MASS, "com": [0, 0, -LENGTH / 2], "inertia": {"principal": SPIN.tolist()}}
        joints[f"ball{i}"] = {
            "type": "spherical",
            "parent": f"rod{i - 1}" if i else "world",
            "child": f"rod{i}",
            "origin": {"position": [0, 0, -LENGTH if i else 0]},
            "q": {"rotvec": (swing * np.sin([1 + i, 2 + 3 * i, 3 + 2 * i])).tolist()},
            "v": (swing * np.cos([1 + i, 2 + 3 * i, 3 + 2 * i])).tolist(),
            "friction": {"coefficient": MU, "surface": {"radius": RADIUS}},
        }
    return simulated(bodies, joints)


def turned(q):
    """Return the rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x = q[0], q[1:]
    cross = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def ball_torques_and_forces(q, v, a):
    """Torques (n, 3) and forces (n, 3) that act on each rod at its upper end, in its axes: Newton and Euler."""
    n, inner = len(q), []
    R, spin, turning, end = np.eye(3), np.zeros(3), np.zeros(3), -DOWN  # gravity is an acceleration of the ground
    for i in range(n):
        R = R @ turned(q[i])
        relative = R @ v[i]
        turning = turning + R @ a[i] + np.cross(spin, relative)
        spin = spin + relative
        inertia = R @ np.diag(SPIN) @ R.T
        arm = R @ [0, 0, -LENGTH / 2]
        pull = np.cross(turning, arm) + np.cross(spin, np.cross(spin, arm))
        inner.append((R, arm, MASS * (end + pull), inertia @ turning + np.cross(spin, inertia @ spin)))
        end = end + 2 * pull
    torques, forces, force, torque = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(3), np.zeros(3)
    for i in reversed(range(n)):
        R, arm, needed, moment = inner[i]
        torque = torque + moment + np.cross(arm, needed) + np.cross(2 * arm, force)
        force = force + needed
        torques[i], forces[i] = R.T @ torque, R.T @ force
    return torques, forces


def largest_torque(w, limits):
    """Return the largest power of a torque of three discs of given limits at the angular velocity w."""
    return RADIUS * sum(limit * np.linalg.norm(np.delete(w, k)) for k, limit in enumerate(limits))


def test_balls_of_a_chain_stick_within_their_limits_and_slide_at_them(tmp_path):
    """Coulomb's law for the mean acceleration of each step.

    The torque of a ball that turns has the largest power against its motion.  That of a ball at rest exceeds the
    largest one in no direction.
    """
    state, method = started(prepared(tmp_path, ball_chain(8)))
    directions = np.random.default_rng(1).normal(size=(200, 3))
    sticks = slides = 0
    for _ in range(600):
        q, v = state.q.copy().reshape(-1, 4), state.v.copy().reshape(-1, 3)
        assert method.step(state, 1) is None
        after = state.v.reshape(-1, 3)
        torques, forces = ball_torques_and_forces(q, v, (after - v) / H)
        limits = MU * np.abs(forces)
        accuracy = 1e-7 * limits.max() * RADIUS
        for torque, limit, w in zip(torques, limits, after, strict=True):
            speed = np.linalg.norm(w)
            if speed < 1e-13:
                sticks += 1
                for d in directions:
                    assert torque @ d <= largest_torque(d, limit) + accuracy * np.linalg.norm(d)
            else:
                slides += 1
                assert -torque @ w == pytest.approx(largest_torque(w, limit), abs=accuracy * speed)
    assert method.contact_work.diagnostics.unsolved_steps[0] == 0
    assert not method.contact_work.factors.rank.any(), "no rows are solved"
    assert sticks > 100
    assert slides > 1000


@pytest.mark.parametrize("n", [20, 200])
def test_the_number_of_passes_does_not_grow_with_the_number_of_balls(tmp_path, n):
    assert most_passes(prepared(tmp_path, ball_chain(n))) <= 15


def test_a_chain_of_balls_only_loses_energy(tmp_path):
    require_losses(prepared(tmp_path, ball_chain(10), "simulation.duration=0.5"))


# --- plates -----------------------------------------------------------------------------------------------------------
PLATE, HEIGHT = np.array([0.4, 0.3]), 0.1


def pile_of_plates(n):
    """Plates that slide on one another, each held without turning; the last is pushed."""
    bodies, joints = {}, {}
    for i in range(n):
        bodies[f"plate{i}"] = {"mass": MASS, "com": [0, 0, HEIGHT / 2], "inertia": {"principal": SPIN.tolist()}}
        joints[f"slide{i}"] = {
            "type": "planar",
            "parent": f"plate{i - 1}" if i else "world",
            "child": f"plate{i}",
            "origin": {"position": [0, 0, HEIGHT if i else 0]},
            "v": (0.3 * np.cos([1 + i, 2 + 3 * i])).tolist(),
            "friction": {"coefficient": MU, "surface": {"length": float(PLATE[0]), "width": float(PLATE[1])}},
        }
    joints[f"slide{n - 1}"]["force"] = [3.0, -2.0]
    return simulated(bodies, joints)


def plate_forces_and_limits(q, a):
    """Return friction (n, 2) and its limits (n,) from the accelerations: four corners carry force and moments."""
    n, total = len(q), np.cumsum(a, axis=0)
    corners = [np.array([x, y]) * PLATE / 2 for x in (-1, 1) for y in (-1, 1)]
    balance = np.array([[1.0, c[1], -c[0]] for c in corners]).T  # force z, moments x and y
    forces, limits, above, moment = np.zeros((n, 2)), np.zeros(n), np.zeros(3), np.zeros(3)
    for i in reversed(range(n)):
        lever = np.r_[q[i + 1], HEIGHT] if i < n - 1 else np.zeros(3)
        moment = moment + np.cross(lever, above)
        own = MASS * (np.r_[total[i], 0.0] - DOWN)
        moment = moment + np.cross([0, 0, HEIGHT / 2], own)
        above = above + own
        thrust = np.array([3.0, -2.0, 0.0]) if i == n - 1 else np.zeros(3)
        forces[i] = (above - thrust)[:2]
        loads = np.linalg.pinv(balance) @ [above[2], moment[0], moment[1]]
        limits[i] = MU * np.abs(loads).sum()
    return forces, limits


def test_plates_of_a_pile_slide_against_their_slip_or_stick(tmp_path):
    """Eccentric plates lift corners: loads of least norm pull there, and the limit grows."""
    n = 6
    state, method = started(prepared(tmp_path, pile_of_plates(n)))
    sticks = slides = 0
    for _ in range(400):
        q, v = state.q.copy().reshape(n, 2), state.v.copy().reshape(n, 2)
        assert method.step(state, 1) is None
        after = state.v.reshape(n, 2)
        forces, limits = plate_forces_and_limits(q, (after - v) / H)
        speed = np.linalg.norm(after, axis=1)
        stuck, accuracy = speed < 1e-14, 1e-8 * limits.max()
        assert (np.linalg.norm(forces[stuck], axis=1) <= limits[stuck] + accuracy).all()
        expected = -limits[~stuck, None] * after[~stuck] / speed[~stuck, None]
        np.testing.assert_allclose(forces[~stuck], expected, atol=accuracy)
        sticks += stuck.sum()
        slides += (~stuck).sum()
    assert not method.contact_work.factors.rank.any(), "no rows are solved"
    assert sticks > 100
    assert slides > 200


# --- all types --------------------------------------------------------------------------------------------------------
def random_tree(rng, n, mu, integrator="semi_implicit_euler"):
    """A tree of balls, sleeves, plates, hinges and crosses in space, with friction, springs, dampers and forces."""
    bodies, joints = {}, {}
    for i in range(n):
        bodies[f"b{i}"] = {
            "mass": float(rng.uniform(0.5, 2.0)),
            "com": rng.uniform(-0.3, 0.3, 3).tolist(),
            "inertia": {"principal": rng.uniform(0.02, 0.03, 3).tolist()},
        }
        axis = rng.normal(size=3)
        axis = (axis / np.linalg.norm(axis)).tolist()
        joint = {
            "parent": f"b{rng.integers(max(0, i - 3), i)}" if i else "world",
            "child": f"b{i}",
            "origin": {"position": rng.uniform(-0.3, 0.3, 3).tolist()},
        }
        coefficient, journal = float(mu * rng.uniform(0.3, 1.0)), {"radius": 0.03, "length": 0.12}
        rates, force = rng.normal(size=3).tolist(), rng.normal(size=3).tolist()
        match i % 7:
            case 0 | 4:
                surface = {"radius": 0.05}
                joint |= {"type": "spherical", "v": rates, "damping": 0.02, "force": force}
            case 1:
                surface = journal
                joint |= {"type": "cylindrical", "axis": axis, "v": rates[:2], "stiffness": [0.0, 100.0]}
            case 2:
                surface = {"length": 0.4, "width": 0.3}
                joint |= {"type": "planar", "v": rates[:2], "stiffness": [100.0, 50.0], "damping": [1.0, 2.0]}
            case 3:
                surface = journal
                joint |= {"type": "revolute", "axis": axis, "v": rates[0], "force": force[0]}
            case 5:
                surface = journal
                joint |= {"type": "universal", "v": rates[:2]}
            case 6:
                surface = {"radius": 0.05}
                chart = rng.choice(["euler_xzx", "exponential"])
                joint |= {"type": "spherical", "v": rates, "parametrization": str(chart)}
                joint |= {"q": {"rotvec": [0.3, 0.5, 0.4]}}
        joints[f"j{i}"] = {**joint, "friction": {"coefficient": coefficient, "surface": surface}}
    return simulated(bodies, joints, integrator)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_move_as_with_rows(tmp_path, monkeypatch, seed, method):
    compare_with_rows(tmp_path, monkeypatch, random_tree(np.random.default_rng(seed), 8, 0.3), method)


@pytest.mark.parametrize("seed", range(3))
def test_implicit_joint_forces_add_to_the_inertia_of_the_coordinates(tmp_path, monkeypatch, seed):
    scene = random_tree(np.random.default_rng(10 + seed), 8, 0.3, "linearly_implicit_euler")
    compare_with_rows(tmp_path, monkeypatch, scene, "aba")


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_implicit_damping_of_balls_acts_on_each_coordinate(tmp_path, monkeypatch, method):
    """Its impulse is as large as that of their inertia."""
    scene = random_tree(np.random.default_rng(0), 8, 0.6, "linearly_implicit_euler")
    for joint in scene["joints"].values():
        if "damping" in joint and joint["type"] == "spherical":
            joint["damping"] = 20.0
    compare_with_rows(tmp_path, monkeypatch, scene, method)


@pytest.mark.parametrize("method", ["aba", "baraff"])
@pytest.mark.parametrize("axis", range(3))
def test_a_ball_that_turns_about_an_axis_of_its_surface_has_the_damping_of_that_axis(tmp_path, method, axis):
    """The disc on the axis sticks; the others slide, each with the part of the load along its own axis."""
    damping, speed, load = 5.0, 2.0, MASS * np.array([3.0, -2.0, 4.0])
    ball = {"mass": MASS, "com": [0, 0, 0], "inertia": {"principal": SPIN.tolist()}}
    rates = [speed if k == axis else 0.0 for k in range(3)]
    friction = {"coefficient": MU, "surface": {"radius": RADIUS}}
    joint = {"type": "spherical", "child": "ball", "v": rates, "damping": damping, "friction": friction}
    scene = simulated({"ball": ball}, {"joint": joint}, "linearly_implicit_euler")
    state, stepper = started(prepared(tmp_path, {**scene, "gravity": [3.0, -2.0, 4.0]}, f"simulation.method={method}"))
    assert stepper.step(state, 1) is None
    assert not stepper.contact_work.factors.rank.any(), "no rows are solved"
    assert stepper.contact_work.tree_friction.state.tolist() == [0 if k == axis else 1 for k in range(3)]
    torque = MU * RADIUS * np.delete(np.abs(load), axis).sum()
    expected = (SPIN[axis] * speed - H * torque) / (SPIN[axis] + H * damping)
    np.testing.assert_allclose(state.v[-3:], np.eye(3)[axis] * expected, atol=1e-10)


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
@pytest.mark.parametrize(("seed", "mu"), [(0, 0.3), (1, 0.3), (2, 0.3), (3, 2.0)])
def test_variational_steps_move_as_with_rows(tmp_path, monkeypatch, seed, mu, method):
    """The law applies to the mean slip velocity of a step."""
    scene = random_tree(np.random.default_rng(seed), 7, mu)
    del scene["simulation"]["integrator"]
    simulation = prepared(tmp_path, scene, f"simulation.method={method}", "simulation.duration=0.03")
    tree, rows = MemorySink(), MemorySink()
    simulation.run(tree)
    with monkeypatch.context() as patched:
        without_passes(patched)
        simulation.run(rows)
    one, other = tree.trajectory(), rows.trajectory()
    assert one.channel("contacts/unsolved").values.sum() + other.channel("contacts/unsolved").values.sum() == 0
    for path in ("bodies/position", "bodies/linear_velocity"):
        expected = other.channel(path).values
        np.testing.assert_allclose(one.channel(path).values, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(4))
def test_joints_that_jam_obey_the_law_of_the_rows(tmp_path, monkeypatch, seed):
    """Much friction and long levers: rows that start from the solution of the tree keep it.

    From their own guess they end in another solution, or in none, in a third of these steps.
    """
    simulation = prepared(tmp_path, random_tree(np.random.default_rng(seed), 5, 2.0))
    (one, tree), (other, rows) = started(simulation), started_with_rows(monkeypatch, simulation)
    for _ in range(10):
        tree.contact_work.factors.rank[:] = -1
        other.q[:], other.v[:] = one.q, one.v
        rows.start(other)
        assert tree.step(one, 1) is None
        found, guess = tree.contact_work.joint_friction, rows.contact_work.joint_friction
        guess.previous_impulses[:], guess.normal_loads[:] = found.previous_impulses, found.normal_loads
        assert rows.step(other, 1) is None
        assert (tree.contact_work.factors.rank == -1).all(), "no rows are solved"
        assert tree.contact_work.diagnostics.unsolved_steps[0] + rows.contact_work.diagnostics.unsolved_steps[0] == 0
        np.testing.assert_allclose(one.v, other.v, atol=1e-10 * np.abs(other.v).max())
        friction, expected = (friction_of_joints(simulation.compiled.model.system, solved) for solved in (tree, rows))
        np.testing.assert_allclose(friction, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(8))
def test_a_ball_holds_any_torque_below_the_largest_in_its_direction(tmp_path, seed):
    """Each axis has a limit of its own; the largest torque follows from the motion that it would have to start."""
    rng = np.random.default_rng(seed)
    gravity, direction = rng.normal(size=3) * [1.0, 1.0, rng.choice([0.01, 1.0])], rng.normal(size=3)
    limits = MU * MASS * np.abs(gravity)

    across = np.linalg.svd(direction[None])[2][1:]

    def resistance(y):
        """The largest torque at an angular velocity whose product with the direction is 1: a convex function."""
        return largest_torque(direction / (direction @ direction) + y @ across, limits)

    options = {"xatol": 1e-12, "fatol": 1e-15, "maxiter": 4000}
    starts = rng.normal(size=(8, 2))
    largest = min(minimize(resistance, y, method="Nelder-Mead", options=options).fun for y in starts)
    for share, moves in ((0.999, False), (1.001, True)):
        ball = {
            "type": "spherical",
            "child": "ball",
            "force": (share * largest * direction).tolist(),
            "friction": {"coefficient": MU, "surface": {"radius": RADIUS}},
        }
        scene = simulated({"ball": {"mass": MASS, "inertia": {"principal": [0.004] * 3}}}, {"axle": ball})
        scene["gravity"] = gravity.tolist()
        state, method = started(prepared(tmp_path, scene))
        assert method.step(state, 1) is None
        assert not method.contact_work.factors.rank.any(), "no rows are solved"
        assert np.any(np.abs(state.v) > 1e-9) == moves


def shares(table, T, p):
    """Matrix 1 - s mu sum_k w_k C_k^T of a disc, formed here."""
    patch, matrix = table.patches[p], np.eye(6)
    n, m = T.direction[p]
    for k in range(patch["first_point"], patch["last_point"]):
        point = table.points[k]
        unit = n * np.r_[point["along_t"], point["along_f"]] + m * np.r_[point["across_t"], point["across_f"]]
        C = sum(
            T.signs[i] * np.r_[table.loads[i]["t"], table.loads[i]["f"]]
            for i in range(point["first_load"], point["last_load"])
        )
        matrix -= patch["static_friction"] * np.outer(unit, C)
    return matrix


def friction_at(table, loads, T, carried, slips):
    """Friction (p, 2) of all discs that slide with `slips` (p, 2) and transmit `carried` (p, 6), for the signs in T."""
    directions = slips / np.linalg.norm(slips, axis=1)[:, None]
    T.state[:], T.direction[:] = 1, directions
    assert write_load_shares(table, loads, T)
    return directions * (T.share * carried).sum(axis=1)[:, None]


def test_the_drag_of_a_disc_is_the_derivative_of_its_friction(tmp_path):
    """By finite differences, with the reaction W for each direction of the friction at the points."""
    bodies = {name: {"mass": 1.0, "inertia": {"principal": [1.0, 1.0, 1.0]}} for name in "abc"}
    journal, plate = {"radius": 0.03, "length": 0.12}, {"length": 0.4, "width": 0.3}
    joints = {
        "ball": {"type": "spherical", "child": "a", "friction": {"coefficient": 0.8, "surface": {"radius": 0.05}}},
        "sleeve": {"type": "cylindrical", "child": "b", "friction": {"coefficient": 0.7, "surface": journal}},
        "slide": {"type": "planar", "child": "c", "friction": {"coefficient": 1.2, "surface": plate}},
    }
    simulation = prepared(tmp_path, simulated(bodies, joints))
    _, method = started(simulation)
    table, T = simulation.compiled.model.system.contacts.joint_friction, method.contact_work.tree_friction
    loads, rng = method.contact_work.joint_friction, np.random.default_rng(3)
    for _ in range(20):
        carried, slips = rng.normal(size=(len(table.patches), 6)), rng.normal(size=(len(table.patches), 2))
        carried[:, :3] *= 0.03
        for _ in range(20):  # signs of the loads
            friction = friction_at(table, loads, T, carried, slips)
            T.reaction[:] = [np.linalg.solve(shares(table, T, p), carried[p]) for p in range(len(carried))]
            for p, patch in enumerate(table.patches):
                compute_limit(p, patch, load_vector(T.reaction[p]), table, loads, T)
        T.friction[:], T.speed[:] = friction, np.linalg.norm(slips, axis=1)
        np.testing.assert_allclose(np.linalg.norm(friction, axis=1), loads.limit, rtol=1e-12)
        linearize_friction(table.patches, loads, T)
        drag = T.drag.copy()
        np.testing.assert_allclose(T.applied, 0.0, atol=1e-14)
        for j in range(2):
            step = 1e-6 * np.eye(2)[j]
            plus, minus = (friction_at(table, loads, T, carried, slips + side * step) for side in (1.0, -1.0))
            np.testing.assert_allclose(drag[:, :, j], (minus - plus) / 2e-6, atol=1e-8 * np.abs(drag).max())
