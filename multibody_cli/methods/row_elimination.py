"""Methods whose rows are eliminated in the recursion of articulated bodies (`constraint_solver.constrained_bodies`).

The recursion computes the multipliers, and the responses of projections.  Any other method than `aba` then computes the
accelerations under all forces, multipliers included, by its own equations.

In a contact step, the rows are those of its problem, beside contacts and friction patches.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from multibody_cli.constraint_solver import constrained_bodies
from multibody_cli.constraint_solver.loop_joints import compute_loop_accelerations
from multibody_cli.constraint_solver.row_elimination import row_elimination_for
from multibody_cli.kernel import bound_kernel, template
from multibody_cli.method_kernels import accelerate, finish_accelerations
from multibody_cli.methods.by_acceleration import AccelerationKind, BesideContacts
from multibody_cli.methods.contract import Kernel
from multibody_cli.methods.evaluation import keep_accelerations
from multibody_cli.model import Model, System
from multibody_cli.tree.workspace import Work


@template(accelerate)
def accelerate_under_all_forces(system: Any, work: Any, a: Any) -> None:
    """Compute dv/dt (nv,) under all forces by a method, with the multipliers among them, and that of closures."""
    accelerate(system, work, a)
    compute_loop_accelerations(system.tree, a, work)


@template(finish_accelerations)
def release_rows(system: Any, work: Any, a: Any) -> None:
    """`finish_accelerations`; then leave the rows to the contact step."""
    finish_accelerations(system, work, a)
    for place in range(len(work.elimination.rows)):
        work.rows[work.elimination.rows[place]].primary = False


@cache
def _own(kernel: Kernel) -> Kernel:
    return bound_kernel(accelerate_under_all_forces, accelerate=kernel)


@cache
def _released(finish: Kernel) -> Kernel:
    return bound_kernel(release_rows, finish_accelerations=finish)


def with_elimination(kind: AccelerationKind, *, own: bool = True) -> AccelerationKind:
    """Return a kind whose rows are eliminated; `own` is whether it computes the final accelerations itself."""
    finish = _own(kind.accelerate) if own else keep_accelerations

    def workspace(model: Model, options: Any) -> Work:
        elimination = row_elimination_for(model.system)
        assert elimination is not None
        work = kind.workspace(model, options)
        work.rows["active"][elimination.ineffective] = 0
        return work._replace(elimination=elimination, rhs=np.zeros(len(model.system.rows)))

    return replace(
        kind,
        accelerate=constrained_bodies.accelerate,
        factor=constrained_bodies.factor,
        apply_inverse_mass=constrained_bodies.apply_inverse_mass,
        workspace=workspace,
        finish=finish,
        beside_contacts=BesideContacts(kind.accelerate, kind.apply_inverse_mass, _released(finish)),
    )


def has_elimination(system: System) -> bool:
    """Whether rows of a system are eliminated."""
    return row_elimination_for(system) is not None
