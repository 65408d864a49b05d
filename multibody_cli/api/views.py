"""Arrays by the names of joints and bodies, and the memory of a simulation: q and v side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import EllipsisType

import numpy as np
from numpy.typing import ArrayLike

from multibody_cli.errors import RunFailed, UnknownName, nearest
from multibody_cli.model import Floats, Model, State


class NamedViews(Mapping[str, Floats]):
    """Views of parts of one array by name; `views[...]` is the whole array.

    Views share the memory of the array: writing to a view, or `views[name] = values`, changes the simulation.

    Parameters
    ----------
    kind
        Noun for a name, in messages.
    whole
        The array.
    places
        The part of each name.
    fixed
        Names whose views are read-only.
    """

    def __init__(self, kind: str, whole: Floats, places: Mapping[str, slice], fixed: frozenset[str]) -> None:
        self._kind, self._whole, self._places = kind, whole, places
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

    def require_finite(self, symbol: str, values: Floats, action: str) -> None:
        """Refuse an action if values of the array are not finite.

        Raises
        ------
        RunFailed
            The message names the first part with such a value.
        """
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            parts = self._places.items()
            name = next((name for name, place in parts if place.start <= wrong[0] < place.stop), str(wrong[0]))
            raise RunFailed(f"cannot {action}: {symbol} of `{name}` is not finite: call `reset` or `restore`")


def fresh_state(initial: State, model: Model) -> tuple[Floats, State]:
    """Return an initial state with the ledger of a model, and the memory of its q and v side by side."""
    memory = np.concatenate([initial.q, initial.v])
    q, v = memory[: model.nq], memory[model.nq :]
    return memory, initial._replace(q=q, v=v, ledger=np.zeros(len(model.names.accounts)), z=initial.z.copy())


def read_only(array: Floats) -> Floats:
    """Return a view that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view
