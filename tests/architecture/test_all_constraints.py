"""All kinds of constraints compile in one scene, and their step has the energy that its ledger says."""

from __future__ import annotations

import pytest
from constrained_machines import CASES, all_machines
from loops import start


@pytest.mark.compiled
def test_a_step_with_every_kind_of_constraint_has_its_energy() -> None:
    scene = all_machines()
    assert len(scene["bodies"]) == 4 * len(CASES)
    assert len(scene["constraints"]) + len(scene["couplings"]) == len(CASES)
    run = start(scene, step=1e-3)
    before, _ = run.energy()
    after, balance = run.advance(1e-3).energy()
    assert abs(after - before) > 1e-3
    assert abs(balance - before) < 1e-4 * abs(after - before)
