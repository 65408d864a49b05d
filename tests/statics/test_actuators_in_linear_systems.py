"""Filtered and sampled actuators in modes, linear systems and equilibria."""

from __future__ import annotations

import pytest

import mbsim

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

HEAD = "mbsim: 1\nsimulation: {duration: 1 s, step: 1 ms}\n"


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ("filter: 50 ms", "has no states of filters: activations are constant, "),
        ("rate: 20 Hz", "keeps the values that sampled controllers hold, of `actuators.m`"),
        ("rate: 20 Hz, filter: 50 ms", "has no states of filters: activations are constant, "),
    ],
)
def test_actuators_whose_states_are_left_out_are_named(fields: str, remark: str) -> None:
    """A mass with a force of -100 q by a filter has 0.05 s^3 + 1.05 s^2 + s + 100 = 0, no exponents -1 and 0."""
    scene = f"""{HEAD}gravity: [0, 0, 0]
bodies: {{a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{x: {{type: prismatic, axis: [1, 0, 0], child: a, damping: 1, q: 0.1}}}}
actuators: {{m: {{type: general, joint: x, force: "-100*q", {fields}}}}}
"""
    for verb, remarks in (("modes", mbsim.modes(scene).remarks), ("linearize", mbsim.linearize(scene).remarks)):
        assert [one.startswith(f"`{verb}` {remark}") for one in remarks] == [True]
        assert remarks[0].endswith("of `actuators.m`")
