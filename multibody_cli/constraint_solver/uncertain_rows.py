"""Rows of nodes of an elimination tree whose independence depends on the position.

A node is eliminated with its body, which its rows must move independently of each other.  Where the pivot of a row
shows that they do not, as for a rod that is normal to the plane of a planar body, the factorization leaves the row out
(`kkt.ldl_tree`), and it becomes a row of the Delassus matrix, which contains its effect on the other body.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.constraint_solver.ineffective_rows import ineffective_response
from multibody_cli.kernel import kernel, records
from multibody_cli.kkt.nodes import KktTree
from multibody_cli.model import Records
from multibody_cli.spatial.memory import load_force
from multibody_cli.tree.markers import wrench_on_link

UNCERTAIN_ROW = np.dtype([("node", "i8"), ("row", "i8"), ("pivot", "i8")])
"""A row, its node, and the number of its pivot among those of the cells."""

DEPENDENT = 1e-6
"""Pivot below which a row is left out, relative to the response of the free body to a unit multiplier."""

LEAST_PIVOT = 1e-280


def uncertain_rows_of(kkt: KktTree, rows: Records) -> Records:
    """List the rows of nodes that are not marked as primary from the start."""
    found = []
    for i, node in enumerate(kkt.nodes):
        for k, r in enumerate(range(node["first_row"], node["last_row"])):
            if not rows["primary"][r]:
                found.append((i, r, 6 * (node["lower"] + k) + k))
    return records(np.array(found, UNCERTAIN_ROW))


@kernel
def raise_thresholds(uncertain, kkt, firsts, tree, work):
    """Set the thresholds of the pivots of uncertain rows; node i has the links firsts[i] to firsts[i + 1]."""
    for k in range(len(uncertain)):
        one = uncertain[k]
        row, threshold = work.rows[one.row], LEAST_PIVOT
        for h in range(row.first_term, row.last_term):
            term = work.terms[h]
            for n in range(firsts[one.node], firsts[one.node + 1]):
                w = wrench_on_link(tree, work.bodies, term.body, load_force(term), n)
                threshold += ineffective_response(tree.links[n], work.bodies[n], w, DEPENDENT, DEPENDENT)
        kkt.cells.numbers[one.pivot] = max(kkt.cells.numbers[one.pivot], threshold)


@kernel
def mark_primary_rows(uncertain, kkt, rows):
    """Mark the uncertain rows as primary that the factorization has not left out."""
    for k in range(len(uncertain)):
        rows[uncertain[k].row].primary = kkt.cells.numbers[uncertain[k].pivot] != 0.0
