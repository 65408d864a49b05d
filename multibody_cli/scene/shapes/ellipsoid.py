"""Ellipsoids."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import Vector, Vector3, units


class EllipsoidSpec(SolidSpec):
    """An ellipsoid centered at the origin of the shape."""

    type: Literal["ellipsoid"]
    radii: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Semi-axes [a, b, c], m.")


def volume(shape: EllipsoidSpec, _file: Path) -> VolumeProperties:
    """Return volume, centre and inertia."""
    a, b, c = shape.radii
    moments = (b * b + c * c) / 5.0, (a * a + c * c) / 5.0, (a * a + b * b) / 5.0
    return centred(4.0 / 3.0 * math.pi * a * b * c, *moments)


def form(shape: EllipsoidSpec, _file: Path) -> forms.Form:
    """Return the form in contacts."""
    return forms.ellipsoid(shape.radii)


KIND = ShapeKind("ellipsoid", EllipsoidSpec, volume, form)
