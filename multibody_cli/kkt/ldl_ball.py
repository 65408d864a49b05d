"""Rigid bodies on ball joints: nodes of `kkt.ldl_tree` that are one block with their constraint.

A ball has three rows: forces T through its centre, on the body and oppositely on the parent.  With all quantities at
the centre, where D = [[J, H], [H^T, M]], the rows leave the rotation free, and the inverse of the block of body and
constraint follows from J alone:

    factor    J = L d L^T,  S = M - H^T J^-1 H           contribution to the parent:  X^T [0  0; 0  S] X
    solve     inward     e = T c,  (t, f) -= D (0, e)    contribution to the parent:  X^T (0, f - H^T J^-1 t)
              outward    (w, v) = X a_parent,  w = J^-1 (t - H v)
                         a = (w, v + e),  lambda = T^T (H^T w + M v - f)

X shifts a motion of the parent to the centre.  D at the centre, with the factors of J, is in the block of the body; T
is in `axes`; the first row of `far` has the vectors from the centre to the body and from the parent to the centre.  Its
second row is e, which the inward pass leaves there.  S has no rotational part at all, which preserves the accuracy of
long chains.
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.kkt.ldl_rigid import load_block, packed, store_block, unpacked
from multibody_cli.kkt.ldl_screw import load_motion, motion_of_rows, store_motion, write_multipliers
from multibody_cli.spatial.factor import factor, solve, solve_lower
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    ZERO,
    isotropic,
    scaled,
    shift_force,
    shift_inertia,
    shift_motion,
    symmetric_product,
    transposed_times,
)
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion


@formula
def eliminate_ball(node, outer, cells):
    """Eliminate a body with its constraint, and add the Schur complement to the parent's block."""
    wrenches = cells.wrenches
    arms = wrenches[node.far]
    D = shift_inertia(load_block(wrenches, node.block), load(arms.t))
    F, H = factor(D.J), D.H
    store_block(wrenches, node.block, Inertia(packed(F), H, D.M))
    Y = Mat3(solve_lower(F, H.x), solve_lower(F, H.y), solve_lower(F, H.z))
    Z = Mat3(scaled(F.dinv, Y.x), scaled(F.dinv, Y.y), scaled(F.dinv, Y.z))
    S = Inertia(isotropic(0.0), Mat3(ZERO, ZERO, ZERO), D.M - symmetric_product(Y, Z))
    A = shift_inertia(S, load(arms.f))
    store_block(wrenches, outer.block, load_block(wrenches, outer.block) + A)


@formula
def reduce_ball(node, outer, cells, x, y):
    """Inward pass for a body: eliminate its right-hand side and that of its rows, and add the rest to the parent's."""
    wrenches = cells.wrenches
    arms, D, e = wrenches[node.far], load_block(wrenches, node.block), motion_of_rows(node, cells, y).v
    store(wrenches[node.far + 1].t, e)
    p = shift_force(load_force(x.wrenches[node.x]), load(arms.t)) - Force(D.H @ e, D.M @ e)
    store_force(x.wrenches[node.x], p)
    f = p.f - transposed_times(D.H, solve(unpacked(D.J), p.t))
    load_of_parent = load_force(x.wrenches[outer.x]) + shift_force(Force(ZERO, f), load(arms.f))
    store_force(x.wrenches[outer.x], load_of_parent)


@formula
def recover_ball(node, outer, cells, x, y, with_multipliers):
    """Outward pass for a body: compute its motion and its multipliers from the motion of the parent."""
    wrenches = cells.wrenches
    arms, D, p = wrenches[node.far], load_block(wrenches, node.block), load_force(x.wrenches[node.x])
    v = shift_motion(load_motion(x.wrenches[outer.x]), load(arms.f)).v
    w = solve(unpacked(D.J), p.t - D.H @ v)
    if with_multipliers:
        write_multipliers(node, cells, y, Force(ZERO, transposed_times(D.H, w) + D.M @ v - p.f))
    V = Motion(w, v + load(wrenches[node.far + 1].t))
    store_motion(x.wrenches[node.x], shift_motion(V, load(arms.t)))
