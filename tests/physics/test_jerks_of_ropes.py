"""Slack ropes that jerk their loads: the loss of a jerk, and the energy ledger through it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from friction_trees import prepared
from test_pulleys import G, body, hinge, pulley, rope, run, slider

from multibody_cli import MemorySink
from multibody_cli.methods import METHODS

RUNGE_KUTTA = [name for name in METHODS if METHODS[name].own_integrator is None]


@pytest.mark.parametrize("method", RUNGE_KUTTA)
@pytest.mark.parametrize("step", [1e-3, 7e-4])
def test_the_loss_of_a_jerk_does_not_depend_on_the_step(tmp_path, method, step):
    """Weights fall into a slack rope: the loss is that of the jerk where it is taut, and the ledger is closed."""
    m, n, slack = 3.0, 2.0, 0.05
    bodies, joints = {"l": body(m), "r": body(n)}, {"l": slider("l", -0.2, -1.0), "r": slider("r", 0.2, -1.5)}
    constraints = {"rope": rope("l", pulley("world", 0.2, slides=True), "r", slack=[slack])}
    found = run(tmp_path, bodies, joints, constraints, method, 0.28, step, 1e-12)
    rate = math.sqrt(2.0 * G * slack / 2.0)
    lost = 0.5 * (m + n) * rate**2 - 0.5 * ((m - n) * rate) ** 2 / (m + n)
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], lost, rtol=1e-12)


@pytest.mark.parametrize("method", RUNGE_KUTTA)
def test_the_ledger_of_jerks_of_a_swinging_load_is_closed(tmp_path, method):
    """A ball on a slack rope and a spring: the displacement onto the rope changes kinetic and elastic energy too."""
    scene = {
        "bodies": {"arm": body(1.0, 0.2), "ball": body(2.0, 0.1)},
        "joints": {
            "arm": hinge("arm", 0.0, 0.0, q=0.3, v=2.0) | {"child_origin": {"position": [0, 0, 0.6]}},
            "elbow": hinge("ball", 0.0, -0.4, "arm", v=-3.0) | {"child_origin": {"position": [0.1, 0, 0.5]}},
        },
        "springs": {
            "s": {
                "between": [{"body": "world", "point": [1, 0, 0]}, {"body": "ball"}],
                "stiffness": 80,
                "rest_length": 1,
            }
        },
        "constraints": {"rope": rope({"body": "world", "point": [-0.8, 0, 0.3]}, "ball", slack=[0.02])},
        "simulation": {"duration": 1.0, "step": 5e-4, "method": method, "integrator": "rk4"},
        "output": {"every": 0.01},
    }
    sink = MemorySink()
    prepared(tmp_path, scene).run(sink)
    found = sink.trajectory()
    assert found.channel("energy/dissipation/constraints/rope").values[-1] > 0.5
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-9


def driven_cart(method, step, restitution, loop):
    """An arm on a driven cart whose ball falls into a slack rope and a spring; a rod makes a loop with the arm."""
    arm = hinge("arm", 0.0, 0.0, "cart", q=0.5, v=1.0) | {"child_origin": {"position": [0, 0, 0.6]}}
    elbow = hinge("ball", 0.0, -0.4, "arm", v=-3.0) | {"child_origin": {"position": [0.1, 0, 0.5]}}
    cart = {"type": "prismatic", "child": "cart", "axis": [1, 0, 0], "motion": {"position": "0.3*sin(5*t) + 0.4*t"}}
    catch = rope({"body": "world", "point": [-0.8, 0, 0.3]}, "ball", slack=[0.05])
    catch |= {"restitution": restitution} if restitution > 0.0 else {}
    spring = {"between": [{"body": "world", "point": [1, 0, 0]}, {"body": "ball"}], "stiffness": 80, "rest_length": 1}
    scene = {
        "bodies": {"cart": body(2.0, 0.05), "arm": body(1.0, 0.05), "ball": body(1.3, 0.05)},
        "joints": {"cart": cart, "arm": arm, "elbow": elbow},
        "springs": {"s": spring},
        "constraints": {"rope": catch},
        "simulation": {"duration": 0.6, "step": step, "method": method},
        "output": {"every": 0.001},
    }
    if METHODS[method].own_integrator is None:
        scene["simulation"]["integrator"] = "rk4"
    if loop:
        crank = hinge("rod", 1.0, 0.0, "cart", q=0.2) | {"child_origin": {"position": [0, 0, 0.7]}}
        scene["bodies"]["rod"], scene["joints"]["crank"] = body(0.7, 0.05), crank
        link = [{"body": "arm", "point": [0, 0, -0.1]}, {"body": "rod"}]
        scene["constraints"]["link"] = {"type": "distance", "path": link, "length": 1.199}
    return scene


CATCHES = [(name, 0.0, loop) for name in METHODS for loop in (False, True)]
CATCHES += [(name, 0.5, True) for name in RUNGE_KUTTA]


@pytest.mark.parametrize(("method", "restitution", "loop"), CATCHES)
@pytest.mark.filterwarnings("ignore")  # the loop is assembled
def test_the_ledger_of_catches_has_the_order_of_the_method(tmp_path, method, restitution, loop):
    """Catches and rebounds, with the work of a drive and through a loop, leave no error of first order."""
    left = []
    for step in (1e-3, 5e-4):
        sink = MemorySink()
        prepared(tmp_path, driven_cart(method, step, restitution, loop)).run(sink)
        found = sink.trajectory()
        assert found.channel("energy/dissipation/constraints/rope").values[-1] > 2.0
        left.append(np.abs(found.channel("energy/ledger_residual").values).max())
    bound, ratio = (1e-5, 8.0) if method in RUNGE_KUTTA else (0.02, 3.5)
    assert left[0] < bound
    assert left[1] < left[0] / ratio
