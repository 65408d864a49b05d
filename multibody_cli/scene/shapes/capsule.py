"""Capsules: cylinders with hemispherical ends."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import PositiveLength


class CapsuleSpec(SolidSpec):
    """A cylinder along z with hemispherical ends, centered at the origin of the shape."""

    type: Literal["capsule"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="Length of the cylindrical part, m.")


def volume(shape: CapsuleSpec, _file: Path) -> VolumeProperties:
    """Return volume, centre and inertia."""
    r, length = shape.radius, shape.length
    rod, ball = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r**3
    across = rod * (r * r / 4.0 + length * length / 12.0)
    across += ball * (0.4 * r * r + length * length / 4.0 + 3.0 / 8.0 * length * r)
    along = rod * r * r / 2.0 + ball * 0.4 * r * r
    return centred(rod + ball, across / (rod + ball), across / (rod + ball), along / (rod + ball))


def form(shape: CapsuleSpec, _file: Path) -> forms.Form:
    """Return the form in contacts."""
    return forms.capsule(shape.radius, shape.length)


KIND = ShapeKind("capsule", CapsuleSpec, volume, form)
