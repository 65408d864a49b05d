"""Channels of combinations of coordinates and of paths."""

from __future__ import annotations

from functools import partial

from multibody_cli.output.channel import Channel

_of_path = partial(Channel, reader="paths")

_friction = partial(Channel, field="brake_force", reader="brakes", atol=1e-7, role="reaction")
"""Force of a brake."""


def _of_combination(name: str, units: str, description: str) -> Channel:
    path, field = f"combinations/{{combination}}/{name}", f"combination_{name}"
    return Channel(path, units, description, field, "combinations")


PATH_CHANNELS: tuple[Channel, ...] = (
    _of_combination("value", "rad or m", "Value of the combination of coordinates."),
    _of_combination("rate", "rad/s or m/s", "Rate of the combination."),
    _of_combination("force", "N m or N", "Force of spring and damper along the combination, positive with its value."),
    _friction(
        "combinations/{braked_combination}/friction",
        "N m or N",
        "Force of the dry friction of the combination, positive with its value.",
    ),
    Channel(
        "combinations/{limited_combination}/limit_force",
        "N or N m",
        "Force of each limit of the combination, lower limit before upper limit; positive toward the interior of the "
        "range.",
        "multiplier",
        "constraints",
        dimensions=("row",),
        role="constraint",
        atol=1e-7,
    ),
    _of_path("paths/{path}/length", "m", "Length of the path, each branch over its divisor.", "path_length"),
    _of_path("paths/{path}/rate", "m/s", "Rate of change of the length, positive in lengthening.", "path_rate"),
    _friction(
        "paths/{braked_path}/friction", "N", "Tension due to the dry friction of the path, positive in lengthening."
    ),
)
"""Entries of `channels.CHANNELS`."""
