"""The work arrays of the tree algorithms: one row a body, one row a column of S; row 0 of bodies is the ground.

Behind the bodies stands one row for each closure, its *ghost*: where its frame M would be, and how it would move, if
the joint hung on its parent alone.  Behind the ghosts stand the markers of affine bodies (`tree.markers`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.forces.elements import Alerts, alerts_for
from multibody_cli.joints.parts.generated import Shaping, shaping_for
from multibody_cli.kernel import records
from multibody_cli.linalg.free_rows import scratch_for
from multibody_cli.model import LOCK, Floats, Integers, Records, System

BODY = np.dtype(
    [
        (name, "f8", size)
        for name, size in {
            "x": 3,  # position of the joint frame's origin
            "R": 9,  # its orientation
            "r": 3,  # x - x of the parent
            "w": 3,  # angular velocity
            "v": 3,  # velocity of the origin
            "alpha": 3,  # accelerations, if every free dv/dt were 0
            "a": 3,
            "J": 6,  # inertia about the origin
            "h": 3,  # mass times the vector to the centre of mass
            "t": 3,  # wrench that the acceleration above takes, less what pushes the body
            "f": 3,
            "dw": 3,  # what the joints add to alpha and a
            "dv": 3,
            "H": 9,  # an eliminated ball: coupling block, factor and drive
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
"""dS/dt of a column of a joint of many parts, world axes, about the moving origin of the joint frame."""

INBOX = np.dtype([("J", "f8", 6), ("H", "f8", 9), ("M", "f8", 6), ("t", "f8", 3), ("f", "f8", 3)])
"""Articulated inertia and bias force that side branches have handed in."""

WRENCH = np.dtype([("t", "f8", 3), ("f", "f8", 3)])
"""A wrench about a joint's origin."""


MASS, BLOCKS = range(2)
"""What the preconditioner of implicit forces holds: the masses, or also the blocks of `implicit.implicit_forces`."""


class ForesightSettings(NamedTuple):
    """How implicit forces are solved for: `tolerance` of the answer in the norm of the masses, and most `rounds`."""

    preconditioner: int = BLOCKS
    tolerance: float = 1e-12
    rounds: int = 1000


class Foresight(NamedTuple):
    """What implicit forces take, for n bodies and m rates: see `implicit.implicit_forces`; empty where none are."""

    settings: ForesightSettings
    time: Floats  # (1,) at which the forces were taken, s
    blocks: Records  # (n,) what they add to the inertia of single bodies; markers behind
    r: Records  # (n,) what is left of the equations, as wrenches
    s: Records  # (n,) P p
    x: Floats  # (m,) forces on coordinates
    z: Floats  # (m,) P^-1 r
    p: Floats  # (m,) direction
    direction: Records  # (n,) its motion
    answer: Records  # (n,) motion of the answer
    rounds: Integers  # (1,) most of any answer since this was read
    unsolved: Integers  # (1,) answers that miss the tolerance
    multipliers: Floats  # (2, r) of the rows that the method holds: of the answer, and of the direction


def foresight_for(system: System) -> Foresight:
    """Allocate it."""
    tree, there = system.tree, int(system.implicit)
    n, m = there * len(tree.links), there * len(tree.driven)
    blocks = np.zeros(n + there * (len(tree.closures) + len(tree.markers)), INBOX)
    r, s, direction, answer = (records(np.zeros(n, WRENCH)) for _ in range(4))
    x, z, p = np.zeros((3, m))
    rounds, unsolved = np.zeros((2, 1), np.int64)
    return Foresight(
        ForesightSettings(),
        np.zeros(1),
        records(blocks),
        r,
        s,
        x,
        z,
        p,
        direction,
        answer,
        rounds,
        unsolved,
        np.zeros((2, there * len(system.rows))),
    )


class Dual(NamedTuple):
    """The problem that gives the multipliers of the rows that take part; k of them may, for k are not primary."""

    called: Integers  # (k,) which rows these are
    W: Floats  # (k, k)
    r: Floats  # (k,) residuals
    lower: Floats  # (k,) bounds of the multipliers
    upper: Floats
    x: Floats  # (k,)
    worst: Floats  # (1,) largest error of position that the last projection left, m or rad
    solver: Any


class Work(NamedTuple):
    """Work arrays for one model: n velocities, m rows of restraint.

    `column_rates` and `v` are empty unless the method differentiates Jacobians, `q` unless it crosses joints itself.
    """

    bodies: Records
    columns: Records
    column_rates: Records  # of joints that are placed part by part
    inboxes: Records
    wrenches: Records
    tau: Floats  # (n,)
    alerts: Alerts  # what forces have to tell
    q: Floats  # (nq,) position numbers and
    v: Floats  # (n,) coordinate rates that the bodies were placed with
    armature: Floats  # (n,) inertia that each coordinate has of its own
    horizon: Floats  # (3,) how far ahead forces push: see `forces.elements.foresee_all`; 0 for as they are now
    ahead: Floats  # (n,) rates with which forces are taken to change
    foresight: Foresight
    duals: Records  # (n,) of the coordinates of closures
    locks: Records  # locked directions of closures, world axes
    basis: Floats  # (6, 6) scratch
    shaping: Shaping  # what generated parts of joints read and write
    shift: Floats  # (n,) a displacement
    impulse: Floats  # (n,) on the coordinates
    response: Floats  # (n,) what an impulse makes of the rates
    rows: Records  # (m,)
    terms: Records
    aims: Floats  # (m,) what primary rows are brought to; (0,) where the method has none
    baumgarte: Floats  # (2,) 2 alpha and beta^2; 0 where errors are projected away
    dual: Dual
    scratch: Any  # what one method alone needs
    pushes: Records  # what contacts push each body with, for output; (0,) where nothing touches


def workspace_for(system: System, scratch: Any = (), *, differentiated: bool = False, remembered: bool = False) -> Work:
    """Allocate the work arrays, with the ground upright and at rest.

    Parameters
    ----------
    system
        What they are for.
    scratch
        The method's own arrays, a named tuple.
    differentiated
        Whether the method needs the time derivatives of the columns of S.
    remembered
        Whether the method needs the position numbers that the bodies were placed with.
    """
    tree = system.tree
    markers, n = len(tree.links) + len(tree.closures), len(tree.driven)
    placed = markers + len(tree.markers)
    bodies = np.zeros(placed, BODY)
    bodies["R"][0, ::4] = bodies["R"][markers:, ::4] = 1.0
    bodies["a"][0] = -tree.gravity  # a ground that rises pulls every body down
    m, k = len(system.rows), int(np.count_nonzero(system.rows["primary"] == 0))
    return Work(
        bodies=records(bodies),
        columns=records(np.zeros(n, COLUMN)),
        column_rates=records(np.zeros(n if differentiated else 0, COLUMN_RATE)),
        inboxes=records(np.zeros(len(tree.links), INBOX)),
        wrenches=records(np.zeros(placed, WRENCH)),
        tau=np.zeros(n),
        alerts=alerts_for(system.forces),
        q=np.zeros(len(tree.plain) + 4 * len(tree.quaternions) if remembered else 0),
        v=np.zeros(n if differentiated else 0),
        armature=np.zeros(n),
        horizon=np.zeros(3),
        ahead=np.zeros(n),
        foresight=foresight_for(system),
        duals=records(np.zeros(n, WRENCH)),
        locks=records(np.zeros(len(tree.locks), LOCK)),
        basis=np.zeros((6, 6)),
        shaping=shaping_for(tree.constants),
        shift=np.zeros(n),
        impulse=np.zeros(n),
        response=np.zeros(n),
        rows=records(np.array(system.rows)),
        terms=records(np.array(system.terms)),
        aims=np.zeros(m if k < m else 0),
        baumgarte=np.zeros(2),
        dual=Dual(
            called=np.zeros(k, np.int64),
            W=np.zeros((k, k)),
            r=np.zeros(k),
            lower=np.zeros(k),
            upper=np.zeros(k),
            x=np.zeros(k),
            worst=np.zeros(1),
            solver=scratch_for(k),
        ),
        scratch=scratch,
        pushes=records(np.zeros(placed if system.contacts else 0, WRENCH)),
    )
