"""Islands of a step: each is solved alone."""

from __future__ import annotations

import numpy as np
import pytest

import mbsim

HEAD = "mbsim: 1\nname: towers\nworld: {shapes: [{type: plane}]}\ncontacts: {friction: 0.5}\nbodies:\n"
TOWERS, LEVELS = 12, 4


def scene(*settings: str) -> mbsim.Scene:
    """Towers of boxes of different heights that slide and topple, each an island, and some islands that merge."""
    box = "shapes: [{type: box, size: [0.2, 0.2, 0.2], density: 500}]"
    boxes = [
        f"  b{i}_{j}: {{{box}, position: [{0.25 * i}, {0.02 * j}, {0.1 + 0.201 * j}], "
        f"velocity: {{linear: [{0.3 * (i % 3)}, 0, 0], angular: [0, 0, {i}]}}}}\n"
        for i in range(TOWERS)
        for j in range(1 + i % LEVELS)
    ]
    return mbsim.load(HEAD + "".join(boxes) + "simulation: {duration: 0.4 s, step: 2 ms}\n", [*settings])


@pytest.mark.filterwarnings("ignore::mbsim.SceneWarning")
@pytest.mark.parametrize("settings", [(), ("contacts.method=staggered_projections",)])
def test_an_island_uses_nothing_of_the_islands_before(settings):
    ends = []
    for soiled in (False, True):
        sim = mbsim.Simulation(scene(*settings))
        for _ in range(6):
            sim.step()
            if soiled:
                soil(sim._method.contact_work.island)
        ends.append(sim._memory.tobytes())
    assert ends[0] == ends[1]


def soil(arrays) -> None:
    """Overwrite the numbers of work arrays, but not constants, which are infinite."""
    for array in arrays:
        if isinstance(array, tuple):
            soil(array)
        elif array.dtype.kind == "f" and not np.isinf(array).any():
            array.fill(np.nan)
