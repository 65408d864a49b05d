"""Passes over one model as source: woven, written as functions that share their memory, and compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.codegen.joint_steps import Slot
from multibody_cli.codegen.layout import Layout, lay_out
from multibody_cli.codegen.passes import Pass, Weaver, Woven
from multibody_cli.codegen.runs import Plan
from multibody_cli.codegen.text import write_function
from multibody_cli.model import Floats
from multibody_cli.symbolic.generated import address_of
from multibody_cli.symbolic.scalar import Value
from multibody_cli.symbolic.script import Fetch


class Method(NamedTuple):
    """How the functions of a method are headed: its title, what its names mean, and its arguments by their kinds."""

    title: str
    legend: str
    arguments: Mapping[str, str]


class Source(NamedTuple):
    """A function as text, by its title."""

    title: str
    text: str


class Written(NamedTuple):
    """Functions that take the same arguments, and the tables and the memory that they share."""

    sources: tuple[Source, ...]
    layout: Layout
    kinds: str


def write_functions(
    plan: Plan, passes: Sequence[Pass], functions: Mapping[str, Sequence[int]], method: Method
) -> Written:
    """Write functions.

    Parameters
    ----------
    plan
        The tree.
    passes
        All passes, in the order in which they are made.
    functions
        For the title of each function, which passes it makes.
    method
        What all of them say and take.
    """
    woven = _weave(plan, passes)
    kinds = range(len(plan.kinds))
    layout = lay_out(plan, [[s for one in woven for s in one.statements[k]] for k in kinds])
    links = sum(len(run.links) for run in plan.runs)
    legend = method.legend.format(links=links, runs=len(plan.runs), kinds=len(kinds))
    sources = []
    for title, which in functions.items():
        text = write_function(legend, method.arguments, plan, layout, [woven[k] for k in which])
        sources.append(Source(f"{title}: {method.title}", text))
    return Written(tuple(sources), layout, "".join(method.arguments.values()))


def _weave(tree_plan: Plan, passes: Sequence[Pass]) -> list[Woven]:
    """Weave passes that follow one another, the last first to be asked what it needs."""
    known: dict[Slot, Value] = {}
    weavers = [Weaver(tree_plan, one, known) for one in passes]
    for weaver in weavers:
        weaver.settle()
    slots: set[Slot] = set()
    woven = []
    for weaver in reversed(weavers):
        woven.append(weaver.woven(slots))
        slots.update(
            s.place for one in woven[-1].statements for s in one if isinstance(s, Fetch) and isinstance(s.place, Slot)
        )
    return woven[::-1]


class Compiled(NamedTuple):
    """Addresses of the functions, and the tables that they are called with."""

    addresses: tuple[int, ...]
    table: Floats
    runs: NDArray[np.int64]


def compiled(written: Written) -> Compiled:
    """Compile all functions, or find them compiled."""
    addresses = tuple(address_of(source.title, source.text, written.kinds) for source in written.sources)
    return Compiled(addresses, written.layout.table, written.layout.runs.ravel())
