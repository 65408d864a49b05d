"""Channels of combinations of coordinates and of paths."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.output.channel import Channel

if TYPE_CHECKING:
    from multibody_cli.output.channel import Array, Item

_of_path = partial(Channel, reader="paths")

_friction = partial(Channel, field="brake_force", reader="brakes", atol=1e-7, role="reaction")
"""Force of a brake."""


def _of_combination(name: str, units: str, description: str) -> Channel:
    path, field = f"combinations/{{combination}}/{name}", f"combination_{name}"
    return Channel(path, units, description, field, "combinations")


def _sum_of_parts(block: Any, item: Item) -> Array:
    """Return the sum of the parts of an item (K,)."""
    parts = [sign * getattr(block.samples, field)[:, column] for field, column, sign in item.parts]
    return np.sum(parts, axis=0) if parts else np.zeros(len(block.samples.time))


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
    Channel(
        "paths/{path}/force",
        "N",
        "Total tension along the path, positive where it pulls: of all springs, muscles, forces, actuators, ropes and "
        "struts along its points, and of its friction.",
        reader="paths",
        select=_sum_of_parts,
        atol=1e-7,
        role="reaction",
    ),
    Channel(
        "forces/{tension}/force",
        "N",
        "Tension of the force along its path, positive where it pulls.",
        "tension_force",
        "tensions",
        atol=1e-7,
        role="reaction",
    ),
)
"""Entries of `channels.CHANNELS`."""
