"""The action for GitHub does what its page says; the steps of GitHub itself are not run."""

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

    run.folder = tmp_path
    return run


def test_a_scene_without_a_baseline_fails_and_the_summary_says_so(job):
    code, summary, output = job()
    assert code == 1
    assert output == "exit-code=1\n"
    assert "hinge/aba" in summary
    assert "no baseline" in summary


def test_a_scene_that_gives_what_its_baseline_says_passes(job):
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
