"""Bases of the entries of `forces:` in a scene file: forces on bodies, and on coordinates of joints."""

from __future__ import annotations

from multibody_cli.spec import Position, Spec
from multibody_cli.spec.entries import EntrySpec
from multibody_cli.spec.entries import Place as Place


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


class BetweenSpec(EntrySpec):
    """An entry of the scene that acts between bodies."""
