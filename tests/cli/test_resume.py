"""Runs that are interrupted or killed and resumed, and runs that are repeated: the same bytes as one run."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from command_result import Command

from multibody_cli import timeline
from multibody_cli.errors import ArgumentError
from multibody_cli.output.checkpoint import checkpoint_path
from multibody_cli.output.hdf5 import Continued, Hdf5Sink
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.branching import find_resumption
from multibody_cli.studies.simulation import PreparedSimulation, prepare
from multibody_cli.timeline import Callbacks

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"

RUNS = {
    "contacts": ("falling_boxes", "simulation.duration=0.2"),
    "contacts, variational": ("falling_boxes", "simulation.duration=0.2", "simulation.method=variational"),
    "loop, rk4": ("couplings", "simulation.method=redmax", "simulation.integrator=rk4"),
    "adaptive steps": ("windmill", "simulation.integrator=dop853"),
    "implicit springs": ("springs", "simulation.integrator=linearly_implicit_euler"),
    "singular frames": ("curve_joint",),
    "maximal coordinates": ("couplings", "simulation.method=variational_maximal"),
    "joint friction": ("joint_friction", "simulation.method=baraff"),
    "static and kinetic friction": ("stick_slip",),
    "static and kinetic friction, variational": ("stick_slip", "simulation.method=variational_maximal"),
    "predicted errors": ("windmill", "simulation.method=baraff", "simulation.integrator=semi_implicit_euler"),
    "many accounts": ("arm_muscles",),
    "sampled controllers": ("pid_control", "simulation.duration=2"),
    "sampled controllers, adaptive steps": (
        *("pid_control", "simulation.duration=2", "simulation.integrator=dop853"),
        "output.every=5 ms",
    ),
    "sampled controller, variational": ("cart_pole", "simulation.duration=1", "simulation.method=variational"),
    "events": ("thrown_ball",),
    "compressed": ("falling_boxes", "simulation.duration=0.2", "output.compression=gzip"),
}


def never() -> bool:
    """Return no request to stop."""
    return False


def run(
    simulation: PreparedSimulation,
    path: Path,
    stop_asked: Callable[[], bool] = never,
    continued: Continued | None = None,
) -> str:
    """Run to a file, from a checkpoint if there is one; return the status.

    A run that is asked to stop passes one output instant at a time, so that the request comes at each of them.
    """
    output = simulation.scene.output
    sink = Hdf5Sink(path, output.channels, output.compression, force=True, continued=continued)
    carried = continued.checkpoint.values if continued else None
    with pytest.MonkeyPatch.context() as patch:
        if stop_asked is not never:
            patch.setattr(timeline, "INSTANTS_AT_ONCE", 1)
        return simulation.run(sink, Callbacks(stop_asked=stop_asked, keep=sink.checkpoint), carried).outcome.status


def after(count: int) -> Callable[[], bool]:
    """Return a request to stop that is made at the given call."""
    calls = iter(range(count + 1))
    return lambda: next(calls) == count


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_interrupted_and_resumed_has_the_same_bytes(name: str, tmp_path: Path) -> None:
    scene, *overrides = RUNS[name]
    simulation = prepare(GALLERY / f"{scene}.yaml", overrides)
    run(simulation, tmp_path / "whole.h5")
    generator = random.Random(name)
    status = run(simulation, tmp_path / "parts.h5", after(generator.randrange(1, 20)))
    assert status == "interrupted"
    continued = r"was interrupted: `mbsim run --resume .*parts\.h5` continues it"
    with pytest.raises(ArgumentError, match="use --force" if name == "compressed" else continued):
        Hdf5Sink(tmp_path / "parts.h5")
    for _ in range(2):
        found = find_resumption(tmp_path / "parts.h5")
        assert (found.continued is None) == (name == "compressed")  # whole blocks only
        status = run(simulation, tmp_path / "parts.h5", after(generator.randrange(1, 20)), found.continued)
    status = run(simulation, tmp_path / "parts.h5", continued=find_resumption(tmp_path / "parts.h5").continued)
    assert status == "complete"
    assert (tmp_path / "parts.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
    assert not checkpoint_path(tmp_path / "parts.h5").exists()


ENGINE = """
mbsim: 1
name: engine
vars: {r: 40 mm, l: 140 mm, a: 30 deg}
gravity: [0, -9.81, 0]
bodies:
  crank: {shapes: [{type: cylinder, radius: 90 mm, length: 20 mm, density: 7850}]}
  rod: {mass: 0.4 kg, shapes: [{type: box, size: ["${l}", 15 mm, 10 mm], position: ["${l/2}", 0, 0]}]}
  piston: {mass: 0.6 kg, shapes: [{type: sphere, radius: 35 mm}]}
joints:
  bearing: {type: revolute, child: crank, q: "${a}", force: "200*exp(-t/0.1)", damping: 0.05}
  bigend: {type: revolute, parent: crank, child: rod, origin: {position: ["${r}", 0, 0]}, q: "${-a - asin(r/l*sin(a))}"}
  bore: {type: prismatic, child: piston, axis: [1, 0, 0], q: "${r*cos(a)+sqrt(l**2-(r*sin(a))**2)}"}
  wristpin: {type: revolute, parent: piston, child: rod, child_origin: {position: ["${l}", 0, 0]}}
simulation: {duration: 1 s, integrator: semi_implicit_euler, step: 1 ms}
output: {every: 10 ms}
"""
"""A slider-crank whose steps are too long, above all in the first half of its run."""


def test_a_resumed_run_raises_the_alarms_of_the_whole_run(tmp_path: Path) -> None:
    scene = tmp_path / "engine.yaml"
    scene.write_text(ENGINE)
    simulation = prepare(scene)
    assert run(simulation, tmp_path / "whole.h5") == "untrusted"
    assert run(simulation, tmp_path / "parts.h5", after(60)) == "interrupted"
    found = find_resumption(tmp_path / "parts.h5")
    assert found.continued is not None
    before = found.continued.checkpoint.instants
    assert run(simulation, tmp_path / "parts.h5", continued=found.continued) == "untrusted"
    whole, parts = (read_trajectory(tmp_path / name).attributes for name in ("whole.h5", "parts.h5"))
    assert all(alarm["time"] < 0.01 * before for alarm in json.loads(str(whole["alarms"])))
    for name in ("alarms", "message", "status"):
        assert parts[name] == whole[name]
    assert (tmp_path / "parts.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()


PROGRAM = """
import functools, os, signal, sys
from multibody_cli import timeline
from multibody_cli.errors import ArgumentError
from multibody_cli.cli.app import main

timeline.FLUSH_AFTER = 0.0
*owners, name = sys.argv.pop(1).split(".")
left = int(sys.argv.pop(1))
owner = functools.reduce(getattr, owners, timeline)
function = getattr(owner, name)

def killed_at_last(argument):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return function(argument)

setattr(owner, name, killed_at_last)
main()
"""
"""The command line, killed at a call of a function of `timeline`."""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        pytest.param("Driver._keep_late", 70, id="between steps"),
        pytest.param("collect", 40, id="rows written, state not kept"),
    ],
)
def test_a_run_that_is_killed_and_resumed_has_the_same_bytes(
    name: str, call: int, mbsim: Command, folder: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    words = [GALLERY / "falling_boxes.yaml", "--step", "0.02 ms", "--set", "expect=[]"]
    assert mbsim("run", *words, "-o", "whole.h5").code == 0
    (folder / "killed.py").write_text(PROGRAM)
    process = start("run", *words, "-o", "parts.h5", program=["killed.py", name, str(call)])
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert checkpoint_path(folder / "parts.h5").exists()
    reached = read_trajectory(folder / "parts.h5.part").time.size
    assert 1 < reached < read_trajectory(folder / "whole.h5").time.size
    end = mbsim("run", "--resume", "parts.h5")
    assert (end.code, "begins again" in end.stderr) == (0, False)
    assert (folder / "parts.h5").read_bytes() == (folder / "whole.h5").read_bytes()


def test_a_longer_run_of_an_excitation_begins_again(mbsim: Command, folder: Path) -> None:
    """Its activation is a table for the duration, which did not fit the arrays of the longer run."""
    scene = GALLERY / "excitation.yaml"
    assert run(prepare(scene, ["simulation.duration=0.1 s", "expect=[]"]), folder / "run.h5", after(6)) == "interrupted"
    end = mbsim("run", "--resume", "run.h5", "--duration", "0.13 s")
    message = "activations that follow an `excitation` are computed for the duration: the run begins again at 0 s"
    assert (end.code, message in end.stderr) == (0, True)


@pytest.fixture
def interrupted(folder: Path) -> Path:
    """A result file of an interrupted run of the pendulum."""
    assert run(prepare(folder / "pendulum.yaml"), folder / "run.h5", after(6)) == "interrupted"
    return folder / "run.h5"


def test_an_interrupted_run_states_how_to_continue(
    mbsim: Command, interrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multibody_cli.cli.stop.StopRequest.asked", lambda _: True)
    end = mbsim("run", "pendulum.yaml", "-o", "stopped.h5")
    assert (end.code, "`mbsim run --resume stopped.h5` continues it" in end.stderr) == (130, True)


def test_a_killed_run_without_a_checkpoint_begins_again(mbsim: Command, folder: Path, interrupted: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "whole.h5").code == 0
    checkpoint_path(interrupted).unlink()
    interrupted.rename("run.h5.part")
    end = mbsim("run", "--resume", "run.h5.part")
    assert end.code == 0
    assert "run.h5.ckpt does not exist, as after a run of less than 10 s: the run begins again at 0 s" in end.stderr
    assert (folder / "run.h5").read_bytes() == (folder / "whole.h5").read_bytes()


def test_a_file_that_lost_rows_begins_again(mbsim: Command, folder: Path, interrupted: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "whole.h5").code == 0
    with h5py.File(interrupted, "r+") as file:
        file["energy/kinetic"][1] += 1.0
    end = mbsim("run", "--resume", interrupted)
    assert (end.code, "lacks rows of its checkpoint: the run begins again at 0 s" in end.stderr) == (0, True)
    assert interrupted.read_bytes() == (folder / "whole.h5").read_bytes()


@pytest.mark.parametrize("long", [True, False])
def test_a_complete_run_is_continued_to_a_longer_duration(
    mbsim: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    monkeypatch.setattr(timeline, "FLUSH_AFTER", 0.0 if long else 10.0)
    words = ["pendulum.yaml", "--set", "output={}"]
    assert mbsim("run", *words, "-o", "run.h5").code == 0
    assert checkpoint_path(folder / "run.h5").exists() == long
    assert mbsim("run", "--resume", "run.h5").code == 2  # it is complete
    assert mbsim("run", "--resume", "run.h5", "--duration", "50 ms").code == 2  # it has passed that
    end = mbsim("run", "--resume", "run.h5", "--duration", "0.15 s")
    assert (end.code, "begins again" in end.stderr) == (0, not long)
    assert mbsim("run", *words, "--duration", "0.15 s", "--set", "output.every=0.001 s", "-o", "whole.h5").code == 0
    assert (folder / "run.h5").read_bytes() == (folder / "whole.h5").read_bytes()


def damage(path: Path) -> str:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    return "run.h5.ckpt is damaged: its checksum does not match; delete it to begin again"


def exchange(path: Path) -> str:
    assert run(prepare("pendulum.yaml", ["simulation.step=0.5 ms"]), Path("other.h5"), after(6)) == "interrupted"
    shutil.copy("other.h5.ckpt", path)
    return "is the checkpoint of another scene than that of run.h5: delete it to begin again"


def age(path: Path) -> str:
    path.write_bytes(b"mbsim-checkpoint 0\n")
    return "is not a checkpoint of this version of mbsim: delete it to begin again"


@pytest.mark.parametrize("change", [damage, exchange, age])
def test_a_checkpoint_that_cannot_be_used_is_refused(
    mbsim: Command, interrupted: Path, change: Callable[[Path], str]
) -> None:
    before = interrupted.read_bytes()
    message = change(checkpoint_path(interrupted))
    end = mbsim("run", "--resume", "run.h5")
    assert (end.code, message in end.stderr) == (2, True), end.stderr
    assert interrupted.read_bytes() == before


@pytest.mark.parametrize("value", ["full_version", "target"])
def test_a_checkpoint_of_another_program_is_refused(
    mbsim: Command, interrupted: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setattr(f"multibody_cli.studies.branching.{value}", lambda: "other")
    end = mbsim("run", "--resume", "run.h5")
    assert (end.code, "or delete it to begin again at 0 s" in end.stderr) == (2, True)


@pytest.mark.parametrize("words", [["--step", "1 ms"], ["--force"], ["pendulum.yaml"], ["-o", "a.h5"]])
def test_only_the_duration_of_a_resumed_run_can_change(mbsim: Command, interrupted: Path, words: list[str]) -> None:
    end = mbsim("run", "--resume", "run.h5", *words)
    assert (end.code, "only --duration, --allow-untrusted and --json go with it" in end.stderr) == (2, True)


def test_a_diverged_run_is_not_resumed(mbsim: Command, folder: Path) -> None:
    assert mbsim("run", "stiff.yaml", "-o", "stiff.h5").code == 1
    end = mbsim("run", "--resume", "stiff.h5")
    assert (end.code, "the run diverged, and would diverge again" in end.stderr) == (2, True)


def test_a_folder_is_not_resumed(mbsim: Command) -> None:
    end = mbsim("run", "--resume", "")
    assert (end.code, end.stderr) == (2, "error: . is a folder, not a result file\n")


def test_a_new_run_removes_an_old_checkpoint(mbsim: Command, interrupted: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "run.h5", "--force").code == 0
    assert not checkpoint_path(interrupted).exists()


def test_a_repeated_run_has_the_same_bytes(mbsim: Command, folder: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "run.h5").code == 0
    end = mbsim("rerun", "run.h5", "-o", "new.h5")
    assert (end.code, end.stdout) == (0, "run.h5: same bytes\n")
    assert (folder / "new.h5").read_bytes() == (folder / "run.h5").read_bytes()
    assert mbsim("rerun", "run.h5", "-o", "run.h5", "--force").code == 2


def test_a_repeated_run_that_differs_is_compared(mbsim: Command, folder: Path) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "run.h5").code == 0
    with h5py.File("run.h5", "r+") as file:
        file["energy/kinetic"][3] += 1.0
        file.attrs["mbsim_version"], file.attrs["mbsim_commit"] = "0.0", "0123456789ab"
    end = mbsim("rerun", "run.h5")
    assert end.code == 1
    assert "different bytes; written by mbsim 0.0 (commit 0123456789ab), repeated by" in end.stdout
    assert "energy/kinetic" in end.stdout


def test_an_incomplete_run_is_not_repeated(mbsim: Command, interrupted: Path) -> None:
    end = mbsim("rerun", "run.h5")
    assert (end.code, "continue it with `mbsim run --resume run.h5`" in end.stderr) == (2, True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("include: [other.yaml]", "run.h5:/scene/yaml:{last}:1: include: the scene in a result file is complete by"),
        ("vars: {a: 1}", "vars: the scene in a result file is complete by itself"),
        ("repeat: []", "repeat: the scene in a result file is complete by itself"),
        ('description: "${1 + 1}"', "it has no `${...}`"),
        ("world: {shapes: [{type: mesh, file: /other.stl}]}", "file: the scene in a result file is complete by itself"),
    ],
)
def test_a_scene_in_a_result_file_reads_no_other_file(mbsim: Command, folder: Path, line: str, message: str) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "run.h5").code == 0
    with h5py.File("run.h5", "r+") as file:
        text = file["scene/yaml"].asstr()[()]
        kept = [one for one in text.splitlines() if not one.startswith("description")]
        del file["scene/yaml"]
        file["scene/yaml"] = "\n".join([*kept, line])
    for words in (["run", "run.h5", "-o", "new.h5"], ["rerun", "run.h5"], ["doctor", "run.h5"]):
        end = mbsim(*words)
        assert (end.code, message.replace("{last}", str(len(kept) + 1)) in end.stderr) == (2, True), end.stderr
    assert not (folder / "new.h5").exists()
