"""The bytes of a run do not depend on where calls of compiled code end, which the clock decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli import prepare

SCENES = Path(__file__).parents[2] / "scenes"


def states_of(simulation, ends):
    """The numbers of the state after the steps `ends` of the step control, one call to each."""
    state, h = simulation.fresh_state(), simulation.scene.simulation.step
    method, found = simulation.method_for(state), {}
    method.start(state)
    for end in ends:
        method.advance(state, end * h)
        found[end] = np.concatenate([state.q, state.v, state.a, state.z, state.ledger])
    return found


@pytest.mark.parametrize(
    ("scene", "method", "integrator"),
    [
        ("bench/loop", "baraff", "dop853"),  # the projection at an instant has no factors of the instant before
        ("gallery/floating_ring", "aba", "dop853"),
        ("gallery/pulleys", "aba", "semi_implicit_euler"),  # states of ropes that count turns
        ("gallery/pulleys", "aba", "linearly_implicit_euler"),
        ("gallery/belts", "baraff", "semi_implicit_euler"),
    ],
)
def test_states_do_not_depend_on_the_lengths_of_calls(scene, method, integrator):
    settings = [f"simulation.method={method}", f"simulation.integrator={integrator}", "expect=[]"]
    simulation = prepare(SCENES / f"{scene}.yaml", settings)
    at_once = states_of(simulation, [20, 40])
    for ends in (range(1, 41), [3, 20, 21, 40], [7, 20, 33, 40]):
        found = states_of(simulation, ends)
        for end, numbers in at_once.items():
            np.testing.assert_array_equal(found[end], numbers)
