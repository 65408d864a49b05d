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

from multibody_cli.dynamics.generation.passes import Area
from multibody_cli.dynamics.generation.runs import Plan, Run
from multibody_cli.dynamics.generation.steps import Entry, Slot
from multibody_cli.model import Floats
from multibody_cli.symbolic.script import Fetch, Place, Put, Statement

RUN_WORDS = ("n", "iq", "iv", "ib", "ic", "im", "inner", "end")
"""What the table says of a run behind its kind: periods; where its first period lies in q, v, the bias wrenches, the
table and memory; the areas of the link that it hangs on and of its own last link."""

RUN_WIDTH = 1 + len(RUN_WORDS)

AREA = 42
"""Numbers of an area: bias motion, what is felt, acceleration."""


class Strides(NamedTuple):
    """How far the words of a run move from period to period: q, v, wrenches, table, memory."""

    iq: int
    iv: int
    ib: int
    ic: int
    im: int


class Layout(NamedTuple):
    """The tables of a tree, the size of its memory, and the text of every place."""

    table: Floats
    runs: NDArray[np.int64]
    memory: int
    places: dict[Place, str]
    strides: tuple[Strides, ...]


def lay_out(plan: Plan, statements: Sequence[Iterable[Statement]]) -> Layout:
    """Lay out what statements need; `statements` are those of all passes, by kind."""
    places: dict[Place, str] = {}
    entries, strides, forks = [], [], []
    for kind, own in zip(plan.kinds, statements, strict=True):
        found = dict.fromkeys(s.place for s in own if isinstance(s, Fetch | Put) and isinstance(s.place, Slot | Entry))
        numbers = [place for place in found if isinstance(place, Entry)]
        slots = [place for place in found if isinstance(place, Slot)]
        column = 0
        for entry in numbers:
            places[entry] = f"ic + {column}" if entry.count > 1 else f"table[ic + {column}]"
            column += entry.count
        places.update({slot: f"memory[im + {k}]" for k, slot in enumerate(slots)})
        first = {site.position: len(slots) + AREA * k for k, site in enumerate(s for s in kind.sites if s.forks)}
        for position, offset in first.items():
            areas = (Area(kind.sites[0].kind, position, i) for i in range(AREA))
            places.update({area: f"memory[im + {offset + area.index}]" for area in areas})
        last = kind.runs[0].links[: len(kind.sites)][-1]
        parts = last.structure.parts
        nq = last.iq - kind.runs[0].links[0].iq + sum(part.nq for part in parts)
        nv = last.iv - kind.runs[0].links[0].iv + sum(part.nv for part in parts)
        strides.append(Strides(nq, nv, 6 * len(kind.sites), column, len(slots) + AREA * len(first)))
        entries.append(numbers)
        forks.append(first)
    areas, table, rows, size = {0: 0}, [], [], AREA
    for run in plan.runs:
        kind, stride, period = plan.kinds[run.kind], strides[run.kind], len(plan.kinds[run.kind].sites)
        count = len(run.links) // period
        begin, end = run.links[0], size + count * stride.im
        for k, link in enumerate(run.links):
            if (offset := forks[run.kind].get(k % period)) is not None:
                areas[link.row] = size + (k // period) * stride.im + offset
        if run.is_continued:
            areas.setdefault(run.links[-1].row, end)
        rows.append((run.kind, count, begin.iq, begin.iv, 6 * begin.row, len(table), size, areas[begin.parent], end))
        table += _numbers(run, entries[run.kind], period)
        size = end + AREA * kind.leads_on
    return Layout(np.array(table), np.array(rows, dtype=np.int64), size, places, tuple(strides))


def _numbers(run: Run, entries: Sequence[Entry], period: int) -> list[float]:
    """The numbers of a run in which its kind differs, period by period."""
    return [
        float(number)
        for first in range(0, len(run.links), period)
        for entry in entries
        for number in run.links[first + entry.position].numbers[entry.index : entry.index + entry.count]
    ]
