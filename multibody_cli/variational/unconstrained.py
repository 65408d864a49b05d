"""A variational step of a mechanism that nothing restrains: what `search` and `arrival` leave open.

What the bodies lack to stride as they do is an impulse, and the response of the mechanism to it, by the factors that
the method has for the start, corrects the mean rates.

Source: Lee, Liu, Park and Srinivasa 2016, Alg. 3 (RIQN), (25).
"""

from __future__ import annotations

from typing import Any

from multibody_cli.kernel import kernel
from multibody_cli.tree.jacobian import add_jacobian_transposed_times
from multibody_cli.variational.discrete_motion import find_lacks, kick, move_velocities
from multibody_cli.variational.poses import pose_all
from multibody_cli.variational.workspace import TOLD_RESIDUAL, largest


def answer_lacks(system: Any, work: Any, ahead: Any, h: float) -> None:
    """Stand for the kernel of a root finder (`held`)."""


def respond(system: Any, work: Any, x: Any, y: Any) -> None:
    """Stand for a method's kernel: y = M^-1 (x + J^T of `work.wrenches`), by its factors at the start."""


@kernel
def prepare_free(system, work, ahead, h):
    """Push the bodies at the start, and gather the impulses on coordinates."""
    share = ahead.settings.first_kick * h
    kick(ahead.strides, share)
    for j in range(len(ahead.impulse)):
        ahead.impulse[j] = ahead.carry[j] + share * ahead.tau[j]


@kernel
def look_free(system, work, ahead, t):
    """Place the bodies at the coordinates ahead."""
    pose_all(system.tree, ahead.q, ahead.strides, ahead.crosser)


def correct_free(system, work, ahead, h):
    """Correct the mean rates by the response to what the bodies lack."""
    find_lacks(system.tree.links, work.bodies, ahead.strides, h, work.wrenches)
    respond(system, work, ahead.impulse, ahead.change)


def correct_free_by(system, work, ahead, h):
    """Correct the mean rates as a root finder answers to what the bodies lack."""
    find_lacks(system.tree.links, work.bodies, ahead.strides, h, work.wrenches)
    for j in range(len(ahead.impulse)):
        work.impulse[j] = ahead.impulse[j]
    answer_lacks(system, work, ahead, h)
    for j in range(len(ahead.change)):
        ahead.change[j] = work.response[j]


@kernel
def holds_nothing(work, ahead, slack):
    """There are no rows."""
    return True


@kernel
def carry_over_free(system, work, ahead, h):
    """Keep what is left of the equations of the step for the next one."""
    tree = system.tree
    find_lacks(tree.links, work.bodies, ahead.strides, h, work.wrenches)
    for j in range(len(ahead.carry)):
        ahead.carry[j] = 0.0 if tree.driven[j] else ahead.impulse[j]
    add_jacobian_transposed_times(tree, work, ahead.carry)
    ahead.told[TOLD_RESIDUAL] = max(ahead.told[TOLD_RESIDUAL], largest(ahead.carry))


@kernel
def begin_no_rows(work, ahead):
    """There are no rows."""


def settle_free(system, work, ahead, v, ledger):
    """Give the bodies the velocities that belong to their momenta."""
    respond(system, work, ahead.carry, ahead.change)
    for j in range(len(v)):
        v[j] += ahead.change[j]
    move_velocities(system.tree.links, work.bodies)
