"""Where everything lies: the table of numbers that differ, the table of runs, and the memory of an evaluation.

    table    for each period of a run, the numbers in which its links differ from others of their kind
    runs     for each run RUN_WIDTH whole numbers
    memory   first the ground's area; then for each run a block for each period, which begins with what passes leave for
             one another and ends with the areas of its forks; then the area of its last link, if others follow

An *area* is where a link hands states to the runs that hang on it, and is handed what these feel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.codegen.joint_steps import Entry, Slot
from multibody_cli.codegen.passes import Area
from multibody_cli.codegen.runs import Kind, Plan, Run
from multibody_cli.model import Floats
from multibody_cli.symbolic.script import Fetch, Place, Put, Statement

RUN_WORDS = ("n", "iq", "iv", "row", "ic", "im", "inner", "end")
"""What the table says of a run behind its kind: periods; where its first period lies in q and v, its first row, where
the period lies in the table and memory; the areas of the link that it hangs on and of its own last link."""

RUN_WIDTH = 1 + len(RUN_WORDS)

AREA = 42
"""Numbers of an area: bias motion, what is felt, acceleration."""


class Strides(NamedTuple):
    """How far the words of a run move from period to period: q, v, rows, table, memory."""

    iq: int
    iv: int
    row: int
    ic: int
    im: int


class Layout(NamedTuple):
    """The tables of a tree, the size of its memory, and the text of every place."""

    table: Floats
    runs: NDArray[np.int64]
    memory: int
    places: dict[Place, str]
    strides: tuple[Strides, ...]


class Block(NamedTuple):
    """What a period of a kind has of its own: numbers in the table, and areas of its forks in memory, by position."""

    entries: tuple[Entry, ...]
    forks: dict[int, int]
    strides: Strides


def lay_out(plan: Plan, statements: Sequence[Iterable[Statement]]) -> Layout:
    """Lay out what statements need; `statements` are those of all passes, by kind."""
    places: dict[Place, str] = {}
    blocks = [_block(kind, own, places) for kind, own in zip(plan.kinds, statements, strict=True)]
    areas, size = {0: 0}, AREA
    table: list[float] = []
    rows = []
    for run in plan.runs:
        kind, (entries, forks, strides) = plan.kinds[run.kind], blocks[run.kind]
        period, begin = len(kind.sites), run.links[0]
        count = len(run.links) // period
        end = size + count * strides.im
        for k, link in enumerate(run.links):
            if k % period in forks:
                areas[link.row] = size + (k // period) * strides.im + forks[k % period]
        if run.is_continued:
            areas.setdefault(run.links[-1].row, end)
        rows.append((run.kind, count, begin.iq, begin.iv, begin.row, len(table), size, areas[begin.parent], end))
        table += _numbers(run, entries, period)
        size = end + AREA * kind.leads_on
    return Layout(np.array(table), np.array(rows, dtype=np.int64), size, places, tuple(one.strides for one in blocks))


def _block(kind: Kind, statements: Iterable[Statement], places: dict[Place, str]) -> Block:
    """Lay out a period, and note the text of its places."""
    used = dict.fromkeys(s.place for s in statements if isinstance(s, Fetch | Put))
    entries = tuple(place for place in used if isinstance(place, Entry))
    slots = [place for place in used if isinstance(place, Slot)]
    column = 0
    for entry in entries:
        places[entry] = f"ic + {column}" if entry.size > 1 else f"table[ic + {column}]"
        column += entry.size
    places.update({slot: f"memory[im + {k}]" for k, slot in enumerate(slots)})
    forking = [site for site in kind.sites if site.forks]
    forks = {site.position: len(slots) + AREA * k for k, site in enumerate(forking)}
    for site in forking:
        for number in range(AREA):
            places[Area(site.kind, site.position, number)] = f"memory[im + {forks[site.position] + number}]"
    last, parts = kind.sites[-1], kind.sites[-1].structure.parts
    nq, nv = last.iq + sum(part.nq for part in parts), last.iv + sum(part.nv for part in parts)
    return Block(entries, forks, Strides(nq, nv, len(kind.sites), column, len(slots) + AREA * len(forks)))


def _numbers(run: Run, entries: Sequence[Entry], period: int) -> list[float]:
    """The numbers of a run in which its kind differs, period by period."""
    return [
        float(number)
        for first in range(0, len(run.links), period)
        for entry in entries
        for number in run.links[first + entry.position].numbers[entry.number : entry.number + entry.size]
    ]
