"""The catalogue of methods."""

from __future__ import annotations

from importlib import import_module

from multibody_cli.methods.contract import Integrator, MethodKind
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.registry import Registry

METHODS_LATER: tuple[str, ...] = ()
"""Methods that the format knows and this version does not support."""


def _kind(name: str) -> MethodKind:
    kind: MethodKind = getattr(import_module(f"{__name__}.{name}"), name.upper())
    return kind


METHODS = Registry(("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal"), _kind)
"""Every method by the word of the scene file."""


def integrator_of(method: str, integrator: str) -> Integrator:
    """Give the integrator with which a method runs: its own, or the one of that name."""
    return METHODS[method].own_integrator or INTEGRATORS[integrator]
