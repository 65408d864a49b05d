"""Runs by lanes: equal to single runs within round-off, and independent of their company bit by bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.kernel import is_interpreted
from multibody_cli.lanes.batch import Batch, LaneRuns, run_in_lanes, supported
from multibody_cli.lanes.program import compile_program
from multibody_cli.lanes.schemes import SCHEMES
from multibody_cli.methods.contract import Status
from multibody_cli.studies.simulation import PreparedSimulation, prepare

pytestmark = pytest.mark.skipif(is_interpreted(), reason="lanes are compiled")

HEAD = """\
mbsim: 1
name: machine
vars: {mass: 1, k: 20, lower: -0.2}
simulation: {duration: 1 s, step: 1 ms, integrator: semi_implicit_euler, method: symbolic}
"""
ROD = "{mass: 1 kg, shapes: [{type: box, size: [0.1, 0.2, 1]}]}"
UP, DOWN = "child_origin: {position: [0, 0, 0.5]}", "origin: {position: [0, 0, -0.5]}"

MACHINES = {
    "double pendulum": f"""
bodies: {{a: {ROD}, b: {ROD}}}
joints:
  i: {{type: revolute, child: a, axis: [0, 1, 0], {UP}, q: 0.5}}
  j: {{type: revolute, parent: a, child: b, axis: [0, 1, 0], {DOWN}, {UP}, q: 0.3}}
""",
    "springs, dampers and actuators": f"""
bodies: {{a: {ROD}, b: {ROD}, c: {ROD}}}
joints:
  i: {{type: revolute, child: a, axis: [1, 0, 0], {UP}, q: 0.5, stiffness: 3, damping: 0.2, rest: 0.1}}
  j: {{type: prismatic, parent: a, child: b, axis: [0, 1, 1], stiffness: 30, damping: 0.1, force: "sin(3*t)"}}
  k: {{type: universal, parent: a, child: c, {DOWN}, {UP}, stiffness: [2, 3], damping: [0.1, 0.2],
      force: [1, "cos(t)"]}}
""",
    "expressions of coordinates, and servos": f"""
bodies: {{a: {ROD}, b: {ROD}, c: {ROD}}}
joints:
  i: {{type: revolute, child: a, axis: [1, 0, 0], {UP}, q: 0.5, force: "-3*sin(q) - 0.1*v*joints.j.v + 0.2*t"}}
  j: {{type: prismatic, parent: a, child: b, axis: [0, 1, 1], q: 0.1, force: "-30*q**3 - v + cos(5*t)*joints.i.q"}}
  k: {{type: universal, parent: a, child: c, {DOWN}, {UP}, force: ["q[1]*v[1] - q", "exp(-t) - q"]}}
actuators:
  p: {{type: pd, joint: i, kp: 2 N m/rad, kd: 0.3 N m s/rad, target: "0.3*sin(2*t)", limits: [-0.5 N m, 0.5 N m]}}
  s: {{type: position, joint: j, kp: 20 N/m, kv: 1 N*s/m, target: 0.2}}
  u: {{type: velocity, joint: k/1, kv: 0.1 N m s/rad, target: "t"}}
  m: {{type: motor, joint: k/0, command: "-0.2*v", stall_torque: 1 N m, no_load_speed: 20 rad/s, gear: 2}}
""",
    "balls with springs": f"""
bodies: {{a: {ROD}, b: {ROD}}}
joints:
  i: {{type: spherical, child: a, {UP}, v: [1, 2, 3], stiffness: 2, damping: 0.1}}
  j: {{type: spherical, parent: a, child: b, {DOWN}, {UP}, v: [-1, 0.4, 1]}}
""",
    "springs and bushings between bodies": f"""
bodies: {{a: {ROD}, b: {ROD}, c: {ROD}, d: {ROD}}}
joints:
  i: {{type: revolute, child: a, axis: [0, 1, 1], {UP}, q: 0.5}}
  j: {{type: spherical, parent: a, child: b, {DOWN}, {UP}, v: [1, 2, 3]}}
  k: {{type: free, child: c, origin: {{position: [1, 0, 0.3]}}}}
  l: {{type: prismatic, parent: a, child: d, axis: [1, 2, 3]}}
springs:
  s: {{between: [{{body: b, point: [0, 0.1, -0.5]}}, {{body: c, point: [0, 0, 0.2]}}], stiffness: 40 N/m,
      damping: 2 N*s/m, rest_length: 0.4 m}}
  w: {{between: [{{body: world, point: [1, 1, 1]}}, {{body: c, point: [0, 0.1, -0.4]}}], stiffness: 30,
      rest_length: 0}}
  p: {{path: [{{body: world, point: [0, -1, 0]}}, {{body: a, point: [0.1, 0, 0]}}, {{body: b, point: [0, 0, 0.3]}},
      {{body: d, point: [0, 0, 0]}}], relative: true, stiffness: 20 N, damping: 1 N*s, rest_length: 1 m}}
  g: {{type: bushing, parent: b, child: d, origin: {{position: [0, 0.1, 0]}},
      child_origin: {{position: [0.1, 0, 0], rotation: {{axis: [0, 1, 1], angle: 150 deg}}}},
      stiffness: {{linear: [5, 6, 7], angular: [1, 2, 3]}}, damping: {{linear: [0.5, 0.6, 0], angular: [0.1, 0, 0.2]}}}}
""",
    "loads, drags and expressions of bodies": f"""
bodies: {{a: {ROD}, b: {ROD}}}
joints:
  i: {{type: universal, child: a, {UP}, q: [0.5, 0.1], force: ["-bodies.b.linear_velocity.x", 0]}}
  j: {{type: free, parent: a, child: b, {DOWN}, {UP}}}
forces:
  l: {{body: b, point: [0, 0, 0.5], force: ["sin(9*t)", "-3*bodies.b.position.y", 1], torque: [0, 0.1, "v_z"]}}
  m: {{body: a, torque: [0.1, 0, "t"], frame: body}}
  d: {{body: a, viscous: {{linear: 0.3, angular: 0.1}}}}
  e: {{body: b, quadratic: 0.2}}
""".replace('"v_z"', '"-0.2*bodies.b.angular_velocity.z"'),
    "rotors of motors": f"""
bodies: {{a: {ROD}, b: {ROD}}}
joints:
  i: {{type: revolute, child: a, axis: [0, 1, 0], {UP}, q: 0.5}}
  j: {{type: universal, parent: a, child: b, {DOWN}, {UP}}}
actuators:
  m: {{type: motor, joint: i, command: "-0.2*v", stall_torque: 1 N m, no_load_speed: 20 rad/s, gear: 3,
      rotor_inertia: 0.02}}
  n: {{type: motor, joint: j/1, command: 0.3, stall_torque: 1 N m, no_load_speed: 20 rad/s, rotor_inertia: 0.05}}
""",
    "a chain with a spring at its end": "bodies: {"
    + ", ".join(f"b{k}: {ROD}" for k in range(6))
    + "}\njoints:\n"
    + "".join(
        f"  j{k}: {{type: revolute, parent: {f'b{k - 1}' if k else 'world'}, child: b{k}, axis: [1, 2, 0],"
        f" {DOWN if k else 'q: 0.2'}, {UP}, damping: 0.1}}\n"
        for k in range(6)
    )
    + "springs: {s: {between: [{body: world, point: [1, 0, 0]}, {body: b5, point: [0, 0, -0.5]}], stiffness: 30,"
    " damping: 1, rest_length: 1}}\n",
    "a floating tree": f"""
bodies: {{a: {ROD}, b: {ROD}, c: {ROD}, d: {ROD}}}
joints:
  i: {{type: free, child: a, v: {{linear: [0.1, 0.2, 0.3], angular: [1, 2, 3]}}}}
  j: {{type: cylindrical, parent: a, child: b, axis: [1, 1, 0], {DOWN}, {UP}}}
  k: {{type: screw, parent: a, child: c, axis: [1, 0, 0], pitch: 0.1, {UP}, v: 1}}
  l: {{type: planar, parent: c, child: d, {UP}}}
""",
    "limits that are not reached": f"""
bodies: {{a: {ROD}}}
joints:
  i: {{type: revolute, child: a, axis: [0, 1, 0], {UP}, q: 0.3, limits: [-1, 1]}}
""",
    "a curve": f"""
bodies: {{a: {ROD}}}
joints:
  i: {{type: curve, child: a, curve: {{type: helix, radius: 0.5, pitch: 0.2}}, q: 0.3}}
""",
}


def simulation_of(folder: Path, machine: str, *overrides: str) -> PreparedSimulation:
    file = folder / "machine.yaml"
    file.write_text(HEAD + machine)
    return prepare(file, overrides)


def scattered(simulation: PreparedSimulation, count: int) -> LaneRuns:
    """Runs from the initial state of the scene with random velocities."""
    compiled, rng = simulation.compiled, np.random.default_rng(5)
    q, v = np.tile(compiled.state.q, (count, 1)), np.tile(compiled.state.v, (count, 1))
    v += 0.3 * rng.standard_normal(v.shape)
    integrator, step = simulation.integrator.name, compiled.control.step
    return LaneRuns([compiled.model], integrator, q, v, step, np.array([0, 30, 100]))


def in_lanes(runs: LaneRuns, **options) -> Batch:
    return run_in_lanes(runs, compile_program(runs.models, SCHEMES[runs.integrator]), **options)


def run(simulation: PreparedSimulation, runs: LaneRuns, **options) -> Batch:
    """Make runs by lanes, those that lanes leave out and one run alone by their method."""
    if len(runs.q) > 1 and supported(runs.models, runs.integrator, runs.end) is None:
        batch = in_lanes(runs, **options)
    else:
        shape = len(runs.q), len(runs.instants)
        sizes = runs.q.shape[1], runs.v.shape[1], len(runs.models[0].names.accounts)
        results = (np.full((*shape, size), np.nan) for size in sizes)
        batch = Batch(*results, np.full(shape[0], -1), np.zeros(shape[0], bool))
    for k in np.flatnonzero(~batch.in_lanes):
        state = simulation.fresh_state()._replace(q=runs.q[k].copy(), v=runs.v[k].copy())
        method = simulation.method_for(state)
        report = method.start(state)
        batch.steps[k] = 0 if report.status is Status.OK else -1
        for i, count in enumerate(runs.instants):
            report = method.advance(state, count * runs.step) if report.status is Status.OK else report
            if report.status is Status.OK:
                batch.q[k, i], batch.v[k, i], batch.ledger[k, i] = state.q, state.v, state.ledger
            batch.steps[k] = max(batch.steps[k], report.steps)
    return batch


def selected(runs: LaneRuns, which) -> LaneRuns:
    models = runs.models if len(runs.models) == 1 else [runs.models[k] for k in which]
    return runs._replace(q=runs.q[which], v=runs.v[which], models=models)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "heun", "rk4"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_lane_equals_the_single_run(tmp_path: Path, name: str, integrator: str) -> None:
    simulation = simulation_of(tmp_path, MACHINES[name], f"simulation.integrator={integrator}")
    runs = scattered(simulation, 9)
    assert supported(runs.models, integrator) is None
    found = run(simulation, runs)
    assert found.in_lanes.all()
    np.testing.assert_array_equal(found.steps, 100)
    np.testing.assert_array_equal(found.q[:, 0], runs.q)
    for k in range(9):
        single = run(simulation, selected(runs, [k]))
        assert not single.in_lanes.any()
        for one, other in ((found.q[k], single.q[0]), (found.v[k], single.v[0]), (found.ledger[k], single.ledger[0])):
            np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12 * np.abs(other).max(initial=0.0))
    assert np.ptp(found.v[:, -1], axis=0).min() > 0.0  # runs of their own


@pytest.mark.parametrize("name", ["balls with springs", "springs and bushings between bodies", "rotors of motors"])
def test_a_run_does_not_depend_on_its_lane_or_company(tmp_path: Path, name: str) -> None:
    simulation = simulation_of(tmp_path, MACHINES[name])
    runs = scattered(simulation, 21)
    whole = run(simulation, runs)
    order = np.random.default_rng(2).permutation(21)
    for which in (order, order[:13], order[5:7], np.array([4] * 8)):
        part = run(simulation, selected(runs, which))
        assert part.in_lanes.all()
        np.testing.assert_array_equal(part.q, whole.q[which])
        np.testing.assert_array_equal(part.v, whole.v[which])


def test_threads_and_instants_do_not_change_the_result(tmp_path: Path) -> None:
    simulation = simulation_of(tmp_path, MACHINES["springs, dampers and actuators"])
    runs = scattered(simulation, 50)
    found = run(simulation, runs, jobs=3)
    alone = run(simulation, runs._replace(instants=np.array([100])), jobs=1)
    np.testing.assert_array_equal(found.v[:, -1], alone.v[:, 0])


def test_a_diverging_run_leaves_the_others_unchanged(tmp_path: Path) -> None:
    simulation = simulation_of(tmp_path, MACHINES["double pendulum"])
    runs = scattered(simulation, 12)
    whole = run(simulation, runs)
    v = runs.v.copy()
    v[3], v[10] = 1e9, np.nan
    found = run(simulation, runs._replace(v=v))
    others = np.delete(np.arange(12), [3, 10])
    np.testing.assert_array_equal(found.v[others], whole.v[others])
    np.testing.assert_array_equal(found.steps[others], 100)
    assert 0 <= found.steps[3] < 100
    assert found.steps[10] == -1
    assert np.isnan(found.q[10]).all()
    assert np.isnan(found.q[3, -1]).all()
    single = run(simulation, selected(runs._replace(v=v), [3]))
    assert single.steps[0] == found.steps[3]


def test_large_angles_are_computed_lane_by_lane(tmp_path: Path) -> None:
    """Beyond the bound of the reduction, sines are those of the library, in the lanes concerned only."""
    simulation = simulation_of(tmp_path, MACHINES["double pendulum"])
    runs = scattered(simulation, 8)
    whole = run(simulation, runs)
    q = runs.q.copy()
    q[2, 0] += 2e5 * np.pi
    found, alone = run(simulation, runs._replace(q=q)), run(simulation, selected(runs._replace(q=q), [2]))
    np.testing.assert_array_equal(np.delete(found.v, 2, 0), np.delete(whole.v, 2, 0))
    np.testing.assert_allclose(found.v[2], alone.v[0], rtol=1e-12)
    np.testing.assert_allclose(found.v[2], whole.v[2], atol=1e-8)  # the angle itself is rounded to 1e-10


def test_runs_that_reach_a_limit_are_single_runs(tmp_path: Path) -> None:
    hinge = f"{{type: revolute, child: a, axis: [0, 1, 0], {UP}, limits: ['${{lower}}', 1]}}"
    machine = f"bodies: {{a: {ROD}}}\njoints: {{i: {hinge}}}\n"
    simulation = simulation_of(tmp_path, machine)
    runs = scattered(simulation, 11)
    v = np.linspace(-2.0, 2.0, 11)[:, None]
    runs = runs._replace(v=v, instants=np.array([10, 300]))
    found = run(simulation, runs)
    np.testing.assert_array_equal(found.in_lanes, v[:, 0] > -1.0)
    assert found.q.min() > -0.2 - 1e-9
    for k in range(11):
        np.testing.assert_allclose(found.q[k], run(simulation, selected(runs, [k])).q[0], atol=1e-12)


def test_each_run_has_constants_of_its_own(tmp_path: Path) -> None:
    machine = MACHINES["double pendulum"].replace("mass: 1 kg", "mass: '${mass}'", 1)
    machine = machine.replace("q: 0.5}", "q: 0.5, stiffness: '${k}', limits: ['${lower}', 3]}")
    machine = machine.replace("q: 0.3}", "q: 0.3, force: ['${k} * sin(t) - 2*v']}") + "gravity: [0, 0, '${lower}']\n"
    ends = "[{body: world, point: ['${mass}', 0, 0]}, {body: b, point: [0, 0, '${lower/9}']}]"
    machine += f"springs: {{s: {{between: {ends}, stiffness: '${{k}}', damping: 1, rest_length: '${{mass}}'}}}}\n"
    machine += "actuators: {m: {type: motor, joint: j, command: 0.1, stall_torque: 1, no_load_speed: 9, "
    machine += "rotor_inertia: '${mass/10}'}}\n"
    values = [(0.5 + 0.1 * k, 10.0 + k, -2.0 - 0.1 * k) for k in range(10)]
    simulations = [
        simulation_of(tmp_path, machine, f"vars.mass={mass}", f"vars.k={stiffness}", f"vars.lower={lower}")
        for mass, stiffness, lower in values
    ]
    runs = scattered(simulations[0], 10)._replace(models=[one.compiled.model for one in simulations])
    assert supported(runs.models, "semi_implicit_euler") is None
    found = in_lanes(runs)
    assert found.in_lanes.all()
    for k, simulation in enumerate(simulations):
        single = run(simulation, selected(runs, [k]))
        np.testing.assert_allclose(found.v[k], single.v[0], rtol=0.0, atol=1e-12 * np.abs(single.v).max())
    shuffled = selected(runs, [7, 2, 9])
    np.testing.assert_array_equal(in_lanes(shuffled).q, found.q[[7, 2, 9]])


def test_runs_whose_spring_collapses_are_single_runs(tmp_path: Path) -> None:
    """Its direction vanishes there, of which a single run warns."""
    slide = "{type: prismatic, child: a, axis: [1, 0, 0]}"
    springs = "springs: {s: {between: [{body: world}, {body: a}], stiffness: 1, rest_length: 1}}\n"
    simulation = simulation_of(tmp_path, f"bodies: {{a: {ROD}}}\njoints: {{i: {slide}}}\n{springs}")
    runs = scattered(simulation, 4)._replace(q=np.array([[0.5], [0.0], [-0.5], [1e-7]]))
    runs = runs._replace(v=np.array([[1.0], [1.0], [-1.0], [0.0]]))
    found = run(simulation, runs)
    np.testing.assert_array_equal(found.in_lanes, [True, False, True, False])
    for k in range(4):
        np.testing.assert_allclose(found.q[k], run(simulation, selected(runs, [k])).q[0], rtol=0.0, atol=1e-12)


def _many(count: int, entry: str) -> str:
    springs = "".join(f"  s{k}: {entry}\n" for k in range(count))
    return f"bodies: {{a: {ROD}}}\njoints: {{i: {{type: free, child: a}}}}\nsprings:\n{springs}"


UNSUPPORTED = {
    "more than 200 points of springs": _many(
        101, "{between: [{body: world, point: [0, 0, 2]}, {body: a}], stiffness: 1, rest_length: 1}"
    ),
    "more than 10 bushings": _many(11, "{type: bushing, parent: world, child: a, stiffness: {linear: [1, 1, 1]}}"),
    "scenes without coordinates": f"bodies: {{a: {ROD}}}\njoints: {{i: {{type: fixed, child: a}}}}\n",
    "prescribed motions": f"bodies: {{a: {ROD}}}\njoints:\n  i: {{type: revolute, child: a, axis: [0, 1, 0], "
    "motion: {position: 'sin(t)'}}\n",
    "functions of time with knots, which divide steps": f"bodies: {{a: {ROD}}}\njoints:\n"
    "  i: {type: revolute, child: a, axis: [0, 1, 0], force: {times: [0, 0.0005, 0.0015], values: [0, 1, 0]}}\n",
    "branches in forces of joints that depend on the state": f"bodies: {{a: {ROD}}}\njoints:\n"
    "  i: {type: revolute, child: a, axis: [0, 1, 0], force: '-abs(v)'}\n",
    "controllers": f"bodies: {{a: {ROD}}}\njoints: {{i: {{type: revolute, child: a, axis: [0, 1, 0]}}}}\n"
    "actuators: {p: {type: pd, joint: i, kp: 1 N m/rad, kd: 0.1 N m s/rad, period: 10 ms}}\n",
    "contacts or dry friction of joints": f"bodies: {{a: {ROD}}}\njoints:\n  i: {{type: revolute, child: a, "
    "axis: [0, 1, 0], friction: {coefficient: 0.1, surface: {radius: 0.02, length: 0.1}}}\n",
}


@pytest.mark.parametrize("reason", UNSUPPORTED)
def test_other_models_are_single_runs(tmp_path: Path, reason: str) -> None:
    simulation = simulation_of(tmp_path, UNSUPPORTED[reason])
    runs = scattered(simulation, 3)
    assert supported(runs.models, simulation.integrator.name) == reason
    found = run(simulation, runs)
    assert not found.in_lanes.any()
    np.testing.assert_array_equal(found.steps, 100)


def test_adaptive_steps_and_other_structures_are_not_supported(tmp_path: Path) -> None:
    one = simulation_of(tmp_path, MACHINES["double pendulum"])
    model, other = one.compiled.model, simulation_of(tmp_path, MACHINES["balls with springs"]).compiled.model
    assert supported([model], "dop853") == "integrators other than semi_implicit_euler, heun and rk4"
    assert supported([model, other], "rk4") == "models that differ in more than the values of constants"


def test_instants_must_increase(tmp_path: Path) -> None:
    simulation = simulation_of(tmp_path, MACHINES["double pendulum"])
    for instants in ([], [3, 3], [-1, 2]):
        with pytest.raises(ValueError, match="must increase"):
            in_lanes(scattered(simulation, 3)._replace(instants=np.array(instants)))
