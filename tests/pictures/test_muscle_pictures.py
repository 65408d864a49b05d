"""Pictures of muscles: curves, operating points on them, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli import Hdf5Sink, prepare
from multibody_cli.errors import ResultError
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.pictures.muscles import OperatingPoints, draw_muscle

pytestmark = pytest.mark.compiled

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"


def recorded(name: str, folder: Path, *overrides: str):
    simulation = prepare(GALLERY / f"{name}.yaml", overrides)
    path = folder / f"{name}.h5"
    simulation.run(Hdf5Sink(path))
    return simulation.scene, read_trajectory(path)


def test_operating_points_are_on_the_curves(tmp_path: Path) -> None:
    """The tension is that of the tendon, the force of the fibers the sum of active, passive and viscous force."""
    scene, trajectory = recorded("elastic_tendon", tmp_path, "simulation.duration=0.2")
    spec = scene.muscles["calf"]
    curves = spec.curves.curves
    points = OperatingPoints(spec, curves, trajectory, "calf")
    np.testing.assert_allclose(points.tension, curves.tendon.value(points.tendon), rtol=0, atol=1e-9)
    active = points.activation * curves.active.value(points.fibers) * curves.velocity.value(points.velocity)
    whole = active + curves.passive.value(points.fibers) + spec.damping * points.velocity
    np.testing.assert_allclose(points.force, whole, rtol=0, atol=1e-9)
    figure = draw_muscle(spec, trajectory, "calf")
    assert [axes.get_xlabel().split(" / ")[0] for axes in figure.axes] == [
        "length of the fibers",
        "velocity of the fibers",
        "length of the tendon",
        "time, s",
    ]


def test_a_rigid_tendon_has_no_curve(tmp_path: Path) -> None:
    scene, trajectory = recorded("excitation", tmp_path, "simulation.duration=0.05")
    figure = draw_muscle(scene.muscles["lifter"], trajectory, "lifter")
    assert [text.get_text() for text in figure.axes[2].texts] == ["the tendon is rigid"]


def test_channels_of_the_muscle_are_needed(tmp_path: Path) -> None:
    scene, trajectory = recorded("excitation", tmp_path, "simulation.duration=0.05")
    with pytest.raises(ResultError, match="muscles/other/length"):
        draw_muscle(scene.muscles["lifter"], trajectory, "other")
