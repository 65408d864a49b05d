"""The end of a step, which is the start of the next: momenta, what pushes there, and the velocities that follow."""

from __future__ import annotations

from typing import Any

from multibody_cli.forces.elements import push_all
from multibody_cli.kernel import kernel
from multibody_cli.tree.configuration import recentre
from multibody_cli.tree.jacobian import complete_columns
from multibody_cli.variational.constrained import forget_closures
from multibody_cli.variational.discrete_motion import arrive, find_lacks_at_start, keep_momenta, keep_start, kick


# --- stand-ins ----------------------------------------------------------------------------------------------------
def evaluate(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """Stand for the kernel of a method that gives accelerations (`methods.contract`)."""


def begin_rows(work: Any, ahead: Any) -> None:
    """Stand for the kernel that keeps what rows push with, and how far they are off."""


def settle(system: Any, work: Any, ahead: Any, v: Any, ledger: Any) -> None:
    """Stand for the kernel that gives the bodies the velocities that belong to their momenta."""


def arrive_at(system, work, ahead, t, h, q, v, a, powers, ledger):
    """Make the end of the step that was found the start of the next, in place; t is its time."""
    tree, order = system.tree, 1.0 / ahead.settings.first_kick
    arrive(tree.links, ahead.strides)
    for k in range(len(q)):
        q[k] = ahead.q[k]
    for j in range(len(v)):
        ahead.bend[j] = (ahead.rate[j] - v[j] - 0.5 * h * ahead.a[j]) / (h * h)
        v[j] = order * ahead.rate[j] - (order - 1.0) * v[j]
    recentre(tree, q, v)
    evaluate(system, work, t, q, v, a, powers)
    complete_columns(tree, work)
    keep_start(tree, work.bodies, ahead.strides)
    share = (1.0 - ahead.settings.first_kick) * h
    kick(ahead.strides, share)
    keep_forces(system.tree, work, ahead, a)
    for j in range(len(v)):
        ahead.carry[j] += share * ahead.tau[j]
    find_lacks_at_start(tree.links, work.bodies, ahead.strides, work.wrenches)
    settle(system, work, ahead, v, ledger)
    find_powers(system, work, ahead, t, q, v, powers)


def begin(system, work, ahead, t, q, v, a, powers):
    """Make the state at (t, q, v), with accelerations and powers, the start of the first step."""
    evaluate(system, work, t, q, v, a, powers)
    complete_columns(system.tree, work)
    keep_start(system.tree, work.bodies, ahead.strides)
    keep_momenta(system.tree.links, work.bodies, ahead.strides)
    keep_forces(system.tree, work, ahead, a)
    begin_rows(work, ahead)
    for j in range(len(v)):
        ahead.rate[j] = v[j]
        ahead.carry[j] = ahead.bend[j] = 0.0


@kernel
def keep_forces(tree, work, ahead, a):
    """Keep accelerations, and the forces on coordinates that have not been handed to the bodies."""
    for j in range(len(a)):
        ahead.a[j] = a[j]
        ahead.tau[j] = work.tau[j]
    forget_closures(tree, ahead.tau)


@kernel
def find_powers(system, work, ahead, t, q, v, powers):
    """Find the powers of all forces again, at the velocities that belong to the momenta; motions keep theirs."""
    rows = system.motions.rows
    push_all(system.forces, t, q, v, work, ahead.powers)
    for k in range(len(rows)):
        ahead.powers[rows[k].account] = powers[rows[k].account]
    for i in range(len(powers)):
        powers[i] = ahead.powers[i]
