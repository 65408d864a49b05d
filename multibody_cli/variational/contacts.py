"""Contacts in a variational step: impacts and Coulomb friction at the start, on the velocities that its pushes leave.

With all pushes of a step at its start, what a mechanism has there before and after them are the velocities v and

    v* = v + h M^-1 f,

linear in the impulses of contacts, which take v* to v' by the laws of `contact_solver.contact_step`.  These impulses
join the momenta that the bodies bring, and the step is searched for as any other: a body that sticks has none, and
stays where it is to round-off.  What is left of a penetration moves the bodies apart before the step, without a change
of velocity.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.constraint_solver.solver import aim_nowhere, answer
from multibody_cli.contact_solver.output_forces import find_pushes, push_no_more
from multibody_cli.kernel import kernel
from multibody_cli.tree.jacobian import complete_columns
from multibody_cli.variational.discrete_motion import add_wrenches, keep_momenta, keep_start, push_all
from multibody_cli.variational.step_end import evaluate


def collide(system: Any, work: Any, touch: Any, t: float, h: float, q: Any, v: Any, ledger: Any) -> bool:
    """Stand for the kernel of a method that takes velocities v* to those with contacts (`methods.contract`)."""
    return True


@kernel
def meet_nothing(system, work, touch, ahead, t, h, q, v, a, powers, ledger):
    """Nothing touches."""
    return True


def meet(system, work, touch, ahead, t, h, q, v, a, powers, ledger) -> bool:
    """Give the bodies the impulses of contacts, and guess by them how they move on; False where there are too many."""
    rate, moved = ahead.rate, ahead.q
    push_all(ahead.strides, h, work.wrenches)
    for j in range(len(v)):
        work.impulse[j] = h * ahead.tau[j]
    aim_nowhere(work)
    answer(system, work)
    for j in range(len(v)):
        rate[j] = v[j] + work.response[j]
    for k in range(len(q)):
        moved[k] = q[k]
    if not collide(system, work, touch, t, h, q, rate, ledger):
        return False
    if touch.number[0] == 0:
        return True
    if distance(moved, q) > 0.0:
        evaluate(system, work, t, q, v, a, powers)
        complete_columns(system.tree, work)
        keep_start(system.tree, work.bodies, ahead.strides)
        keep_momenta(system.tree.links, work.bodies, ahead.strides)
    find_pushes(work, touch, 1.0)
    push_no_more(work)
    add_wrenches(ahead.strides, work.wrenches)
    return True


@kernel
def distance(x, y):
    """Largest difference of two arrays."""
    most = 0.0
    for k in range(len(x)):
        most = max(most, abs(x[k] - y[k]))
    return most
