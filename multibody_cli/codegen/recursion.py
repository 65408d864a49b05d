"""The equations of one link, as formulas: what comes from its parent and from its children, and what goes there.

All quantities are in the axes of the frame M of a link's joint and refer to its origin, so that its inertia is
constant, S of a hinge is a unit vector, and a rotation about a coordinate axis mixes two components.  With the linear
part of an acceleration that of the origin itself (not the spatial one), the twist's linear part enters nowhere; gravity
is a ground that rises.

    outward   w, alpha, a of the bias motion, and the wrench that it takes      (18)-(23)
    inward    articulated inertia J' and bias wrench p' = p + z                 (24)-(33)
    outward   accelerations eta of the links, and of the coordinates            (34), (35)

Eliminating one column S with force tau:  U = J' S,  Omega = S . U,  V = U / Omega,  c = (tau - S . p') / Omega, and
what is handed on is J' - V U^T and p' + U c.  Where S is a unit vector and the coordinate has no inertia of its own,
that has a row of zeros, and tau in its place; they are set, not computed.  A joint of many columns is eliminated one by
one, which is L D L^T of its Omega.

Source: Si and Guenter, (18)-(35), with the signs of (31) and (32) as they must be; p and z are summed as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from multibody_cli.codegen.joint_steps import STILL, Column, Desk, Slot, Step, at
from multibody_cli.codegen.links import ALIGNMENT, INERTIA, MASS, MOMENT
from multibody_cli.codegen.rotations import force_to_inner, inertia_to_inner, motion_to_outer, to_outer
from multibody_cli.kernel import in_python
from multibody_cli.spatial import products
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Sym3, Vec3
from multibody_cli.symbolic.scalar import Value

cross, dot, power, skew = map(in_python, (products.cross, products.dot, products.power, products.skew))
isotropic, rank_one, transposed_times = map(
    in_python, (products.isotropic, products.rank_one, products.transposed_times)
)


class Bias(NamedTuple):
    """Bias motion of a link: angular velocity, angular acceleration, acceleration of the origin."""

    w: Vec3
    alpha: Vec3
    a: Vec3


class Felt(NamedTuple):
    """What is felt of a link and all it carries: articulated inertia and bias wrench."""

    A: Inertia
    p: Force


# --- (18)-(23): bias motion ---------------------------------------------------------------------------------------
def move(desk: Desk, steps: Sequence[Step], bias: Bias) -> Bias:
    """Carry the bias motion across a joint."""
    desk.script.say("(18)-(20), (22): bias motion of the link")
    for step in steps:
        bias = _across(desk, step, bias)
    w, alpha, a = (desk.script.let(stem, value) for stem, value in zip(("w", "al", "a"), bias, strict=True))
    return Bias(w, alpha, a)


def _across(desk: Desk, step: Step, bias: Bias) -> Bias:
    w, alpha = (to_outer(step.R, vector) for vector in (bias.w, bias.alpha))
    a = to_outer(step.R, bias.a + cross(bias.alpha, step.p) + cross(bias.w, cross(bias.w, step.p)))
    if not step.columns:
        return Bias(w, alpha, a)
    twist, faster = STILL, step.bias
    for column, rate in zip(step.columns, step.rates, strict=True):
        twist = twist + rate * column.S
        if column.driven:
            faster = faster + desk.script.fetch("dv", at("a", "iv", column.iv)) * column.S
    faster = faster + Motion(cross(w, twist.w), cross(2.0 * w + twist.w, twist.v))
    return Bias(w + twist.w, alpha + faster.w, a + faster.v)


def resist(desk: Desk, bias: Bias) -> Force:
    """Give the wrench that the bias motion takes."""
    desk.script.say("(21), (23): wrench that this takes")
    w, alpha, a = bias
    J, h = rotational(desk), desk.vector(MOMENT)
    t = J @ alpha + cross(w, J @ w) + cross(h, a)
    return Force(t, desk.number(MASS) * a + cross(alpha, h) + cross(w, cross(w, h)))


def rotational(desk: Desk) -> Sym3:
    """Inertia about the origin."""
    return Sym3(*(desk.number(INERTIA + k) for k in range(6)))


# --- (24)-(33): articulated inertia and bias wrench ---------------------------------------------------------------
def placed_wrench(desk: Desk) -> Force:
    """Read the bias wrench, less what pushes the body, in the axes of the joint frame."""
    numbers = [desk.script.fetch("b", at("bias", "row", desk.site.position, 6, k)) for k in range(6)]
    return aligned(desk, Force(Vec3(*numbers[:3]), Vec3(*numbers[3:])))


def aligned(desk: Desk, p: Force) -> Force:
    """Turn a wrench from the axes of the joint frame to those in which the link is."""
    A = Mat3(*(desk.vector(ALIGNMENT + 3 * k) for k in range(3)))
    return Force(transposed_times(A, p.t), transposed_times(A, p.f))


def own_share(desk: Desk, p: Force, outer: Felt) -> Felt:
    """Add the link's own inertia and wrench to what it feels of its children."""
    desk.script.say("(24), (27): articulated inertia and bias wrench")
    own = Inertia(rotational(desk), skew(desk.vector(MOMENT)), isotropic(desk.number(MASS)))
    return named(desk, Felt(own + outer.A, p + outer.p))


def hand_on(desk: Desk, steps: Sequence[Step], felt: Felt) -> Felt:
    """Eliminate the coordinates of a joint, and give what the parent feels, in its axes."""
    is_named = True
    for step in reversed(steps):
        for column in step.columns:
            if not column.driven:
                felt = _eliminated(desk, column, felt if is_named else named(desk, felt))
                is_named = False
        desk.script.say("what its parent feels: (24), (27), (31), by (29) and (30)")
        A, p = felt
        felt = Felt(inertia_to_inner(step.R, step.p, A), force_to_inner(step.R, step.p, p))
        is_named = False
    return named(desk, felt)


def _eliminated(desk: Desk, column: Column, felt: Felt) -> Felt:
    (A, p), script, S = felt, desk.script, column.S
    script.say("(28), (32), (33): the coordinate moves freely")
    tau = script.fetch("tau_k", at("tau", "iv", column.iv))
    U = Force(A.J @ S.w + A.H @ S.v, transposed_times(A.H, S.w) + A.M @ S.v)
    U = Force(script.let("Ut", U.t), script.let("Uf", U.f))
    inertia = power(S, U)
    if column.armed:
        inertia = inertia + script.fetch("arm", at("armature", "iv", column.iv))
    d = script.let("d", 1.0 / inertia)
    c = script.let("cb", d * (tau - power(S, p)))
    rest = remaining(column)
    U = Force(_scaled(rest.w, U.t), _scaled(rest.v, U.f))
    V = Force(script.let("Vt", d * U.t), script.let("Vf", d * U.f))
    _keep(desk, column, V, d, c)
    return Felt(_masked(A, rest) - rank_one(V, U), _pushed(p, rest, c * U, tau, S))


def remaining(column: Column) -> Motion:
    """Give 1 for every component that eliminating a column leaves, and 0 for the one that it takes away, if any."""
    entries = [*column.S.w, *column.S.v]
    there = [k for k in range(6) if entries[k] != 0.0]
    sole = there[0] if len(there) == 1 and entries[there[0]] in (1.0, -1.0) and not column.armed else None
    ones = [0.0 if k == sole else 1.0 for k in range(6)]
    return Motion(Vec3(*ones[:3]), Vec3(*ones[3:]))


def _masked(A: Inertia, rest: Motion) -> Inertia:
    w, v = rest
    pairs = ((x, y) for x in range(3) for y in range(x, 3))
    places = list(pairs)
    J = Sym3(*(w[x] * w[y] * entry for (x, y), entry in zip(places, A.J, strict=True)))
    M = Sym3(*(v[x] * v[y] * entry for (x, y), entry in zip(places, A.M, strict=True)))
    H = Mat3(*(_scaled(w, v[y] * column) for y, column in enumerate(A.H)))
    return Inertia(J, H, M)


def _pushed(p: Force, rest: Motion, by: Force, tau: Value, S: Motion) -> Force:
    """Give the bias wrench behind an eliminated coordinate: its component along a unit S is tau."""
    taken = tau * Motion(_scaled(_rest_of(rest.w), S.w), _scaled(_rest_of(rest.v), S.v))
    return Force(_scaled(rest.w, p.t) + by.t + taken.w, _scaled(rest.v, p.f) + by.f + taken.v)


def _rest_of(ones: Vec3) -> Vec3:
    return Vec3(*(1.0 - one for one in ones))


def _scaled(ones: Any, a: Vec3) -> Vec3:
    return Vec3(*(one * entry for one, entry in zip(ones, a, strict=True)))


def named(desk: Desk, felt: Felt) -> Felt:
    """Name every entry."""
    A = Inertia(*(desk.script.let(stem, block) for stem, block in zip("JHM", felt.A, strict=True)))
    return Felt(A, named_wrench(desk, felt.p))


def named_wrench(desk: Desk, p: Force) -> Force:
    """Name every component."""
    return Force(desk.script.let("t", p.t), desk.script.let("f", p.f))


# --- (34), (35): accelerations ------------------------------------------------------------------------------------
def respond(desk: Desk, steps: Sequence[Step], eta: Motion) -> Motion:
    """Give what the coordinates add to the acceleration of a link, beyond the bias motion, and write dv/dt."""
    desk.script.say("(34), (35): accelerations")
    for step in steps:
        eta = motion_to_outer(step.R, step.p, eta)
        for column in reversed(step.columns):
            if not column.driven:
                eta = Motion(desk.script.let("dw", eta.w), desk.script.let("da", eta.v))
                eta = _responded(desk, column, eta)
    return Motion(desk.script.let("dw", eta.w), desk.script.let("da", eta.v))


def _responded(desk: Desk, column: Column, eta: Motion) -> Motion:
    script, S, rest = desk.script, column.S, remaining(column)
    V, c, _ = _recalled(desk, column)
    if 0.0 not in (*rest.w, *rest.v):
        rate = script.let("ddq", c - power(eta, V))
        script.put(at("a", "iv", column.iv), rate)
        return eta + rate * S
    along = script.let("along", c - power(eta, V))  # of the link, along S
    script.put(at("a", "iv", column.iv), along - (dot(eta.w, S.w) + dot(eta.v, S.v)))
    return Motion(_scaled(rest.w, eta.w) + along * S.w, _scaled(rest.v, eta.v) + along * S.v)


# --- impulses -----------------------------------------------------------------------------------------------------
def impulse_share(desk: Desk, outer: Force) -> Force:
    """Add the impulse on a link, in the axes of its joint frame, to what it feels of its children."""
    desk.script.say("(24): bias impulse")
    return named_wrench(desk, outer - placed_wrench(desk))


def hand_impulse_on(desk: Desk, steps: Sequence[Step], p: Force) -> Force:
    """Let the coordinates of a joint move freely, with the factors of the last evaluation."""
    script = desk.script
    for step in reversed(steps):
        for column in step.columns:
            if not column.driven:
                script.say("(32), (33): the coordinate moves freely")
                (V, _, d), S = _recalled(desk, column), column.S
                tau = script.fetch("tau_k", at("tau", "iv", column.iv))
                u = script.let("u", tau - power(S, p))
                desk.keep(_slot(desk, column, 6), d * u)
                p = named_wrench(desk, _pushed(p, remaining(column), u * V, tau, S))
        p = force_to_inner(step.R, step.p, p)
    script.say("what its parent feels: (31)")
    return named_wrench(desk, p)


# --- what elimination leaves in memory ----------------------------------------------------------------------------
def _slot(desk: Desk, column: Column, k: int) -> Slot:
    return desk.slot(f"column {column.iv}", k)


def _keep(desk: Desk, column: Column, V: Force, d: Value, c: Value) -> None:
    for k, value in enumerate([*V.t, *V.f, c, d]):
        desk.keep(_slot(desk, column, k), value)


def _recalled(desk: Desk, column: Column) -> tuple[Force, Value, Value]:
    """Give V, c and 1 / Omega of a column."""
    stems = ("Vt_x", "Vt_y", "Vt_z", "Vf_x", "Vf_y", "Vf_z", "cb", "d")
    numbers = [desk.recall(stem, _slot(desk, column, k)) for k, stem in enumerate(stems)]
    return Force(Vec3(*numbers[:3]), Vec3(*numbers[3:6])), numbers[6], numbers[7]
