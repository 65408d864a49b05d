"""Brakes without friction due to loads, where every access to an array is checked."""

from __future__ import annotations

import numpy as np
import pytest
from loops import start

from multibody_cli.methods import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_brake_alone_has_no_points(method):
    """It slows a wheel of 0.2 kg m^2 down by its torque."""
    joints = {"axle": {"type": "revolute", "child": "wheel", "v": 2, "friction": {"torque": 0.5}}}
    bodies = {"wheel": {"mass": 2, "inertia": {"principal": [0.2, 0.2, 0.2]}}}
    run = start({"bodies": bodies, "joints": joints}, method, "semi_implicit_euler", step=0.01)
    assert np.abs(run.advance(0.03).state.v).max() == pytest.approx(2.0 - 2.5 * 0.03, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loop", [False, True])
def test_brakes_of_a_cross_and_of_a_loop_have_no_points(method, loop):
    """A rod on a cross; or two rods that a further hinge connects to the ground, of which all joints stick."""
    rod = {"mass": 1, "inertia": {"principal": [0.1, 0.1, 0.1]}, "com": [0.2, 0, 0]}
    joints = {"cross": {"type": "universal", "child": "rod", "v": [1.0, 0.5], "friction": {"torque": 1.0}}}
    bodies = {"rod": rod}
    if loop:
        hinge = {"type": "revolute", "axis": [0, 0, 1], "friction": {"torque": 5.0}}
        joints = {
            "one": hinge | {"child": "rod"},
            "two": hinge | {"parent": "rod", "child": "bar", "origin": {"position": [1, 0, 0]}, "q": "90 deg"},
            "three": hinge
            | {
                "child": "bar",
                "origin": {"position": [1, 1, 0]},
                "child_origin": {"position": [1, 0, 0]},
                "q": "90 deg",
            },
        }
        bodies["bar"] = rod
    scene = {"bodies": bodies, "joints": joints, "gravity": [0, 0, 0]}
    run = start(scene, method, "semi_implicit_euler", step=0.01)
    v = np.abs(run.state.v).max()
    assert np.abs(run.advance(0.03).state.v).max() <= v + 1e-15
