"""Series: the channels of one model, and how a scene chooses among them.

A channel such as `joints/{joint}/q` becomes one series for each joint of the model; a series is one dataset
of the result file.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.output.channel import BOUND, CONTACT, INSTANT, Channel
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.contact_channels import GROUP, IMPULSES, OFFSET, OWNER
from multibody_cli.output.patterns import fits
from multibody_cli.output.variational_channels import STRIDES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from multibody_cli.model import Names
    from multibody_cli.output.channel import Array
    from multibody_cli.output.history import Block


class Item(NamedTuple):
    """What a word in braces stands for: its text in the path, and where the numbers lie in the samples.

    `at` is a row among joints or a column among accounts; `columns` are a joint's columns among coordinates, or those
    of a restraint among its kind of rows; `labels` name the places along an axis of its own.
    """

    text: str = ""
    at: int = 0
    columns: slice = slice(0)
    units: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


class Dimension(NamedTuple):
    """A dimension other than the first: the path of its scale in the result file and a label for each place."""

    path: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """A channel of one model: one dataset of its result file, of shape (rows, *shape), as a rule one row an instant."""

    channel: Channel
    item: Item
    path: str
    units: str
    same: str
    dimensions: tuple[Dimension, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes after the first."""
        return tuple(len(dimension.labels) for dimension in self.dimensions)

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels of the places along each axis after the first."""
        return tuple(dimension.labels for dimension in self.dimensions)

    @property
    def lead(self) -> Array:
        """Rows that stand before the first instant: a zero of bounds, else none; (0 or 1, *shape)."""
        return np.zeros((int(self.channel.per == BOUND), *self.shape), self.channel.dtype)

    def read(self, block: Block) -> Array:
        """Return the rows of this channel that belong to a block, (K, *shape) or, of contacts, (N, *shape)."""
        return self.channel.select(block, self.item)

    def attributes(self) -> dict[str, Any]:
        """Return what the result file says about this series."""
        channel = self.channel
        return {
            "units": self.units,
            "description": channel.description,
            "frame": channel.frame,
            "rtol": channel.rtol,
            "atol": channel.atol,
            "role": channel.role,
            "same": self.same,
            "per": channel.per,
        }


def _joint_items(names: Names) -> list[Item]:
    return [
        Item(_link(joint.name), row, joint.columns, tuple(kind.value for kind in joint.coordinates), joint.same)
        for row, joint in enumerate(names.joints)
    ]


def _restraint_items(section: str) -> Callable[[Names], list[Item]]:
    return lambda names: [
        Item(_link(entry.name), columns=entry.rows, units=("",) * (entry.rows.stop - entry.rows.start))
        for entry in names.restraints
        if entry.section == section
    ]


def _account_items(kind: str) -> Callable[[Names], list[Item]]:
    return lambda names: [
        Item(account.cause, column) for column, account in enumerate(names.accounts) if account.kind == kind
    ]


EXPANSIONS: dict[str, Callable[[Names], list[Item]]] = {
    "": lambda names: [Item()],
    "affine": lambda names: [Item(_link(name), place) for place, name in enumerate(names.affine)],
    "joint": _joint_items,
    "spring": lambda names: [Item(_link(name), place) for place, name in enumerate(names.springs)],
    "muscle": lambda names: [Item(_link(entry.name), place) for place, entry in enumerate(names.muscles)],
    "crossing": lambda names: [
        Item(_link(entry.name), columns=entry.arms, labels=entry.crossed) for entry in names.muscles if entry.crossed
    ],
    "rubbing": lambda names: [Item(_link(name), place) for place, name in enumerate(names.rubbing)],
    "limited": _restraint_items("joints"),
    "coupling": _restraint_items("couplings"),
    "constraint": _restraint_items("constraints"),
    "work": _account_items("work"),
    "dissipation": _account_items("dissipation"),
    GROUP: lambda names: [Item()] if names.contacts else [],
    IMPULSES: lambda names: [Item()] if names.contacts or names.rubbing else [],
    STRIDES: lambda names: [Item()] if names.strides else [],
}
"""What a word in braces of a channel's path, or its `element`, stands for, given the names of a model."""

DIMENSIONS: dict[str, Callable[[Names, Item], Dimension]] = {
    "body": lambda names, _: Dimension("bodies/name", names.bodies),
    "xyz": lambda *_: Dimension("xyz", ("x", "y", "z")),
    "wxyz": lambda *_: Dimension("wxyz", ("w", "x", "y", "z")),
    "matrix": lambda *_: Dimension("matrix", tuple(f"{row}{column}" for row in "xyz" for column in "XYZ")),
    "moment_force": lambda *_: Dimension("moment_force", ("mx", "my", "mz", "fx", "fy", "fz")),
    "row": lambda _, entry: Dimension(
        f"rows_{len(entry.units)}", tuple(str(place) for place in range(len(entry.units)))
    ),
    "crossed": lambda _, muscle: Dimension(f"muscles/{muscle.text}/crossed", muscle.labels),
    "coordinate": lambda _, joint: Dimension(
        f"coordinates_{len(joint.units)}", tuple(str(place) for place in range(len(joint.units)))
    ),
}
"""The axes after the first."""

SCALES = {INSTANT: "time", CONTACT: OWNER, BOUND: OFFSET}
"""The channel that gives the places along the first axis of channels with these rows: readers cannot do without it."""


GROUPS = {
    channel.path[:place]
    for channel in CHANNELS
    for place, letter in enumerate(channel.path)
    if letter == "/" and "{" not in channel.path[:place]
}
"""Groups that any model has, be they empty, as `joints` is without a joint."""


def series_of(names: Names) -> list[Series]:
    """List every channel of a model but those without numbers, such as coordinates of a fixed joint."""
    every = [
        Series(
            channel=channel,
            item=item,
            path=channel.path.format(**{expansion: item.text}),
            units=_of_each(channel.units, item.units),
            same=_of_each(channel.same, item.same),
            dimensions=tuple(DIMENSIONS[dimension](names, item) for dimension in channel.dimensions),
        )
        for expansion, channels in groupby(CHANNELS, key=attrgetter("expansion"))
        for item, channel in product(EXPANSIONS[expansion](names), tuple(channels))
    ]
    return [series for series in every if all(series.shape)]


def channel_names(names: Names) -> list[str]:
    """List the paths of every channel of a model, in the order of the result file."""
    return [series.path for series in series_of(names)]


def select_channels(patterns: Sequence[str] | None, names: Names) -> list[Series]:
    """Choose the channels that a scene asks for; `time` is always among them, and with contacts whose they are.

    Parameters
    ----------
    patterns
        Paths of channels (`joints/hinge/q`), of groups (`energy`, `joints/hinge`), or either with `*` for any
        text (`joints/*/q`).  None chooses all.
    names
        The names of the model.

    Raises
    ------
    ArgumentError
        A pattern fits no channel; the message gives the nearest name.
    """
    every = series_of(names)
    if patterns is None:
        return every
    paths = [series.path for series in every]
    known = GROUPS.union(paths)
    unknown = [pattern for pattern in patterns if not any(fits(path, pattern) for path in known)]
    if unknown:
        raise ArgumentError(
            "\n".join(f"output.channels: no channel or group `{p}`: {nearest(p, known)}" for p in unknown)
        )
    chosen = {series.path for series in every if any(fits(series.path, p) for p in ("time", *patterns))}
    if any(series.channel.per == CONTACT for series in every if series.path in chosen):
        chosen |= {SCALES[CONTACT], SCALES[BOUND]}
    return [series for series in every if series.path in chosen]


def _of_each(pattern: str, words: tuple[str, ...]) -> str:
    """Write the words of the coordinates into a pattern: once where all share them, else one for each."""
    each = [pattern.format(q=word) for word in words] if "{q}" in pattern else [pattern]
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def _link(name: str) -> str:
    """Write a name such that it is one link of a path whatever letters it holds."""
    link = name.replace("%", "%25").replace("/", "%2F").replace("\0", "%00")
    return link.replace(".", "%2E") if link in {".", ".."} else link
