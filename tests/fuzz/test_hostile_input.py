"""No scene and no list of arguments ends in a traceback, in control of the terminal, or in unbounded work.

The tests of the tier `nightly` are a campaign of other cases each time: `MBSIM_FUZZ` scenes, and a fifth as many lists
of arguments and result files. With `-s` they report the number of cases, the memory and the slowest case:

    MBSIM_FUZZ=100000 python -m pytest tests/fuzz -m nightly -s
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from orderly_calls import CAMPAIGN, RAW, SMALL, Tally, require_orderly
from scene_mutations import argument_lists, scenes

import multibody_cli

ROOT = Path(multibody_cli.__file__).parents[1]
ROUND = 1000
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and small limits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MBSIM_LIMITS", SMALL)
    return tmp_path


def examine(text: str) -> float:
    """Validate a scene, and run it if it is valid; return the processor time, s."""
    Path("scene.yaml").write_text(text, encoding="utf-8", newline="")
    checked = require_orderly(["validate", "scene.yaml"])
    if checked.code:
        return checked.seconds
    return checked.seconds + require_orderly(["run", "scene.yaml", "--force", "-o", "out.h5"]).seconds


def call_verb(words: tuple[str, list[str]]) -> float:
    """Call a verb with arguments; return the processor time, s."""
    Path("pendulum.yaml").write_text(PENDULUM)
    return require_orderly([words[0], *words[1]]).seconds


@few
@given(text=scenes())
def test_changed_scenes(folder: Path, text: str) -> None:
    examine(text)


@few
@given(words=argument_lists)
def test_lists_of_arguments(folder: Path, words: tuple[str, list[str]]) -> None:
    call_verb(words)


@pytest.mark.nightly
def test_many_changed_scenes(folder: Path) -> None:
    search(scenes(), examine, CAMPAIGN)


@pytest.mark.nightly
def test_many_lists_of_arguments(folder: Path) -> None:
    search(argument_lists, call_verb, CAMPAIGN // 5)


def search(cases: st.SearchStrategy[Any], examine_case: Callable[[Any], float], count: int) -> None:
    """Examine random cases in rounds, as Hypothesis keeps all cases of a round in memory."""
    tally = Tally()
    while tally.count < count:

        @settings(
            max_examples=min(ROUND, count - tally.count),
            derandomize=False,
            database=None,
            print_blob=True,
            deadline=None,
            suppress_health_check=unhurried,
        )
        @given(case=cases)
        def examine_round(case: Any) -> None:
            tally.add(examine_case(case), str(case))

        examine_round()
        print(tally, flush=True)
    print(f"slowest case: {tally.slowest[1]}")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from multibody_cli.cli.app import main
main(["validate", *sys.argv[1:]])
"""


def validate(names: list[str]) -> subprocess.CompletedProcess[str]:
    """Validate scenes of `corpus/` with the default limits, in one process with 2 GB of address space and 120 s."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))

    return subprocess.run(
        [sys.executable, "-W", "error", "-c", LIMITED, *names],
        capture_output=True,
        text=True,
        cwd=CORPUS[0].parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=limit,
    )


def test_hostile_scenes_are_refused_in_bounded_memory() -> None:
    names = [path.name for path in CORPUS]
    assert len(names) >= 15
    done = validate(names)
    assert (done.returncode, done.stderr) == (2, "")
    assert not RAW.search(done.stdout)
    for name in names:
        lines = [line for line in done.stdout.splitlines() if line.startswith(name)]
        assert lines, name
        assert f"{name}: ok" not in lines
        # the first line of each names the message
        expected = Path(CORPUS[0].parent / name).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert any(expected in line for line in lines), (name, expected, lines[:3])


def test_hostile_scenes_that_are_valid_are_examined_in_bounded_memory() -> None:
    names = [f"valid/{path.name}" for path in (CORPUS[0].parent / "valid").glob("*.yaml")]
    assert names
    done = validate(names)
    notes = done.stderr.splitlines()  # on a cold cache: the compilation of the kernels that `validate` starts
    assert (done.returncode, [note for note in notes if not note.startswith("compiling kernels for ")]) == (0, [])
    assert done.stdout.splitlines() == [f"{name}: ok" for name in names]
