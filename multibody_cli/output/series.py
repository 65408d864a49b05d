"""Series: the channels of one model, and their selection.

A channel such as `joints/{joint}/q` becomes one series for each joint of the model.  A series is one dataset of the
result file.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.output.channel import AXES, BOUND, CONTACT, INSTANT, Channel, Item
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.contact_channels import GROUP, IMPULSES, INSTANT_OF_CONTACT, OFFSET
from multibody_cli.output.patterns import matches
from multibody_cli.output.variational_channels import VARIATIONAL_STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from multibody_cli.model import Names
    from multibody_cli.output.channel import Array
    from multibody_cli.output.history import Block


class Dimension(NamedTuple):
    """An axis other than the first: path of its scale in the result file, and a label for each index."""

    path: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """A channel of one model: one dataset of the result file, shape (rows, *shape)."""

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
        """Labels of each axis after the first."""
        return tuple(dimension.labels for dimension in self.dimensions)

    @property
    def leading_rows(self) -> Array:
        """Rows before the first instant, (0 or 1, *shape): a zero for offsets, else none."""
        return np.zeros((int(self.channel.per == BOUND), *self.shape), self.channel.dtype)

    def read(self, block: Block) -> Array:
        """Return the rows of a block, (K, *shape), or (N, *shape) for contacts."""
        return self.channel.select(block, self.item)

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the dataset in the result file."""
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
        Item(
            _path_component(joint.name), row, joint.columns, tuple(kind.value for kind in joint.coordinates), joint.same
        )
        for row, joint in enumerate(names.joints)
    ]


def _constraint_items(section: str) -> Callable[[Names], list[Item]]:
    return lambda names: [
        Item(_path_component(entry.name), columns=entry.rows, units=("",) * (entry.rows.stop - entry.rows.start))
        for entry in names.constraint_entries
        if entry.section == section
    ]


def _account_items(kind: str) -> Callable[[Names], list[Item]]:
    return lambda names: [
        Item(account.cause, column) for column, account in enumerate(names.accounts) if account.kind == kind
    ]


EXPANSIONS: dict[str, Callable[[Names], list[Item]]] = {
    "": lambda names: [Item()],
    "affine": lambda names: [Item(_path_component(name), place) for place, name in enumerate(names.affine)],
    "joint": _joint_items,
    "spring": lambda names: [Item(_path_component(name), place) for place, name in enumerate(names.springs)],
    "muscle": lambda names: [Item(_path_component(entry.name), place) for place, entry in enumerate(names.muscles)],
    "crossing": lambda names: [
        Item(_path_component(entry.name), columns=entry.arms, labels=entry.crossed)
        for entry in names.muscles
        if entry.crossed
    ],
    "friction_joint": lambda names: [
        Item(_path_component(name), place) for place, name in enumerate(names.friction_joints)
    ],
    "limited": _constraint_items("joints"),
    "coupling": _constraint_items("couplings"),
    "constraint": _constraint_items("constraints"),
    "work": _account_items("work"),
    "dissipation": _account_items("dissipation"),
    GROUP: lambda names: [Item()] if names.contacts else [],
    IMPULSES: lambda names: [Item()] if names.contacts or names.friction_joints else [],
    VARIATIONAL_STEPS: lambda names: [Item()] if names.variational else [],
}
"""Elements of a model for each placeholder of a path, or for each `element` of a channel."""


def _constant(name: str) -> Callable[[Names, Item], Dimension]:
    return lambda *_: Dimension(name, AXES[name])


DIMENSIONS: dict[str, Callable[[Names, Item], Dimension]] = {
    **{name: _constant(name) for name in AXES},
    "body": lambda names, _: Dimension("bodies/name", names.bodies),
    "row": lambda _, entry: Dimension(
        f"rows_{len(entry.units)}", tuple(str(place) for place in range(len(entry.units)))
    ),
    "crossed": lambda _, muscle: Dimension(f"muscles/{muscle.text}/crossed", muscle.labels),
    "coordinate": lambda _, joint: Dimension(
        f"coordinates_{len(joint.units)}", tuple(str(place) for place in range(len(joint.units)))
    ),
}
"""The axes after the first."""

SCALES = {INSTANT: "time", CONTACT: INSTANT_OF_CONTACT, BOUND: OFFSET}
"""Channel that is the dimension scale of the first axis, by `Channel.per`; it is always recorded."""


GROUPS = {
    channel.path[:place]
    for channel in CHANNELS
    for place, letter in enumerate(channel.path)
    if letter == "/" and "{" not in channel.path[:place]
}
"""Groups that exist in every model, even if they are empty."""


def series_of(names: Names) -> list[Series]:
    """List the channels of a model, except channels without components, such as the coordinates of a fixed joint."""
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
    """List the paths of all channels of a model, in the order of the result file."""
    return [series.path for series in series_of(names)]


def select_channels(patterns: Sequence[str] | None, names: Names) -> list[Series]:
    """Select the channels to record; `time` is always included, with contacts also their instants and offsets.

    Parameters
    ----------
    patterns
        Paths of channels (`joints/hinge/q`) or groups (`energy`, `joints/hinge`), with optional wildcards `*`
        (`joints/*/q`).  None selects all.
    names
        The names of the model.

    Raises
    ------
    ArgumentError
        A pattern matches no channel; the message suggests the nearest name.
    """
    every = series_of(names)
    if patterns is None:
        return every
    paths = [series.path for series in every]
    known = GROUPS.union(paths)
    unknown = [pattern for pattern in patterns if not any(matches(path, pattern) for path in known)]
    if unknown:
        raise ArgumentError(
            "\n".join(f"output.channels: no channel or group `{p}`: {nearest(p, known)}" for p in unknown)
        )
    chosen = {series.path for series in every if any(matches(series.path, p) for p in ("time", *patterns))}
    if any(series.channel.per == CONTACT for series in every if series.path in chosen):
        chosen |= {SCALES[CONTACT], SCALES[BOUND]}
    return [series for series in every if series.path in chosen]


def _of_each(pattern: str, words: tuple[str, ...]) -> str:
    """Substitute the units (or equivalences) of the coordinates: once if all are equal, else one for each."""
    each = [pattern.format(q=word) for word in words] if "{q}" in pattern else [pattern]
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def _path_component(name: str) -> str:
    """Escape a name such that it is a single component of an HDF5 path."""
    link = name.replace("%", "%25").replace("/", "%2F").replace("\0", "%00")
    return link.replace(".", "%2E") if link in {".", ".."} else link
