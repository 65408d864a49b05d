"""Forces that depend on other coordinates, in contact steps: against all states of the contacts, and limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from loops import start

from multibody_cli.implicit.coupled_impulses import update_inverse
from multibody_cli.implicit.implicit_forces import set_implicit_coefficients

BALL = {"mass": 1.3, "shapes": [{"type": "sphere", "radius": 0.1}]}
CART = {"mass": 0.8, "inertia": {"principal": [1, 1, 1]}}
METHODS = ("aba", "redmax", "symbolic", "baraff")
H = 0.01


def balls(seed, n=2, size=1.0, friction=0.5):
    """Balls that slide on the floor along x and move along z without turning, and a cart on a rail.

    Forces are linear in all coordinates and rates.

    Returns
    -------
    dict
        The scene, with all balls on the floor.
    tuple
        M, K, D, the forces f of the state, and the rates v.
    """
    rng = np.random.default_rng(seed)
    words = [word for i in range(n) for word in (f"joints.b{i}.q[0]", f"joints.b{i}.q[1]")] + ["joints.c.q"]
    m = len(words)
    q = rng.uniform(-0.3, 0.3, m)
    pressed = np.array([0.0, 1.0] * n + [0.0])
    q[pressed > 0.0] = 0.0
    v = rng.normal(size=m) * rng.choice([0.0, 1.0], m)
    f = 20.0 * rng.normal(size=m) - 20.0 * pressed
    R, T = rng.normal(size=(2, m, m)), rng.normal(size=(2, m, m))
    K, D = (-size * unit * (R[k] @ R[k].T + T[k] - T[k].T) for k, unit in ((0, 3e3), (1, 3e1)))
    forces = []
    for i in range(m):
        terms = [f"({K[i, j]})*({word} - ({q[j]}))" for j, word in enumerate(words)]
        terms += [f"({D[i, j]})*({word.replace('.q', '.v')} - ({v[j]}))" for j, word in enumerate(words)]
        forces.append(" + ".join([str(f[i]), *terms]))
    axes = [{"type": "prismatic", "axis": axis} for axis in ([1, 0, 0], [0, 0, 1])]
    joints, bodies = {}, {}
    for i in range(n):
        name, both = f"b{i}", slice(2 * i, 2 * i + 2)
        bodies[name] = BALL
        joints[name] = {"type": "composite", "parts": axes, "child": name, "origin": {"position": [0, i, 0.1]}}
        joints[name] |= {"q": q[both].tolist(), "v": v[both].tolist(), "force": forces[both]}
    joints["c"] = {"type": "prismatic", "axis": [1, 0, 0], "child": "c", "q": q[-1], "v": v[-1], "force": forces[-1]}
    joints["c"]["origin"] = {"position": [0, 0, 5]}
    floor = {"shapes": [{"type": "plane"}]}
    scene = {"gravity": [0, 0, 0], "world": floor, "bodies": {**bodies, "c": CART}, "joints": joints}
    contacts = {"friction": friction, "restitution": 0.0}
    return {**scene, "contacts": contacts}, (np.diag([BALL["mass"]] * (2 * n) + [CART["mass"]]), K, D, f, v)


OPEN, STICK, FORWARD, BACKWARD = range(4)


def velocities_of(M, K, D, f, v, friction):
    """Velocities after a step, for all states of the contacts that satisfy Coulomb's law."""
    A, m, found = M - H * D - H * H * K, len(M), []
    free, inverse = np.linalg.solve(A, M @ v - H * D @ v + H * f), np.linalg.inv(A)
    n = m // 2
    for states in product(range(4), repeat=n):
        rows, columns = [], []
        for i, state in enumerate(states):
            t, z = np.eye(m)[2 * i], np.eye(m)[2 * i + 1]
            if state == STICK:
                rows, columns = [*rows, z, t], [*columns, z, t]
            elif state != OPEN:
                rows, columns = [*rows, z], [*columns, z - (friction if state == FORWARD else -friction) * t]
        J, L = np.reshape(rows, (-1, m)), np.reshape(columns, (-1, m))
        x = np.linalg.solve(J @ inverse @ L.T, -J @ free) if rows else np.zeros(0)
        after, k, valid = free + inverse @ L.T @ x, 0, True
        for i, state in enumerate(states):
            along, up = after[2 * i], after[2 * i + 1]
            if state == OPEN:
                valid &= up >= 0.0
            elif state == STICK:
                valid &= x[k] >= 0.0 and abs(x[k + 1]) <= friction * x[k]
            else:
                valid &= x[k] >= 0.0 and (along if state == FORWARD else -along) >= 0.0
            k += (0, 2, 1, 1)[state]
        if valid:
            found.append((after, states))
    return found


@pytest.mark.parametrize(
    ("method", "seeds", "n"),
    [
        ("aba", range(8), 2),
        ("aba", range(4), 4),
        ("redmax", [1], 2),
        ("symbolic", [1], 2),
        ("baraff", [1], 2),
        ("baraff", [0], 4),
    ],
)
@pytest.mark.parametrize("size", [1.0, 10.0])
def test_a_step_with_friction_is_the_only_one_that_satisfies_coulombs_law(method, seeds, n, size):
    """(M - h D - h^2 K) v' = (M - h D) v + h f + J^T x, with states of the contacts that agree with v' and x."""
    for seed in seeds:
        scene, problem = balls(seed, n, size)
        [(wanted, _)] = velocities_of(*problem, 0.5)
        run = start(scene, method, integrator="linearly_implicit_euler", step=H)
        report = run.method.advance(run.state, H)
        assert report.implicit_unsolved == 0
        found = np.concatenate([run.joint(name, "velocity") for name in scene["joints"]])
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-8 * np.abs(wanted).max())


def pressed_carts(**of_a):
    """Two carts with a stiff controller that couples them, the first one pressed with 20 kN."""
    rail, size = {"type": "prismatic", "axis": [1, 0, 0]}, {"shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]}
    a = {**rail, "child": "a", "force": "-2e4 - 40*v - 400*joints.b.v - 4000*q - 3000*joints.b.q", **of_a}
    b = {**rail, "child": "b", "q": 0.5, "force": "-40*v + 400*joints.a.v - 4000*q + 3000*joints.a.q"}
    return {"gravity": [0, 0, 0], "bodies": {"a": {"mass": 1.0, **size}, "b": CART}, "joints": {"a": a, "b": b}}


@pytest.mark.parametrize("method", METHODS)
def test_a_wall_acts_as_a_limit(method):
    """Forces that do not change with the impulse of the wall would move the second cart from its place by meters."""
    limited, free = pressed_carts(limits=[0, None]), pressed_carts()
    wall = {"type": "prismatic", "axis": [1, 0, 0], "child": "w", "motion": {"position": "0"}}
    walled = {
        **free,
        "bodies": {**free["bodies"], "w": free["bodies"]["a"]},
        "joints": {**free["joints"], "w": {**wall, "origin": {"position": [-0.2, 0, 0]}}},
        "contacts": {"friction": 0.5},
    }
    found, wanted = (
        start(scene, method, integrator="linearly_implicit_euler", step=H).advance(0.2) for scene in (walled, limited)
    )
    for name in "ab":
        for channel in ("coordinates", "velocity"):
            np.testing.assert_allclose(found.joint(name, channel), wanted.joint(name, channel), rtol=0.0, atol=1e-8)
    assert 1e-4 < abs(wanted.joint("b", "coordinates")[0]) < 0.1


@pytest.mark.parametrize("method", METHODS)
def test_a_load_takes_the_step_of_the_spring_that_it_writes_on_a_rough_floor(method):
    """The spring drags a turning ball over the floor; its stiffness is in the symmetric matrix."""
    point, end = [0.02, 0.05, -0.03], [0.3, 0.2, -0.4]
    ball = {**BALL, "position": [0.0, 0.0, 0.1], "velocity": {"linear": [1.0, -2.0, 0.0], "angular": [4.0, 9.0, 3.0]}}
    scene = {"world": {"shapes": [{"type": "plane"}]}, "bodies": {"ball": ball}, "contacts": {"friction": 0.3}}
    place = f"bodies.ball.point({', '.join(map(str, point))}).position"
    force = [f"-9000*({place}.{axis} - ({at}))" for axis, at in zip("xyz", end, strict=True)]
    ends = [{"body": "world", "point": end}, {"body": "ball", "point": point}]
    found, wanted = (
        start({**scene, **one}, method, integrator="linearly_implicit_euler", step=H).advance(H)
        for one in (
            {"forces": {"load": {"body": "ball", "point": point, "force": force}}},
            {"springs": {"spring": {"between": ends, "stiffness": 9000, "rest_length": 0}}},
        )
    )
    impulse = wanted.method.contact_work.detection.contacts["impulse"][0]
    assert np.hypot(*impulse[1:]) > 0.1
    np.testing.assert_allclose(found.state.v, wanted.state.v, rtol=0.0, atol=1e-8)


def test_a_drive_bears_the_change_of_a_load_by_an_impact():
    """The ball stops on the floor; a load along the drive depends on its rate, and changes by the impulse 90 h u."""
    base = {"type": "prismatic", "axis": [1, 0, 0], "child": "base", "motion": {"position": "1.5*t"}}
    ball = {"type": "prismatic", "axis": [0, 0, 1], "parent": "base", "child": "ball", "v": -2.0}
    scene = {
        "world": {"shapes": [{"type": "plane"}]},
        "bodies": {"base": CART, "ball": BALL},
        "joints": {
            "base": {**base, "origin": {"position": [0, 0, 1]}},
            "ball": {**ball, "origin": {"position": [0, 0, -0.9]}},
        },
        "forces": {"load": {"body": "ball", "force": ["90*joints.ball.v", 0, 0]}},
        "contacts": {"friction": 0.0, "restitution": 0.0},
    }
    run = start(scene, "aba", integrator="linearly_implicit_euler", step=H)
    system, state, work = run.compiled.model.system, run.state, run.method.work
    set_implicit_coefficients(system.tree, work, H, H, 0.0)
    work.implicit_rates[:] = state.v
    run.method.dynamics.evaluate(system, work, 0.0, state.q, state.v, state.a, np.zeros_like(state.ledger))
    start_rates = state.v.copy()
    state.v[:] += H * state.a
    ledger, falling = np.zeros_like(state.ledger), -state.v[1]
    run.method.dynamics.solve_contact_step(
        system, work, run.method.contact_work, 0.0, H, state.q, start_rates, state.v, ledger
    )
    assert state.v[1] == pytest.approx(0.0, abs=1e-12)
    names = [account.cause for account in run.compiled.model.names.accounts]
    assert ledger[names.index("joints/base/motion")] == pytest.approx(-90.0 * H * falling * 1.5, rel=1e-9)


def impact_under_a_drive():
    """A ball on an arm at rest meets the floor at 20 m/s; a drive, a spring and a load that reads the state act."""
    rail, hinge = {"type": "prismatic", "axis": [1, 0, 0]}, {"type": "revolute", "axis": [0, 1, 0]}
    arm = {"mass": 1.0, "com": [0.2, 0.05, 0.1], "inertia": {"principal": [0.02, 0.03, 0.025]}}
    height = 0.3 + 0.4 * np.sin(0.3) + 0.2 * np.cos(0.3)
    joints = {
        "base": {**rail, "child": "base", "origin": {"position": [0, 0, height - 0.2]}},
        "arm": {**hinge, "parent": "base", "child": "arm", "origin": {"position": [0.1, 0, 0]}, "q": 0.3, "v": 0},
        "ball": {**rail, "axis": [0, 0, 1], "parent": "arm", "child": "ball", "v": -20.0},
    }
    joints["base"]["motion"] = {"position": "0.5*t + 2*t**2"}
    joints["ball"]["origin"] = {"position": [0.4, 0, -0.2]}
    ends = [{"body": "base", "point": [0, 0.1, 0.2]}, {"body": "ball", "point": [0.05, 0, 0.02]}]
    spring = {"between": ends, "stiffness": 5000, "damping": 20, "rest_length": 0.3}
    force = ["90*joints.arm.v", 0, "-30*joints.ball.v + 50*bodies.base.linear_velocity.x"]
    return {
        "world": {"shapes": [{"type": "plane"}]},
        "contacts": {"friction": 0.4, "restitution": 0.0},
        "bodies": {"base": {"mass": 2.0, "inertia": {"principal": [0.1, 0.2, 0.15]}}, "arm": arm, "ball": BALL},
        "joints": joints,
        "springs": {"spring": spring},
        "forces": {"load": {"body": "ball", "point": [0.02, 0.01, -0.03], "force": force}},
    }


def impulse_of_the_drive(change, impulse, h):
    """That along its rail: the change of the momentum of all bodies, less the impulses of the floor and of the load.

    The spring acts between two bodies.
    """
    cart, turn, slide = change
    sin, cos = np.sin(0.3), np.cos(0.3)
    arm = cart + turn * (0.1 * cos - 0.2 * sin)
    ball = cart + turn * (-0.2 * cos - 0.4 * sin) + slide * sin
    load = h * (90.0 * turn)
    return 2.0 * cart + arm + BALL["mass"] * ball + impulse[2] - load


@pytest.mark.parametrize("h", [H, 0.1 * H])
def test_methods_agree_on_a_violent_impact_with_a_drive_a_load_and_a_spring(h):
    """The drive has the velocity at the end of the step, s' + h s'', and bears the changes of spring and load."""
    found = {}
    for method in METHODS:
        run = start(impact_under_a_drive(), method, integrator="linearly_implicit_euler", step=h)
        system, state, work = run.compiled.model.system, run.state, run.method.work
        set_implicit_coefficients(system.tree, work, h, h, 0.0)
        work.implicit_rates[:] = state.v
        powers, ledger = np.zeros_like(state.ledger), np.zeros_like(state.ledger)
        run.method.dynamics.evaluate(system, work, 0.0, state.q, state.v, state.a, powers)
        start_rates = state.v.copy()
        state.v[:] += h * state.a
        columns = np.r_[tuple(joint.columns for joint in run.compiled.model.names.joints)]
        before = state.v[columns]
        run.method.dynamics.solve_contact_step(
            system, work, run.method.contact_work, 0.0, h, state.q, start_rates, state.v, ledger
        )
        impulse = run.method.contact_work.detection.contacts["impulse"][0]
        found[method] = np.concatenate([impulse, state.v[columns], powers, ledger])
        change = state.v[columns] - before
        assert ledger[0] == pytest.approx(0.5 * (1.0 + 4.0 * h) * impulse_of_the_drive(change, impulse, h), rel=1e-8)
    assert found["aba"][3] == pytest.approx(0.5 + 4.0 * h)
    assert found["aba"][0] > 10.0
    for method in METHODS[1:]:
        np.testing.assert_allclose(found[method], found["aba"], rtol=0.0, atol=1e-8 * np.abs(found["aba"]).max())


@pytest.mark.parametrize("most", [1, 4])
def test_a_step_that_may_not_iterate_counts_as_unsolved_and_does_not_penetrate(most):
    """The last solution of the contacts has the forces without the impulses."""
    scene, _ = balls(1)
    scene["contacts"]["max_iterations"] = most
    run = start(scene, "aba", integrator="linearly_implicit_euler", step=H)
    assert run.method.advance(run.state, H).implicit_unsolved == 1
    assert (run.method.work.coupling.impulses == 0.0).all()
    assert min(run.joint(name, "velocity")[1] for name in ("b0", "b1")) > -1e-9


def test_a_step_uses_nothing_of_the_iterations_before():
    ends = []
    for value in (0.0, np.nan):
        run = start(balls(1)[0], "aba", integrator="linearly_implicit_euler", step=H)
        C = run.method.work.coupling
        for array in (C.impulses, C.change, C.inverse, C.row, C.excess, C.rhs, C.values):
            array.fill(value)
        ends.append(run.advance(H).state.v.tobytes())
    assert ends[0] == ends[1]


def test_contacts_elsewhere_are_solved_where_the_matrix_without_limits_is_singular():
    """Two carts destabilize each other with h c = 1; while one is at its limit, the step has a solution."""
    rail = {"type": "prismatic", "axis": [1, 0, 0]}
    joints = {
        "a": {**rail, "child": "a", "limits": [0, None], "force": "-1 - 100*joints.b.v"},
        "b": {**rail, "child": "b", "force": "-100*joints.a.v"},
        "ball": {
            "type": "prismatic",
            "axis": [0, 0, 1],
            "child": "ball",
            "origin": {"position": [0, 0, 0.1]},
            "v": -1.0,
        },
    }
    body = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}
    scene = {"world": {"shapes": [{"type": "plane"}]}, "bodies": {"a": body, "b": body, "ball": BALL}, "joints": joints}
    run = start({**scene, "contacts": {}}, "aba", integrator="linearly_implicit_euler", step=H)
    assert run.method.advance(run.state, H).implicit_unsolved == 0
    np.testing.assert_allclose(run.state.v, 0.0, rtol=0.0, atol=1e-12)


def test_a_body_that_sleeps_moves_in_the_step_whose_impact_changes_its_load():
    """A ball that falls on the floor elsewhere switches a load of 600 N on."""
    box = {"mass": 1.0, "position": [0, 0, 0.1], "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}]}
    rail = {"type": "prismatic", "axis": [0, 0, 1], "child": "ball", "origin": {"position": [5, 0, 0.2013]}, "v": -1.0}
    ends = []
    for sleeping in (True, False):
        scene = {
            "gravity": [0, 0, 0],
            "world": {"shapes": [{"type": "plane"}]},
            "bodies": {"box": box, "ball": BALL},
            "joints": {"ball": rail},
            "forces": {"load": {"body": "box", "force": ["600*(1 + joints.ball.v)", 0, -50]}},
            "contacts": {"friction": 0.5, "restitution": 0.0, "sleeping": sleeping},
        }
        run = start(scene, "aba", integrator="linearly_implicit_euler", step=0.002).advance(0.11)
        ends.append(run.state.v.copy())
    assert ends[0][0] > 1.0
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-9)


def test_an_update_maps_the_difference_to_the_change():
    """A vector whose image is orthogonal to the change has the same image as before."""
    rng = np.random.default_rng(1)
    H, s, y = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    updated, scratch = H.copy(), np.zeros((2, 3))
    update_inverse(updated, s, y, *scratch)
    np.testing.assert_allclose(updated @ y, s, rtol=1e-12)
    other = np.linalg.solve(H, np.cross(s, [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(updated @ other, H @ other, rtol=1e-12)
    update_inverse(updated, np.zeros(3), y, *scratch)
    np.testing.assert_allclose(updated @ y, s, rtol=1e-12)


def test_with_dry_friction_of_joints_other_derivatives_are_explicit():
    scene, _ = balls(1)
    assert start(scene, "aba", integrator="linearly_implicit_euler", step=H).compiled.model.system.coupled
    scene["joints"]["c"]["friction"] = {"coefficient": 0.1, "surface": {"type": "box", "size": [0.1, 0.1, 0.1]}}
    assert not start(scene, "aba", integrator="linearly_implicit_euler", step=H).compiled.model.system.coupled
