"""Limits of joints: the state at the start lies within them; that of a joint that closes a loop is not known yet."""

from __future__ import annotations

from multibody_cli.joints import JOINTS
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.topology import holders

_SLACK = 1e-9
"""A start that lies outside by no more than this, rad or m, is within by rounding."""


def check_limits(draft: Draft) -> None:
    """Check the limits of every joint against where it starts."""
    carrying = set(holders(draft.scene.bodies, draft.scene.joints).values())
    for name, joint in draft.scene.joints.items():
        if isinstance(joint, MovingJointSpec) and joint.bounds is not None and name in carrying:
            _check_start(draft, name, joint)


def _check_start(draft: Draft, name: str, joint: MovingJointSpec) -> None:
    assert joint.bounds is not None
    # coordinates with limits are plain, and those stand in the order of the numbers of q, before any quaternion
    start = JOINTS[joint.type].start(joint).q
    for k, (pair, unit) in enumerate(zip(joint.bounds, joint.coordinates, strict=True)):
        if pair is None:
            continue
        lower, upper = pair
        if not lower - _SLACK <= start[k] <= upper + _SLACK:
            side = f"below {lower:g}" if start[k] < lower else f"above {upper:g}"
            path = ("joints", name, "limits", *(() if len(joint.coordinates) == 1 else (k,)))
            draft.tell(path, f"excludes the start, where the coordinate is {start[k]:g} {unit}, {side} {unit}")
