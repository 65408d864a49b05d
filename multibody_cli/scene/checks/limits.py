"""Checks of joint limits: the initial state lies within them; joints that close loops are not checked."""

from __future__ import annotations

from multibody_cli.joints import JOINTS
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.topology import inboard_joints

_SLACK = 1e-9
"""Tolerance of the initial coordinate outside its limits, rad or m."""


def check_limits(draft: Draft) -> None:
    """Check the initial state of all joints against their limits."""
    carrying = set(inboard_joints(draft.scene.bodies, draft.scene.joints).values())
    for name, joint in draft.scene.joints.items():
        if isinstance(joint, MovingJointSpec) and joint.bounds is not None and name in carrying:
            _check_start(draft, name, joint)


def _check_start(draft: Draft, name: str, joint: MovingJointSpec) -> None:
    assert joint.bounds is not None
    # coordinates with limits are scalar, and q lists them in order, before any quaternion
    start = JOINTS[joint.type].start(joint).q
    for k, (pair, unit) in enumerate(zip(joint.bounds, joint.coordinates, strict=True)):
        if pair is None:
            continue
        lower, upper = pair
        if not lower - _SLACK <= start[k] <= upper + _SLACK:
            side = f"below {lower:g}" if start[k] < lower else f"above {upper:g}"
            path = ("joints", name, "limits", *(() if len(joint.coordinates) == 1 else (k,)))
            draft.report(path, f"the initial coordinate, {start[k]:g} {unit}, violates this limit: it is {side} {unit}")
