"""The catalogue of methods."""

from __future__ import annotations

from importlib import import_module

from multibody_cli.methods.contract import Integrator, MethodKind
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.registry import Registry


def _kind(name: str) -> MethodKind:
    kind: MethodKind = getattr(import_module(f"{__name__}.{name}"), name.upper())
    return kind


METHODS = Registry(("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal"), _kind)
"""Methods by their keyword in the scene format."""


def integrator_of(method: str, integrator: str) -> Integrator:
    """Return the integrator of a run: the method's own, or the one of that name."""
    return METHODS[method].own_integrator or INTEGRATORS[integrator]
