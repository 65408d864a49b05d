"""Joints whose coordinates have a domain, and their behaviour at its ends."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import Field, model_validator

from multibody_cli.joints.coordinate_fields import Bounds
from multibody_cli.joints.spec import BrakedJointSpec, CoordinateJointSpec
from multibody_cli.spec.quantities import located_error

Interval = tuple[float, float]

WITHIN = 1e-9
"""Tolerance of a coordinate outside of its domain, for round-off."""

ENDLESS: Interval = (-math.inf, math.inf)


class DomainJointSpec(CoordinateJointSpec, BrakedJointSpec):
    """A joint that is defined for some values of its coordinates."""

    ends: Literal["stop", "limit", "extend"] = Field(
        "stop",
        description="At the ends of the domain: the run stops, the coordinate has a limit, or formulas extrapolate.",
    )

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """Least and greatest value of each coordinate for which the joint is defined; infinite if unbounded."""
        raise NotImplementedError

    @property
    def domains(self) -> tuple[Interval, ...]:
        """Interval of each coordinate outside of which the run stops."""
        return self.own_domains if self.ends == "stop" else (ENDLESS,) * len(self.coordinates)

    @property
    def bounds(self) -> Bounds | None:
        """The written limits, intersected with the domain if its ends are limits."""
        if self.ends != "limit" or self.own_domains == (ENDLESS,) * len(self.coordinates):
            return super().bounds
        written = super().bounds or (None,) * len(self.coordinates)
        both = (_common(pair or ENDLESS, own) for pair, own in zip(written, self.own_domains, strict=True))
        return tuple(None if pair == ENDLESS else pair for pair in both)

    @model_validator(mode="after")
    def _refuse_ends_without_effect(self) -> Self:
        if "ends" in self.model_fields_set and all(one == ENDLESS for one in self.own_domains):
            raise located_error("has no effect: the domain of this joint is unbounded", "ends")
        if self.ends == "limit" and self.motion is not None:
            for signal, own in zip(self.motion.signals, self.own_domains, strict=True):
                if signal is not None and own != ENDLESS:
                    raise located_error(
                        "a limit cannot apply to a coordinate whose `motion` is prescribed: use `stop` or `extend`",
                        "ends",
                    )
        return self

    @model_validator(mode="after")
    def _require_interval_between_limits(self) -> Self:
        for k, pair in enumerate(self.bounds or ()):
            if pair is not None and not pair[0] < pair[1]:
                lower, upper = self.own_domains[k]
                raise located_error(
                    f"has no common interval with the domain from {lower:g} to {upper:g}",
                    *("limits", k)[: 1 if len(self.own_domains) == 1 else 2],
                )
        return self

    @model_validator(mode="after")
    def _require_start_within(self) -> Self:
        for k, (q, (lower, upper)) in enumerate(zip(self.q, self.own_domains, strict=False)):
            if self.ends != "extend" and not lower - WITHIN <= q <= upper + WITHIN:
                raise located_error(
                    f"starts at {q:g}, outside of its domain from {lower:g} to {upper:g}; start within it, or use "
                    "`ends: extend`",
                    *("q", k)[: 1 if len(self.own_domains) == 1 else 2],
                )
        return self


def _common(one: Interval, other: Interval) -> Interval:
    """Return the intersection of two intervals."""
    return max(one[0], other[0]), min(one[1], other[1])
