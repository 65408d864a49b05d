"""The order of accuracy that thresholds and remedies of alarms assume is that of the steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import prepare

PENDULUM = """
mbsim: 1
bodies: {rod: {mass: 1 kg, shapes: [{type: box, size: [0.1, 0.1, 1], contact: false}]}}
joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}, q: 90 deg}}
simulation: {duration: 0.64 s, method: variational}
output: {every: 16 ms}
"""

FRICTION = "joints.hinge.friction={coefficient: 0.3, surface: {radius: 1 cm, length: 5 cm}}"


@pytest.mark.parametrize(("overrides", "order"), [((), 2), ((FRICTION,), 1)])
def test_steps_with_dry_friction_are_of_first_order_with_variational_methods(
    tmp_path: Path, overrides: tuple[str, ...], order: int
) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text(PENDULUM, encoding="utf-8")
    residuals = []
    for step in ("4 ms", "2 ms", "1 ms"):
        simulation = prepare(path, (*overrides, f"simulation.step={step}"))
        assert simulation.run_settings().order == order
        sink = MemorySink()
        simulation.run(sink)
        residuals.append(np.abs(sink.trajectory().channel("energy/ledger_residual").values).max())
    found = np.log2(np.divide(residuals[:-1], residuals[1:]))
    np.testing.assert_allclose(found, order, atol=0.1)
