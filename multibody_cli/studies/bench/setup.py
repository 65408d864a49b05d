"""Setup of a benchmark result: the scene and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multibody_cli.methods import integrator_of
from multibody_cli.studies.simulation import Simulation


@dataclass(frozen=True)
class Setup:
    """A scene with its settings.

    Parameters
    ----------
    scene, method, integrator
        Names.
    time_step
        Time step, s; of an adaptive integrator, the initial step.
    tolerance
        Relative tolerance of an adaptive integrator, else None.
    settings
        Overrides of the scene, each `KEY=VALUE`.
    size, size_key
        The value of `--size`, and the key of the scene that it replaces; None without it.
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
        """The step or tolerance as text."""
        return f"{self.time_step:.6g} s" if self.tolerance is None else f"rtol {self.tolerance:.6g}"

    @property
    def description(self) -> str:
        """Method, integrator (if the method has none of its own) and stepping, as text."""
        name = " with ".join(f"`{word}`" for word in (self.method, self.integrator) if word)
        return f"{name} at {self.stepping}"


def setup_of(
    simulation: Simulation,
    settings: tuple[str, ...] = (),
    size: float | None = None,
    size_key: str | None = None,
) -> dict[str, Any]:
    """Return the fields of the `Setup` of a scene."""
    scene = simulation.scene
    simulation_settings = scene.simulation
    integrator = integrator_of(simulation_settings.method, simulation_settings.integrator)
    return {
        "scene": scene.name,
        "method": simulation_settings.method,
        "integrator": integrator.name,
        "time_step": simulation_settings.step,
        "tolerance": simulation_settings.tolerance.rtol if integrator.adaptive else None,
        "settings": settings,
        "size": size,
        "size_key": size_key,
    }
