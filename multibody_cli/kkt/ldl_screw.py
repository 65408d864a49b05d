"""Rigid bodies on a joint with one free direction: nodes of `kkt.ldl_tree` that are one block with their constraint.

A joint has five rows j on the body and k = -j X on the parent, where X shifts a motion of the parent to the body.  With
its free direction s (j s = 0) and the dual basis B of its rows (j B = 1), the motions that satisfy the rows are

    a = X a_parent + B c + s w

and s alone yields the inverse of the block of body and constraint, [D  -j^T; -j  0]:

    factor    U = D s,  h = s . U                    contribution to the parent:  X^T (D - U U^T / h) X
    solve     inward     x = f - D B c,  u = s . x   contribution to the parent:  X^T (x - U u / h)
              outward    w = (u - U . X a_parent) / h,  b = X a_parent + s w
                         a = b + B c,  lambda = B^T (D b - x)

D stays in the block of the body.  B, about the origin of the loop frame, are the constraint axes of the joint (`axes`),
which are orthonormal and perpendicular to s there.  The five rows of `far` are s, X^T U, the vector from the parent to
the body with 1/h, the vector from the loop frame to the body, and B c, which the inward pass leaves there.  X^T U has
the same power on the motion of the parent as U on that of the body, and shortens the chain of operations from body to
body.  These are the equations of section 6 for the coordinates (s, B), in which j is (0, 1).
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.kkt.ldl_rigid import load_block, store_block
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import (
    motion_in_axes,
    no_force,
    power,
    rank_one,
    rotated_force,
    shift_force,
    shift_inertia,
    shift_motion,
)
from multibody_cli.spatial.values import Force, Motion


@formula
def load_motion(record):
    """Return the motion in the fields t and f of a record."""
    return Motion(load(record.t), load(record.f))


@formula
def store_motion(record, V):
    """Store a motion in the fields t and f of a record."""
    store_force(record, Force(V.w, V.v))


@formula
def eliminate_screw(node, outer, cells):
    """Eliminate a body with its constraint, and add the Schur complement to the parent's block."""
    wrenches, far = cells.wrenches, node.far
    D, s, r = load_block(wrenches, node.block), load_motion(wrenches[far]), load(wrenches[far + 2].t)
    U = D @ s
    hinv = 1.0 / power(s, U)
    store_force(wrenches[far + 1], shift_force(U, r))
    wrenches[far + 2].f[0] = hinv
    A = shift_inertia(D - rank_one(hinv * U, U), r)
    store_block(wrenches, outer.block, load_block(wrenches, outer.block) + A)


@formula
def motion_of_rows(node, cells, y):
    """Return B c about the origin of the loop frame, world axes, for the right-hand sides c of the rows."""
    T = no_force()
    for r in range(node.first_row, node.last_row):
        T = T + (node.sign * y[r]) * load_force(cells.axes[r])
    T = rotated_force(load(cells.frames[node.frame].R), T)
    return Motion(T.t, T.f)


@formula
def write_multipliers(node, cells, y, W):
    """Write B^T W, for a wrench W about the origin of the loop frame, world axes."""
    V = motion_in_axes(load(cells.frames[node.frame].R), Motion(W.t, W.f))
    for r in range(node.first_row, node.last_row):
        y[r] = node.sign * power(V, load_force(cells.axes[r]))


@formula
def reduce_screw(node, outer, cells, x, y):
    """Inward pass for a body: eliminate its right-hand side and that of its rows, and add the rest to the parent's."""
    wrenches, far = cells.wrenches, node.far
    V = shift_motion(motion_of_rows(node, cells, y), load(wrenches[far + 3].t))
    store_motion(wrenches[far + 4], V)
    p = load_force(x.wrenches[node.x]) - load_block(wrenches, node.block) @ V
    store_force(x.wrenches[node.x], p)
    u = wrenches[far + 2].f[0] * power(load_motion(wrenches[far]), p)
    p = shift_force(p, load(wrenches[far + 2].t)) - u * load_force(wrenches[far + 1])
    store_force(x.wrenches[outer.x], load_force(x.wrenches[outer.x]) + p)


@formula
def recover_screw(node, outer, cells, x, y, with_multipliers):
    """Outward pass for a body: compute its motion and its multipliers from the motion of the parent."""
    wrenches, far = cells.wrenches, node.far
    p, s = load_force(x.wrenches[node.x]), load_motion(wrenches[far])
    above = load_motion(x.wrenches[outer.x])
    rate = wrenches[far + 2].f[0] * (power(s, p) - power(above, load_force(wrenches[far + 1])))
    b = shift_motion(above, load(wrenches[far + 2].t)) + rate * s
    if with_multipliers:
        W = load_block(wrenches, node.block) @ b - p
        write_multipliers(node, cells, y, shift_force(W, load(wrenches[far + 3].t)))
    store_motion(x.wrenches[node.x], b + load_motion(wrenches[far + 4]))
