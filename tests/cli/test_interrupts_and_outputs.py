"""Interrupts and output files: computed output is kept, other files are not replaced, and results can be repeated."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_result import Command

from multibody_cli.methods.contract import Report
from multibody_cli.methods.method import Method
from multibody_cli.model import State
from multibody_cli.output.trajectory import read_trajectory


def test_a_signal_interrupts_an_output_interval(start: Callable[..., subprocess.Popen[str]], folder: Path) -> None:
    process = start(
        "run",
        "pendulum.yaml",
        "--duration",
        "2e6 s",
        "--set",
        "output.every=1e6",
        "--set",
        "expect=[]",
        "-o",
        "long.h5",
    )
    part = folder / "long.h5.part"
    for _ in range(600):
        if part.exists() and part.stat().st_size:
            break
        time.sleep(0.1)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, remarks = process.communicate(timeout=60)  # the whole run would take hours
    assert process.returncode == 130
    assert "Traceback" not in remarks
    run = read_trajectory(folder / "long.h5")
    assert run.attributes["status"] == "interrupted"
    assert 0.0 < run.time[-1] < 1e6  # the run so far is kept


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_not_replaced(mbsim: Command, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    end = mbsim("run", "pendulum.yaml", "-o", "pipe", "--force")
    assert end.code == 2
    assert "pipe is not a file" in end.stderr
    assert (folder / "pipe").is_fifo()


def test_the_target_of_a_symbolic_link_is_replaced(mbsim: Command, folder: Path) -> None:
    (folder / "target.h5").write_text("old")
    (folder / "link.h5").symlink_to("target.h5")
    assert mbsim("run", "pendulum.yaml", "-o", "link.h5", "--force").code == 0
    assert (folder / "link.h5").is_symlink()
    assert read_trajectory(folder / "target.h5").attributes["status"] == "complete"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_closed_stdout_is_no_internal_error(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("list", "joints", stdout=None, preexec_fn=lambda: os.close(1))
    _, remarks = process.communicate(timeout=60)
    assert "Traceback" not in remarks


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_that_accepts_no_files_is_named_as_such(mbsim: Command, folder: Path) -> None:
    end = mbsim("run", "pendulum.yaml", "-o", "/proc/x.h5")
    assert end.code == 1
    assert "cannot write /proc/x.h5.part: its folder was removed, or files cannot be created in it" in end.stderr


def test_a_scene_with_a_mesh_can_be_repeated_without_its_file(mbsim: Command, folder: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.1, 0.2, 0.3)).export(folder / "block.stl")
    (folder / "mesh.yaml").write_text(
        "mbsim: 1\n"
        "bodies: {a: {density: 1000, shapes: [{type: mesh, file: block.stl}, {type: sphere, radius: 0.1}]}}\n"
        "joints: {hinge: {type: revolute, child: a, axis: [0, 1, 0], child_origin: {position: [0, 0, 1]}, q: 1}}\n"
        "simulation: {duration: 0.1 s, step: 1 ms}\n"
    )
    assert mbsim("run", "mesh.yaml", "-o", "first.h5").code == 0
    (folder / "block.stl").unlink()
    assert mbsim("run", "first.h5", "-o", "second.h5").code == 0
    assert (folder / "first.h5").read_bytes() == (folder / "second.h5").read_bytes()


def test_an_internal_error_completes_no_result(mbsim: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows before the error remain in the part; an older result is not replaced, and the part is not forgotten."""
    (folder / "run.h5").write_text("old")
    advance = Method.advance

    def fail(method: Method, state: State, until: float) -> Report:
        if until > 0.035:
            raise ZeroDivisionError("a mistake")
        return advance(method, state, until)

    monkeypatch.setattr(Method, "advance", fail)
    monkeypatch.setattr("multibody_cli.timeline.INSTANTS_AT_ONCE", 0)
    end = mbsim("run", "pendulum.yaml", "-o", "run.h5", "--force")
    assert end.code == 1
    assert "internal error: ZeroDivisionError: a mistake" in end.stderr
    assert (folder / "run.h5").read_text() == "old"
    run = read_trajectory(folder / "run.h5.part")
    assert (run.attributes["status"], run.time.tolist()) == ("running", [0.0, 0.01, 0.02, 0.03])
    assert not (folder / "run.h5.part.new").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "run.h5", "run.h5", "--markdown", "report"),
        ("compare", "run.h5", "run.h5", "--junit", "report"),
        ("codegen", "pendulum.yaml", "-o", "report.py"),
    ],
)
def test_a_report_that_cannot_be_written_leaves_no_file(
    mbsim: Command, start: Callable[..., subprocess.Popen[str]], folder: Path, words: tuple[str, ...]
) -> None:
    assert mbsim("run", "pendulum.yaml", "-o", "run.h5").code == 0
    # -B: Python would leave bytecode of 50 bytes, which later processes fail to load
    process = start(
        *words,
        program=("-B", "-m", "multibody_cli"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50)),
    )
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr == f"error: cannot write {words[-1]}: File too large; choose another place\n"
    assert not list(folder.glob("report*"))
