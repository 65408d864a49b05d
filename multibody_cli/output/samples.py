"""Arrays of output quantities, one row for each output instant, as the channels declare them."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.elements import sample_shape

if TYPE_CHECKING:
    from multibody_cli.model import SceneNames

_CHANNELS = {channel.field: channel for channel in reversed(CHANNELS) if channel.field}
"""A channel of each field."""

FIELDS = tuple(dict.fromkeys(channel.field for channel in CHANNELS if channel.field))
"""Fields of the samples, in the order of the channels."""

if TYPE_CHECKING:

    class Samples(NamedTuple):
        """Output quantities at K output instants: one array (K, ...) for each field of the channels.

        Shape, unit and frame of a field are those of its channels, with the elements of the model along the second
        axis.  `observers` fills one row at a time.
        """

        def __getattr__(self, name: str) -> Any: ...
else:
    Samples = namedtuple("Samples", FIELDS)


def bytes_of(samples: Samples) -> int:
    """Return the size of all arrays."""
    return sum(getattr(samples, field).nbytes for field in FIELDS)


def samples_for(names: SceneNames, count: int) -> Samples:
    """Allocate samples for `count` output instants."""
    return Samples(
        *(np.zeros((count, *sample_shape(_CHANNELS[field], names)), _CHANNELS[field].dtype) for field in FIELDS)
    )
