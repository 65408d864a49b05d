"""`mbsim sweep`: rows equal to single runs, the same table for any workers, failed runs, and messages."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_result import Command
from scipy.special import ellipk

from multibody_cli.cli.tables import duration, size
from multibody_cli.output.sweep_table import SweepTable
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.sweep import workers
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask, run_batch
from multibody_cli.studies.sweep.kept_channels import read_kept, reduce_run

TABLE = Path("outputs/pendulum-sweep.h5")
MECHANISM = """\
mbsim: 1
name: slider
vars: {r: 0.2, speed: 3, n: 2}
bodies:
  crank: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}, com: ["${r/2}", 0, 0]}
  rod: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}, com: [0.25, 0, 0]}
  piston: {mass: 2, inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  hinge: {type: revolute, child: crank, axis: [0, 0, 1], q: 1, v: "${speed}"}
  pin: {type: revolute, parent: crank, child: rod, axis: [0, 0, 1], origin: {position: ["${r}", 0, 0]}}
  slide: {type: prismatic, child: piston, axis: ["${n}", 0, 0]}
  wrist: {type: revolute, parent: rod, child: piston, axis: [0, 0, 1], origin: {position: [0.5, 0, 0]}}
springs:
  tie: {between: [{body: world, point: [1, 0, 0]}, {body: piston, point: [0, 0, 0]}], stiffness: 50, rest_length: 0.3}
simulation: {duration: 0.2 s, step: 1 ms, integrator: rk4, assembly_tolerance: 2}
output: {every: 10 ms}
expect:
  - {energy_drift: {max: 1e-6 J}}
  - {at: 0.1 s, channel: bodies/piston/position, value: [0.5, 0, 0], atol: 0.1}
"""
KEPT = (
    "joints/*/q@final,max,time_of_max",
    "bodies/piston/position[x]@0.1 s,mean",
    "energy@final",
    "joints.hinge.v**2 - t*bodies.piston.position.x@max",
)


def test_a_row_has_the_bytes_of_a_single_run(mbsim: Command, folder: Path) -> None:
    (folder / "slider.yaml").write_text(MECHANISM)
    given = [
        ["--vary", "vars.r=0.1:0.25:3; joints.hinge.q=20 deg, 40 deg, 60 deg"],
        ["--vary", "simulation.method=aba, symbolic", "--vary", "bodies.piston.mass=1 kg, 2000 g"],
        ["--vary", "springs.tie.stiffness=loguniform(10, 1000)", "--samples", "2"],
    ]
    words = ["sweep", "slider.yaml", *chain(*given), *chain(*(("--keep", one) for one in KEPT))]
    assert mbsim(*words, "-o", "t.h5", "--jobs", 2, "--trajectories").code == 0
    table = SweepTable(Path("t.h5"))
    assert (table.count, set(table.read("reason"))) == (24, {""})
    definition = [f"{key}=%s" for key in [one.name for one in table.keys]]
    assert len(definition) == 5
    for run in (0, 7, 23):
        units = [f" {column.units}" if column.units else "" for column in table.keys]
        values = [f"{table.read(column.name)[run]}{unit}" for column, unit in zip(table.keys, units, strict=True)]
        overrides = [part % value for part, value in zip(definition, values, strict=True)]
        single = ["run", "slider.yaml", "-o", f"{run}.h5", "-q"]
        mbsim(*single, *chain(*(("--set", one) for one in overrides)))
        pairs = reduce_run([read_kept(text) for text in KEPT], read_trajectory(f"{run}.h5"))
        found = {number.column: value for number, value in pairs}
        assert len(found) == 4 * 3 + 2 + 1 + len([c for c in found if c.name.startswith("energy")])
        row = {column: table.read(column.name)[run] for column in found}
        assert [np.float64(x).tobytes() for x in row.values()] == [np.float64(x).tobytes() for x in found.values()]
        kept = read_trajectory(f"t-runs/run-{run:07d}.h5")
        for path in kept.paths:
            both = (one.channel(path).values.tobytes() for one in (kept, read_trajectory(f"{run}.h5")))
            assert len({*both}) == 1, path


def test_a_row_does_not_depend_on_the_runs_before_it(folder: Path) -> None:
    task = SweepTask(Path("pendulum.yaml"), ("simulation.integrator=rk4",))
    runs = [SweepRun(k, (f"vars.angle={10 * k} deg", f"bodies.rod.mass={1 + k}")) for k in range(4)]
    alone = {run.number: run_batch(task, [run])[0] for run in reversed(runs)}
    assert [repr(row) for row in run_batch(task, runs)] == [repr(alone[run.number]) for run in runs]


def test_another_sweep_reads_the_scene_again(folder: Path) -> None:
    """A worker of a cluster lives longer than a sweep, and the scene may have been edited."""
    scene, run = Path("pendulum.yaml"), SweepRun(0, ())
    first = run_batch(SweepTask(scene, digest="one"), [run])[0]
    scene.write_text(scene.read_text().replace("angle: 30 deg", "angle: 40 deg"))
    assert repr(run_batch(SweepTask(scene, digest="one"), [run])[0]) == repr(first)
    assert repr(run_batch(SweepTask(scene, digest="two"), [run])[0]) != repr(first)


@pytest.mark.parametrize("choice", ["--lanes", "--no-lanes"])
def test_the_table_has_the_same_bytes_for_any_number_of_workers(mbsim: Command, folder: Path, choice: str) -> None:
    words = [
        "sweep",
        "pendulum.yaml",
        "--vary",
        "vars.angle=uniform(1 deg, 9 deg)",
        "--samples",
        25,
        "--sampling",
        "lhs",
        choice,
    ]
    for jobs in (1, 2, 3):
        assert mbsim(*words, "--jobs", jobs, "-o", f"{jobs}.h5", "--parquet").code == 0
    for suffix in ("h5", "parquet"):
        assert len({Path(f"{jobs}.{suffix}").read_bytes() for jobs in (1, 2, 3)}) == 1


def test_the_table_and_the_summary_report_how_runs_were_made(mbsim: Command, folder: Path) -> None:
    words = ["sweep", "pendulum.yaml", "--vary", "vars.angle=10 deg, 20 deg", "--json"]
    for lanes, choice in enumerate(["--no-lanes", "--lanes"]):
        ending = mbsim(*words, choice, "-o", f"{lanes}.h5")
        assert json.loads(ending.stdout)["lanes"] == bool(lanes)
        assert SweepTable(Path(f"{lanes}.h5")).attributes["lanes"] == lanes
    assert mbsim("compare", "0.h5", "1.h5").code == 0
    assert "is the table of another sweep" in mbsim(*words, "--no-lanes", "-o", "1.h5").stderr
    assert mbsim(*words).code == 0
    assert SweepTable(TABLE).attributes["lanes"] == 0  # two runs are too few


def test_lanes_that_may_not_be_compiled_are_refused_with_the_remedy(
    mbsim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mass that no other test has, so that the code of the lanes is in no cache."""
    words = [
        "sweep",
        "pendulum.yaml",
        "--vary",
        "vars.angle=1 deg, 2 deg",
        "--set",
        f"bodies.rod.mass={1.0 + time.time() % 1.0!r}",
    ]
    assert mbsim(*words, "--no-lanes").code == 0
    monkeypatch.setenv("MBSIM_COMPILE", "never")
    ending = mbsim(*words, "--lanes", "-o", "lanes.h5")
    assert (ending.code, "use --no-lanes, or execute the sweep once" in ending.stderr) == (2, True), ending.stderr
    assert mbsim(*words, "--no-lanes", "-o", "single.h5").code == 0


def test_lanes_that_are_asked_for_are_used_or_refused(mbsim: Command, folder: Path) -> None:
    words = ["sweep", "pendulum.yaml", "--lanes", "--vary"]
    for more, reason in (
        (["bodies.rod.mass=1 kg, 2 kg"], "the runs differ in more than their initial states"),
        (["vars.angle=1 deg, 2 deg", "--set", "simulation.integrator=dop853"], "lanes do not support integrators"),
        (["vars.angle=1 deg, 2 deg", "--trajectories"], "--trajectories keeps the result files of single runs"),
    ):
        ending = mbsim(*words, *more)
        assert ending.code == 2
        assert reason in ending.stderr


def test_failed_runs_are_rows_with_their_reason(mbsim: Command, folder: Path) -> None:
    (folder / "stiff.yaml").write_text((folder / "stiff.yaml").read_text().replace("1e12", '"${k}"') + "vars: {k: 1}\n")
    ending = mbsim("sweep", "stiff.yaml", "--vary", "vars.k=1, 1e12, -1, soft", "--json")
    assert ending.code == 0
    assert json.loads(ending.stdout)["statuses"] == {"complete": 1, "diverged": 1, "refused": 2}
    table = SweepTable(Path("outputs/stiff-sweep.h5"))
    assert table.read("status").tolist() == ["complete", "diverged", "refused", "refused"]
    reasons = table.read("reason").tolist()
    assert reasons[0] == ""
    assert "joint slide grew fastest" in reasons[1]
    assert "joints.slide.stiffness" in reasons[2]
    assert "soft" in reasons[3]
    final = table.read("joints/slide/q final")
    assert np.isfinite(final[0])
    assert np.isnan(final[1:]).all()
    assert table.read("reached")[1] < 1.0
    assert table.read("vars.k").tolist() == ["1", "1e12", "-1", "soft"]


def test_an_untrusted_run_is_a_row_with_its_alarms(mbsim: Command, folder: Path) -> None:
    words = ["--vary", "simulation.step=1 ms, 500 ms", "--set", "output.every=500 ms", "--duration", "20s"]
    assert mbsim("sweep", "pendulum.yaml", *words, "--set", "simulation.integrator=semi_implicit_euler").code == 0
    table = SweepTable(TABLE)
    codes = []
    for step in ("1ms", "500ms"):
        more = ["--set", "simulation.integrator=semi_implicit_euler", "--set", "output.every=500 ms"]
        ending = mbsim("run", "pendulum.yaml", "--duration", "20s", "--step", step, *more, "--force", "--json")
        codes.append(json.loads(ending.stdout)["status"])
    assert table.read("status").tolist() == codes == ["complete", "untrusted"]
    assert "ledger (failed from " in table.read("alarms")[1]
    assert table.read("reason")[1]


def test_runs_may_have_different_columns(mbsim: Command, folder: Path) -> None:
    scene = "vars: {n: 1}\nrepeat:\n  - count: ${n}\n    bodies: {'ball${i}': {kind: point, mass: 1}}\n"
    (folder / "balls.yaml").write_text(f"mbsim: 1\n{scene}simulation: {{duration: 10 ms, step: 1 ms}}\n")
    assert mbsim("sweep", "balls.yaml", "--vary", "vars.n=1:3:3", "-o", "t.h5").code == 0
    table = SweepTable(Path("t.h5"))
    heights = [table.read(f"bodies/ball{k}/position[z] final") for k in range(3)]
    assert np.isfinite(heights).sum(axis=1).tolist() == [3, 2, 1]


def test_channels_with_several_units_have_a_column_for_each(mbsim: Command, folder: Path) -> None:
    scene = "vars: {kind: revolute}\nbodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}}\n"
    joint = "joints: {j: {type: '${kind}', child: a, v: 2}}\ngravity: [0, 0, 0]\n"
    (folder / "kinds.yaml").write_text(f"mbsim: 1\n{scene}{joint}simulation: {{duration: 10 ms, step: 1 ms}}\n")
    words = ("sweep", "kinds.yaml", "--vary", "vars.kind=revolute,prismatic,revolute", "--keep", "joints/j/q")
    ending = mbsim(*words, "-o", "t.h5")
    assert ending.code == 0, ending.stderr
    table = SweepTable(Path("t.h5"))
    for unit, there in (("rad", [True, False, True]), ("m", [False, True, False])):
        values = table.read(f"joints/j/q final [{unit}]")
        assert table.column(f"joints/j/q final [{unit}]").units == unit
        assert np.isfinite(values).tolist() == there
        np.testing.assert_allclose(values[there], 0.02, rtol=1e-12)


def test_result_files_of_another_sweep_are_kept(mbsim: Command, folder: Path) -> None:
    words = ("sweep", "pendulum.yaml", "--trajectories", "-o", "t.h5", "--vary")
    assert mbsim(*words, "vars.angle=1 deg, 2 deg").code == 0
    Path("t.h5").unlink()
    before = {path: path.read_bytes() for path in Path("t-runs").iterdir()}
    refused = mbsim(*words, "vars.angle=3 deg")
    assert refused.code == 2
    assert "t-runs has result files of another sweep: use --force" in refused.stderr
    assert {path: path.read_bytes() for path in Path("t-runs").iterdir()} == before
    assert mbsim(*words, "vars.angle=1 deg, 2 deg").code == 0  # the same sweep again
    assert mbsim(*words, "vars.angle=3 deg", "--force").code == 0
    assert [path.name for path in sorted(Path("t-runs").glob("*.h5"))] == ["run-0000000.h5"]


def test_the_period_of_a_pendulum_is_that_of_the_elliptic_integral(mbsim: Command, folder: Path) -> None:
    """T = 4 K(sin^2(a/2)) sqrt(I / (m g l)), with I / (m l) of a rod of 1 m and a square section of 0.1 m."""
    words = ["--vary", "vars.angle=10 deg:170 deg:9", "--keep", "joints/hinge/q@period", "--duration", "12s"]
    assert mbsim("sweep", "pendulum.yaml", *words, "--integrator", "rk4", "-o", "t.h5").code == 0
    table = SweepTable(Path("t.h5"))
    amplitude = np.radians(table.read("vars.angle"))
    length = ((0.01 + 1.0) / 12 + 0.25) / 0.5
    exact = 4 * ellipk(np.sin(amplitude / 2) ** 2) * np.sqrt(length / 9.81)
    np.testing.assert_allclose(table.read("joints/hinge/q period"), exact, rtol=1e-7)


def test_a_number_that_is_not_finite_has_a_reason(mbsim: Command, folder: Path) -> None:
    """From 90 deg, the pendulum moves; from 0, it hangs at rest, and its angle has no logarithm."""
    words = ["--vary", "vars.angle=90 deg, 0 deg", "--keep", "joints/hinge/q@period,max", "--duration", "12s"]
    ending = mbsim("sweep", "pendulum.yaml", *words, "--keep", "log(joints.hinge.q)@min", "-o", "t.h5")
    lack = "fewer than two oscillations, or fewer than 8 output instants: run longer"
    table = SweepTable(Path("t.h5"))
    assert table.read("status").tolist() == ["complete", "complete"]
    turning, still = table.read("reason")
    assert turning == "`log(joints.hinge.q) min` is not finite: a value is not finite"
    assert still == f"`joints/hinge/q period` is not finite: {lack}; {turning}"
    assert np.isnan(table.read("joints/hinge/q period")).tolist() == [False, True]
    assert f"run 0 is complete: {turning}" in ending.stdout


def test_a_run_that_ends_its_process_fails_and_the_others_do_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deadly(task: SweepTask, runs: list[SweepRun]) -> Any:
        if any(run.number == 13 for run in runs):
            os.kill(os.getpid(), signal.SIGSEGV)
        return run_batch(task, runs)

    monkeypatch.setattr(workers, "run_batch", deadly)
    task = SweepTask(Path("pendulum.yaml"), ("simulation.duration=1 ms", "output.every=1 ms"))
    runs = [SweepRun(k, (f"vars.angle={k} deg",)) for k in range(40)]
    blocks = [block for some in workers.run_locally(task, runs, 2) for block in some]
    endings = {run: ending for block in blocks for run, ending in zip(block.runs.tolist(), block.endings, strict=True)}
    assert sorted(endings) == list(range(40))
    assert endings.pop(13)[:2] == ("failed", "the process of the run was ended by SIGSEGV: out of memory?")
    assert {status for status, *_ in endings.values()} == {"complete"}


def test_the_summary_has_the_first_reason_of_each_status(mbsim: Command, folder: Path) -> None:
    words = ["sweep", "pendulum.yaml", "--vary", "vars.angle=1 deg, 2 kg, 3 kg, 4 deg", "--jobs", 2]
    reason = "vars.angle: expected a number, or a quantity as `30 deg` in the scene, but `2 kg` is a mass"
    expected = f"  reason   run 1 is refused: {reason}\n"
    for _ in range(2):  # rows of workers, then those of the table
        shown = mbsim(*words).stdout
        assert "2 complete, 2 refused" in shown
        assert expected in shown
        assert shown.count("reason") == 1


def test_the_contents_of_a_table_have_the_reasons_with_their_numbers(mbsim: Command, folder: Path) -> None:
    assert mbsim("sweep", "pendulum.yaml", "--vary", "vars.angle=1 deg, 2 kg, 3 kg, soft", "-o", "t.h5").code == 0
    first, second = json.loads(mbsim("info", "t.h5", "--json").stdout)["reasons"]
    assert (first["status"], first["runs"], first["first run"]) == ("refused", 2, 1)
    assert "but `2 kg` is a mass" in first["its reason"]
    assert (second["runs"], second["first run"]) == (1, 3)
    assert "but `2 kg` is a mass" in mbsim("info", "t.h5").stdout


def test_the_same_command_again_does_nothing_and_another_one_is_refused(mbsim: Command, folder: Path) -> None:
    words = ["sweep", "pendulum.yaml", "--vary", "vars.angle=10 deg, 20 deg"]
    assert mbsim(*words).code == 0
    before = TABLE.stat().st_mtime_ns
    again = mbsim(*words)
    assert (again.code, TABLE.stat().st_mtime_ns) == (0, before)
    assert "has the rows of all 2 runs: nothing is left to run" in again.stderr
    assert mbsim(*words, "--parquet").code == 0
    assert TABLE.with_suffix(".parquet").exists()
    other = mbsim(*words[:-1], "vars.angle=10 deg, 30 deg")
    assert (other.code, TABLE.stat().st_mtime_ns) == (2, before)
    assert "is the table of another sweep: use --force" in other.stderr
    assert mbsim(*words[:-1], "vars.angle=10 deg, 30 deg", "--force").code == 0
    assert SweepTable(TABLE).read("vars.angle").tolist() == [10.0, 30.0]
    scene = folder / "pendulum.yaml"
    scene.write_text(scene.read_text().replace("mass: 2 kg", "mass: 3 kg"))
    assert mbsim(*words[:-1], "vars.angle=10 deg, 30 deg").code == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.1234, "0.123 s"), (119.9, "120 s"), (300.0, "5 min"), (1.96e4, "5.44 h"), (1e8, "27778 h")],
)
def test_long_times_are_in_hours(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(2e4, "0.02 MB"), (9.999e8, "1000 MB"), (1.44e9, "1.44 GB"), (5e15, "5000 TB")]
)
def test_large_sizes_are_in_gigabytes(number: float, text: str) -> None:
    assert size(number) == text


def test_dry_run_writes_nothing(mbsim: Command, folder: Path) -> None:
    words = ["sweep", "pendulum.yaml", "--vary", "vars.angle=0 deg:9 deg:1000", "--dry-run", "--trajectories"]
    ending = mbsim(*words, "--json")
    data = json.loads(ending.stdout)
    assert (ending.code, data["runs"]) == (0, 1000)
    assert data["seconds"] > data["seconds_of_run"] > 0.0
    assert data["trajectory_bytes"] > 1000 * 10_000
    refused_first = mbsim("sweep", "pendulum.yaml", "--vary", "vars.angle=soft, 1 deg", "--dry-run", "--json")
    assert "joints/hinge/q final" in json.loads(refused_first.stdout)["columns"]
    assert 1000 * 8 * len(data["columns"]) < data["table_bytes"] < 1000 * 1000
    assert "1000 runs" in mbsim(*words).stdout
    assert sorted(path.name for path in folder.iterdir()) == ["pendulum.yaml", "stiff.yaml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing varies: add --vary KEY=VALUES"),
        (("--vary", "vars.a=1,2"), "--vary vars.a=1: `vars.a`: unknown key `a`; valid: angle, n"),
        (("--vary", "joints.hinge.q=1 kg"), "--vary joints.hinge.q=1 kg: joints.hinge.q: expected an angle (rad), but"),
        (
            ("--vary", "vars.angle=1,2", "-o", "t.csv"),
            "results are written as HDF5, in files *.h5 or *.hdf5: write t.h5",
        ),
        (("--vary", "vars.angle=1,2", "--jobs", "1", "--jobs", "2"), "--jobs is given twice: give it once"),
        (("--vary", "vars.angle=1,2", "--lanes", "--no-lanes"), "--lanes is given twice: give it once"),
        (("--vary", "joints.hinge.qq=1,2"), "unknown key `qq`; did you mean `q`?"),
        (("--vary", "vars.angle=1,2", "--set", "vars.angle=3"), "`vars.angle` varies as well"),
        (("--vary", "vars.angle=1,2", "--keep", "joints/hing/q"), "--keep: no channel or group `joints/hing/q`"),
        (("--vary", "vars.angle=1,2", "--keep", "joints/hinge/q@maxx"), "did you mean `max`?"),
        (("--vary", "vars.angle=1,2", "--keep", "joints/hinge/q@"), "expected CHANNEL@REDUCTION"),
        (("--vary", "vars.angle=1,2", "--keep", "joints/hinge/q@15 ms"), "no output instant at 0.015 s"),
        (("--vary", "vars.angle=1,2", "--dask", "tcp://x:1", "--jobs", "2"), "--jobs is the number of processes"),
        (("--vary", "vars.angle=1,2", "-o", "pendulum.yaml"), "pendulum.yaml is the scene itself"),
    ],
)
def test_invalid_arguments_are_refused_before_any_run(
    mbsim: Command, folder: Path, words: tuple[str, ...], message: str
) -> None:
    ending = mbsim("sweep", "pendulum.yaml", *words)
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["pendulum.yaml", "stiff.yaml"]


def test_other_verbs_take_tables(mbsim: Command, folder: Path) -> None:
    words = ["--vary", "vars.angle=10 deg:50 deg:3", "--vary", "bodies.rod.mass=1, 2"]
    assert mbsim("sweep", "pendulum.yaml", *words, "-o", "a.h5").code == 0
    assert mbsim("sweep", "pendulum.yaml", *words, "-o", "b.h5", "--step", "0.5ms").code == 0
    about = json.loads(mbsim("info", "a.h5", "--json").stdout)
    assert about["outcomes"] == [{"status": "complete", "runs": 6}]
    assert about["reasons"] == []
    assert {"vars.angle", "joints/hinge/q final"} <= {one["column"] for one in about["columns"]}
    for form in ("curves", "map", "parallel", "surface", "effects"):
        assert mbsim("plot", "a.h5", "--as", form, "-o", f"{form}.png").code == 0
    missing = mbsim("plot", "c.h5", "--as", "surface")
    assert (missing.code, "error: c.h5 does not exist" in missing.stderr) == (2, True)
    same, different = (mbsim("compare", "a.h5", name) for name in ("a.h5", "b.h5"))
    assert (same.code, different.code) == (0, 1)
    assert "run 5" in different.stdout
    regress = ["regress", "a.h5", "--baseline", "base"]
    assert mbsim(*regress, "--accept", "--why", "first").code == 0
    assert mbsim(*regress).code == 0
    Path("a.h5").write_bytes(Path("b.h5").read_bytes())
    assert mbsim(*regress).code == 1
    assert mbsim("export", "b.h5", "-o", "b.csv").code == 0
    lines = Path("b.csv").read_text().splitlines()
    assert lines[0].startswith("run (1),vars.angle (deg),bodies.rod.mass (1),status (1)")
    assert lines[2].startswith("1,10.0,2.0,complete,,,")
