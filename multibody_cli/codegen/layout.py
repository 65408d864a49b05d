"""Memory layout of generated code: the table of constants, the table of runs, and the memory of an evaluation.

    table    for each period of a run, the constants in which its links differ from others of their kind
    runs     for each run, RUN_WIDTH integers
    memory   the area of the ground; then for each run a block per period: the slots that passes share, then the areas
             of its branching links; then the area of the last link of the run, if other runs follow

An *area* holds the states that a link exchanges with the runs that are attached to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.codegen.joint_steps import ConstantSlot, Slot
from multibody_cli.codegen.links import Link
from multibody_cli.codegen.passes import Area
from multibody_cli.codegen.runs import RunKind, RunPlan
from multibody_cli.model import Floats
from multibody_cli.symbolic.script import Load, Location, Statement, Store

RUN_FIELDS = ("n", "iq", "iv", "row", "ic", "im", "inner", "end")
"""Fields of a run in the table, after its kind.

`n` is the number of periods; `iq`, `iv`, `row`, `ic` and `im` are offsets of its first period in q, v, rows, table and
memory; `inner` and `end` are the areas of the link to which the run is attached and of its own last link.
"""

RUN_WIDTH = 1 + len(RUN_FIELDS)


class Strides(NamedTuple):
    """Increments of the offsets of a run from period to period: q, v, rows, table, memory."""

    iq: int
    iv: int
    row: int
    ic: int
    im: int


class CodeLayout(NamedTuple):
    """The tables of a tree, the size of its memory, and the text of every location."""

    table: Floats
    runs: NDArray[np.int64]
    memory: int
    locations: dict[Location, str]
    strides: tuple[Strides, ...]
    entries: tuple[tuple[ConstantSlot, ...], ...]


class PeriodLayout(NamedTuple):
    """Data of one period of a kind: entries of the table, and areas of its branching links in memory, by position."""

    entries: tuple[ConstantSlot, ...]
    forks: dict[int, int]
    strides: Strides


def lay_out(plan: RunPlan, statements: Sequence[Iterable[Statement]], area: int) -> CodeLayout:
    """Assign table and memory offsets to the locations that `statements` use.

    Parameters
    ----------
    plan
        The tree.
    statements
        The statements of all passes, by kind.
    area
        Size of an area: the numbers that all passes exchange.
    """
    locations: dict[Location, str] = {}
    blocks = [_block(kind, own, locations, area) for kind, own in zip(plan.kinds, statements, strict=True)]
    areas, size = {0: 0}, area
    width = 0
    rows = []
    for run in plan.runs:
        kind, (_, forks, strides) = plan.kinds[run.kind], blocks[run.kind]
        period, begin = len(kind.sites), run.links[0]
        count = len(run.links) // period
        end = size + count * strides.im
        for k, link in enumerate(run.links):
            if k % period in forks:
                areas[link.row] = size + (k // period) * strides.im + forks[k % period]
        if run.is_continued:
            areas.setdefault(run.links[-1].row, end)
        rows.append((run.kind, count, begin.iq, begin.iv, begin.row, width, size, areas[begin.parent], end))
        width += count * strides.ic
        size = end + area * kind.continues
    entries_by_kind = tuple(one.entries for one in blocks)
    links = sorted((link for run in plan.runs for link in run.links), key=lambda link: link.row)
    return CodeLayout(
        table_for(plan, entries_by_kind, links),
        np.array(rows, dtype=np.int64),
        size,
        locations,
        tuple(one.strides for one in blocks),
        entries_by_kind,
    )


def table_for(plan: RunPlan, entries: Sequence[Sequence[ConstantSlot]], links: Sequence[Link]) -> Floats:
    """Return the table of a tree, or of a variant with other constants: its links in the order of rows."""
    numbers: list[float] = []
    for run in plan.runs:
        period = len(plan.kinds[run.kind].sites)
        for first in range(0, len(run.links), period):
            for entry in entries[run.kind]:
                own = links[run.links[first + entry.position].row - 1].constants
                numbers += own[entry.number : entry.number + entry.size].tolist()
    return np.array(numbers)


def _block(kind: RunKind, statements: Iterable[Statement], locations: dict[Location, str], area: int) -> PeriodLayout:
    """Lay out one period, and record the text of its locations."""
    used = dict.fromkeys(s.location for s in statements if isinstance(s, Load | Store))
    entries = tuple(location for location in used if isinstance(location, ConstantSlot))
    slots = [location for location in used if isinstance(location, Slot)]
    column = 0
    for entry in entries:
        locations[entry] = f"ic + {column}" if entry.size > 1 else f"table[ic + {column}]"
        column += entry.size
    locations.update({slot: f"memory[im + {k}]" for k, slot in enumerate(slots)})
    forking = [site for site in kind.sites if site.forks]
    forks = {site.position: len(slots) + area * k for k, site in enumerate(forking)}
    for site in forking:
        for number in range(area):
            locations[Area(site.kind, site.position, number)] = f"memory[im + {forks[site.position] + number}]"
    last, parts = kind.sites[-1], kind.sites[-1].structure.parts
    nq, nv = last.iq + sum(part.nq for part in parts), last.iv + sum(part.nv for part in parts)
    return PeriodLayout(entries, forks, Strides(nq, nv, len(kind.sites), column, len(slots) + area * len(forks)))
