"""The catalogue of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from multibody_cli.methods.contract import Integrator, MethodKind
from multibody_cli.methods.integrators import INTEGRATORS

METHODS_LATER: tuple[str, ...] = ()
"""Methods that the format knows and this version does not support."""


class _Methods(Mapping[str, MethodKind]):
    """Methods by name; the module of each is imported when it is first asked for."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __getitem__(self, name: str) -> MethodKind:
        if name not in self._names:
            raise KeyError(name)
        kind: MethodKind = getattr(import_module(f"multibody_cli.methods.{name}"), name.upper())
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


METHODS = _Methods("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")


def integrator_of(method: str, integrator: str) -> Integrator:
    """Give the integrator with which a method runs: its own, or the one of that name."""
    return METHODS[method].own_integrator or INTEGRATORS[integrator]
