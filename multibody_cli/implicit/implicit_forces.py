"""Implicit forces: the accelerations that forces leave as they will push at the end of a step.

With K = dF/dx and D = dF/dv of all that pushes bodies (`forces.variation`), J the Jacobian of their twists, and C the
coordinates of joints that close loops, an implicit step of h solves

    A y = b,    A = M + H - J^T (h D + h^2 K) J + C^T H_C C,

where H = h D_r + h^2 K_r of joints is diagonal.  A method answers with P y = b alone, where P is M + H and, of the
middle term, the blocks of single bodies, which fit any tree.  What is left couples bodies across the tree, and is known
by products alone, in O(n): R = A - P.  Conjugate gradients with P for preconditioner bring the method's own answer y0
to the solution, beginning with the residual b - A y0 = -R y0; as P z = r is known for every z that P answers with, no
product with M is ever taken.  Rows that the method holds itself stay held, for every answer obeys them.

A residual is held as wrenches on the bodies, and a motion as their twists beside the rates, so that the product of the
two is a sum over bodies.

The functions are templates: `respond` stands for the kernel of a method (`bound_kernel`).

Sources: Sueda, notes 2.5, (2.77)-(2.79), and 2.13, Alg. 10; Baraff and Witkin, Large Steps in Cloth Simulation (1998).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from multibody_cli.constraint_solver.loop_joints import accelerate_closures, follow_closures, impel_closures
from multibody_cli.constraint_solver.solver import accelerate, aim_nowhere, respond
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.elements import foresee_all, harden_all, vary_all
from multibody_cli.kernel import bound_kernel, formula, kernel
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, no_force, no_inertia, power, shift_motion
from multibody_cli.spatial.values import Force, Motion
from multibody_cli.tree.articulated_body import (
    change_of,
    inertia_in,
    keep_change,
    keep_inertia,
    moved,
    own_inertia,
)
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, complete_columns, jacobian_times
from multibody_cli.tree.markers import follow_markers, hand_on
from multibody_cli.tree.workspace import BLOCKS


# --- forces as they will push --------------------------------------------------------------------------------------
@kernel
def look_ahead(work, h, along, faster):
    """Let forces push as they will after the time h; as they do now, for 0: see `forces.elements.foresee_all`."""
    work.horizon[0], work.horizon[1], work.horizon[2] = h, along, faster
    for i in range(len(work.armature)):
        work.armature[i] = 0.0
    clear_blocks(work)


@kernel
def clear_blocks(work):
    """No body seems to have more inertia than it has."""
    blocks = work.foresight.blocks
    for i in range(len(blocks)):
        keep_inertia(blocks[i], no_inertia())


@kernel
def foresee_joints(system, work, t):
    """Let springs and dampers of the joints that carry bodies push as they will."""
    foresee_all(system.forces, work.horizon, work.ahead, work.tau, work.armature)


@kernel
def foresee(system, work, t):
    """Let everything push as it will, with the rates `work.ahead`: on the right-hand side, and in H and the blocks."""
    tree, bodies, horizon, ahead = system.tree, work.bodies, work.horizon, work.ahead
    complete_columns(tree, work)
    spread(tree, ahead, work)
    follow_markers(tree, bodies)
    follow_closures(tree, ahead, work)
    foresee_all(system.forces, horizon, ahead, work.tau, work.armature)
    work.foresight.time[0] = t
    clear_wrenches(work)
    vary_all(system.forces, t, bodies, horizon[1], horizon[2], False, work.wrenches)
    if horizon[1] > 0.0:
        foresee_bias(system, work, t)
    for i in range(len(bodies)):
        w = load_force(work.wrenches[i])
        apply_wrench(bodies[i], w.t, w.f)
    clear_blocks(work)
    if work.foresight.settings.preconditioner == BLOCKS:
        h = horizon[0]
        harden_all(system.forces, t, bodies, h * h, h, work.foresight.blocks)


@kernel
def foresee_bias(system, work, t):
    """Let everything push as the accelerations make it that the bodies have without any of the coordinates.

    So that forces feel the velocities of the bodies at the end of the step, in whatever coordinates they are found.
    """
    tree, bodies, h = system.tree, work.bodies, work.horizon[0]
    for i in range(len(tree.links)):
        keep_change(bodies[i], Motion(ZERO, ZERO))
    follow_markers(tree, bodies)
    accelerate_closures(tree, work.foresight.z, work)
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        for j in range(closure.iv, closure.iv + closure.nv):
            if not tree.driven[j]:
                work.tau[j] -= work.armature[j] * work.foresight.z[j]
    rise = load(bodies[0].a)  # gravity is a ground that rises
    for i in range(1, len(tree.links)):
        up = ZERO if tree.links[i].weightless else rise
        keep_change(bodies[i], Motion(load(bodies[i].alpha), load(bodies[i].a) - up))
    follow_markers(tree, bodies)
    vary_all(system.forces, t, bodies, h * h, h, False, work.wrenches)


@kernel
def spread(tree, x, work):
    """J x for the rates x (nv,) of all coordinates, prescribed ones too, into `dw` and `dv` of the bodies."""
    links, bodies, columns = tree.links, work.bodies, work.columns
    keep_change(bodies[0], Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        V = shift_motion(change_of(bodies[links[i].parent]), load(bodies[i].r))
        for j in range(links[i].iv, links[i].iv + links[i].nv):
            V = moved(V, columns[j], x[j])
        keep_change(bodies[i], V)


# --- products ------------------------------------------------------------------------------------------------------
@kernel
def clear_wrenches(work):
    """No wrench on any body."""
    for i in range(len(work.wrenches)):
        store_force(work.wrenches[i], no_force())


@kernel
def yield_to(system, work, y):
    """Minus what forces take beyond M and H, for rates y (nv,) whose motion the bodies hold, into `work.wrenches`."""
    tree, x, h = system.tree, work.foresight.x, work.horizon[0]
    follow_markers(tree, work.bodies)
    follow_closures(tree, y, work)
    clear_wrenches(work)
    vary_all(system.forces, work.foresight.time[0], work.bodies, h * h, h, False, work.wrenches)
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        for j in range(closure.iv, closure.iv + closure.nv):
            x[j] = -work.armature[j] * y[j]
    impel_closures(tree, x, work)
    hand_on(tree, work.wrenches)


@kernel
def add_blocks(tree, work):
    """Add to the wrenches what P takes already of the motion that the bodies hold."""
    blocks, wrenches = work.foresight.blocks, work.wrenches
    for i in range(1, len(tree.links)):
        w = inertia_in(blocks[i]) @ change_of(work.bodies[i])
        store_force(wrenches[i], load_force(wrenches[i]) + w)


@kernel
def pairing(wrenches, bodies, count):
    """Product of the wrenches with the motion that `count` bodies hold."""
    total = 0.0
    for i in range(1, count):
        total += power(change_of(bodies[i]), load_force(wrenches[i]))
    return total


@kernel
def square_of(tree, work, y) -> float:
    """y . (M + H) y of the motion that the bodies hold, of rates y."""
    total = 0.0
    for i in range(1, len(tree.links)):
        V = change_of(work.bodies[i])
        total += power(V, own_inertia(tree.links[i], work.bodies[i]) @ V)
        for j in range(tree.links[i].iv, tree.links[i].iv + tree.links[i].nv):
            total += 0.0 if tree.driven[j] else work.armature[j] * y[j] * y[j]
    return total


# --- by iteration --------------------------------------------------------------------------------------------------
def precondition(system, work):
    """Answer to the residual: z = P^-1 r into `work.foresight.z`, and its motion into the bodies."""
    G = work.foresight
    for i in range(len(G.r)):
        store_force(work.wrenches[i], load_force(G.r[i]))
    for j in range(len(G.x)):
        G.x[j] = 0.0
    respond(system, work, G.x, G.z)


def correct(system, work, y):
    """Bring a method's answer y (nv,), of P, to that of A; the bodies' dw, dv follow it."""
    if work.horizon[0] == 0.0:
        return
    tree, bodies, G, n = system.tree, work.bodies, work.foresight, len(system.tree.links)
    aim_nowhere(work)
    enough = G.settings.tolerance * G.settings.tolerance * square_of(tree, work, y)
    keep_motions(bodies, G.answer)
    keep_multipliers(work, 0, 0.0)
    yield_to(system, work, y)
    add_blocks(tree, work)
    for i in range(n):
        store_force(G.r[i], load_force(work.wrenches[i]))
    precondition(system, work)
    left, rounds = pairing(G.r, bodies, n), 0
    keep_motions(bodies, G.direction)
    keep_multipliers(work, 1, 0.0)
    for i in range(n):
        store_force(G.s[i], load_force(G.r[i]))
    for j in range(len(y)):
        G.p[j] = G.z[j]
    while left > enough and rounds < G.settings.rounds:
        give_motions(G.direction, bodies)
        steep = pairing(G.s, bodies, n)
        yield_to(system, work, G.p)
        add_blocks(tree, work)
        steep -= pairing(work.wrenches, bodies, n)
        step(G, work.wrenches, left / steep, y)
        precondition(system, work)
        rest = pairing(G.r, bodies, n)
        turn(G, bodies, rest / left)
        keep_multipliers(work, 1, rest / left)
        left = rest
        rounds += 1
    give_motions(G.answer, bodies)
    give_multipliers(work)
    G.rounds[0] = max(G.rounds[0], rounds)
    if not left <= enough:
        G.unsolved[0] += 1


@kernel
def keep_multipliers(work, k, beta):
    """Multipliers of the rows that the method holds, plus beta times those that were kept."""
    kept = work.foresight.multipliers
    for r in range(len(work.aims)):
        kept[k, r] = work.rows[r].multiplier + beta * kept[k, r]


@kernel
def give_multipliers(work):
    """Let the rows that the method holds have the multipliers of the answer."""
    for r in range(len(work.aims)):
        if work.rows[r].primary:
            work.rows[r].multiplier = work.foresight.multipliers[0, r]


@kernel
def keep_motions(bodies, motions):
    """Keep the changes of motion that the bodies hold."""
    for i in range(len(motions)):
        V = change_of(bodies[i])
        store_force(motions[i], Force(V.w, V.v))


@kernel
def give_motions(motions, bodies):
    """Let the bodies hold changes of motion that were kept."""
    for i in range(len(motions)):
        V = load_force(motions[i])
        keep_change(bodies[i], Motion(V.t, V.f))


@kernel
def step(G, wrenches, alpha, y):
    """Go along the direction: y += alpha p, r -= alpha (P p + R p), with -R p in `wrenches`."""
    for i in range(len(G.r)):
        store_force(G.answer[i], load_force(G.answer[i]) + alpha * load_force(G.direction[i]))
        change = alpha * (load_force(wrenches[i]) - load_force(G.s[i]))
        store_force(G.r[i], load_force(G.r[i]) + change)
    for j in range(len(y)):
        y[j] += alpha * G.p[j]
    for r in range(G.multipliers.shape[1]):
        G.multipliers[0, r] += alpha * G.multipliers[1, r]


@kernel
def turn(G, bodies, beta):
    """The next direction: p = z + beta p, and with it P p = r + beta P p."""
    for i in range(len(G.r)):
        V = change_of(bodies[i])
        store_force(G.direction[i], Force(V.w, V.v) + beta * load_force(G.direction[i]))
        store_force(G.s[i], load_force(G.r[i]) + beta * load_force(G.s[i]))
    for j in range(len(G.p)):
        G.p[j] = G.z[j] + beta * G.p[j]


# --- by a dense matrix ----------------------------------------------------------------------------------------------
@kernel
def fill_dense(system, work, A):
    """A (nv, nv), column by column; what is no unknown answers to itself alone."""
    tree, G, last = system.tree, work.foresight, free_end(system.tree)
    for j in range(len(A)):
        unknown = j < last and not tree.driven[j]
        for i in range(len(A)):
            G.p[i] = 1.0 if i == j else 0.0
            A[i, j] = 0.0 if unknown else G.p[i]
        if not unknown:
            continue
        jacobian_times(tree, G.p, work)
        yield_to(system, work, G.p)
        for i in range(1, len(tree.links)):
            w = own_inertia(tree.links[i], work.bodies[i]) @ change_of(work.bodies[i])
            store_force(work.wrenches[i], load_force(work.wrenches[i]) - w)
        reduce_wrenches(tree, work)
        for i in range(last):
            A[i, j] = -G.x[i]
        A[j, j] += work.armature[j]


@kernel
def reduce_wrenches(tree, work):
    """J^T of `work.wrenches` into `work.foresight.x` (nv,), 0 for what is no unknown."""
    x = work.foresight.x
    for j in range(len(x)):
        x[j] = 0.0
    add_jacobian_transposed_times(tree, work, x)


@kernel
def correct_dense(system, work, A, order, y):
    """Bring the answer y (nv,) of M + H to that of A, by its factors: A y' = (M + H) y."""
    tree, G = system.tree, work.foresight
    clear_wrenches(work)
    for i in range(1, len(tree.links)):
        store_force(work.wrenches[i], own_inertia(tree.links[i], work.bodies[i]) @ change_of(work.bodies[i]))
    reduce_wrenches(tree, work)
    for j in range(free_end(tree)):
        G.x[j] += 0.0 if tree.driven[j] else work.armature[j] * y[j]
    solve_dense(A, order, G.x, G.z)
    for j in range(free_end(tree)):
        y[j] = y[j] if tree.driven[j] else G.z[j]
    jacobian_times(tree, y, work)


@formula
def free_end(tree):
    """How many coordinates carry bodies; those of closures follow."""
    return tree.closures[0].iv if len(tree.closures) > 0 else len(tree.driven)


# --- binding --------------------------------------------------------------------------------------------------------
def accelerate_implicitly(system, work, a):
    """A method's `accelerate` with implicit forces."""
    accelerate(system, work, a)
    correct(system, work, a)


def respond_implicitly(system, work, x, y):
    """A method's `respond` with implicit forces."""
    respond(system, work, x, y)
    correct(system, work, y)


class Implicit(NamedTuple):
    """A method's kernels with implicit forces; `factor` is its `accelerate` where only the factors are asked for."""

    factor: Any
    accelerate: Any
    respond: Any


@cache
def by_iteration(accelerate: Any, respond: Any) -> Implicit:
    """Bind a method's two kernels, from the parts upward."""
    precondition_ = bound_kernel(precondition, respond=respond)
    correct_ = bound_kernel(correct, precondition=precondition_)
    return Implicit(
        accelerate,
        bound_kernel(accelerate_implicitly, accelerate=accelerate, correct=correct_),
        bound_kernel(respond_implicitly, respond=respond, correct=correct_),
    )
