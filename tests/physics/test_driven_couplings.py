"""Drives whose coordinates are coupled to others: motion, forces and the work of the drive, against closed forms."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import mbsim

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
REDUCED = ("aba", "redmax", "symbolic", "variational")
LEADER, FOLLOWER, RATIO = 0.7, 0.4, -1.5
"""Inertias of both coordinates, kg m^2 or kg; rate of the follower over that of the leader."""

GEAR = {"type": "gear", "joints": ["leader", "follower"], "ratio": RATIO, "offset": 0.2}
COUPLINGS: dict[str, dict[str, Any]] = {
    "gear": GEAR,
    "reversed": {"type": "gear", "joints": ["follower", "leader"], "ratio": 1 / RATIO},
    "linear": {"type": "linear", "terms": {"leader": 3.0, "follower": 2.0}, "value": 0.4},
    "equal": {"type": "equal", "joints": ["leader", "follower"]},
    "rack_pinion": {"type": "rack_pinion", "rack": "follower", "pinion": "leader", "radius": 0.3},
}
RATIOS = {"equal": 1.0, "rack_pinion": 0.3}

every_method = pytest.mark.parametrize("method", METHODS)


def machine(kind: str, motion: dict[str, Any], **coupling: Any) -> dict[str, Any]:
    """A driven leader and its follower without gravity; a force of 0.6 acts on the follower, a sensor measures it."""
    hinge, slides = {"type": "revolute", "axis": [1, 0, 0]}, kind == "rack_pinion"
    wheel = {"mass": FOLLOWER if slides else 1.0, "inertia": {"principal": [FOLLOWER, 1, 1]}}
    return {
        "gravity": [0, 0, 0],
        "bodies": {"a": {"mass": 1.0, "inertia": {"principal": [LEADER, 1, 1]}}, "b": wheel},
        "joints": {
            "leader": {**hinge, "child": "a", "motion": motion},
            "follower": {**hinge, "type": "prismatic" if slides else "revolute", "child": "b", "force": 0.6},
        },
        "constraints" if slides else "couplings": {"mesh": COUPLINGS[kind] | coupling},
        "sensors": {"rim": {"body": "b", "position": [0, 0.5, 0]}},
    }


def run(scene: dict[str, Any], method: str, duration: float, step: float) -> Any:
    """All channels of a run without alarms."""
    simulation = {"duration": duration, "step": step, "method": method}
    scene = {"mbsim": 1, **scene, "simulation": simulation, "output": {"every": step}}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*impulsive start")
        found = mbsim.load(json.dumps(scene, indent=1)).run()
    assert found.attrs["status"] == "complete"
    return found


def check_work(found: Any, ratio: float) -> None:
    """The drive supplies the energy of both inertias, less the work of the force on the follower."""
    q, v = (found[f"joints/leader/{name}"].values[:, 0] for name in "qv")
    energy, force = 0.5 * (LEADER + ratio**2 * FOLLOWER) * v**2, 0.6 * ratio * q
    work = found["energy/work/joints/leader/motion"].values
    np.testing.assert_allclose(found["energy/kinetic"].values, energy, rtol=1e-9)
    np.testing.assert_allclose(found["energy/work/joints/follower/force"].values, force - force[0], atol=1e-9)
    np.testing.assert_allclose(work, energy - energy[0] - (force - force[0]), atol=1e-9)
    np.testing.assert_allclose(found["energy/ledger_residual"].values, 0.0, atol=1e-9)


def cases() -> list[Any]:
    plain = [(kind, {}, method) for kind in COUPLINGS for method in METHODS]
    return plain + [("gear", {"reduce": True}, method) for method in REDUCED]


@pytest.mark.parametrize(("kind", "coupling", "method"), cases())
def test_a_drive_accelerates_its_follower_and_does_the_work(kind: str, coupling: Any, method: str) -> None:
    """With the motion t + t^2 all powers are linear in t, so that the quadrature of every method is exact."""
    found = run(machine(kind, {"position": "t + t**2"}, **coupling), method, 0.05, 5e-3)
    ratio = RATIOS.get(kind, RATIO)
    check_work(found, ratio)
    np.testing.assert_allclose(found["joints/follower/acceleration"].values, 2.0 * ratio, rtol=1e-8)
    if not coupling:  # a reduced one has no multiplier
        multipliers = found[f"{'constraints' if kind == 'rack_pinion' else 'couplings'}/mesh/multiplier"].values
        coefficient = {"linear": 2.0, "reversed": 1 / RATIO}.get(kind, 1.0)
        np.testing.assert_allclose(np.abs(coefficient * multipliers), abs(2.0 * ratio * FOLLOWER - 0.6), rtol=1e-7)
    if kind != "rack_pinion":
        tangential = found["sensors/rim/specific_force"].values[:, 2]
        np.testing.assert_allclose(tangential, 0.5 * 2.0 * ratio, rtol=1e-7)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_what_hangs_on_a_follower_feels_its_acceleration(method: str) -> None:
    """A rotor on a spring on the wheel: psi'' = -(k/J) psi - ratio q'', with the error of rk4."""
    scene = machine("gear", {"position": "t**2"})
    scene["bodies"]["c"] = {"mass": 1.0, "inertia": {"principal": [0.2, 1, 1]}}
    scene["joints"]["shaft"] = {
        "type": "revolute", "axis": [1, 0, 0], "parent": "b", "child": "c", "stiffness": 0.2 * 10.0**2
    }  # fmt: skip
    found = run(scene, method, 0.1, 5e-3)
    t = found["time"].values
    np.testing.assert_allclose(found["joints/shaft/q"].values[:, 0], -2 * RATIO / 100 * (1 - np.cos(10 * t)), atol=1e-7)
    np.testing.assert_allclose(found["energy/ledger_residual"].values, 0.0, atol=1e-6)


@every_method
def test_a_drive_does_no_work_within_the_play_and_gives_the_flank_its_impulse(method: str) -> None:
    """The flank meets the wheel at 1 rad/s: the wheel takes J r^2 / 2, and the inelastic impact loses as much."""
    scene = machine("gear", {"velocity": 1.0}, backlash=0.027)
    del scene["joints"]["follower"]["force"]
    scene["joints"]["follower"]["q"] = 0.2
    found = run(scene, method, 0.02, 2e-3)
    t, given = found["time"].values, FOLLOWER * RATIO**2
    closed = t > 0.027 / 2 / abs(RATIO)
    np.testing.assert_allclose(found["energy/work/joints/leader/motion"].values, given * closed, atol=1e-10)
    np.testing.assert_allclose(found["energy/dissipation/couplings/mesh"].values, 0.5 * given * closed, atol=1e-10)
    np.testing.assert_allclose(found["energy/ledger_residual"].values, 0.0, atol=1e-10)


@every_method
def test_a_drive_accelerates_the_flank_that_it_carries(method: str) -> None:
    """From rest at the flank, with the motion t^2, the wheel follows from the first instant."""
    scene = machine("gear", {"position": "0.01 - t**2"}, backlash=0.03)
    scene["joints"]["follower"] |= {"force": 0.0, "q": 0.2 + 0.01 * RATIO - 0.015}
    found = run(scene, method, 0.02, 2e-3)
    v = found["joints/leader/v"].values[:, 0]
    energy = 0.5 * (LEADER + RATIO**2 * FOLLOWER) * v**2
    np.testing.assert_allclose(found["energy/work/joints/leader/motion"].values, energy, atol=1e-9)
    np.testing.assert_allclose(found["couplings/mesh/multiplier"].values[1:, 0], abs(2.0 * RATIO * FOLLOWER), rtol=1e-6)


@every_method
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_a_driven_cart_takes_the_impulse_of_a_slider_at_its_stop(method: str, restitution: float) -> None:
    """A slider of mass m that meets its stop at u relative to a cart with the speed V takes (1 + e) m u V from it."""
    speed, u, mass = 2.0, 3.0, 0.5
    body = {"inertia": {"principal": [1, 1, 1]}}
    rail = {"type": "prismatic", "axis": [1, 0, 0]}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"cart": {"mass": 2.0, **body}, "slider": {"mass": mass, **body}},
        "joints": {
            "road": {**rail, "child": "cart", "motion": {"velocity": speed}},
            "rail": {**rail, "parent": "cart", "child": "slider", "v": u, "limits": [-1, 0.02]},
        },
    }
    scene["joints"]["rail"]["restitution"] = restitution
    found = run(scene, method, 0.02, 2e-3)
    work = -(1 + restitution) * mass * u * speed
    after = speed - restitution * u
    np.testing.assert_allclose(found["energy/kinetic"].values[-1], 0.5 * (2 * speed**2 + mass * after**2), rtol=1e-9)
    np.testing.assert_allclose(found["energy/work/joints/road/motion"].values[-1], work, rtol=1e-9)
    np.testing.assert_allclose(found["energy/ledger_residual"].values, 0.0, atol=1e-9)
