"""Channels of wrenches: of joints, of bushings, and of the elements that act on bodies."""

from __future__ import annotations

from functools import partial

from multibody_cli.output.channel import Channel

CHILD_FRAME = "joint frame of the child"
"""Frame of the wrenches of joints."""

_wrench = partial(
    Channel,
    units="N m, N m, N m, N, N, N",
    frame=CHILD_FRAME,
    dimensions=("moment_force",),
    atol=1e-7,
    role="reaction",
)
"""Wrench of a joint."""

WRENCH_CHANNELS: tuple[Channel, ...] = (
    _wrench(
        "joints/{joint}/force",
        description="Total wrench [moment; force] that the joint applies to the child about the origin of the child's "
        "joint frame: constraint, actuator, spring, damper and friction.",
        field="reaction",
        reader="joints",
    ),
    _wrench(
        "joints/{friction_joint}/friction",
        description="Dry-friction part of the joint wrench [moment; force].",
        field="joint_friction",
        reader="joint_friction",
    ),
    _wrench(
        "wrenches/{wrench}",
        description="Wrench [moment; force] of one element on one of its bodies, about the origin of the body frame: a "
        "force, a spring, a muscle, an actuator along a path, the friction of a path, or a constraint.",
        field="wrench",
        reader="wrenches",
        frame="world",
    ),
    _wrench(  # after `wrenches`, from which it is computed
        "springs/{bushing}/wrench",
        description="Wrench [moment; force] of the bushing on its child about the origin of the bushing's frame on the "
        "child: springs and dampers.",
        field="bushing_wrench",
        reader="bushings",
    ),
)
"""Entries of `channels.CHANNELS`."""
