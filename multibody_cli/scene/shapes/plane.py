"""Planes that bound a half space."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.mass import Floats
from multibody_cli.scene.shapes.contract import ShapeKind, ShapeSpec
from multibody_cli.spec import Direction


class PlaneSpec(ShapeSpec):
    """An infinite plane that bounds a half space."""

    type: Literal["plane"]
    normal: Direction = Field((0.0, 0.0, 1.0), description="Outward normal of the half space.")

    @property
    def axes(self) -> Floats:
        """Rotation (3, 3) of its form, with z along the normal."""
        z = np.array(self.normal)
        x = np.eye(3)[int(np.argmin(np.abs(z)))]
        x = x - z * (x @ z)
        x /= np.linalg.norm(x)
        return np.asarray(super().axes @ np.column_stack([x, np.cross(z, x), z]))


def form(shape: PlaneSpec, _file: Path) -> forms.Form:
    """Return the form in contacts."""
    return forms.plane()


KIND = ShapeKind("plane", PlaneSpec, form=form)
