"""Knots of functions of time: their places, exact impulses, and the order of integrators across them."""

from __future__ import annotations

from functools import cache

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
    "variational with implicit forces": "method: variational, options: {implicit_forces: true}",
    "variational_maximal": "method: variational_maximal",
}
ORDERS = {
    "rk4": 4,
    "sdirk2": 2,
    "semi_implicit_euler": 1,
    "linearly_implicit_euler": 1,
    "symbolic": 4,
    "variational": 2,
    "variational of order 1": 1,
    "variational of order 4": 4,
    "variational with implicit forces": 2,
    "variational_maximal": 2,
}
PULSES = {
    "between steps": "{times: [0, 0.0035, 0.00351, 0.00354, 1], values: [0, 0, 5e4, 0, 0]}",
    "across a step": "{times: [0, 0.00399, 0.00402, 0.00403, 1], values: [0, 0, 5e4, 0, 0]}",
    "jump": "1e5*(sign(t - 0.0035) - sign(t - 0.00351))/2",
    "jumps at steps": "500*(sign(t - 0.003) - sign(t - 0.005))/2",
    "stairs at steps": "250*floor(t/0.003)",
    "round-off apart": "{times: [0, 0.003, 0.0030000000000000005, 0.003000000000001, 0.00300001, 0.00302, 0.00304, 1], "
    "values: [0, 0, 0.1, 0, 0, 1e5, 0, 0]}",
    "up to the end": "{times: [0, 0.0055, 0.006], values: [0, 0, 4e3]}",
    "end of a table": "{times: [0, 0.00349, 0.00351], values: [0, 0, 1e5], interpolation: linear}",
}
IMPULSES = {
    "between steps": 1.0,
    "across a step": 1.0,
    "jump": 1.0,
    "jumps at steps": 1.0,
    "stairs at steps": 0.75,
    "round-off apart": 1.9995,
    "up to the end": 1.0,
}


def pushed(settings: str, force: str) -> float:
    """Velocity at the end of a mass of 1 kg that rests at first; the work of a pulse is not as exact."""
    force = force if force.startswith("{") else f"'{force}'"
    text = (
        "mbsim: 1\ngravity: [0, 0, 0]\nbodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}}\n"
        f"joints: {{j: {{type: prismatic, child: a, axis: [1, 0, 0], force: {force}}}}}\n"
        f"simulation: {{duration: 6 ms, step: 1 ms, {settings}, alarms: {{ledger: 0.1}}}}\n"
    )
    run = mbsim.load(text).run()
    assert run["time"].values[-1] == 6e-3
    return float(run["joints/j/v"].values[-1, 0])


@pytest.mark.parametrize("pulse", IMPULSES)
@pytest.mark.parametrize("method", METHODS)
def test_the_impulse_of_a_pulse_between_steps_is_exact(method: str, pulse: str) -> None:
    assert pushed(METHODS[method], PULSES[pulse]) == pytest.approx(IMPULSES[pulse], rel=1e-9)


def test_the_impulse_up_to_the_end_of_a_table_is_exact() -> None:
    """Behind its end the table holds 1e5 N."""
    assert pushed(METHODS["rk4"], PULSES["end of a table"]) == pytest.approx(1.0 + 1e5 * (6e-3 - 3.51e-3), rel=1e-9)


ELEMENTS = {
    "force of a joint": "joints: {j: {type: prismatic, child: a, axis: [1, 0, 0], force: TABLE}}",
    "motion": "joints: {j: {type: prismatic, child: a, axis: [1, 0, 0], motion: {acceleration: TABLE}}}",
    "force on a body": "joints: {j: {type: prismatic, child: a, axis: [1, 0, 0]}}\n"
    "forces: {f: {body: a, force: [TABLE, 0, 0]}}",
    "target": "joints: {j: {type: prismatic, child: a, axis: [1, 0, 0]}}\n"
    "actuators: {s: {type: position, joint: j, kp: 1e-9 N/m, kv: 0 N*s/m, target: TABLE1e9}}",
}


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("duration", [0.3, 1.0, 1.25])
def test_adaptive_steps_reach_every_knot_and_the_end(element: str, duration: float) -> None:
    """Outputs at knots, also round-off beside them, at the end of a run, and behind the end of a table."""
    times, values = np.array([0.0, 0.1, 0.3, 1.0]), np.array([0.0, 1.0, -2.0, 3.0])
    table = f"{{times: {times.tolist()}, values: {values.tolist()}}}"
    large = f"{{times: {times.tolist()}, values: {(1e9 * values).tolist()}}}"
    text = (
        "mbsim: 1\ngravity: [0, 0, 0]\nbodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}}\n"
        + ELEMENTS[element].replace("TABLE1e9", large).replace("TABLE", table)
        + f"\nsimulation: {{duration: {duration}, step: 1 ms, integrator: dop853}}\noutput: {{every: 0.05 s}}\n"
    )
    run = mbsim.load(text).run()
    t = run["time"].values
    assert t[-1] == pytest.approx(duration, rel=1e-15)
    areas = np.append(0.0, np.cumsum(np.diff(times) * (values[1:] + values[:-1]) / 2.0))
    place = np.clip(np.searchsorted(times, t, "right") - 1, 0, len(times) - 1)
    expected = areas[place] + (t - times[place]) * (values[place] + np.interp(t, times, values)) / 2.0
    np.testing.assert_allclose(run["joints/j/v"].values[:, 0], expected, rtol=0, atol=1e-8)
    assert int(run.attrs["steps"]) < 40


CART = """\
mbsim: 1
bodies:
  cart: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  rod: {{mass: 0.5, inertia: {{principal: [0.04, 0.04, 0.001]}}}}
joints:
  rail: {{type: prismatic, child: cart, axis: [1, 0, 0], motion: {{{motion}}}}}
  hinge: {{type: revolute, parent: cart, child: rod, axis: [0, 1, 0], child_origin: {{position: [0, 0, 0.5]}}, q: 0.3}}
simulation: {{duration: 0.12 s, step: {step} s, {settings}}}
output: {{every: 8 ms}}
"""
FIRST, SECOND = 8e-3 * 11.0 / 3.0, 8e-3 * 31.0 / 3.0
"""At two and one thirds of a step of any length 8 ms/4^n, 1 ms/4^n or the other way round."""

MOTIONS = {
    "velocity with kinks": f"velocity: {{times: [0, {FIRST}, {SECOND}, 0.12], values: [0, 1, -1, 0]}}",
    "kinks at steps": "velocity: {times: [0, 0.032, 0.08, 0.12], values: [0, 1, -1, 0]}",
    "expression with kinks": f"velocity: 'abs(sin(pi*t/{SECOND}))'",
    "acceleration that jumps": f"acceleration: '20*sign(t - {FIRST})'",
    "acceleration that jumps at a step": "acceleration: '20*sign(t - 0.08)'",
    "position of pieces": f"position: '20*max(0, t - {FIRST})**2'",
}


@cache
def driven(motion: str, step: float, settings: str) -> tuple[np.ndarray, float]:
    """The states of the rod at the outputs, and the largest residual of the ledger."""
    run = mbsim.load(CART.format(motion=MOTIONS[motion], step=step, settings=settings)).run()
    states = np.concatenate([run["joints/hinge/q"].values, run["joints/hinge/v"].values])
    return states, float(np.abs(run["energy/ledger_residual"].values).max())


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("method", ["rk4", "sdirk2"])
def test_integrators_keep_their_order_across_kinks_of_a_motion(method: str, motion: str) -> None:
    exact, _ = driven(motion, 2.5e-4, METHODS["rk4"])
    coarse, fine = (driven(motion, step, METHODS[method]) for step in (4e-3, 1e-3))
    assert order_of(np.abs(coarse[0] - exact).max(), np.abs(fine[0] - exact).max()) > ORDERS[method] - 0.1
    assert order_of(coarse[1], fine[1]) > ORDERS[method] - 0.1


def order_of(coarse: float, fine: float) -> float:
    """Order of errors of steps of 4:1."""
    return float(np.log(coarse / fine) / np.log(4.0))


RAIL = """\
mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{j: {{type: prismatic, child: a, axis: [1, 0, 0], motion: {{{motion}}}}}}}
simulation: {{duration: 0.32 s, step: {step} s, {settings}, alarms: {{ledger: 1}}}}
output: {{every: 0.08 s}}
"""
KINK = 0.08 * (3.0 + 1.0 / 3.0)
"""At a third of a step of any length 0.08 s/4^n."""


def with_jump(t: np.ndarray) -> np.ndarray:
    """Twice the integral of cos(3 t) sign(t - KINK)."""
    before, rate = (1.0 - np.cos(3.0 * np.minimum(t, KINK))) / 9.0, np.sin(3.0 * KINK) / 3.0
    behind = (np.cos(3.0 * KINK) - np.cos(3.0 * t)) / 9.0 - 2.0 * rate * (t - KINK)
    return np.where(t < KINK, 0.0, behind) - before


def with_kink(t: np.ndarray) -> np.ndarray:
    """Integral of cos(3 t) |t - KINK|."""

    def integral(t):
        return (t - KINK) * np.sin(3.0 * t) / 3.0 + np.cos(3.0 * t) / 9.0

    inside = np.minimum(t, KINK)
    return integral(np.maximum(t, KINK)) - integral(KINK) - (integral(inside) - integral(0.0))


PRESCRIBED = {
    "acceleration": ("acceleration: 'cos(3*t)'", lambda t: (1.0 - np.cos(3.0 * t)) / 9.0),
    "velocity": ("velocity: 'cos(3*t)'", lambda t: np.sin(3.0 * t) / 3.0),
    "acceleration that jumps": (f"acceleration: 'cos(3*t)*sign(t - {KINK})'", with_jump),
    "velocity with a kink": (f"velocity: 'cos(3*t)*abs(t - {KINK})'", with_kink),
}


def prescribed_error(motion: str, step: float, settings: str) -> float:
    """Largest error of the prescribed coordinate."""
    text, exact = PRESCRIBED[motion]
    run = mbsim.load(RAIL.format(motion=text, step=step, settings=settings)).run()
    return float(np.abs(run["joints/j/q"].values[:, 0] - exact(run["time"].values)).max())


@pytest.mark.parametrize("motion", PRESCRIBED)
@pytest.mark.parametrize("method", ORDERS)
def test_a_prescribed_coordinate_has_the_order_of_the_integrator(method: str, motion: str) -> None:
    """With knots, those that keep their steps are of second order."""
    coarse, fine = (prescribed_error(motion, step, METHODS[method]) for step in (0.02, 0.005))
    smoothed = method.startswith("variational") and motion in ("acceleration that jumps", "velocity with a kink")
    order = min(ORDERS[method], 2) if smoothed else ORDERS[method]
    assert order_of(coarse, fine) > order - 0.1


@pytest.mark.parametrize("motion", PRESCRIBED)
def test_a_prescribed_coordinate_has_the_tolerance_of_an_adaptive_integrator(motion: str) -> None:
    assert prescribed_error(motion, 0.02, METHODS["dop853"]) < 1e-10


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
