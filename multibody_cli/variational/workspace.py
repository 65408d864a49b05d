"""Work arrays of a variational step: the start of the step, the current iterate of its end, and constraint rows."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np

from multibody_cli.contact_solver.results import PATH
from multibody_cli.kernel import allocate, formula, records
from multibody_cli.model import Floats, Integers, Records, System, Tree
from multibody_cli.tree.workspace import WRENCH, Work, workspace_for
from multibody_cli.variational.discrete_motion import DISCRETE_MOTION
from multibody_cli.variational.maximal_joints import MaximalJoints, maximal_joints_for
from multibody_cli.variational.poses import PoseWorkspace, pose_workspace_for
from multibody_cli.variational.step_forces import StepForces

IG1, IG2, IG3, EXTRAPOLATED = range(4)

GUESSES = {"ig1": IG1, "ig2": IG2, "ig3": IG3, "extrapolated": EXTRAPOLATED}
"""Initial guesses of the mean rates (`step.guess_rates`) by their keyword in the scene format."""

ROUND_OFF = 1e-15
"""Of positions, relative to the extent of the mechanism.

Stalled iterations within 1000 times this have converged, and smaller errors of rows are not corrected: near a
singularity the response is large.
"""


class Settings(NamedTuple):
    """Settings of the root finder.

    `tolerance` bounds corrections of the mean rates of a step, relative to the largest rate and the slowest one.
    `first_kick` is the share of the impulses applied at the start of the step, 1/2 or 1; the remainder is applied at
    its end.  `adaptive`: a step that does not converge is subdivided.  `stages` (s,) are the lengths of the basic steps
    of a composed step, as fractions of it.  `maximal`: the method uses maximal coordinates.  `coupled`: the discrete
    Lagrangian has the term that couples translation and rotation (`se3`).  `has_drives`: accounts have the work of
    prescribed motions or of rows.
    """

    tolerance: float
    max_iterations: int
    first_kick: float
    guess: int
    adaptive: bool
    stages: Floats
    maximal: bool
    coupled: bool
    has_drives: bool


ROW_STATE = np.dtype(
    [
        ("error", "f8"),  # at the iterate, m or rad
        ("initial_violation", "f8"),  # at the start of the run: assembly reaches no smaller one
        ("start_multiplier", "f8"),  # included in the applied wrenches at the start
        ("predicted", "f8"),  # impulse of the contact step, which accounts for its work
        ("anticipated", "f8"),  # impulse of the last projection of velocities, which that of positions repeats
        ("lacking", "f8"),  # impulse of such a projection that is not in the momenta at the start, which are those of v
        ("impact", "f8"),  # impulse of an impact in the last step, which acts at the start of this one
        ("impulse", "f8"),  # accumulated, without that of the start multiplier
        ("dissipation", "f8"),  # energy dissipated by a unilateral row, J
        ("is_active", "i8"),  # whether it is in the active set
        ("acted", "i8"),  # whether it is active in the forces at the start
        ("held", "i8"),  # whether it had an impulse in the last step, so that it does not arrive in this one
    ]
)
"""One row per constraint row: its state in the iteration."""


class ConstrainedStepWork(NamedTuple):
    """Work arrays of a step for n velocities and m constraint rows, which may be 0."""

    tree: Tree  # its closures without the maximal-coordinate joints
    maximal_joints: MaximalJoints
    work: Work  # bodies, loop frames and rows at the iterate
    residual_response: Floats  # (n,) correction of the mean rates by the residual alone
    row_states: Records  # (m,)
    active_count: Integers  # (1,) size of the active set
    delassus_count: Integers  # (1,) size of the active set whose Delassus matrix is in `Work.dual`, 0 for none


def constrained_step_work_for(system: System, maximal_joints: MaximalJoints) -> ConstrainedStepWork:
    """Allocate the work arrays."""
    return ConstrainedStepWork(
        tree=tree_without(maximal_joints, system.tree),
        maximal_joints=maximal_joints,
        work=workspace_for(system),
        residual_response=np.zeros(len(system.tree.driven)),
        row_states=records(np.zeros(len(system.rows), ROW_STATE)),
        active_count=np.zeros(1, np.int64),
        delassus_count=np.zeros(1, np.int64),
    )


def tree_without(maximal_joints: MaximalJoints, tree: Tree) -> Tree:
    """Return the tree without the closures of the maximal-coordinate joints."""
    closures = np.delete(np.asarray(tree.closures), maximal_joints.table["closure"])
    closures.flags.writeable = False
    return tree._replace(closures=records(closures))


class SlipIteration(NamedTuple):
    """Work arrays for p friction patches and brakes: changes of their slip velocities, and the start of the step."""

    slip_changes: Annotated[Floats, "p", 2]  # mean slip velocity of the step less that after the impulses, m/s
    discrete_motions: Annotated[Records, "l", DISCRETE_MOTION]
    applied_reactions: Annotated[Records, "c", WRENCH]  # of loop joints: the part in the applied wrenches at the start
    impact_loads: Annotated[Records, "p", WRENCH]  # reactions of the joints to impacts in the step, axes of the patches
    residual_carry_over: Annotated[Floats, "n"]
    q: Annotated[Floats, "nq"]
    ledger: Annotated[Floats, "na"]
    unsolved_steps: Annotated[Integers, "causes"]  # before the step


def slip_iteration_for(system: System, nq: int, accounts: int) -> SlipIteration:
    """Allocate the work arrays; empty ones for a system without friction of joints."""
    patches = len(system.contacts.joint_friction.moved) if system.contacts else 0
    used = min(patches, 1)
    tree, causes = system.tree, used * PATH
    bodies, closures, n = used * len(tree.links), used * len(tree.closures), used * len(tree.driven)
    return allocate(
        SlipIteration, p=patches, l=bodies, c=closures, n=n, nq=used * nq, na=used * accounts, causes=causes
    )


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


class StepWorkspace(NamedTuple):
    """Work arrays of a step for n velocities."""

    settings: Settings
    discrete_motions: Records  # one row per body
    pose_work: PoseWorkspace
    q: Annotated[Floats, "nq"]  # coordinates at the end of the step: the iterate
    rate: Annotated[Floats, "n"]  # mean rates of the step
    previous_rate: Annotated[Floats, "n"]  # mean rates of the previous step
    scratch: Annotated[Floats, "n"]  # rates and accelerations that are not used
    tau: Annotated[Floats, "n"]  # generalized forces at the start
    iteration: Annotated[Integers, 1]  # corrections so far
    residual_carry_over: Annotated[Floats, "n"]  # residual impulses of earlier steps
    armature_momentum: Annotated[Floats, "n"]  # of the armatures at the start
    impulse: Annotated[Floats, "n"]  # impulses applied to the coordinates in this step
    a: Annotated[Floats, "n"]  # accelerations at the start
    guess_error: Annotated[Floats, "n"]  # of ig3 in the last step: its mean rates - v - h a / 2
    last_length: Annotated[Floats, 1]  # length h of the last step, s; 0 before the first one
    start_powers: Annotated[Floats, "na"]  # power of each energy account at the start
    powers: Annotated[Floats, "na"]  # scratch
    momentum: Annotated[Floats, 6]  # of the last step: linear, and angular about the world's origin
    energy: Annotated[Floats, 3]  # at the start, the potential part at the ends, and the modified energy of a step, J
    diagnostics: Annotated[Floats, len(StepDiagnostic)]  # since the last report: see `StepDiagnostic`
    plain: Records  # coordinates of the iterate: all but those of maximal-coordinate joints
    quaternions: Records
    constrained: ConstrainedStepWork
    joint_friction: SlipIteration
    forces: StepForces  # within the step
    solver: Any  # work arrays of the root finder


def step_workspace_for(
    system: System, nq: int, accounts: int, settings: Settings, forces: StepForces, solver: Any = ()
) -> StepWorkspace:
    """Allocate the work arrays."""
    tree = system.tree
    n = len(tree.driven)
    discrete_motions = np.zeros(len(tree.links), DISCRETE_MOTION)
    discrete_motions["R"][0, ::4] = 1.0
    if settings.coupled:
        discrete_motions["coupled_mass"] = tree.links["mass"]
    maximal_joints = maximal_joints_for(system)
    moved = ~maximal_joints.coordinates
    return allocate(
        StepWorkspace,
        n=n,
        nq=nq,
        na=accounts,
        settings=settings,
        discrete_motions=records(discrete_motions),
        pose_work=pose_workspace_for(tree),
        plain=records(np.asarray(tree.plain)[moved[tree.plain["iv"]]]),
        quaternions=records(np.asarray(tree.quaternions)[moved[tree.quaternions["iv"]]]),
        constrained=constrained_step_work_for(system, maximal_joints),
        joint_friction=slip_iteration_for(system, nq, accounts),
        forces=forces,
        solver=solver,
    )


@formula
def max_abs(x):
    """Return the largest absolute value; NaN if an entry is NaN."""
    largest = 0.0
    for j in range(len(x)):
        if not abs(x[j]) <= largest:
            largest = abs(x[j])
    return largest
