"""Contacts of mechanisms that leave them less than three directions: impulses without effect do not grow.

The friction cone of each contact contains a direction along which an impulse moves nothing.  A velocity along it that
the equality rows have not removed would make such impulses grow without bound.
"""

from __future__ import annotations

import math
import warnings
from functools import cache

import numpy as np
import pytest
import yaml

import mbsim
from multibody_cli.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)
VARIATIONAL = ("variational", "variational_maximal")
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.5, 0.4, 0.6
RATE, RADIUS, GAP = -3.0, 0.02, 0.02


def run_of(scene):
    """Return the trajectory of a scene, whose warnings are part of its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.load(yaml.safe_dump(scene)).run()


def four_bar(method, tilt, friction, step=1e-3):
    """Return a four-bar whose coupler has a ball that meets a plane; `tilt` is that of its path against the normal."""
    angle = math.radians(60)
    elbow = CRANK * np.array([math.cos(angle), math.sin(angle)])
    across = np.array([GROUND, 0.0]) - elbow
    diagonal = math.hypot(*across)
    lean = math.acos((COUPLER**2 + diagonal**2 - ROCKER**2) / (2 * COUPLER * diagonal))
    turn = math.atan2(across[1], across[0]) + lean
    along = np.array([math.cos(turn), math.sin(turn)])
    knee = elbow + COUPLER * along
    swing = math.atan2(knee[1], knee[0] - GROUND)
    # rate of the coupler: the velocity of the knee is across the rocker
    of_elbow, of_knee = RATE * np.array([-elbow[1], elbow[0]]), np.array([-math.sin(swing), math.cos(swing)])
    turned = COUPLER * np.array([-along[1], along[0]])
    rate = np.linalg.solve(np.column_stack([turned, -of_knee]), -of_elbow)[0]
    velocity = of_elbow + 0.5 * rate * turned
    ball = elbow + 0.5 * COUPLER * along
    heading = math.atan2(velocity[1], velocity[0]) + math.radians(tilt)
    normal = -np.array([math.cos(heading), math.sin(heading)])

    def bar(length):
        inertia = length**2 / 12
        return {"mass": 1, "com": [length / 2, 0, 0], "inertia": {"principal": [1e-3, inertia, inertia]}}

    def hinge(parent, child, place, q, **given):
        return {
            "type": "revolute",
            "parent": parent,
            "child": child,
            "axis": [0, 0, 1],
            "origin": {"position": [place, 0, 0]},
            "q": float(q),
            **given,
        }

    shape = {"type": "sphere", "radius": RADIUS, "position": [COUPLER / 2, 0, 0], "density": 0}
    place = ball - (GAP + RADIUS) * normal
    return {
        "mbsim": 1,
        "name": "four-bar",
        "gravity": [0, 0, 0],
        "world": {
            "shapes": [{"type": "plane", "normal": [*map(float, normal), 0], "position": [*map(float, place), 0]}]
        },
        "contacts": {"friction": friction, "restitution": 0},
        "bodies": {"crank": bar(CRANK), "coupler": bar(COUPLER) | {"shapes": [shape]}, "rocker": bar(ROCKER)},
        "joints": {
            "a": hinge("world", "crank", 0, angle, v=RATE),
            "b": hinge("crank", "coupler", CRANK, turn - angle),
            "c": hinge("coupler", "rocker", COUPLER, swing + math.pi - turn),
            "d": hinge("world", "rocker", GROUND, swing + math.pi, child_origin={"position": [ROCKER, 0, 0]}),
        },
        "simulation": {"duration": 0.1, "step": step, "method": method},
        "output": {"every": step},
    }


@every_method
@pytest.mark.parametrize("tilt", [30, -30, 60, -60])
def test_a_mechanism_of_one_degree_of_freedom_stops_where_its_contact_jams(method, tilt):
    """Its impulses are of the size of those without friction, and all of its energy goes to contacts."""
    runs = {friction: run_of(four_bar(method, tilt, friction)) for friction in (0.0, 1.5)}
    impulses = {friction: run["contacts/normal_impulse"].values.sum() for friction, run in runs.items()}
    assert 0.0 < impulses[1.5] < impulses[0.0]
    run = runs[1.5]
    energy = run["energy/total"].values
    assert run["contacts/unsolved"].values.sum() == 0
    assert energy[-1] < 1e-6 * energy[0]
    assert energy.max() < 1.001 * energy[0]


@pytest.mark.parametrize("method", VARIATIONAL)
@pytest.mark.parametrize("tilt", [30, -60])
def test_equality_rows_do_no_work_in_the_contact_steps_of_loops(method, tilt):
    """The ledger balances to the error of the free motion, which is of second order."""
    run = run_of(four_bar(method, tilt, 1.5))
    assert np.abs(run["energy/ledger_residual"].values).max() < 2e-6 * run["energy/total"].values[0]


MEETS = {5: 0.69, 37: 0.27, 48: 0.97}
"""Times at which the ends of chains meet, s, by their seed."""


def chain(seed, method, step):
    """Return a free chain of three bodies with hinges in random directions, whose ends meet."""
    random = np.random.default_rng(seed)

    def numbers(scale):
        return [float(x) for x in scale * random.normal(size=3)]

    def axis():
        direction = random.normal(size=3)
        return [float(x) for x in direction / np.linalg.norm(direction)]

    body = {"mass": 1, "inertia": {"principal": [0.01, 0.02, 0.015]}}
    ball = {"type": "sphere", "radius": 0.1, "density": 0}
    return {
        "mbsim": 1,
        "name": "chain",
        "gravity": [0, 0, 0],
        "contacts": {"friction": 1.5, "restitution": 0, "pairs": [["a", "c"]]},
        "bodies": {
            "a": body | {"shapes": [ball], "velocity": {"angular": numbers(3.0)}},
            "b": body,
            "c": body | {"shapes": [ball | {"position": [0.2, 0.1, 0.05]}]},
        },
        "joints": {
            name: {
                "type": "revolute",
                "parent": parent,
                "child": child,
                "axis": axis(),
                "origin": {"position": place},
                "v": float(3.0 * random.normal()),
            }
            for name, parent, child, place in (("j", "a", "b", [0.2, 0, 0]), ("k", "b", "c", [0.1, 0.2, 0]))
        },
        "simulation": {"duration": MEETS[seed] + 0.03, "step": step, "method": method},
        "output": {"every": step},
    }


@cache
def outcome(seed, method, step):
    """Return the largest impulse of a contact of a chain, its energy at the end, and the number of unsolved steps."""
    run = run_of(chain(seed, method, step))
    largest, energy = run["contacts/normal_impulse"].values.max(), run["energy/total"].values[-1]
    return largest, energy, run["contacts/unsolved"].values.sum()


@every_method
@pytest.mark.parametrize("step", [1e-3, 2.5e-4])
@pytest.mark.parametrize("seed", MEETS)
def test_impacts_between_bodies_two_joints_apart_have_the_same_impulse_by_all_methods(method, step, seed):
    """That of joint coordinates with a short step, without one that moves nothing, which may be of any size."""
    largest, energy, unsolved = outcome(seed, method, step)
    assert unsolved == 0
    expected = outcome(seed, "aba", 1.25e-4)
    assert expected[0] > 0.1
    assert largest == pytest.approx(expected[0], rel=0.05)
    assert energy == pytest.approx(expected[1], rel=0.02)
