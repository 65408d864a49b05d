"""Orders of accuracy beside a spring with a damper and a muscle: Euler 1, variational steps and `sdirk2` 2."""

from __future__ import annotations

import numpy as np
import pytest
from loops import start

UNTIL = 0.08
ROD = {"mass": 2.0, "com": [0, 0, -0.25], "inertia": {"principal": [0.05, 0.05, 0.01]}}
SCENE = {
    "bodies": {"rod": ROD},
    "joints": {"hinge": {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": 0.4, "v": 1.0}},
    "springs": {
        "s": {
            "between": [{"body": "world", "point": [0.5, 0, -0.2]}, {"body": "rod", "point": [0, 0.1, -0.5]}],
            "stiffness": 400,
            "damping": 5,
            "rest_length": 0.3,
        }
    },
    "muscles": {
        "m": {
            "path": [{"body": "world", "point": [-0.3, 0, 0]}, {"body": "rod", "point": [0, 0, -0.4]}],
            "max_isometric_force": 50,
            "optimal_length": 0.5,
            "max_velocity": 10,
            "activation": "0.5 + 0.3*sin(20*t)",
        }
    },
}


def ended(method, integrator, h):
    """Final angle, rad, and residual of the ledger, J."""
    run = start(SCENE, method, integrator=integrator, step=h, duration=1.0)
    before = run.energy()[1]
    run.advance(UNTIL)
    return float(run.joint("hinge", "coordinates")[0]), run.energy()[1] - before


@pytest.fixture(scope="module")
def reference():
    angle, missed = ended("aba", "rk4", 5e-4)
    assert abs(missed) < 2e-8
    return angle


@pytest.mark.parametrize(
    ("method", "integrator", "order"),
    [
        ("aba", "semi_implicit_euler", 1),
        ("aba", "linearly_implicit_euler", 1),
        ("redmax", "linearly_implicit_euler", 1),
        ("baraff", "linearly_implicit_euler", 1),
        ("aba", "sdirk2", 2),
        ("variational", "rk4", 2),  # which has no say
        ("variational_maximal", "rk4", 2),
    ],
)
def test_errors_and_energy_residual_decrease_with_the_order(method, integrator, order, reference):
    found = [ended(method, integrator, h) for h in (4e-3, 2e-3)]
    errors, missed = ([abs(pair[k] - (reference, 0.0)[k]) for pair in found] for k in range(2))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)
    assert np.log2(missed[0] / missed[1]) > order - 0.3
