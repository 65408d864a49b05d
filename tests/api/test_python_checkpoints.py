"""Simulations step by step: checkpoints and copies have the bits of their simulation."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from swing import CART, GALLERY, SWING, load

import mbsim


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("revolute_joint", {}),
        ("couplings", {}),
        ("falling_boxes", {}),
        ("adaptive_tolerance", {}),
        ("spherical_joint", {"simulation.method": "variational"}),
    ],
)
def test_a_restored_simulation_has_the_same_bits(name, overrides):
    scene = load(GALLERY / f"{name}.yaml", overrides)
    sim = mbsim.Simulation(scene)
    for joint in list(sim.force)[:1]:
        sim.force[joint][:] = 0.1
    sim.step(30)
    data = sim.save()
    sim.step(40)
    expected = sim.q[...].copy(), sim.v[...].copy(), sim.channel("energy/total")
    other = mbsim.Simulation(scene)
    for one in (sim, other):
        one.restore(data)
        assert one.time < 31 * scene.step
        one.step(40)
        np.testing.assert_array_equal(one.q[...], expected[0])
        np.testing.assert_array_equal(one.v[...], expected[1])
        np.testing.assert_array_equal(one.channel("energy/total"), expected[2])


def test_changes_before_a_checkpoint_are_part_of_it():
    scene = load(SWING)
    sim, other = mbsim.Simulation(scene), mbsim.Simulation(scene)
    sim.step(3)
    sim.v["hinge"][:] = 4.0
    sim.force["hinge"][:] = -1.0
    other.restore(sim.save())
    sim.step(5)
    other.step(5)
    np.testing.assert_array_equal(sim.q["hinge"], other.q["hinge"])
    other.reset()
    assert (other.time, other.q["hinge"][0], other.force["hinge"][0]) == (0.0, np.pi / 2, 0.0)


def test_foreign_and_damaged_checkpoints_are_refused():
    sim = mbsim.Simulation(load(SWING))
    data = sim.save()
    with pytest.raises(mbsim.ResultError, match="another scene"):
        mbsim.Simulation(load(CART)).restore(data)
    with pytest.raises(mbsim.ResultError, match="checksum does not match"):
        sim.restore(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(mbsim.ResultError, match="is not a checkpoint"):
        sim.restore(b"anything")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", ["revolute_joint", "falling_boxes", "adaptive_tolerance"])
def test_a_copy_is_another_simulation_at_the_same_instant(name, duplicate):
    sim = mbsim.Simulation(load(GALLERY / f"{name}.yaml"))
    sim.step(5)
    sim.v[...][:] *= 1.01
    other = duplicate(sim)
    before = sim.time, sim.q[...].copy()
    other.step(20)
    assert sim.time == before[0]
    np.testing.assert_array_equal(sim.q[...], before[1])
    sim.step(20)
    np.testing.assert_array_equal(sim.q[...], other.q[...])
    assert sim.channel("energy/total") == other.channel("energy/total")


def test_a_simulation_is_not_pickled():
    with pytest.raises(mbsim.ArgumentError, match="cannot be pickled: `save` returns"):
        pickle.dumps(mbsim.Simulation(load(SWING)))
