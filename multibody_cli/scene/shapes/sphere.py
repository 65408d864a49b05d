"""Spheres."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import PositiveLength


class SphereSpec(SolidSpec):
    """A sphere centered at the origin of the shape."""

    type: Literal["sphere"]
    radius: PositiveLength = Field(description="m")


def volume(shape: SphereSpec, _file: Path) -> VolumeProperties:
    """Return volume, centre and inertia."""
    moment = 0.4 * shape.radius**2
    return centred(4.0 / 3.0 * math.pi * shape.radius**3, moment, moment, moment)


def form(shape: SphereSpec, _file: Path) -> forms.Form:
    """Return the form in contacts."""
    return forms.sphere(shape.radius)


KIND = ShapeKind("sphere", SphereSpec, volume, form)
