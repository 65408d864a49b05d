"""Channels of one body, computed from the stored arrays of all bodies.

`bodies/<name>/position` is the row of one body in `bodies/position`; `com` and `angular_velocity_body` are derived.  To
add a channel, add an entry to `BODY_CHANNELS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.escaping import decoded, path_component
from multibody_cli.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from multibody_cli.model import Floats


class BodyChannel(Immutable):
    """One quantity of one body at every output instant.

    Parameters
    ----------
    needs
        Stored datasets of `bodies/` that `compute` takes; units and tolerances are those of the first.
    description, frame
        As in `output.channel.Channel`.
    compute
        Returns (T, n) values from the needed arrays of one body, each (T, 3) or (T, 4), and its center of mass (3,)
        in the body frame, m.
    """

    needs: tuple[str, ...]
    description: str
    frame: str
    compute: Callable[..., Floats]

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the stored channels that `compute` takes."""
        return tuple(f"bodies/{need}" for need in self.needs)


def rotate(quaternion: Floats, vector: Floats) -> Floats:
    """Rotate vectors (T, 3) or (3,) by unit quaternions (w, x, y, z), (T, 4)."""
    w, axis = quaternion[:, :1], quaternion[:, 1:]
    twice = 2.0 * np.cross(axis, vector)
    rotated: Floats = vector + w * twice + np.cross(axis, twice)
    return rotated


def _stored(field: str, description: str) -> BodyChannel:
    return BodyChannel((field,), description, "world", lambda values, com: values)


BODY_CHANNELS: dict[str, BodyChannel] = {
    "position": _stored("position", "Position of the origin of the body frame."),
    "quaternion": _stored("quaternion", "Orientation of the body frame, (w, x, y, z)."),
    "linear_velocity": _stored("linear_velocity", "Velocity of the origin of the body frame."),
    "angular_velocity": _stored("angular_velocity", "Angular velocity of the body."),
    "contact_force": _stored("contact_force", "Resultant of the contacts of the body."),
    "contact_torque": _stored("contact_torque", "Torque of the contacts of the body about the origin of its frame."),
    "com": BodyChannel(
        ("position", "quaternion"),
        "Position of the center of mass.",
        "world",
        lambda position, quaternion, com: position + rotate(quaternion, com),
    ),
    "angular_velocity_body": BodyChannel(
        ("angular_velocity", "quaternion"),
        "Angular velocity of the body, in the body frame.",
        "body",
        lambda omega, quaternion, com: rotate(quaternion * (1.0, -1.0, -1.0, -1.0), omega),
    ),
}


def find_body_channel(path: str, bodies: Sequence[str]) -> tuple[BodyChannel, int] | None:
    """Return the channel and the body index of `bodies/<name>/<quantity>`; None if there is no such channel."""
    group, _, rest = path.partition("/")
    component, _, quantity = rest.rpartition("/")
    name = decoded(component)
    if group != "bodies" or name not in bodies or quantity not in BODY_CHANNELS:
        return None
    return BODY_CHANNELS[quantity], bodies.index(name)


def body_paths(bodies: Sequence[str], stored: Container[str]) -> list[str]:
    """List the paths of the channels of every body that the stored channels determine."""
    known = [quantity for quantity, one in BODY_CHANNELS.items() if all(path in stored for path in one.paths)]
    return [f"bodies/{path_component(name)}/{quantity}" for name in bodies for quantity in known]
