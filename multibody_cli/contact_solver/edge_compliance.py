"""Compliance of the passes with edges (`edges`): of the first, and of those that follow.

The first pass has little compliance, which leaves motion at the last digits and impulses at half of them; passes with
more compliance follow, until both are exact.  Where the last solution repeated the impulses before it, as at rest, the
first pass has more compliance and suffices.  Where edges and joints that stick are redundant, velocities may contradict
each other by round-off; loads then shift with less and less compliance until one of them slips or opens.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.natural_map import COMPLIANCE, MORE_COMPLIANCE, PATIENCE
from multibody_cli.kernel import formula, kernel

FIRST_COMPLIANCE, REPEATED = 1e-7, 1e-7
"""Compliance of a first pass, relative to w; relative change of impulses up to which a solution repeats them."""

NEAR, DECREASE, SLOW, MIN_COMPLIANCE = 1e-7, 0.01, 0.5, 1e-12
"""Residual near a solution; factor of the compliance after a pass that leaves more than a share of it; least value."""

EXACT = 1e-13
"""Residual of a solution, relative to the size of the problem."""


@kernel
def start_compliance(edges, steady):
    """Choose the compliance of the first pass; `steady` is whether the guess is expected to be the solution."""
    edges.compliance[0] = COMPLIANCE if steady else FIRST_COMPLIANCE
    edges.last[0] = edges.least[0] = math.inf
    edges.stalled[0] = edges.shifts[0] = 0


@formula
def is_cycling(edges):
    """Whether the next pass is half a step: every second one, where two passes have left no smaller residual.

    States that cycle have a solution between them, as where loads of two passes have opposite signs.
    """
    return edges.stalled[0] >= 2 and edges.stalled[0] % 2 == 0


@kernel
def choose_compliance(edges, residual):
    """Choose the compliance of the next pass.

    Near a solution it decreases while the residual does not: loads shift between redundant edges until one changes its
    state, by a step in proportion to its inverse.  Far from one, more compliance ends cycles.
    """
    edges.stalled[0] = 0 if residual < edges.least[0] else edges.stalled[0] + 1
    edges.least[0] = min(edges.least[0], residual)
    if EXACT < residual <= NEAR and residual > SLOW * edges.last[0]:
        edges.compliance[0] = max(DECREASE * edges.compliance[0], MIN_COMPLIANCE)
        edges.shifts[0] += 1
    else:
        edges.compliance[0] = MORE_COMPLIANCE if residual > NEAR and edges.stalled[0] >= PATIENCE else COMPLIANCE
    edges.last[0] = residual
