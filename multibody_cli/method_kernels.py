"""The kernels of a method, as parameters of templates (`kernel.templates`).

A method that computes accelerations provides `accelerate` and `apply_inverse_mass`.  The other kernels follow from
these two (`methods.by_acceleration`), and integrators are bound to them (`methods.contract.Dynamics`).  Systems without
constraint rows, contacts or joint friction leave out the optional ones.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.kernel import kernel_parameter, optional_kernel_parameter
from multibody_cli.tree.configuration import displace, normalize


@kernel_parameter
def accelerate(system: Any, work: Any, a: Any) -> None:
    """Compute dv/dt of the free coordinates into `a` (nv,), with kinematics and forces in `work`.

    The right-hand side of the primary rows is in `work.rhs`.
    """


@kernel_parameter
def apply_inverse_mass(system: Any, work: Any, x: Any, y: Any) -> None:
    """Compute the response y = M^-1 (x + J^T w) of the rates to impulses, with the factorization of `accelerate`.

    x and y have the shape (nv,), w are the wrenches `work.wrenches`.  The right-hand side of the primary rows is in
    `work.rhs`.
    """


@optional_kernel_parameter
def finish_accelerations(system: Any, work: Any, a: Any) -> None:
    """Change dv/dt (nv,), with the multipliers of all rows among the forces."""


@kernel_parameter
def impulse_response(system: Any, work: Any) -> None:
    """Compute the constrained response to `work.wrenches` and `work.impulse`, into `work.response` (nv,)."""


@kernel_parameter
def evaluate(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """Compute the accelerations of all coordinates at (t, q, v).

    It writes dv/dt (nv,) into `a`, the power (na,) of every energy account into `powers`, W, and the kinematics into
    `work`; it sets prescribed coordinates of q and v.
    """


@kernel_parameter
def evaluate_projected(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """`evaluate` at the coordinates and rates that `project_onto_constraints` has just projected."""


@kernel_parameter
def complete_state(system: Any, work: Any, state: Any, powers: Any) -> None:
    """Compute the accelerations and the work arrays of a state, as at the end of a step."""


@optional_kernel_parameter
def project_onto_constraints(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, ledger: Any) -> None:
    """Project q and v onto all constraints, in place, after a step.

    `evaluate_projected` uses the kinematics that it leaves in `work`.
    """


@optional_kernel_parameter
def solve_contact_step(
    system: Any, work: Any, contact_work: Any, t: float, h: float, q: Any, start: Any, v: Any, ledger: Any
) -> bool:
    """Change the velocities v of a step without contacts to those with them, in place; it begins with those of `start`.

    Return False if there are more contacts than the capacity: the step has failed.
    """
    return True


@optional_kernel_parameter
def finalize_output(system: Any, work: Any, contact_work: Any, state: Any, powers: Any, h: float) -> None:
    """Compute accelerations and reactions of a state with the forces of its contacts in the last step, for output."""


@optional_kernel_parameter
def displace_step(system: Any, work: Any, h: float, q: Any, v: Any) -> None:
    """Displace the coordinates q (nq,) for a step of h, in place, at the rates v (nv,) alone unless a method does more.

    `work` has the arrays of the last evaluation, at the start of the step.
    """
    displace(system.tree, q, v, h)
    normalize(system.tree, q)


@optional_kernel_parameter
def restore_factors(system: Any, work: Any, t: float, q: Any, v: Any, a: Any) -> None:
    """Compute the factors of the state for `displace_step` again, where other evaluations have changed them."""


@optional_kernel_parameter
def finish_contact_step(system: Any, work: Any, contact_work: Any, q: Any) -> None:
    """Restore the coordinates q (nq,) of bodies at rest, which a displacement may change by round-off.

    Limits of bodies in contact are marked: the next contact step stops coordinates that arrive at them.
    """


@optional_kernel_parameter
def resume_stepping(work: Any, contact_work: Any, a: Any) -> None:
    """Restore the accelerations and multipliers from which steps continue."""
