"""Work arrays of a variational step: the start of the step and the current iterate of its end."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.kernel import formula, records
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.variational.discrete_motion import DISCRETE_MOTION
from multibody_cli.variational.poses import PoseWorkspace, pose_workspace_for


class Settings(NamedTuple):
    """Settings of the root finder.

    `tolerance` bounds corrections of the mean rates of a step, relative to 1 + the largest rate; rad/s and m/s alike.
    `first_kick` is the share of the impulses applied at the start of the step, 1/2 or 1; the remainder is applied at
    its end.  `adaptive`: a step that does not converge is subdivided.  `stages` (s,) are the lengths of the basic steps
    of a composed step, as fractions of it.  `maximal`: the method uses maximal coordinates.
    """

    tolerance: float
    max_iterations: int
    first_kick: float
    guess: int
    adaptive: bool
    stages: Floats
    maximal: bool


class StepWorkspace(NamedTuple):
    """Work arrays of a step for n velocities."""

    settings: Settings
    discrete_motions: Records  # one row per body
    pose_work: PoseWorkspace
    q: Floats  # (nq,) coordinates at the end of the step: the iterate
    rate: Floats  # (n,) mean rates of the step
    previous_rate: Floats  # (n,) mean rates of the previous step
    correction: Floats  # (n,) correction of the mean rates in this iteration
    tau: Floats  # (n,) generalized forces at the start
    iteration: Integers  # (1,) corrections so far
    residual_carry_over: Floats  # (n,) residual impulses of earlier steps
    impulse: Floats  # (n,) impulses applied to the coordinates in this step
    a: Floats  # (n,) accelerations at the start
    extrapolation: Floats  # (n,) (mean rates of the last step - v - h a / 2) / h^2
    start_powers: Floats  # (na,) power of each energy account at the start
    powers: Floats  # (na,) scratch
    momentum: Floats  # (6,) of the last step: linear, and angular about the world's origin
    energy: Floats  # (3,) at the start, its potential part, and the modified energy of the last step, J
    diagnostics: Floats  # since the last report: see `StepDiagnostic`
    plain: Records  # coordinates of the iterate: all but those of maximal-coordinate joints
    quaternions: Records
    constrained: Any  # `ConstrainedStepWork`, or ()
    solver: Any  # work arrays of the root finder


class StepDiagnostic(IntEnum):
    """Places in `StepWorkspace.diagnostics`: maxima, counts, and the failed coordinate + 1."""

    ITERATIONS = 0
    RESIDUAL = 1
    FALLBACKS = 2
    SUBDIVISIONS = 3
    FAILED_COORDINATE = 4


(
    DIAGNOSTIC_ITERATIONS,
    DIAGNOSTIC_RESIDUAL,
    DIAGNOSTIC_FALLBACKS,
    DIAGNOSTIC_SUBDIVISIONS,
    DIAGNOSTIC_FAILED_COORDINATE,
) = map(int, StepDiagnostic)


def step_workspace_for(
    system: System, nq: int, accounts: int, settings: Settings, constrained: Any = (), solver: Any = ()
) -> StepWorkspace:
    """Allocate the work arrays."""
    tree = system.tree
    n = len(tree.driven)
    discrete_motions = np.zeros(len(tree.links), DISCRETE_MOTION)
    discrete_motions["R"][0, ::4] = 1.0
    moved = ~constrained.maximal_joints.coordinates if constrained else np.ones(n, np.bool_)
    return StepWorkspace(
        settings=settings,
        discrete_motions=records(discrete_motions),
        pose_work=pose_workspace_for(tree),
        q=np.zeros(nq),
        rate=np.zeros(n),
        previous_rate=np.zeros(n),
        correction=np.zeros(n),
        tau=np.zeros(n),
        iteration=np.zeros(1, np.int64),
        residual_carry_over=np.zeros(n),
        impulse=np.zeros(n),
        a=np.zeros(n),
        extrapolation=np.zeros(n),
        start_powers=np.zeros(accounts),
        powers=np.zeros(accounts),
        momentum=np.zeros(6),
        energy=np.zeros(3),
        diagnostics=np.zeros(len(StepDiagnostic)),
        plain=records(np.asarray(tree.plain)[moved[tree.plain["iv"]]]),
        quaternions=records(np.asarray(tree.quaternions)[moved[tree.quaternions["iv"]]]),
        constrained=constrained,
        solver=solver,
    )


@formula
def max_abs(x):
    """Return the largest absolute value; NaN if an entry is NaN."""
    most = 0.0
    for j in range(len(x)):
        if not abs(x[j]) <= most:
            most = abs(x[j])
    return most
