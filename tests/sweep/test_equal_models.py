"""Runs that differ in their start alone have the rows of runs whose whole scene is evaluated, bit by bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.alarms.catalogue import RUN_ALARMS
from multibody_cli.alarms.monitor import LargestOfRuns
from multibody_cli.alarms.record import RunRecord
from multibody_cli.immutable import replace
from multibody_cli.initial.stable_step import SLACK, check_step, have_stable_steps
from multibody_cli.kernel import is_interpreted
from multibody_cli.output.history import History, block_of_runs
from multibody_cli.output.rows import Row
from multibody_cli.output.samples import samples_for
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask, equal_models_of, prepare_run, run_batch
from multibody_cli.studies.sweep.equal_models import Starts
from multibody_cli.studies.sweep.kept_channels import read_kept
from multibody_cli.studies.sweep.lanes import objection_to_lanes

pytestmark = pytest.mark.skipif(is_interpreted(), reason="lanes are compiled")

ROD = "{mass: 1 kg, shapes: [{type: box, size: [0.1, 0.2, 1]}]}"
DOWN = "origin: {position: [0, 0, -0.5]}, child_origin: {position: [0, 0, 0.5]}"


def scene_of(*joints: str, more: str = "", step: str = "1 ms", integrator: str = "rk4", **output: str) -> str:
    """A chain of rods on the given joints."""
    bodies = "".join(f"  b{k}: {ROD}\n" for k in range(len(joints)))
    parents = ["world", *(f"b{k}" for k in range(len(joints)))]
    hung = "".join(
        f"  j{k}: {{type: {joint}, parent: {parents[k]}, child: b{k}, {DOWN}}}\n" for k, joint in enumerate(joints)
    )
    settings = f"simulation: {{duration: 0.2 s, step: {step}, integrator: {integrator}}}\noutput: {{every: 20 ms}}\n"
    return f"mbsim: 1\nname: chain\nbodies:\n{bodies}joints:\n{hung}{settings}{more}"


def task_of(folder: Path, scene: str, first: tuple[str, ...], kept: tuple[str, ...] = ()) -> SweepTask:
    """A task whose reference is the run of the values `first`."""
    file = folder / "scene.yaml"
    file.write_text(scene)
    return SweepTask(file, (), tuple(map(read_kept, kept)), reference=SweepRun(0, first), digest=str(folder))


def runs_of(keys: dict[str, tuple[float, float, str]], count: int) -> list[SweepRun]:
    """Runs with uniform values of each key: least, greatest and unit."""
    chance = random.Random(3)
    drawn = [[f"{key}={chance.uniform(a, b)!r} {unit}" for key, (a, b, unit) in keys.items()] for _ in range(count)]
    return [SweepRun(k, tuple(values)) for k, values in enumerate(drawn)]


Wholly = Callable[[SweepTask, list[SweepRun]], list[tuple[object, ...]]]


def bits_of(row: Row) -> tuple[object, ...]:
    return row.run, row.status, row.reason, row.alarms, row.columns, np.array(row.values).tobytes()


@pytest.fixture
def wholly(monkeypatch: pytest.MonkeyPatch) -> Wholly:
    """Function that makes rows of runs whose whole scene is evaluated."""

    def rows(task: SweepTask, runs: list[SweepRun]) -> list[tuple[object, ...]]:
        with monkeypatch.context() as changed:
            changed.setattr(Starts, "read", lambda _self, _overrides: None)
            return [*map(bits_of, run_batch(task, runs))]

    return rows


KEPT = ("joints/*@final,max,mean", "bodies/*/*@final,min", "energy/*@final,mean,period", "momentum/*")
OF_MOTION = ("joints/*/q@final,max", "joints/*/v@min", "bodies/*/*@final,min", "energy/*@final,mean", "momentum/*")
EXPECT = """\
expect:
  - {energy_drift: {max: 1e-9 J}}
  - {at: 0.1 s, channel: bodies/b0/position, component: x, value: 0, atol: 0.3}
"""
ANGLE, SPEED, LENGTH = (-1.0, 1.0, "rad"), (-60.0, 60.0, "deg/s"), (-0.3, 0.3, "m")
CASES = {
    "revolute": (("revolute, axis: [0, 1, 0]", "revolute, axis: [1, 0, 0]"), {"j0.q": ANGLE, "j1.v": SPEED}),
    "sliding": (
        ("prismatic, axis: [1, 0, 0], stiffness: 20", "cylindrical, axis: [0, 1, 0], q: [0, 0], damping: 0.1"),
        {"j0.q": LENGTH, "j0.v": (-1, 1, "m/s"), "j1.q[0]": ANGLE},
    ),
    "screw": (("screw, axis: [0, 0, 1], pitch: 0.1 m", "revolute, axis: [0, 1, 0]"), {"j0.v": SPEED, "j1.q": ANGLE}),
    "universal": (("universal, q: [0.1, 0.2]", "universal, v: [0, 1]"), {"j0.q[1]": ANGLE, "j1.v.0": SPEED}),
    "planar": (("planar, q: [0, 0]", "revolute, axis: [0, 1, 0], limits: [-3, 3]"), {"j0.q[0]": LENGTH, "j1.q": ANGLE}),
    "free2d": (("free2d, q: [0, 0, 0]", "revolute, axis: [0, 1, 0]"), {"j0.q[2]": ANGLE, "j1.v": SPEED}),
    "translational": (("translational, q: [0, 0, 0]", "revolute, axis: [0, 1, 0]"), {"j0.q[1]": LENGTH, "j1.q": ANGLE}),
    "composite": (
        ("composite, parts: [{type: prismatic, axis: [1, 0, 0]}, {type: revolute, axis: [0, 1, 0]}], q: [0, 0.4]",),
        {"j0.q[0]": LENGTH, "j0.q[1]": ANGLE},
    ),
    "spherical": (
        ("spherical, v: [0, 9, 0], stiffness: 1, damping: 0.1", "revolute, axis: [0, 1, 0]"),
        {"j0.v[0]": SPEED, "j0.v[2]": SPEED, "j1.q": ANGLE},
    ),
    "euler": (
        ("spherical, parametrization: euler_xzx, q: {axis: [0, 0, 1], angle: 0.9}, v: [0, 1, 0]",),
        {"j0.v[1]": SPEED},
    ),
    "free": (("revolute, axis: [0, 1, 0]", "free"), {"j0.q": ANGLE}),
}
"""Types of joints, and the varied keys."""


@pytest.mark.parametrize("name", CASES)
def test_rows_and_starts_are_those_of_whole_scenes(tmp_path: Path, wholly: Wholly, name: str) -> None:
    joints, keys = CASES[name]
    runs = runs_of({f"joints.{key}": bounds for key, bounds in keys.items()}, 21)
    task = task_of(tmp_path, scene_of(*joints, more=EXPECT), runs[0].overrides, KEPT)
    reference = prepare_run(task, runs[0])
    monitored = name == "euler"  # its angles may be singular
    assert (objection_to_lanes([reference]) is None) != monitored
    for run in (runs[0], runs[10], runs[20]):
        read, state = Starts(reference, runs[0].overrides).read(run.overrides), prepare_run(task, run).compiled.state
        assert read is not None
        assert (read[0].tobytes(), read[1].tobytes()) == (state.q.tobytes(), state.v.tobytes())
    assert [*equal_models_of(task).make(runs)] == [*range(21)]
    found = [*map(bits_of, run_batch(task, runs))]
    assert found == wholly(task, runs)
    assert found[::-1] == [bits_of(row) for run in runs[::-1] for row in run_batch(task, [run])]
    assert len({row[5] for row in found}) == 21  # runs of their own


@pytest.mark.parametrize("method", ["aba", "symbolic", "redmax"])
@pytest.mark.parametrize("name", ["sliding", "universal", "spherical"])
def test_rows_without_forces_and_accelerations_are_those_of_whole_scenes(
    tmp_path: Path, wholly: Wholly, name: str, method: str
) -> None:
    joints, keys = CASES[name]
    runs = runs_of({f"joints.{key}": bounds for key, bounds in keys.items()}, 9)
    scene = scene_of(*joints, more=EXPECT).replace("integrator:", f"method: {method}, integrator:")
    task = task_of(tmp_path, scene, runs[0].overrides, OF_MOTION)
    assert [*map(bits_of, run_batch(task, runs))] == wholly(task, runs)
    assert not equal_models_of(task)._observer._samples.acceleration.any()  # nothing else was computed


def test_runs_with_alarms_are_recorded_by_themselves(tmp_path: Path, wholly: Wholly) -> None:
    """The angle of a step exceeds its threshold in fast runs, and the ledger its own in the fastest."""
    runs = runs_of({"joints.j0.v": (0.0, 900.0, "rad/s"), "joints.j1.v": (-2500.0, 2500.0, "rad/s")}, 40)
    joints = "revolute, axis: [0, 1, 0], damping: 0.01", "spherical, v: [1, 0, 0]"
    runs = [SweepRun(run.number, (run.overrides[0], run.overrides[1].replace("j1.v", "j1.v[2]"))) for run in runs]
    task = task_of(tmp_path, scene_of(*joints), runs[0].overrides)
    made = equal_models_of(task).make(runs)
    rows = run_batch(task, runs)
    assert {row.status for row in rows} == {"complete", "untrusted", "diverged"}
    assert [*made] == [place for place, row in enumerate(rows) if row.status != "diverged"]
    assert [*map(bits_of, rows)] == wholly(task, runs)
    assert {bool(row.alarms) for row in rows} == {True, False}


def test_a_run_of_whose_end_a_spring_warns_has_the_warning(tmp_path: Path, wholly: Wholly) -> None:
    """The points of a spring without stiffness coincide at the end of a run, and at no other instant."""
    ends = "[{body: world, point: [0.25, 0, -0.5]}, {body: b0, point: [0, 0, 0.5]}]"
    spring = f"springs: {{s: {{between: {ends}, stiffness: 0, rest_length: 1}}}}\n"
    scene = scene_of("prismatic, axis: [1, 0, 0]", more=spring, integrator="semi_implicit_euler")
    runs = [SweepRun(k, (f"joints.j0.v={v!r} m/s",)) for k, v in enumerate((1.0, 1.25, -1.0))]
    task = task_of(tmp_path, scene, runs[0].overrides)
    rows = run_batch(task, runs)
    assert [*equal_models_of(task).make(runs)] == [0, 2]
    assert ["forces (warning)" in row.alarms for row in rows] == [False, True, False]
    assert [*map(bits_of, rows)] == wholly(task, runs)


def test_runs_near_the_stable_step_are_checked_by_themselves(tmp_path: Path, wholly: Wholly) -> None:
    """A slider on an arm: its inertia about the hinge, and with it the stable step, depends on its place."""
    joints = "revolute, axis: [0, 1, 0], stiffness: 6000", "prismatic, axis: [0, 0, 1], stiffness: 1000"
    runs = runs_of({"joints.j1.q": (0.0, 4.0, "m")}, 40)
    scene = scene_of(*joints, step="20 ms", integrator="semi_implicit_euler")
    scene = scene.replace("step:", "alarms: {ledger: 1e9, spin: 1e9}, step:")
    task = task_of(tmp_path, scene, runs[0].overrides)
    assert [*equal_models_of(task).make(runs)] == [*range(40)]
    rows = run_batch(task, runs)
    assert [*map(bits_of, rows)] == wholly(task, runs)
    assert {"stability" in row.alarms for row in rows} == {True, False}


def test_refused_and_diverging_runs_have_their_reasons(tmp_path: Path, wholly: Wholly) -> None:
    joints = "revolute, axis: [0, 1, 0], limits: [-1, 1]", "revolute, axis: [0, 1, 0]"
    values = [
        "0.2",
        "0.3 rad",
        "2 deg",
        "1.5",
        "-1.0",
        "0.9999999999",
        "nonsense",
        "1 m",
        "",
        "[0.1]",
        "1e400",
        "${1/3}",
    ]
    runs = [SweepRun(k, (f"joints.j0.q={value}", "joints.j1.v=1 rad/s")) for k, value in enumerate(values)]
    runs += [
        SweepRun(len(runs), ("joints.j0.q=0.1", "joints.j1.v=1e200")),
        SweepRun(len(runs) + 1, ("joints.j0.q=0.1",)),
    ]
    task = task_of(tmp_path, scene_of(*joints), runs[0].overrides)
    assert [*equal_models_of(task).make(runs)] == [0, 1, 2]
    rows = run_batch(task, runs)
    assert [*map(bits_of, rows)] == wholly(task, runs)
    assert [row.status for row in rows[3:5]] == ["refused", "complete"]
    assert "violates this limit" in rows[3].reason
    assert rows[12].status == "diverged"


OTHERS = [
    ("vars.m=2 kg", "joints.j0.q=0.1"),
    ("joints.j0.stiffness=2",),
    ("bodies.b0.mass=2 kg",),
    ("joints.j0.rest=0.1",),
    ("joints.nobody.q=0.1",),
    ("joints.j0.q[1]=0.1",),
]


@pytest.mark.parametrize("keys", OTHERS)
def test_other_keys_need_the_whole_scene(tmp_path: Path, keys: tuple[str, ...]) -> None:
    scene = scene_of("revolute, axis: [0, 1, 0], stiffness: 1", more="vars: {m: 1 kg}\n")
    reference = prepare_run(task_of(tmp_path, scene, ()), SweepRun(0, ()))
    assert Starts(reference, ("joints.j0.q=0.2",)).read(("joints.j0.q=0.1",)) is not None
    assert Starts(reference, keys).read(keys) is None
    assert Starts(reference, ("joints.j0.q=0.2",)).read(keys) is None


def test_a_value_that_a_variable_gives_needs_the_whole_scene(tmp_path: Path, wholly: Wholly) -> None:
    scene = scene_of('revolute, axis: [0, 1, 0], q: "${a}"', more="vars: {a: 0.2}\n")
    runs = [SweepRun(k, (f"vars.a={0.1 * k}",)) for k in range(5)]
    task = task_of(tmp_path, scene, runs[0].overrides)
    assert not equal_models_of(task).make(runs)
    assert [*map(bits_of, run_batch(task, runs))] == wholly(task, runs)


def test_planar_bodies_need_the_whole_scene(tmp_path: Path) -> None:
    """Their joint gets coordinates that depend on the assembled start."""
    planar = "{kind: planar, mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}}"
    scene = scene_of("revolute, axis: [0, 0, 1]").replace(ROD, planar).replace(DOWN, "origin: {}")
    reference = prepare_run(task_of(tmp_path, scene, ()), SweepRun(0, ()))
    assert Starts(reference, ("joints.j0.q=0.2",)).read(("joints.j0.q=0.1",)) is None


# --- the parts --------------------------------------------------------------------------------------------------------
def random_samples(reference: object, rows: int) -> object:
    """Samples with random numbers and unit quaternions, some of which change their sign."""
    rng = np.random.default_rng(5)
    samples = samples_for(reference.compiled.model.names, rows)
    for field in samples:
        if field.dtype == np.float64:
            field[:] = rng.normal(size=field.shape)
    samples.quaternion[:] /= np.linalg.norm(samples.quaternion, axis=2, keepdims=True)
    samples.kinetic[:] = np.abs(samples.kinetic)
    samples.time[:] = np.tile(np.linspace(0.0, 1.0, rows // 3), 3).reshape(samples.time.shape)
    return samples


def part_of(samples: object, run: int) -> object:
    """Rows of one of three runs."""
    third = len(samples.time) // 3
    rows = slice(run * third, (run + 1) * third)
    return samples._replace(**{name: np.ascontiguousarray(field[rows]) for name, field in samples._asdict().items()})


@pytest.fixture
def reference(tmp_path: Path) -> object:
    joints = "revolute, axis: [0, 1, 0], damping: 0.1, limits: [-1, 1]", "spherical, damping: 0.2, force: [1, 0, 0]"
    return prepare_run(task_of(tmp_path, scene_of(*joints), ()), SweepRun(0, ()))


def test_values_of_alarms_are_those_of_records(reference: object) -> None:
    model, settings = reference.compiled.model, replace(reference.run_settings(), one_motion=True)
    samples = random_samples(reference, 33)
    samples.angular_velocity[:] *= 0.1  # so that the phases of the angles count
    many = LargestOfRuns(model, samples, 3, settings)
    values = {alarm.name: np.broadcast_to(alarm.value(many, settings), 3) for alarm in RUN_ALARMS}
    for run in range(3):
        record = RunRecord(model, settings)
        record.add_samples(part_of(samples, run), 11)
        for alarm in RUN_ALARMS:
            np.testing.assert_allclose(values[alarm.name][run], alarm.value(record, settings), rtol=1e-13)
    nonzero = {name for name, found in values.items() if found.any()}
    assert {"constraints", "ledger", "phase", "damping", "spin"} <= nonzero


def test_blocks_of_runs_are_those_of_their_histories(reference: object) -> None:
    names, samples = reference.compiled.model.names, random_samples(reference, 33)
    whole = block_of_runs(names, samples, 3)
    for run in range(3):
        rows, history = slice(11 * run, 11 * run + 11), History(names)
        alone = history.block(part_of(samples, run), 11)
        for field in ("quaternion", "total", "ledger_residual"):
            assert getattr(whole, field)[rows].tobytes() == getattr(alone, field).tobytes()
    assert (whole.quaternion != samples.quaternion).any()


def test_steps_that_are_surely_stable_raise_no_alarm(reference: object) -> None:
    """On both sides of the limit, at the starts of a double pendulum with limits and dampers."""
    model, rng = reference.compiled.model, np.random.default_rng(2)
    settings, state = reference.scene.simulation, reference.fresh_state()
    v = rng.normal(scale=3.0, size=(12, model.nv))
    q = np.tile(state.q, (12, 1))
    q[:, 0] = rng.uniform(-0.9, 0.9, 12)
    limits = []
    for k in range(12):
        state.q[:], state.v[:] = q[k], v[k]
        limits.append(check_step(settings, model, state).longest)
    assert np.isfinite(limits).all()
    for limit in (min(limits), float(np.median(limits)), max(limits)):
        step = limit / SLACK
        found = have_stable_steps(settings.model_copy(update={"step": step}), model, q, v)
        wanted = np.array(limits) >= SLACK * step
        near = np.abs(np.array(limits) / limit - 1.0) < 1e-9
        np.testing.assert_array_equal(found | near, wanted | near)
        assert found.any()
    assert not have_stable_steps(settings.model_copy(update={"step": 10.0 * max(limits)}), model, q, v).any()
    loud = settings.model_copy(update={"alarms": {"stability": 1e-6}})
    assert not have_stable_steps(loud, model, q, v).any()
    v[3] = np.nan
    assert [*np.flatnonzero(~have_stable_steps(settings, model, q, v))] == [3]


def test_a_task_that_keeps_files_makes_single_runs(tmp_path: Path) -> None:
    runs = runs_of({"joints.j0.q": ANGLE}, 3)
    task = task_of(tmp_path, scene_of("revolute, axis: [0, 1, 0]"), runs[0].overrides)
    kept = replace(task, trajectories=tmp_path / "files")
    (tmp_path / "files").mkdir()
    assert [*map(bits_of, run_batch(kept, runs))] == [*map(bits_of, run_batch(task, runs))]
    texts = {(tmp_path / "files" / f"run-{k:07d}.h5").read_bytes() for k in range(3)}
    assert len(texts) == 3
