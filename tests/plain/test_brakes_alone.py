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
