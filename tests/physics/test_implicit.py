"""Implicit forces: accelerations of all methods, and integrators that are stable with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from force_scenes import ELEMENTS, INERTIA
from loops import start

from multibody_cli.implicit.implicit_forces import set_implicit_coefficients
from multibody_cli.studies.equations_of_motion import EquationsOfMotion

METHODS = ("aba", "redmax", "baraff")
IMPLICIT = ("linearly_implicit_euler", "sdirk2")


def slider(**spring):
    """A kilogram on a slider, tied to the ground by a spring that is relaxed at x = 0."""
    return {
        "gravity": [0, 0, 0],
        "bodies": {"m": {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"s": {"type": "prismatic", "child": "m", "axis": [1, 0, 0], "q": 0.1, "v": 0.3}},
        "springs": {
            "k": {"between": [{"body": "world", "point": [-2, 0, 0]}, {"body": "m"}], "rest_length": 2, **spring}
        },
    }


def steps(scene, method, integrator, h, count):
    """Coordinate, velocity and energies of the slider over some steps."""
    run = start(scene, method, integrator=integrator, step=h, duration=1000 * h)
    states = [(run.state.q[0], run.state.v[0])] if method != "baraff" else [joint_state(run)]
    for k in range(1, count + 1):
        report = run.method.advance(run.state, k * h)
        assert report.status.name == "OK"
        states.append(joint_state(run))
    return np.array(states)


def joint_state(run):
    joint = run.compiled.model.names.joints[0]
    return run.state.q[joint.positions][0], run.state.v[joint.columns][0]


@pytest.mark.parametrize("method", METHODS)
def test_linearly_implicit_euler_agrees_with_its_formula(method):
    """(1 + h d + h^2 k) v' = v - h k x and x' = x + h v', notes (2.77)."""
    k, d, h = 1e6, 30.0, 1e-3
    found = steps(slider(stiffness=k, damping=d), method, "linearly_implicit_euler", h, 5)
    x, v = 0.1, 0.3
    for x_found, v_found in found[1:]:
        v = (v - h * k * x) / (1.0 + h * d + h * h * k)
        x += h * v
        assert (x_found, v_found) == pytest.approx((x, v), abs=1e-11)


PARTS = ("revolute", "prismatic", "revolute", "revolute", "prismatic")
"""Joints of a branching tree."""


def sprung_tree(k, d):
    """A tree whose joints all have different stiffness and damping, in proportion to k and d."""
    body = {"mass": 1.3, "com": [0.1, -0.2, 0.3], "inertia": {"principal": [0.1, 0.2, 0.25]}}
    joints = {
        f"j{i}": {
            "type": kind,
            "axis": [1, 2 - i, i],
            "parent": f"b{(i - 1) // 2}" if i else "world",
            "child": f"b{i}",
            "origin": {"position": [0.3, 0.1 * i, -0.4]},
            "q": 0.3 - 0.2 * i,
            "v": 1.0 - 0.7 * i,
            "stiffness": k * (1 + i),
            "damping": d * (1 + i % 2),
        }
        for i, kind in enumerate(PARTS)
    }
    return {"bodies": {f"b{i}": body for i in range(len(PARTS))}, "joints": joints}


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
@pytest.mark.parametrize(("k", "d"), [(3e4, 0.0), (0.0, 200.0), (3e4, 200.0)])
def test_stiffness_and_damping_of_joints_are_on_the_diagonal_of_the_dense_equations(method, k, d):
    """(M + h D + h^2 K) v' = M (v + h a) - h K q, with a the accelerations without both: notes, (2.77) and Alg. 10."""
    h, number = 0.01, np.zeros(len(PARTS))
    free = start(sprung_tree(0.0, 0.0), method)
    for joint in free.compiled.model.names.joints:
        number[joint.columns] = int(joint.name[1:])
    M, state = EquationsOfMotion(free.compiled.model).mass_matrix(free.state), free.state
    K, D = np.diag(k * (1 + number)), np.diag(d * (1 + number % 2))
    expected = np.linalg.solve(M + h * D + h * h * K, M @ (state.v + h * state.a) - h * K @ state.q)
    run = start(sprung_tree(k, d), method, integrator="linearly_implicit_euler", step=h, duration=1.0)
    assert run.method.advance(run.state, h).status.name == "OK"
    np.testing.assert_allclose(run.state.v, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
def test_sdirk2_agrees_with_its_stability_function(method):
    """R(z) = (1 + (1 - 2 g) z) / (1 - g z)^2 of the matrix of the oscillator, with g = 1 - 1/sqrt(2)."""
    k, d, h, g = 400.0, 3.0, 0.02, 1.0 - math.sqrt(0.5)
    found = steps(slider(stiffness=k, damping=d), method, "sdirk2", h, 4)
    A = h * np.array([[0.0, 1.0], [-k, -d]])
    solve = np.linalg.inv(np.eye(2) - g * A)
    R = (np.eye(2) + (1.0 - 2.0 * g) * A) @ solve @ solve
    for n, state in enumerate(found):
        assert state == pytest.approx(np.linalg.matrix_power(R, n) @ [0.1, 0.3], abs=1e-9)


@pytest.mark.parametrize("integrator", IMPLICIT)
def test_a_stiff_spring_decays_at_any_step(integrator):
    """1e6 N/m on 1 kg at 1 ms and at 100 ms: no step adds energy, and long steps dissipate all of it."""
    for h in (1e-3, 0.1):
        found = steps(slider(stiffness=1e6), "aba", integrator, h, 30)
        energy = 0.5 * found[:, 1] ** 2 + 0.5e6 * found[:, 0] ** 2
        assert (np.diff(energy) <= 1e-12 * energy[0]).all()
    assert energy[-1] < 1e-20 * energy[0]


# --- quadratic drag --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stiffness", [0.0, 1e6])
def test_quadratic_drag_agrees_with_the_implicit_formula(method, stiffness):
    """(m + 2 h c |v| + h^2 k) (v' - v) = -h (c |v| v + k (x + h v)) and x' = x + h v'."""
    c, h = 4.0, 1e-2
    scene = slider(stiffness=stiffness) | {"forces": {"drag": {"body": "m", "quadratic": c}}}
    scene["joints"]["s"]["v"] = 30.0
    found = steps(scene, method, "linearly_implicit_euler", h, 5)
    x, v = 0.1, 30.0
    for x_found, v_found in found[1:]:
        force = -c * abs(v) * v - stiffness * (x + h * v)
        v += h * force / (1.0 + 2.0 * h * c * abs(v) + h * h * stiffness)
        x += h * v
        assert (x_found, v_found) == pytest.approx((x, v), abs=1e-10)


# --- the same equations by every method ----------------------------------------------------------------------------
def machine(seed, loop):
    """Five moving bodies on joints of several kinds, with all forces that depend on the motion."""
    rng = np.random.default_rng(seed)
    types = ["revolute", "spherical", "prismatic", "universal", "revolute"]
    n_dofs = {"revolute": 1, "prismatic": 1, "universal": 2}
    bodies, joints = {}, {}
    for k, kind in enumerate(types):
        bodies[f"b{k}"] = {"mass": 1.0 + k, "com": rng.normal(size=3).tolist(), "inertia": {"principal": [1, 1.2, 1.5]}}
        joint = {"type": kind, "child": f"b{k}", "parent": f"b{k - 1}" if k else "world"}
        joint["origin"] = {"position": rng.normal(size=3).tolist()}
        if kind == "spherical":
            joint |= {"q": {"rotvec": rng.normal(size=3).tolist()}, "v": rng.normal(size=3).tolist()}
        else:
            numbers = rng.normal(size=(2, n_dofs[kind])).tolist()
            joint |= (
                {"q": numbers[0], "v": numbers[1]} if n_dofs[kind] > 1 else {"q": numbers[0][0], "v": numbers[1][0]}
            )
        if kind in ("revolute", "prismatic"):
            joint["axis"] = rng.normal(size=3).tolist()
        joints[f"j{k}"] = joint | {"stiffness": 7.0, "damping": 2.0}
    if loop:
        bodies["c"] = bodies["b0"]
        joints["hung"] = {"type": "spherical", "child": "c", "parent": "b1", "v": rng.normal(size=3).tolist()}

    def at(body):
        return {"body": body, "point": rng.normal(size=3).tolist()}

    frames = {
        "origin": {"position": rng.normal(size=3).tolist()},
        "child_origin": {"rotation": {"rotvec": [0.3, 0.2, 0.1]}},
    }
    stiff = {"linear": [1e3, 2e3, 3e3], "angular": [100, 200, 300]}
    springs = {
        "far": {"between": [at("b0"), at("b4")], "stiffness": 1e5, "damping": 10, "rest_length": 2},
        "ground": {"between": [at("world"), at("b3")], "stiffness": 1e4, "rest_length": 0},
        "cable": {
            "path": [at("b1"), at("world"), at("b2"), at("b4")],
            "stiffness": 5e3,
            "damping": 3,
            "rest_length": 1,
        },
        "bushing": {"type": "bushing", "parent": "b1", "child": "b3", **frames, "stiffness": stiff, "damping": stiff},
    }
    muscle = {"max_isometric_force": 500, "optimal_length": 2, "max_velocity": 3, "activation": 0.5}
    return {
        "bodies": bodies,
        "joints": joints,
        "springs": springs,
        "muscles": {"m": {"path": [at("b0"), at("b2"), at("b4")], **muscle}},
        "forces": {"drag": {"body": "b2", "viscous": {"linear": 5, "angular": 3}}},
    }


def implicit_accelerations(scene, method, **options):
    """Accelerations of all joints with the forces after 10 ms, and the iterations that they took."""
    found, work = implicit_evaluation(scene, method, **options)
    return found, int(work.implicit_solve.iterations[0])


def implicit_evaluation(scene, method, **options):
    """Accelerations of all joints with the forces after 10 ms, and the work arrays."""
    h = 1e-2
    run = start(scene, method, integrator="linearly_implicit_euler", step=h, duration=1.0, options=options)
    model, state, work = run.compiled.model, run.state, run.method.work
    set_implicit_coefficients(model.system.tree, work, h, h, 0.0)
    work.implicit_rates[:] = state.v
    work.implicit_solve.iterations[0] = 0
    run.method.dynamics.evaluate(model.system, work, 0.0, state.q, state.v, state.a, np.zeros_like(state.ledger))
    return np.concatenate([state.a[joint.columns] for joint in model.names.joints]), work


@pytest.mark.parametrize("name", ELEMENTS)
def test_methods_agree_for_every_force_element(name):
    """The spring makes the system implicit; the element couples or damps other bodies."""
    rng = np.random.default_rng(7)

    def joint(kind, child, parent, **numbers):
        origin = {"position": rng.normal(size=3).tolist()}
        return {"type": kind, "child": child, "parent": parent, "origin": origin, **numbers}

    scene = {
        "bodies": dict.fromkeys("abcd", INERTIA),
        "joints": {
            "ja": joint("revolute", "a", "world", axis=[1, 2, 3], q=0.4, v=3.0),
            "jb": joint("spherical", "b", "a", v=[1.0, -2.0, 3.0]),
            "jc": joint("prismatic", "c", "a", axis=[0, 1, 1], q=0.2, v=2.0),
            "jd": joint("prismatic", "d", "world", axis=[1, 0, 0], q=0.1, v=1.0),
        },
        **ELEMENTS[name],
    }
    ends = [{"body": "world"}, {"body": "d", "point": [0, 0, 0.1]}]
    elsewhere = {"between": ends, "stiffness": 1e4, "rest_length": 0}
    scene["springs"] = scene.get("springs", {}) | {"elsewhere": elsewhere}
    wanted, _ = implicit_accelerations(scene, "redmax")
    for method in ("aba", "baraff"):
        found, _ = implicit_accelerations(scene, method)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max(), err_msg=method)


@pytest.mark.parametrize("loop", [False, True])
def test_all_methods_solve_the_same_equations(loop):
    """By a dense matrix, by iteration on the tree, and by iteration on the bodies; through both preconditioners."""
    scene = machine(3, loop)
    dense, none = implicit_accelerations(scene, "redmax")
    assert none == 0
    for method in ("aba", "baraff"):
        for preconditioner in ("blocks", "mass"):
            found, rounds = implicit_accelerations(scene, method, preconditioner=preconditioner)
            assert rounds > 0
            np.testing.assert_allclose(found, dense, rtol=1e-8, atol=1e-8 * np.abs(dense).max())


@pytest.mark.parametrize("force", ["stiffness", "load"])
def test_the_free_rates_of_a_joint_exclude_its_prescribed_motion(force):
    """The columns of the joint are not orthogonal; in maximal coordinates, its rates follow from those of the body."""
    parts = [{"type": "revolute", "axis": [0, 1, 0]}, {"type": "screw", "axis": [1, 1, 1], "pitch": -0.7}]
    joint = {"type": "composite", "parts": parts, "child": "a", "q": [0.5, 0.4], "v": [0.8, -1.2]}
    joint["motion"] = {"velocity": ["0.8 + 0.5*t", None]}
    scene = {"bodies": {"a": {**INERTIA, "com": [0.1, 0.2, 0.3]}}, "joints": {"j": joint}}
    if force == "stiffness":
        joint["stiffness"] = [0, 400]
    else:
        scene["forces"] = {"load": {"body": "a", "torque": ["-400*joints.j.q[1] - 20*joints.j.v[1]", 0, 0]}}
    wanted, _ = implicit_accelerations(scene, "aba")
    found, _ = implicit_accelerations(scene, "baraff")
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


# --- ledgers and equilibria -------------------------------------------------------------------------------------------
def driven():
    """A driven hinge with a pendulum and a spring."""
    body, at_end = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}, {"position": [0.5, 0, 0]}
    ends = [{"body": "a", "point": [0, 0, 0.3]}, {"body": "b", "point": [0.4, 0, 0]}]
    return {
        "bodies": {"a": body | {"com": [0.3, 0, 0]}, "b": body | {"com": [0.2, 0, 0.1]}},
        "joints": {
            "j": {"type": "revolute", "child": "a", "axis": [0, 1, 0], "motion": {"position": "2*t + 30*t**2"}},
            "k": {"type": "revolute", "parent": "a", "child": "b", "axis": [0, 1, 0], "origin": at_end, "v": 0},
        },
        "springs": {"s": {"between": ends, "stiffness": 3e4, "rest_length": 0.95}},
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("integrator", "factor", "most"), [("sdirk2", 4.0, 2e-3), ("linearly_implicit_euler", 2.0, 0.2)]
)
def test_the_work_of_a_prescribed_motion_is_in_the_ledger(method, integrator, factor, most):
    """The work of the drive equals the energy gain, to the order of the integrator."""
    missed = []
    for h in (2e-3, 1e-3):
        run = start(driven(), method, integrator=integrator, step=h, duration=1.0)
        before = run.energy()
        run.advance(0.04)
        missed.append(abs(run.energy()[1] - before[1]))
    assert missed[0] / missed[1] == pytest.approx(factor, rel=0.15)
    assert missed[0] < most  # of 11 J


@pytest.mark.parametrize("integrator", IMPLICIT)
def test_an_affine_body_hangs_still_on_its_springs(integrator):
    """Gravity applies no force to its directors: it neither rotates nor shears."""
    lift = 9.81 / 4e6
    corners = [[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    scene = {
        "bodies": {"soft": {"kind": "affine", "mass": 1.0, "inertia": {"principal": [0.01, 0.01, 0.01]}}},
        "springs": {
            f"s{k}": {
                "between": [{"body": "world", "point": [*corner[:2], lift]}, {"body": "soft", "point": corner}],
                "stiffness": 1e6,
                "damping": 1000,
                "rest_length": 0,
            }
            for k, corner in enumerate(corners)
        },
    }
    run = start(scene, "baraff", integrator=integrator, step=1e-2, duration=1.0).advance(0.05)
    np.testing.assert_allclose(run.observed().deformation[0, 0].reshape(3, 3), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(run.body("soft", "position"), 0.0, atol=1e-9)
