"""The articulated-body equations of one link, as formulas of the states of its parent and its children.

All quantities are in the axes of the frame M of a link's joint and refer to its origin.  In this frame the inertia is
constant, S of a hinge is a unit vector, and a rotation about a coordinate axis mixes two components.  The linear part
of an acceleration is that of the origin itself (not the spatial one), so that the linear velocity does not occur.
Gravity is an upward acceleration of the ground.

    outward   w, alpha, a of the bias motion, and its inertial wrench           (18)-(23)
    inward    articulated inertia J' and bias wrench p' = p + z                 (24)-(33)
    outward   accelerations eta of the links, and of the coordinates            (34), (35)

Elimination of one column S with force tau:

    U = J' S,   Omega = S . U,   V = U / Omega,   c = (tau - S . p') / Omega

J' - V U^T and p' + U c are propagated to the parent.  Where S is a unit vector and the coordinate has no armature, the
former has a row of zeros, and the latter has tau as its component; both are set, not computed.  A joint of several
columns is eliminated column by column, which is L D L^T of its Omega.

Source: Si and Guenter, (18)-(35); p and z are added.  In the text at hand (30) has Ad, and (31) and (32) have v with a
bar.  Here the wrench is propagated by the transposed adjoint Ad*, and (31) and (32) contain tau with a bar of (26).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from multibody_cli.codegen.joint_steps import STILL, Emitter, JointStep, Slot, SubspaceColumn, at
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


class ArticulatedInertia(NamedTuple):
    """Articulated inertia A and bias wrench p of a link and its descendants."""

    A: Inertia
    p: Force


# --- (18)-(23): bias motion ---------------------------------------------------------------------------------------
def move(emitter: Emitter, steps: Sequence[JointStep], bias: Bias) -> Bias:
    """Propagate the bias motion across a joint."""
    emitter.script.comment("(18)-(20), (22): bias motion of the link")
    for step in steps:
        bias = _across_step(emitter, step, bias)
    w, alpha, a = (emitter.script.let(stem, value) for stem, value in zip(("w", "al", "a"), bias, strict=True))
    return Bias(w, alpha, a)


def _across_step(emitter: Emitter, step: JointStep, bias: Bias) -> Bias:
    w, alpha = (to_outer(step.R, vector) for vector in (bias.w, bias.alpha))
    a = to_outer(step.R, bias.a + cross(bias.alpha, step.p) + cross(bias.w, cross(bias.w, step.p)))
    if not step.columns:
        return Bias(w, alpha, a)
    twist, acceleration = STILL, step.bias
    for column, rate in zip(step.columns, step.rates, strict=True):
        twist = twist + rate * column.S
        if column.driven:
            acceleration = acceleration + emitter.script.load("dv", at("a", "iv", column.iv)) * column.S
    acceleration = acceleration + Motion(cross(w, twist.w), cross(2.0 * w + twist.w, twist.v))
    return Bias(w + twist.w, alpha + acceleration.w, a + acceleration.v)


def inertial_wrench(emitter: Emitter, bias: Bias) -> Force:
    """Return the inertial wrench of the bias motion."""
    emitter.script.comment("(21), (23): inertial wrench")
    w, alpha, a = bias
    J, h = rotational_inertia(emitter), emitter.vector(MOMENT)
    t = J @ alpha + cross(w, J @ w) + cross(h, a)
    return Force(t, emitter.constant(MASS) * a + cross(alpha, h) + cross(w, cross(w, h)))


def rotational_inertia(emitter: Emitter) -> Sym3:
    """Inertia about the origin."""
    return Sym3(*(emitter.constant(INERTIA + k) for k in range(6)))


# --- (24)-(33): articulated inertia and bias wrench ---------------------------------------------------------------
def load_bias_wrench(emitter: Emitter) -> Force:
    """Load the bias wrench of the body, less its applied forces, and rotate it to the axes of the link."""
    numbers = [emitter.script.load("b", at("bias", "row", emitter.site.position, 6, k)) for k in range(6)]
    return to_link_axes(emitter, Force(Vec3(*numbers[:3]), Vec3(*numbers[3:])))


def to_link_axes(emitter: Emitter, p: Force) -> Force:
    """Rotate a wrench from the axes of the joint frame to the axes of the link."""
    A = Mat3(*(emitter.vector(ALIGNMENT + 3 * k) for k in range(3)))
    return Force(transposed_times(A, p.t), transposed_times(A, p.f))


def add_link_inertia(emitter: Emitter, p: Force, outer: ArticulatedInertia) -> ArticulatedInertia:
    """Add inertia and bias wrench of the link itself to those of its children."""
    emitter.script.comment("(24), (27): articulated inertia and bias wrench")
    own = Inertia(rotational_inertia(emitter), skew(emitter.vector(MOMENT)), isotropic(emitter.constant(MASS)))
    return named(emitter, ArticulatedInertia(own + outer.A, p + outer.p))


def propagate_to_parent(
    emitter: Emitter, steps: Sequence[JointStep], articulated: ArticulatedInertia
) -> ArticulatedInertia:
    """Eliminate the coordinates of a joint, and transform articulated inertia and bias wrench to the parent."""
    is_named = True
    for step in reversed(steps):
        for column in step.columns:
            if not column.driven:
                articulated = _eliminated(emitter, column, articulated if is_named else named(emitter, articulated))
                is_named = False
        emitter.script.comment("contribution to the parent: (24), (27), (31), by (29) and (30)")
        A, p = articulated
        articulated = ArticulatedInertia(inertia_to_inner(step.R, step.p, A), force_to_inner(step.R, step.p, p))
        is_named = False
    return named(emitter, articulated)


def _eliminated(emitter: Emitter, column: SubspaceColumn, articulated: ArticulatedInertia) -> ArticulatedInertia:
    (A, p), script, S = articulated, emitter.script, column.S
    script.comment("(28), (32), (33): elimination of the coordinate")
    tau = script.load("tau_k", at("tau", "iv", column.iv))
    U = Force(A.J @ S.w + A.H @ S.v, transposed_times(A.H, S.w) + A.M @ S.v)
    U = Force(script.let("Ut", U.t), script.let("Uf", U.f))
    inertia = power(S, U)
    if column.has_armature or inertia == 0.0:  # without both, the acceleration is not finite, as in others
        inertia = inertia + script.load("arm", at("armature", "iv", column.iv))
    d = script.let("d", 1.0 / inertia)
    c = script.let("cb", d * (tau - power(S, p)))
    rest = retained(column)
    U = Force(_scaled(rest.w, U.t), _scaled(rest.v, U.f))
    V = Force(script.let("Vt", d * U.t), script.let("Vf", d * U.f))
    _store_factors(emitter, column, V, d, c)
    return ArticulatedInertia(_retained_inertia(A, rest) - rank_one(V, U), _bias_after(p, rest, c * U, tau, S))


def retained(column: SubspaceColumn) -> Motion:
    """Return 1 for each component that elimination retains, and 0 for the component that it removes, if any."""
    entries = [*column.S.w, *column.S.v]
    there = [k for k in range(6) if entries[k] != 0.0]
    sole = there[0] if len(there) == 1 and entries[there[0]] in (1.0, -1.0) and not column.has_armature else None
    ones = [0.0 if k == sole else 1.0 for k in range(6)]
    return Motion(Vec3(*ones[:3]), Vec3(*ones[3:]))


def _retained_inertia(A: Inertia, rest: Motion) -> Inertia:
    w, v = rest
    pairs = ((x, y) for x in range(3) for y in range(x, 3))
    places = list(pairs)
    J = Sym3(*(w[x] * w[y] * entry for (x, y), entry in zip(places, A.J, strict=True)))
    M = Sym3(*(v[x] * v[y] * entry for (x, y), entry in zip(places, A.M, strict=True)))
    H = Mat3(*(_scaled(w, v[y] * column) for y, column in enumerate(A.H)))
    return Inertia(J, H, M)


def _bias_after(p: Force, rest: Motion, by: Force, tau: Value, S: Motion) -> Force:
    """Return the bias wrench after elimination of a coordinate; its component along a unit S is tau."""
    taken = tau * Motion(_scaled(_complement(rest.w), S.w), _scaled(_complement(rest.v), S.v))
    return Force(_scaled(rest.w, p.t) + by.t + taken.w, _scaled(rest.v, p.f) + by.f + taken.v)


def _complement(ones: Vec3) -> Vec3:
    return Vec3(*(1.0 - one for one in ones))


def _scaled(ones: Any, a: Vec3) -> Vec3:
    return Vec3(*(one * entry for one, entry in zip(ones, a, strict=True)))


def named(emitter: Emitter, articulated: ArticulatedInertia) -> ArticulatedInertia:
    """Assign a name to each entry."""
    A = Inertia(*(emitter.script.let(stem, block) for stem, block in zip("JHM", articulated.A, strict=True)))
    return ArticulatedInertia(A, named_wrench(emitter, articulated.p))


def named_wrench(emitter: Emitter, p: Force) -> Force:
    """Assign a name to each component."""
    return Force(emitter.script.let("t", p.t), emitter.script.let("f", p.f))


# --- (34), (35): accelerations ------------------------------------------------------------------------------------
def link_acceleration(emitter: Emitter, steps: Sequence[JointStep], eta: Motion) -> Motion:
    """Return the acceleration of a link relative to the bias motion, and store dv/dt of the joint."""
    emitter.script.comment("(34), (35): accelerations")
    for step in steps:
        eta = motion_to_outer(step.R, step.p, eta)
        for column in reversed(step.columns):
            if not column.driven:
                eta = Motion(emitter.script.let("dw", eta.w), emitter.script.let("da", eta.v))
                eta = _accelerated(emitter, column, eta)
    return Motion(emitter.script.let("dw", eta.w), emitter.script.let("da", eta.v))


def _accelerated(emitter: Emitter, column: SubspaceColumn, eta: Motion) -> Motion:
    script, S, rest = emitter.script, column.S, retained(column)
    V, c, _ = _load_factors(emitter, column)
    if 0.0 not in (*rest.w, *rest.v):
        rate = script.let("ddq", c - power(eta, V))
        script.store(at("a", "iv", column.iv), rate)
        return eta + rate * S
    along = script.let("along", c - power(eta, V))  # of the link, along S
    script.store(at("a", "iv", column.iv), along - (dot(eta.w, S.w) + dot(eta.v, S.v)))
    return Motion(_scaled(rest.w, eta.w) + along * S.w, _scaled(rest.v, eta.v) + along * S.v)


# --- impulses -----------------------------------------------------------------------------------------------------
def add_link_impulse(emitter: Emitter, outer: Force) -> Force:
    """Add the impulse on a link, in the axes of the link, to those of its children."""
    emitter.script.comment("(24): bias impulse")
    return named_wrench(emitter, outer - load_bias_wrench(emitter))


def propagate_impulse_to_parent(emitter: Emitter, steps: Sequence[JointStep], p: Force) -> Force:
    """Eliminate the coordinates of a joint from the impulse, with the factors of the last evaluation."""
    script = emitter.script
    for step in reversed(steps):
        for column in step.columns:
            if not column.driven:
                script.comment("(32), (33): elimination of the coordinate")
                (V, _, d), S = _load_factors(emitter, column), column.S
                tau = script.load("tau_k", at("tau", "iv", column.iv))
                u = script.let("u", tau - power(S, p))
                emitter.store(_slot(emitter, column, 6), d * u)
                p = named_wrench(emitter, _bias_after(p, retained(column), u * V, tau, S))
        p = force_to_inner(step.R, step.p, p)
    script.comment("contribution to the parent: (31)")
    return named_wrench(emitter, p)


# --- factors of the elimination, in memory ------------------------------------------------------------------------
def _slot(emitter: Emitter, column: SubspaceColumn, k: int) -> Slot:
    return emitter.slot(f"column {column.iv}", k)


def _store_factors(emitter: Emitter, column: SubspaceColumn, V: Force, d: Value, c: Value) -> None:
    for k, value in enumerate([*V.t, *V.f, c, d]):
        emitter.store(_slot(emitter, column, k), value)


def _load_factors(emitter: Emitter, column: SubspaceColumn) -> tuple[Force, Value, Value]:
    """Load V, c and 1 / Omega of a column."""
    stems = ("Vt_x", "Vt_y", "Vt_z", "Vf_x", "Vf_y", "Vf_z", "cb", "d")
    numbers = [emitter.load(stem, _slot(emitter, column, k)) for k, stem in enumerate(stems)]
    return Force(Vec3(*numbers[:3]), Vec3(*numbers[3:6])), numbers[6], numbers[7]
