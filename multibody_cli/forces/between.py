"""What acts between bodies, as a scene writes it: which bodies these are, and which points of them."""

from __future__ import annotations

from collections.abc import Sequence

from multibody_cli.spec import BodyPoint, Spec

Place = tuple[str | int, ...]


class BetweenSpec(Spec):
    """An entry of the scene that acts between bodies."""

    @property
    def points(self) -> list[tuple[Place, BodyPoint]]:
        """Points of bodies, from end to end, each with its place in the entry."""
        return []

    @property
    def bodies(self) -> list[tuple[Place, str]]:
        """Bodies, each with its place in the entry."""
        return [((*place, "body"), end.body) for place, end in self.points]

    @property
    def turns(self) -> bool:
        """Whether it acts on the orientation of its bodies, so that they must have one."""
        return False


def placed(field: str, points: Sequence[BodyPoint]) -> list[tuple[Place, BodyPoint]]:
    """Points of one field, each with its place."""
    return [((field, k), point) for k, point in enumerate(points)]
