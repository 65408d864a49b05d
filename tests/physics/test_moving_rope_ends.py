"""Ropes whose ends or guides move in their bodies with a coordinate: a transmission in closed form, and refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from multibody_cli import MemorySink, load
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS
from multibody_cli.render.picture import Picture

G, P, M, J, R = 9.81, 0.02, 2.0, 0.05, 0.1
EXACT = ("aba", "redmax", "symbolic")
END = {"body": "world", "coordinate": "screw", "moving": [0.4, 0, f"0.5 + {P}*q + {0.5 * P}*q**2"]}


def scene(over: list[Any], section: str = "constraints", method: str = "aba", **fields: Any) -> dict[str, Any]:
    own = METHODS[method].own_integrator
    integrator = {} if own else {"integrator": "rk4"}
    entry = {"over": over, **({"type": "rope"} if section == "constraints" else {}), **fields}
    round_body = {"mass": 1, "inertia": {"principal": [J, J, J]}}
    return {
        "mbsim": 1,
        "name": "hoist",
        "bodies": {"screw": round_body, "wheel": round_body, "load": {**round_body, "mass": M}},
        "joints": {
            "screw": {"type": "revolute", "axis": [0, 1, 0], "child": "screw"},
            "wheel": {"type": "revolute", "axis": [0, 1, 0], "child": "wheel", "origin": {"position": [0.5, 0, 1]}},
            "load": {"type": "prismatic", "axis": [0, 0, 1], "child": "load", "origin": {"position": [0.4, 0, -1]}},
        },
        section: {"rope": entry},
        "simulation": {"duration": 0.4, "step": 1e-3, "method": method, **integrator},
        "output": {"every": 0.01},
    }


def run_of(given: dict[str, Any]) -> Any:
    sink = MemorySink()
    load(json.dumps(given) + "\n").prepared.run(sink)
    found = sink.trajectory()
    return lambda path: found.channel(path).values.ravel()


DISC = {"body": "world", "coordinate": "screw", "moving": [0.5, 0, f"{P}*q + {0.5 * P}*q**2"],
        "radius": R, "axis": [0, 1, 0], "slides": True}  # fmt: skip


def test_a_picture_has_the_straight_parts_beside_a_moving_disc():
    """Both are vertical at all instants."""
    prepared = load(
        json.dumps(scene([{"body": "load"}, DISC, {"body": "world", "point": [0.6, 0, -1]}])) + "\n"
    ).prepared
    sink = MemorySink()
    prepared.run(sink)
    picture = Picture(prepared.loaded, sink.trajectory(), np.arange(41))
    ends = [[picture.motion.point(body, at) for body, at in zip(bar.bodies, bar.points, strict=True)]
            for bar in picture.drawing.bars]  # fmt: skip
    found = np.array([np.linalg.norm(end - begin, axis=1) for begin, end in ends]).T
    np.testing.assert_allclose(found, sink.trajectory().channel("constraints/rope/length").values, atol=1e-5)
    assert np.ptp(found) > 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_a_load_on_a_moving_disc_rises_twice_as_far(method):
    """The rope slides over the disc, whose centre rises by p (q + q^2/2) with the turn q of a screw:

    (J + 4 m s^2) q'' + 4 m s p q'^2 = -2 m g s,    s = p (1 + q).
    """
    found = run_of(scene([{"body": "load"}, DISC, {"body": "world", "point": [0.6, 0, -1]}], method=method))
    q, v = found("joints/screw/q"), found("joints/screw/v")
    slope, exact = P * (1.0 + q), method in EXACT
    np.testing.assert_allclose(found("joints/load/q"), 2 * P * (q + 0.5 * q * q), atol=1e-9 if exact else 1e-5)
    expected = -(2 * M * G * slope + 4 * M * slope * P * v * v) / (J + 4 * M * slope**2)
    bound = 1e-8 if exact else 1e-2
    np.testing.assert_allclose(found("joints/screw/acceleration"), expected, rtol=bound)
    np.testing.assert_allclose(found("constraints/rope/multiplier"), -expected * J / (2 * slope), rtol=bound)
    assert np.ptp(q) > 0.2
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if exact else 1e-2)


def tightened(section, moving, method):
    """A belt about two wheels and a disc that a slider presses: on its body, or on the world, and moved by it."""
    own = METHODS[method].own_integrator
    wheel = {"mass": 1, "inertia": {"principal": [J, J, J]}}
    at = {"body": "world", "coordinate": "press", "moving": [0.4, 0, "0.3 + q"]} if moving else {"body": "shoe"}
    disc = {**at, "radius": 0.05, "axis": [0, 1, 0], "slides": True}
    first, second = ({"body": name, "radius": r, "axis": [0, 1, 0]} for name, r in (("first", 0.1), ("second", 0.15)))
    belt = {"over": [first, disc, second]}
    belt |= {"closed": True, "stiffness": 2000, "tension": 25} if section == "springs" else {"type": "belt"}
    return {
        "mbsim": 1,
        "name": "tightened",
        "bodies": {"first": wheel, "second": wheel, "shoe": {**wheel, "mass": 0.5}},
        "joints": {
            "first": {"type": "revolute", "axis": [0, 1, 0], "child": "first", "force": 0.5, "v": 2},
            "second": {"type": "revolute", "axis": [0, 1, 0], "child": "second", "origin": {"position": [0.8, 0, 0]},
                       "v": 2 / 1.5},
            "press": {"type": "prismatic", "axis": [0, 0, 1], "child": "shoe", "force": 30,
                      "origin": {"position": [0.4, 0, 0.3]}},
        },
        section: {"belt": belt},
        "simulation": {"duration": 0.2, "step": 2e-4, "method": method, **({} if own else {"integrator": "rk4"})},
        "output": {"every": 0.01},
    }  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("section", ["constraints", "springs"])
def test_a_belt_about_a_disc_that_moves_is_that_about_the_disc_of_a_slider(method, section):
    runs = [run_of(tightened(section, moving, method)) for moving in (False, True)]
    for path in ("first/q", "second/v", "press/q", "press/acceleration"):
        one, other = (found(f"joints/{path}") for found in runs)
        np.testing.assert_allclose(other, one, atol=1e-9 * (1.0 + np.abs(one).max()), err_msg=path)
    assert np.ptp(runs[1]("joints/second/q")) > 0.2
    exact = METHODS[method].own_integrator is None
    assert np.abs(runs[1]("energy/ledger_residual")).max() < (1e-9 if exact else 1e-4) * runs[1]("energy/kinetic").max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_load_on_a_moving_end_is_driven_by_the_slope_of_its_place(method, turned):
    """The end rises by p (q + q^2/2) with the turn q of a screw, whose ratio of transmission is s = p (1 + q).

    The load hangs from the end, or from a wheel that the rope turns, which then bears the inertia of the wheel too:

        (J + m s^2) q'' + m s p q'^2 = -m g s        with m + J/r^2 in place of the first and second m.
    """
    wheel = {"body": "wheel", "radius": R, "axis": [0, 1, 0], "sense": 1}
    moving = {**END, "moving": [0.6, 0, f"-1 - {P}*q - {0.5 * P}*q**2"]} if turned else END
    found = run_of(scene([{"body": "load"}, *([wheel] if turned else []), moving], method=method))
    q, v, z = (found(f"joints/{name}") for name in ("screw/q", "screw/v", "load/q"))
    slope, mass = P * (1.0 + q), M + (J / R**2 if turned else 0.0)
    np.testing.assert_allclose(z, P * (q + 0.5 * q * q), atol=1e-9 if method in EXACT else 1e-5)
    expected = -slope * (M * G + mass * P * v * v) / (J + mass * slope * slope)
    bound = 1e-8 if method in EXACT else 1e-2
    np.testing.assert_allclose(found("joints/screw/acceleration"), expected, rtol=bound)
    lifted = slope * expected + P * v * v
    tension = found("constraints/rope/multiplier").reshape(len(q), -1)
    np.testing.assert_allclose(tension[:, 0], M * (G + lifted), rtol=bound)
    np.testing.assert_allclose(tension[:, -1], M * G + mass * lifted, rtol=bound)
    assert np.ptp(q) > 0.2
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if method in EXACT else 1e-2)


EA, T0 = 400.0, 15.0


def motion_on_a_screw(times, turned):
    """Turn of the screw, height of the load and tensions of an elastic rope, by their equations of motion in SciPy."""

    def tensions(y):
        q, z, angle = y[:3]
        rise, made = P * (q + 0.5 * q * q), 1.0 + T0 / EA
        if turned:
            lengths, material = np.array([2.0 - z, 2.0 + rise]), 2.0 / made + np.array([-R * angle, R * angle])
        else:
            lengths, material = np.array([1.5 + rise - z]), np.array([1.5 / made])
        return EA * np.maximum(lengths / material - 1.0, 0.0)

    def rates(_, y):
        T = tensions(y)
        N = T + T * T / (2.0 * EA)
        pull = -P * (1.0 + y[0]) * T[-1]
        return (*y[3:], pull / J, T[0] / M - G, R * (N[-1] - N[0]) / J)

    y = solve_ivp(rates, (0.0, times[-1]), np.zeros(6), "DOP853", times, rtol=1e-12, atol=1e-13, max_step=1e-2).y
    return y[0], y[1], np.array([tensions(one) for one in y.T])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_load_on_an_elastic_rope_from_a_moving_end(method, turned):
    """The tension drives the screw by the slope of its place; the rope leads over a wheel that it turns, or not."""
    wheel = {"body": "wheel", "radius": R, "axis": [0, 1, 0], "sense": 1}
    moving = {**END, "moving": [0.6, 0, f"-1 - {P}*q - {0.5 * P}*q**2"]} if turned else END
    over = [{"body": "load"}, *([wheel] if turned else []), moving]
    given = scene(over, "springs", method, stiffness=EA, tension=T0)
    given["simulation"]["step"] = 5e-4
    found = run_of(given)
    q, z, tensions = motion_on_a_screw(found("time"), turned)
    order = 1e-9 if method in (*EXACT, "baraff") else 1e-5
    np.testing.assert_allclose(found("joints/screw/q"), q, rtol=0, atol=order)
    np.testing.assert_allclose(found("joints/load/q"), z, rtol=0, atol=order)
    tension = found("springs/rope/tension").reshape(len(q), -1)
    np.testing.assert_allclose(tension, tensions, rtol=0, atol=2.0 * EA * order)
    assert np.ptp(q) > 0.1
    exchanged = np.ptp(found("energy/potential"))
    assert exchanged > 0.5
    bound = 1e-9 if method in (*EXACT, "baraff") else 1e-4
    assert np.abs(found("energy/ledger_residual")).max() < bound * exchanged


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("section", "tension", "more"), [
    ("constraints", "multiplier", {}),
    ("springs", "tension", {"stiffness": EA, "tension": T0}),
])  # fmt: skip
def test_an_end_that_stays_where_it_is_is_a_fixed_one(method, section, tension, more):
    """The same numbers, while its coordinate moves on."""
    runs = []
    for end in ({"coordinate": "screw", "moving": [0.4, "0*q", 0.5]}, {"point": [0.4, 0, 0.5]}):
        given = scene([{"body": "world", **end}, {"body": "load"}], section, method, **more)
        given["joints"]["screw"]["v"] = 3.0
        runs.append(run_of(given))
    for path in ("screw/q", "load/q", "load/v"):
        np.testing.assert_array_equal(*(found(f"joints/{path}") for found in runs))
    np.testing.assert_array_equal(*(found(f"{section}/rope/{tension}") for found in runs))
    assert runs[0]("joints/screw/q")[-1] == pytest.approx(1.2, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_rates_of_straight_parts_are_derivatives_of_their_lengths(method):
    moving = {"body": "load", "coordinate": "screw", "moving": ["0.3*q", "0.1*cos(q)", "-0.2*q"]}
    found = run_of(scene([END, moving, {"body": "world", "point": [1, 0.5, 0]}], method=method, length=9))
    lengths, rates = (found(f"constraints/rope/{name}").reshape(-1, 2) for name in ("length", "rate"))
    h = 0.01
    between = np.diff(lengths, axis=0) / h - 0.5 * (rates[1:] + rates[:-1])
    assert np.abs(rates).max() > 1.0
    assert np.abs(between).max() < 5e-3


def test_moving_points_without_meaning_are_refused():
    jumps = "`range` is not supported: the length of a rope does not jump: use a spring along a `path`"
    for end, message in (({"coordinate": "spin"}, "unknown joint `spin`"), ({"range": [0, 1]}, jumps)):
        with pytest.raises(SceneError) as found:
            load(json.dumps(scene([{**END, **end}, {"body": "load"}])) + "\n")
        assert message in str(found.value)
        assert "rope.over[0]" in str(found.value)
