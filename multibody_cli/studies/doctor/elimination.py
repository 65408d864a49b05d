"""Elimination of the rows that close loops: their number, how many are open together, and the fill-in."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from multibody_cli.constraint_solver.row_elimination import row_elimination_for
from multibody_cli.immutable import Immutable
from multibody_cli.studies.doctor.subject import Subject


class Elimination(Immutable):
    """The elimination of the rows that are not joints of the tree, in blocks of rows with the same bodies.

    Parameters
    ----------
    rows, blocks
        Their numbers.
    open_rows
        Largest number of rows that pass one joint on the way to the last common ancestor of their bodies.
    couplings
        Number of pairs of blocks that are coupled in the factors.
    fill_in
        Number of those pairs that pass no common joint: the elimination of other blocks couples them.
    """

    rows: int
    blocks: int
    open_rows: int
    couplings: int
    fill_in: int


def elimination_of(subject: Subject) -> Elimination | None:
    """Return the elimination of a scene; None if its rows have no plan, and are solved with a dense matrix.

    Joints of the tree cause no fill-in (Baraff 1996, section 6).
    """
    system = subject.simulation.compiled.model.system
    plan = row_elimination_for(system)
    if plan is None:
        return None if len(system.rows) else Elimination(0, 0, 0, 0, 0)
    block_of = np.repeat(np.arange(len(plan.blocks)), plan.blocks["last"] - plan.blocks["first"])
    passing = [plan.slots["place"][link["first_slot"] : link["last_passing"]] for link in plan.links]
    together = {pair for places in passing for pair in combinations(np.unique(block_of[places]).tolist(), 2)}
    couplings = len(plan.neighbours)
    open_rows = max(len(places) for places in passing)
    return Elimination(len(plan.rows), len(plan.blocks), open_rows, couplings, couplings - len(together))
