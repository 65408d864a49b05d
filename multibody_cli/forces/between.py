"""The base of scene entries that act between bodies: the bodies and their points."""

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
        """Whether its bodies must have an orientation."""
        return False


def placed(field: str, points: Sequence[BodyPoint]) -> list[tuple[Place, BodyPoint]]:
    """Points of one field, each with its place."""
    return [((field, k), point) for k, point in enumerate(points)]
