"""Sweeps in lanes: rows equal to those of single runs within round-off, and independent of their company bit by bit."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.immutable import replace
from multibody_cli.kernel import is_interpreted
from multibody_cli.output.rows import Row
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask, lanes_of, prepare_run, run_batch
from multibody_cli.studies.sweep.design import RandomSampling, design_of
from multibody_cli.studies.sweep.kept_channels import read_kept
from multibody_cli.studies.sweep.lanes import objection_to_lanes
from multibody_cli.studies.sweep.sweep import plan_sweep

pytestmark = pytest.mark.skipif(is_interpreted(), reason="lanes are compiled")

ROD = "{mass: 1 kg, shapes: [{type: box, size: [0.1, 0.2, 1]}]}"
UP, DOWN = "child_origin: {position: [0, 0, 0.5]}", "origin: {position: [0, 0, -0.5]}"
ARM = f"""\
mbsim: 1
name: arm
vars: {{a: 0.5, b: 0.3, u: 0, w: 1, m: 1}}
bodies:
  upper: {{mass: "${{m}}", shapes: [{{type: box, size: [0.1, 0.2, 1]}}]}}
  lower: {ROD}
  bob: {ROD}
joints:
  shoulder: {{type: revolute, child: upper, axis: [0, 1, 0], {UP}, q: "${{a}}", v: "${{u}}", stiffness: 3, damping: 0.2,
      limits: [-3, 3]}}
  elbow: {{type: universal, parent: upper, child: lower, {DOWN}, {UP}, q: ["${{b}}", 0.1], damping: [0.1, 0.2],
      force: [1, "cos(3*t)"]}}
  wrist: {{type: spherical, parent: lower, child: bob, {DOWN}, {UP}, v: ["${{w}}", 2, 3], stiffness: 2, damping: 0.1}}
simulation: {{duration: 0.6 s, step: 1 ms, integrator: rk4}}
output: {{every: 20 ms}}
expect:
  - {{energy_drift: {{max: 1e-6 J}}}}
  - {{at: 0.2 s, channel: joints/shoulder/q, value: 0.5, atol: 3}}
"""
KEPT = ("*/*/*@final,max,mean", "joints/shoulder/q@0.2 s,time_of_min", "energy/*@final,min", "momentum/*")


def task_of(folder: Path, scene: str, *overrides: str) -> SweepTask:
    """A task whose lanes have the code of a run with the values of the scene."""
    file = folder / "scene.yaml"
    file.write_text(scene)
    return SweepTask(file, overrides, tuple(map(read_kept, KEPT)), reference=SweepRun(0, ()), digest=str(folder))


def runs_of(count: int) -> list[SweepRun]:
    rng = np.random.default_rng(4)
    values = rng.uniform([0.1, -1.0, -2.0], [1.0, 1.0, 2.0], (count, 3)).tolist()
    return [SweepRun(k, (f"vars.a={a}", f"vars.b={b}", f"vars.w={w}")) for k, (a, b, w) in enumerate(values)]


def in_lanes(task: SweepTask, runs: list[SweepRun]) -> int:
    """Return how many runs are complete in lanes."""
    return len(lanes_of(task).make([prepare_run(task, run) for run in runs]))


def singly(task: SweepTask, runs: list[SweepRun]) -> list[Row]:
    return run_batch(replace(task, reference=None), runs)


def bits_of(row: Row) -> tuple[object, ...]:
    return row.run, row.status, row.reason, row.alarms, row.columns, np.array(row.values).tobytes()


@pytest.mark.parametrize("integrator", ["heun", "rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("method", ["aba", "symbolic", "redmax"])
def test_rows_equal_those_of_single_runs(tmp_path: Path, method: str, integrator: str) -> None:
    task = task_of(tmp_path, ARM, f"simulation.method={method}", f"simulation.integrator={integrator}")
    runs = runs_of(11)
    assert in_lanes(task, runs) == 11
    found, wanted = run_batch(task, runs), singly(task, runs)
    for one, other in zip(found, wanted, strict=True):
        for field in ("run", "status", "reason", "alarms", "columns"):
            assert getattr(one, field) == getattr(other, field)
    names = [str(column.name) for column in found[0].columns]
    a, b = (np.array([row.values for row in rows]) for rows in (found, wanted))
    assert {"energy/total final", "energy/ledger_residual final", "joints/wrist/acceleration[2] max"} <= {*names}
    assert any("dissipation" in name and abs(value) > 0.01 for name, value in zip(names, b[0], strict=True))
    energy = np.abs(b[:, names.index("energy/total final")]).max()
    scale = np.maximum(np.abs(b).max(axis=0), [energy * ("residual" in name or "drift" in name) for name in names])
    np.testing.assert_array_less(np.abs(a - b), np.broadcast_to(1e-10 * scale + 1e-15, a.shape))
    assert np.ptp(a[:, names.index("joints/shoulder/q final")]) > 0.1  # runs of their own
    assert (a != b).any()  # lanes round in another way than `aba`


def test_rows_do_not_depend_on_the_division_into_batches(tmp_path: Path) -> None:
    task, runs, chance = task_of(tmp_path, ARM), runs_of(30), random.Random(3)
    runs[4] = SweepRun(4, ("vars.a=2.5", "vars.u=9"))  # reaches a limit
    runs[5] = SweepRun(5, ("vars.a=nonsense",))
    runs[6] = SweepRun(6, ("vars.a=0.2", "vars.m=3"))  # another model
    assert in_lanes(task, [*runs[:5], *runs[6:]]) == 27
    whole = [bits_of(row) for row in run_batch(task, runs)]
    for _ in range(3):
        order, found = chance.sample(runs, len(runs)), []
        while order:
            length = chance.randrange(1, 14)
            found += run_batch(task, order[:length])
            del order[:length]
        assert sorted(map(bits_of, found)) == whole
    alone = [bits_of(row) for run in runs[:8] for row in run_batch(task, [run])]
    assert alone == whole[:8]
    assert [bits_of(row) for row in singly(task, runs[4:7])] == whole[4:7]


def test_a_run_that_diverges_is_that_of_a_single_run(tmp_path: Path) -> None:
    task = task_of(tmp_path, ARM)
    runs = [*runs_of(3), SweepRun(3, ("vars.w=1e9",))]
    row = run_batch(task, runs)[3]
    assert row.status == "diverged"
    assert "grew fastest after it" in row.reason
    assert bits_of(row) == bits_of(singly(task, runs[3:])[0])


REFUSED = {
    "lanes do not support method `baraff`": ["simulation.method=baraff"],
    "lanes do not support method `variational`": ["simulation.method=variational"],
    "lanes do not support integrators other than semi_implicit_euler, heun and rk4": ["simulation.integrator=dop853"],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_scenes_that_lanes_do_not_support_are_single_runs(tmp_path: Path, reason: str) -> None:
    task = task_of(tmp_path, ARM.replace(",\n      limits: [-3, 3]", ""))
    simulation = prepare_run(task, SweepRun(0, tuple(REFUSED[reason])))
    assert objection_to_lanes([simulation]) == reason


def test_runs_with_other_models_are_not_made_in_lanes(tmp_path: Path) -> None:
    task = task_of(tmp_path, ARM)
    one, heavier, longer = (
        prepare_run(task, SweepRun(0, (text,))) for text in ("vars.m=1", "vars.m=2", "simulation.duration=1 s")
    )
    assert objection_to_lanes([one, prepare_run(task, SweepRun(1, ("vars.a=0.7",)))]) is None
    for other in (heavier, longer):
        assert objection_to_lanes([one, other]) == "the runs differ in more than their initial states"


def test_runs_with_springs_between_bodies_and_a_rotor_are_made_in_lanes(tmp_path: Path) -> None:
    """Unless their points or rotors are others."""
    scene = ARM.replace("vars: {", "vars: {x: 1, J: 0.01, ") + (
        "springs: {s: {between: [{body: world, point: ['${x}', 0, 0]}, {body: lower}], stiffness: 9, damping: 0.3,"
        " rest_length: 1}}\n"
        "actuators: {m: {type: motor, joint: shoulder, command: 0.1, stall_torque: 1, no_load_speed: 9,"
        " rotor_inertia: '${J}'}}\n"
    )
    task = task_of(tmp_path, scene)
    one, other, farther, heavier = (
        prepare_run(task, SweepRun(0, (text,))) for text in ("vars.a=0.5", "vars.a=0.7", "vars.x=1.5", "vars.J=0.02")
    )
    assert objection_to_lanes([one, other]) is None
    for another in (farther, heavier):
        assert objection_to_lanes([one, another]) == "the runs differ in more than their initial states"
    rows = run_batch(task, [SweepRun(0, ("vars.a=0.5",)), SweepRun(1, ("vars.a=0.7",))])
    alone = singly(task, [SweepRun(0, ("vars.a=0.5",)), SweepRun(1, ("vars.a=0.7",))])
    for row, single in zip(rows, alone, strict=True):
        assert (row.status, row.columns) == (single.status, single.columns) == ("complete", row.columns)
        np.testing.assert_allclose(row.values, single.values, rtol=1e-9, atol=1e-9)


def test_lanes_are_chosen_where_they_save_time(tmp_path: Path) -> None:
    """The choice is part of the sweep: another choice is another sweep."""
    file = tmp_path / "scene.yaml"
    file.write_text(ARM)

    def planned(samples: int, choice: bool | None = None, folder: Path | None = None) -> tuple[bool, str]:
        design = design_of(["vars.a=uniform(0, 1)"], None, RandomSampling(samples))
        sweep, _ = plan_sweep(file, (), design, (), folder, choice)
        return sweep.task.reference is not None, sweep.digest

    assert [planned(10)[0], planned(20_000)[0]] == [False, True]
    assert not planned(20_000, folder=tmp_path)[0]
    assert planned(10) == planned(10, False)
    assert planned(10, True)[0]
    assert planned(10, True)[1] != planned(10)[1]
    assert not planned(20_000, False)[0]


LOADED = """
import pathlib, sys
from multibody_cli.kernel import loading
from multibody_cli.studies.sweep.batch import run_batch
from multibody_cli.studies.sweep.design import RandomSampling, design_of
from multibody_cli.studies.sweep.sweep import compile_kernels, plan_sweep

design = design_of(["vars.a=0.2,0.4"], None, RandomSampling())
sweep, first = plan_sweep(pathlib.Path("scene.yaml"), (), design, (), None, True)
compile_kernels(sweep, first)
before = set(loading._loaded)
rows = run_batch(sweep.task, [sweep.run(0), sweep.run(1)])
print([row.status for row in rows], *(set(loading._loaded) - before))
"""


def test_workers_have_all_kernels_of_lanes_before_they_are_forked(tmp_path: Path) -> None:
    """Otherwise each of them compiles, unseen, while no row is made."""
    (tmp_path / "scene.yaml").write_text(ARM)
    words = [sys.executable, "-c", LOADED]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout == "['complete', 'complete']\n"
