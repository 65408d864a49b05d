"""Selection of scalar quantities of a run by name, and of output instants by time.

A name is the path of a channel or a group, with wildcards `*` as in `output.channels` of a scene, or a channel of one
body, optionally followed by a component in brackets: `joints/hinge/force[fz]`.  Names with `:` select also forces of
pairs of bodies: `contacts/crate:*/force`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.escaping import path_component
from multibody_cli.output.bodies import BODY_CHANNELS, body_paths, find_body_channel
from multibody_cli.output.channel import INSTANT, matches, suggest_component
from multibody_cli.output.contact_channels import find_pair, suggest
from multibody_cli.output.trajectory import explain_not_per_instant

if TYPE_CHECKING:
    from multibody_cli.model import Integers
    from multibody_cli.output.trajectory import ChannelRecord, Trajectory

ENERGIES = (
    "energy/kinetic",
    "energy/potential",
    "energy/elastic",
    "energy/total",
    "energy/work",
    "energy/dissipation",
    "energy/ledger_residual",
)
"""Channels that a picture shows by default."""

_ACCOUNTS = ("energy/work", "energy/dissipation")
_ALL_BODIES = {path for channel in BODY_CHANNELS.values() for path in channel.paths}
_WORD = re.compile(r"(?P<pattern>.+?)(?:\[(?P<component>[^\[\]]*)\])?", re.DOTALL)
_WILDCARDS = frozenset("*?[")
_NO_ROWS = slice(0, 0)


@dataclass(frozen=True)
class ScalarChannel:
    """A scalar quantity of a run as a function of time; scalars of two runs are equal if their names are.

    Parameters
    ----------
    name
        Path of the channel of the scalar; for an array of all bodies, the path of the channel of one body.
    component
        Component of the channel; empty if the channel has one component.
    units
        Units of the scalar.
    is_error
        Whether the exact value is zero, so that only the absolute tolerance applies (`rtol` is 0).
    channel
        Path of the channel from which a trajectory reads the scalar.
    column
        Index among the components of one instant of that channel.
    """

    name: str
    component: str
    units: str
    is_error: bool
    channel: str = field(compare=False)
    column: int = field(compare=False)

    def __str__(self) -> str:
        return f"{self.name}[{self.component}]" if self.component else self.name


def select(trajectory: Trajectory, words: Sequence[str], per: str = INSTANT) -> list[ScalarChannel]:
    """Select scalars of a run, in the order of the names, without duplicates.

    Parameters
    ----------
    trajectory
        The run.
    words
        Paths of channels, of groups or of channels of one body, with optional wildcards `*` and an optional
        component in brackets.  A name that matches arrays of all bodies selects only these.
    per
        Meaning of a row of the selected channels, a key of `output.channel.ROWS`; a name that also matches other
        channels excludes those.

    Raises
    ------
    ResultError
        Names that match nothing; the message lists all of them, each with the nearest known name.
    """
    chosen: dict[ScalarChannel, None] = {}
    problems = []
    for word in words:
        try:
            chosen.update(dict.fromkeys(_chosen_by(word, trajectory, per)))
        except ResultError as error:
            problems.append(str(error))
    if problems:
        raise ResultError("\n".join(problems))
    return list(chosen)


def select_energies(trajectory: Trajectory) -> list[ScalarChannel]:
    """Select the energies of a run, with the nonzero accounts of work and dissipation.

    Raises
    ------
    ResultError
        The run recorded no energies.
    """
    recorded = select(trajectory, [word for word in ENERGIES if _paths(word, trajectory)])
    if not recorded:
        raise ResultError(f"{trajectory.source} has no energies, which `output.channels` excludes: name channels")
    return [
        scalar
        for scalar in recorded
        if not scalar.name.startswith(_ACCOUNTS) or trajectory.channel(scalar.name).values.any()
    ]


def row_kinds(trajectory: Trajectory, word: str) -> set[str]:
    """Return the meanings of a row of the channels that a name matches, keys of `output.channel.ROWS`."""
    return {record.per for record in _records(_parts(word)[0], trajectory)}


def known_names(trajectory: Trajectory) -> set[str]:
    """Return the paths of all channels and groups."""
    of_pairs = (path for both in trajectory.pairs for path in both)
    paths = {*trajectory.paths, *body_paths(trajectory.bodies, trajectory.paths), *of_pairs}
    return paths | {path[: slash.start()] for path in paths for slash in re.finditer("/", path)}


def _parts(word: str) -> tuple[str, str | None]:
    """Split a name into the pattern of the channels and that of the component."""
    parts = _WORD.fullmatch(word)
    return (parts["pattern"], parts["component"]) if parts else (word, None)


def _records(pattern: str, trajectory: Trajectory) -> list[ChannelRecord]:
    return [trajectory.channel(path, _NO_ROWS) for path in _paths(pattern, trajectory)]


def _chosen_by(word: str, trajectory: Trajectory, per: str) -> list[ScalarChannel]:
    pattern, component = _parts(word)
    records = _records(pattern, trajectory)
    if not records:
        remedy = suggest(pattern, trajectory.bodies, known_names(trajectory))
        raise ResultError(f"{trajectory.source} has no channel or group `{pattern}`: {remedy}")
    comparable = [record for record in records if record.per == per]
    if not comparable:
        raise ResultError(f"{trajectory.source}: {explain_not_per_instant(records[0])}")
    labelled = [one for record in comparable for one in _scalars(record)]
    chosen = [scalar for label, scalar in labelled if component is None or fnmatchcase(label, component)]
    if not chosen:
        labels = {label for label, _ in labelled}
        remedy = "it is a single number" if labels == {""} else suggest_component(component or "", labels)
        raise ResultError(f"{trajectory.source}: {pattern} has no component `{component}`: {remedy}")
    return chosen


def _paths(pattern: str, trajectory: Trajectory) -> list[str]:
    """List the channels that a pattern selects; `time` only by its exact name."""
    if pattern in trajectory.paths and _WILDCARDS.isdisjoint(pattern):
        return [pattern]
    stored = [path for path in trajectory.paths if path == pattern or (matches(path, pattern) and path != "time")]
    if not _ALL_BODIES.isdisjoint(stored):
        return stored
    own = [path for path in body_paths(trajectory.bodies, trajectory.paths) if matches(path, pattern)]
    if find_pair(pattern, trajectory.bodies) or (
        not stored and not own and find_body_channel(pattern, trajectory.bodies)
    ):
        return [pattern]  # a pair may have no contacts, and a stored channel that it is computed from may be missing
    if ":" in pattern:
        own += [path for both in trajectory.pairs for path in [one for one in both if matches(one, pattern)][:1]]
    return stored + own


def _scalars(record: ChannelRecord) -> Iterator[tuple[str, ScalarChannel]]:
    """List the scalars of a channel, each with its label along the last axis (empty for a scalar channel)."""
    units = record.units.split(", ")
    group, _, quantity = record.path.rpartition("/")
    for column, labels in enumerate(product(*record.labels)):
        *bodies, label = labels or ("",)
        yield (
            label,
            ScalarChannel(
                name="/".join((group, *map(path_component, bodies), quantity)) if bodies else record.path,
                # a single component, such as the coordinate of a hinge, has no label
                component=label if record.labels and len(record.labels[-1]) > 1 else "",
                units=units[column % len(units)],
                is_error=record.rtol == 0.0,
                channel=record.path,
                column=column,
            ),
        )


def select_instants(
    trajectory: Trajectory, start: float | None = None, end: float | None = None, every: float | None = None
) -> Integers:
    """Select output instants of a run.

    Parameters
    ----------
    trajectory
        The run.
    start, end
        First and last time, s; by default those of the run.
    every
        Interval from the first selected instant on, s, a multiple of the output interval; by default all instants are
        selected.

    Returns
    -------
    (N,) array of int
        Rows of the instants, ascending.

    Raises
    ------
    ResultError
        There is no instant between `start` and `end`, or `every` is no multiple of the output interval.
    """
    time = trajectory.time
    if not time.size:
        raise ResultError(f"{trajectory.source} has no output instants")
    begin, last = time[0] if start is None else start, time[-1] if end is None else end
    slack = 1e-6 * time[-1] / max(1, time.size - 1) + 1e-12 * abs(last)
    rows: Integers = np.flatnonzero((time >= begin - slack) & (time <= last + slack))
    if not rows.size:
        raise ResultError(
            f"{trajectory.source} has no output instant from {begin:g} s to {last:g} s: "
            f"it has {time.size} from {time[0]:g} s to {time[-1]:g} s"
        )
    if every is None:
        return rows
    elapsed = time[rows] - time[rows[0]]
    count = np.rint(elapsed / every)
    chosen: Integers = rows[np.abs(elapsed - count * every) <= slack]
    if len(chosen) <= int((elapsed[-1] + slack) / every):
        spacing = float(np.diff(time[rows]).min())
        raise ResultError(
            f"{trajectory.source} does not have an output instant every {every:g} s: give a multiple of "
            f"{spacing:.6g} s, its output interval"
        )
    return chosen
