"""Chains of links that repeat: loops over links, and how many kinds of them a tree takes.

A *run* is a stretch of rows, each the parent of the next, whose structures repeat with some period.  Runs whose periods
are alike are of one kind and share one text.  Whatever a run does not hand on within itself goes through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from multibody_cli.codegen.links import MOST_STRUCTURES, Link, Structure

LONGEST_PERIOD = 12
"""Links that a loop takes at once, at most."""

FEWEST_PERIODS = 3
"""Times that a period of several links must come, so that it is no mere chance."""


class Site(NamedTuple):
    """A link of a period, as all links at this place are.

    Parameters
    ----------
    kind, position
        Of the run, and in its period.
    structure
        Of the link.
    forks
        Whether links beside the next one hang on it.
    literal
        Each number that is the same for all links at this place; None where they differ.
    iq, iv
        Where its coordinates lie behind those of the first link of the period.
    """

    kind: int
    position: int
    structure: Structure
    forks: bool
    literal: tuple[float | None, ...]
    iq: int
    iv: int


class Run(NamedTuple):
    """Its kind, its links, and whether a link hangs on the last of them and begins another run."""

    kind: int
    links: Sequence[Link]
    is_continued: bool


class Kind(NamedTuple):
    """Runs that share one text."""

    sites: tuple[Site, ...]
    runs: tuple[Run, ...]

    @property
    def repeats(self) -> bool:
        """Whether the period comes twice in any of the runs."""
        return any(len(run.links) > len(self.sites) for run in self.runs)

    @property
    def is_rooted(self) -> bool:
        """Whether all runs hang on the ground."""
        return all(run.links[0].parent == 0 for run in self.runs)

    @property
    def leads_on(self) -> bool:
        """Whether another run begins behind the last link of any of the runs, and that link does not fork anyway."""
        return not self.sites[-1].forks and any(run.is_continued for run in self.runs)


class Plan(NamedTuple):
    """A tree as runs, in the order of rows, and their kinds."""

    runs: tuple[Run, ...]
    kinds: tuple[Kind, ...]

    @property
    def is_straight(self) -> bool:
        """Whether no kind comes twice, so that the texts stand one after the other."""
        return len(self.runs) == len(self.kinds)


Mark = tuple[Structure, bool]
"""What is alike for links that share a text: their structure, and whether they fork."""


def plan(links: Sequence[Link]) -> Plan:
    """Find the runs of a tree."""
    children = {row: [link.row for link in links if link.parent == row] for row in {link.parent for link in links}}
    many = len({link.structure for link in links}) > MOST_STRUCTURES  # then each may fork: texts are fewer
    forks = [many or any(row != link.row + 1 for row in children.get(link.row, ())) for link in links]
    marks = [(link.structure, fork) for link, fork in zip(links, forks, strict=True)]
    stretches: list[tuple[int, int, int]] = []  # first link, period, links
    first = 0
    for k in range(1, len(links) + 1):
        if k == len(links) or links[k].parent != links[k].row - 1 or links[k].parent == 0:
            stretches += _folded(marks, first, k)
            first = k
    kinds: dict[tuple[Mark, ...], int] = {}
    runs = []
    for first, period, count in stretches:
        kind = kinds.setdefault(tuple(marks[first : first + period]), len(kinds))
        own = links[first : first + count]
        runs.append(Run(kind, own, own[-1].row + 1 in children.get(own[-1].row, ())))
    return Plan(tuple(runs), tuple(_kind(k, key, runs) for key, k in kinds.items()))


def _folded(marks: Sequence[object], first: int, last: int) -> list[tuple[int, int, int]]:
    """Cut a chain into stretches that repeat: at each place the period that leads furthest, of these the shortest."""
    found = []
    while first < last:
        best, furthest = 1, 1
        for period in range(1, min(LONGEST_PERIOD, (last - first) // 2) + 1):
            count = period
            while first + count < last and marks[first + count] == marks[first + count - period]:
                count += 1
            count -= count % period
            if count >= (FEWEST_PERIODS if period > 1 else 2) * period and count > furthest:
                best, furthest = period, count
        found.append((first, best, furthest))
        first += furthest
    return found


def _kind(k: int, key: tuple[Mark, ...], runs: Sequence[Run]) -> Kind:
    own = tuple(run for run in runs if run.kind == k)
    period = len(key)
    sites = []
    for position in range(period):
        alike = [link for run in own for link in run.links[position::period]]
        columns = zip(*(link.numbers.tolist() for link in alike), strict=True)
        literal = tuple(column[0] if len(set(column)) == 1 else None for column in columns)
        begin, link = own[0].links[0], own[0].links[position]
        sites.append(Site(k, position, *key[position], literal, link.iq - begin.iq, link.iv - begin.iv))
    return Kind(tuple(sites), own)
