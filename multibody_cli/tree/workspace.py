"""Work arrays of the tree algorithms: one row per body, one row per column of S; row 0 of bodies is the ground.

Behind the bodies follows one row per loop joint, its *loop-joint frame*: the pose and motion of its frame M, computed
from the parent through the joint.  Behind these follow the markers of affine bodies (`tree.markers`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.forces.elements import warnings_for
from multibody_cli.joints.parts.generated import GeneratedBuffers, generated_buffers_for
from multibody_cli.kernel import records
from multibody_cli.linalg.free_rows import scratch_for
from multibody_cli.model import CONSTRAINT_AXIS, Floats, Integers, Records, System

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
    """Work arrays of implicit forces for n bodies and m rates (`implicit.implicit_forces`); empty if unused."""

    settings: ImplicitSolveSettings
    time: Floats  # (1,) of the evaluation of the forces, s
    blocks: Records  # (n,) additional inertia of single bodies; then of markers
    r: Records  # (n,) residual, as wrenches
    s: Records  # (n,) P p
    x: Floats  # (m,) forces on coordinates
    z: Floats  # (m,) P^-1 r
    p: Floats  # (m,) search direction
    direction: Records  # (n,) its motion
    solution: Records  # (n,) its motion
    iterations: Integers  # (1,) largest number of iterations of a solve since the last report
    unsolved: Integers  # (1,) solves that did not converge
    multipliers: Floats  # (2, r) of the primary rows: of the solution, and of the search direction


def implicit_solve_for(system: System) -> ImplicitSolve:
    """Allocate the work arrays of implicit forces."""
    tree, there = system.tree, int(system.implicit)
    n, m = there * len(tree.links), there * len(tree.driven)
    blocks = np.zeros(n + there * (len(tree.closures) + len(tree.markers)), CHILD_INERTIA)
    r, s, direction, solution = (records(np.zeros(n, WRENCH)) for _ in range(4))
    x, z, p = np.zeros((3, m))
    iterations, unsolved = np.zeros((2, 1), np.int64)
    return ImplicitSolve(
        ImplicitSolveSettings(),
        np.zeros(1),
        records(blocks),
        r,
        s,
        x,
        z,
        p,
        direction,
        solution,
        iterations,
        unsolved,
        np.zeros((2, there * len(system.rows))),
    )


class Dual(NamedTuple):
    """The dual problem for the multipliers of the active rows; k rows are not primary."""

    active_rows: Integers  # (k,) numbers of the active rows
    W: Floats  # (k, k)
    r: Floats  # (k,) residuals
    lower: Floats  # (k,) bounds of the multipliers
    upper: Floats
    x: Floats  # (k,)
    position_error: Floats  # (1,) largest position error after the last projection, m or rad
    solver: Any


class Work(NamedTuple):
    """Work arrays for one model: n velocities, m constraint rows.

    `column_rates` and `v` are empty unless the method differentiates Jacobians, `q` unless it evaluates joints itself.
    """

    bodies: Records
    columns: Records
    column_rates: Records  # of general joints
    child_inertias: Records
    wrenches: Records
    tau: Floats  # (n,)
    warnings: tuple[Integers, ...]  # bits for each record of each table of forces: see `forces.contract`
    q: Floats  # (nq,) of the last forward kinematics
    v: Floats  # (n,) of the last forward kinematics
    armature: Floats  # (n,) additional inertia of each coordinate
    implicit_coefficients: Floats  # (3,) see `forces.elements.apply_implicit_joint_forces`; 0 for explicit forces
    implicit_rates: Floats  # (n,) rates in the linearization of forces
    implicit_solve: ImplicitSolve
    dual_basis: Records  # (n,) of the coordinates of loop joints
    constraint_axes: Records  # of loop joints, world axes
    basis: Floats  # (6, 6) scratch
    generated_buffers: GeneratedBuffers  # of generated parts of joints
    shift: Floats  # (n,) a displacement
    impulse: Floats  # (n,) on the coordinates
    response: Floats  # (n,) change of the rates due to an impulse
    rows: Records  # (m,)
    terms: Records
    rhs: Floats  # (m,) right-hand sides of primary rows; (0,) for a method without primary rows
    baumgarte: Floats  # (2,) 2 alpha and beta^2; 0 if errors are removed by projection
    dual: Dual
    scratch: Any  # of the method alone
    contact_forces: Records  # contact wrench on each body, for output; (0,) without contacts


def workspace_for(system: System, scratch: Any = (), *, differentiated: bool = False, remembered: bool = False) -> Work:
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
    """
    tree = system.tree
    markers, n = len(tree.links) + len(tree.closures), len(tree.driven)
    placed = markers + len(tree.markers)
    bodies = np.zeros(placed, BODY)
    bodies["R"][0, ::4] = bodies["R"][markers:, ::4] = 1.0
    bodies["a"][0] = -tree.gravity  # gravity as an upward acceleration of the ground
    m, k = len(system.rows), int(np.count_nonzero(system.rows["primary"] == 0))
    return Work(
        bodies=records(bodies),
        columns=records(np.zeros(n, COLUMN)),
        column_rates=records(np.zeros(n if differentiated else 0, COLUMN_RATE)),
        child_inertias=records(np.zeros(len(tree.links), CHILD_INERTIA)),
        wrenches=records(np.zeros(placed, WRENCH)),
        tau=np.zeros(n),
        warnings=warnings_for(system.forces),
        q=np.zeros(len(tree.plain) + 4 * len(tree.quaternions) if remembered else 0),
        v=np.zeros(n if differentiated else 0),
        armature=np.zeros(n),
        implicit_coefficients=np.zeros(3),
        implicit_rates=np.zeros(n),
        implicit_solve=implicit_solve_for(system),
        dual_basis=records(np.zeros(n, WRENCH)),
        constraint_axes=records(np.zeros(len(tree.constraint_axes), CONSTRAINT_AXIS)),
        basis=np.zeros((6, 6)),
        generated_buffers=generated_buffers_for(tree.constants),
        shift=np.zeros(n),
        impulse=np.zeros(n),
        response=np.zeros(n),
        rows=records(np.array(system.rows)),
        terms=records(np.array(system.terms)),
        rhs=np.zeros(m if k < m else 0),
        baumgarte=np.zeros(2),
        dual=Dual(
            active_rows=np.zeros(k, np.int64),
            W=np.zeros((k, k)),
            r=np.zeros(k),
            lower=np.zeros(k),
            upper=np.zeros(k),
            x=np.zeros(k),
            position_error=np.zeros(1),
            solver=scratch_for(k),
        ),
        scratch=scratch,
        contact_forces=records(np.zeros(placed if system.contacts else 0, WRENCH)),
    )
