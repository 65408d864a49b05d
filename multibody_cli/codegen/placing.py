"""Poses and velocities of the bodies of one model in world axes, as a generated pass.

    R' = R R_J,    x' = x + R p,    w' = w + R' S_w v,    v' = v + w x (R p) + R' S_v v

with R_J and p the motion across a step of a joint, and S its columns in the outer axes.  Positions and velocities are
those of the origins of the joint frames.
"""

from __future__ import annotations

from collections.abc import Sequence

from multibody_cli.codegen.joint_steps import STILL, Emitter, at, steps_of
from multibody_cli.codegen.links import ALIGNMENT
from multibody_cli.codegen.passes import Pass
from multibody_cli.codegen.rotations import to_inner
from multibody_cli.kernel import in_python
from multibody_cli.spatial import products
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.symbolic.scalar import Value

cross = in_python(products.cross)

BODY_FIELDS = {"R": (0, 9), "x": (9, 3), "w": (12, 3), "v": (15, 3)}
"""Offset and size of each field of a body in the array `bodies`: the fields of a placed body of the same names."""

BODY_WIDTH = 18
"""Numbers of a body."""


def _placed(emitter: Emitter, state: Sequence[Value]) -> Sequence[Value]:
    R, x, w, v = Mat3(*(Vec3(*state[k : k + 3]) for k in (0, 3, 6))), *(Vec3(*state[k : k + 3]) for k in (9, 12, 15))
    emitter.script.comment("pose and velocity of the link")
    for step in steps_of(emitter):
        moved = R @ step.p
        R = Mat3(*(R @ to_inner(step.R, e) for e in UNIT))
        twist = STILL
        for column, rate in zip(step.columns, step.rates, strict=True):
            twist = twist + rate * column.S
        x, v = x + moved, v + cross(w, moved) + R @ twist.v
        w = w + R @ twist.w
        R, x, w, v = (emitter.script.let(f"{stem}g", one) for stem, one in zip("Rxwv", (R, x, w, v), strict=True))
    _store(emitter, R, [*x, *w, *v])
    return [*R.x, *R.y, *R.z, *x, *w, *v]


def _store(emitter: Emitter, R: Mat3, others: Sequence[Value]) -> None:
    """Store the numbers of a body; its axes are those of its joint frame."""
    alignment = [emitter.vector(ALIGNMENT + 3 * k) for k in range(3)]
    rows = [Vec3(*(column[k] for column in alignment)) for k in range(3)]  # columns of the transpose
    axes = Mat3(*(R @ row for row in rows))
    for k, number in enumerate([*axes.x, *axes.y, *axes.z, *others]):
        emitter.script.store(at("bodies", "row", emitter.site.position, BODY_WIDTH, k), number)


def placing_pass(area: int) -> Pass:
    """Return the pass, whose state has an offset in the areas; an earlier pass has evaluated the joints."""
    words = [f"{stem}0_{x}" for stem in ("Rx", "Ry", "Rz", "x", "w", "v") for x in Vec3._fields]
    ground = tuple(float(x) for e in (*UNIT, *[ZERO] * 3) for x in e)
    return Pass("outward, poses and velocities of bodies", False, True, tuple(words), area, ground, _placed)
