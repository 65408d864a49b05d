"""Knots of functions of time: their places, exact impulses, and the order of integrators across them."""

from __future__ import annotations

import numpy as np
import pytest
from loops import start

import mbsim
from multibody_cli.expressions import parse
from multibody_cli.knots import Knots, knots_of
from multibody_cli.packing.signals import SignalPacker

END = 2.0


def knots(text: str) -> Knots:
    packer = SignalPacker()
    packer.add_expression(parse(text).body)
    return knots_of(packer.pack(), END)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sin(3*t) + t**2", []),
        ("1/(t - 0.5)", []),
        ("abs(t - 0.7)", [0.7]),
        ("abs(2*pi*(t - 0.7)**3)", [0.7]),
        ("max(0, min(t, 0.5))*sign(t - 1.5)", [0.0, 0.5, 1.5]),
        ("floor(t/0.3)", np.arange(7) * 0.3),
        ("ceil(-t/0.3)", np.arange(7) * 0.3),
        ("sign(sin(2*pi*7*t))", np.arange(29) / 14),
        ("sign(exp(-t) - 0.5)", [np.log(2.0)]),
        ("abs(tan(t) - 1)", [np.pi / 4, np.pi / 2]),
        ("sign(max(0, t - 0.3))", [0.3]),
        ("min(t, 0.4, 1 - t)", [0.4, 0.6]),
        ("abs(t - 0.5*floor(t/0.5) - 0.2)", [0.0, 0.2, 0.5, 0.7, 1.0, 1.2, 1.5, 1.7, 2.0]),
        ("sign(t - 2)", [2.0]),
        ("abs(0*t)", []),
        ("asin(sin(5*t))", np.arange(1, 6, 2) * np.pi / 10),
        ("acos(cos(5*t))", np.arange(4) * np.pi / 5),
        ("sqrt((t - 0.7)**2) + ((t - 0.9)*(t - 0.9))**0.5", [0.7, 0.9]),
        ("atan(tan(3*t))", [np.pi / 6, np.pi / 2]),
        ("sqrt((t + 1)**3) + asin(t/4)", []),
    ],
)
def test_knots_of_expressions_are_found(text: str, expected: list[float]) -> None:
    found = knots(text)
    np.testing.assert_allclose(found.at, expected, rtol=1e-15, atol=1e-15)
    assert (found.before < found.at).all()
    assert (found.after > found.at).all()


def test_no_knot_of_a_long_run_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more than are searched at once, in the order of time."""
    monkeypatch.setattr("multibody_cli.knots.INTERVALS_AT_ONCE", 500)
    turns = np.arange(2000)[:, None] + np.array([np.arcsin(0.3), np.pi - np.arcsin(0.3)]) / (2.0 * np.pi)
    found = knots("sign(sin(2*pi*1000*t) - 0.3)")
    np.testing.assert_allclose(found.at, turns.ravel() / 1000.0, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_random_roots_are_all_found(seed: int) -> None:
    """Also roots close to each other: those of a product of factors with known roots."""
    rng = np.random.default_rng(seed)
    roots = np.sort(rng.uniform(0.05, 1.95, 6))
    roots[1] = roots[0] + 1e-6
    product = "*".join(f"(t - {root!r})" for root in roots.tolist())
    np.testing.assert_allclose(knots(f"sign(cos(t/4)*{product})").at, roots, rtol=0, atol=1e-12)


METHODS = {
    "rk4": "method: aba, integrator: rk4",
    "sdirk2": "method: redmax, integrator: sdirk2",
    "semi_implicit_euler": "method: aba, integrator: semi_implicit_euler",
    "linearly_implicit_euler": "method: baraff, integrator: linearly_implicit_euler",
    "dop853": "method: aba, integrator: dop853, tolerance: 1e-10",
    "symbolic": "method: symbolic, integrator: rk4",
    "variational": "method: variational",
    "variational of order 1": "method: variational, options: {order: 1}",
    "variational of order 4": "method: variational, options: {order: 4}",
    "variational_maximal": "method: variational_maximal",
}
PULSES = {
    "between steps": "{times: [0, 0.0035, 0.00351, 0.00354, 1], values: [0, 0, 5e4, 0, 0]}",
    "across a step": "{times: [0, 0.00399, 0.00402, 0.00403, 1], values: [0, 0, 5e4, 0, 0]}",
    "jump": "1e5*(sign(t - 0.0035) - sign(t - 0.00351))/2",
    "end of a table": "{times: [0, 0.00349, 0.00351], values: [0, 0, 1e5], interpolation: linear}",
}
IMPULSES = {"between steps": 1.0, "across a step": 1.0, "jump": 1.0}


def pushed(settings: str, force: str) -> float:
    """Velocity at the end of a mass of 1 kg that rests at first."""
    text = (
        (
            "mbsim: 1\ngravity: [0, 0, 0]\nbodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}}\n"
            f"joints: {{j: {{type: prismatic, child: a, axis: [1, 0, 0], force: '{force}'}}}}\n"
            f"simulation: {{duration: 6 ms, step: 1 ms, {settings}}}\n"
        )
        .replace("'{", "{")
        .replace("}'", "}")
    )
    return float(mbsim.load(text).run()["joints/j/v"].values[-1, 0])


@pytest.mark.parametrize("pulse", IMPULSES)
@pytest.mark.parametrize("method", METHODS)
def test_the_impulse_of_a_pulse_between_steps_is_exact(method: str, pulse: str) -> None:
    assert pushed(METHODS[method], PULSES[pulse]) == pytest.approx(IMPULSES[pulse], rel=1e-9)


def test_the_impulse_up_to_the_end_of_a_table_is_exact() -> None:
    """Behind its end the table holds 1e5 N."""
    assert pushed(METHODS["rk4"], PULSES["end of a table"]) == pytest.approx(1.0 + 1e5 * (6e-3 - 3.51e-3), rel=1e-9)


CART = """\
mbsim: 1
bodies:
  cart: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  rod: {{mass: 0.5, inertia: {{principal: [0.04, 0.04, 0.001]}}}}
joints:
  rail: {{type: prismatic, child: cart, axis: [1, 0, 0], motion: {{{motion}}}}}
  hinge: {{type: revolute, parent: cart, child: rod, axis: [0, 1, 0], child_origin: {{position: [0, 0, 0.5]}}, q: 0.3}}
simulation: {{duration: 0.12 s, step: {step} s, {settings}}}
output: {{every: 0.04 s}}
"""
MOTIONS = {
    "velocity with kinks": "velocity: {times: [0, 0.0305, 0.0803, 0.1], values: [0, 1, -1, 0]}",
    "kinks at steps": "velocity: {times: [0, 0.032, 0.08, 0.1], values: [0, 1, -1, 0]}",
    "expression with kinks": "velocity: 'abs(sin(40*t))'",
    "acceleration that jumps": "acceleration: '20*sign(t - 0.0305)'",
    "position of pieces": "position: '20*max(0, t - 0.0305)**2'",
}


def driven(motion: str, step: float, settings: str) -> tuple[np.ndarray, float]:
    """The state of the rod at the end, and the largest residual of the ledger."""
    run = mbsim.load(CART.format(motion=MOTIONS[motion], step=step, settings=settings)).run()
    state = np.concatenate([run["joints/hinge/q"].values[-1], run["joints/hinge/v"].values[-1]])
    return state, float(np.abs(run["energy/ledger_residual"].values).max())


@pytest.mark.compiled  # longer runs than plain Python is for
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize(("settings", "order"), [(METHODS["rk4"], 4), (METHODS["sdirk2"], 2)])
def test_integrators_keep_their_order_across_kinks_of_a_motion(motion: str, settings: str, order: int) -> None:
    exact, _ = driven(motion, 5e-4, METHODS["rk4"])
    coarse, fine = (driven(motion, step, settings) for step in (8e-3, 2e-3))
    least = 0.5 * 4**order
    assert np.abs(coarse[0] - exact).max() > least * np.abs(fine[0] - exact).max()
    assert coarse[1] > least * fine[1]


@pytest.mark.compiled  # longer runs than plain Python is for
@pytest.mark.parametrize("motion", MOTIONS)
def test_the_ledger_of_variational_steps_keeps_its_order_across_kinks(motion: str) -> None:
    coarse, fine = (driven(motion, step, METHODS["variational"])[1] for step in (2e-3, 5e-4))
    assert coarse > 0.75 * 16.0 * fine


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "variational"])
def test_steps_one_by_one_have_the_bits_of_a_run(method: str) -> None:
    text = CART.format(motion=MOTIONS["velocity with kinks"], step=4e-3, settings=METHODS[method])
    whole, single = (mbsim.Simulation(mbsim.load(text)) for _ in range(2))
    whole.step(25)
    for _ in range(25):
        single.step()
    assert whole.save() == single.save()
    assert whole.time == single.time == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("method", "integrator"),
    [
        ("aba", "semi_implicit_euler"),
        ("aba", "rk4"),
        ("baraff", "linearly_implicit_euler"),
        ("variational", "rk4"),
        ("variational_maximal", "rk4"),
    ],
)
def test_a_servo_follows_a_table_with_knots_within_steps(method, integrator):
    """The target is 2 t, with knots at halves of steps: the motion is that without knots."""
    times = [(k - 0.5) * 1e-3 for k in range(60)]

    def final(target):
        scene = {
            "gravity": [0, 0, 0],
            "bodies": {"a": {"mass": 1, "inertia": {"principal": [1, 1, 1]}}},
            "joints": {"j": {"type": "prismatic", "child": "a", "axis": [1, 0, 0]}},
            "actuators": {"s": {"type": "pd", "joint": "j", "kp": 2500, "kd": 100, "target": target}},
        }
        run = start(scene, method, integrator=integrator, step=1e-3, duration=0.03).advance(0.02)
        return run.joint("j", "velocity")[0]

    table = {"times": times, "values": [2 * t for t in times], "interpolation": "linear"}
    # steps that are divided are as accurate as shorter ones
    assert final(table) == pytest.approx(final("2*t"), rel=1e-3 if integrator == "rk4" else 1e-9)
