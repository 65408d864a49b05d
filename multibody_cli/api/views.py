"""Arrays by the names of joints and bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import EllipsisType

from numpy.typing import ArrayLike

from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.model import Floats


class UnknownName(ArgumentError, KeyError):
    """A name that a scene does not have."""

    __str__ = Exception.__str__


class NamedViews(Mapping[str, Floats]):
    """Views of parts of one array by name; `views[...]` is the whole array.

    Views share the memory of the array: writing to a view, or `views[name] = values`, changes the simulation.

    Parameters
    ----------
    kind
        What the names are, for messages.
    whole
        The array.
    places
        The part of each name.
    fixed
        Names whose views are read-only.
    """

    def __init__(self, kind: str, whole: Floats, places: Mapping[str, slice], fixed: frozenset[str]) -> None:
        self._kind, self._whole = kind, whole
        self._views = {name: whole[place] for name, place in places.items()}
        for name in fixed & self._views.keys():
            self._views[name].flags.writeable = False

    def __getitem__(self, name: str | EllipsisType) -> Floats:
        if isinstance(name, EllipsisType):
            return self._whole
        try:
            return self._views[name]
        except (KeyError, TypeError):
            raise UnknownName(f"no {self._kind} `{name}`: {nearest(str(name), self._views)}") from None

    def __setitem__(self, name: str | EllipsisType, values: ArrayLike) -> None:
        self[name][:] = values

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __repr__(self) -> str:
        entries = ", ".join(f"{name}: {view}" for name, view in self._views.items())
        return f"<{self._kind}: {entries}>"
