"""Cases of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.studies.bench.options import BenchSpec
from multibody_cli.studies.simulation import PreparedSimulation

OUTPUT_DISABLED = ("output={}", "expect=[]")
"""Overrides that disable output and expectations, which other steps and durations could not meet."""


@dataclass(frozen=True)
class BenchCase:
    """One requested run; fields that are None are as in the scene.

    Parameters
    ----------
    method, integrator
        Names.
    step, tolerance
        Time step, s, and relative tolerance; an integrator uses one of them.
    """

    method: str | None = None
    integrator: str | None = None
    step: float | None = None
    tolerance: float | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The case as overrides of the scene."""
        given = ((key, value) for key, value in asdict(self).items() if value is not None)
        return tuple(f"simulation.{key}={_written(value)}" for key, value in given)


@dataclass(frozen=True)
class Group:
    """The cases of one scene at one size, which are compared with each other.

    Parameters
    ----------
    scene
        The scene file.
    settings
        Overrides of the user for all cases.
    size, size_key
        The value of `--size`, and the key of the scene that it replaces.
    duration
        Simulated time, s, if not that of the scene.
    cases
        The cases.
    """

    scene: Path
    settings: tuple[str, ...]
    size: float | None
    size_key: str | None
    duration: float | None
    cases: tuple[BenchCase, ...]

    @property
    def sizing(self) -> tuple[str, ...]:
        """The size as an override of the scene."""
        return () if self.size is None else (f"{self.size_key}={_written(self.size)}",)

    @property
    def overrides(self) -> tuple[str, ...]:
        """Overrides of all cases."""
        lasting = () if self.duration is None else (f"simulation.duration={_written(self.duration)}",)
        return (*OUTPUT_DISABLED, *self.settings, *self.sizing, *lasting)


def groups_of(spec: BenchSpec) -> Iterator[Group]:
    """Yield the groups of a benchmark, by scene and size."""
    every = product(spec.method or (None,), spec.integrator or (None,))
    # a method may have its own integrator
    pairs = ((one, None if one and METHODS[one].own_integrator else integrator) for one, integrator in every)
    cases = tuple(
        BenchCase(method, integrator, step, tolerance)
        for method, integrator in dict.fromkeys(pairs)
        for step, tolerance in product(*_steppings(spec, method, integrator))
    )
    for scene, value in product(spec.scenes, spec.size.values if spec.size else (None,)):
        yield Group(scene, spec.set, value, spec.size.key if spec.size else None, spec.duration, cases)


def _steppings(
    spec: BenchSpec, method: str | None, integrator: str | None
) -> tuple[Sequence[float | None], Sequence[float | None]]:
    """Return the steps and the tolerances; both if the integrator is that of the scene."""
    own = METHODS[method].own_integrator if method is not None else None
    chosen = own or (INTEGRATORS[integrator] if integrator is not None else None)
    adaptive = None if chosen is None else chosen.adaptive
    steps = (None,) if adaptive is True else spec.step or (None,)
    tolerances = (None,) if adaptive is False else spec.tolerance or (None,)
    return steps, tolerances


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"


@dataclass(frozen=True)
class Setup:
    """A scene with its settings; of a case that was not measured, None is as in the scene.

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
    method: str | None
    integrator: str | None
    time_step: float | None
    tolerance: float | None
    settings: tuple[str, ...]
    size: float | None
    size_key: str | None

    @property
    def stepping(self) -> str:
        """The step or tolerance as text."""
        if self.tolerance is not None:
            return f"rtol {self.tolerance:.6g}"
        return "" if self.time_step is None else f"{self.time_step:.6g} s"

    @property
    def description(self) -> str:
        """Method, integrator (if the method has none of its own) and stepping, as text."""
        name = " with ".join(f"`{word}`" for word in (self.method, self.integrator) if word)
        return f"{name} at {self.stepping}"


def setup_of(
    simulation: PreparedSimulation,
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
