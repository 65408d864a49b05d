"""Source of functions that share their memory: passes over one model, specialized, written and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.codegen.joint_steps import Slot
from multibody_cli.codegen.layout import CodeLayout, lay_out
from multibody_cli.codegen.passes import Pass, Propagator, SpecializedPass
from multibody_cli.codegen.runs import RunPlan
from multibody_cli.codegen.text import joined, write_function, write_passes
from multibody_cli.model import Floats
from multibody_cli.symbolic.generated import address_of
from multibody_cli.symbolic.scalar import Value
from multibody_cli.symbolic.script import Load


class FunctionHead(NamedTuple):
    """Head of the functions of a method: its title, the legend of its names, and its arguments with their kinds.

    `surround` returns the body of a function for the lines of each of its passes.
    """

    title: str
    legend: str
    arguments: Mapping[str, str]
    surround: Callable[[Sequence[Sequence[str]]], Sequence[str]] = joined


class Source(NamedTuple):
    """The text of a function, and its title."""

    title: str
    text: str


class GeneratedFunctions(NamedTuple):
    """Functions that take the same arguments, with their layout, and the kinds of the arguments."""

    sources: tuple[Source, ...]
    layout: CodeLayout
    kinds: str


def write_functions(
    plan: RunPlan, passes: Sequence[Pass], functions: Mapping[str, Sequence[int]], method: FunctionHead
) -> GeneratedFunctions:
    """Write functions.

    Parameters
    ----------
    plan
        The tree.
    passes
        All passes, in order of execution.
    functions
        For the title of each function, the indices of its passes.
    method
        Title, legend and arguments of all of them.
    """
    specialized = _specialize(plan, passes)
    kinds = range(len(plan.kinds))
    area = max(one.area + len(one.state_names) for one in passes)
    layout = lay_out(plan, [[s for one in specialized for s in one.statements[k]] for k in kinds], area)
    links = sum(len(run.links) for run in plan.runs)
    legend = method.legend.format(links=links, runs=len(plan.runs), kinds=len(kinds))
    sources = []
    for title, which in functions.items():
        body = method.surround(write_passes(plan, layout, [specialized[k] for k in which]))
        text = write_function(legend, method.arguments, body)
        sources.append(Source(f"{title}: {method.title}", text))
    return GeneratedFunctions(tuple(sources), layout, "".join(method.arguments.values()))


def _specialize(tree_plan: RunPlan, passes: Sequence[Pass]) -> list[SpecializedPass]:
    """Specialize consecutive passes; the last one first, because it determines the values that earlier ones store."""
    known: dict[Slot, Value] = {}
    propagators = [Propagator(tree_plan, one, known) for one in passes]
    for propagator in propagators:
        propagator.propagate()
    slots: set[Slot] = set()
    specialized = []
    for propagator in reversed(propagators):
        specialized.append(propagator.specialized(slots))
        slots.update(
            s.location
            for one in specialized[-1].statements
            for s in one
            if isinstance(s, Load) and isinstance(s.location, Slot)
        )
    return specialized[::-1]


class Compiled(NamedTuple):
    """Addresses of the functions, and the tables that they are called with."""

    addresses: tuple[int, ...]
    table: Floats
    runs: NDArray[np.int64]


def compiled(written: GeneratedFunctions) -> Compiled:
    """Compile all functions, or load them from the cache."""
    addresses = tuple(address_of(source.title, source.text, written.kinds) for source in written.sources)
    return Compiled(addresses, written.layout.table, written.layout.runs.ravel())
