"""No scene and no list of arguments ends in a traceback, in control of the terminal, or in unbounded work.

The tests of the tier `nightly` examine other scenes each time, `MBSIM_FUZZ` of them:

    MBSIM_FUZZ=100000 python -m pytest tests/fuzz -m nightly
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from orderly_calls import RAW, SMALL, require_orderly
from scene_mutations import argument_lists, scenes

import multibody_cli

ROOT = Path(multibody_cli.__file__).parents[1]
CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.yaml"))
PENDULUM = """\
mbsim: 1
vars: {n: 1}
bodies: {rod: {mass: 2 kg, shapes: [{type: box, size: [0.1, 0.1, 1]}]}}
joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}}}
simulation: {duration: 0.1 s, step: 1 ms}
"""
unhurried = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
few = settings(max_examples=150, deadline=None, suppress_health_check=unhurried)
many = settings(
    max_examples=int(os.environ.get("MBSIM_FUZZ", "3000")),
    derandomize=False,
    print_blob=True,
    deadline=None,
    suppress_health_check=unhurried,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and small limits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MBSIM_LIMITS", SMALL)
    return tmp_path


def examine(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Validate a scene, and run it if it is valid."""
    Path("scene.yaml").write_text(text, encoding="utf-8", newline="")
    if require_orderly(["validate", "scene.yaml"], capsys) == 0:
        require_orderly(["run", "scene.yaml", "--force", "-o", "out.h5"], capsys)


@few
@given(text=scenes())
def test_changed_scenes(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    examine(text, capsys)


@few
@given(words=argument_lists)
def test_lists_of_arguments(folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, list[str]]) -> None:
    Path("pendulum.yaml").write_text(PENDULUM)
    require_orderly([words[0], *words[1]], capsys)


@pytest.mark.nightly
@many
@given(text=scenes())
def test_many_changed_scenes(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    examine(text, capsys)


@pytest.mark.nightly
@many
@given(words=argument_lists)
def test_many_lists_of_arguments(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, list[str]]
) -> None:
    Path("pendulum.yaml").write_text(PENDULUM)
    require_orderly([words[0], *words[1]], capsys)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from multibody_cli.cli.app import main
main(["validate", *sys.argv[1:]])
"""


def test_hostile_scenes_are_refused_in_bounded_memory() -> None:
    """Every scene of `corpus/` with the default limits, in one process with 2 GB of address space."""
    names = [path.name for path in CORPUS]
    assert len(names) >= 15
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LIMITED, *names],
        capture_output=True,
        text=True,
        cwd=CORPUS[0].parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert (done.returncode, done.stderr) == (2, "")
    assert not RAW.search(done.stdout)
    for name in names:
        lines = [line for line in done.stdout.splitlines() if line.startswith(name)]
        assert lines, name
        assert f"{name}: ok" not in lines
        # the first line of each names the message
        expected = Path(CORPUS[0].parent / name).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert any(expected in line for line in lines), (name, expected, lines[:3])
