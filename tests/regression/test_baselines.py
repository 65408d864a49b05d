"""Every scene of the gallery agrees with its baselines, with every method that supports it.

With its own method it meets all that it expects, without an alarm.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest
import yaml

from multibody_cli.comparison.cases import CaseVerdict
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.methods import METHODS
from multibody_cli.studies.regression import BaselineTrial, acceptance_reasons, run_trial

BASELINES = Path(__file__).parent / "baselines"
GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"
SCENES = sorted(GALLERY.glob("*.yaml"))


def trials() -> Iterator[Any]:
    """Every scene with its own method, and nightly with every other."""
    for scene in SCENES:
        tree = yaml.load(scene.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        own = (tree.get("simulation") or {}).get("method", "aba")
        for method in METHODS:
            marks = [] if method == own else [pytest.mark.nightly]
            yield pytest.param(scene, method, method == own, marks=marks, id=f"{scene.stem}-{method}")


@pytest.mark.parametrize(("scene", "method", "is_own"), list(trials()))
def test_scene_agrees_with_its_baseline(scene: Path, method: str, is_own: bool, tmp_path: Path) -> None:
    known = (BASELINES / scene.stem / f"{method}.h5").exists()
    case = run_trial(BaselineTrial(scene, method, optional=not known), BASELINES, tmp_path, Policy(), None)
    if case is None:
        assert not is_own
        return  # refused by name: the scene's own test sees to the words
    assert case.comparison is not None, case.trouble
    assert case.verdict is CaseVerdict.SAME, (case.missed, case.comparison.mismatches, case.comparison.first_difference)
    if is_own:
        assert not case.accepted_misses
        with h5py.File(tmp_path / scene.stem / f"{method}.h5") as result:
            assert json.loads(str(result.attrs["alarms"])) == []


def test_every_baseline_has_its_scene_and_its_reason() -> None:
    baselines = sorted(BASELINES.glob("*/*.h5"))
    assert baselines
    for baseline in baselines:
        assert (GALLERY / f"{baseline.parent.name}.yaml").exists(), baseline
        assert all(acceptance_reasons(baseline)), baseline
