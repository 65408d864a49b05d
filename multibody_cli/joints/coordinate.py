"""The kinds of coordinates of joints."""

from __future__ import annotations

from enum import StrEnum


class Coordinate(StrEnum):
    """The kind of a coordinate; its value is the unit in which it is measured."""

    ANGLE = "rad"
    LENGTH = "m"
    NUMBER = "1"
