"""Joints with discs, friction patches that slip in two directions, in one pass over a tree (`friction_elimination`).

The friction x of a disc that slides with the velocity u satisfies |u| x + limit u = 0.  With the slip u0 = |u0| n, the
friction x0 and the limit of the last pass, the tangent t across n, and the limit in proportion to the transmitted
wrench, -g . (h F + G), Newton's method for x and u is

    x = n (g . (h F + G)) + e - K u,   e = x0 + limit n,
    K = (limit t t^T + e n^T) / |u0|,

in which x0 is scaled to the limit if it exceeds it.  The limit does not change with the direction of the friction at
the points: that of corners and of spheres does not load them, and opposite points of a sleeve are loaded alike, so that
their friction transmits no force and no bending moment.  At the solution e = 0.  Without e, as in Newton's method for
-limit u / |u|, the iteration converges from close by alone.

u is linear in the rates of the joint.  With J the rows of its slip velocities at unit rates, the joint is eliminated as
a block (`tree.articulated_body`), with an unsymmetric armature:

    U = A S,   L = S - sum_p g n^T J,   D = L^T U + armature + sum_p J^T K J,   V = A^T L,   A' = A - U D^-1 V^T.

The joints have two coordinates and one disc, or three coordinates and three discs.  A disc that sticks determines both
coordinates, or all but one of three; two discs determine all three.  The remaining coordinate is eliminated as a block
of one.  Vectors and matrices have three coordinates; one that does not exist has a column of zeros and the armature 1.

Sources: Chan, Golub and Mulet, A nonlinear primal-dual method for total variation-based image restoration, SIAM J. Sci.
Comput. 20 (1999); Andersen, Christiansen, Conn and Overton, An efficient primal-dual interior-point method for
minimizing a sum of Euclidean norms, SIAM J. Sci. Comput. 22 (2000).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.joint_friction import joint_reaction
from multibody_cli.contact_solver.rows import patch_axes
from multibody_cli.contact_solver.tree_friction_workspace import (
    STICKS,
    determines_rate,
    jam,
    jams_with,
    load_inertia,
    load_vector,
    store_inertia,
)
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.lu import determinant_of, inverse
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    ZERO,
    cross,
    dot,
    no_force,
    outer,
    power,
    scaled,
    shift_motion,
    transposed_times,
)
from multibody_cli.spatial.unsymmetric_inertia import minus_outer, times, transposed
from multibody_cli.spatial.values import Force, Mat3, Motion, Vec3
from multibody_cli.tree.articulated_body import add_column_motion, load_motion_change, store_motion_change
from multibody_cli.tree.jacobian import column_of

NO_MATRIX = Mat3(ZERO, ZERO, ZERO)


MAX_SHARES = 300
"""Largest number of shares of the torque of a ball that are tried."""

MAX_WEIGHT = 1e8
"""Largest weight of a disc in the shares, relative to the smallest of the discs with a limit."""

NEAR_LIMIT = 0.9
"""Part of its limit from which a disc starts to slide together with another of its ball."""


# --- law of a disc ----------------------------------------------------------------------------------------------------
@kernel
def linearize_friction(patches, joint_friction, passes):
    """Compute the drags of all discs that slide, from friction and limits of the last pass; and those of brakes."""
    for p in range(len(patches)):
        speed = passes.speed[p]
        if patches[p].slip_directions == 1:
            passes.applied[p, 0] = -passes.state[p] * joint_friction.brake[p]
            continue
        passes.applied[p, 0] = passes.applied[p, 1] = 0.0
        clear_drag(p, passes)
        if passes.state[p] != STICKS and speed > 0.0 and not passes.soft[0]:
            n, m, limit = passes.direction[p, 0], passes.direction[p, 1], joint_friction.limit[p]
            size = math.hypot(passes.friction[p, 0], passes.friction[p, 1])
            scale = limit / size if size > limit else 1.0
            passes.applied[p, 0] = scale * passes.friction[p, 0] + limit * n
            passes.applied[p, 1] = scale * passes.friction[p, 1] + limit * m
            add_drag(p, -limit * m, limit * n, -m / speed, n / speed, passes)
            add_drag(p, passes.applied[p, 0], passes.applied[p, 1], n / speed, m / speed, passes)


@formula
def clear_drag(p, passes):
    """Set the drag of a disc to 0."""
    for i in range(2):
        for j in range(2):
            passes.drag[p, i, j] = 0.0


@formula
def add_drag(p, x, y, a, b, passes):
    """Add (x, y) (a, b)^T to the drag of a disc."""
    passes.drag[p, 0, 0] += x * a
    passes.drag[p, 0, 1] += x * b
    passes.drag[p, 1, 0] += y * a
    passes.drag[p, 1, 1] += y * b


# --- coordinates of a joint -------------------------------------------------------------------------------------------
@formula
def joint_columns(columns, link):
    """Return three columns of S; the third is 0 if the joint has two coordinates."""
    third = column_of(columns[link.iv + link.nv - 1])
    return column_of(columns[link.iv]), column_of(columns[link.iv + 1]), (1.0 if link.nv == 3 else 0.0) * third


@formula
def joint_values(x, link, other):
    """Return the values of the coordinates of a joint in x (nv,), and `other` for one that does not exist."""
    return Vec3(x[link.iv], x[link.iv + 1], x[link.iv + link.nv - 1] if link.nv == 3 else other)


@formula
def diagonal(values):
    """Return a diagonal Mat3."""
    return Mat3(Vec3(values.x, 0.0, 0.0), Vec3(0.0, values.y, 0.0), Vec3(0.0, 0.0, values.z))


@formula
def store_slip_inertia(inertia, mass, a, b):
    """Store the inertia of a disc against slip, for the rates of least norm that slip with unit velocity."""
    aa, ab, bb = dot(a, a), dot(a, b), dot(b, b)
    scale = 1.0 / (aa * bb - ab * ab)
    x, y = scale * (bb * a - ab * b), scale * (aa * b - ab * a)
    inertia[0], inertia[1], inertia[2] = dot(x, mass @ x), dot(x, mass @ y), dot(y, mass @ y)


@formula
def products(x, y, z, W):
    """Return the products of three motions with a Force."""
    return Vec3(power(x, W), power(y, W), power(z, W))


@formula
def slip_rows(patch, columns, link, bodies):
    """Return the slip velocities of a disc at unit rates of the joint, along both of its slip directions."""
    R = patch_axes(patch, bodies)
    x, y, z = joint_columns(columns, link)
    along = Force(R @ load(patch.along_t), R @ load(patch.along_f))
    across = Force(R @ load(patch.across_t), R @ load(patch.across_f))
    return products(x, y, z, along), products(x, y, z, across)


@kernel
def count_sticking(patch, passes) -> int:
    """Return the number of discs of a joint that stick without compliance."""
    count = 0
    for k in range(patch.first_patch, patch.last_patch):
        count += determines_rate(k, passes)
    return count


@kernel
def is_at_rest(patch, passes) -> bool:
    """Return whether discs that stick determine all rates of a joint."""
    return count_sticking(patch, passes) >= min(2, patch.last_patch - patch.first_patch)


@formula
def resting_rates(patches, first, link, work, joint_friction):
    """Return the rates of a joint at which no disc slips."""
    a, b = slip_rows(patches[first], work.columns, link, work.bodies)
    c, changes, offset = Vec3(0.0, 0.0, 1.0), joint_friction.slip_changes, 0.0
    if link.nv == 3:
        c, _ = slip_rows(patches[first + 1], work.columns, link, work.bodies)
        offset = changes[first + 1, 0]
    E, determinant = cofactors(Mat3(a, b, c))
    return (-1.0 / determinant) * (E @ Vec3(changes[first, 0], changes[first, 1], offset))


@formula
def cofactors(A):
    """Return the matrix E and the determinant of a Mat3: its inverse is E^T / determinant."""
    E = Mat3(cross(A.y, A.z), cross(A.z, A.x), cross(A.x, A.y))
    return E, dot(A.x, E.x)


# --- elimination ------------------------------------------------------------------------------------------------------
@kernel
def eliminate_discs(system, work, joint_friction, passes, h, v, i) -> bool:
    """Eliminate the joint of body i from its inertia and bias impulse, in place; return False if D is singular."""
    patches, link, bodies = system.contacts.joint_friction.patches, system.tree.links[i], work.bodies
    first = passes.discs[i]
    last = patches[first].last_patch
    A, p = load_inertia(passes.inertias[i]), load_force(passes.inertias[i])
    x, y, z = joint_columns(work.columns, link)
    Ux, Uy, Uz = times(A, x), times(A, y), times(A, z)
    armature, changes = joint_values(passes.edges.armature, link, 1.0), joint_friction.slip_changes
    mass = diagonal(armature) + Mat3(products(x, y, z, Ux), products(x, y, z, Uy), products(x, y, z, Uz))
    for attempt in range(2):
        sticking, change, free = count_sticking(patches[first], passes), ZERO, ZERO
        if sticking > 0:
            for k in range(first, last):
                along, across = slip_rows(patches[k], work.columns, link, bodies)
                store_slip_inertia(passes.slip_inertia[k], mass, along, across)
            change = resting_rates(patches, first, link, work, joint_friction) - joint_values(v, link, 0.0)
        rates, p0 = joint_values(v, link, 0.0) + change, p + (change.x * Ux + change.y * Uy + change.z * Uz)
        if sticking >= min(2, last - first):
            store_columns(passes.columns, link, no_force(), no_force(), no_force(), change)
            store_force(passes.inertias[i], p0)
            return True
        Lx, Ly, Lz, D, loaded = x, y, z, mass, mass
        force = joint_values(passes.edges.impulse, link, 0.0) - scaled(armature, change)
        for k in range(first, last):
            along, across = slip_rows(patches[k], work.columns, link, bodies)
            if determines_rate(k, passes):
                free = cross(along, across)
            else:
                R, F, g = (
                    patch_axes(patches[k], bodies),
                    load_force(joint_friction.reactions[k]),
                    load_vector(passes.share[k]),
                )
                a, G, K = (
                    passes.direction[k, 0] * along + passes.direction[k, 1] * across,
                    Motion(R @ g.t, R @ g.f),
                    passes.drag[k],
                )
                Lx, Ly, Lz = Lx - a.x * G, Ly - a.y * G, Lz - a.z * G
                drag = outer(along, K[0, 0] * along + K[0, 1] * across) + outer(
                    across, K[1, 0] * along + K[1, 1] * across
                )
                D, loaded = D + drag, loaded + drag - outer(a, Vec3(power(G, Ux), power(G, Uy), power(G, Uz)))
                u, w = dot(along, rates) + changes[k, 0], dot(across, rates) + changes[k, 1]
                force = force + (h * (dot(g.t, F.t) + dot(g.f, F.f))) * a
                force = force + (passes.applied[k, 0] - K[0, 0] * u - K[0, 1] * w) * along
                force = force + (passes.applied[k, 1] - K[1, 0] * u - K[1, 1] * w) * across
        E, determinant, unloaded = inverse(loaded), determinant_of(loaded), determinant_of(D)
        if sticking > 0:
            determinant, unloaded = dot(free, loaded @ free), dot(free, D @ free)
            E = (1.0 / determinant) * outer(free, free)
        if not jams_with(determinant, unloaded, passes):
            break
        if attempt > 0:
            return False
        for k in range(first, last):
            if passes.state[k] != STICKS:
                jam(k, passes)
    Vx, Vy, Vz = transposed(A, Lx), transposed(A, Ly), transposed(A, Lz)
    change = change + transposed_times(E, force - products(Lx, Ly, Lz, p0))
    Yx = E.x.x * Vx + E.x.y * Vy + E.x.z * Vz
    Yy = E.y.x * Vx + E.y.y * Vy + E.y.z * Vz
    Yz = E.z.x * Vx + E.z.y * Vy + E.z.z * Vz
    store_columns(passes.columns, link, Yx, Yy, Yz, change)
    store_inertia(passes.inertias[i], minus_outer(minus_outer(minus_outer(A, Ux, Yx), Uy, Yy), Uz, Yz))
    store_force(passes.inertias[i], p + (change.x * Ux + change.y * Uy + change.z * Uz))
    return True


@formula
def store_columns(columns, link, Yx, Yy, Yz, change):
    """Store the changes of the rates of a joint, and their dependence on the motion of the parent."""
    if link.nv == 3:
        store_column(columns[link.iv + 2], Yz, change.z)
    store_column(columns[link.iv], Yx, change.x)
    store_column(columns[link.iv + 1], Yy, change.y)


@formula
def store_column(column, Y, change):
    """Store the change of a rate, and its dependence on the motion of the parent."""
    store(column.Vt, Y.t)
    store(column.Vf, Y.f)
    column.u = change


@kernel
def move_discs(system, work, passes, i, change):
    """Compute the changes of the rates of the joint of body i, and that of its motion, from that of its parent."""
    node, body = passes.bodies.nodes[i], work.bodies[i]
    of_parent = shift_motion(load_motion_change(work.bodies[node.parent]), load(body.r))
    dV = of_parent
    for j in range(node.iv, node.iv + node.nv):
        column = passes.columns[j]
        change[j] = column.u - power(of_parent, Force(load(column.Vt), load(column.Vf)))
        dV = add_column_motion(dV, work.columns[j], change[j])
    store_motion_change(body, dV)


# --- slip and friction ------------------------------------------------------------------------------------------------
@kernel
def compute_disc_slips(patches, first, link, work, joint_friction, passes, v):
    """Compute the slip velocities of the discs of a joint after the step."""
    rates = joint_values(v, link, 0.0) + joint_values(work.response, link, 0.0)
    moves = 0.0 if is_at_rest(patches[first], passes) else 1.0
    for k in range(first, patches[first].last_patch):
        along, across = slip_rows(patches[k], work.columns, link, work.bodies)
        passes.slip[k, 0] = moves * (dot(along, rates) + joint_friction.slip_changes[k, 0])
        passes.slip[k, 1] = moves * (dot(across, rates) + joint_friction.slip_changes[k, 1])


@kernel
def balance_discs(patches, first, link, work, joint_friction, passes, h):
    """Compute the friction of the discs of a joint from the impulses that it transmits.

    Discs that slide have the friction of the pass.  The others change theirs by as little as balances the joint; if
    none sticks, all correct their round-off.  Beside edges only those that stick do, as impulses of edges have more.
    """
    bodies, W = work.bodies, load_force(work.wrenches[patches[first].row])
    x, y, z = joint_columns(work.columns, link)
    all_slide, count = not passes.soft[0] and count_sticking(patches[first], passes) == 0, 0
    change, armature = joint_values(work.response, link, 0.0), joint_values(work.armature, link, 0.0)
    rest, total, normal = products(x, y, z, W) + scaled(armature, change), NO_MATRIX, ZERO
    rest = rest - joint_values(passes.edges.on_coordinate, link, 0.0)
    for k in range(first, patches[first].last_patch):
        along, across = slip_rows(patches[k], work.columns, link, bodies)
        if not determines_rate(k, passes):
            g, K, u, w = load_vector(passes.share[k]), passes.drag[k], passes.slip[k, 0], passes.slip[k, 1]
            carried = h * load_force(joint_friction.reactions[k]) + joint_reaction(patches[k], work)
            limited = dot(g.t, carried.t) + dot(g.f, carried.f)
            passes.friction[k, 0] = passes.applied[k, 0] + passes.direction[k, 0] * limited - K[0, 0] * u - K[0, 1] * w
            passes.friction[k, 1] = passes.applied[k, 1] + passes.direction[k, 1] * limited - K[1, 0] * u - K[1, 1] * w
        rest = rest - (passes.friction[k, 0] * along + passes.friction[k, 1] * across)
        if passes.state[k] == STICKS or all_slide:
            count += 1
            normal = cross(along, across)
            total = total + outer(along, along) + outer(across, across)
    if count == 1:
        total = total + outer(normal, normal)
    E, determinant = cofactors(total)
    correction = (1.0 / determinant) * (E @ rest)
    for k in range(first, patches[first].last_patch):
        if passes.state[k] == STICKS or all_slide:
            along, across = slip_rows(patches[k], work.columns, link, bodies)
            passes.friction[k, 0] += dot(along, correction)
            passes.friction[k, 1] += dot(across, correction)


@kernel
def distribute_torque(patches, first, joint_friction, passes):
    """Share the torque of a ball at rest between its discs, within their limits if possible.

    With weights w of the discs, x = w (the part of a vector d in the plane of the disc) balances the torque.  The
    weights w limit / |x| converge to the d of the motion that needs the smallest limits (iteratively reweighted least
    squares).  If they do not suffice, all discs near their limits exceed them, so that they slide together.
    """
    last, torque, largest, excess = patches[first].last_patch, ZERO, 0.0, 0.0
    for k in range(first, last):
        torque = (
            torque
            + passes.friction[k, 0] * load(patches[k].along_t)
            + passes.friction[k, 1] * load(patches[k].across_t)
        )
        largest = max(largest, joint_friction.limit[k])
        passes.state[k], passes.weight[k] = STICKS, joint_friction.limit[k]
    if not largest > 0.0:
        return
    for _ in range(MAX_SHARES):
        total, excess, smallest = NO_MATRIX, 0.0, math.inf
        for k in range(first, last):
            smallest = min(smallest, passes.weight[k] if passes.weight[k] > 0.0 else smallest)
        for k in range(first, last):
            passes.weight[k] = min(max(passes.weight[k] / smallest, 1.0 / MAX_WEIGHT), MAX_WEIGHT)
            a, b = load(patches[k].along_t), load(patches[k].across_t)
            total = total + passes.weight[k] * (outer(a, a) + outer(b, b))
        E, determinant = cofactors(total)
        d = (1.0 / determinant) * (E @ torque)
        for k in range(first, last):
            x, y = dot(load(patches[k].along_t), d), dot(load(patches[k].across_t), d)
            passes.friction[k, 0], passes.friction[k, 1] = passes.weight[k] * x, passes.weight[k] * y
            size, limit = math.hypot(passes.friction[k, 0], passes.friction[k, 1]), joint_friction.limit[k]
            excess = max(excess, size - limit)
            passes.weight[k] *= limit / max(size, limit / MAX_WEIGHT) if limit > 0.0 else 0.0
        if excess <= 0.0:
            return
    exceeding = 0
    for k in range(first, last):
        exceeding += math.hypot(passes.friction[k, 0], passes.friction[k, 1]) > joint_friction.limit[k]
    for k in range(first, last):
        size, limit = math.hypot(passes.friction[k, 0], passes.friction[k, 1]), joint_friction.limit[k]
        if exceeding == 1 and NEAR_LIMIT * limit < size < limit + excess:
            passes.friction[k, 0] *= (limit + excess) / size
            passes.friction[k, 1] *= (limit + excess) / size
