"""Impacts of mechanisms: plane ones in any direction, beside brakes and equalities, and locked ones; every method."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import mbsim
from multibody_cli.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)


def run_of(text, *changes):
    """Return the trajectory of a scene, whose warnings are part of its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.load(text, changes).run()


ARM = (
    "mbsim: 1\nname: arm\ngravity: [0, 0, 0]\nvars: {turn: 0}\n"
    "world: {shapes: [{type: plane, position: [0, 0, -0.544166]}]}\n"
    "contacts: {friction: 1.1573, restitution: 0.4258, pairs: [[b, world]]}\n"
    "bodies:\n  a: {mass: 1, com: [0.2, 0, 0], inertia: {principal: [0.012, 0.012, 0.012]}}\n"
    "  b: {mass: 1, com: [0.2, 0, 0], inertia: {principal: [0.012, 0.012, 0.012]},"
    " shapes: [{type: sphere, radius: 0.05, position: [0.4, 0, 0], density: 0}]}\n"
    "joints:\n  shoulder: {type: revolute, child: a, axis: [0, 1, 0],"
    ' origin: {rotation: {axis: [0, 0, 1], angle: "${turn}"}}, q: 0.692907, v: 2.619608}\n'
    "  elbow: {type: revolute, parent: a, child: b, axis: [0, 1, 0], origin: {position: [0.4, 0, 0]},"
    " q: -0.070942, v: -1.744896}\n"
    "simulation: {duration: 1 ms, step: 0.1 ms}\noutput: {every: 0.1 ms}\n"
)


@every_method
def test_an_impact_of_a_plane_arm_does_not_depend_on_its_direction(method):
    """Near a dead centre; the tangents of the contact are those of the world."""
    found = [
        run_of(ARM, f"simulation.method={method}", f"vars.turn={turn}")
        for turn in ("0 deg", "45 deg", "0.8 rad", "90 deg", "200 deg")
    ]
    for joint in ("shoulder", "elbow"):
        rates = np.array([float(run[f"joints/{joint}/v"].values.ravel()[-1]) for run in found])
        assert abs(rates[0]) > 1.0
        np.testing.assert_allclose(rates, rates[0], rtol=1e-7)


LOCKED = {
    "planar": (
        "joints: {slide: {type: planar, child: ball, v: [1, 0], friction: {force: %s}}}\n"
        "constraints: {row: {type: velocity, terms: [{body: ball, linear: [0, 1, 0]}]}}\n"
    ),
    "cylindrical": (
        "joints: {slide: {type: cylindrical, child: ball, axis: [1, 0, 0], v: [0, 1], friction: {force: %s}}}\n"
        "constraints: {row: {type: velocity, terms: [{body: ball, angular: [1, 0, 0]}]}}\n"
    ),
}


@every_method
@pytest.mark.parametrize("brake", ["0", "1e-9"])
@pytest.mark.parametrize("joint", LOCKED)
def test_an_impact_beside_an_equality_has_its_path_with_a_brake_too(method, brake, joint):
    """A ball on a line hits an oblique wall: mu presses it in the compression, and relieves it in the restitution.

    The closed form is that of an energetic impact with one degree of freedom.
    """
    scene = (
        "mbsim: 1\nname: wall\ngravity: [0, 0, 0]\n"
        "world: {shapes: [{type: plane, normal: [-0.8, 0, 0.6], position: [0.2, 0, 0]}]}\n"
        "contacts: {friction: 0.5, restitution: 0.6}\n"
        "bodies: {ball: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}, shapes: [{type: sphere, radius: 0.05}]}}\n"
        + LOCKED[joint] % brake
        + "simulation: {duration: 0.2 s, step: 1 ms}\noutput: {every: 10 ms}\n"
    )
    run = run_of(scene, f"simulation.method={method}")
    expected = -0.6 * math.sqrt((0.8 - 0.5 * 0.6) / (0.8 + 0.5 * 0.6))
    assert abs(float(run["bodies/linear_velocity"].values[-1, 0, 0]) - expected) < 1e-7


@every_method
@pytest.mark.parametrize("rolling", ["1e-6", "0.01"])
@pytest.mark.parametrize("step", ["0.1 ms", "0.2 ms"])
def test_a_locked_rotation_has_no_resistance_to_rolling(method, rolling, step):
    """A ball on a slide that closes a loop falls on a floor without restitution, and stays there."""
    turn = "{axis: [0, 1, 0], angle: 0.5}"
    scene = (
        "mbsim: 1\nname: rail\nworld: {shapes: [{type: plane, normal: [-0.6, 0, 0.8], position: [0.4, 0, 0.5]}]}\n"
        f"contacts: {{friction: {{static: 0.5, rolling: {rolling}}}, restitution: 0}}\n"
        "bodies: {ball: {mass: 2, com: [0, 0, 0], inertia: {principal: [0.02, 0.03, 0.04]},"
        " shapes: [{type: sphere, radius: 0.1, position: [0.1, 0, 0], density: 0}]}}\n"
        f"joints:\n  free: {{type: free, child: ball, q: {{position: [0, 0, 1], rotation: {turn}}},"
        f" v: {{linear: [{0.5 * math.cos(0.5)!r}, 0, {-0.5 * math.sin(0.5)!r}]}}}}\n"
        "  slide: {type: prismatic, child: ball, axis: [1, 0, 0], q: 0,"
        f" origin: {{position: [0, 0, 1], rotation: {turn}}}}}\n"
        f"simulation: {{duration: 0.5, step: {step}}}\noutput: {{every: 0.02}}\n"
    )
    run = run_of(scene, f"simulation.method={method}")
    rate = run["bodies/linear_velocity"].values[:, 0, 0]
    assert rate.max() > 1.0
    assert rate.min() > -1e-9
    assert abs(rate[-1]) < 1e-9


WEDGE = """mbsim: 1
name: wedge
gravity: [0, 0, 0]
world: {shapes: [{type: plane, normal: [-0.47650168514426683, -0.30424789346924036, 1.0], position: [0, 0, -0.3]}]}
contacts: {friction: 0.5, restitution: 0.9, overlap: exclude}
bodies:
  a:
    mass: 1
    com: [0.1, 0, 0]
    inertia: {principal: [0.01, 0.01, 0.01]}
    shapes: [{type: sphere, radius: 0.08, position: [0.3, 0, 0], density: 0}]
  c: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  rail: {type: prismatic, child: c, axis: [-0.24999625104151, 1.3691278512137, -0.6104946981822], v: 1.7943357674660545}
  hinge:
    type: revolute
    parent: c
    child: a
    axis: [-1.4234376097409, -0.2885936455850, -1.1369827893393]
    v: 4
    friction: {coefficient: 0.3, surface: {type: cylinder, radius: 0.04812, length: 0.05}}
simulation: {duration: 0.4, step: 1 ms}
output: {every: 1 ms}
"""


@every_method
def test_a_rebound_that_wedges_a_hinge_has_no_negative_account(method):
    """Friction of the hinge multiplies the impulse of the contact, and dissipates more than both together."""
    run = run_of(WEDGE, f"simulation.method={method}")
    losses = {name: run[name].values for name in run.data_vars if str(name).startswith("energy/dissipation/")}
    assert len(losses) == 3
    assert min(np.diff(loss).min() for loss in losses.values()) > -1e-6
    lost = sum(loss[-1] for loss in losses.values())
    assert lost > 2.5
    assert abs(lost + float(run["energy/total"].values[-1] - run["energy/total"].values[0])) < 2e-3
