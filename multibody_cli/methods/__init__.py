"""The catalogue of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from multibody_cli.methods.contract import Feature, Integrator, StepControl
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.model import Model, State
from multibody_cli.registry import Registry
from multibody_cli.spec import Spec

if TYPE_CHECKING:
    from multibody_cli.methods.method import Method


class MethodKind(Protocol):
    """An entry of METHODS."""

    @property
    def name(self) -> str:
        """The keyword of the scene format."""

    @property
    def description(self) -> str:
        """One line for lists."""

    @property
    def Options(self) -> type[Spec]:
        """The options under `simulation.options`."""

    @property
    def supports(self) -> frozenset[Feature]:
        """The supported features; a scene that uses others is refused before the run."""

    @property
    def maximal(self) -> bool:
        """Whether it uses maximal coordinates instead of reduced ones."""

    @property
    def eliminates_constraints(self) -> bool:
        """Whether constraints between two bodies are nodes of its elimination tree, beside joints."""

    def objections(self, feature: Feature, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield options that a scene cannot combine with a feature, each with the reason."""

    def longest_stage(self, options: Spec) -> float:
        """Longest basic step of a composed step, as a fraction of it."""

    @property
    def own_integrator(self) -> Integrator | None:
        """Its own integrator; None if it accepts those of the catalogue."""

    def integrator_with(self, options: Mapping[str, Any]) -> Integrator | None:
        """Its own integrator with the options of a scene, or None."""

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> Method:
        """Make the method for one model; `options` are of the class `Options`, its defaults if None."""


_NAMES = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")

METHODS: Registry[MethodKind] = Registry.of_modules(__name__, {name: f"{name}.{name.upper()}" for name in _NAMES})
"""Methods by their keyword in the scene format."""


def integrator_of(method: str, integrator: str, options: Mapping[str, Any]) -> Integrator:
    """Return the integrator of a run: the method's own with these options, or the one of that name."""
    return METHODS[method].integrator_with(options) or INTEGRATORS[integrator]
