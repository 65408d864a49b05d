"""Selection: the numbers of a run that words choose, one by one.

A word is the path of a channel or a group, either with `*`, as in `output.channels` of a scene, or a channel
of one body; behind it may stand a component in brackets: `joints/hinge/force[fz]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

from multibody_cli.errors import ResultError, nearest
from multibody_cli.output.bodies import BODY_CHANNELS, body_paths
from multibody_cli.output.channel import INSTANT
from multibody_cli.output.patterns import fits
from multibody_cli.output.trajectory import why_no_instants

if TYPE_CHECKING:
    from multibody_cli.output.trajectory import Record, Trajectory

ENERGIES = (
    "energy/kinetic",
    "energy/potential",
    "energy/elastic",
    "energy/total",
    "energy/work",
    "energy/dissipation",
    "energy/ledger_residual",
)
"""What a picture shows of a run unless it is told otherwise."""

_ACCOUNTS = ("energy/work", "energy/dissipation")
_ALL_BODIES = {path for channel in BODY_CHANNELS.values() for path in channel.paths}
_WORD = re.compile(r"(?P<pattern>.+?)(?:\[(?P<component>[^\[\]]*)\])?", re.DOTALL)
_NO_ROWS = slice(0, 0)


@dataclass(frozen=True)
class Scalar:
    """One number of a run, as it changes in time; that of another run is equal if it is called the same.

    Parameters
    ----------
    name
        Path of the channel that the number belongs to; in an array of all bodies, that of the one body.
    component
        Which number of the channel it is; empty where the channel has but one.
    units
        Its units.
    is_error
        Whether its size alone counts (`rtol` is 0), as with what is zero but for errors of the computation.
    channel
        Path of the channel from which a trajectory reads it.
    column
        Its place among the numbers of an instant of that channel.
    """

    name: str
    component: str
    units: str
    is_error: bool
    channel: str = field(compare=False)
    column: int = field(compare=False)

    def __str__(self) -> str:
        return f"{self.name}[{self.component}]" if self.component else self.name


def select(trajectory: Trajectory, words: Sequence[str]) -> list[Scalar]:
    """Choose numbers of a run, in the order of the words, each of them once.

    Parameters
    ----------
    trajectory
        The run.
    words
        Paths of channels, of groups, of channels of one body, or any of them with `*` for any text; each may
        end in a component in brackets.  A word that fits arrays of all bodies chooses from these alone; one that fits
        channels with rows for instants leaves out others, as those of contacts.

    Raises
    ------
    ResultError
        Words that choose nothing, all of them, each with the nearest name.
    """
    chosen: dict[Scalar, None] = {}
    problems = []
    for word in words:
        try:
            chosen.update(dict.fromkeys(_chosen_by(word, trajectory)))
        except ResultError as error:
            problems.append(str(error))
    if problems:
        raise ResultError("\n".join(problems))
    return list(chosen)


def select_energies(trajectory: Trajectory) -> list[Scalar]:
    """Choose the energies of a run, with work and dissipation by the causes that did or took any.

    Raises
    ------
    ResultError
        The run recorded no energy.
    """
    recorded = select(trajectory, [word for word in ENERGIES if _paths(word, trajectory)])
    if not recorded:
        raise ResultError(f"{trajectory.source} holds no energies, which `output.channels` leaves out: name channels")
    return [
        scalar
        for scalar in recorded
        if not scalar.name.startswith(_ACCOUNTS) or trajectory.channel(scalar.name).values.any()
    ]


def known_words(trajectory: Trajectory) -> set[str]:
    """List the channels and groups that a word may name."""
    paths = {*trajectory.paths, *body_paths(trajectory.bodies)}
    return paths | {path[: slash.start()] for path in paths for slash in re.finditer("/", path)}


def _chosen_by(word: str, trajectory: Trajectory) -> list[Scalar]:
    parts = _WORD.fullmatch(word)
    pattern, component = (parts["pattern"], parts["component"]) if parts else (word, None)
    records = [trajectory.channel(path, _NO_ROWS) for path in _paths(pattern, trajectory)]
    if not records:
        remedy = nearest(pattern, known_words(trajectory))
        raise ResultError(f"{trajectory.source} holds no channel or group `{pattern}`: {remedy}")
    of_instants = [record for record in records if record.per == INSTANT]
    if not of_instants:
        raise ResultError(f"{trajectory.source}: {why_no_instants(records[0])}")
    labelled = [one for record in of_instants for one in _scalars(record)]
    chosen = [scalar for label, scalar in labelled if component is None or fnmatchcase(label, component)]
    if not chosen:
        labels = {label for label, _ in labelled}
        remedy = "it is a single number" if labels == {""} else nearest(component or "", labels)
        raise ResultError(f"{trajectory.source}: {pattern} has no component `{component}`: {remedy}")
    return chosen


def _paths(pattern: str, trajectory: Trajectory) -> list[str]:
    """List the channels that a pattern chooses; `time`, against which they are drawn, only if it is named."""
    stored = [path for path in trajectory.paths if path == pattern or (fits(path, pattern) and path != "time")]
    if not _ALL_BODIES.isdisjoint(stored):
        return stored
    own = [path for path in body_paths(trajectory.bodies) if fits(path, pattern)]
    return stored + [path for path in own if path == pattern or _is_recorded(path, trajectory)]


def _is_recorded(path: str, trajectory: Trajectory) -> bool:
    return set(BODY_CHANNELS[path.rpartition("/")[2]].paths) <= set(trajectory.paths)


def _scalars(record: Record) -> Iterator[tuple[str, Scalar]]:
    """List the numbers of a channel, each with its label along the last axis; empty where there is no axis."""
    units = record.units.split(", ")
    group, _, quantity = record.path.rpartition("/")
    for column, labels in enumerate(product(*record.labels)):
        *bodies, label = labels or ("",)
        yield (
            label,
            Scalar(
                name="/".join((group, *bodies, quantity)) if bodies else record.path,
                # the one coordinate of a hinge needs no number
                component=label if record.labels and len(record.labels[-1]) > 1 else "",
                units=units[column % len(units)],
                is_error=record.rtol == 0.0,
                channel=record.path,
                column=column,
            ),
        )
