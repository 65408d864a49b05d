"""De Groote's curves: three bells, an inverse hyperbolic sine, and exponentials, smooth everywhere.

Source: De Groote, Kinney, Rao and Fregly, Evaluation of direct collocation optimal control problem formulations for
solving the muscle redundancy problem, Ann. Biomed. Eng. 44 (2016), with the constants of OpenSim, by which the tendon
has no force at its slack length and the fibers none at 0.2 of their optimal length.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field

from multibody_cli.forces.muscle_models.contract import CurvesSpec, MuscleCurves, Positive
from multibody_cli.forces.muscle_models.tabulation import joined, written

_BELLS = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
"""Height, centre, and width with its slope."""

_VELOCITY = dict(zip("abcd", (-0.3211346127989808, -8.149, -0.374, 0.8825327733249912), strict=True))
_TENDON = {"c": 0.2}
_FAST = 10.0
"""Normalized velocity beyond which a tangent continues the factor of the velocity."""


class DeGroote2016Spec(CurvesSpec):
    """Curves of De Groote et al. (2016), as in OpenSim."""

    type: Literal["degroote2016"]
    active_width: Positive = Field(1.0, description="Scale of the width of the active force.")
    passive_shape: Positive = Field(4.0, description="Exponent of the passive force.")
    passive_strain: Positive = Field(0.6, description="Strain of the fibers at a passive force of 1.")
    tendon_strain: Positive = Field(0.049, description="Strain of the tendon at a force of 1.")

    def published(self) -> MuscleCurves:
        """Return the curves of the article."""
        x = f"((x - 1)/{self.active_width!r} + 1)"
        bells = " + ".join(f"{h!r}*exp(-0.5*(({x} - {m!r})/({s!r} + {r!r}*{x}))**2)" for h, m, s, r in _BELLS)
        numbers = {"shape": self.passive_shape, "strain": self.passive_strain}
        passive = "(exp(shape*(x - 1)/strain) - exp(-0.8*shape/strain))/(exp(shape) - exp(-0.8*shape/strain))"
        velocity = "a*log(b*x + c + sqrt((b*x + c)**2 + 1)) + d"
        bend = abs(1.0 / _VELOCITY["b"])
        fast = bend * np.sinh(np.linspace(-1.0, 1.0, 257) * math.asinh(_FAST / bend)) - _VELOCITY["c"] / _VELOCITY["b"]
        steepness = math.log((1.0 + _TENDON["c"]) / _TENDON["c"]) / self.tendon_strain
        lengths = np.concatenate([np.linspace(0.0, 0.9, 65), np.linspace(0.9, 1.2, 257)[1:]])
        tendon = written("c*exp(k*(x - 1)) - c", lengths, {"k": steepness, **_TENDON})
        return MuscleCurves(
            joined(written(bells, np.linspace(0.2, 3.2, 385), {})),
            joined(written(velocity, fast, _VELOCITY)),
            joined(written(passive, np.linspace(0.2, 2.0, 257), numbers)),
            joined(tendon),
            shortest=0.2,
        )
