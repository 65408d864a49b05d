"""Work arrays of a variational method: the step that is being looked for, and what it starts from."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.kernel import formula, records
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.variational.discrete_motion import STRIDE
from multibody_cli.variational.poses import Crosser, crosser_for


class Settings(NamedTuple):
    """How steps are found.

    `tolerance` is of the mean rates of a step, relative to 1 + the largest of them, rad/s and m/s alike; `first_kick`
    is the share of a step's push that comes at its start, 1/2 or 1, and the rest comes at its end; `adaptive` says
    whether a step that is not found is cut into parts; `stages` (s,) are the lengths of the basic steps of one step, as
    parts of it; `maximal` says that every body moves by itself.
    """

    tolerance: float
    max_iterations: int
    first_kick: float
    guess: int
    adaptive: bool
    stages: Floats
    maximal: bool


class Ahead(NamedTuple):
    """Work arrays for n velocities."""

    settings: Settings
    strides: Records  # a body each
    crosser: Crosser
    q: Floats  # (nq,) coordinates at the end of the step
    rate: Floats  # (n,) mean rates of the step
    rate_before: Floats  # (n,) what a search found there
    change: Floats  # (n,) correction of these
    tau: Floats  # (n,) generalized forces at the start
    corrected: Integers  # (1,) corrections of this search so far
    carry: Floats  # (n,) impulses that earlier steps left over
    impulse: Floats  # (n,) impulses on the coordinates, of one step
    a: Floats  # (n,) accelerations at the start
    bend: Floats  # (n,) by how much the mean rates of the last step differed from v + h a / 2, over h^2
    before: Floats  # (na,) powers of all accounts at the start
    powers: Floats  # (na,) scratch
    momentum: Floats  # (6,) of the last step: linear, and angular about the world's origin
    energy: Floats  # (3,) at the start, its potential part, and the modified energy of the last step, J
    told: Floats  # what there is to tell since it was last asked for: see `Told`
    plain: Records  # coordinates that the search moves: all but those of bonds, which are fitted where it ends
    quaternions: Records
    held: Any  # where rows restrain the mechanism
    solver: Any  # what one root finder alone needs


class Told(IntEnum):
    """Places in `Ahead.told`: most iterations, largest residual, how many searches went wrong, and what was lost."""

    ITERATIONS = 0
    RESIDUAL = 1
    FALLBACKS = 2
    HALVINGS = 3
    LOST = 4


TOLD_ITERATIONS, TOLD_RESIDUAL, TOLD_FALLBACKS, TOLD_HALVINGS, TOLD_LOST = map(int, Told)


def ahead_for(system: System, nq: int, accounts: int, settings: Settings, held: Any = (), solver: Any = ()) -> Ahead:
    """Allocate the work arrays."""
    tree = system.tree
    n = len(tree.driven)
    strides = np.zeros(len(tree.links), STRIDE)
    strides["R"][0, ::4] = 1.0
    moved = ~held.bonds.coordinates if held else np.ones(n, np.bool_)
    return Ahead(
        settings=settings,
        strides=records(strides),
        crosser=crosser_for(tree),
        q=np.zeros(nq),
        rate=np.zeros(n),
        rate_before=np.zeros(n),
        change=np.zeros(n),
        tau=np.zeros(n),
        corrected=np.zeros(1, np.int64),
        carry=np.zeros(n),
        impulse=np.zeros(n),
        a=np.zeros(n),
        bend=np.zeros(n),
        before=np.zeros(accounts),
        powers=np.zeros(accounts),
        momentum=np.zeros(6),
        energy=np.zeros(3),
        told=np.zeros(len(Told)),
        plain=records(np.asarray(tree.plain)[moved[tree.plain["iv"]]]),
        quaternions=records(np.asarray(tree.quaternions)[moved[tree.quaternions["iv"]]]),
        held=held,
        solver=solver,
    )


@formula
def largest(x):
    """Largest absolute value; NaN where there is one."""
    most = 0.0
    for j in range(len(x)):
        if not abs(x[j]) <= most:
            most = abs(x[j])
    return most
