"""Faces that touch across the axis of a hinge: no motion separates them, and their penetration is round-off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.compiled


def test_round_off_between_faces_moves_nothing() -> None:
    """Beside a contact with the ground; a displacement that removed it had the base jump by meters in a step."""
    _, run = prepare(Path(__file__).parent / "touching_faces.yaml").run_in_memory()
    position, total = run.channel("bodies/position").values, run.channel("energy/total").values
    lost = sum(run.channel(path).values for path in run.paths if path.startswith("energy/dissipation/"))
    fall = 0.5 * 9.81 * 0.02**2
    assert np.abs(position - position[0]).max() < 10.0 * fall
    assert np.abs(total - total[0] + lost).max() < 0.05 * np.ptp(run.channel("energy/potential").values) + 0.01
