"""Islands that rest on limits of joints, alone or beside contacts."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from test_sleeping import BENCH, CUBE, FLOOR, STEP, TIMES, G, asleep, loads, pair, simulation, state

import mbsim


def at_limit(joints: int, more: str = "") -> str:
    """A base on the floor, and a chain of arms that falls onto the limits of its hinges, and lies on nothing else."""
    bodies = [f"  base: {{mass: 9, shapes: [{CUBE}], position: [0, 0, 0.1]}}"]
    hinges, parent, place = [], "base", "[0.1, 0, 0.1]"
    for k in range(joints):
        bodies.append(f"  arm{k}: {{mass: 1, shapes: [{{type: box, size: [0.2, 0.1, 0.1], contact: false}}]}}")
        hinges.append(
            f"  h{k}: {{type: revolute, parent: {parent}, child: arm{k}, axis: [0, 1, 0], q: -0.2, "
            f"limits: [-90 deg, {0.1 * k!r}], origin: {{position: {place}}}, child_origin: {{position: [-0.1, 0, 0]}}}}"
        )
        parent, place = f"arm{k}", "[0.1, 0, 0]"
    return FLOOR + TIMES + "\n".join(["bodies:", *bodies, "joints:", *hinges, more])


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_a_machine_sleeps_at_the_limits_of_its_joints(method):
    """The limits carry the weights: m g times the distances of the arms beyond them, here in the plane of the arms."""
    sleeping = simulation(at_limit(2), f"simulation.method={method}")
    awake = simulation(at_limit(2), f"simulation.method={method}", "contacts.sleeping=false")
    for sim in (sleeping, awake):
        sim.step(200)
    assert (asleep(sleeping), asleep(awake)) == (3, 0)
    before, kept = state(sleeping), loads(sleeping)
    for sim in (sleeping, awake):
        sim.step(300)
    assert asleep(sleeping) == 3
    assert np.array_equal(state(sleeping), before)
    assert np.array_equal(loads(sleeping), kept)
    assert kept[:, 0].sum() == pytest.approx(11 * G * STEP, rel=1e-12)
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-11
    pressed, arm = sleeping._method.contact_work.sleep.limits, 0.1 * math.cos(0.1)
    assert sorted(pressed[pressed > 0.0] / (G * STEP)) == pytest.approx([arm, 0.1 + 0.2 + arm], rel=1e-9)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
def test_a_robot_comes_to_rest_on_contacts_and_limits_at_once(method):
    """Its hips arrive at their limits while its feet lie on the floor: the stop of a hip does not lift a foot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        sim = mbsim.Simulation(mbsim.load(BENCH / "limp_robot.yaml", [f"simulation.method={method}"]))
    sim.step(400)
    work = sim._method.contact_work
    assert asleep(sim) == 19
    assert np.all(sim._state.v == 0.0)
    assert np.count_nonzero(work.sleep.limits > 0.0) == 6
    mass = sim._model.system.tree.links["mass"].sum()
    assert loads(sim)[:, 0].sum() == pytest.approx(mass * G * STEP, rel=1e-9)
    # all of the energy of the fall is dissipated: in contacts, dampers, and limits, those reached in contact included
    assert abs(sim.channel("energy/ledger_residual")) < 0.01 * mass * G * 0.2
    assert sum(sim.channel(f"energy/dissipation/joints/hip{k}/limits") for k in range(6)) > 0.0


@pytest.mark.parametrize("stop", ["12 deg", "15 deg"])
@pytest.mark.parametrize(
    ("method", "rounding"),
    # the rates of `variational_maximal` are differences of poses: the last digit of 1 m over 2 ms, at a radius of 4 cm
    [
        ("aba", 1e-12),
        ("baraff", 1e-12),
        ("variational", 1e-12),
        ("variational_maximal", np.spacing(1.0) / (2e-3 * 0.04)),
    ],
)
def test_a_robot_lies_still_on_contacts_and_limits_without_sleep(method, rounding, stop):
    """An impulse that stops one leg throws no other one onto its limit: both are rows of the step, with their gaps."""
    settings = [f"simulation.method={method}", f"vars.stop={stop}", "contacts.sleeping=false"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        sim = mbsim.Simulation(mbsim.load(BENCH / "limp_robot.yaml", settings))
    sim.step(400)
    for _ in range(5):
        sim.step()
        assert np.abs(sim._state.v).max() < rounding


def test_an_arm_leaves_its_limit_when_a_force_lifts_it():
    """The force is 0 until 0.4 s, and 50 (t - 0.4) N then; it lifts the arm from 0.5962 s on."""
    pull = "forces: {pull: {body: arm0, force: [0, 0, 'max(50*(t - 0.4), 0)'], frame: world}}\n"
    sleeping, awake = pair(at_limit(1, pull))
    for sim in (sleeping, awake):
        sim.step(199)
    assert asleep(sleeping) == 2
    for sim in (sleeping, awake):
        sim.step(98)
    assert asleep(sleeping) == 0
    assert abs(sleeping.q["h0"][0]) < 1e-12
    for sim in (sleeping, awake):
        sim.step(50)
    assert sleeping.q["h0"][0] < -1e-3
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-10


def test_a_program_that_lifts_an_arm_from_its_limit_wakes_it():
    sleeping, awake = pair(at_limit(2))
    for sim in (sleeping, awake):
        sim.step(200)
        sim.q["h1"][0] -= 0.1
        sim.step(1)
    assert asleep(sleeping) == 0
    for sim in (sleeping, awake):
        sim.step(100)
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-10
