"""Carried state of a run: everything that later steps and later rows depend on, as values by their path.

`holders` are objects and named tuples by name: the state, the method with its work arrays, the monitors.  Their
writable arrays are carried, and the numbers and texts of their attributes, also of the properties that a class names
in `CARRIED`.  Read-only arrays, kernels and `Immutable` objects, such as those of the model, do not change during a run
and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.immutable import Immutable

Values = dict[str, Any]
"""Arrays, and numbers and texts that JSON can hold, by their path."""


class LayoutError(ResultError):
    """A checkpoint of other arrays."""


class _Place(NamedTuple):
    """A value that is carried, and the object and attribute that hold it, unless it is an array."""

    path: str
    value: Any
    owner: Any = None
    name: str = ""


def collect(holders: Mapping[str, Any]) -> Values:
    """Return copies of all carried values."""
    return {
        place.path: place.value.copy() if isinstance(place.value, np.ndarray) else _as_json(place.value)
        for place in _places_of(holders)
    }


def restore(holders: Mapping[str, Any], values: Values) -> None:
    """Assign carried values to holders of the same layout; arrays are filled in place.

    Raises
    ------
    LayoutError
        A value is missing or left over, or has another type or shape; nothing is changed.
    """
    places = list(_places_of(holders))
    differing = {place.path for place in places} ^ set(values)
    differing |= {place.path for place in places if place.path in values and not _fits(place.value, values[place.path])}
    if differing:
        raise LayoutError(
            f"the checkpoint does not fit the arrays of this version ({', '.join(sorted(differing)[:3])}): "
            "delete it to begin again at 0 s"
        )
    for place in places:
        if isinstance(place.value, np.ndarray):
            place.value[...] = values[place.path]
        else:
            setattr(place.owner, place.name, _like(place.value, values[place.path]))


class Snapshot:
    """Copy of the carried state of holders in memory, which is written over by each `take`.

    The places are those at its construction.
    """

    def __init__(self, holders: Mapping[str, Any]) -> None:
        places = list(_places_of(holders))
        arrays = [place.value for place in places if isinstance(place.value, np.ndarray)]
        self._arrays = [(array, array.copy()) for array in arrays]
        self._owners = [(place.owner, place.name) for place in places if place.owner is not None]
        self._values: list[Any] = []
        self.take()

    def take(self) -> None:
        """Copy the carried state."""
        for array, copy in self._arrays:
            copy[...] = array
        self._values = [getattr(owner, name) for owner, name in self._owners]

    def restore(self) -> None:
        """Assign the copy to the holders."""
        for array, copy in self._arrays:
            array[...] = copy
        for (owner, name), value in zip(self._owners, self._values, strict=True):
            setattr(owner, name, value)


def _places_of(holders: Mapping[str, Any]) -> Iterator[_Place]:
    seen: set[int] = set()
    for name, holder in holders.items():
        yield from _places(holder, name, seen)


def _places(holder: Any, path: str, seen: set[int]) -> Iterator[_Place]:
    """Yield the places of an array, a tuple or an object, each once."""
    if id(holder) in seen:
        return
    seen.add(id(holder))
    if isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            yield _Place(path, holder)
    elif isinstance(holder, tuple):
        for name, part in zip(getattr(holder, "_fields", range(len(holder))), holder, strict=True):
            yield from _places(part, f"{path}/{name}", seen)
    elif _is_changing(holder):
        for name, part in vars(holder).items():
            if _is_plain(part):
                yield _Place(f"{path}/{name}", part, holder, name)
            else:
                yield from _places(part, f"{path}/{name}", seen)
        for name in getattr(holder, "CARRIED", ()):
            yield _Place(f"{path}/{name}", getattr(holder, name), holder, name)


def _is_changing(holder: Any) -> bool:
    """Whether an object can have attributes that change: neither a function or kernel, nor `Immutable`."""
    return hasattr(holder, "__dict__") and not callable(holder) and not isinstance(holder, Immutable)


def _is_plain(value: Any) -> bool:
    """Whether a value consists of numbers and texts."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | Enum | np.generic)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_as_json(part) for part in value]
    if isinstance(value, Enum):
        return value.name
    return value.item() if isinstance(value, np.generic) else value


def _like(old: Any, value: Any) -> Any:
    """Convert a value from JSON to the type of the value that it replaces."""
    if isinstance(old, tuple) and isinstance(value, list) and len(old) == len(value):
        parts = [_like(*pair) for pair in zip(old, value, strict=True)]
        return type(old)._make(parts) if hasattr(old, "_make") else tuple(parts)
    if isinstance(old, Enum):
        return type(old)[value]
    return [*value] if isinstance(value, list) else value


def _fits(old: Any, value: Any) -> bool:
    if old is None:  # an attribute that is None at some time has no type of its own
        return True
    if isinstance(old, Enum):
        return isinstance(value, str) and value in type(old).__members__
    if isinstance(old, np.ndarray):
        return isinstance(value, np.ndarray) and (old.dtype.descr, old.shape) == (value.dtype.descr, value.shape)
    return type(_as_json(old)) is type(value)
