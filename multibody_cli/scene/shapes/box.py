"""Boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import Vector, Vector3, units


class BoxSpec(SolidSpec):
    """A box centered at the origin of the shape."""

    type: Literal["box"]
    size: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Full edge lengths [x, y, z], m.")


def volume(shape: BoxSpec, _file: Path) -> VolumeProperties:
    """Return volume, centre and inertia."""
    a, b, c = shape.size
    return centred(a * b * c, (b * b + c * c) / 12.0, (a * a + c * c) / 12.0, (a * a + b * b) / 12.0)


def form(shape: BoxSpec, _file: Path) -> forms.Form:
    """Return the form in contacts."""
    return forms.box(shape.size)


KIND = ShapeKind("box", BoxSpec, volume, form)
