"""Bases of the entries of `forces:` in a scene file: forces on bodies, and on coordinates of joints."""

from __future__ import annotations

from collections.abc import Sequence

from multibody_cli.spec import BodyPoint, Position, Spec

Place = tuple[str | int, ...]


class ForceSpec(Spec):
    """The base of every entry of `forces:`."""

    @property
    def coordinates(self) -> list[tuple[Place, str]]:
        """Coordinates of joints, `joint` or `joint/k`, each with its place in the entry."""
        return []


class BodyForceSpec(ForceSpec):
    """The base of every force on a body."""

    body: str

    @property
    def points(self) -> list[tuple[Place, Position]]:
        """Points of the body, in the body frame, m, each with its place in the entry."""
        return []

    @property
    def turning(self) -> list[Place]:
        """Fields that need a body with an orientation."""
        return []


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
