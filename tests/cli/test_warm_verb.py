"""`mbsim warm` and `mbsim cache`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_result import Command

from multibody_cli.kernel import is_interpreted, store

pytestmark = pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


WARM = """
import atexit, json, pathlib
from multibody_cli.cli.app import main
from multibody_cli.kernel import loading
atexit.register(lambda: pathlib.Path("loaded.json").write_text(json.dumps(sorted(loading._loaded))))
main()
"""


def test_a_warmed_scene_compiles_nothing(folder: Path, mbsim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new process with MBSIM_COMPILE=never would refuse the run if a kernel were missing.

    `warm` compiles into the cache of all tests; the other commands have only the code that it has made ready.
    """
    warmed = subprocess.run(
        [sys.executable, "-c", WARM, "warm", "pendulum.yaml"], capture_output=True, text=True, check=True
    )
    assert warmed.stdout.startswith("compiled ")
    codes = [store.find(symbol) for symbol in json.loads((folder / "loaded.json").read_text())]
    cache = folder / "cache"
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(cache))
    assert all(code is not None and store.keep(code) for code in codes)
    words = [sys.executable, "-m", "multibody_cli"]
    monkeypatch.setenv("MBSIM_COMPILE", "never")
    ran = subprocess.run([*words, "run", "pendulum.yaml"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    drawn = subprocess.run(
        [*words, "render", "outputs/pendulum.h5", "-o", "drawn.png"], capture_output=True, text=True, check=False
    )
    assert drawn.returncode == 0, drawn.stderr
    refused = subprocess.run(
        [*words, "run", "pendulum.yaml", "--integrator", "dop853", "--force"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert f"are not in {cache}, and MBSIM_COMPILE=never forbids compiling them" in refused.stderr
    shown = mbsim("cache")
    assert shown.code == 0
    assert f"folder   {cache}" in shown.stdout
    assert mbsim("cache", "--max-size", "0MB").stdout.startswith("removed ")
    assert "files    0 " in mbsim("cache").stdout


def test_a_run_that_must_not_compile_keeps_the_older_result(
    cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "old.h5").write_text("an earlier result")
    monkeypatch.setenv("MBSIM_COMPILE", "never")
    words = [sys.executable, "-m", "multibody_cli", "run", "pendulum.yaml", "-o", "old.h5", "--force"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 2
    assert (folder / "old.h5").read_text() == "an earlier result"


def test_an_unsupported_processor_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MBSIM_TARGET_CPU", "x86-64-v9")
    words = [sys.executable, "-m", "multibody_cli", "run", "pendulum.yaml"]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "MBSIM_TARGET_CPU=x86-64-v9: this machine runs code for" in refused.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cache", "--max-size", "much"], "expected a size as in 500kB, 200MB or 1GB"),
        (["cache", "clear", "--max-size", "1MB"], "--max-size requires `show`"),
        (["warm", "--method", "abba"], "did you mean `aba`?"),
        (["warm", "nowhere.yaml"], "nowhere.yaml: cannot read the file"),
    ],
)
def test_invalid_arguments_of_warm_are_refused(cache: Path, mbsim: Command, words: list[str], message: str) -> None:
    end = mbsim(*words)
    assert end.code == 2
    assert message in end.stderr


def test_a_cache_path_that_is_a_file_is_refused(cache: Path, mbsim: Command) -> None:
    cache.write_text("in the way")
    end = mbsim("cache")
    assert end.code == 2
    assert "is not a folder" in end.stderr
