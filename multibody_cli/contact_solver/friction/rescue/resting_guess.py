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
from multibody_cli.contact_solver.friction.rescue.active_set import (
    OPEN,
    STICK,
    has_state,
    row_of_resistance,
    take_branches,
)
from multibody_cli.contact_solver.laws import COULOMB
from multibody_cli.kernel import kernel

CLOSED = 1e-6
"""Normal velocity without impulses, relative to the size of the problem, below which a contact is closed."""

NEARLY_AT_REST = 0.05
"""Residual of sticking contacts, with admissible impulses, above which bodies do not come to rest."""

AT_REST = 1e-8
"""Speed relative to that without impulses below which bodies are at rest: the resolution of the residual."""


@kernel
def guess_rest(problem, sufficient, x, n, scratch) -> int:
    """Replace the impulses x (m,), all 0, if bodies come to rest with others that have the `sufficient` residual.

    Return the number of Newton steps.
    """
    if len(problem.mu) == 0 or problem.friction_patches > 0 or problem.law != COULOMB:
        return 0
    guess = scratch.natural[: len(x)]
    compute_velocities(problem, x, scratch)
    size = compute_arguments(problem, x, scratch)
    for k in range(problem.equalities, len(problem.r)):
        if has_state(problem, k):
            scratch.state[k] = STICK if problem.r[k] <= CLOSED * size * math.sqrt(problem.w[k]) else OPEN
    for i in range(len(problem.loads)):
        scratch.state[row_of_resistance(problem, i)] = scratch.state[problem.loads[i]]
    take_branches(problem, scratch)
    copy(x, guess, len(x))
    compute_step(problem, COMPLIANCE, guess, n, scratch)
    project(problem, guess, scratch.gamma, scratch.D)
    copy(scratch.gamma, guess, len(x))
    if not relative_residual(problem, guess, scratch) <= NEARLY_AT_REST:
        return 1
    steps, residual = follow_natural_map(problem, sufficient, guess, n, scratch)
    if residual <= sufficient and fastest_motion(problem, n, scratch)[0] <= AT_REST:
        copy(scratch.best, x, len(x))
    return 1 + steps
