"""Ropes whose ends or guides move in their bodies with a coordinate: a transmission in closed form, and refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from multibody_cli import MemorySink, load
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

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


@pytest.mark.parametrize("method", METHODS)
def test_rates_of_straight_parts_are_derivatives_of_their_lengths(method):
    moving = {"body": "load", "coordinate": "screw", "moving": ["0.3*q", "0.1*cos(q)", "-0.2*q"]}
    found = run_of(scene([END, moving, {"body": "world", "point": [1, 0.5, 0]}], method=method, length=9))
    lengths, rates = (found(f"constraints/rope/{name}").reshape(-1, 2) for name in ("length", "rate"))
    h = 0.01
    between = np.diff(lengths, axis=0) / h - 0.5 * (rates[1:] + rates[:-1])
    assert np.abs(rates).max() > 1.0
    assert np.abs(between).max() < 5e-3


def test_moving_points_of_elastic_ropes_and_beside_friction_are_refused():
    guide = {"body": "wheel", "point": [0, 0, 0.1], "friction": 0.2}
    for section, over, more, message in (
        ("springs", [END, {"body": "load"}], {"stiffness": 100}, "not supported by elastic ropes"),
        ("constraints", [END, guide, {"body": "load"}], {}, "not supported by ropes with `friction`"),
        ("constraints", [{**END, "coordinate": "spin"}, {"body": "load"}], {}, "unknown joint `spin`"),
        ("constraints", [{**END, "range": [0, 1]}, {"body": "load"}], {}, "range"),
    ):
        with pytest.raises(SceneError) as found:
            load(json.dumps(scene(over, section, **more)) + "\n")
        assert message in str(found.value)
        assert "rope.over[0]" in str(found.value)
