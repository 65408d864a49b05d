"""Closed loops over time: methods converge to one another, and invariants are conserved."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from loops import THREE, close_loops, start

from multibody_cli.constraint_solver.projection import compute_velocity_residuals
from multibody_cli.constraint_solver.solver import largest_position_error
from multibody_cli.immutable import replace
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import prepare
from multibody_cli.tree.configuration import displace

every_method = pytest.mark.parametrize("method", THREE)
G = 9.81


def bar(length=1.0, mass=1.0):
    return {"mass": mass, "com": [length / 2, 0, 0], "inertia": {"principal": [0.02 * mass, 0.08 * mass, 0.09 * mass]}}


def at(*position):
    return {"position": [float(x) for x in position]}


def spatial_four_bar(**closing):
    """Crank, coupler on a ball joint, rocker; a universal joint closes the loop: one degree of freedom."""
    scene = {
        "gravity": [0.5, 0.3, -G],
        "bodies": {"crank": bar(0.4), "coupler": bar(1.1), "rocker": bar(0.8)},
        "joints": {
            "drive": {"type": "revolute", "child": "crank", "axis": [0, 0, 1], "q": 0.3, "v": 0.5},
            "ball": {
                "type": "spherical",
                "parent": "crank",
                "child": "coupler",
                "origin": at(0.4, 0, 0),
                "q": {"rotvec": [0.2, -0.4, 0.9]},
            },
            "swing": {
                "type": "revolute",
                "child": "rocker",
                "axis": [1, 2, -2],
                "origin": at(1.0, 0.6, 0.2),
                "q": 0.7,
                "stiffness": 4.0,
            },
            "close": {
                "type": "universal",
                "parent": "coupler",
                "child": "rocker",
                "origin": {**at(1.1, 0, 0), "rotation": {"rotvec": [0.5, 0.1, -0.3]}},
                "q": [0.2, -0.5],
                **closing,
            },
        },
    }
    close_loops(scene)
    del scene["joints"]["close"]["q"]
    return scene


def planar_four_bar(q=(0.9, -0.7, 0.4), v=3.0):
    joint = {"type": "revolute", "axis": [0, 1, 0]}
    scene = {
        "bodies": {"a": bar(0.5), "b": bar(1.2), "c": bar(0.9)},
        "joints": {
            "ja": {**joint, "child": "a", "q": -q[0], "v": v},
            "jb": {**joint, "parent": "a", "child": "b", "origin": at(0.5, 0, 0), "q": -q[1]},
            "jc": {**joint, "child": "c", "origin": at(1.3, 0, 0), "q": -1.6},
            "close": {**joint, "parent": "b", "child": "c", "origin": at(1.2, 0, 0), "q": 0.3},
        },
    }
    close_loops(scene)
    del scene["joints"]["close"]["q"]
    return scene


def parallelogram(x):
    """Two cranks that swing alike about parallel axes, the first one at x."""
    joint = {"type": "revolute", "axis": [0, 1, 0]}
    scene = {
        "bodies": {"a": bar(0.5), "b": bar(1.3), "c": bar(0.5)},
        "joints": {
            "ja": {**joint, "child": "a", "origin": at(x, 0, 0), "q": 0.4, "v": 3.0},
            "jb": {**joint, "parent": "a", "child": "b", "origin": at(0.5, 0, 0), "q": -0.4, "v": -3.0},
            "jc": {**joint, "child": "c", "origin": at(x + 1.3, 0, 0), "q": 0.4, "v": 3.0},
            "close": {**joint, "parent": "b", "child": "c", "origin": at(1.3, 0, 0), "q": 0.4, "v": 3.0},
        },
    }
    close_loops(scene)
    del scene["joints"]["close"]["q"], scene["joints"]["close"]["v"]
    return scene


def pose(run):
    """Positions and rotations of all bodies, as numbers that do not jump."""
    samples = run.observed()
    x = samples.quaternion[0]
    products = np.einsum("bi,bj->bij", x, x)  # the same for q and -q
    return np.concatenate([samples.position[0].ravel(), products.ravel(), samples.linear_velocity[0].ravel()])


# --- convergence --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("integrator", "order", "step"), [("rk4", 4, 0.04), ("semi_implicit_euler", 1, 0.01)])
@pytest.mark.parametrize(
    ("scene", "slowness"),
    [(planar_four_bar(), 1), (spatial_four_bar(damping=[0.1, 0.2]), 0.5)],  # errors nearly cancel at longer steps
    ids=["planar", "spatial"],
)
def test_methods_converge_to_one_another(scene, slowness, integrator, order, step):
    """At the order of the integrator; `aba` and `redmax` work in the same coordinates, and differ by round-off."""
    ends = {
        (method, k): pose(start(scene, method, integrator, step=slowness * step / 2**k).advance(1.0))
        for method in THREE
        for k in range(3)
    }
    for k in range(3):
        assert np.abs(ends["aba", k] - ends["redmax", k]).max() < 1e-6
    apart = [np.abs(ends["aba", k] - ends["baraff", k]).max() for k in range(3)]
    assert apart[2] > 1e-11  # or there would be nothing to see
    for k in range(2):
        assert order - 0.4 < math.log2(apart[k] / apart[k + 1])


@every_method
def test_dop853_meets_rk4_on_loops(method):
    scene = spatial_four_bar()
    exact = pose(start(scene, method, "dop853", tolerance=1e-10).advance(1.0))
    assert np.abs(pose(start(scene, method, "rk4", step=1e-3).advance(1.0)) - exact).max() < 1e-7


# --- conserved quantities -----------------------------------------------------------------------------------------
@every_method
def test_reversed_velocities_lead_back_to_the_start(method):
    run = start(spatial_four_bar(), method, "dop853", tolerance=1e-11, duration=2.0)
    began = pose(run)
    run.advance(1.0)
    run.state.v[:] *= -1.0
    control = replace(run.compiled.control, end=2.0)  # dop853 has stepped ahead: begin anew from the shown state
    run.method = METHODS[method](run.compiled.model, INTEGRATORS["dop853"], control, run.state)
    run.method.start(run.state)
    back, turned = pose(run.advance(2.0)), len(began) - 3 * len(run.compiled.model.names.bodies)
    assert np.abs(back[:turned] - began[:turned]).max() < 1e-6
    assert np.abs(back[turned:] + began[turned:]).max() < 1e-6


def floating_ring():
    """Four bodies in a ring that touches nothing, with springs on its closing joint."""
    names = ["a", "b", "c", "d"]
    bodies = {name: bar(1.0, 1.0 + 0.3 * k) for k, name in enumerate(names)}
    bodies["a"] |= {"position": [0.1, 0.2, 0.3], "velocity": {"linear": [0.3, -0.1, 0.2], "angular": [0.4, 1.0, -0.7]}}
    kinds = [
        {"type": "universal", "q": [0.4, 1.2], "v": [0.5, -0.3]},
        {"type": "spherical", "q": {"rotvec": [0.2, 1.1, -0.4]}},
        {"type": "cylindrical", "axis": [1, 0, 0], "q": [0.3, 0.1]},
    ]
    joints = {
        f"j{k}": {**kind, "parent": names[k], "child": names[k + 1], "origin": at(1, 0, 0)}
        for k, kind in enumerate(kinds)
    }
    joints["close"] = {
        "type": "composite",
        "parts": [
            {"type": "revolute", "axis": [0, 0, 1]},
            {"type": "prismatic", "axis": [0, 1, 0]},
            {"type": "screw", "pitch": 0.4, "axis": [1, 0, 0]},
        ],
        "parent": "d",
        "child": "a",
        "q": [0.3, 0.2, -0.5],
        "stiffness": [3.0, 5.0, 2.0],
        "rest": [0.1, 0.0, 0.3],
    }
    scene = {"gravity": [0, 0, 0], "bodies": bodies, "joints": joints}
    close_loops(scene)
    return scene


@every_method
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_a_floating_ring_keeps_its_momentum_and_energy(method, integrator):
    run = start(floating_ring(), method, integrator, step=2e-3, tolerance=1e-10)
    before, (energy, _) = run.observed(), run.energy()
    run.advance(1.0)
    after = run.observed()
    allowed = 2e-6 if integrator == "rk4" else 1e-8  # neither momentum is linear in the coordinates: h^4, tolerance
    assert np.abs(after.linear_momentum - before.linear_momentum).max() < allowed
    assert np.abs(after.angular_momentum - before.angular_momentum).max() < allowed
    assert abs(run.energy()[0] - energy) < 1e-7 * (1 + abs(energy))
    assert max(run.errors()) < 1e-11


@pytest.mark.parametrize("method", ["aba", "redmax"])
def test_round_off_far_from_the_origin_is_not_projected(method):
    """At 1 km the arms of rows err by 1e-13 m: a parallelogram keeps its rates; larger errors are projected."""
    run = start(parallelogram(1000.0), method, "semi_implicit_euler", step=1e-3).advance(0.05)
    system, work, state = run.compiled.model.system, run.method.work, run.state

    def projected(change):
        """Rates after a step, with another rate of the left crank: before and after the projection."""
        q, v, a = state.q.copy(), state.v + 1e-3 * state.a, state.a.copy()
        v[0] += change
        before = v.copy()
        displace(system.tree, q, v, 1e-3)
        run.method.dynamics.project_onto_constraints(system, work, state.time[0], q, v, a, state.ledger.copy())
        assert largest_position_error(work) < 5e-13
        assert compute_velocity_residuals(work, v) < 5e-12
        return before[:3], v[:3]

    for _ in range(5):
        np.testing.assert_array_equal(*projected(0.0))
        run.advance(state.time[0] + 1e-3)
    before, after = projected(1e-9)
    assert 1e-10 < np.abs(after - before).max() < 1e-8


@every_method
@pytest.mark.parametrize("given", ["position", "velocity", "acceleration"])
def test_the_work_of_a_driven_loop_joint_is_in_the_ledger(method, given):
    """The crank is closed to the world by a driven hinge: energy less work stays; other methods book the same."""
    scene = planar_four_bar()
    del scene["joints"]["ja"]["v"]
    joint = {"type": "revolute", "axis": [0, 1, 0], "child": "a", "q": -0.9}
    text = {"position": "-0.9 + 0.8*sin(3*t)", "velocity": "2.4*cos(3*t)", "acceleration": "-7.2*sin(3*t)"}[given]
    motor = {**joint, "motion": {given: text}}
    if given == "position":
        del motor["q"]
    if given == "acceleration":
        motor["v"] = 2.4
    scene["joints"]["motor"] = {**motor, "damping": 0.4}
    run = start(scene, method, "dop853", tolerance=1e-10)
    assert run.joint("motor", "velocity") == pytest.approx(2.4)
    _, began = run.energy()
    run.advance(0.9)
    total, left = run.energy()
    np.testing.assert_allclose(run.joint("motor", "coordinates"), -0.9 + 0.8 * math.sin(2.7), atol=1e-7)
    np.testing.assert_allclose(run.joint("ja", "coordinates"), -0.9 + 0.8 * math.sin(2.7), atol=1e-7)
    assert abs(left - began) < 1e-7
    assert abs(total - began) > 0.1


@every_method
def test_angles_of_loop_joints_count_turns(method):
    """Two hinges on one axis: the second closes a loop, and both count the same turns."""
    hinge = {"type": "revolute", "axis": [0, 0, 1], "child": "a"}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"a": bar()},
        "joints": {"one": {**hinge, "v": 9.0}, "two": {**hinge, "stiffness": 0.02}},
    }
    run = start(scene, method, step=5e-3)
    energy, _ = run.energy()
    run.advance(3.0)
    one, two = (run.joint(name, "coordinates")[0] for name in ("one", "two"))
    assert two == pytest.approx(one, abs=1e-10)
    assert one > 3 * math.tau
    assert run.energy()[0] == pytest.approx(energy, abs=1e-6)


@every_method
def test_a_loop_joint_may_pass_a_singularity_of_its_coordinates(method):
    """A loop joint of type ball imposes the same constraint in any coordinates, also where XZX angles are singular."""
    ends = []
    for more in ({}, {"parametrization": "euler_xzx"}):
        scene = {
            "bodies": {"a": bar(), "b": bar(0.8)},
            "joints": {
                "one": {"type": "spherical", "child": "a", "q": {"rotvec": [0.1, 0.2, 0.6]}, "v": [1.0, 0.5, 2.0]},
                "two": {"type": "universal", "parent": "a", "child": "b", "origin": at(1, 0, 0), "q": [0.3, 1.1]},
                "close": {"type": "spherical", "child": "b", "q": {"rotvec": [0.05, 0, 0.02]}, **more},
            },
        }
        scene["joints"]["close"]["origin"] = {"rotation": {"rotvec": [0.2, -0.1, 0.05]}}
        close_loops(scene)
        scene["joints"]["one"]["v"] = [1.0, 0.5, 2.0]
        ends.append(pose(start(scene, method, "rk4", step=2e-3).advance(1.0)))
    assert np.abs(ends[0] - ends[1]).max() < 1e-8


# --- Baumgarte ----------------------------------------------------------------------------------------------------
@every_method
def test_baumgarte_errors_decay_at_the_specified_rate(method):
    """The length of a rod obeys e'' + 2 r e' + r^2 e = 0 exactly: e = (e0 + (e0' + r e0) t) exp(-r t)."""
    rate, length, wrong = 5.0, 1.0, 0.01
    bob = {
        "mass": 1.0,
        "inertia": {"principal": [0.1] * 3},
        "position": [length, 0, 0],
        "velocity": {"linear": [0, 1, 0]},
    }
    rod = {"type": "distance", "between": [{"body": "world"}, {"body": "bob"}], "length": length}
    scene = {"bodies": {"bob": bob}, "constraints": {"rod": rod}}
    options = {"stabilization": "baumgarte", "baumgarte_rate": rate}
    run = start(scene, method, "rk4", step=1e-3, options=options)
    run.state.q[0] += wrong
    run.state.v[0] += 0.03
    run.method.start(run.state)
    for t in (0.3, 1.0):
        run.advance(t)
        error = np.linalg.norm(run.body("bob", "position")) - length
        expected = (wrong + (0.03 + rate * wrong) * t) * math.exp(-rate * t)
        assert error == pytest.approx(expected, rel=1e-6)


@every_method
def test_baumgarte_closes_open_loops(method):
    """Far off its manifold a loop obeys the same law but for its motion meanwhile: some w / rate of it."""
    rate, t = 50.0, 0.2
    options = {"stabilization": "baumgarte", "baumgarte_rate": rate}
    run = start(planar_four_bar(v=1.0), method, "rk4", step=1e-3, options=options)
    run.state.q[0] += 1e-4
    run.method.start(run.state)
    error, rates = run.errors()
    assert error > 1e-5
    left, _ = run.advance(t).errors()
    assert left < 2.0 * (error + (rates + rate * error) * t) * math.exp(-rate * t)


def equal_cranks(q, v, **simulation):
    """Return two equal cranks and a coupler, whose change points are 0 and pi, in a scene."""
    body = {"mass": 1.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    pins = {
        "left": {"child": "a", "q": q, "v": v},
        "pin": {"parent": "a", "child": "coupler", "origin": at(0.3, 0, 0), "q": -q},
        "right": {"child": "c", "origin": at(1, 0, 0), "q": q},
        "close": {"parent": "coupler", "child": "c", "origin": at(1, 0, 0), "child_origin": at(0.3, 0, 0)},
    }
    joints = {name: {"type": "revolute", "axis": [0, 0, 1], **pin} for name, pin in pins.items()}
    settings = {"duration": 3.0, "step": 1e-3, **simulation}
    scene = {"gravity": [0, -G, 0], "bodies": dict.fromkeys(("a", "coupler", "c"), body), "joints": joints}
    return {"mbsim": 1, **scene, "simulation": settings}


def ending(folder, scene):
    (folder / "scene.yaml").write_text(json.dumps(scene))
    return prepare(folder / "scene.yaml").run(MemorySink()).outcome


@pytest.mark.parametrize(("q", "v"), [(1.0, 2.0), (3.0, 0.3), (0.1, 0.0), (1.0, -6.0)])
def test_a_run_that_fails_at_a_change_point_names_it(q, v, tmp_path):
    """Newton's iterations end there at any step; an explicit integrator passes."""
    outcome = ending(tmp_path, equal_cranks(q, v, integrator="sdirk2"))
    assert outcome.status == "diverged"
    named = re.search(r"the loop of joint `close` is near a singular position.*q: `left` (\S+), `pin`", outcome.message)
    assert abs(math.sin(float(named[1]))) < 0.03
    assert "use an explicit integrator such as `rk4`" in outcome.message
    assert "simulation.step" not in outcome.message
    assert ending(tmp_path, equal_cranks(q, v, integrator="rk4")).status == "complete"


@pytest.mark.parametrize("integrator", ["rk4", "sdirk2"])
def test_a_run_that_starts_at_a_change_point_names_it(integrator, tmp_path):
    """The motion from there is not unique: parallelogram or antiparallelogram."""
    outcome = ending(tmp_path, equal_cranks(0.0, 2.0, integrator=integrator))
    assert outcome.status in ("untrusted", "diverged")
    assert "the loop of joint `close` is near a singular position" in outcome.message
    assert "t = 0 s, q: `left` 0, " in outcome.message
    assert "start at another position" in outcome.message
    assert ending(tmp_path, equal_cranks(0.3, 2.0, integrator="rk4")).status == "complete"


def test_a_loop_that_fails_away_from_singular_positions_has_a_remedy_of_its_step(tmp_path):
    """Rows of a planar loop in space that always depend on others are no singular position."""
    scene = equal_cranks(1.0, 0.0, integrator="semi_implicit_euler", step=1e-2)
    scene["joints"]["left"] |= {"stiffness": 1e7}
    outcome = ending(tmp_path, scene)
    assert outcome.status == "diverged"
    assert "singular" not in outcome.message
    assert "with the step of" in outcome.message
