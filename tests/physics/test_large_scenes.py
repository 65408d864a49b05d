"""Smaller versions of the large scenes with contacts, with every method: stacks stand, falling bodies come to rest.

Energy is looked at in every step: no contact, solved or not, may add any.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli import MemorySink, prepare
from multibody_cli.methods import METHODS
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.expect import evaluate

SCENES = Path(__file__).parents[2] / "scenes" / "bench"

METHOD = pytest.mark.parametrize("method", sorted(name for name, kind in METHODS.items() if not kind.own_integrator))


def run(name: str, *settings: str) -> Trajectory:
    """Run a scene with output at every step; its expectations are met."""
    sink = MemorySink()
    simulation = prepare(SCENES / f"{name}.yaml", settings)
    assert simulation.run(sink).outcome.status == "complete"
    trajectory = sink.trajectory()
    verdicts = evaluate(simulation.scene.expect, trajectory)
    assert [verdict for verdict in verdicts if not verdict.passed] == []
    return trajectory


def largest_rise(trajectory: Trajectory) -> float:
    """From step to step, relative to the largest energy."""
    energy = trajectory.channel("energy/total").values
    return float(np.diff(energy).max() / np.abs(energy).max())


@METHOD
def test_a_wall_in_bond_stands(method):
    settings = [f"simulation.method={method}", "vars.rows=4", "vars.columns=4", "output.every=2 ms"]
    found = run("brick_wall", *settings, "simulation.duration=0.1 s")
    assert largest_rise(found) <= 1e-14
    places = found.channel("bodies/position").values
    assert places.shape[1] == 4 * 4 + 2  # two rows have half bricks, one brick more
    assert np.abs(places - places[0]).max() < 1e-12


@METHOD
def test_boxes_fall_into_a_heap_and_stay(method):
    settings = [f"simulation.method={method}", "vars.count=12", "vars.side=2", "output.every=2 ms", "vars.T=2"]
    found = run("box_pile", *settings)
    assert largest_rise(found) <= 1e-14
    places = found.channel("bodies/position").values
    assert np.abs(places[-1] - places[-100]).max() < 1e-10
    assert places[-1, :, 2].max() > 0.1  # some lie on others
    contacts = found.contacts(-1)
    on_floor = contacts["normal_impulse"][contacts["body_a"] == -1].sum() / 2e-3
    assert on_floor == pytest.approx(12 * 0.2 * 0.15 * 0.1 * 500 * 9.81, rel=1e-9)


@METHOD
@pytest.mark.parametrize(
    ("scene", "settings"),
    [
        ("chain_over_bar", ["vars.n=10", "simulation.step=0.5 ms", "output.every=0.5 ms", "simulation.duration=0.5 s"]),
        ("chain_of_rings", ["vars.n=6", "output.every=1 ms", "simulation.duration=0.5 s"]),
    ],
)
def test_a_chain_falling_over_a_bar_gains_no_energy(method, scene, settings):
    found = run(scene, f"simulation.method={method}", *settings, "expect=[]")
    assert largest_rise(found) <= 1e-14
    places = found.channel("bodies/position").values
    assert (places[-1, [0, -1], 2] < places[0, [0, -1], 2] - 0.05).all()  # it hangs down on both sides
    assert np.linalg.norm(places[..., [0, 2]], axis=-1).min() > 0.0899  # and nothing has gone into the bar


@pytest.mark.parametrize("method", sorted(name for name, kind in METHODS.items() if kind.own_integrator))
def test_a_robot_with_closed_legs_trots(method):
    """Two steps of its gait: loops stay closed, nothing sinks in, and drives and dissipation are accounted for."""
    found = run("four_legs", f"simulation.method={method}", "simulation.duration=1 s", "output.every=1 ms", "expect=[]")
    assert found.channel("solver/residual").values.max() < 1e-11
    assert found.channel("contacts/unsolved").values.sum() <= 5
    trunk = found.channel("bodies/trunk/position").values
    assert trunk[-1, 0] - trunk[0, 0] > 0.2
    assert trunk[:, 2].min() > 0.8 * trunk[0, 2]
