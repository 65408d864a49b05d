"""The energy ledger closes for each kind of constraint, in machines whose drives and constraints do work."""

from __future__ import annotations

import pytest
from constrained_machines import BALL, CASES, machine
from loops import start

from multibody_cli.constraints import CONSTRAINTS, COUPLINGS


def test_every_kind_has_a_case():
    assert CASES.keys() == CONSTRAINTS.keys() | COUPLINGS.keys()


@pytest.mark.parametrize("kind", CASES)
def test_the_ledger_closes_at_the_order_of_the_integrator(kind):
    """RK4: half the step leaves at most an eighth of the residual, until it is round-off."""
    residuals = []
    for step in (4e-3, 2e-3):
        run = start(machine(kind), step=step)
        before, _ = run.energy()
        after, balance = run.advance(0.4).energy()
        residuals.append(abs(balance - before))
        assert abs(after - before) > 0.1  # work was done
    assert residuals[1] < max(residuals[0] / 8, 1e-12)
    assert residuals[0] < 1e-5


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
@pytest.mark.parametrize("order", [1, 2])
def test_a_prescribed_velocity_and_its_work_converge_with_the_order(method, order):
    """A ball is pulled at 1 + t: after 0.5 s it is at 0.625 m, and the ledger closes at the order of the method."""
    scene = {
        "bodies": {"ball": {**BALL, "position": [0, 0, 0]}},
        "constraints": {"it": {"type": "velocity", "terms": [{"body": "ball", "linear": [1, 0, 0]}], "value": "1 + t"}},
    }
    errors = []
    for step in (1e-2, 5e-3):
        run = start(scene, method, step=step, options={"order": order})
        before, _ = run.energy()
        _, balance = run.advance(0.5).energy()
        errors.append((abs(run.body("ball", "position")[0] - 0.625), abs(balance - before)))
        assert run.body("ball", "linear_velocity")[0] == pytest.approx(1.5, abs=1e-12)
    for coarse, fine in zip(*errors, strict=True):
        assert fine < max(0.55**order * coarse, 1e-12)
    assert errors[0][0] < 0.3 * 1e-2**order or errors[0][0] < 1e-12


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
@pytest.mark.parametrize("order", [1, 2])
def test_the_work_of_a_moving_length_converges_with_the_order(method, order):
    """A ball on a rod of the length 1.3 + 0.2 sin(3t) that swings: half the step leaves a half or a quarter."""
    ends = {"distance": [{"body": "world", "point": [0, 0, 2]}, {"body": "ball", "point": [0.1, 0, 0.1]}]}
    scene = {
        "bodies": {"ball": {**BALL, "position": [0.5, 0, 1]}},
        "constraints": {"it": {"type": "expression", "inputs": {"d": ends}, "value": "d - 1.3 - 0.2*sin(3*t)"}},
        "simulation": {"assembly_tolerance": 1.0},
    }
    residuals = []
    for step in (4e-3, 2e-3):
        run = start(scene, method, step=step, options={"order": order})
        before, _ = run.energy()
        after, balance = run.advance(0.4).energy()
        residuals.append(abs(balance - before))
    assert abs(after - before) > 1.0
    assert residuals[1] < 0.6**order * residuals[0]
    assert residuals[0] < {1: 0.5, 2: 1e-3}[order]
