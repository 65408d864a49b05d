"""Runs of links: repeated chains that become loops, and the kinds of runs of a tree.

A *run* is a range of rows, each the parent of the next, whose structures repeat with some period.  Runs with equal
periods are of one *kind* and share one text.  States between runs pass through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from multibody_cli.codegen.links import MAX_STRUCTURES, Link, Structure

MAX_PERIOD = 12
"""Links in a period, at most."""

MIN_PERIODS = 3
"""Repetitions from which a period of several links becomes a loop."""


class Site(NamedTuple):
    """A position in a period, with the properties that all links at this position share.

    Parameters
    ----------
    kind, position
        Kind of the run, and position in its period.
    structure
        Structure of the links.
    forks
        Whether links other than the next one are attached to it.
    literal
        Each constant that is equal for all links at this position; None where they differ.
    iq, iv
        Offsets of its coordinates from those of the first link of the period.
    """

    kind: int
    position: int
    structure: Structure
    forks: bool
    literal: tuple[float | None, ...]
    iq: int
    iv: int


class LinkRun(NamedTuple):
    """A run: its kind, its links, and whether another run begins at its last link."""

    kind: int
    links: Sequence[Link]
    is_continued: bool


class RunKind(NamedTuple):
    """Runs that share one text."""

    sites: tuple[Site, ...]
    runs: tuple[LinkRun, ...]

    @property
    def repeats(self) -> bool:
        """Whether any of the runs has more than one period."""
        return any(len(run.links) > len(self.sites) for run in self.runs)

    @property
    def is_rooted(self) -> bool:
        """Whether all runs begin at the ground."""
        return all(run.links[0].parent == 0 for run in self.runs)

    @property
    def continues(self) -> bool:
        """Whether another run begins at the last link of any of the runs, and that link does not branch otherwise."""
        return not self.sites[-1].forks and any(run.is_continued for run in self.runs)


class RunPlan(NamedTuple):
    """A tree as runs, in the order of rows, and their kinds."""

    runs: tuple[LinkRun, ...]
    kinds: tuple[RunKind, ...]

    @property
    def is_straight(self) -> bool:
        """Whether every kind has a single run, so that no loop over runs is needed."""
        return len(self.runs) == len(self.kinds)


Signature = tuple[Structure, bool]
"""Properties of a link that its text depends on: its structure, and whether it branches."""


def plan(links: Sequence[Link], variants: Sequence[Sequence[Link]] = ()) -> RunPlan:
    """Divide a tree into runs.

    Parameters
    ----------
    links
        The links of the tree.
    variants
        Links of equal structures with other constants, for which the code must be valid as well.
    """
    children = {row: [link.row for link in links if link.parent == row] for row in {link.parent for link in links}}
    many = len({link.structure for link in links}) > MAX_STRUCTURES  # then each may fork: texts are fewer
    forks = [many or any(row != link.row + 1 for row in children.get(link.row, ())) for link in links]
    signatures = [(link.structure, fork) for link, fork in zip(links, forks, strict=True)]
    spans: list[tuple[int, int, int]] = []  # first link, period, links
    first = 0
    for k in range(1, len(links) + 1):
        if k == len(links) or links[k].parent != links[k].row - 1 or links[k].parent == 0:
            spans += _split(signatures, first, k)
            first = k
    kinds: dict[tuple[Signature, ...], int] = {}
    runs = []
    for first, period, count in spans:
        kind = kinds.setdefault(tuple(signatures[first : first + period]), len(kinds))
        own = links[first : first + count]
        runs.append(LinkRun(kind, own, own[-1].row + 1 in children.get(own[-1].row, ())))
    return RunPlan(tuple(runs), tuple(_kind(k, key, runs, variants) for key, k in kinds.items()))


def _split(signatures: Sequence[object], first: int, last: int) -> list[tuple[int, int, int]]:
    """Split a chain into repeated stretches: at each link the shortest period with the longest repetition."""
    found = []
    while first < last:
        best, furthest = 1, 1
        for period in range(1, min(MAX_PERIOD, (last - first) // 2) + 1):
            count = period
            while first + count < last and signatures[first + count] == signatures[first + count - period]:
                count += 1
            count -= count % period
            if count >= (MIN_PERIODS if period > 1 else 2) * period and count > furthest:
                best, furthest = period, count
        found.append((first, best, furthest))
        first += furthest
    return found


def _kind(k: int, key: tuple[Signature, ...], runs: Sequence[LinkRun], variants: Sequence[Sequence[Link]]) -> RunKind:
    own = tuple(run for run in runs if run.kind == k)
    period = len(key)
    sites = []
    for position in range(period):
        instances = [link for run in own for link in run.links[position::period]]
        instances += [others[link.row - 1] for link in instances for others in variants]
        columns = zip(*(link.constants.tolist() for link in instances), strict=True)
        literal = tuple(column[0] if len(set(column)) == 1 else None for column in columns)
        begin, link = own[0].links[0], own[0].links[position]
        sites.append(Site(k, position, *key[position], literal, link.iq - begin.iq, link.iv - begin.iv))
    return RunKind(tuple(sites), own)
