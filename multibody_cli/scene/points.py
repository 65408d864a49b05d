"""The named points of a scene, from its data: the context in which its entries are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from multibody_cli.joints.spec import WORLD
from multibody_cli.spec import NamedFrame, NamedPoints, Pose

_FRAME: TypeAdapter[Pose] = TypeAdapter(NamedFrame)


def named_points(data: Mapping[str, Any]) -> NamedPoints:
    """Return the points of each body of the data of a scene, and of the world; invalid ones are at the origin.

    The validation of the scene reports these.
    """
    bodies = data.get("bodies")
    owners = {WORLD: data.get("world"), **(bodies if isinstance(bodies, dict) else {})}
    return {owner: dict(_points_of(entry)) for owner, entry in owners.items()}


def _points_of(entry: Any) -> Iterator[tuple[str, Pose]]:
    points = entry.get("points") if isinstance(entry, dict) else None
    for name, value in (points if isinstance(points, dict) else {}).items():
        try:
            yield name, _FRAME.validate_python(value)
        except ValidationError:
            yield name, Pose()
