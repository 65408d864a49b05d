"""Coordinates that turn a body about an axis of its own, and so count its turns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.spec import JointSpec
from multibody_cli.spec import Vector
from multibody_cli.spec.rotations import rotation_matrix

PARALLEL = 1e-9
"""Largest distance of the ends of two unit vectors that count as parallel."""


def turning_coordinate(joints: Mapping[str, JointSpec], body: str, axis: Vector) -> tuple[str, float] | None:
    """Return the coordinate that turns a body about an axis, and its sign about this axis; None if there is none.

    It is the last coordinate of the first joint whose child is the body, if it is a rotation about this axis.
    """
    name, joint = next(((name, joint) for name, joint in joints.items() if joint.child == body), ("", None))
    parts = [] if joint is None else JOINTS[joint.type].parts(joint)
    if joint is None or not parts or parts[-1].code is not PartCode.SCREW:
        return None
    turn = rotation_matrix(joint.child_origin.rotation) @ np.array(parts[-1].turn)
    for sign in (1.0, -1.0):
        if np.linalg.norm(turn - sign * np.array(axis)) <= PARALLEL:
            return f"{name}/{sum(part.nv for part in parts) - 1}", sign
    return None
