"""Followers: coordinates and rates that couplings determine from those that the scene states.

The relations sum c_k q_k = value of all couplings, with `reduce` or without, are solved for coordinates that the scene
does not give, by elimination; sum c_k v_k = 0 likewise for rates.  A coupling with backlash, or a combination with
limits, determines a coordinate only if it would be outside: it starts at the nearest flank or limit.  Outputs of
functions follow their inputs, and lead in these relations.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.constraints import TABLES, function
from multibody_cli.constraints.reduction import Reductions, update_dependent_coordinates
from multibody_cli.constraints.relation import TABLE, relations_of
from multibody_cli.kernel import Flags
from multibody_cli.model import Floats, State, System
from multibody_cli.packing.rows import Place, ReductionPacker

ROUNDED = 0.01
"""Largest error of a relation of given values that is a rounding of the input, relative to its largest term."""

Relation = tuple[dict[Place, float], float]


def place_followers(system: System, state: State, given: tuple[Flags, Flags]) -> Iterator[tuple[int, int, list[int]]]:
    """Set the followers among coordinates and rates, in place; yield the contradictions of given values.

    Parameters
    ----------
    system, state
        The system, and its state with prescribed coordinates and rates.
    given
        Which coordinates and which rates the scene states, each (nv,).

    Yields
    ------
    tuple
        Of a coupling with `reduce` that the given values contradict: 0 for coordinates or 1 for rates, the dependent
        coordinate, and its leaders, by their indices in v.
    """
    functions = system.constraints.tables[TABLES.index(function.TABLE)]
    outputs, starts = functions[functions["address"] != 0], (state.q.copy(), state.v.copy())
    leads = np.isin(np.arange(len(system.tree.driven)), outputs["iv"])
    closes = np.arange(len(system.tree.driven)) >= system.tree.links["nv"].sum()
    keeps_q, keeps_v = (system.tree.driven | kept | closes for kept in given)
    for _ in range(1 + len(functions)):  # a pass places at least one more of outputs and followers that lead each other
        for level, (values, kept) in enumerate(zip((state.q, state.v), given, strict=True)):
            place = outputs["iq" if level == 0 else "iv"]
            placed = values[place]
            values[:] = starts[level]
            values[place] = placed
            _place_level(system, values, system.tree.driven | kept | leads, level)
        if len(functions):
            function.place_outputs(functions, system.constraints.buffers, state.q, state.v, keeps_q, keeps_v)
    for level in (0, 1):  # assembly reports contradictions of constraints
        for k, dependent in enumerate(system.reductions.dependents):
            if _contradicts(system.reductions, k, state, level):
                terms = system.reductions.reduction_terms[dependent["first"] : dependent["last"]]
                yield level, int(dependent["iv"]), terms["iv"].tolist()


def _place_level(system: System, values: Floats, kept: Flags, level: int) -> None:
    """Set the followers of relations among the coordinates, level 0, or among the rates, level 1."""
    packer = ReductionPacker(kept)
    for relation, value in (*_reductions(system), *_constraints(system)):
        packer.add(relation, value * (1 - level))
    _follow(packer, values, level)
    if level == 0:
        _enter_ranges(packer, list(_constraints(system, one_sided=1)), values)


def _follow(packer: ReductionPacker, values: Floats, level: int) -> None:
    for follower, (terms, offset) in packer.solved.items():
        values[follower[level]] = offset + sum(c * values[leader[level]] for leader, c in terms.items())


def _enter_ranges(packer: ReductionPacker, bounds: list[Relation], values: Floats) -> None:
    """Relate the coordinates of each lower bound of a sum that is violated, which may lead others out of theirs."""
    while bounds:
        sums = [sum(c * values[iq] for (iq, _), c in relation.items()) for relation, _ in bounds]
        outside = [k for k, (_, lower) in enumerate(bounds) if not lower <= sums[k]]
        if not outside:
            return
        packer.add(*bounds.pop(outside[0]))
        _follow(packer, values, 0)


def _contradicts(reductions: Reductions, k: int, state: State, level: int) -> bool:
    """Whether the value of a dependent coordinate, level 0, or its rate, level 1, is not that of its leaders."""
    dependent, follows = reductions.dependents[k], state.copy()
    update_dependent_coordinates(reductions._replace(dependents=reductions.dependents[k : k + 1]), *follows[1:3])
    place = dependent["iq" if level == 0 else "iv"]
    given, wanted = state[1 + level][place], follows[1 + level][place]
    summed = reductions.reduction_terms[dependent["first"] : dependent["last"]] if dependent["address"] == 0 else ()
    scale = [
        given,
        wanted,
        *(one["coefficient"] * state[1 + level][one["iq" if level == 0 else "iv"]] for one in summed),
    ]
    return bool(abs(given - wanted) > ROUNDED * np.abs(scale).max())


def _constraints(system: System, one_sided: int = 0) -> Iterator[Relation]:
    """Yield the equalities, or the one-sided relations, between coordinates of the tree."""
    records = system.constraints.tables[TABLES.index(TABLE)]
    chosen = records[system.rows["one_sided"][records["first_row"]] == one_sided]
    count = system.tree.links["nv"].sum()
    for relation, value in relations_of(chosen.tolist()):
        if all(iv < count for _, iv in relation):  # coordinates of loop joints follow from the bodies
            yield relation, value


def _reductions(system: System) -> Iterator[Relation]:
    """Yield the reduced relations, the dependent coordinate first."""
    dependents = system.reductions.dependents
    for dependent in dependents[dependents["address"] == 0]:
        terms = system.reductions.reduction_terms[dependent["first"] : dependent["last"]]
        others = {(int(term["iq"]), int(term["iv"])): -float(term["coefficient"]) for term in terms}
        yield {(int(dependent["iq"]), int(dependent["iv"])): 1.0, **others}, float(dependent["offset"])
