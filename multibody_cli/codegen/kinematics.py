"""Method II: the joint kinematics of one model as generated source, for the recursion of `tree.articulated_body`.

For each joint it computes the motion (R, p) across the joint, S, and the bias (dS/dt) v, all in the axes of the outer
frame, about its origin.  In a joint of several parts, S and bias of inner parts are transformed across the outer ones:
with the adjoint Ad of a part that moves with the twist V,

    S' = Ad S,    (dS/dt v)' = Ad (dS/dt v) + [Ad S v, V],    [a, b] = (a.w x b.w, a.w x b.v + a.v x b.w)

Source: Si and Guenter, (9), (12), Method II.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.codegen.joint_steps import STILL, Emitter, JointStep, SubspaceColumn, at, steps_of
from multibody_cli.codegen.links import links_of
from multibody_cli.codegen.passes import Pass
from multibody_cli.codegen.rotations import motion_to_outer, to_inner
from multibody_cli.codegen.runs import plan
from multibody_cli.codegen.source import FunctionHead, GeneratedFunctions, write_functions
from multibody_cli.joints.joint_map import JointMap
from multibody_cli.kernel import in_python
from multibody_cli.model import Tree
from multibody_cli.spatial import products
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.scalar import Value, fresh_graph

JOINT = np.dtype([("R", "f8", 9), ("p", "f8", 3), ("bias_w", "f8", 3), ("bias_v", "f8", 3)])
"""R from the axes of a joint frame to those of its parent, p from the origin of the parent in its axes, (dS/dt) v."""

COLUMN = np.dtype([("angular", "f8", 3), ("linear", "f8", 3)])
"""A column of S in the axes of the joint frame, about its origin."""

JOINT_WIDTH, COLUMN_WIDTH = JOINT.itemsize // 8, COLUMN.itemsize // 8
"""Numbers of a record."""

cross = in_python(products.cross)


class JointKinematics(NamedTuple):
    """Kinematics of the outer steps of a joint: R to the inner axes, outer origin p, columns of S, twist, bias."""

    R: Mat3
    p: Vec3
    columns: Sequence[SubspaceColumn]
    twist: Motion
    bias: Motion


def compose_steps(steps: Sequence[JointStep]) -> JointKinematics:
    """Compose the steps of a joint."""
    joint = JointKinematics(UNIT, ZERO, (), STILL, STILL)
    for step in steps:
        joint = _append_step(joint, step)
    return joint


def _append_step(joint: JointKinematics, step: JointStep) -> JointKinematics:
    R = Mat3(*(joint.R @ to_inner(step.R, e) for e in UNIT))
    before, bias = (motion_to_outer(step.R, step.p, one) for one in (joint.twist, joint.bias))
    columns = [one._replace(S=motion_to_outer(step.R, step.p, one.S)) for one in joint.columns]
    twist = STILL
    for column, rate in zip(step.columns, step.rates, strict=True):
        twist = twist + rate * column.S
    bias = bias + step.bias + _bracket(before, twist)
    return JointKinematics(R, joint.p + joint.R @ step.p, [*columns, *step.columns], before + twist, bias)


def _bracket(a: Motion, b: Motion) -> Motion:
    return Motion(cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w))


def _place(emitter: Emitter, _state: Sequence[Value]) -> Sequence[Value]:
    R, p, columns, _, bias = compose_steps(steps_of(emitter))
    for k, number in enumerate([*R.x, *R.y, *R.z, *p, *bias.w, *bias.v]):
        emitter.script.store(at("joints", "row", emitter.site.position, JOINT_WIDTH, k), number)
    for column in columns:
        for k, number in enumerate([*column.S.w, *column.S.v]):
            emitter.script.store(at("columns", "iv", column.iv, COLUMN_WIDTH, k), number)
    return ()


METHOD_II = FunctionHead(
    "Si and Guenter (2011), Method II.",
    """{links} links in {runs} runs of {kinds} kinds.

    joints   of each row: R by columns, from the axes of its joint frame to those of its parent, p, and (dS/dt) v
    columns  of each coordinate: S
    s c      sine and cosine of a coordinate
    x        common subexpressions
    n        periods of a run; iq iv row ic: offsets of the current one in q, v, rows, table
    """,
    dict.fromkeys(("q", "v", "joints", "columns", "table"), "f") | {"runs": "i"},
)
"""Title, legend and arguments of the functions of Method II."""


def write_joints(tree: Tree, joint_maps: Mapping[int, JointMap]) -> GeneratedFunctions:
    """Write the joint kinematics at (q, v)."""
    with fresh_graph():
        links = links_of(tree, joint_maps, np.zeros(len(tree.driven), np.bool_), aligned=False, placed=True)
        return write_functions(
            plan(links), [Pass("(9), (12): joints", False, False, (), 0, (), _place)], {"Joints": (0,)}, METHOD_II
        )
