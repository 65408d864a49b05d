"""Completion of known states: accelerations and work arrays, as at the end of a step."""

from __future__ import annotations

from functools import cache
from typing import Any

from multibody_cli.kernel import bound_kernel, kernel, kernel_parameter, template
from multibody_cli.method_kernels import evaluate_projected, project_onto_constraints
from multibody_cli.methods.contract import Dynamics, Kernel
from multibody_cli.tree.kinematics import update_tree_kinematics


@kernel_parameter
def update_work(system: Any, work: Any, state: Any) -> None:
    """Compute the work arrays that the evaluation leaves behind."""


@kernel
def skip_work_update(system: Any, work: Any, state: Any) -> None:
    """Replace `update_work` where the evaluation computes all work arrays."""


@template(project_onto_constraints, evaluate_projected, update_work)
def complete(system: Any, work: Any, state: Any, powers: Any) -> None:
    """Compute the accelerations and the work arrays of a state, and the power (na,) of every energy account, W."""
    time, q, v, a = state.time, state.q, state.v, state.a
    project_onto_constraints(system, work, time[0], q, v, a, state.ledger)
    evaluate_projected(system, work, time[0], q, v, a, powers)
    update_work(system, work, state)


@kernel
def place_bodies(system: Any, work: Any, state: Any, powers: Any) -> None:
    """Replace `complete`, in a tree without rows, where neither accelerations nor forces are read."""
    update_tree_kinematics(system, state.time[0], state.q, state.v, state.a, work)


@cache
def completion(dynamics: Dynamics, update_work: Kernel) -> Kernel:
    """Bind the kernel `method_kernels.complete_state` to a method."""
    return bound_kernel(
        complete,
        project_onto_constraints=dynamics.project_onto_constraints,
        evaluate_projected=dynamics.evaluate_projected,
        update_work=update_work,
    )
