"""Rigid bodies on a joint: nodes of `kkt.ldl_tree` that are one block with their constraint, as articulated bodies.

The rows of a joint act equally and oppositely on both bodies, k = -j X, where X shifts a motion of the parent to the
origin of the loop frame.  With the free columns S of the joint (j S = 0) and the dual basis B of its rows (j B = 1),
the motions that satisfy the rows are

    a = X a_parent + B c + S w

and S alone yields the inverse of the block of body and constraint, [D  -j^T; -j  0].  It is that of an articulated body
whose joint moves by S beside the given motion B c, so that the formulas are those of `tree.articulated_body`:

    factor    U = D s,  h = s . U,  D' = D - U U^T / h  for each column s      contribution to the parent:  X^T D' X
    solve     inward     p = D B c - f,  u = -s . p,  p' = p + U u / h         contribution to the parent:  -X^T p'
              outward    w = (u - U . b) / h,  b += s w  from b = X a_parent
                         a = b + B c,  lambda = B^T (D b + p)

A rotor of inertia A on a column adds A to h.  With its force f and the right-hand side c of its row, the force of the
column at rest is f + A c, which the node of the rotor leaves in the place of c.  The rate of the column is w + d . B c
with its dual d, which need not be perpendicular to B, so that the multiplier is f + A c - A (w + d . B c); for the
other sense of the joint, the rate has the other sign.  The wrench of the rotor along d is subtracted from D b + p.

A ball is one block of three columns, whose D' has no rotational part at all, which preserves the accuracy of long
chains.  These are the equations of section 6 for the coordinates (S, B), in which j is (0, 1).

All quantities refer to the origin of the loop frame.  D is in the block of the body; U, h and u are in the records of
the columns, the factors of a ball in that of the loop frame.  B are the constraint axes of the joint (`axes`, in the
axes of M), which are orthonormal and perpendicular to S.  `body_rows` holds the vectors from the loop frame to the
body and from the parent to the loop frame, `parent_rows` holds B c, which the inward pass leaves there.
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.kkt.ldl_rigid import load_block, store_block
from multibody_cli.kkt.nodes import ON_BALL, ON_HINGE
from multibody_cli.spatial.factor import Ldl3, solve
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import (
    ZERO,
    motion_in_axes,
    no_force,
    power,
    rotated_force,
    shift_force,
    shift_inertia,
    shift_motion,
    transposed_times,
)
from multibody_cli.spatial.values import Force, Motion
from multibody_cli.tree.articulated_body import (
    accelerate_column,
    add_column_motion,
    eliminate_column,
    eliminate_rotation,
    factor_ball,
    impulse_past_column,
)


# --- values in memory ---------------------------------------------------------------------------------------------
@formula
def load_motion(record):
    """Return the motion in the fields t and f of a record."""
    return Motion(load(record.t), load(record.f))


@formula
def store_motion(record, V):
    """Store a motion in the fields t and f of a record."""
    store_force(record, Force(V.w, V.v))


@formula
def load_ball(frame):
    """Return the factors of a ball in the record of its loop frame."""
    return Ldl3(load(frame.dinv), load(frame.lower))


# --- right-hand sides of rows -------------------------------------------------------------------------------------
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


# --- rotors -------------------------------------------------------------------------------------------------------
@formula
def armature_of(cells, j):
    """Return the inertia of the rotor of a coordinate, or 0."""
    return cells.numbers[cells.rotor_blocks[j]] if cells.rotor_rows[j] >= 0 else 0.0


@formula
def force_of_rotor(cells, j, y):
    """Return the force of the rotor of a coordinate, or 0."""
    return y[cells.rotor_rows[j]] if cells.rotor_rows[j] >= 0 else 0.0


@formula
def accelerate_rotor(node, cells, j, y, rate):
    """Reduce the force of the rotor of a coordinate, if any, by that of a rate of the column."""
    if cells.rotor_rows[j] >= 0:
        y[cells.rotor_rows[j]] -= node.sign * armature_of(cells, j) * rate


@formula
def reduce_rotor(node, numbers, x, y):
    """Replace the right-hand side c of the row w - a = c of a rotor by the force f + A c of the rotor at w = 0."""
    y[node.first_row] = x[6 * node.x] + numbers[6 * node.block] * y[node.first_row]


@formula
def recover_rotor(node, numbers, x, y):
    """Compute the motion of a rotor from its multiplier."""
    x[6 * node.x] = (x[6 * node.x] - y[node.first_row]) / numbers[6 * node.block]


# --- a body with its constraint -----------------------------------------------------------------------------------
@formula
def eliminate_joint(node, parent, cells):
    """Eliminate a body with its constraint, and add the Schur complement to the parent's block."""
    wrenches, columns = cells.wrenches, cells.columns
    arms = wrenches[node.body_rows]
    A = shift_inertia(load_block(wrenches, node.block), load(arms.t))
    store_block(wrenches, node.block, A)
    if node.joint == ON_BALL:
        _, _, A = factor_ball(cells.frames[node.frame], A)
    elif node.joint == ON_HINGE:
        A, _ = eliminate_rotation(columns[node.iv], A, no_force(), 0.0, armature_of(cells, node.iv))
    else:
        for j in range(node.iv, node.last_iv):
            if not cells.driven[j]:
                A, _ = eliminate_column(columns[j], A, no_force(), 0.0, armature_of(cells, j))
    A = shift_inertia(A, load(arms.f))
    store_block(wrenches, parent.block, load_block(wrenches, parent.block) + A)


@formula
def reduce_joint(node, parent, cells, x, y):
    """Inward pass for a body: eliminate its right-hand side and that of its rows, and add the rest to the parent's."""
    wrenches, arms, V = cells.wrenches, cells.wrenches[node.body_rows], motion_of_rows(node, cells, y)
    store_motion(wrenches[node.parent_rows], V)
    D, p = load_block(wrenches, node.block), -shift_force(load_force(x.wrenches[node.x]), load(arms.t))
    if node.joint == ON_BALL:
        p = p + Force(D.H @ V.v, D.M @ V.v)
        store_force(x.wrenches[node.x], p)
        p = Force(ZERO, p.f - transposed_times(D.H, solve(load_ball(cells.frames[node.frame]), p.t)))
    else:
        p = p + D @ V
        store_force(x.wrenches[node.x], p)
        for j in range(node.iv, node.last_iv):
            if not cells.driven[j]:
                accelerate_rotor(node, cells, j, y, power(V, load_force(cells.dual_basis[j])))
                p = impulse_past_column(cells.columns[j], p, node.sign * force_of_rotor(cells, j, y))
    store_force(x.wrenches[parent.x], load_force(x.wrenches[parent.x]) - shift_force(p, load(arms.f)))


@formula
def recover_joint(node, parent, cells, x, y, with_multipliers):
    """Outward pass for a body: compute its motion and its multipliers from the motion of the parent."""
    wrenches, arms, p = cells.wrenches, cells.wrenches[node.body_rows], load_force(x.wrenches[node.x])
    b, D = shift_motion(load_motion(x.wrenches[parent.x]), load(arms.f)), load_block(wrenches, node.block)
    if node.joint == ON_BALL:
        b = Motion(solve(load_ball(cells.frames[node.frame]), -p.t - D.H @ b.v), b.v)
        if with_multipliers:
            write_multipliers(node, cells, y, Force(ZERO, transposed_times(D.H, b.w) + D.M @ b.v + p.f))
    else:
        of_rotors = no_force()
        for j in range(node.last_iv - 1, node.iv - 1, -1):
            if not cells.driven[j]:
                rate = accelerate_column(cells.columns[j], b)
                b = add_column_motion(b, cells.columns[j], rate)
                accelerate_rotor(node, cells, j, y, rate)
                of_rotors = of_rotors + node.sign * force_of_rotor(cells, j, y) * load_force(cells.dual_basis[j])
        if with_multipliers:
            write_multipliers(node, cells, y, D @ b + p - of_rotors)
    store_motion(x.wrenches[node.x], shift_motion(b + load_motion(wrenches[node.parent_rows]), load(arms.t)))
