"""Methods whose rows are eliminated in the recursion of articulated bodies (`constraint_solver.constrained_bodies`).

The recursion computes the multipliers, and the responses of projections and of contact steps.  Any other method than
`aba` then computes the accelerations under all forces, multipliers included, by its own equations.

With dry friction of joints, the rows are those of the problem of a contact step, beside contacts and friction patches:
a loop may leave a patch without any response, whose friction changes the loads of the loop all the same.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from multibody_cli.constraint_solver import constrained_bodies
from multibody_cli.constraint_solver.loop_joints import compute_loop_accelerations
from multibody_cli.constraint_solver.row_elimination import row_elimination_for, set_primary
from multibody_cli.immutable import replace
from multibody_cli.kernel import Kernel, bound_kernel, kernel_parameter, template
from multibody_cli.method_kernels import accelerate, solve_contact_step
from multibody_cli.methods.by_acceleration import EliminatedRows, MethodKernels, ReusedFactors
from multibody_cli.model import Model, System
from multibody_cli.tree.workspace import Work, dual_for

LOST = -1
"""`RowElimination.regular` if another factorization has taken the place of its own."""


@kernel_parameter
def factor(system, work, a) -> None:
    """Factor the tree with its rows."""


@template(accelerate)
def accelerate_under_all_forces(system, work, a) -> None:
    """Compute dv/dt (nv,) under all forces by a method, with the multipliers among them, and that of closures."""
    accelerate(system, work, a)
    compute_loop_accelerations(system.tree, a, work)


@template(accelerate)
def factor_tree(system, work, a) -> None:
    """Compute dv/dt (nv,) without rows by a method; the factors with rows eliminated are lost."""
    work.elimination.regular[0] = LOST
    accelerate(system, work, a)


@template(factor, solve_contact_step)
def solve_contact_step_with_rows(system, work, contact_work, t, h, q, start, v, ledger) -> bool:
    """Solve a contact step in which no row is eliminated, and factor again if it has lost the factors."""
    set_primary(work, 0)
    solved = solve_contact_step(system, work, contact_work, t, h, q, start, v, ledger)
    if work.elimination.regular[0] == LOST:
        factor(system, work, work.response)
    set_primary(work, work.elimination.regular[0])
    return solved


def with_rows(factor: Kernel, solve: Kernel) -> Kernel:
    """Return a contact step whose rows are not eliminated, for a method that factors the tree with them before."""
    return bound_kernel(solve_contact_step_with_rows, factor=factor, solve_contact_step=solve)


def with_elimination(kernels: MethodKernels, *, own: bool = True) -> MethodKernels:
    """Return kernels that eliminate rows; `own` is whether those of the method compute the final accelerations."""

    def workspace(model: Model, options: Any) -> Work:
        elimination = row_elimination_for(model.system)
        assert elimination is not None
        work = kernels.workspace(model, options)
        work.rows["active"][elimination.ineffective] = 0
        n = len(model.system.rows)
        dual = dual_for(n - len(elimination.ineffective), model.nq)  # for all rows that can be active
        return work._replace(elimination=elimination, rhs=np.zeros(n), dual=dual)

    tree_alone = bound_kernel(factor_tree, accelerate=kernels.accelerate)
    finish = bound_kernel(accelerate_under_all_forces, accelerate=kernels.accelerate) if own else None
    return replace(
        kernels,
        accelerate=constrained_bodies.accelerate_with_rows,
        apply_inverse_mass=constrained_bodies.apply_inverse_mass_with_rows,
        workspace=workspace,
        reused=ReusedFactors(constrained_bodies.factor_with_rows, constrained_bodies.accelerate_again),
        rows=EliminatedRows(
            finish, tree_alone, kernels.apply_inverse_mass, partial(with_rows, constrained_bodies.factor_with_rows)
        ),
    )


def has_elimination(system: System, *, own: bool = True) -> bool:
    """Whether rows of a system are eliminated; with implicit forces, not those of a method with its `own` equations."""
    return not (own and system.implicit) and row_elimination_for(system) is not None
