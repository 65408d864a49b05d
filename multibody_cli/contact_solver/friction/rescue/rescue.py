"""Active sets, and paths with proximal iterations in turn, after iterations that leave a problem unsolved.

If iterations stop near a solution, redundant contacts contradict each other by little, and active sets decide which of
them open (`active_set`); with a tight tolerance also from results of the natural map with several scales w.

If that fails, the solver follows the path of `central_path` and iterates from its end: in rounds, with less compliance
if the end of the path was reached, and with more if it was not.
"""

from __future__ import annotations

from multibody_cli.contact_solver.friction.natural_map import keep_if_better, relative_residual, set_normal_velocities
from multibody_cli.contact_solver.friction.problem import (
    BLOCKS_PER_ROW,
    PER_CONTACT,
    copy,
    end_of_contacts,
    first_resistance,
)
from multibody_cli.contact_solver.friction.proximal_step import EXACT, NEAR_ROUND_OFF, proximal_iterations
from multibody_cli.contact_solver.friction.rescue.active_set import exchange_from, exchange_from_natural_maps
from multibody_cli.contact_solver.friction.rescue.central_path import follow_path
from multibody_cli.contact_solver.laws import CONVEX_CONE, COULOMB
from multibody_cli.kernel import kernel, lazy_kernel

INITIAL_PATH_COMPLIANCE, MIN_PATH_COMPLIANCE, COMPLIANCE_DECREASE, COMPLIANCE_INCREASE = 1e-4, 1e-9, 0.01, 3.0
"""Compliance of a path relative to a row's own W: initial value, minimum, factor after a path whose end was reached,
and factor after one that was abandoned.
"""

INITIAL_SMOOTHING, FINAL_SMOOTHING, RESTART_SMOOTHING = 0.1, 0.1, 10.0
"""Initial sigma of a path; its final sigma relative to the compliance; and the initial sigma of a path that continues
another one, relative to the final sigma there.
"""

MAX_PATHS, EXTRA_PATHS = 8, 1
"""Largest number of paths, and of those that are followed although the tolerance is met, if the residual is above
`EXACT`.
"""


@lazy_kernel
def rescue(problem, options, sufficient, x, n, best_residual, scratch) -> tuple[int, int, float]:
    """Continue with the guess x (m,) and the best impulses until these have the `sufficient` residual.

    Return the number of paths, the number of Newton steps, and the smallest residual.  Paths and active sets are those
    of Coulomb's law and its relaxation.
    """
    if problem.law != COULOMB and problem.law != CONVEX_CONE:
        return 0, 0, best_residual
    close = max(sufficient, EXACT)
    steps, best_residual = exchange_from(scratch.best, problem, close, n, best_residual, scratch)
    if sufficient <= EXACT:
        new_steps, best_residual = exchange_from_natural_maps(
            problem, max(options.tolerance, close), close, x, n, best_residual, scratch
        )
        steps += new_steps
    rounds, met, compliance, first = 0, 0, INITIAL_PATH_COMPLIANCE, INITIAL_SMOOTHING
    while best_residual > close and met <= EXTRA_PATHS and rounds < min(MAX_PATHS, options.sweeps):
        set_normal_velocities(problem, x, scratch.xi[:n], scratch)
        give_loads(problem, x)
        new_steps, reached = follow_path(
            problem,
            scratch.xi0,
            compliance,
            first,
            FINAL_SMOOTHING * compliance,
            x,
            scratch.xi[:n],
            scratch.smoothed,
            scratch.matrix,
        )
        steps += new_steps
        take_loads(problem, x)
        relative_residual(problem, x, scratch)
        copy(scratch.gamma, scratch.natural, len(x))
        best_residual = keep_if_better(problem, scratch.natural, best_residual, scratch)
        new_steps, best_residual = proximal_iterations(
            problem, sufficient, NEAR_ROUND_OFF, x, n, best_residual, scratch
        )
        steps += new_steps
        copy(scratch.best, x, len(x))
        if reached:
            first, compliance = (
                RESTART_SMOOTHING * FINAL_SMOOTHING * compliance,
                max(COMPLIANCE_DECREASE * compliance, MIN_PATH_COMPLIANCE),
            )
        else:
            first, compliance = INITIAL_SMOOTHING, COMPLIANCE_INCREASE * compliance
        rounds += 1
        met += best_residual <= options.tolerance
    if rounds > 0:
        new_steps, best_residual = exchange_from(scratch.best, problem, close, n, best_residual, scratch)
        steps += new_steps
    return rounds, steps, best_residual


@kernel
def give_loads(problem, x):
    """Replace resistances by friction patches with the loads that x (m,) has: a path follows discs of given radius."""
    for i in range(len(problem.loads)):
        k = end_of_contacts(problem) + PER_CONTACT * i
        x[k] = problem.mu[first_resistance(problem) + i] * max(x[problem.loads[i]], 0.0)
        for side in range(BLOCKS_PER_ROW):
            problem.block[k, side] = -1


@kernel
def take_loads(problem, x):
    """Undo `give_loads`."""
    for i in range(len(problem.loads)):
        k = end_of_contacts(problem) + PER_CONTACT * i
        x[k] = 0.0
        for side in range(BLOCKS_PER_ROW):
            problem.block[k, side] = problem.block[problem.loads[i], side]
