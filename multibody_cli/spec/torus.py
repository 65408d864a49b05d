"""Radii of a torus, which is a shape of bodies and a surface of joints."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from multibody_cli.spec.mapping import Spec
from multibody_cli.spec.quantities import PositiveLength


class TorusRadii(Spec):
    """What makes a torus that does not meet itself."""

    major_radius: PositiveLength = Field(description="From the centre to the middle of the tube, m.")
    minor_radius: PositiveLength = Field(description="Of the tube, m; smaller than the major radius.")

    @field_validator("minor_radius")
    @classmethod
    def _require_a_hole(cls, minor: float, info: Any) -> float:
        major = info.data.get("major_radius")
        if major is not None and minor >= major:
            raise ValueError(
                f"a torus with a tube of {minor:g} m about a circle of {major:g} m meets itself: expected a "
                "`minor_radius` below the `major_radius`"
            )
        return minor
