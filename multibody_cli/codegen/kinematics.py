"""Method II: the joints of one model written out, for a recursion that is done with numbers (`tree.link_axes`).

Of each joint the motion (R, p) across it, S, and the bias (dS/dt) v; all in the axes of its outer frame, about the
origin of that.  Where a joint has many parts, what inner ones have is carried across the outer ones: with the adjoint
Ad of a part that moves with the twist V,

    S' = Ad S,    (dS/dt v)' = Ad (dS/dt v) + [Ad S v, V],    [a, b] = (a.w x b.w, a.w x b.v + a.v x b.w)

Source: Si and Guenter, (9), (12), Method II.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.codegen.joint_steps import STILL, Column, Desk, Step, at, steps_of
from multibody_cli.codegen.links import links_of
from multibody_cli.codegen.passes import Pass
from multibody_cli.codegen.rotations import motion_to_outer, to_inner
from multibody_cli.codegen.runs import plan
from multibody_cli.codegen.source import Method, Written, write_functions
from multibody_cli.joints.shape import Shape
from multibody_cli.kernel import in_python
from multibody_cli.model import Tree
from multibody_cli.spatial import products
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.scalar import Value, afresh
from multibody_cli.tree.link_axes import COLUMN_WIDTH, JOINT_WIDTH

cross = in_python(products.cross)


class Crossed(NamedTuple):
    """A joint as far as it was crossed: from outer to inner axes, the outer origin, columns, S v and (dS/dt) v."""

    R: Mat3
    p: Vec3
    columns: Sequence[Column]
    twist: Motion
    bias: Motion


def crossed(steps: Sequence[Step]) -> Crossed:
    """Cross a joint, step by step."""
    joint = Crossed(UNIT, ZERO, (), STILL, STILL)
    for step in steps:
        joint = _beyond(joint, step)
    return joint


def _beyond(joint: Crossed, step: Step) -> Crossed:
    R = Mat3(*(joint.R @ to_inner(step.R, e) for e in UNIT))
    before, bias = (motion_to_outer(step.R, step.p, one) for one in (joint.twist, joint.bias))
    columns = [one._replace(S=motion_to_outer(step.R, step.p, one.S)) for one in joint.columns]
    twist = STILL
    for column, rate in zip(step.columns, step.rates, strict=True):
        twist = twist + rate * column.S
    bias = bias + step.bias + _bracket(before, twist)
    return Crossed(R, joint.p + joint.R @ step.p, [*columns, *step.columns], before + twist, bias)


def _bracket(a: Motion, b: Motion) -> Motion:
    return Motion(cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w))


def _placing(is_moving: bool) -> Pass:
    def place(desk: Desk, _state: Sequence[Value]) -> Sequence[Value]:
        R, p, columns, _, bias = crossed(steps_of(desk))
        numbers = [*R.x, *R.y, *R.z, *p, *(bias.w if is_moving else ()), *(bias.v if is_moving else ())]
        for k, number in enumerate(numbers):
            desk.script.put(at("joints", "row", desk.site.position, JOINT_WIDTH, k), number)
        for column in columns:
            for k, number in enumerate([*column.S.w, *column.S.v]):
                desk.script.put(at("columns", "iv", column.iv, COLUMN_WIDTH, k), number)
        return ()

    return Pass("(9), (12): joints", False, False, (), 0, (), place)


METHOD_II = Method(
    "Si and Guenter (2011), Method II.",
    """{links} links in {runs} runs of {kinds} kinds.

    joints   of each row R by columns, from the axes of its joint frame to those of its parent, p, and (dS/dt) v
    columns  of each coordinate S
    s c      sine and cosine of a coordinate
    x        values that are used again
    n        periods of a run; iq iv row ic where the present one lies in q, v, rows, table
    """,
    dict.fromkeys(("q", "v", "joints", "columns", "table"), "f") | {"runs": "i"},
)
"""What its functions say and take."""


def write_joints(tree: Tree, shapes: Mapping[int, Shape], is_moving: bool) -> Written:
    """Write what joints are at q; if they are moving, their biases at v as well."""
    with afresh():
        links = links_of(tree, shapes, np.zeros(len(tree.driven), np.bool_), aligned=False)
        return write_functions(plan(links), [_placing(is_moving)], {"Joints": (0,)}, METHOD_II)
