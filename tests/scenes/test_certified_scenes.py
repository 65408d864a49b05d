"""Error bars against known answers: the values that scenes of `scenes/validation` expect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.output.sink import MemorySink
from multibody_cli.scene.expect import ValueExpectation
from multibody_cli.studies.certify import certify, plan_of
from multibody_cli.studies.simulation import prepare

SCENES = Path(__file__).parents[2] / "scenes" / "validation"
RK4, EULER = "simulation.integrator=rk4", "simulation.integrator=semi_implicit_euler"
PRINTED = 2e-11
"""Relative precision of the printed answers."""

DAILY = {
    "ball_chain_2": ["simulation.tolerance=1e-7"],
    "bead_helix": [EULER, "simulation.step=5 ms"],
    "muscle_pendulum": [RK4, "simulation.step=2 ms"],
}
NIGHTLY = {
    "bead_cycloid": ["simulation.tolerance=1e-6"],
    "double_pendulum_rods": ["simulation.tolerance=1e-6"],
    "dzhanibekov_num": ["simulation.duration=10 s", "simulation.tolerance=1e-8"],
    "fourbar_parallelogram": [],
    "iftomm_a01_pendulum": ["simulation.duration=10 s", "simulation.tolerance=1e-6"],
    "iftomm_a02_nfourbar_N1": [],
    "iftomm_a03_andrews_t003": ["simulation.tolerance=1e-7"],
    "knife_edge_incline": ["simulation.step=10 ms"],
    "lagrange_top_cusp": [RK4, "simulation.step=1 ms"],
    "lagrange_top_steady": ["simulation.tolerance=1e-6"],
    "rack_pinion": [EULER],
    "slider_crank_free_spin": ["simulation.step=0.1 ms"],
    "sliding_stop": [],
    "spherical_pendulum": ["simulation.tolerance=1e-7"],
    "spring_damper_1d": [EULER, "simulation.step=1 ms"],
    "testset_caraxis": ["simulation.tolerance=1e-6"],
    "torque_free_top": ["simulation.tolerance=1e-6"],
    "torus_geodesic": [RK4, "simulation.step=10 ms"],
}
"""Settings that make the errors larger than the precision of the answers."""

MOTION = ("q", "v", "position", "com", "linear_velocity", "angular_velocity", "angular_velocity_body")


def errors_and_bars(name, overrides):
    """True errors and error bars of all values of the motion that a scene expects after the start."""
    scene = SCENES / f"{name}.yaml"
    simulation = prepare(scene, overrides)
    sink = MemorySink()
    simulation.run(sink)
    run = sink.trajectory()
    entries = [
        entry
        for entry in simulation.scene.expect
        if isinstance(entry, ValueExpectation) and entry.at != 0.0 and entry.channel.rpartition("/")[2] in MOTION
    ]
    channels = list(dict.fromkeys(entry.channel for entry in entries))
    certificate = certify(run, plan_of(simulation, lambda more: prepare(scene, [*overrides, *more]), channels))
    found = []
    for entry in entries:
        row = -1 if entry.at == "final" else run.at(entry.at)
        wanted = np.atleast_1d(entry.value)
        values, bars = run.channel(entry.channel).values[row], certificate.bar(entry.channel, run.bodies)[row]
        if entry.component is not None:
            place = "xyz".find(entry.component) if isinstance(entry.component, str) else entry.component
            values, bars = values[place : place + 1], bars[place : place + 1]
        printed = PRINTED * np.abs(wanted).max()
        found += [(error, bar, printed) for error, bar in zip(np.abs(values - wanted), bars, strict=True)]
    return np.array(found).T


def sharpness(errors, bars):
    """Ratio of bar to error where the error is largest."""
    worst = np.argmax(errors)
    return bars[worst] / errors[worst]


@pytest.mark.parametrize("name", DAILY)
def test_known_answers_are_within_the_error_bars(name):
    errors, bars, printed = errors_and_bars(name, DAILY[name])
    assert (errors <= bars + printed).all()
    assert sharpness(errors, bars) <= 10.0


@pytest.mark.nightly
def test_of_known_answers_nearly_all_are_within_sharp_error_bars():
    found = {name: errors_and_bars(name, overrides) for name, overrides in (DAILY | NIGHTLY).items()}
    assert len(found) >= 20
    beyond = [name for name, (errors, bars, printed) in found.items() if not (errors <= bars + printed).all()]
    assert len(beyond) <= 1, beyond
    assert np.median([sharpness(errors, bars) for errors, bars, _ in found.values()]) <= 10.0
