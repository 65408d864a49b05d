"""Method I: the equations of motion of one model, written out with their recursions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.codegen import recursion
from multibody_cli.codegen.joint_steps import Desk, steps_of
from multibody_cli.codegen.links import links_of
from multibody_cli.codegen.passes import Pass
from multibody_cli.codegen.runs import plan
from multibody_cli.codegen.source import Method, Written, write_functions
from multibody_cli.joints.shape import Shape
from multibody_cli.model import Floats, Tree
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Sym3, Vec3
from multibody_cli.symbolic.scalar import Value, afresh

BIAS, FELT, WRENCH, MOTION = 0, 9, 30, 36
"""Where the states of the passes lie in an area."""

GROUND = BIAS + 6
"""Where the acceleration of the ground lies in memory."""

_SYM = Sym3._fields
_AXES = Vec3._fields


def _vector(stem: str) -> tuple[str, ...]:
    return tuple(f"{stem}_{x}" for x in _AXES)


_FORCE_WORDS = (*_vector("t0"), *_vector("f0"))
_FELT_WORDS = (
    *(f"J0_{x}" for x in _SYM), *(f"H0_{row}{column}" for column in _AXES for row in _AXES),
    *(f"M0_{x}" for x in _SYM), *_FORCE_WORDS,
)  # fmt: skip


# --- one link, from flat states to flat states ----------------------------------------------------------------------
def _move(desk: Desk, state: Sequence[Value]) -> Sequence[Value]:
    came = recursion.Bias(Vec3(*state[:3]), Vec3(*state[3:6]), Vec3(*state[6:]))
    bias = recursion.move(desk, steps_of(desk), came)
    p = recursion.resist(desk, bias)
    for k, value in enumerate([*p.t, *p.f]):
        desk.keep(desk.slot("bias", k), value)
    return [*bias.w, *bias.alpha, *bias.a]


def _felt(state: Sequence[Value]) -> recursion.Felt:
    columns = (Vec3(*state[k : k + 3]) for k in (6, 9, 12))
    A = Inertia(Sym3(*state[:6]), Mat3(*columns), Sym3(*state[15:21]))
    return recursion.Felt(A, _force(state[21:]))


def _force(state: Sequence[Value]) -> Force:
    return Force(Vec3(*state[:3]), Vec3(*state[3:]))


def _gather(desk: Desk, p: Force, state: Sequence[Value]) -> Sequence[Value]:
    felt = recursion.own_share(desk, p, _felt(state))
    A, p = recursion.hand_on(desk, steps_of(desk), felt)
    return [*A.J, *A.H.x, *A.H.y, *A.H.z, *A.M, *p.t, *p.f]


def _gather_biased(desk: Desk, state: Sequence[Value]) -> Sequence[Value]:
    stems = ("t_x", "t_y", "t_z", "f_x", "f_y", "f_z")
    p = [desk.recall(f"b{stem}", desk.slot("bias", k)) for k, stem in enumerate(stems)]
    return _gather(desk, _force(p), state)


def _gather_placed(desk: Desk, state: Sequence[Value]) -> Sequence[Value]:
    return _gather(desk, recursion.placed_wrench(desk), state)


def _respond(desk: Desk, state: Sequence[Value]) -> Sequence[Value]:
    eta = recursion.respond(desk, steps_of(desk), Motion(Vec3(*state[:3]), Vec3(*state[3:])))
    return [*eta.w, *eta.v]


def _gather_impulses(desk: Desk, state: Sequence[Value]) -> Sequence[Value]:
    p = recursion.hand_impulse_on(desk, steps_of(desk), recursion.impulse_share(desk, _force(state)))
    return [*p.t, *p.f]


# --- passes ---------------------------------------------------------------------------------------------------------
def _moving(gravity: Floats) -> Pass:
    words = (*_vector("w0"), *_vector("al0"), *_vector("a0"))
    rise = (0.0,) * 6 + tuple(float(-g) + 0.0 for g in gravity)
    return Pass("(18)-(23): outward, bias motion", False, False, words, BIAS, rise, _move)


_GATHERING = Pass(
    "(24)-(33): inward, articulated inertia and bias wrench", True, True, _FELT_WORDS, FELT, (), _gather_biased
)
_GATHERING_PLACED = _GATHERING._replace(again=False, link=_gather_placed)
_RESPONDING = Pass(
    "(34), (35): outward, accelerations",
    False, True, (*_vector("dw0"), *_vector("da0")), MOTION, (0.0,) * 6, _respond,
)  # fmt: skip
_GATHERING_IMPULSES = Pass("(31)-(33): inward, impulses", True, True, _FORCE_WORDS, WRENCH, (), _gather_impulses)


METHOD_I = Method(
    "Si and Guenter (2011), Method I.",
    """{links} links in {runs} runs of {kinds} kinds, each in the axes of its joint frame.

    w al a        bias motion: angular velocity, angular acceleration, acceleration of the origin
    J H M, t f    articulated inertia [[J, H], [H^T, M]] and bias wrench, moment and force
    bt bf, b      the link's own share of the latter; that of a placed body
    d, Vt Vf, cb  of a coordinate: 1 / Omega, U / Omega, (tau - S . p) / Omega
    dw da         what the coordinates add to the accelerations; along is what a unit S takes of it
    s c           sine and cosine of a coordinate
    ...0, ...side what the parent hands on, or the next link inward; what other links hand in
    x             values that are used again
    n             periods of a run; iq iv row ic im where the present one lies in q, v, rows, table, memory
    """,
    dict.fromkeys(("q", "v", "tau", "armature", "a", "bias", "table", "memory"), "f") | {"runs": "i"},
)
"""What its functions say and take."""


def memory_for(written: Written, gravity: Floats) -> Floats:
    """Allocate the memory of functions, with the ground in it."""
    memory = np.zeros(written.layout.memory)
    memory[GROUND : GROUND + 3] = -gravity
    return memory


def write_free(tree: Tree, shapes: Mapping[int, Shape], armed: Any) -> Written:
    """Write dv/dt of a tree in which nothing pushes but gravity and forces on coordinates."""
    with afresh():
        passes = (_moving(tree.gravity), _GATHERING, _RESPONDING)
        return write_functions(plan(links_of(tree, shapes, armed)), passes, {"Accelerations": (0, 1, 2)}, METHOD_I)


def write_placed(tree: Tree, shapes: Mapping[int, Shape], armed: Any) -> Written:
    """Write dv/dt of a tree whose bodies were placed and pushed before, and its response to impulses."""
    passes = (_GATHERING_PLACED, _RESPONDING, _GATHERING_IMPULSES, _RESPONDING)
    functions = {"Accelerations of placed bodies": (0, 1), "Response to impulses": (2, 3)}
    with afresh():
        return write_functions(plan(links_of(tree, shapes, armed)), passes, functions, METHOD_I)
