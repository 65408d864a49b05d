"""Pictures of scenes of the gallery, after a short run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from multibody_cli.output.sink import MemorySink
from multibody_cli.render.motion import choose_rows
from multibody_cli.render.picture import Picture
from multibody_cli.studies.simulation import prepare

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"


@lru_cache(maxsize=8)
def rendered(name: str, *overrides: str) -> Picture:
    """Run a scene, and return its picture with all output instants."""
    simulation = prepare(GALLERY / f"{name}.yaml", overrides)
    sink = MemorySink()
    simulation.run(sink)
    trajectory = sink.trajectory()
    return Picture(simulation.loaded, trajectory, choose_rows(trajectory.time))
