"""Warnings about tables: cubic splines that leave the range of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Any

import numpy as np

from multibody_cli.interpolation import overshoot
from multibody_cli.nodes import Node, NodePath, find, format_path
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec import SignalSpec, Spec

OVERSHOOT = 0.01
"""Excess of a cubic spline over the range of its values, relative to that range, that a warning reports."""


def warn_of_overshoot(scene: SceneSpec, tree: Node) -> Iterator[str]:
    """Yield a warning for each cubic table that leaves the range of its values by more than `OVERSHOOT`."""
    for path, signal in signals_of(scene, ()):
        if signal.interpolation in ("cubic", "natural"):
            excess, time = overshoot(np.array(signal.times), np.array(signal.values), signal.interpolation)
            if excess > OVERSHOOT:
                yield (
                    f"{find(tree, path).mark}: {format_path(path)}: the cubic table leaves the range of its values by "
                    f"{100.0 * excess:.3g} % at {time:.4g} s: use `interpolation: pchip`, which stays within it, or "
                    "more instants"
                )


def signals_of(value: Any, path: NodePath) -> Iterator[tuple[NodePath, SignalSpec]]:
    """Yield the functions of time of an entry, each with its path in the scene."""
    if isinstance(value, SignalSpec):
        yield path, value
        return
    entries: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, Spec):
        entries = ((name, getattr(value, name)) for name in type(value).model_fields)
    elif isinstance(value, Mapping):
        entries = value.items()
    elif isinstance(value, list | tuple):
        entries = enumerate(value)
    for key, entry in entries:
        if type(entry) not in _PLAIN:
            yield from signals_of(entry, (*path, key))


_PLAIN = frozenset((NoneType, bool, int, float, str))
"""Types of most entries, which are passed over without a call."""
