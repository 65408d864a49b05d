"""Muscles beside those of OpenSim: curves, and a muscle between the ground and a slider, rigid and elastic.

The package `opensim` is not a dependency: without it the tests are skipped.
"""

from __future__ import annotations

import math
from contextlib import chdir
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from loops import start

from multibody_cli.forces.muscle_models import MUSCLE_MODELS

with TemporaryDirectory() as _folder, chdir(_folder):  # it writes a log there
    opensim = pytest.importorskip("opensim")
    opensim.Logger.removeFileSink()

STRENGTH, OPTIMAL, SLACK, PENNATION = 1000.0, 0.1, 0.2, 0.3
CLASSES = {
    "thelen2003": "Thelen2003Muscle",
    "millard2012": "Millard2012EquilibriumMuscle",
    "degroote2016": "DeGrooteFregly2016Muscle",
}


class Engine:
    """A muscle of OpenSim between the ground and a slider."""

    def __init__(self, curves: str, *, rigid: bool, excited: bool = False) -> None:
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
        if excited:
            muscle.set_activation_time_constant(0.015)
            muscle.set_deactivation_time_constant(0.05)
            muscle.set_default_activation(0.3)
            slide.updCoordinate().setPrescribedFunction(opensim.Sine(0.01, 12.0, math.pi / 2, 0.29))
            slide.updCoordinate().setDefaultIsPrescribed(True)
            nerves = opensim.PrescribedController()
            nerves.addActuator(muscle)
            nerves.prescribeControlForActuator("m", opensim.Sine(0.4, 9.0, 0.0, 0.5))
            self.model.addController(nerves)
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


@pytest.mark.parametrize("curves", CLASSES)
def test_fibers_and_tendon_in_equilibrium(curves: str) -> None:
    engine, rng = Engine(curves, rigid=False), np.random.default_rng(5)
    for _ in range(30):
        length, activation = SLACK + rng.uniform(0.07, 0.15), rng.uniform(0.05, 1.0)
        theirs = engine.at(length, 0.0, activation)
        theirs.computeInitialFiberEquilibrium(engine.state)
        engine.model.realizeDynamics(engine.state)
        one = scene(curves, length, 0.0, activation)
        one["muscles"]["m"]["tendon"] = "elastic"
        found = start(one, "aba", "rk4").observed()
        assert found.fiber_length[0, 0] == pytest.approx(theirs.getFiberLength(engine.state), rel=0, abs=1e-7 * OPTIMAL)
        wanted = theirs.getTendonForce(engine.state)
        assert found.muscle_force[0, 0] == pytest.approx(wanted, rel=0, abs=1e-6 * STRENGTH)


def test_fibers_start_with_the_rate_of_the_path() -> None:
    """As those of Thelen's muscle in OpenSim; its muscles of Millard start at rest, De Groote's with all of it."""
    engine, rng = Engine("thelen2003", rigid=False), np.random.default_rng(6)
    for _ in range(30):
        length, activation, rate = SLACK + rng.uniform(0.08, 0.14), rng.uniform(0.2, 1.0), rng.uniform(-0.3, 0.5)
        theirs = engine.at(length, rate, activation)
        theirs.computeInitialFiberEquilibrium(engine.state)
        engine.model.realizeDynamics(engine.state)
        one = scene("thelen2003", length, rate, activation)
        one["muscles"]["m"]["tendon"] = "elastic"
        found = start(one, "aba", "rk4").observed()
        assert found.fiber_length[0, 0] == pytest.approx(theirs.getFiberLength(engine.state), rel=0, abs=1e-7 * OPTIMAL)
        wanted = theirs.getTendonForce(engine.state)
        assert found.muscle_force[0, 0] == pytest.approx(wanted, rel=0, abs=1e-6 * STRENGTH)
        assert found.fiber_velocity[0, 0] == pytest.approx(theirs.getFiberVelocity(engine.state), rel=0, abs=1e-5)


@pytest.mark.parametrize("curves", CLASSES)
@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_a_second_of_excitation(curves: str, integrator: str) -> None:
    """A path that moves as a cosine, and an excitation that is a sine, from equilibrium."""
    engine = Engine(curves, rigid=False, excited=True)
    engine.model.equilibrateMuscles(engine.state)
    manager = opensim.Manager(engine.model)
    manager.setIntegratorAccuracy(1e-10)
    manager.initialize(engine.state)
    one = scene(curves, 0.3, 0.0, 0.5)
    one["joints"]["s"] = {"type": "prismatic", "child": "b", "axis": [1, 0, 0]}
    one["joints"]["s"]["motion"] = {"position": "0.29 + 0.01*cos(12*t)"}
    del one["muscles"]["m"]["activation"]
    one["muscles"]["m"] |= {
        "tendon": "elastic",
        "excitation": "0.5 + 0.4*sin(9*t)",
        "activation_time": 0.015,
        "deactivation_time": 0.05,
        "initial_activation": 0.3,
        "activation_dynamics": "degroote2016" if curves == "degroote2016" else "thelen2003",
    }
    tolerance = {"tolerance": 1e-10} if integrator == "dop853" else {}
    run = start(one, "aba", integrator, step=2e-4, **tolerance)
    for t in np.linspace(0.1, 1.0, 10):
        state = manager.integrate(float(t))
        engine.model.realizeDynamics(state)
        found = run.advance(round(float(t), 9)).observed()
        assert found.activation[0, 0] == pytest.approx(engine.muscle.getActivation(state), rel=0, abs=1e-7)
        fibers = engine.muscle.getFiberLength(state)
        assert found.fiber_length[0, 0] == pytest.approx(fibers, rel=0, abs=1e-6 * OPTIMAL)
        assert found.muscle_force[0, 0] == pytest.approx(
            engine.muscle.getTendonForce(state), rel=0, abs=1e-6 * STRENGTH
        )
