"""The GitHub action works as documented; the steps of GitHub itself are not run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import ROOT, blocks_of

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
PAGE = ROOT / "docs/continuous-integration.md"


@pytest.fixture
def job(tmp_path: Path):
    """Run the step that compares, in a folder with a scene; give its end and its reports."""
    tool = tmp_path / "mbsim-venv/bin/mbsim"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m multibody_cli "$@"\n')
    tool.chmod(0o755)
    scenes = tmp_path / "scenes"
    scenes.mkdir()
    scene = (ROOT / "scenes/gallery/revolute_joint.yaml").read_text()
    (scenes / "hinge.yaml").write_text(scene)
    step = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "regress")
    output, summary = tmp_path / "output", tmp_path / "summary"
    inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    inputs |= {"scenes": "scenes/*.yaml", "baseline": "baselines"}
    # as GitHub fills in `${{ inputs.scenes }}`
    given = {key: value[len("${{ inputs.") : -len(" }}")] for key, value in step["env"].items() if "inputs." in value}
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        **{key: inputs[name] for key, name in given.items()},
    }

    def run(**changes: str) -> tuple[int, str, str]:
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        ended = subprocess.run(
            words, cwd=tmp_path, env=environment | changes, capture_output=True, text=True, timeout=300
        )
        return ended.returncode, summary.read_text(), output.read_text()

    (tmp_path / "baselines").mkdir()
    run.folder = tmp_path
    return run


def test_a_scene_without_a_baseline_fails_in_the_summary(job):
    code, summary, output = job()
    assert code == 1
    assert output == "exit-code=1\n"
    assert "hinge/aba" in summary
    assert "no baseline" in summary


def test_a_scene_that_agrees_with_its_baseline_passes(job):
    made = [sys.executable, "-m", "multibody_cli", "regress", "scenes/hinge.yaml", "--baseline", "baselines"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(
        [*made, "--accept", "--why", "first"], cwd=job.folder, env=environment, check=True, capture_output=True
    )
    code, summary, output = job()
    assert code == 0
    assert output == "exit-code=0\n"
    assert "### Same" in summary
    assert (job.folder / "mbsim-results/junit.xml").exists()
    assert (job.folder / "mbsim-results/hinge/aba.h5").exists()


@pytest.fixture
def cache_key(tmp_path: Path):
    """Run the step that computes the key of the kernels, in a repository other than that of the action."""
    tool, action, work = tmp_path / "mbsim-venv/bin/mbsim", tmp_path / "action", tmp_path / "work"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m multibody_cli "$@"\n')
    tool.chmod(0o755)
    (action / "multibody_cli").mkdir(parents=True)
    (action / "multibody_cli/version.py").write_text("one\n")
    (work / "baselines/hinge").mkdir(parents=True)
    (work / "baselines/hinge/aba.h5").write_text("")
    step = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "kernels")

    def compute(method: str = "") -> dict[str, str]:
        output = tmp_path / "output"
        output.write_text("")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_ACTION_PATH": str(action),
            "GITHUB_OUTPUT": str(output),
            "BASELINE": "baselines",
            "METHOD": method,
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        subprocess.run(words, cwd=work, env=environment, check=True, timeout=300)
        return dict(line.split("=", 1) for line in output.read_text().splitlines())

    compute.action, compute.baselines = action, work / "baselines"
    return compute


def test_the_key_of_the_kernels_depends_on_source_and_methods_alone(cache_key):
    first = cache_key()
    assert first["key"].startswith(first["version"])
    assert first["version"].startswith(first["target"])
    assert "-llvmlite-" in first["target"]
    (cache_key.baselines / "hinge/aba.h5").write_text("other numbers")
    assert cache_key() == first
    by_method = cache_key("redmax")
    (cache_key.baselines / "hinge/redmax.h5").write_text("")
    by_baseline = cache_key()
    assert len({first["key"], by_method["key"], by_baseline["key"]}) == 3
    assert {first["version"], by_method["version"]} == {by_baseline["version"]}
    (cache_key.action / "multibody_cli/version.py").write_text("two\n")
    other = cache_key()
    assert other["version"] != first["version"]
    assert other["target"] == first["target"]


def test_the_key_of_the_kernels_is_not_computed_from_the_workspace():
    [cache] = [step["with"] for step in ACTION["runs"]["steps"] if "actions/cache" in step.get("uses", "")]
    assert cache["key"] == "${{ steps.kernels.outputs.key }}"
    assert "hashFiles(" not in str(cache)


def test_the_page_lists_every_input_and_its_examples_are_yaml():
    page = PAGE.read_text()
    for name in ACTION["inputs"]:
        assert f"| `{name}` |" in page
    examples = {block.title: yaml.safe_load(block.text) for block in blocks_of(PAGE) if block.language == "yaml"}
    assert set(examples) == {".github/workflows/regression.yml", ".gitlab-ci.yml"}
    steps = examples[".github/workflows/regression.yml"]["jobs"]["regression"]["steps"]
    used = next(step["with"] for step in steps if "mbsim" in step.get("uses", ""))
    assert set(used) <= set(ACTION["inputs"])
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= set(used)
