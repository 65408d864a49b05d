"""Cylinders."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import PositiveLength


class CylinderSpec(SolidSpec):
    """A cylinder along z, centered at the origin of the shape."""

    type: Literal["cylinder"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="m")


def volume(shape: CylinderSpec, _file: Path) -> VolumeProperties:
    """Return volume, centre and inertia."""
    r, length = shape.radius, shape.length
    across = r * r / 4.0 + length * length / 12.0
    return centred(math.pi * r * r * length, across, across, r * r / 2.0)


def form(shape: CylinderSpec, _file: Path) -> forms.Form:
    """Return the form in contacts."""
    return forms.cylinder(shape.radius, shape.length)


KIND = ShapeKind("cylinder", CylinderSpec, volume, form)
