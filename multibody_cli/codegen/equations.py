"""Method I: the recursive equations of motion of one model as generated source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.codegen import recursion
from multibody_cli.codegen.joint_steps import Emitter, steps_of
from multibody_cli.codegen.links import links_of
from multibody_cli.codegen.passes import Pass
from multibody_cli.codegen.placing import placing_pass
from multibody_cli.codegen.runs import RunPlan, plan
from multibody_cli.codegen.source import FunctionHead, GeneratedFunctions, write_functions
from multibody_cli.joints.joint_map import JointMap
from multibody_cli.model import Floats, Tree
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Sym3, Vec3
from multibody_cli.symbolic.scalar import Value, fresh_graph

BIAS, ARTICULATED, WRENCH, MOTION, POSE = 0, 9, 30, 36, 42
"""Offsets of the state of each pass in an area."""

GROUND = BIAS + 6
"""Offset in memory of the acceleration of the ground."""

_SYM = Sym3._fields
_AXES = Vec3._fields


def _vector(stem: str) -> tuple[str, ...]:
    return tuple(f"{stem}_{x}" for x in _AXES)


_FORCE_NAMES = (*_vector("t0"), *_vector("f0"))
_ARTICULATED_NAMES = (
    *(f"J0_{x}" for x in _SYM), *(f"H0_{row}{column}" for column in _AXES for row in _AXES),
    *(f"M0_{x}" for x in _SYM), *_FORCE_NAMES,
)  # fmt: skip


# --- one link: maps between flat states ---------------------------------------------------------------------------
def _outward_motion(emitter: Emitter, state: Sequence[Value]) -> Sequence[Value]:
    incoming = recursion.Bias(Vec3(*state[:3]), Vec3(*state[3:6]), Vec3(*state[6:]))
    bias = recursion.move(emitter, steps_of(emitter), incoming)
    p = recursion.inertial_wrench(emitter, bias)
    for k, value in enumerate([*p.t, *p.f]):
        emitter.store(emitter.slot("bias", k), value)
    return [*bias.w, *bias.alpha, *bias.a]


def _articulated(state: Sequence[Value]) -> recursion.ArticulatedInertia:
    columns = (Vec3(*state[k : k + 3]) for k in (6, 9, 12))
    A = Inertia(Sym3(*state[:6]), Mat3(*columns), Sym3(*state[15:21]))
    return recursion.ArticulatedInertia(A, _force(state[21:]))


def _force(state: Sequence[Value]) -> Force:
    return Force(Vec3(*state[:3]), Vec3(*state[3:]))


def _inward(emitter: Emitter, p: Force, state: Sequence[Value]) -> Sequence[Value]:
    articulated = recursion.add_link_inertia(emitter, p, _articulated(state))
    A, p = recursion.propagate_to_parent(emitter, steps_of(emitter), articulated)
    return [*A.J, *A.H.x, *A.H.y, *A.H.z, *A.M, *p.t, *p.f]


def _inward_from_memory(emitter: Emitter, state: Sequence[Value]) -> Sequence[Value]:
    return _inward(emitter, _own_bias(emitter), state)


def _inward_with_body_forces(emitter: Emitter, state: Sequence[Value]) -> Sequence[Value]:
    return _inward(emitter, _own_bias(emitter) + recursion.load_bias_wrench(emitter), state)


def _own_bias(emitter: Emitter) -> Force:
    stems = ("t_x", "t_y", "t_z", "f_x", "f_y", "f_z")
    return _force([emitter.load(f"b{stem}", emitter.slot("bias", k)) for k, stem in enumerate(stems)])


def _inward_from_bodies(emitter: Emitter, state: Sequence[Value]) -> Sequence[Value]:
    return _inward(emitter, recursion.load_bias_wrench(emitter), state)


def _outward_accelerations(emitter: Emitter, state: Sequence[Value]) -> Sequence[Value]:
    eta = recursion.link_acceleration(emitter, steps_of(emitter), Motion(Vec3(*state[:3]), Vec3(*state[3:])))
    return [*eta.w, *eta.v]


def _inward_impulses(emitter: Emitter, state: Sequence[Value]) -> Sequence[Value]:
    p = recursion.propagate_impulse_to_parent(
        emitter, steps_of(emitter), recursion.add_link_impulse(emitter, _force(state))
    )
    return [*p.t, *p.f]


# --- passes ---------------------------------------------------------------------------------------------------------
def _motion_pass(gravity: Floats | None) -> Pass:
    words = (*_vector("w0"), *_vector("al0"), *_vector("a0"))
    up = (None,) * 3 if gravity is None else tuple(float(-g) + 0.0 for g in gravity)
    rise = (0.0,) * 6 + up
    return Pass("(18)-(23): outward, bias motion", False, False, words, BIAS, rise, _outward_motion)


_INERTIA_PASS = Pass(
    "(24)-(33): inward, articulated inertia and bias wrench",
    True,
    True,
    _ARTICULATED_NAMES,
    ARTICULATED,
    (),
    _inward_from_memory,
)
_INERTIA_PASS_WITH_FORCES = _INERTIA_PASS._replace(link=_inward_with_body_forces)
_INERTIA_PASS_OF_BODIES = _INERTIA_PASS._replace(reuses_joints=False, link=_inward_from_bodies)
_ACCELERATION_PASS = Pass(
    "(34), (35): outward, accelerations",
    False, True, (*_vector("dw0"), *_vector("da0")), MOTION, (0.0,) * 6, _outward_accelerations,
)  # fmt: skip
_IMPULSE_PASS = Pass("(31)-(33): inward, impulses", True, True, _FORCE_NAMES, WRENCH, (), _inward_impulses)


METHOD_I = FunctionHead(
    "Si and Guenter (2011), Method I.",
    """{links} links in {runs} runs of {kinds} kinds; quantities of a link are in the axes of its joint frame.

    w al a        bias motion: angular velocity, angular acceleration, acceleration of the origin
    J H M, t f    articulated inertia [[J, H], [H^T, M]] and bias wrench, moment and force
    bt bf, b      bias wrench of the link alone; that of the body, where it is an input
    d, Vt Vf, cb  for each coordinate: 1 / Omega, U / Omega, (tau - S . p) / Omega
    dw da         accelerations relative to the bias motion; along: the component along a unit S
    s c           sine and cosine of a coordinate
    ...0, ...side state of the parent, or of the next link of the run; state of other children
    x             common subexpressions
    n             periods of a run; iq iv row ic im: offsets of the current one in q, v, rows, table, memory
    """,
    dict.fromkeys(("q", "v", "tau", "armature", "a", "bias", "table", "memory"), "f") | {"runs": "i"},
)
"""Title, legend and arguments of the functions of Method I."""


def memory_for(written: GeneratedFunctions, gravity: Floats) -> Floats:
    """Allocate the memory of the functions, with the acceleration of the ground set."""
    memory = np.zeros(written.layout.memory)
    memory[GROUND : GROUND + 3] = -gravity
    return memory


def write_gravity_only(tree: Tree, joint_maps: Mapping[int, JointMap], has_armature: Any) -> GeneratedFunctions:
    """Write dv/dt of a tree on which only gravity and generalized forces act."""
    return write_accelerations(plan(links_of(tree, joint_maps, has_armature)), tree.gravity)


def write_accelerations(
    tree_plan: RunPlan, gravity: Floats | None, method: FunctionHead = METHOD_I, *, has_body_forces: bool = False
) -> GeneratedFunctions:
    """Write dv/dt of a planned tree on which gravity and generalized forces act.

    Parameters
    ----------
    tree_plan
        The tree.
    gravity
        Acceleration of gravity; without it, the acceleration of the ground is loaded from memory: see `memory_for`.
    method
        Title, legend and arguments.
    has_body_forces
        Whether wrenches act on the bodies as well.  The first two passes then compute the array `bodies` of
        `codegen.placing`, and the others read the array `bias` of the opposite wrenches: six numbers of each row, about
        the origin of its joint frame and in its axes.  The lines between them must compute it.
    """
    with fresh_graph():
        inertia = (placing_pass(POSE), _INERTIA_PASS_WITH_FORCES) if has_body_forces else (_INERTIA_PASS,)
        passes = (_motion_pass(gravity), *inertia, _ACCELERATION_PASS)
        return write_functions(tree_plan, passes, {"Accelerations": range(len(passes))}, method)


def write_with_body_forces(tree: Tree, joint_maps: Mapping[int, JointMap], has_armature: Any) -> GeneratedFunctions:
    """Write dv/dt of a tree from the bias wrenches of its bodies, and its response to impulses."""
    passes = (_INERTIA_PASS_OF_BODIES, _ACCELERATION_PASS, _IMPULSE_PASS, _ACCELERATION_PASS)
    functions = {"Accelerations of placed bodies": (0, 1), "Response to impulses": (2, 3)}
    with fresh_graph():
        return write_functions(plan(links_of(tree, joint_maps, has_armature)), passes, functions, METHOD_I)
