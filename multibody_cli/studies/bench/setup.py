"""Which scene was run how: what all findings of a benchmark say of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multibody_cli.methods import integrator_of
from multibody_cli.studies.simulation import Simulation


@dataclass(frozen=True)
class Setup:
    """A scene with the settings that it is run by.

    Parameters
    ----------
    scene, method, integrator
        Names.
    time_step
        Time step, s; of an adaptive integrator the first.
    tolerance
        Relative tolerance of an adaptive integrator, None of one of fixed step.
    settings
        Values that were replaced in the scene, each `KEY=VALUE`.
    size, size_key
        The number that `--size` gave, and for which value of the scene; None without it.
    """

    scene: str
    method: str
    integrator: str
    time_step: float
    tolerance: float | None
    settings: tuple[str, ...]
    size: float | None
    size_key: str | None

    @property
    def stepping(self) -> str:
        """What decides how accurate the integrator is, in words."""
        return f"{self.time_step:.6g} s" if self.tolerance is None else f"rtol {self.tolerance:.6g}"

    @property
    def words(self) -> str:
        """The method, the integrator unless it has its own, and the stepping, in a sentence."""
        ways = " with ".join(f"`{word}`" for word in (self.method, self.integrator) if word)
        return f"{ways} at {self.stepping}"


def setup_of(
    simulation: Simulation,
    settings: tuple[str, ...] = (),
    size: float | None = None,
    size_key: str | None = None,
) -> dict[str, Any]:
    """Give the fields of the `Setup` of a scene that is ready to run."""
    scene = simulation.scene
    ways = scene.simulation
    integrator = integrator_of(ways.method, ways.integrator)
    return {
        "scene": scene.name,
        "method": ways.method,
        "integrator": integrator.name,
        "time_step": ways.step,
        "tolerance": ways.tolerance.rtol if integrator.adaptive else None,
        "settings": settings,
        "size": size,
        "size_key": size_key,
    }
