"""Signals during a run: the answer comes at once, with the exit code of shells, and the file holds the run so far."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.stop import SIGNALS, StopRequest
from multibody_cli.output.trajectory import read_trajectory

Start = Callable[..., subprocess.Popen[str]]

SLOW = """
import sys, time
from multibody_cli.methods.method import Method
from multibody_cli import timeline
from multibody_cli.cli.app import main

timeline.INSTANTS_AT_ONCE = 0
advance = Method.advance

def slow(method, state, until):
    if until > 0.035:
        sys.stderr.write("slow\\n")
        sys.stderr.flush()
        time.sleep(60.0)  # releases the interpreter's lock, as compiled code does
    return advance(method, state, until)

Method.advance = slow
{more}
main()
"""
"""The program with a fourth output interval of a minute."""


def slow(folder: Path, more: str = "") -> list[str]:
    """Write the program and return its arguments."""
    (folder / "slow.py").write_text(SLOW.format(more=more))
    return ["slow.py"]


def signal_when(process: subprocess.Popen[str], number: int, line: str) -> float:
    """Send a signal after a line on stderr; return the time until the process ends, s."""
    assert process.stderr is not None
    while line not in process.stderr.readline():
        assert process.poll() is None
    # the step begins after the line
    time.sleep(0.1)
    began = time.monotonic()
    process.send_signal(number)
    process.wait(timeout=30)
    return time.monotonic() - began


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_run_during_a_slow_step(start: Start, folder: Path, number: signal.Signals) -> None:
    process = start("run", "pendulum.yaml", "-o", "run.h5", program=slow(folder))
    assert signal_when(process, number, "slow") < 10.0  # the step takes a minute
    stdout, stderr = process.communicate()
    assert process.returncode == 128 + number
    assert stdout.startswith("pendulum: interrupted\n")
    assert "stopping" in stderr
    assert "error: interrupted: stopped on request at t = 0.03 s; `mbsim run --resume run.h5` continues it" in stderr
    run = read_trajectory(folder / "run.h5")
    assert run.attributes["status"] == "interrupted"
    assert run.time.tolist() == [0.0, 0.01, 0.02, 0.03]
    assert not list(folder.glob("*.part*"))


def test_a_run_that_was_ended_during_a_slow_step_can_be_resumed(
    start: Start, folder: Path, mbsim: Callable[..., object]
) -> None:
    mbsim("run", "pendulum.yaml", "-o", "whole.h5")
    process = start("run", "pendulum.yaml", "-o", "run.h5", program=slow(folder))
    signal_when(process, signal.SIGINT, "slow")
    process.communicate()
    mbsim("run", "--resume", "run.h5")
    assert (folder / "run.h5").read_bytes() == (folder / "whole.h5").read_bytes()


def test_the_second_signal_ends_the_process_at_once(start: Start, folder: Path) -> None:
    """The first one is being answered, but the disk is as slow as the step."""
    more = "import os; os.fsync = lambda _: (sys.stderr.write('disk\\n'), sys.stderr.flush(), time.sleep(60.0))"
    process = start("run", "pendulum.yaml", "-o", "run.h5", program=slow(folder, more))
    assert process.stderr is not None
    while "slow" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert signal_when(process, signal.SIGHUP, "disk") < 10.0
    process.communicate()
    assert process.returncode == 128 + signal.SIGHUP
    assert read_trajectory(folder / "run.h5.part").attributes["status"] == "running"


def test_an_ignored_signal_remains_ignored(start: Start, folder: Path) -> None:
    process = start(
        "run",
        "pendulum.yaml",
        "-o",
        "run.h5",
        program=slow(folder),
        preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)],
    )
    assert process.stderr is not None
    while "slow" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143


COMPILING = """
import time
from multibody_cli.kernel import kernels, workers
from multibody_cli.cli.app import main

def compile_all(tasks):
    session = workers._Session(1)
    session._queue.append(workers.Task("e0", b"x"))
    workers._Worker.assign = lambda worker, task: setattr(worker, "task", task)  # compiles forever
    print("compiling", file=__import__("sys").stderr, flush=True)
    session.run()

def load(task):
    if "take_" in task.how[1].full_name:
        compile_all([])
    return loaded(task)

loaded, kernels.loaded = kernels.loaded, load
main()
"""
"""The program with an integrator whose compilation takes forever."""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_compilation_leaves_the_older_result(
    start: Start, folder: Path, number: signal.Signals
) -> None:
    (folder / "run.h5").write_text("old")
    (folder / "compiling.py").write_text(COMPILING)
    process = start("run", "pendulum.yaml", "-o", "run.h5", "--force", program=["compiling.py"])
    assert signal_when(process, number, "compiling") < 10.0
    _, stderr = process.communicate()
    assert process.returncode == 128 + number
    assert stderr.endswith("error: interrupted\n")
    assert "Traceback" not in stderr
    assert (folder / "run.h5").read_text() == "old"
    assert not list(folder.glob("*.part*"))


LINKING = """
import sys, zlib
from base64 import b64decode
from multibody_cli.kernel import linking, workers
from multibody_cli.cli.app import main

def link(name):
    if b"friction.rescue" in zlib.decompress(b64decode(linking.recipes[name])):
        session = workers._Session(1)
        session._queue.append(workers.Task("e0", b"x"))
        workers._Worker.assign = lambda worker, task: setattr(worker, "task", task)  # compiles forever
        print("linking", file=sys.stderr, flush=True)
        session.run()
    return linked(name)

linked, linking._linked = linking._linked, link
main()
"""
"""The program with a kernel whose compilation takes forever, and which is first called during a run."""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_a_signal_during_the_compilation_of_a_lazy_kernel_keeps_the_run_so_far(start: Start, folder: Path) -> None:
    """The rescue of the contact solver is first called when the boxes touch."""
    (folder / "linking.py").write_text(LINKING)
    scene = Path(__file__).parents[2] / "scenes/gallery/falling_boxes.yaml"
    process = start("run", str(scene), "-o", "run.h5", program=["linking.py"])
    assert signal_when(process, signal.SIGINT, "linking") < 10.0
    _, stderr = process.communicate()
    assert process.returncode == 130
    assert "`mbsim run --resume run.h5` continues it" in stderr
    assert 3 < len(read_trajectory(folder / "run.h5").time) < 121


def test_handlers_are_those_of_before_after_the_run() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with click.Context(Verb("run")), StopRequest() as stop:
        assert (stop.asked(), stop.code) == (False, 130)
        os.kill(os.getpid(), signal.SIGTERM)
        assert (stop.asked(), stop.code) == (True, 143)
    assert [signal.getsignal(number) for number in SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1
