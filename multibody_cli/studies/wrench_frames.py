"""Wrenches of joints in the axes of the child or of the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.output.bodies import rotate
from multibody_cli.output.channels import CHILD_FRAME
from multibody_cli.output.trajectory import ChannelRecord, Trajectory

if TYPE_CHECKING:
    from multibody_cli.joints.spec import JointSpec
    from multibody_cli.model import Floats

BODY, WORLD = "body", "world"


def express_wrenches(trajectory: Trajectory, joints: Mapping[str, JointSpec], frame: str) -> Trajectory:
    """Return a run whose wrenches of joints are rotated to other axes; moments stay about the origin of their frame.

    Parameters
    ----------
    trajectory
        The run.
    joints
        The joints of its scene.
    frame
        `BODY` for the axes of the child, or `WORLD`.
    """
    axes: dict[str, Callable[[Floats, Floats], Floats]] = {BODY: lambda _, vector: vector, WORLD: rotate}
    turn = axes[frame]

    def convert(record: ChannelRecord, rows: slice) -> ChannelRecord:
        if record.frame != CHILD_FRAME:
            return record
        joint = joints[record.path.split("/")[1]]
        from_joint = np.array([joint.child_origin.rotation])
        vectors = np.swapaxes(record.values.reshape(-1, 2, 3), 0, 1)
        body = f"bodies/{joint.child}/quaternion"
        orientation = trajectory.channel(body, rows).values
        turned = [turn(orientation, rotate(from_joint, vector)) for vector in vectors]
        return replace(record, values=np.concatenate(turned, axis=1), frame=frame)

    return trajectory.converted(convert)
