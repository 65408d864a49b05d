"""Open rows: their wrenches and coefficients, and the elimination of joint coordinates from the rows that pass a joint.

A row is open at the bodies on the way from those on which it acts to the body at which it closes (`row_elimination`).
The formulas are those of `constrained_bodies`: k, K', L' and l' of each row that passes a joint, and the generalized
force k . x of its multiplier on the joint.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.ineffective_rows import ineffective_tolerances, unconstrained_response
from multibody_cli.constraint_solver.solver import largest_position_error
from multibody_cli.kernel import kernel
from multibody_cli.model import KERNEL_BALL
from multibody_cli.spatial.factor import Ldl3, solve
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, dot, no_force, power, shift_force, transposed_times
from multibody_cli.spatial.values import Force, Motion, Vec3


@kernel
def write_open_rows(links, work, plan):
    """Set the wrenches, coefficients and thresholds of all rows, and set L and l to 0."""
    bodies, terms = work.bodies, work.terms
    s_f, s_t = ineffective_tolerances(largest_position_error(work))
    for s in range(len(plan.K)):
        store_force(plan.K[s], no_force())
    for n in range(len(plan.L)):
        plan.L[n] = plan.reduction[n] = 0.0
    for place in range(len(plan.threshold)):
        plan.threshold[place] = plan.unconstrained[place] = 0.0
    for n in range(len(plan.coefficients)):
        plan.coefficients[n] = 0.0
    for n in range(len(plan.term_places)):
        acts = plan.term_places[n]
        term = terms[acts.term]
        if acts.entry >= 0:
            plan.coefficients[acts.entry] += term.coefficient
            continue
        K = load_force(plan.K[acts.slot]) + load_force(term)
        store_force(plan.K[acts.slot], K)
        if acts.last:
            place = plan.slots[acts.slot].place
            of_force, of_moment = unconstrained_response(links[acts.link], bodies[acts.link], K)
            plan.threshold[place] += s_f * of_force + s_t * of_moment
            plan.unconstrained[place] += of_force + of_moment


@kernel
def read_rhs(work, plan):
    """Read the right-hand sides of all rows, and set their accelerations due to forces to 0."""
    for place in range(len(plan.rows)):
        plan.rhs[place] = work.rhs[plan.rows[place]]
        plan.ell[place] = 0.0


@kernel
def pass_rows(link, open_link, driven, body, columns, plan):
    """Eliminate the coordinates of a joint from the rows that pass it, and add their wrenches to the parent's."""
    if link.joint_kernel == KERNEL_BALL:
        pass_rows_past_ball(open_link, body, plan)
    else:
        for j in range(link.nv):
            if not driven[link.iv + j]:
                pass_rows_past_column(open_link, j, columns[link.iv + j], plan)
    r = load(body.r)
    for s in range(open_link.first_slot, open_link.last_passing):
        slot = plan.slots[s].parent
        if slot >= 0:
            parent = plan.K[slot]
            store_force(parent, load_force(parent) + shift_force(load_force(plan.K[s]), r))


@kernel
def pass_rows_past_column(open_link, j, column, plan):
    """Eliminate column j of a joint: k, and the changes of K, L and l."""
    first, n, pair = open_link.first_slot, open_link.last_passing - open_link.first_slot, open_link.first_pair
    wrenches, slots, pairs, L = plan.K[first : first + n], plan.slots[first : first + n], plan.pairs, plan.L
    S, U = Motion(load(column.angular), load(column.linear)), Force(load(column.Ut), load(column.Uf))
    entry = open_link.first_entry + n * j
    coefficients, own = plan.coefficients[entry : entry + n], plan.k[entry : entry + n]
    dinv, u = column.dinv, column.u
    for s in range(n):
        K = load_force(wrenches[s])
        k = power(S, K) + coefficients[s]
        own[s] = k
        if k != 0.0:  # many rows of plane mechanisms do not move the joint
            scaled = k * dinv
            store_force(wrenches[s], K - scaled * U)
            plan.ell[slots[s].place] += scaled * u
            for t in range(s + 1):
                L[pairs[pair + t]] += scaled * own[t]
        pair += s + 1


@kernel
def pass_rows_past_ball(open_link, body, plan):
    """Eliminate a ball: the moments k of the rows, and the changes of K, L and l."""
    first, n, pair = open_link.first_slot, open_link.last_passing - open_link.first_slot, open_link.first_pair
    F, H, u = Ldl3(load(body.dinv), load(body.lower)), load(body.H), load(body.drive)
    entry = open_link.first_entry
    for s in range(n):
        K, place = plan.K[first + s], plan.slots[first + s].place
        k, f = load(K.t), load(K.f)
        g = solve(F, k)
        plan.k[entry + 3 * s], plan.k[entry + 3 * s + 1], plan.k[entry + 3 * s + 2] = k.x, k.y, k.z
        store_force(K, Force(ZERO, f - transposed_times(H, g)))
        plan.ell[place] += dot(g, u)
        for t in range(s + 1):
            c = entry + 3 * t
            plan.L[plan.pairs[pair + t]] += dot(g, Vec3(plan.k[c], plan.k[c + 1], plan.k[c + 2]))
        pair += s + 1


@kernel
def add_impulse_to_rows(link, open_link, driven, body, columns, plan):
    """Add the motion of a joint under impulses to the rows that pass it."""
    first, n, entry = open_link.first_slot, open_link.last_passing - open_link.first_slot, open_link.first_entry
    if link.joint_kernel == KERNEL_BALL:
        turn = solve(Ldl3(load(body.dinv), load(body.lower)), load(body.drive))
        for s in range(n):
            c = entry + 3 * s
            plan.ell[plan.slots[first + s].place] += dot(turn, Vec3(plan.k[c], plan.k[c + 1], plan.k[c + 2]))
        return
    for j in range(link.nv):
        if not driven[link.iv + j]:
            column = columns[link.iv + j]
            rate = column.dinv * column.u
            for s in range(n):
                plan.ell[plan.slots[first + s].place] += rate * plan.k[entry + n * j + s]


@kernel
def apply_multipliers(link, open_link, driven, body, columns, plan):
    """Add the multipliers of the rows that pass a joint to the generalized forces of its columns."""
    first, n, entry = open_link.first_slot, open_link.last_passing - open_link.first_slot, open_link.first_entry
    if link.joint_kernel == KERNEL_BALL:
        drive = load(body.drive)
        for s in range(n):
            c = entry + 3 * s
            drive = drive + plan.x[plan.slots[first + s].place] * Vec3(plan.k[c], plan.k[c + 1], plan.k[c + 2])
        store(body.drive, drive)
        return
    for j in range(link.nv):
        if not driven[link.iv + j]:
            total = columns[link.iv + j].u
            for s in range(n):
                total += plan.k[entry + n * j + s] * plan.x[plan.slots[first + s].place]
            columns[link.iv + j].u = total
