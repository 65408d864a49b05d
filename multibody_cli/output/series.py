"""Series: the channels of one model, and their selection.

A channel such as `joints/{joint}/q` becomes one series for each joint of the model.  A series is one dataset of the
result file.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby, product
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.immutable import Immutable
from multibody_cli.output.attributes import DATASET_ATTRIBUTES
from multibody_cli.output.channel import BOUND, CONTACT, INSTANT, Channel, Item, matches
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.contact_channels import INSTANT_OF_CONTACT, OFFSET
from multibody_cli.output.elements import DIMENSIONS, EXPANSIONS, AxisScale, is_ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multibody_cli.model import SceneNames
    from multibody_cli.output.channel import Array
    from multibody_cli.output.history import SampleBlock


class Series(Immutable):
    """A channel of one model: one dataset of the result file, shape (rows, *shape)."""

    channel: Channel
    item: Item
    path: str
    units: str
    same: str
    dimensions: tuple[AxisScale, ...]

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

    def read(self, block: SampleBlock) -> Array:
        """Return the rows of a block, (K, *shape), or (N, *shape) for contacts."""
        if self.channel.select is not None:
            return self.channel.select(block, self.item)
        column: Array = getattr(block.samples, self.channel.field)
        if self.channel.per == CONTACT:
            return column[block.contacts.filled]
        if is_ragged(self.channel):
            return column[:, self.item.columns]
        return column if EXPANSIONS[self.channel.expansion].length is None else column[:, self.item.at]

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the dataset in the result file."""
        own = {"units": self.units, "same": self.same}
        return {name: own.get(name, getattr(self.channel, name)) for name in DATASET_ATTRIBUTES}


SCALES = {INSTANT: "time", CONTACT: INSTANT_OF_CONTACT, BOUND: OFFSET}
"""Channel that is the dimension scale of the first axis, by `Channel.per`; it is always recorded."""


GROUPS = {
    channel.path[:end]
    for channel in CHANNELS
    for end, letter in enumerate(channel.path)
    if letter == "/" and "{" not in channel.path[:end]
}
"""Groups that exist in every model, even if they are empty."""


@lru_cache(maxsize=4)
def series_of(names: SceneNames) -> tuple[Series, ...]:
    """List the channels of a model, except channels without components, such as the coordinates of a fixed joint."""
    every = (
        Series(
            channel=channel,
            item=item,
            path=channel.path.format(**{expansion: item.text}),
            units=_of_each(channel.units, item.units),
            same=_of_each(channel.same, item.same),
            dimensions=tuple(DIMENSIONS[dimension].of(names, item) for dimension in channel.dimensions),
        )
        for expansion, channels in groupby(CHANNELS, key=attrgetter("expansion"))
        for item, channel in product(EXPANSIONS[expansion].items(names), tuple(channels))
    )
    return tuple(series for series in every if all(series.shape))


def select_channels(patterns: Sequence[str] | None, names: SceneNames) -> tuple[Series, ...]:
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
    return series_of(names) if patterns is None else _selected(tuple(patterns), names)


@lru_cache(maxsize=16)
def _selected(patterns: tuple[str, ...], names: SceneNames) -> tuple[Series, ...]:
    every = series_of(names)
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
    return tuple(series for series in every if series.path in chosen)


def _of_each(pattern: str, words: tuple[str, ...]) -> str:
    """Substitute the units (or equivalences) of the coordinates: once if all are equal, else one for each."""
    each = [pattern.format(q=word) for word in words] if "{q}" in pattern else [pattern]
    return each[0] if len(set(each)) == 1 else ", ".join(each)
