"""Properties of every verb: exit codes, streams, help, suggestions for typos, and no tracebacks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_result import Command, Ending
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import multibody_cli
from multibody_cli.cli import app
from multibody_cli.cli import list as list_module
from multibody_cli.version import full_version

Start = Callable[..., subprocess.Popen[str]]
HEAVY = ("numba", "numpy", "h5py", "pydantic", "scipy", "pint", "tqdm", "yaml", "matplotlib")


def assert_message(ending: Ending, code: int, *texts: str) -> None:
    assert ending.code == code, ending
    for text in texts:
        assert text in ending.stderr
    assert "Traceback" not in ending.stderr
    assert "internal error" not in ending.stderr


@pytest.mark.parametrize("words", [["--help"], ["-h"], *([verb, "--help"] for verb in app.VERBS)], ids=" ".join)
def test_help_goes_to_stdout(mbsim: Command, words: list[str]) -> None:
    ending = mbsim(*words)
    assert (ending.code, ending.stderr) == (0, "")
    assert ending.stdout.startswith("Usage: mbsim")


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["plot", "--help"],
        ["runn"],
        ["run", "--stp", "1"],
        ["equilibrium", "none.yaml"],
        ["optimize", "none.yaml", "--vary", "vars.c=1"],
    ],
)
def test_help_and_argument_errors_import_no_heavy_package(words: list[str]) -> None:
    program = (
        "import sys\nfrom multibody_cli.cli.app import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    root = Path(multibody_cli.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.splitlines()[-1].strip() == ""


def test_a_run_imports_no_solver_that_its_scene_does_not_need(tmp_path: Path) -> None:
    """SciPy's optimizers cost as much to import as a whole run of boxes on a floor."""
    root = Path(multibody_cli.__file__).parents[1]
    program = (
        "import sys\nfrom multibody_cli.cli.app import main\n"
        f"try: main(['run', 'scenes/gallery/falling_boxes.yaml', '-o', {str(tmp_path / 'boxes.h5')!r}])\n"
        "except SystemExit as ending: print(ending.code, 'scipy.optimize' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"


def test_version(mbsim: Command) -> None:
    assert mbsim("--version").stdout == f"mbsim, version {full_version()}\n"


def test_every_verb_is_listed(mbsim: Command) -> None:
    text = mbsim("--help").stdout
    assert all(f"  {verb} " in text for verb in app.VERBS)


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("frob", 1),
        ("run --frob", 1),
        ("run --method", 1),
        ("compare a.h5", 1),
        ("run none.yaml", 1),
        ("run bad.yaml", 2),
        ("run bad.yaml --set a=b=c", 3),
        ("plot none.h5", 1),
        ("sweep bad.yaml", 1),
    ],
)
def test_every_refusal_has_the_same_head(mbsim: Command, folder: Path, words: str, count: int) -> None:
    """Errors of arguments, of files, and each problem of a scene; `validate` writes these to stdout, as its result."""
    (folder / "bad.yaml").write_text("mbsim: 1\nname: bad\nbodies: {a: {mass: -1}}\n")
    ending = mbsim(*words.split())
    lines = ending.stderr.splitlines()
    assert ending.code == 2
    assert [line for line in lines if "rror: " in line] == lines[-count:]
    assert all(line.startswith("error: ") for line in lines[-count:]), lines
    assert len(lines) == count or lines[0].startswith("Usage: ")


def test_without_arguments_it_prints_help(mbsim: Command) -> None:
    ending = mbsim()
    assert ending.code == 2
    assert "Usage: mbsim" in ending.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rum", "pendulum.yaml"], "did you mean `run`?"),
        (["nothing-like-it"], "valid: bench, cache, certify, codegen, compare, completion, doctor"),
        (["run"], "Missing argument 'SCENE'"),
        (["run", "pendulum.yaml", "--metod", "aba"], "--method"),
        (["run", "pendulum.yaml", "--method", "abba"], "did you mean `aba`?"),
        (["run", "pendulum.yaml", "--integrator", "rk5"], "did you mean `rk4`?"),
        (["run", "pendulum.yaml", "--set", "simulation.stop=1 ms"], "step"),
        (["run", "pendulum.yaml", "--set", "simulation.options={speed: 11}"], "simulation.options.speed"),
        (["run", "pendulum.yaml", "--set", "nonsense"], "KEY=VALUE"),
        (["run", "pendulum.yaml", "--duration", "3 kg"], "3 kg"),
        (["run", "missing.yaml"], "missing.yaml"),
        (["run", "."], "directory"),
        (["info", "missing.h5"], "missing.h5"),
        (["plot", "missing.h5"], "missing.h5"),
        (["validate"], "Missing argument 'SCENE...'"),
        (["list"], "Choose from: methods, features, integrators, "),
        (["list", "jonts"], "'joints'"),
        (["bench", "pendulum.yaml", "--size", "vars.n=2,x"], "KEY=2,4,8"),
        (["schema", "--write", "--check"], "exclude"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_arguments_are_refused_with_a_remedy(mbsim: Command, words: list[str], message: str) -> None:
    ending = mbsim(*words)
    assert_message(ending, 2, message)
    assert ending.stdout == ""


def test_an_internal_error_is_one_line(mbsim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list_module.Rows:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setitem(list_module.LISTS, "methods", fail)
    ending = mbsim("list", "methods")
    assert ending.code == 1
    assert ending.stderr.splitlines()[0] == "error: internal error: ZeroDivisionError: by zero"
    assert "MBSIM_DEBUG=1" in ending.stderr
    assert "Traceback" not in ending.stderr
    monkeypatch.setenv("MBSIM_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        app.main(["list", "methods"])


def test_damaged_bytecode_is_reported_with_a_remedy(mbsim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Click takes an EOFError for the end of the input of a prompt."""

    def fail() -> list_module.Rows:
        raise EOFError("marshal data too short")

    monkeypatch.setitem(list_module.LISTS, "methods", fail)
    ending = mbsim("list", "methods")
    assert ending.code == 1
    assert "marshal data too short" in ending.stderr
    assert "remove the `__pycache__` folders in" in ending.stderr


def test_a_closed_pipe_is_no_error(start: Start) -> None:
    with start("list", "channels", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_stdout_is_reported(start: Start) -> None:
    with open("/dev/full", "w") as full:
        process = start("list", "methods", stdout=full)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.splitlines() == ["error: standard output: No space left on device"]


def test_a_file_name_that_is_not_utf8_is_reported(start: Start) -> None:
    process = start("validate", b"\xff.yaml".decode(errors="surrogateescape"))
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "\\udcff.yaml" in stdout
    assert "error" not in stderr


def test_no_colors_outside_a_terminal(mbsim: Command) -> None:
    ending = mbsim("run", "pendulum.yaml", "--set", "expect=[{energy_drift: {max: 1}}]")
    assert "\x1b" not in ending.stdout + ending.stderr


LETTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
WORDS = st.one_of(
    st.sampled_from(
        ["pendulum.yaml", "stiff.yaml", ".", "missing.yaml", "--json", "--force", "-o", "out.h5", "--set",
         "vars.n=2", "simulation.step=1", "--step", "--duration", "0.01", "--method", "aba", "--integrator",
         "semi_implicit_euler", "-q", "-v", "--repeat", "1", "methods", "--check", "scene", "-", "--"]
    ),
    st.text(LETTERS, max_size=8),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([*(verb for verb in app.VERBS if verb != "bench"), "rum"]), st.lists(WORDS, max_size=5))
def test_no_arguments_end_in_a_traceback(mbsim: Command, verb: str, words: list[str]) -> None:
    ending = mbsim(verb, *words)
    assert ending.code in (0, 1, 2)
    assert "Traceback" not in ending.stderr
    assert "internal error" not in ending.stderr
    assert ending.code == 0 or ending.stderr or ending.stdout
