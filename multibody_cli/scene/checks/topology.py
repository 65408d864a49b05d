"""Checks of joints: their bodies exist, and bodies with an inboard joint have no own initial state."""

from __future__ import annotations

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Coordinate, numbers_of
from multibody_cli.joints.spec import WORLD, MovingJointSpec
from multibody_cli.nodes import NodePath
from multibody_cli.scene.checks.partial_scene import PartialScene

_OF_JOINTS_THAT_ACT = ("friction", "limits", "motion", "armature")
"""Fields of joints that no event releases."""


def check_topology(partial: PartialScene) -> None:
    """Check the parents and children of all joints, and the initial state of their bodies."""
    for name, joint in partial.scene.joints.items():
        path = ("joints", name)
        partial.require_body(joint.parent, (*path, "parent"))
        if not partial.require_body(joint.child, (*path, "child")):
            continue
        if joint.child == WORLD:
            partial.report((*path, "child"), "the world cannot be a child: make it the parent")
        elif joint.child == joint.parent:
            partial.report((*path, "child"), f"connects `{joint.child}` to itself")
        for field in _OF_JOINTS_THAT_ACT if joint.releasable else ():
            if getattr(joint, field, None) is not None:
                partial.report((*path, field), "a joint with `active` has none: omit one of both keys")
    _check_places(partial)


def _check_places(partial: PartialScene) -> None:
    for name, joint in partial.inboard.items():
        body = partial.scene.bodies.get(name)
        for field in sorted(body.given_start) if body is not None else ():
            partial.report(("bodies", name, field), determined_by(joint, name))


def determined_by(joint: str, body: str) -> str:
    """Return the message that a joint determines the initial state of its child."""
    return (
        f"has no effect: joint `{joint}` determines the initial state of `{body}` by `origin`, `child_origin`, `q` and "
        "`v`"
    )


# --- checks of joint limits: the initial state lies within them; joints that close loops are not checked --------------
_SLACK = 1e-9
"""Tolerance of the initial coordinate outside its limits, relative to 1 rad or to the largest length of the joints."""


def check_limits(partial: PartialScene) -> None:
    """Check the initial state of all joints against their limits."""
    for name, joint in partial.scene.joints.items():
        if isinstance(joint, MovingJointSpec) and joint.bounds is not None and name not in partial.closing:
            report_start(partial, ("joints", name, "limits"), joint)


def report_start(partial: PartialScene, path: NodePath, joint: MovingJointSpec) -> None:
    """Report initial coordinates of a joint beyond its limits, at a path and, of several coordinates, their index."""
    assert joint.bounds is not None
    kind = JOINTS[joint.type]
    q = kind.start(joint).q
    start = [q[number] for number in numbers_of(kind.parts(joint))]
    for k, (pair, unit) in enumerate(zip(joint.bounds, joint.coordinates, strict=True)):
        if pair is None:
            continue
        lower, upper = pair
        slack = _SLACK * ((partial.length or 1.0) if unit is Coordinate.LENGTH else 1.0)
        if not lower - slack <= start[k] <= upper + slack:
            side = f"below {lower:g}" if start[k] < lower else f"above {upper:g}"
            place = () if len(joint.coordinates) == 1 else (k,)
            partial.report(
                (*path, *place),
                f"the initial coordinate, {start[k]:g} {unit}, violates this limit: it is {side} {unit}",
            )
