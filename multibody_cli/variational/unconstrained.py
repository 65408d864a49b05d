"""A variational step of an unconstrained mechanism: kernels for `root_finding` and `step_end`.

The residual impulse of the DEL equations is applied to the mechanism as in impulse-based dynamics.  The response, by
the articulated-body factorization at the start of the step, corrects the mean rates (RIQN).

Source: Lee, Liu, Park and Srinivasa 2016, Alg. 3 (RIQN), (25).
"""

from __future__ import annotations

from typing import Any

from multibody_cli.kernel import kernel
from multibody_cli.tree.jacobian import add_jacobian_transposed_times
from multibody_cli.variational.discrete_motion import add_velocity_changes, drnea_body_residuals, kick
from multibody_cli.variational.poses import compute_poses
from multibody_cli.variational.workspace import DIAGNOSTIC_RESIDUAL, max_abs


def residual_response(system: Any, work: Any, step: Any, h: float) -> None:
    """Template parameter: the response of a root finder to the residual (see `constrained`)."""


def apply_inverse_mass(system: Any, work: Any, x: Any, y: Any) -> None:
    """Template parameter: y = M^-1 (x + J^T `work.wrenches`), with the factorization of the start."""


@kernel
def prepare_unconstrained(system, work, step, h):
    """Apply the first kick to the bodies and compute the impulses on the coordinates."""
    share = step.settings.first_kick * h
    kick(step.discrete_motions, share)
    for j in range(len(step.impulse)):
        step.impulse[j] = step.residual_carry_over[j] + share * step.tau[j]


@kernel
def evaluate_iterate_unconstrained(system, work, step, t):
    """Compute the poses of the bodies at the iterate."""
    compute_poses(system.tree, step.q, step.discrete_motions, step.pose_work)


def riqn_correction(system, work, step, h):
    """Compute the correction of the mean rates by RIQN, (25): M^-1 applied to the residual, with M of the start."""
    drnea_body_residuals(system.tree.links, work.bodies, step.discrete_motions, h, work.wrenches)
    apply_inverse_mass(system, work, step.impulse, step.correction)


def unconstrained_correction(system, work, step, h):
    """Compute the correction of the mean rates by any other root finder."""
    drnea_body_residuals(system.tree.links, work.bodies, step.discrete_motions, h, work.wrenches)
    for j in range(len(step.impulse)):
        work.impulse[j] = step.impulse[j]
    residual_response(system, work, step, h)
    for j in range(len(step.correction)):
        step.correction[j] = work.response[j]


@kernel
def always_satisfied(work, step, max_violation):
    """Return True: there are no constraint rows."""
    return True


@kernel
def carry_over_residual_unconstrained(system, work, step, h):
    """Store the residual impulse of the step, which the next step applies."""
    tree = system.tree
    drnea_body_residuals(tree.links, work.bodies, step.discrete_motions, h, work.wrenches)
    for j in range(len(step.residual_carry_over)):
        step.residual_carry_over[j] = 0.0 if tree.driven[j] else step.impulse[j]
    add_jacobian_transposed_times(tree, work, step.residual_carry_over)
    step.diagnostics[DIAGNOSTIC_RESIDUAL] = max(
        step.diagnostics[DIAGNOSTIC_RESIDUAL], max_abs(step.residual_carry_over)
    )


@kernel
def begin_no_constraints(work, step):
    """Do nothing: there are no constraint rows."""


def velocities_from_momenta_unconstrained(system, work, step, v, ledger):
    """Compute the velocities from the momenta: M v = p."""
    apply_inverse_mass(system, work, step.residual_carry_over, step.correction)
    for j in range(len(v)):
        v[j] += step.correction[j]
    add_velocity_changes(system.tree.links, work.bodies)
