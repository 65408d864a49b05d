"""Impulses of bodies that come to rest, without a guess: all contacts stick, then Newton's method for the natural map.

From impulses of 0, only contacts that approach are pressed.  In a stack whose bodies fall together it is the lowest
one, and each Newton step presses one more layer, so that the number of steps grows with the height.  One step from the
state in which all closed contacts stick carries the loads through all layers at once.

The result is a guess for bodies that come to rest alone, whose motion does not depend on it.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.cones import project
from multibody_cli.contact_solver.friction.natural_map import (
    COMPLIANCE,
    compute_arguments,
    compute_step,
    compute_velocities,
    fastest_motion,
    follow_natural_map,
    relative_residual,
)
from multibody_cli.contact_solver.friction.problem import copy
from multibody_cli.contact_solver.friction.rescue.active_set import OPEN, STICK, has_state, take_branches
from multibody_cli.kernel import kernel

CLOSED = 1e-6
"""Normal velocity without impulses, relative to the size of the problem, below which a contact is closed."""

NEARLY_AT_REST = 0.05
"""Residual of sticking contacts, with admissible impulses, above which bodies do not come to rest."""

AT_REST = 1e-8
"""Speed relative to that without impulses below which bodies are at rest: what the residual resolves."""


@kernel
def guess_rest(F, sufficient, x, n, S) -> int:
    """Replace the impulses x (m,), all 0, if bodies come to rest with others that have the `sufficient` residual.

    Return the number of Newton steps.
    """
    if len(F.mu) == 0 or F.friction_patches > 0 or F.convex:
        return 0
    guess = S.natural[: len(x)]
    compute_velocities(F, x, S)
    size = compute_arguments(F, x, S)
    for k in range(F.equalities, len(F.r)):
        if has_state(F, k):
            S.state[k] = STICK if F.r[k] <= CLOSED * size * math.sqrt(F.w[k]) else OPEN
    take_branches(F, S)
    copy(x, guess, len(x))
    compute_step(F, COMPLIANCE, guess, n, S)
    project(F, guess, S.gamma, S.D)
    copy(S.gamma, guess, len(x))
    if not relative_residual(F, guess, S) <= NEARLY_AT_REST:
        return 1
    steps, residual = follow_natural_map(F, sufficient, guess, n, S)
    if residual <= sufficient and fastest_motion(F, n, S)[0] <= AT_REST:
        copy(S.best, x, len(x))
    return 1 + steps
