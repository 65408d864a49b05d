"""Points of paths in a picture, those included that move in their bodies or exist in a range of a coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.escaping import path_component
from multibody_cli.model import Floats
from multibody_cli.render.drawing import GROUND
from multibody_cli.render.motion import MotionHistory
from multibody_cli.spec.entries import split_coordinate
from multibody_cli.spec.path import MovingPoint, PathPoint
from multibody_cli.spec.points import Attachment


def depends_on_coordinate(end: Attachment) -> bool:
    """Whether an entry of a path is a point that moves in its body, or exists in a range of a coordinate."""
    return isinstance(end, MovingPoint) and end.coordinate is not None


def places_of(entries: Sequence[Attachment], number: Mapping[str, int], motion: MotionHistory) -> list[Floats]:
    """Return the positions (T, 3) of the entries of a path, m, in the world; where one is absent, of the one before.

    Raises
    ------
    ResultError
        A coordinate on which a point depends was not recorded.
    """
    places: list[Floats] = []
    for end in entries:
        point, exists = np.asarray(end.point), np.ones((len(motion.time), 1), np.bool_)
        if isinstance(end, MovingPoint) and end.coordinate is not None:
            q = _values(motion, end.coordinate)
            point = end.places(q)
            if isinstance(end, PathPoint) and end.range is not None:
                exists = ((q >= end.range[0]) & (q <= end.range[1]))[:, None]
        place = motion.point(number.get(end.body, GROUND), point) + np.zeros_like(exists, dtype=float)
        places.append(np.where(exists, place, places[-1]) if places else place)
    return places


def _values(motion: MotionHistory, coordinate: str) -> Floats:
    joint, index = split_coordinate(coordinate)
    if joint not in motion.coordinates:
        raise ResultError(
            f"the run has no channel joints/{path_component(joint)}/q, which `output.channels` excludes: record it to "
            "draw paths with points that depend on it"
        )
    return motion.coordinates[joint][:, int(index or 0)]
