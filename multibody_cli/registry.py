"""Registry of named entries that are loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry]):
    """A mapping whose values are loaded on first use; names, order and length load nothing.

    Parameters
    ----------
    names
        Names of the entries, in order.
    load
        Returns the entry of a name; called once for each name that is used.
    """

    def __init__(self, names: Iterable[str], load: Callable[[str], Entry]) -> None:
        self._names = dict.fromkeys(names)
        self._load = load
        self._loaded: dict[str, Entry] = {}

    @classmethod
    def of_modules(cls, package: str, places: Mapping[str, str]) -> Registry[Any]:
        """Return a registry of objects in modules of a package.

        Parameters
        ----------
        package
            Full name of the package.
        places
            Module and name of each entry, as in `{"pid": "pid.PidSpec"}`.
        """

        def load(name: str) -> Any:
            module, _, word = places[name].partition(".")
            return getattr(import_module(f"{package}.{module}"), word)

        return cls(places, load)

    def __getitem__(self, name: str) -> Entry:
        if name not in self._loaded:
            if name not in self._names:
                raise KeyError(name)
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
