"""Friction of paths through points that move in their bodies: that through the same points of other bodies."""

from __future__ import annotations

import numpy as np
import pytest
from test_moving_points import REDUCED, every_method, pairs, run_of, scene_of

from multibody_cli.methods import METHODS


def braked(pair, moving, method, friction, **settings):
    """A run with friction along the path through the point, which a spring of its own would lengthen or shorten."""
    scene = scene_of(pair, moving, {"method": method}, gravity=[1, 2, -9.81])
    own = METHODS[method].own_integrator
    integrator = {} if own else {"integrator": "semi_implicit_euler"}
    scene["simulation"] = {"method": method, "duration": 0.1, "step": 1e-3, **integrator, **settings}
    scene["paths"] = {"p": {"path": scene["springs"]["s"]["path"], "friction": friction}}
    return run_of(scene)


def braked_differences(pair, method, step):
    """Largest relative differences of channels between a path with friction with the moving point and the fixed one."""
    fixed, moving = (braked(pair, one, method, 3.0, step=step) for one in (False, True))
    assert fixed.channel("energy/dissipation/paths/p/friction").values[-1] > 0.01
    paths = ("joints/slide/q", "joints/turn/v", "joints/wrist/v", "paths/p/length", "paths/p/friction",
             "energy/dissipation/paths/p/friction")  # fmt: skip
    values = [[found.channel(path).values for found in (fixed, moving)] for path in paths]
    return np.array([np.abs(other - one).max() / (1.0 + np.abs(one).max()) for one, other in values])


@pytest.mark.parametrize("method", REDUCED)
@pairs
def test_friction_of_a_path_with_the_point_is_that_with_the_fixed_one(method, pair):
    assert braked_differences(pair, method, 1e-3).max() < 1e-8


@pytest.mark.parametrize("method", ["baraff", "variational_maximal"])
@pairs
def test_friction_in_maximal_coordinates_agrees_with_the_order_of_the_step(method, pair):
    """Off the manifold of the joint, within a step, the two points differ."""
    coarse, fine = (braked_differences(pair, method, h).max() for h in (1e-3, 5e-4))
    assert coarse < 0.05
    assert fine < 0.75 * coarse + 1e-8


@every_method
@pairs
def test_friction_holds_the_length_of_a_path_with_a_point_that_moves(method, pair):
    """By a force below its limit, without work but for the error of the step, in parts of that of the limit."""
    limit = 2000.0
    found, free = braked(pair, True, method, limit), braked(pair, True, method, 1e-3)
    length, force = found.channel("paths/p/length").values, found.channel("paths/p/friction").values
    change = np.ptp(free.channel("paths/p/length").values)
    assert np.ptp(length) < 5e-3 * change
    assert 0.1 < np.abs(force[1:]).max() < limit
    assert abs(found.channel("energy/dissipation/paths/p/friction").values[-1]) < 1e-5 * limit * change
    assert np.abs(found.channel("joints/turn/v").values).max() > 0.1
