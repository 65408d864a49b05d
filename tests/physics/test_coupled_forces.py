"""Forces that depend on other coordinates, in implicit integrators: against dense steps and exponentials."""

from __future__ import annotations

import numpy as np
import pytest
from loops import loaded, start
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from test_implicit import implicit_accelerations
from test_state_expressions import CHAIN, FORCES, chain

from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.implicit_forces import set_implicit_coefficients
from multibody_cli.initial.linearized_motion import linearization_of
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.workspace import workspace_for

STRONG = {
    "one": "-900*joints.three.q - 40*joints.two.v[0] - 20*v",
    "two": ["700*joints.one.q - 300*q + 900*bodies.c.position.x", "-50*joints.one.v + 80*joints.three.q*v"],
    "three": "-2000*q + 500*joints.two.q[1] + 300*bodies.b.point(0.1, 0, -0.2).position.z + 30*joints.one.v",
}

OF_VELOCITIES = [
    {
        "one": "-30*bodies.c.linear_velocity.y",
        "two": ["-9*bodies.c.linear_velocity.x", "-30*bodies.b.linear_velocity.z"],
        "three": "-40*bodies.b.point(0.1, 0, -0.2).linear_velocity.z",
    },
    {
        "one": "-12*bodies.c.angular_velocity.y",
        "two": ["7*bodies.a.angular_velocity.z - 5*bodies.c.angular_velocity[0]", "0"],
        "three": "20*bodies.b.angular_velocity.x",
    },
]
"""Forces that read velocities of bodies of one kind, and nothing else."""

LOAD = [
    "700*joints.one.q - 40*joints.two.v[0] + 900*bodies.c.position.x",
    "-50*joints.one.v + 80*joints.three.q*joints.three.v",
    "-90*bodies.b.linear_velocity.z - 2*joints.three.v",
    "0",
    "40*bodies.c.angular_velocity.y",
    "-900*joints.three.q",
]
"""Components of a force and of a torque on a body."""


def derivatives(scene):
    """M, the Jacobian G of the rows, and derivatives of the forces of joints by central differences, at the start.

    Forces are functions of coordinates and rates, and of the poses and twists of the bodies.  The columns of K (n, n+1)
    are those along displacements by the unit rates, and by the bias accelerations of the bodies; those of D along
    changes of velocity.
    """
    compiled = compile_scene(loaded(scene))
    system, q, v = compiled.model.system, compiled.state.q, compiled.state.v
    linear = linearization_of(compiled.model, compiled.state)
    work, tree, n, a = workspace_for(system), system.tree, len(linear.free), np.zeros_like(v)
    units = np.eye(len(v))[:n]
    update_kinematics(system, 0.5, q, v, a, work)
    write_ball_columns(tree, work)
    motions = np.zeros((n + 1, len(work.bodies), 6))
    for j in range(n):
        jacobian_times(tree, units[j], work)
        motions[j] = np.hstack([work.bodies["dw"], work.bodies["dv"]])
    motions[n] = np.hstack([work.bodies["alpha"], work.bodies["a"] - work.bodies["a"][0]])

    def force(moved, faster, u, V):
        update_kinematics(system, 0.5, q, v, a, work)
        bodies, R = work.bodies, work.bodies["R"].reshape(-1, 3, 3).transpose(0, 2, 1)  # kept by columns
        turned = Rotation.from_rotvec(moved * V[:, :3]).as_matrix() @ R
        bodies["R"] = turned.transpose(0, 2, 1).reshape(-1, 9)
        bodies["x"] += moved * V[:, 3:]
        bodies["w"] += faster * V[:, :3]
        bodies["v"] += faster * V[:, 3:]
        there = q.copy()
        there[: len(u)] += moved * u
        apply_forces(system.forces, 0.5, there, v + faster * u, work, np.zeros(9))
        return np.array(work.tau[:n])

    def along(moved, faster, e=1e-6):
        directions = list(zip([*units, np.zeros(len(v))], motions, strict=True))
        changes = [force(moved * e, faster * e, *one) - force(-moved * e, -faster * e, *one) for one in directions]
        return np.array(changes).T / (2.0 * e)

    return linear.M, linear.G, along(1.0, 0.0), along(0.0, 1.0)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
@pytest.mark.parametrize("forces", [FORCES, STRONG, *OF_VELOCITIES])
def test_a_linearly_implicit_step_solves_with_all_derivatives(method, forces):
    scene = chain({**forces, "one": forces["one"].removesuffix(" + t")})
    check_step(scene, method, *derivatives(scene))


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
@pytest.mark.parametrize("frame", ["world", "body"])
def test_loads_on_bodies_couple_with_all_derivatives_of_their_expressions(method, frame):
    """A component f with the generalized force U f has K = U df/dq and D = U df/dv; its direction is constant."""
    check_step(with_load(LOAD, frame), method, *with_derivatives_of_load(frame, lambda forces: chain(forces)))


def with_derivatives_of_load(frame, mechanism):
    """`derivatives` of a mechanism without forces of joints, and those of the load on it."""
    M, G, K, D = derivatives(mechanism({"one": "0", "two": ["0", "0"], "three": "0"}))
    for i, word in enumerate(LOAD):
        U = M @ (start(with_load(np.eye(6)[i].tolist(), frame), "aba").state.a - start(CHAIN, "aba").state.a)
        _, _, rows, row_rates = derivatives(mechanism({"one": word, "two": ["0", "0"], "three": "0"}))
        K, D = K + np.outer(U, rows[0]), D + np.outer(U, row_rates[0])
    return M, G, K, D


PLACE = [-0.14651709223664994, 0.09122041368349394, -0.6924995842565389]
"""Position of the last body of the chain at the start."""


def closed(how, forces):
    """The chain with its last body on a rod from the ground, or on a ball joint."""
    joints = {name: {word: joint[word] for word in joint if word != "v"} for name, joint in CHAIN["joints"].items()}
    joints = {name: {**joint, "force": forces[name]} for name, joint in joints.items()}
    joints["one"]["v"] = 0.6
    if how == "ball":
        ball = {"type": "spherical", "parent": "world", "child": "c", "origin": {"position": PLACE}}
        return {**CHAIN, "joints": {**joints, "ball": ball}}
    ends = [{"body": "world", "point": [0.3, 0.2, -0.1]}, {"body": "c", "point": [0.0, 0.0, 0.0]}]
    length = float(np.linalg.norm(np.subtract(PLACE, ends[0]["point"])))
    return {**CHAIN, "joints": joints, "constraints": {"rod": {"type": "distance", "between": ends, "length": length}}}


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
@pytest.mark.parametrize("how", ["rod", "ball"])
def test_with_constraints_forces_couple_with_all_derivatives(method, how):
    check_step(closed(how, STRONG), method, *derivatives(closed(how, STRONG)))


SPRING = {"between": [{"body": "world"}, {"body": "b"}], "stiffness": 1e4, "rest_length": 0}
LOADED = {"forces": {"load": {"body": "b", "point": [0.1, 0.2, -0.3], "force": LOAD[:3], "torque": LOAD[3:]}}}


def on_ball(forces):
    """The chain on a ball joint without forces."""
    ball = {"type": "spherical", "child": "a", "v": [0.6, -1.0, 0.8]}
    return {**CHAIN, "joints": {**chain(forces)["joints"], "one": ball}}


@pytest.mark.parametrize(
    "scene",
    [
        on_ball(OF_VELOCITIES[0]),
        *(chain(forces) for forces in (STRONG, *OF_VELOCITIES)),
        {**closed("rod", STRONG), **LOADED},
        {**closed("ball", STRONG), **LOADED, "springs": {"spring": SPRING}},
    ],
)
def test_methods_agree_whatever_their_coordinates(scene):
    wanted, _ = implicit_accelerations(scene, "aba")
    for method in ("redmax", "symbolic", "baraff"):
        found, _ = implicit_accelerations(scene, method)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max(), err_msg=method)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_activations_couple_with_all_derivatives_of_their_expressions(method):
    """The tension changes by c = T_a da, with the activation's change da along the motion x = y + c Z of the step.

    y is the step at constant activation, and Z its change by a unit tension, from loads at both ends of the muscle.
    """
    ends, h = [{"body": "world", "point": [0.3, 0.2, 0.1]}, {"body": "c", "point": [0.1, 0.0, -0.2]}], 0.01
    muscle = {"path": ends, "max_isometric_force": 800, "optimal_length": 0.7, "tendon_slack_length": 0.1}
    three = {**CHAIN["joints"]["three"], "v": 0.7}
    chain = {**CHAIN, "joints": {**CHAIN["joints"], "three": three}}

    def with_muscle(activation, tension=0.0):
        loads = {"load": {"body": "c", "point": ends[1]["point"], "force": (-tension * along).tolist()}}
        return {**chain, "muscles": {"m": {**muscle, "activation": activation}}, "forces": loads}

    run = start(chain, "aba")
    rotation = Rotation.from_quat(run.body("c", "quaternion"), scalar_first=True)
    along = run.body("c", "position") + rotation.apply(ends[1]["point"]) - ends[0]["point"]
    along /= np.linalg.norm(along)
    explicit = [start(with_muscle(a, T), "aba").state.a for a, T in ((0.5, 0.0), (0.51, 0.0), (0.5, 1.0))]
    T_a = (explicit[1] - explicit[0])[0] / (explicit[2] - explicit[0])[0] / 0.01
    y, pulled = (implicit_accelerations(with_muscle(0.5, T), method)[0] for T in (0.0, 1.0))
    row = np.array([8.0 * h * h, 0.0, 0.0, 2.0 * h])  # of joints.one.q and joints.three.v
    c = T_a * (8.0 * h * 0.6 + row @ y) / (1.0 - T_a * row @ (pulled - y))
    found, _ = implicit_accelerations(with_muscle("0.5 + 8*(joints.one.q - 0.4) + 2*(joints.three.v - 0.7)"), method)
    assert abs(c) > 10.0
    np.testing.assert_allclose(found, y + c * (pulled - y), rtol=0.0, atol=1e-8 * np.abs(found).max())


def with_load(components, frame):
    """The chain with a load on its last body."""
    load = {"body": "c", "point": [0.1, 0.2, -0.3], "force": components[:3], "torque": components[3:], "frame": frame}
    return {**CHAIN, "forces": {"load": load}}


def check_step(scene, method, M, G, K, D, h=0.01):
    """A x - G^T m = M a + h K v + (h^2 K + h D) bias and G x = G a, with A = M - h D - h^2 K, and a without them."""
    n, m = len(M), len(G)
    before = start(scene, "aba", integrator="semi_implicit_euler", step=h).state
    a, v = before.a[:n], before.v[:n]
    matrix = np.block([[M - h * D[:, :n] - h * h * K[:, :n], -G.T], [G, np.zeros((m, m))]])
    known = M @ a + h * K[:, :n] @ v + h * h * K[:, n] + h * D[:, n]
    wanted = np.linalg.lstsq(matrix, np.concatenate([known, G @ a]), rcond=None)[0][:n]
    found, _ = implicit_accelerations(scene, method)
    np.testing.assert_allclose(found[:n], wanted, rtol=0.0, atol=1e-7 * np.abs(wanted).max())


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
    held = {"type": "general", "joint": "three", "force": "-5*joints.one.q", "rate": "100 Hz"}
    follows = {"type": "pd", "joint": "three", "kp": 50, "kd": 2, "target": "sin(t)"}
    for actuator in (held, follows):
        moved = {**scene, "actuators": {"a": actuator}}
        assert not compile_scene(loaded(moved, integrator="sdirk2", step=0.01)).model.system.coupled


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


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
@pytest.mark.parametrize("springs", [{}, {"elsewhere": {**SPRING, "between": [{"body": "world"}, {"body": "c"}]}}])
def test_a_step_has_the_accelerations_of_prescribed_joints(method, springs):
    """x = -k (q - s + h (v - s') + h^2 (x - s'')) - c (v - s' + h (x - s'')), with s the prescribed position."""
    cart, rail = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}, {"type": "prismatic", "axis": [1, 0, 0]}
    given = {"a": {"motion": {"position": "0.3 + 2*t + 40*t**2"}}, "b": {"q": 0.5, "v": -1.0}}
    given["b"]["force"] = "-1000*(q - joints.a.q) - 30*(v - joints.a.v)"
    given["c"] = {"q": 0.2}
    joints = {name: {**rail, "child": name, **given[name]} for name in given}
    scene = {"gravity": [0, 0, 0], "bodies": dict.fromkeys(given, cart), "joints": joints, "springs": springs}
    found, _ = implicit_accelerations(scene, method)
    h, k, c, q, v = 0.01, 1000.0, 30.0, 0.5 - 0.3, -1.0 - 2.0
    x = (-k * (q + h * v - h * h * 80.0) - c * (v - h * 80.0)) / (1.0 + h * c + h * h * k)
    np.testing.assert_allclose(found[:2], [80.0, x], rtol=1e-12)


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
def test_a_spring_to_a_prescribed_body_has_its_acceleration_at_the_end_of_the_step(method):
    """The formula of the test before, with a spring and a damper between the bodies in place of the force."""
    cart, rail = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}, {"type": "prismatic", "axis": [1, 0, 0]}
    given = {"a": {"motion": {"position": "0.3 + 2*t + 40*t**2"}}, "b": {"q": 1.0, "v": -1.0}}
    spring = {"between": [{"body": one} for one in given], "stiffness": 1000.0, "damping": 30.0, "rest_length": 0.5}
    joints = {name: {**rail, "child": name, **given[name]} for name in given}
    scene = {"gravity": [0, 0, 0], "bodies": dict.fromkeys(given, cart), "joints": joints, "springs": {"s": spring}}
    found, _ = implicit_accelerations(scene, method)
    h, k, c, stretch, rate = 0.01, 1000.0, 30.0, 1.0 - 0.3 - 0.5, -1.0 - 2.0
    x = (-k * (stretch + h * rate - h * h * 80.0) - c * (rate - h * 80.0)) / (1.0 + h * c + h * h * k)
    np.testing.assert_allclose(found, [80.0, x], rtol=1e-11)


def with_force_in_loop():
    """The chain, closed by a ball joint with forces."""
    scene = closed("ball", STRONG)
    ball = {**scene["joints"]["ball"], "force": ["-30*joints.two.v[1]", "900*joints.three.q", "-8*joints.one.v"]}
    return {**scene, "joints": {**scene["joints"], "ball": ball}}


@pytest.mark.parametrize("scene", [with_load(LOAD, "body"), with_force_in_loop()])
def test_methods_agree_on_the_power_of_a_drive_that_bears_coupled_loads(scene):
    h = 0.01
    one = {word: value for word, value in scene["joints"]["one"].items() if word not in ("q", "v", "force")}
    scene = {**scene, "joints": {**scene["joints"], "one": {**one, "motion": {"position": "0.4 + 0.6*sin(3*t)"}}}}
    powers = {}
    for method in ("aba", "redmax", "baraff"):
        run = start(scene, method, integrator="linearly_implicit_euler", step=h)
        system, state, work = run.compiled.model.system, run.state, run.method.work
        powers[method] = np.zeros_like(state.ledger)
        set_implicit_coefficients(system.tree, work, h, h, 0.0)
        work.implicit_rates[:] = state.v
        run.method.dynamics.evaluate(system, work, 0.0, state.q, state.v, state.a, powers[method])
    assert abs(powers["aba"]).min() > 0.1
    np.testing.assert_allclose(powers["redmax"], powers["aba"], rtol=1e-9)
    np.testing.assert_allclose(powers["baraff"], powers["aba"], rtol=1e-9)
