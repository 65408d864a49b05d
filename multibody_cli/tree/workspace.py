"""Work arrays of the tree algorithms: one row per body, one row per column of S; row 0 of bodies is the ground.

Behind the bodies follows one row per loop joint, its *loop-joint frame*: the pose and motion of its frame M, computed
from the parent through the joint.  Behind these follow the markers of affine bodies (`tree.markers`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from multibody_cli.forces.coupled import coupled_forces_of
from multibody_cli.forces.elements import warnings_for
from multibody_cli.joints.parts.generated import GeneratedBuffers
from multibody_cli.kernel import allocate, kernel, records
from multibody_cli.linalg.free_rows import Scratch
from multibody_cli.linalg.vectors import copy
from multibody_cli.model import Floats, Integers, Records, System

BODY = np.dtype(
    [
        (name, "f8", size)
        for name, size in {
            "x": 3,  # position of the joint frame's origin
            "R": 9,  # its orientation
            "r": 3,  # x - x of the parent
            "w": 3,  # angular velocity
            "v": 3,  # velocity of the origin
            "alpha": 3,  # accelerations at zero free dv/dt
            "a": 3,
            "J": 6,  # inertia about the origin
            "h": 3,  # mass times the vector to the centre of mass
            "t": 3,  # bias wrench: inertial wrench of this motion, less the applied wrench
            "f": 3,
            "dw": 3,  # change of alpha and a due to free dv/dt
            "dv": 3,
            "H": 9,  # an eliminated ball: coupling block, factor, and moment
            "dinv": 3,
            "lower": 3,
            "drive": 3,
        }.items()
    ]
)

COLUMN = np.dtype(
    [
        ("angular", "f8", 3),  # S, world axes, about the joint frame's origin
        ("linear", "f8", 3),
        ("Ut", "f8", 3),  # U = A S
        ("Uf", "f8", 3),
        ("dinv", "f8"),  # 1 / (S . U)
        ("u", "f8"),  # tau - S . p
    ]
)

COLUMN_RATE = np.dtype([("angular_rate", "f8", 3), ("linear_rate", "f8", 3)])
"""dS/dt of a column of a general joint, world axes, about the moving origin of the joint frame."""

CHILD_INERTIA = np.dtype([("J", "f8", 6), ("H", "f8", 9), ("M", "f8", 6), ("t", "f8", 3), ("f", "f8", 3)])
"""Accumulated articulated inertia and bias force of side children."""

WRENCH = np.dtype([("t", "f8", 3), ("f", "f8", 3)])
"""A wrench about the origin of a joint frame."""


MASS, BLOCKS = range(2)
"""Content of the preconditioner of implicit forces: masses, or also the blocks of `implicit.implicit_forces`."""


class ImplicitSolveSettings(NamedTuple):
    """Settings of the implicit solve: relative `tolerance` in the norm of the masses, at most `max_iterations`."""

    preconditioner: int = BLOCKS
    tolerance: float = 1e-12
    max_iterations: int = 1000


class ImplicitSolve(NamedTuple):
    """Work arrays of implicit forces for n bodies, nb with loop-joint frames and markers, m rates and nr rows.

    They are empty if unused (`implicit.implicit_forces`).
    """

    settings: ImplicitSolveSettings
    time: Annotated[Floats, 1]  # of the evaluation of the forces, s
    blocks: Annotated[Records, "nb", CHILD_INERTIA]  # additional inertia of single bodies; then of markers
    r: Annotated[Records, "n", WRENCH]  # residual, as wrenches
    s: Annotated[Records, "n", WRENCH]  # P p
    x: Annotated[Floats, "m"]  # forces on coordinates
    z: Annotated[Floats, "m"]  # P^-1 r
    p: Annotated[Floats, "m"]  # search direction
    direction: Annotated[Records, "n", WRENCH]  # its motion
    solution: Annotated[Records, "n", WRENCH]  # its motion
    iterations: Annotated[Integers, 1]  # largest number of iterations of a solve since the last report
    unsolved: Annotated[Integers, 1]  # solves that did not converge
    multipliers: Annotated[Floats, 2, "nr"]  # of the primary rows: of the solution, and of the search direction


def implicit_solve_for(system: System) -> ImplicitSolve:
    """Allocate the work arrays of implicit forces."""
    tree, there = system.tree, int(system.implicit)
    n, nb = len(tree.links), len(tree.links) + len(tree.closures) + len(tree.markers)
    m, nr = len(tree.driven), len(system.rows)
    return allocate(ImplicitSolve, n=there * n, m=there * m, nb=there * nb, nr=there * nr)


class Coupling(NamedTuple):
    """Work arrays of k coupled forces, for n rates (`implicit.coupled_forces`); empty if unused."""

    forces: Records  # (k,) `forces.coupled`
    time: Annotated[Floats, 1]  # of the evaluation of the forces, s
    stiffness: Annotated[Floats, "k"]  # by the own coordinate, as in the symmetric matrix
    damping: Annotated[Floats, "k"]
    rates: Annotated[Floats, "n"]  # of a change of the motion
    responses: Annotated[Floats, "k", "n"]  # Z^T
    matrix: Annotated[Floats, "k", "k"]  # 1 - W^T Z, then its factors
    order: Annotated[Integers, "k"]  # of its rows
    rhs: Annotated[Floats, "k"]  # W^T y_s
    values: Annotated[Floats, "k"]
    multipliers: Annotated[Floats, "solutions", "nr"]  # of nr rows, for Z and y_s
    slacks: Annotated[Floats, "solutions", "nr"]  # of active rows: multipliers of held ones, accelerations of others
    impulses: Annotated[Floats, "k"]  # of a contact step (`implicit.coupled_impulses`)
    change: Annotated[Floats, "k"]  # of these
    inverse: Annotated[Floats, "k", "k"]  # of Broyden's method
    row: Annotated[Floats, "k"]
    excess: Annotated[Floats, "k"]
    sweeps: Annotated[Integers, 1]  # that are left to the step
    singular: Annotated[Integers, 1]  # whether 1 - W^T Z was singular since the last report
    unsolved: Annotated[Integers, 2]  # since then: solutions beside limits, and impulses of contacts, not found


def coupling_for(system: System) -> Coupling:
    """Allocate the work arrays of coupled forces."""
    forces, there = coupled_forces_of(system.forces), int(system.coupled)
    k = there * len(forces)
    return allocate(
        Coupling,
        forces=forces[:k],
        k=k,
        n=there * len(system.tree.driven),
        solutions=1 + k,
        nr=there * len(system.rows),
    )


class DualProblem(NamedTuple):
    """The dual problem for the multipliers of the active rows; m rows are not primary."""

    active_rows: Annotated[Integers, "m"]  # numbers of the active rows
    W: Annotated[Floats, "m", "m"]
    r: Annotated[Floats, "m"]  # residuals
    lower: Annotated[Floats, "m"]  # bounds of the multipliers
    upper: Annotated[Floats, "m"]
    x: Annotated[Floats, "m"]
    rebound_share: Annotated[Floats, 1]  # share of the rebounds of one-sided rows in responses, 0 without any
    arrivals: Annotated[Integers, 1]  # number of one-sided rows that the present projection has activated
    lag: Annotated[Floats, 1]  # by which rates lag behind those of the path, as a part of their change in a step
    step: Annotated[Floats, 1]  # step of the step control, s; 0 without
    scales: Annotated[Floats, 2]  # largest coordinate and speed of a body, relative to the length, and 1/s
    factored_time: Annotated[Floats, 1]  # s; the method has factors for this time and `factored_q`
    factored_q: Annotated[Floats, "nq"]  # or (0,) for a method that does not use them again
    has_near_factors: Annotated[Integers, 1]  # whether the method has factors for a state near the present one
    evaluations: Annotated[Integers, 1]  # number of evaluations with constraint rows
    solver: Scratch


def dual_for(rows: int, nq: int) -> DualProblem:
    """Allocate the dual problem of a number of rows; nq is the length of `factored_q`, and nothing is factored."""
    return allocate(DualProblem, m=rows, nq=nq, factored_time=np.full(1, math.nan))


class Work(NamedTuple):
    """Work arrays for one model: n velocities, m constraint rows.

    nb bodies, loop-joint frames and markers, nl links.  `column_rates` and `v` are empty (nd = 0)
    unless the method differentiates Jacobians, `q` unless it evaluates joints itself.
    """

    bodies: Annotated[Records, "nb", BODY]
    columns: Annotated[Records, "n", COLUMN]
    column_rates: Annotated[Records, "nd", COLUMN_RATE]  # of general joints
    child_inertias: Annotated[Records, "nl", CHILD_INERTIA]
    wrenches: Annotated[Records, "nb", WRENCH]
    tau: Annotated[Floats, "n"]
    command_forces: Annotated[Floats, "n"]  # of `tree.computed_torque`, in the order of the commands
    warnings: tuple[Integers, ...]  # bits for each record of each table of forces: see `forces.contract`
    q: Annotated[Floats, "nq"]  # of the last forward kinematics
    v: Annotated[Floats, "nd"]  # of the last forward kinematics
    armature: Annotated[Floats, "n"]  # inertia of each coordinate alone: of drives, and of implicit forces
    implicit_coefficients: Annotated[Floats, 3]  # see `forces.elements.apply_implicit_joint_forces`; 0 if explicit
    implicit_rates: Annotated[Floats, "n"]  # rates in the linearization of forces
    implicit_solve: ImplicitSolve
    coupling: Coupling
    dual_basis: Annotated[Records, "n", WRENCH]  # of the coordinates of loop joints
    constraint_axes: Records  # (nt,) of loop joints, in the axes of M
    basis: Annotated[Floats, 6, 6]  # scratch
    generated_buffers: GeneratedBuffers  # of generated parts of joints
    shift: Annotated[Floats, "n"]  # a displacement
    impulse: Annotated[Floats, "n"]  # on the coordinates
    response: Annotated[Floats, "n"]  # change of the rates due to an impulse
    rows: Records  # (m,)
    special_rows: Integers  # numbers of the rows that are one-sided, nonholonomic or have an account
    terms: Records
    rhs: Annotated[Floats, "mp"]  # right-hand sides of primary rows: m, or 0 for a method without
    feedback: Annotated[Floats, 3]  # of the velocity, error and bias of a row; 0 if errors are removed by projection
    dual: DualProblem
    scratch: Any  # of the method alone
    elimination: Any  # of rows within the recursion, a `RowElimination`, or ()
    contact_forces: Annotated[Records, "nc", WRENCH]  # contact wrench on each body, for output; (0,) without contacts


@kernel
def reset_armature(tree, work):
    """Set the armature to that of the drives."""
    copy(tree.armature, work.armature)


def workspace_for(
    system: System,
    scratch: Any = (),
    *,
    differentiated: bool = False,
    remembered: bool = False,
    primary: bool = False,
    reuses_factors: bool = False,
) -> Work:
    """Allocate the work arrays, with the ground upright and at rest.

    Parameters
    ----------
    system
        The system.
    scratch
        Arrays of the method alone, a named tuple.
    differentiated
        Whether the method needs the time derivatives of the columns of S.
    remembered
        Whether the method needs the q of the last forward kinematics.
    primary
        Whether the method makes rows primary at run time.
    reuses_factors
        Whether the method evaluates accelerations with the factors of a projection of velocities.
    """
    tree = system.tree
    markers, n = len(tree.links) + len(tree.closures), len(tree.driven)
    placed = markers + len(tree.markers)
    nq = len(tree.plain) + 4 * len(tree.quaternions)
    m, k = len(system.rows), int(np.count_nonzero(system.rows["primary"] == 0))
    work = allocate(
        Work,
        n=n,
        nd=n if differentiated else 0,
        nq=nq if remembered else 0,
        nl=len(tree.links),
        nb=placed,
        nc=placed if system.contacts else 0,
        constraint_axes=records(np.array(tree.constraint_axes)),
        mp=m if k < m or primary else 0,
        warnings=warnings_for(system.forces),
        implicit_solve=implicit_solve_for(system),
        coupling=coupling_for(system),
        generated_buffers=allocate(GeneratedBuffers, constants=tree.constants),
        rows=records(np.array(system.rows)),
        special_rows=_special_rows(system.rows),
        terms=records(np.array(system.terms)),
        dual=dual_for(k, nq if reuses_factors else 0),
        scratch=scratch,
        elimination=(),
    )
    for iv in tree.links["iv"][tree.links["floats"] == 1]:
        work.columns["linear"][iv : iv + 3] = work.columns["angular"][iv + 3 : iv + 6] = np.eye(3)
    work.bodies["R"][0, ::4] = work.bodies["R"][markers:, ::4] = 1.0
    work.armature[:] = tree.armature
    work.bodies["a"][0] = -tree.gravity  # gravity as an upward acceleration of the ground
    return work


def _special_rows(rows: Records) -> Integers:
    """Return the numbers of the rows that are one-sided, nonholonomic or have an account; they are constant."""
    found = np.flatnonzero((rows["one_sided"] == 1) | (rows["holonomic"] == 0) | (rows["account"] >= 0))
    found.flags.writeable = False
    return found
