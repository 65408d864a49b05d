from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from command_result import Command, Ending

import multibody_cli
from multibody_cli.cli.app import main
from multibody_cli.studies.bench import timing

PENDULUM = """\
mbsim: 1
name: pendulum
description: A rod on a hinge.
vars: {n: 1, angle: 30 deg}
bodies:
  rod: {mass: 2 kg, shapes: [{type: box, size: [0.1, 0.1, 1]}]}
joints:
  hinge: {type: revolute, child: rod, axis: [0, "${n}", 0], child_origin: {position: [0, 0, 0.5]}, q: "${angle}"}
simulation: {duration: 0.1 s, step: 1 ms}
output: {every: 10 ms}
"""
STIFF = """\
mbsim: 1
name: stiff
bodies: {cart: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints: {slide: {type: prismatic, child: cart, q: 1, stiffness: 1e12}}
simulation: {duration: 1 s, step: 10 ms}
"""
CHAIN = """\
mbsim: 1
name: chain
vars: {n: 2}
repeat:
  - count: "${n}"
    index: i
    bodies: {"link${i}": {mass: 1, shapes: [{type: box, size: [0.1, 0.1, 1]}]}}
    joints:
      "joint${i}": {type: revolute, parent: "${'world' if i == 0 else concat('link', i - 1)}",
                    child: "link${i}", axis: [0, 1, 0], child_origin: {position: [0, 0, 1]}, q: 0.1}
simulation: {duration: 1, step: 1 ms, integrator: semi_implicit_euler}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with two scenes, as working directory."""
    (tmp_path / "pendulum.yaml").write_text(PENDULUM)
    (tmp_path / "stiff.yaml").write_text(STIFF)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def chain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A chain of links for benches, whose blocks are short."""
    monkeypatch.setattr(timing, "SHORTEST_BLOCK", 0.001)
    (folder / "chain.yaml").write_text(CHAIN)
    return "chain.yaml"


@pytest.fixture
def mbsim(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in this process."""

    def call(*words: object) -> Ending:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        written = capsys.readouterr()
        return Ending(int(end.value.code or 0), written.out, written.err)

    return call


def restore_signals() -> None:
    """Undo the signals that the caller of the tests ignores, as `nohup` and shells do for their background jobs."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """The command line in processes of its own, which end with the test."""
    started: list[subprocess.Popen[str]] = []

    def launch(
        *words: object, program: Sequence[str] = ("-m", "multibody_cli"), **settings: object
    ) -> subprocess.Popen[str]:
        root = Path(multibody_cli.__file__).parents[1]
        path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": restore_signals}
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, *program, *map(str, words)]
        started.append(subprocess.Popen(command, cwd=folder, env=environment, **(streams | settings)))  # type: ignore[call-overload]
        return started[-1]

    yield launch
    for process in started:
        process.kill()
        process.communicate()
