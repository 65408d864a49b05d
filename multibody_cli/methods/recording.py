"""Work arrays of states that steps or lanes have computed, and the loop over output instants in compiled code."""

from __future__ import annotations

from typing import Any

from multibody_cli.forces.states import load_states
from multibody_cli.kernel import Kernel, bound_kernel, kernel, kernel_parameter, optional_kernel_parameter, template
from multibody_cli.method_kernels import evaluate_projected, project_onto_constraints
from multibody_cli.methods.contract import Dynamics
from multibody_cli.tree.kinematics import update_tree_kinematics


@kernel_parameter
def take_steps(system, state, work, scratch, h, start, first, count, fresh) -> Any:
    """Take `count` steps, and return how many ended valid; see `methods.integrators.fixed_step.FixedStepper`."""


@kernel_parameter
def observe(system, state, work, rows, samples, k) -> None:
    """Fill row k of the samples from a state and its work arrays."""


@template(take_steps, observe)
def record_steps(system, state, work, scratch, rows, samples, h, start, first, fresh, k, count, steps) -> int:
    """Fill `count` rows of the samples from row k, each after `steps` steps; return how many steps ended valid."""
    for row in range(count):
        done = take_steps(system, state, work, scratch, h, start, first + row * steps, steps, fresh)
        if done < steps:
            return row * steps + done
        fresh = 0
        observe(system, state, work, rows, samples, k + row)
    return count * steps


@optional_kernel_parameter
def update_work(system, work, state) -> None:
    """Compute the work arrays that the evaluation leaves behind, if it leaves any."""


@template(project_onto_constraints, evaluate_projected, update_work)
def complete(system, work, state, powers) -> None:
    """Compute the accelerations and the work arrays of a state, and the power (na,) of every energy account, W."""
    time, q, v, a = state.time, state.q, state.v, state.a
    load_states(system.forces.states, state.z)
    project_onto_constraints(system, work, time[0], q, v, a, state.ledger)
    evaluate_projected(system, work, time[0], q, v, a, powers)
    update_work(system, work, state)


@kernel
def place_bodies(system, work, state, powers) -> None:
    """Replace `complete`, in a tree without rows, where neither accelerations nor forces are read."""
    update_tree_kinematics(system, state.time[0], state.q, state.v, state.a, work)


def completion(dynamics: Dynamics, update_work: Kernel | None) -> Kernel:
    """Bind the kernel `method_kernels.complete_state` to a method."""
    return bound_kernel(
        complete,
        project_onto_constraints=dynamics.project_onto_constraints,
        evaluate_projected=dynamics.evaluate_projected,
        update_work=update_work,
    )


@template(update_work, observe)
def observe_updated(system, state, work, rows, samples, k) -> None:
    """Observe a state whose work arrays the steps have not computed."""
    update_work(system, work, state)
    observe(system, state, work, rows, samples, k)
