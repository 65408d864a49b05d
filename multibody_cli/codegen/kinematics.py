"""Method II: the joint kinematics of one model as generated source, for the numeric recursion of `tree.link_axes`.

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

from multibody_cli.codegen.joint_steps import STILL, Emitter, Step, SubspaceColumn, at, steps_of
from multibody_cli.codegen.links import links_of
from multibody_cli.codegen.passes import Pass
from multibody_cli.codegen.rotations import motion_to_outer, to_inner
from multibody_cli.codegen.runs import plan
from multibody_cli.codegen.source import GeneratedFunctions, Method, write_functions
from multibody_cli.joints.joint_map import JointMap
from multibody_cli.kernel import in_python
from multibody_cli.model import Tree
from multibody_cli.spatial import products
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.scalar import Value, fresh_graph
from multibody_cli.tree.link_axes import COLUMN_WIDTH, JOINT_WIDTH

cross = in_python(products.cross)


class JointKinematics(NamedTuple):
    """Kinematics of the outer steps of a joint: R to the inner axes, outer origin p, columns of S, twist, bias."""

    R: Mat3
    p: Vec3
    columns: Sequence[SubspaceColumn]
    twist: Motion
    bias: Motion


def compose_steps(steps: Sequence[Step]) -> JointKinematics:
    """Compose the steps of a joint."""
    joint = JointKinematics(UNIT, ZERO, (), STILL, STILL)
    for step in steps:
        joint = _append_step(joint, step)
    return joint


def _append_step(joint: JointKinematics, step: Step) -> JointKinematics:
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


def _joint_pass(is_moving: bool) -> Pass:
    def place(emitter: Emitter, _state: Sequence[Value]) -> Sequence[Value]:
        R, p, columns, _, bias = compose_steps(steps_of(emitter))
        numbers = [*R.x, *R.y, *R.z, *p, *(bias.w if is_moving else ()), *(bias.v if is_moving else ())]
        for k, number in enumerate(numbers):
            emitter.script.store(at("joints", "row", emitter.site.position, JOINT_WIDTH, k), number)
        for column in columns:
            for k, number in enumerate([*column.S.w, *column.S.v]):
                emitter.script.store(at("columns", "iv", column.iv, COLUMN_WIDTH, k), number)
        return ()

    return Pass("(9), (12): joints", False, False, (), 0, (), place)


METHOD_II = Method(
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


def write_joints(tree: Tree, joint_maps: Mapping[int, JointMap], is_moving: bool) -> GeneratedFunctions:
    """Write the joint kinematics at q; with `is_moving`, also the biases at v."""
    with fresh_graph():
        links = links_of(tree, joint_maps, np.zeros(len(tree.driven), np.bool_), aligned=False)
        return write_functions(plan(links), [_joint_pass(is_moving)], {"Joints": (0,)}, METHOD_II)
