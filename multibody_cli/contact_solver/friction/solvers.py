"""Solution of one friction problem by the solver that the options of a scene select."""

from __future__ import annotations

from multibody_cli.contact_solver.friction.problem import SolutionReport
from multibody_cli.contact_solver.friction.proximal import solve_proximal
from multibody_cli.contact_solver.friction.staggered_projections import solve_staggered
from multibody_cli.kernel import kernel, lazy_kernel
from multibody_cli.linalg.multipliers import SOLVED, UNFINISHED


@kernel
def solve_island(problem, options, x, scratch) -> SolutionReport:
    """Solve for the impulses x (m,) of one island, with an `IslandWorkspace` as scratch; x holds the initial guess."""
    if options.staggered:
        return solve_by_staggered_projections(problem, options, x, scratch)
    return solve_proximal(problem, options, x, scratch.proximal)


@lazy_kernel
def solve_by_staggered_projections(problem, options, x, scratch) -> SolutionReport:
    """`solve_island` by staggered projections.

    The proximal method solves islands with more rows than the dense matrix; they are reported as UNFINISHED.
    """
    if len(problem.r) <= len(scratch.staggered.b):
        return solve_staggered(problem, options, x, scratch.staggered)
    report = solve_proximal(problem, options, x, scratch.proximal)
    return SolutionReport(
        UNFINISHED if report.status == SOLVED else report.status, report.sweeps, report.steps, report.residual
    )
