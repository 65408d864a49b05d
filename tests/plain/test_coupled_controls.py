"""Joint forces that depend on other coordinates, in implicit integrators: against dense steps and exponentials."""

from __future__ import annotations

import numpy as np
import pytest
from loops import loaded, start
from scipy.linalg import expm
from test_state_expressions import FORCES, chain, controls

from multibody_cli.api.equations_of_motion import EquationsOfMotion
from multibody_cli.compile import compile_scene
from multibody_cli.tree.workspace import workspace_for

STRONG = {
    "one": "-900*joints.three.q - 40*joints.two.v[0] - 20*v",
    "two": ["700*joints.one.q - 300*q + 900*bodies.c.position.x", "-50*joints.one.v + 80*joints.three.q*v"],
    "three": "-2000*q + 500*joints.two.q[1] + 300*bodies.b.point(0.1, 0, -0.2).position.z + 30*joints.one.v",
}

OF_VELOCITIES = {
    "one": "-12*bodies.c.angular_velocity.y",
    "two": ["-9*bodies.c.linear_velocity.x", "7*bodies.a.angular_velocity.z - 5*bodies.c.angular_velocity[0]"],
    "three": "-40*bodies.b.point(0.1, 0, -0.2).linear_velocity.z",
}
"""Each force reads velocities of bodies of one kind, and nothing else."""


def derivatives(scene):
    """M, K, D and the accelerations at the start, by an explicit method and central differences."""
    compiled = compile_scene(loaded(scene))
    system, q, v = compiled.model.system, compiled.state.q, compiled.state.v
    work, e = workspace_for(system), 1e-6 * np.eye(len(v))
    K = np.array([(controls(system, work, q + d, v) - controls(system, work, q - d, v)) / 2e-6 for d in e]).T
    D = np.array([(controls(system, work, q, v + d) - controls(system, work, q, v - d)) / 2e-6 for d in e]).T
    return EquationsOfMotion(compiled.model).mass_matrix(compiled.state), K, D


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
@pytest.mark.parametrize("forces", [FORCES, STRONG])
def test_a_linearly_implicit_step_solves_with_all_derivatives(method, forces):
    check_step(chain({**forces, "one": forces["one"].replace(" + t", "")}), method)


def test_velocities_of_bodies_alone_couple_forces():
    """At rest, where the derivatives by displacements are exact too."""
    scene = chain(OF_VELOCITIES)
    resting = {name: {word: joint[word] for word in joint if word != "v"} for name, joint in scene["joints"].items()}
    check_step({**scene, "joints": resting}, "aba")


def check_step(scene, method, h=0.01):
    """(M - h D - h^2 K) x = M a + h K v, with x the change of the rates over h; K and D are not symmetric."""
    M, K, D = derivatives(scene)
    before = start(scene, "aba", integrator="rk4", step=h).state
    after = start(scene, method, integrator="linearly_implicit_euler", step=h).advance(h).state
    x = np.linalg.solve(M - h * D - h * h * K, M @ before.a + h * K @ before.v)
    np.testing.assert_allclose(after.v, before.v + h * x, rtol=0.0, atol=1e-7 * np.abs(h * x).max())


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
def test_with_springs_between_bodies_the_step_has_both(method):
    """A step of the scene with a spring written as forces of joints on a rail equals that with the spring."""
    cart = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}
    rail = {"type": "prismatic", "axis": [1, 0, 0]}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"a": cart, "b": {**cart, "mass": 3.0}},
        "joints": {"a": {**rail, "child": "a", "q": 0.3, "v": 1}, "b": {**rail, "child": "b", "q": 2.0, "v": -1}},
    }
    ends = [{"body": one, "point": [0, 0, 0]} for one in ("a", "b")]
    spring = {"between": ends, "stiffness": 4e3, "damping": 10, "rest_length": 1.5}
    cross = {"a": "-300*joints.b.q - 20*joints.b.v", "b": "700*joints.a.q"}
    pull = "4e3*(joints.b.q - joints.a.q - 1.5) + 10*(joints.b.v - joints.a.v)"
    written = {"a": f"{cross['a']} + {pull}", "b": f"{cross['b']} - ({pull})"}

    def with_forces(forces, **more):
        joints = {name: {**joint, "force": forces[name]} for name, joint in scene["joints"].items()}
        return {**scene, "joints": joints, **more}

    for integrator in ("linearly_implicit_euler", "sdirk2"):
        ends = [
            start(one, method, integrator=integrator, step=0.01).advance(0.1).state
            for one in (with_forces(cross, springs={"s": spring}), with_forces(written))
        ]
        np.testing.assert_allclose(ends[0].q, ends[1].q, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(ends[0].v, ends[1].v, rtol=0.0, atol=1e-7)


# --- a stiff controller that couples two carts, without symmetry ------------------------------------------------------
STIFFNESS = np.array([[4000.0, 3000.0], [-3000.0, 4000.0]])
DAMPING = np.array([[40.0, 400.0], [-400.0, 40.0]])


def carts():
    names = ("a", "b")
    body = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}
    force = {
        one: " + ".join(
            f"({-float(STIFFNESS[i, j])!r})*joints.{other}.q + ({-float(DAMPING[i, j])!r})*joints.{other}.v"
            for j, other in enumerate(names)
        )
        for i, one in enumerate(names)
    }
    joints = {
        one: {"type": "prismatic", "axis": [1, 0, 0], "child": one, "force": force[one], "q": q}
        for one, q in zip(names, (1.0, -0.5), strict=True)
    }
    return {"gravity": [0, 0, 0], "bodies": dict.fromkeys(names, body), "joints": joints}


def exact(time):
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-STIFFNESS, -DAMPING]])
    return expm(A * time) @ [1.0, -0.5, 0.0, 0.0]


def end(integrator, step, time):
    state = start(carts(), "aba", integrator=integrator, step=step).advance(time).state
    return np.concatenate([state.q, state.v])


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_a_stiff_coupled_controller_needs_no_small_steps(integrator):
    """The fast modes turn by 4 rad a step; with their coupling explicit, the step has a factor of 4 or more."""
    fastest = np.abs(np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-STIFFNESS, -DAMPING]]))).max()
    assert 0.01 * fastest > 4.0
    found = end(integrator, 0.01, 1.0)
    assert np.abs(found[:2]).max() < 1.0
    assert np.abs(found[2:]).max() < 10.0


@pytest.mark.parametrize(("integrator", "order", "least"), [("linearly_implicit_euler", 1, 128), ("sdirk2", 2, 64)])
def test_the_order_of_convergence_is_kept(integrator, order, least):
    time = 0.02
    errors = [np.abs(end(integrator, time / n, time) - exact(time))[:2].max() for n in (least, 2 * least, 4 * least)]
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(rates, order, atol=0.15)


def test_forces_of_own_coordinates_need_no_coupled_solve():
    scene = chain({"one": "-900*q - 30*v + t", "two": ["-q", "-q[1]"], "three": "-3*q"})
    assert not compile_scene(loaded(scene, integrator="sdirk2")).model.system.coupled
    assert not compile_scene(loaded(chain(STRONG), integrator="rk4")).model.system.coupled
    assert compile_scene(loaded(chain(STRONG), integrator="sdirk2")).model.system.coupled
    limited = chain(STRONG)
    limited["joints"] = {**limited["joints"], "one": {**limited["joints"]["one"], "limits": [-3, 3]}}
    assert not compile_scene(loaded(limited, integrator="sdirk2")).model.system.coupled


def test_prescribed_joints_move_coupled_forces():
    """The force depends on a prescribed coordinate; sdirk2 converges to the exact motion, x'' = -k (x - sin t)."""
    cart = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}
    rail = {"type": "prismatic", "axis": [1, 0, 0]}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"a": cart, "b": cart},
        "joints": {
            "a": {**rail, "child": "a", "motion": {"position": "sin(t)"}},
            "b": {**rail, "child": "b", "force": "-100*(q - joints.a.q)"},
        },
    }
    w = 10.0
    amplitude = w**2 / (w**2 - 1.0)
    x = amplitude * (np.sin(1.0) - np.sin(w) / w)
    errors = [
        abs(start(scene, "aba", integrator="sdirk2", step=1.0 / n).advance(1.0).state.q[1] - x) for n in (50, 100, 200)
    ]
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.1)
