"""Muscles beside those of OpenSim: curves, and tensions of a muscle between the ground and a slider.

The package `opensim` is not a dependency: without it the tests are skipped.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from loops import start

from multibody_cli.forces.muscle_models import MUSCLE_MODELS

opensim = pytest.importorskip("opensim")

STRENGTH, OPTIMAL, SLACK, PENNATION = 1000.0, 0.1, 0.2, 0.3
CLASSES = {
    "thelen2003": "Thelen2003Muscle",
    "millard2012": "Millard2012EquilibriumMuscle",
    "degroote2016": "DeGrooteFregly2016Muscle",
}


class Engine:
    """A muscle of OpenSim between the ground and a slider."""

    def __init__(self, curves: str, *, rigid: bool) -> None:
        kind = getattr(opensim, CLASSES[curves])
        muscle = kind()
        muscle.setName("m")
        muscle.set_max_isometric_force(STRENGTH)
        muscle.set_optimal_fiber_length(OPTIMAL)
        muscle.set_tendon_slack_length(SLACK)
        muscle.set_pennation_angle_at_optimal(PENNATION)
        muscle.set_ignore_tendon_compliance(rigid)
        self.model = opensim.Model()
        body = opensim.Body("b", 1.0, opensim.Vec3(0), opensim.Inertia(1))
        slide = opensim.SliderJoint("s", self.model.getGround(), body)
        slide.updCoordinate().setRangeMin(-10)
        slide.updCoordinate().setRangeMax(10)
        self.model.addBody(body)
        self.model.addJoint(slide)
        muscle.addNewPathPoint("from", self.model.getGround(), opensim.Vec3(0))
        muscle.addNewPathPoint("to", body, opensim.Vec3(0))
        self.model.addForce(muscle)
        self.model.finalizeConnections()
        self.state = self.model.initSystem()
        self.muscle = kind.safeDownCast(self.model.getMuscles().get("m"))
        self.coordinate = self.model.getCoordinateSet().get(0)

    def at(self, length: float, rate: float, activation: float) -> Any:
        """The muscle at a length and a rate of its path."""
        self.coordinate.setValue(self.state, length)
        self.coordinate.setSpeedValue(self.state, rate)
        self.muscle.setActivation(self.state, activation)
        self.model.realizeDynamics(self.state)
        return self.muscle


def scene(curves: str, length: float, rate: float, activation: float) -> dict[str, Any]:
    """The same muscle and slider."""
    muscle = {
        "path": [{"body": "world"}, {"body": "b"}],
        "max_isometric_force": STRENGTH,
        "optimal_length": OPTIMAL,
        "tendon_slack_length": SLACK,
        "pennation_angle": PENNATION,
        "curves": curves,
        "activation": activation,
    }
    return {
        "gravity": [0, 0, 0],
        "bodies": {"b": {"mass": 1, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"s": {"type": "prismatic", "child": "b", "axis": [1, 0, 0], "q": length, "v": rate}},
        "muscles": {"m": muscle},
    }


@pytest.mark.parametrize(
    ("curve", "kind", "span"),
    [
        ("active", "ActiveForceLengthCurve", (0.3, 2.0)),
        ("velocity", "ForceVelocityCurve", (-1.2, 1.2)),
        ("passive", "FiberForceLengthCurve", (0.8, 2.0)),
        ("tendon", "TendonForceLengthCurve", (0.99, 1.1)),
    ],
)
def test_millards_curves(curve: str, kind: str, span: tuple[float, float]) -> None:
    model = MUSCLE_MODELS["millard2012"].model_validate({"type": "millard2012", "least_active_force": 0.1})
    own, theirs, x = getattr(model.curves, curve), getattr(opensim, kind)(), np.linspace(*span, 2001)
    wanted = np.array([theirs.calcValue(float(one)) for one in x])
    slopes = np.array([theirs.calcDerivative(float(one), 1) for one in x])
    np.testing.assert_allclose(own.value(x), wanted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(own.derivative.value(x), slopes, rtol=0, atol=1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize(
    ("curve", "method", "span"),
    [
        ("active", "calcActiveForceLengthMultiplier", (0.2, 2.2)),
        ("velocity", "calcForceVelocityMultiplier", (-9.0, 9.0)),
        ("passive", "calcPassiveForceMultiplier", (0.25, 1.9)),
        ("tendon", "calcTendonForceMultiplier", (0.92, 1.15)),
    ],
)
def test_de_grootes_curves(curve: str, method: str, span: tuple[float, float]) -> None:
    own = getattr(MUSCLE_MODELS["degroote2016"].model_validate({"type": "degroote2016"}).curves, curve)
    theirs, x = opensim.DeGrooteFregly2016Muscle(), np.linspace(*span, 2001)
    np.testing.assert_allclose(own.value(x), [getattr(theirs, method)(float(one)) for one in x], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("curves", ["millard2012", "degroote2016"])
def test_tensions_with_a_rigid_tendon(curves: str) -> None:
    """Thelen's muscle of OpenSim has no rigid tendon."""
    engine, rng = Engine(curves, rigid=True), np.random.default_rng(4)
    for _ in range(30):
        length = SLACK + rng.uniform(0.05, 0.16)
        rate, activation = rng.uniform(-0.8, 0.8), rng.uniform(0.05, 1.0)
        theirs = engine.at(length, rate, activation)
        found = start(scene(curves, length, rate, activation), "aba", "rk4").observed()
        assert found.fiber_length[0, 0] == pytest.approx(theirs.getFiberLength(engine.state), rel=1e-9)
        assert found.fiber_velocity[0, 0] == pytest.approx(theirs.getFiberVelocity(engine.state), abs=1e-9)
        assert found.pennation[0, 0] == pytest.approx(theirs.getPennationAngle(engine.state), abs=1e-9)
        wanted = theirs.getTendonForce(engine.state)
        assert found.muscle_force[0, 0] == pytest.approx(wanted, rel=0, abs=1e-6 * STRENGTH)
        assert math.isfinite(wanted)
