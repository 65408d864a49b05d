"""Followers: coordinates and rates that couplings determine from those that the scene gives.

The relations sum c_k q_k = value of all couplings, with `reduce` or without, are solved for coordinates that the scene
does not give, by elimination; sum c_k v_k = 0 likewise for rates.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.constraints import TABLES
from multibody_cli.constraints.relation import TABLE, relations_of
from multibody_cli.kernel import Flags
from multibody_cli.model import Floats, State, System
from multibody_cli.packing.reductions import Place, ReductionPacker

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
        Which coordinates and which rates the scene gives, each (nv,).

    Yields
    ------
    tuple
        Of a relation with `reduce` that the given values contradict: 0 for coordinates or 1 for rates, the dependent
        coordinate, and its leaders, by their indices in v.
    """
    reductions, constraints = list(_reductions(system)), list(_constraints(system))
    for level, (values, kept) in enumerate(zip((state.q, state.v), given, strict=True)):
        packer = ReductionPacker(system.tree.driven | kept)
        for relation, value in (*reductions, *constraints):
            packer.add(relation, value * (1 - level))
        for follower, (terms, offset) in packer.solved.items():
            values[follower[level]] = offset + sum(c * values[leader[level]] for leader, c in terms.items())
        for relation, value in reductions:  # assembly reports contradictions of constraints
            if _contradicts(relation, value * (1 - level), values, level):
                dependent, *leaders = relation
                yield level, dependent[1], [leader[1] for leader in leaders]


def _contradicts(relation: dict[Place, float], value: float, values: Floats, level: int) -> bool:
    terms = [coefficient * values[place[level]] for place, coefficient in relation.items()]
    return bool(abs(sum(terms) - value) > ROUNDED * np.abs([*terms, value]).max())


def _constraints(system: System) -> Iterator[Relation]:
    """Yield the equalities between coordinates of the tree."""
    records = system.constraints.tables[TABLES.index(TABLE)]
    equalities = records[system.rows["one_sided"][records["first_row"]] == 0]
    count = system.tree.links["nv"].sum()
    for relation, value in relations_of(equalities.tolist()):
        if all(iv < count for _, iv in relation):  # coordinates of loop joints follow from the bodies
            yield relation, value


def _reductions(system: System) -> Iterator[Relation]:
    """Yield the reduced couplings, the dependent coordinate first."""
    for dependent in system.reductions.dependents:
        terms = system.reductions.reduction_terms[dependent["first"] : dependent["last"]]
        others = {(int(term["iq"]), int(term["iv"])): -float(term["coefficient"]) for term in terms}
        yield {(int(dependent["iq"]), int(dependent["iv"])): 1.0, **others}, float(dependent["offset"])
