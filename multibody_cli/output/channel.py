"""Declaration of an output channel: path, units, description, frame, shape and tolerances."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

from numpy.typing import NDArray

from multibody_cli.errors import nearest
from multibody_cli.immutable import Immutable

Array = NDArray[Any]

ROLES = (
    "instant",
    "input",
    "contact mode",
    "constraint",
    "coordinate",
    "reaction",
    "energy",
    "momentum",
    "solver",
    "effort",
)
"""Kinds of channels, in causal order: of channels that differ first at one instant, the earlier is the likelier cause.

Channels of the role "effort" count iterations; `compare` reports their differences, but they are no differences of
results.
"""

INSTANT, CONTACT, BOUND = "", "contact", "bound"

ROWS = {
    INSTANT: "each output instant",
    CONTACT: "each contact of each output instant",
    BOUND: "each boundary between output instants, including the first and the last",
}
"""Meaning of a row of a channel, by the attribute `per` of its dataset."""

AXES = {
    "xyz": ("x", "y", "z"),
    "wxyz": ("w", "x", "y", "z"),
    "matrix": tuple(f"{row}{column}" for row in "xyz" for column in "XYZ"),
    "moment_force": ("mx", "my", "mz", "fx", "fy", "fz"),
}
"""Labels of the axes of constant length."""

VARIATIONAL_STEPS = "variational"
"""Element of the channels of variational methods."""

OF_ONE_ELEMENT = ("crossed", "actuated")
"""Axes with labels of their own for each element, in the dataset of their name beside the channel."""


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern selects a path: the path itself, a group that contains it, or a text with wildcards `*`."""
    return path == pattern or path.startswith(pattern + "/") or fnmatchcase(path, pattern)


def suggest_component(component: str, labels: Iterable[str]) -> str:
    """Return a hint for an unknown component: vectors have `z`, wrenches `fz` and `mz`; or the nearest label."""
    if component.isalpha():
        similar = [label for label in sorted(labels) if label.endswith(component) or component.endswith(label)]
        if similar:
            return f"did you mean {' or '.join(f'`{label}`' for label in similar)}?"
    return nearest(component, labels)


class Item(NamedTuple):
    """Element for which a channel is written: its name in the path, and the position of its data in the samples.

    `at` is the index of the element; `columns` are the columns of a joint among the coordinates, or those of a
    constraint among its kind of rows; `labels` are the labels of an axis of its own.  `parts` are the terms of a
    sum: a field of the samples, a column, and a sign.
    """

    text: str = ""
    at: int = 0
    columns: slice = slice(0)
    units: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    parts: tuple[tuple[str, int, float], ...] = ()


class Channel(Immutable):
    """One recorded quantity, with a row for every output instant or for every contact.

    Parameters
    ----------
    path
        Path in the result file; a placeholder in braces is a key of `output.elements.EXPANSIONS`.
    units
        Units of the values; `{q}` is replaced by the units of the joint coordinates.
    description
        One sentence for users.
    field
        The field of `Samples` that holds the quantity of all elements; channels may share a field.  Its shape follows
        from the placeholder and the dimensions.  Empty if `select` computes the channel from other fields.
    reader
        Source of the field: a file of `observation` with a kernel `observe`, or a function of the `Report` of a method.
    select
        Returns the rows of one item from an `output.history.Block`; by default they are those of the field.
    frame
        Frame in which vectors are expressed; empty if none applies.
    dimensions
        Names in `output.elements.DIMENSIONS` of the axes after the first.
    rtol, atol
        Difference between two runs of one scene that `compare` accepts: atol + rtol * |reference|.
    role
        Kind of quantity, one of `ROLES`.
    same
        Equivalence of values, a key of `comparison.differences`; `{q}` is replaced by those of the joint coordinates.
    dtype
        Type of the values.
    per
        Meaning of a row, one of `ROWS`.
    element
        For a path without placeholder: the key of `EXPANSIONS` that decides whether a model has the channel; empty if
        every model has it.
    """

    path: str
    units: str
    description: str
    field: str = ""
    reader: str | Callable[[Any], Any] = ""
    select: Callable[[Any, Item], Array] | None = None
    frame: str = ""
    dimensions: tuple[str, ...] = ()
    rtol: float = 1e-6
    atol: float = 1e-9
    role: str = "coordinate"
    same: str = ""
    dtype: str = "<f8"
    per: str = INSTANT
    element: str = ""

    @cached_property
    def expansion(self) -> str:
        """Key of `EXPANSIONS`: the placeholder of the path, else `element`."""
        return next((word for _, word, _, _ in string.Formatter().parse(self.path) if word), self.element)
