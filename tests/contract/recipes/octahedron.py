"""Regular octahedra."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import PositiveLength


class OctahedronSpec(SolidSpec):
    """An octahedron whose corners lie on the axes."""

    type: Literal["octahedron"]
    radius: PositiveLength = Field(description="Distance of the corners from the centre, m.")


def volume(shape: OctahedronSpec, _file: Path) -> VolumeProperties:
    """Return volume, centre and inertia."""
    moment = shape.radius**2 / 5.0
    return centred(4.0 / 3.0 * shape.radius**3, moment, moment, moment)


def form(shape: OctahedronSpec, _file: Path) -> forms.Form:
    """Return the form in contacts."""
    return forms.hull(shape.radius * np.vstack([np.eye(3), -np.eye(3)]))


KIND = ShapeKind("octahedron", OctahedronSpec, volume, form)
