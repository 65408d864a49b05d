"""Muscles with elastic tendons: equilibrium, order, energy, derivatives of implicit steps, limits, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from loops import THREE, Data, Run, loaded, start
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from variational_runs import METHODS as VARIATIONAL

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.forces.elements import MUSCLES
from multibody_cli.forces.muscle import law_of, tension_by_activation, update_fibers
from multibody_cli.forces.states import load_states, take_implicitly
from multibody_cli.kernel import kernel

MODELS = ["thelen2003", "millard2012", "degroote2016"]
STRENGTH, OPTIMAL, SLACK, PENNATION = 1000.0, 0.1, 0.2, 0.3
THICKNESS = OPTIMAL * math.sin(PENNATION)


def pulled(curves: str = "millard2012", mass: float = 100.0, q: float = 0.3, v: float = 0.1, **given: Any) -> Data:
    """A slider at the distance q from the wall, to which a muscle pulls it."""
    muscle = {
        "path": [{"body": "world"}, {"body": "b"}],
        "max_isometric_force": STRENGTH,
        "optimal_length": OPTIMAL,
        "tendon_slack_length": SLACK,
        "pennation_angle": PENNATION,
        "tendon": "elastic",
        "curves": curves,
        "activation": "0.5 + 0.3*sin(20*t)",
        **given,
    }
    return {
        "gravity": [0, 0, 0],
        "bodies": {"b": {"mass": mass, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"s": {"type": "prismatic", "child": "b", "axis": [1, 0, 0], "q": q, "v": v}},
        "muscles": {"m": muscle},
    }


def found(run: Run) -> np.ndarray:
    """Coordinate, length of the fibers over the optimal one, and tension over the strength."""
    samples = run.observed()
    fibers, tension = samples.fiber_length[0, 0] / OPTIMAL, samples.muscle_force[0, 0] / STRENGTH
    return np.array([run.joint("s", "coordinates")[0], fibers, tension])


def reference(curves: str, until: float = 0.1) -> np.ndarray:
    return found(start(pulled(curves), "aba", "dop853", tolerance=1e-12, duration=until).advance(until))


# --- equilibrium ------------------------------------------------------------------------------------------------------
def degroote(x: float) -> tuple[float, float]:
    """Active and passive force of De Groote's fibers, written out."""
    bells = [
        (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
        (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
        (0.1, 1.0, 0.353553390593274, 0.0),
    ]
    active = sum(h * math.exp(-0.5 * ((x - m) / (s + r * x)) ** 2) for h, m, s, r in bells)
    low = math.exp(-4.0 * 0.8 / 0.6)
    return active, (math.exp(4.0 * (x - 1.0) / 0.6) - low) / (math.exp(4.0) - low)


def tendon_force(z: float, length: float) -> tuple[float, float]:
    """Force of De Groote's tendon, and the cosine of the angle of the fibers."""
    cosine = math.sqrt(1.0 - (THICKNESS / z) ** 2)
    stretched = (length - z * cosine) / SLACK
    return 0.2 * math.exp(math.log(6.0) / 0.049 * (stretched - 1.0)) - 0.2, cosine


def fiber_rate(z: float, length: float, activation: float) -> float:
    """Velocity of De Groote's fibers without damping, solved from the force by the inverse of its curve, m/s."""
    tension, cosine = tendon_force(z, length)
    active, passive = degroote(z / OPTIMAL)
    factor = (tension / cosine - passive) / (activation * active)
    arc = math.sinh((factor - 0.8825327733249912) / -0.3211346127989808)
    return 10.0 * OPTIMAL * (arc + 0.374) / -8.149


@pytest.mark.parametrize("length", [0.25, 0.29, 0.3, 0.33])
@pytest.mark.parametrize("activation", [0.01, 0.5, 1.0])
def test_fibers_start_at_rest_in_equilibrium(length: float, activation: float) -> None:
    run = start(pulled("degroote2016", q=length, v=0.0, activation=activation), "aba", "rk4")

    def residual(z: float) -> float:
        tension, cosine = tendon_force(z, length)
        active, passive = degroote(z / OPTIMAL)
        # the published curve of the velocity is 1 only near rest
        return (
            activation * active * (-0.3211346127989808 * math.asinh(-0.374) + 0.8825327733249912)
            + passive
            - (tension / cosine)
        )

    wanted = brentq(residual, 1.01 * THICKNESS, 0.2, xtol=1e-15)
    assert found(run)[1] == pytest.approx(wanted / OPTIMAL, rel=0, abs=1e-8)
    assert run.observed().fiber_velocity[0, 0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("length", [0.27, 0.3, 0.33])
@pytest.mark.parametrize("speed", [-0.4, -0.05, 0.1, 0.4])
@pytest.mark.parametrize("activation", [0.02, 0.5, 1.0])
def test_fibers_start_with_the_rate_at_which_both_forces_change_alike(
    length: float, speed: float, activation: float
) -> None:
    """The velocity of De Groote's fibers that balances the tendon is also that of the balance as the path moves."""
    run = start(pulled("degroote2016", q=length, v=speed, activation=activation), "aba", "rk4")
    z, w = OPTIMAL * found(run)[1], run.observed().fiber_velocity[0, 0]
    assert w == pytest.approx(fiber_rate(z, length, activation), abs=1e-7)
    factor = -0.3211346127989808 * math.asinh(-8.149 * w / (10.0 * OPTIMAL) - 0.374) + 0.8825327733249912

    def residual(z: float, length: float) -> float:
        tension, cosine = tendon_force(z, length)
        active, passive = degroote(z / OPTIMAL)
        return activation * active * factor + passive - tension / cosine

    h = 1e-5
    change = (residual(z + h * w, length + h * speed) - residual(z - h * w, length - h * speed)) / (2 * h)
    alone = (residual(z, length + h * speed) - residual(z, length - h * speed)) / (2 * h)
    assert abs(change) < 1e-5 * abs(alone)


@pytest.mark.parametrize("method", [*THREE, "symbolic", *VARIATIONAL])
def test_fibers_of_all_methods_start_with_the_same_rate(method: str) -> None:
    samples = start(pulled(), method, "rk4").observed()
    wanted = start(pulled(), "aba", "rk4").observed()
    assert samples.fiber_velocity[0, 0] == pytest.approx(wanted.fiber_velocity[0, 0], rel=1e-12)
    assert wanted.fiber_velocity[0, 0] > 0.05


def test_a_motion_is_that_of_the_equations_written_out() -> None:
    """Fibers, slider and their forces as three equations, by another integrator."""

    def rates(t: float, y: np.ndarray) -> list[float]:
        q, v, z = y
        tension, _ = tendon_force(z, q)
        return [v, -STRENGTH * tension / 100.0, fiber_rate(z, q, 0.5 + 0.3 * math.sin(20 * t))]

    run = start(pulled("degroote2016"), "aba", "dop853", tolerance=1e-11, duration=0.1)
    begin = [0.3, 0.1, run.observed().fiber_length[0, 0]]
    solved = solve_ivp(rates, (0.0, 0.1), begin, "Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    wanted = [solved[0], solved[2] / OPTIMAL, tendon_force(solved[2], solved[0])[0]]
    np.testing.assert_allclose(found(run.advance(0.1)), wanted, rtol=0, atol=1e-7)


# --- order, methods and energy ----------------------------------------------------------------------------------------
ORDERS = [
    ("aba", "rk4", 4, (2e-3, 1e-3)),
    ("aba", "sdirk2", 2, (1e-3, 5e-4)),
    ("aba", "semi_implicit_euler", 1, (1e-3, 5e-4)),
    ("aba", "linearly_implicit_euler", 1, (5e-4, 2.5e-4)),
    ("variational", "rk4", 2, (1e-3, 5e-4)),
    ("variational_maximal", "rk4", 2, (1e-3, 5e-4)),
]


@pytest.mark.parametrize(("method", "integrator", "order", "steps"), ORDERS, ids=[f"{a}-{b}" for a, b, _, _ in ORDERS])
@pytest.mark.parametrize("curves", ["millard2012", "degroote2016"])
def test_steps_have_the_order_of_the_integrator(
    method: str, integrator: str, order: int, steps: tuple[float, float], curves: str
) -> None:
    scene, errors = pulled(curves, activation="0.5 + 0.4*sin(60*t)"), []
    wanted = found(start(scene, "aba", "dop853", tolerance=1e-12, duration=0.1).advance(0.1))
    for step in steps:
        errors.append(np.abs(found(start(scene, method, integrator, step=step, duration=0.1).advance(0.1)) - wanted))
    for coarse, fine in zip(*errors, strict=True):
        assert math.log2(coarse / fine) > order - 0.35


@pytest.mark.parametrize("method", [*THREE, "symbolic"])
@pytest.mark.parametrize("curves", MODELS)
def test_methods_agree(method: str, curves: str) -> None:
    run = start(pulled(curves), method, "dop853", tolerance=1e-10, duration=0.1).advance(0.1)
    np.testing.assert_allclose(found(run), reference(curves), rtol=0, atol=1e-6)


@pytest.mark.parametrize("curves", MODELS)
def test_energy_is_that_of_tendon_fibers_and_motion_and_the_work_of_the_fibers(curves: str) -> None:
    """Also through the slack of the tendon, at the end of 0.25 s; 30 J are exchanged."""
    run = start(pulled(curves, mass=20.0), "aba", "dop853", tolerance=1e-11, duration=0.25)
    _, before = run.energy()
    for t in (0.05, 0.1, 0.2, 0.25):
        _, residual = run.advance(t).energy()
        assert residual - before == pytest.approx(0.0, abs=1e-9)
    assert run.observed().accounts[0].max() > 1.0


@pytest.mark.parametrize("method", VARIATIONAL)
def test_variational_steps_refuse_backward_steps(method: str) -> None:
    with pytest.raises(SceneError, match="orders 4 and 6 have backward steps, in which fibers with a tendon diverge"):
        loaded(pulled(), method=method, options={"order": 4})


# --- stiff tendons, and the derivatives of implicit steps -------------------------------------------------------------
@kernel
def tension_at(forces, t, length):
    """Tension of the first muscle at a length, and its derivative."""
    muscle = forces.tables[MUSCLES][0]
    update_fibers(muscle, forces, t, length, 0.0)
    tension, slope, _ = law_of(muscle, forces, t, length, 0.0)
    return tension, slope


@pytest.mark.parametrize("curves", MODELS)
@pytest.mark.parametrize("h", [0.0, 1e-5, 1e-3, 0.1])
def test_the_derivative_is_exact_at_constant_fibers_and_in_implicit_steps(curves: str, h: float) -> None:
    run = start(pulled(curves, activation=0.6), "aba", "rk4")
    forces = run.compiled.model.system.forces
    load_states(forces.states, run.state.z)
    take_implicitly(forces.states, h)
    d = 1e-6
    for length in (0.299, 0.301, 0.31):
        (low, _), (_, slope), (high, _) = (tension_at(forces, 0.0, length + k * d) for k in (-1, 0, 1))
        assert slope == pytest.approx((high - low) / (2 * d), rel=1e-4)
        assert 0.0 < slope < 6e6


@kernel
def tension_and_slope(forces, t, length):
    """Tension of the first muscle at a length, and its derivative by the activation."""
    muscle = forces.tables[MUSCLES][0]
    update_fibers(muscle, forces, t, length, 0.0)
    tension, _, _ = law_of(muscle, forces, t, length, 0.0)
    return tension, tension_by_activation(muscle, forces, t, length, 0.0)


@pytest.mark.parametrize("curves", MODELS)
@pytest.mark.parametrize("h", [1e-5, 1e-3, 0.1])
def test_the_derivative_by_the_activation_is_exact_in_implicit_steps(curves: str, h: float) -> None:
    """Fibers that turn, and of thelen2003 with velocities that depend on the activation."""
    d, found_at = 1e-5, []
    for k in (-1, 0, 1):
        run = start(pulled(curves, activation=0.6 + k * d), "aba", "rk4")
        forces = run.compiled.model.system.forces
        load_states(forces.states, np.array([0.105]))
        take_implicitly(forces.states, h)
        found_at.append(tension_and_slope(forces, 0.0, 0.303))
    (low, _), (_, slope), (high, _) = found_at
    assert slope == pytest.approx((high - low) / (2 * d), rel=1e-4)
    assert slope > 0.0


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
@pytest.mark.parametrize("method", [*THREE, "symbolic"])
def test_stiff_tendons_need_no_small_steps(integrator: str, method: str) -> None:
    """A strain of 1e-5 at the largest force, h sqrt(k/m) = 80, with a weight: the motion of a rigid tendon."""
    curves = {"type": "millard2012", "tendon_strain": 1e-5}
    given = {"curves": curves, "mass": 0.1, "q": 0.29, "v": 0.0, "activation": 0.05}
    atol = {"linearly_implicit_euler": 1e-2, "sdirk2": 3e-4}[integrator]
    weight = {"gravity": [300, 0, 0]}
    wanted = start(pulled(**given, tendon="rigid") | weight, "aba", "dop853", tolerance=1e-10)
    run = start(pulled(**given) | weight, method, integrator, step=1e-3)
    for t in (0.02, 0.1, 0.3):
        np.testing.assert_allclose(found(run.advance(t)), found(wanted.advance(t)), rtol=0, atol=atol)


def test_a_tendon_that_is_hardly_stretched_is_a_rigid_one() -> None:
    given = {"curves": {"type": "millard2012", "tendon_strain": 1e-4}}
    wanted = start(pulled(**given, tendon="rigid", minimum_activation=0.01), "aba", "dop853", tolerance=1e-10)
    run = start(pulled(**given), "aba", "sdirk2", step=1e-4)
    np.testing.assert_allclose(found(run.advance(0.1)), found(wanted.advance(0.1)), rtol=0, atol=3e-4)


# --- special positions ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("curves", MODELS)
@pytest.mark.parametrize(
    "given",
    [
        {"q": 0.15},  # a slack tendon: fibers at their least length, at their largest angle
        {"q": 0.2 + OPTIMAL * math.cos(PENNATION), "v": 0.0},
        {"activation": 0.0},
        {"activation": 1.0, "pennation_angle": 0.0},
        {"q": 0.3, "v": -3.0},  # faster than fibers can shorten
        {"q": 0.3, "v": 1.5},
        {"pennation_angle": 1.4},
    ],
    ids=["slack", "optimal", "passive", "straight", "shortening", "lengthening", "steep"],
)
@pytest.mark.parametrize("integrator", ["rk4", "sdirk2", "semi_implicit_euler"])
def test_special_positions_have_finite_motions_with_balanced_energy(curves: str, given: Data, integrator: str) -> None:
    step, bound = {"rk4": (2.5e-5, 1e-4), "sdirk2": (2e-4, 0.05), "semi_implicit_euler": (2e-4, 1.0)}[integrator]
    damping = {"fiber_damping": 0.05} if curves == "degroote2016" else {}  # explicit steps of a slack tendon need it
    run = start(pulled(curves, **{"activation": 0.4, **damping, **given}), "aba", integrator, step=step, duration=0.05)
    _, before = run.energy()
    _, after = run.advance(0.05).energy()
    samples = run.observed()
    assert samples.fiber_length[0, 0] >= THICKNESS
    assert samples.muscle_force[0, 0] >= (-200.0 if curves == "degroote2016" else 0.0)
    assert abs(after - before) < bound


def test_fibers_stop_at_their_least_length() -> None:
    """The path is slack: the active fibers shorten up to the largest angle of acos(0.1)."""
    curves = {"type": "thelen2003"}
    run = start(pulled(curves, q=0.19, v=0.0, activation=0.5), "aba", "rk4", step=1e-4, duration=0.2).advance(0.2)
    samples = run.observed()
    assert samples.fiber_length[0, 0] == pytest.approx(THICKNESS / math.sin(math.acos(0.1)), rel=1e-9)
    assert samples.fiber_velocity[0, 0] == 0.0
    assert samples.muscle_force[0, 0] == 0.0


# --- state ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("integrator", ["rk4", "dop853", "sdirk2", "linearly_implicit_euler", "semi_implicit_euler"])
def test_a_saved_simulation_continues_with_the_same_bits(integrator: str, tmp_path: Any) -> None:
    path = tmp_path / "scene.yaml"
    import json

    settings = {"duration": 0.1, "step": 1e-3, "integrator": integrator}
    path.write_text(json.dumps({"mbsim": 1, **pulled(), "simulation": settings}))
    simulation = mbsim.Simulation(mbsim.load(path))
    begin = simulation.channel("muscles/m/fiber_velocity")
    simulation.advance(0.03)
    saved = simulation.save()
    simulation.advance(0.1)
    wanted = [simulation.channel(f"muscles/m/{word}") for word in ("fiber_length", "fiber_velocity", "force")]
    simulation.restore(saved)
    simulation.advance(0.1)
    again = [simulation.channel(f"muscles/m/{word}") for word in ("fiber_length", "fiber_velocity", "force")]
    np.testing.assert_array_equal(again, wanted)
    simulation.reset()
    assert simulation.channel("muscles/m/fiber_velocity") == begin


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tendon_slack_length": 0}, "an elastic tendon needs a `tendon_slack_length` above 0"),
        ({"curves": "cubic"}, "`cubic` has no curve of the tendon: add `tendon`, or choose another model"),
        (
            {"curves": "thelen2003", "minimum_activation": 0},
            "an elastic tendon needs a `fiber_damping` or a `minimum_activation` above 0",
        ),
        ({"tendon": "stretchy"}, "expected `rigid` or `elastic`"),
    ],
)
def test_refusals(given: Data, message: str) -> None:
    with pytest.raises(SceneError) as refusal:
        loaded(pulled(**given))
    assert message in str(refusal.value)
