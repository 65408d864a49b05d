"""Thelen's curves: a bell, hyperbolas of Hill, and exponentials, with a straight line of the tendon.

The velocities of a muscle with the activation a are divided by 0.25 + 0.75 a, and tangents continue the factor of the
velocity beyond 0 and beyond `velocity_limit` of its largest value.

Source: Thelen, Adjustment of muscle mechanics model parameters, J. Biomech. Eng. 125 (2003), (3)-(8) and table 1; toe
region of the tendon without its rounded numbers, as in OpenSim.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from multibody_cli.forces.muscle_models.contract import CurvesSpec, MuscleCurves, Positive
from multibody_cli.forces.muscle_models.tabulation import joined, written
from multibody_cli.spec import Quantity, units
from multibody_cli.symbolic.tables import Piecewise

_TOE_FORCE, _TOE_SHAPE = 0.33, 3.0
_STRAIGHT = 1.5
"""Tendon length up to which its line is one piece."""


class Thelen2003Spec(CurvesSpec):
    """Curves of Thelen (2003), with the values of young adults."""

    type: Literal["thelen2003"]
    active_width: Positive = Field(0.45, description="Width gamma of the active force: exp(-(x - 1)^2/gamma).")
    passive_shape: Positive = Field(5.0, description="Exponent of the passive force.")
    passive_strain: Positive = Field(0.6, description="Strain of the fibers at a passive force of 1.")
    tendon_strain: Positive = Field(0.04, description="Strain of the tendon at a force of 1.")
    velocity_shape: Positive = Field(0.25, description="Shape A_f of the hyperbolas of the velocity.")
    lengthening_force: Annotated[float, Quantity(units.NUMBER, above=1.0)] = Field(
        1.4, description="Limit of the force of lengthening fibers."
    )
    velocity_limit: Annotated[float, Quantity(units.NUMBER, above=0.0, most=0.99)] = Field(
        0.95, description="Share of `lengthening_force` from which a tangent continues the factor of the velocity."
    )

    def published(self) -> MuscleCurves:
        """Return the curves of the article."""
        bell = written("exp(-(x - 1)**2/width)", np.linspace(-3.0, 5.0, 513), {"width": self.active_width})
        numbers = {"shape": self.passive_shape, "strain": self.passive_strain}
        rest = written("0", np.array([0.0, 1.0]), {})
        passive = "(exp(shape*(x - 1)/strain) - 1)/(exp(shape) - 1)"
        stretched = written(passive, np.linspace(1.0, 2.0, 129), numbers)
        return MuscleCurves(joined(bell), self._velocity(), joined(rest, stretched), self._tendon(), slowing=0.75)

    def _velocity(self) -> Piecewise:
        most, shape = self.lengthening_force, self.velocity_shape
        steepness, last = (2.0 + 2.0 / shape) / (most - 1.0), self.velocity_limit * most
        end = (last - 1.0) / (steepness * (most - last))
        numbers = {"shape": shape, "c": steepness, "most": most}
        shortening = written("(1 + x)/(1 - x/shape)", np.linspace(-1.0, 0.0, 65), numbers)
        lengthening = written("(1 + c*x*most)/(1 + c*x)", end * np.linspace(0.0, 1.0, 129) ** 2, numbers)
        return joined(shortening, lengthening)

    def _tendon(self) -> Piecewise:
        slack = written("0", np.array([0.0, 1.0]), {})
        toe = 99.0 * self.tendon_strain * math.exp(3.0) / (166.0 * math.exp(3.0) - 67.0)
        numbers = {
            "shape": _TOE_SHAPE / toe,
            "factor": _TOE_FORCE / (math.exp(_TOE_SHAPE) - 1.0),
            "stiffness": (1.0 - _TOE_FORCE) / (self.tendon_strain - toe),
            "force": _TOE_FORCE,
            "toe": toe,
        }
        curved = written("factor*(exp(shape*(x - 1)) - 1)", np.linspace(1.0, 1.0 + toe, 65), numbers)
        line = written("force + stiffness*(x - 1 - toe)", np.array([1.0 + toe, _STRAIGHT + toe]), numbers)
        return joined(slack, curved, line)
