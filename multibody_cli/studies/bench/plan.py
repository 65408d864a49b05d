"""Which runs a benchmark is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.studies.bench.words import BenchSpec

NOTHING_WRITTEN = ("output={}", "expect=[]")
"""What is kept and expected of a scene could not be met with other steps and durations, and is not asked here."""


@dataclass(frozen=True)
class Case:
    """One run that is asked for: what is None is as in the scene.

    Parameters
    ----------
    method, integrator
        Names.
    step, tolerance
        Time step, s, and relative tolerance; an integrator heeds one of them.
    """

    method: str | None = None
    integrator: str | None = None
    step: float | None = None
    tolerance: float | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The case as values of a scene to replace."""
        values = {
            "method": self.method,
            "integrator": self.integrator,
            "step": self.step,
            "tolerance": self.tolerance,
        }
        return tuple(f"simulation.{key}={_written(value)}" for key, value in values.items() if value is not None)


@dataclass(frozen=True)
class Group:
    """The cases of one scene at one size, which are compared with each other.

    Parameters
    ----------
    scene
        The file.
    settings
        Values of the scene to replace in all cases, as the user gave them.
    size, size_key
        The number of `--size`, and the value of the scene that it replaces.
    duration
        Time to simulate, s, if not the scene's.
    cases
        What is run.
    """

    scene: Path
    settings: tuple[str, ...]
    size: float | None
    size_key: str | None
    duration: float | None
    cases: tuple[Case, ...]

    @property
    def sizing(self) -> tuple[str, ...]:
        """The size as a value of the scene to replace."""
        return () if self.size is None else (f"{self.size_key}={_written(self.size)}",)

    @property
    def overrides(self) -> tuple[str, ...]:
        """Values to replace in all cases."""
        lasting = () if self.duration is None else (f"simulation.duration={_written(self.duration)}",)
        return (*NOTHING_WRITTEN, *self.settings, *self.sizing, *lasting)


def groups_of(spec: BenchSpec) -> Iterator[Group]:
    """List what a benchmark asks for, scene by scene and size by size."""
    pairs = product(spec.method or (None,), spec.integrator or (None,))
    cases = tuple(
        Case(method, integrator, step, tolerance)
        for method, integrator in dict.fromkeys((method, _chosen(method, integrator)) for method, integrator in pairs)
        for step, tolerance in product(*_steppings(spec, method, integrator))
    )
    for scene, value in product(spec.scenes, spec.size.values if spec.size else (None,)):
        yield Group(scene, spec.set, value, spec.size.key if spec.size else None, spec.duration, cases)


def _chosen(method: str | None, integrator: str | None) -> str | None:
    """Give the integrator, or None for a method that is its own."""
    return None if method is not None and METHODS[method].own_integrator else integrator


def _steppings(
    spec: BenchSpec, method: str | None, integrator: str | None
) -> tuple[Sequence[float | None], Sequence[float | None]]:
    """Give the steps and the tolerances to run with; both where the scene alone knows which it heeds."""
    own = METHODS[method].own_integrator if method is not None else None
    chosen = own or (INTEGRATORS[integrator] if integrator is not None else None)
    adaptive = None if chosen is None else chosen.adaptive
    steps = (None,) if adaptive is True else spec.step or (None,)
    tolerances = (None,) if adaptive is False else spec.tolerance or (None,)
    return steps, tolerances


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"
