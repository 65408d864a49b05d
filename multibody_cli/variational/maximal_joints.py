"""Bonds: joints between bodies whose errors follow from two poses alone, without coordinates that are fitted before.

They have no parts, one ball, or one screw that turns or slides, free to move.  With the frame F at x_F in the parent
and the frame M at x_M in the child, a lock T, of the moment t and the force f, has the error

    g = t . h + f . (x_M - x_F)

    turning   h = a_F x a_M                            the axis, as either body carries it
    ball      h = 0                                    a ball locks no turn
    still     h = (x x x' + y x y' + z x z') / 2       sine of the turn from F, of axes x, y, z, to M, on its axis

Locks are constant in one of both bodies and turn with it: in the parent where the joint is still, else in the child.
The derivative of g is then T at the other body's frame origin, on the child, and -T there, on the parent: that of
the part of f exactly, that of t where h = 0.  Where the joint is closed both errors and derivatives are those of the
rows that `constraint_solver.loop_joints` writes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.joints.contract import PartCode
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.model import LOCK, Floats, Records, System, Tree
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import ZERO, cross, dot, transposed_times
from multibody_cli.spatial.values import Force

STILL, TURNING, BALL = range(3)

BOND = np.dtype(
    [
        ("kind", "i8"),
        ("closure", "i8"),
        ("parent", "i8"),
        ("child", "i8"),
        ("first_row", "i8"),  # among the rows, and among the locks
        ("last_row", "i8"),
        ("origin", "f8", 3),  # of F in the parent's joint frame
        ("frame", "f8", 9),  # F there; of a turning joint, its axis alone
        ("child_origin", "f8", 3),  # of M in the child's joint frame
        ("child_frame", "f8", 9),
    ]
)


class Bonds(NamedTuple):
    """The bonds of a tree, and the locks of all closures, in the axes of the body that carries them."""

    table: Records
    locks: Records
    coordinates: NDArray[np.bool_]  # (nv,) whether it is one of a bond


def bonds_for(system: System) -> Bonds:
    """Find the bonds among the closures of a system of rigid bodies in their own coordinates."""
    tree = system.tree
    tables = (table for table in system.constraints.tables if "iv" in (table.dtype.names or ()))
    read = {int(iv) for table in tables for iv in table["iv"]}
    rigid = len(tree.holders) == len(tree.links) and bool(np.all(tree.links["nv"][1:] == 6))
    table, locks, theirs = [], np.zeros(len(tree.locks), LOCK), np.zeros_like(tree.driven)
    for k, closure in enumerate(tree.closures):
        first, last = int(closure["iv"]), int(closure["iv"] + closure["nv"])
        kind = kind_of(tree, closure) if rigid and read.isdisjoint(range(first, last)) else None
        if kind is None:
            continue
        theirs[first:last] = True
        frame, child_frame = closure["frame"].reshape(3, 3), closure["child_frame"].reshape(3, 3)  # by columns
        carrier = frame if kind == STILL else child_frame
        rows = slice(closure["first_row"], closure["last_row"])
        locks["t"][rows], locks["f"][rows] = tree.locks["t"][rows] @ carrier, tree.locks["f"][rows] @ carrier
        bond = np.zeros(1, BOND)[0]
        for name in ("parent", "child", "first_row", "last_row", "origin", "child_origin"):
            bond[name] = closure[name]
        bond["kind"], bond["closure"] = kind, k
        bond["frame"], bond["child_frame"] = (
            axes_of(tree, closure, kind, frame),
            axes_of(tree, closure, kind, child_frame),
        )
        table.append(bond)
    return Bonds(records(np.array(table, BOND)), records(locks), theirs)


def kind_of(tree: Tree, closure: np.void) -> int | None:
    """Tell what kind of bond a closure is; None of any other joint."""
    parts = tree.parts[closure["first_part"] : closure["last_part"]]
    if not closure["steady"] or len(parts) > 1 or np.any(tree.driven[closure["iv"] : closure["iv"] + closure["nv"]]):
        return None
    if len(parts) == 0:
        return STILL
    part = parts[0]
    if part["code"] == PartCode.BALL:
        return BALL
    if part["code"] != PartCode.SCREW or (part["turn"].any() and part["slide"].any()):
        return None
    return TURNING if part["turn"].any() else STILL


def axes_of(tree: Tree, closure: np.void, kind: int, frame: Floats) -> Floats:
    """Give what a bond needs of a frame, by columns (9,): all of it, or the axis of its one part."""
    if kind != TURNING:
        return frame.ravel()
    axis = tree.parts[closure["first_part"]]["turn"] @ frame
    return np.concatenate([axis, np.zeros(6)])


# --- errors -------------------------------------------------------------------------------------------------------
@formula
def turn_of(bond, P, C):
    """The vector h."""
    if bond.kind == BALL:
        return ZERO
    F, M = load(bond.frame), load(bond.child_frame)
    if bond.kind == TURNING:
        return cross(P @ F.x, C @ M.x)
    return 0.5 * (cross(P @ F.x, C @ M.x) + cross(P @ F.y, C @ M.y) + cross(P @ F.z, C @ M.z))


@kernel
def write_errors(bonds, poses, errors):
    """Errors of the rows of all bonds, at poses of the bodies."""
    table, locks = bonds.table, bonds.locks
    for k in range(len(table)):
        bond = table[k]
        parent, child = poses[bond.parent], poses[bond.child]
        P, C = load(parent.R), load(child.R)
        d = load(child.x) + C @ load(bond.child_origin) - load(parent.x) - P @ load(bond.origin)
        h = turn_of(bond, P, C)
        if bond.kind == STILL:
            h, d = transposed_times(P, h), transposed_times(P, d)
        else:
            h, d = transposed_times(C, h), transposed_times(C, d)
        for r in range(bond.first_row, bond.last_row):
            T = load_force(locks[r])
            errors[r] = dot(T.t, h) + dot(T.f, d)


# --- derivatives --------------------------------------------------------------------------------------------------
@formula
def reach_of(bond, parent, child):
    """Orientation of the body that carries the locks, and the place of the other one's frame seen from both bodies."""
    P, C = load(parent.R), load(child.R)
    apart = load(child.x) - load(parent.x)
    if bond.kind == STILL:
        outer = C @ load(bond.child_origin)
        return P, outer, outer + apart
    inner = P @ load(bond.origin)
    return C, inner - apart, inner


@formula
def turned_lock(R, lock):
    """A lock in world axes."""
    return Force(R @ load(lock.t), R @ load(lock.f))
