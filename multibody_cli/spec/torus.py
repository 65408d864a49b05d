"""Radii of a torus, as a shape of bodies and as a surface of joints."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from multibody_cli.spec.mapping import Spec
from multibody_cli.spec.quantities import PositiveLength


class TorusRadii(Spec):
    """A torus without self-intersection."""

    major_radius: PositiveLength = Field(description="Distance from the center to the center line of the tube, m.")
    minor_radius: PositiveLength = Field(description="Radius of the tube, m; smaller than the major radius.")

    @field_validator("minor_radius")
    @classmethod
    def _require_a_hole(cls, minor: float, info: Any) -> float:
        major = info.data.get("major_radius")
        if major is not None and minor >= major:
            raise ValueError(
                f"a torus with minor radius {minor:g} m and major radius {major:g} m intersects itself: expected a "
                "`minor_radius` below the `major_radius`"
            )
        return minor
