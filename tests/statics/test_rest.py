"""Positions of rest by contacts and dry friction: forces by balance, and limits of friction by closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import RunFailed

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")


def test_a_table_on_four_legs_comes_to_rest_on_the_floor() -> None:
    legs = ", ".join(
        f"{{type: sphere, radius: 0.02, position: [{x}, {y}, -0.3]}}" for x in (-0.4, 0.4) for y in (-0.3, 0.3)
    )
    found = mbsim.equilibrium(f"""mbsim: 1
bodies: {{table: {{mass: 8, inertia: {{principal: [0.5, 0.5, 1]}}, shapes: [{legs}], position: [0, 0, 0.35]}}}}
world: {{shapes: [{{type: plane}}]}}
contacts: {{friction: 0.5}}
simulation: {{duration: 1 s, step: 2 ms}}
""")
    assert (found.stability, found["table/2"]) == ("stable", pytest.approx(0.32, abs=1e-5))
    np.testing.assert_allclose(found.contacts["world:table"], [0, 0, 8 * 9.81], atol=1e-6)


def ladder(angle: float, friction: float) -> str:
    """Return a ladder of 2 m, whose ends are spheres, between a floor and a wall at the angle from the floor."""
    x, z = math.cos(angle), math.sin(angle)
    ends = ", ".join(f"{{type: sphere, radius: 0.01, position: [{s}, 0, 0]}}" for s in (-1, 1))
    return f"""mbsim: 1
bodies:
  ladder: {{mass: 10, inertia: {{principal: [0.1, 3, 3]}}, shapes: [{ends}], position: [{-x}, 0, {z}],
           rotation: {{axis: [0, -1, 0], angle: {angle}}}}}
world:
  shapes:
    - {{type: plane, position: [0, 0, -0.01]}}
    - {{type: plane, position: [0.01, 0, 0], rotation: {{axis: [0, -1, 0], angle: {math.pi / 2}}}}}
contacts: {{friction: {friction}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""


def test_a_ladder_holds_up_to_the_angle_of_friction() -> None:
    """With one coefficient m at both ends it holds if tan(angle) >= (1 - m^2)/(2 m)."""
    m = 0.4
    limit = math.atan((1 - m * m) / (2 * m))
    start = mbsim.equilibrium(ladder(limit + 0.01, m))
    assert (start.held, np.abs(start.changes).max()) == (True, pytest.approx(0.0, abs=1e-9))
    np.testing.assert_allclose(start.contacts["world:ladder"], [0, 0, 98.1], atol=1e-5)
    slid = mbsim.equilibrium(ladder(limit - 0.01, m))
    assert slid.held
    assert slid["ladder/2"] < 0.1  # on the floor


def test_a_ball_that_falls_without_end_has_no_position_of_rest() -> None:
    text = """mbsim: 1
bodies: {ball: {mass: 1, shapes: [{type: sphere, radius: 0.1}], position: [3, 0, 1]}}
world: {shapes: [{type: box, size: [1, 1, 1]}]}
contacts: {}
simulation: {duration: 1 s, step: 10 ms}
"""
    with pytest.raises(RunFailed, match=r"no equilibrium at t = 0 s: the motion does not come to rest .*; ball/2"):
        mbsim.equilibrium(text)


def test_the_motion_that_nothing_stops_is_named() -> None:
    """Of two blocks on rails with dry friction of 3 N, a force of 3.1 N drives one without end."""
    blocks = "mass: 1, inertia: {principal: [1, 1, 1]}"
    rail = "type: prismatic, axis: [1, 0, 0], friction: {force: 3}"
    text = f"""mbsim: 1
bodies: {{a: {{{blocks}}}, b: {{{blocks}}}}}
joints: {{held: {{{rail}, child: a, force: 2.9}}, driven: {{{rail}, child: b, force: 3.1}}}}
simulation: {{duration: 1 s, step: 10 ms}}
"""
    with pytest.raises(RunFailed, match="; driven moves fastest then: check that"):
        mbsim.equilibrium(text)


def test_a_block_on_rails_stops_within_the_band_of_its_friction() -> None:
    """A spring of 100 N/m moves a block until dry friction of 3 N holds it: |q| <= 0.03 m; inside, it stays."""
    text = """mbsim: 1
gravity: [0, 0, 0]
bodies: {{block: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{rail: {{type: prismatic, axis: [1, 0, 0], child: block, stiffness: 100, friction: {{force: 3}}, q: {}}}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""
    inside, outside = mbsim.equilibrium(text.format(0.02)), mbsim.equilibrium(text.format(0.2))
    assert (inside["rail"], inside.stability, inside.set_dimension) == (0.02, "stable", 1)
    assert abs(outside["rail"]) <= 0.03 + 1e-9
