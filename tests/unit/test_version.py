"""The commit that results name is that of the code that wrote them, or none."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from multibody_cli import version

pytestmark = pytest.mark.pure


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "root" / "multibody_cli"
    folder.mkdir(parents=True)
    shutil.copy(version.__file__, folder)
    return folder


def commit_of(package: Path) -> str:
    return runpy.run_path(str(package / "version.py"))["commit"]()


def git(folder: Path, *words: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    return subprocess.run(["git", "-C", folder, *settings, *words], capture_output=True, text=True, check=True).stdout


def committed(folder: Path) -> str:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD")[:12]


def test_the_citation_has_the_version() -> None:
    citation = yaml.safe_load((Path(version.__file__).parents[1] / "CITATION.cff").read_text())
    assert citation["version"] == version.__version__


def test_a_checkout_has_the_commit_of_git_and_a_mark_of_changed_code(package: Path) -> None:
    (package.parent / "page.md").write_text("one")
    first = committed(package.parent)
    assert commit_of(package) == first
    (package.parent / "page.md").write_text("other")
    assert commit_of(package) == first
    (package / "version.py").write_text((package / "version.py").read_text() + "\n")
    assert commit_of(package) == f"{first}+"


def test_git_acts_on_the_checkout_also_within_a_hook(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = committed(package.parent)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert commit_of(package) == first


def test_an_installed_package_has_the_recorded_commit_and_not_that_of_a_folder_above(package: Path) -> None:
    committed(package.parents[1])
    assert commit_of(package) == ""
    (package / "commit").write_text("0123456789ab")
    assert commit_of(package) == "0123456789ab"
