"""Displacements that remove penetration, as plain Python: unsolved steps count."""

from __future__ import annotations

import warnings

import pytest

import mbsim
from multibody_cli.contact_solver import penetration
from multibody_cli.kernel.mode import interpreted
from multibody_cli.linalg.multipliers import UNFINISHED

SUNKEN = """
mbsim: 1
name: sunken
world: {shapes: [{type: plane}]}
contacts: {}
bodies: {cube: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.0999999]}}
simulation: {duration: 6 ms, step: 2 ms}
output: {every: 2 ms}
"""
"""The first step removes the penetration of 1e-7 m."""


@pytest.mark.parametrize("solved", [True, False])
def test_a_displacement_that_is_not_solved_counts_as_an_unsolved_step(monkeypatch, solved):
    """With its residual; impulses alone meet the tolerance in all steps.

    A displacement with a large residual is left out, so that each of the three steps tries again.
    """
    solve, steps = penetration.solve_proximal, []

    def solve_or_not(F, options, x, S):
        report = solve(F, options, x, S)
        steps.append(len(x))
        return report if solved else report._replace(status=UNFINISHED, residual=0.25)

    monkeypatch.setattr(penetration, "solve_proximal", solve_or_not)
    with interpreted(), warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        run = mbsim.load(SUNKEN).run()
    assert len(steps) == (1 if solved else 3)
    assert ("in 3 some penetration is not removed" in str(run.attrs["message"])) == (not solved)
    assert run["contacts/unsolved"].values.sum() == (0 if solved else 3)
    assert run["contacts/residual"].values.max() == (pytest.approx(0.0, abs=1e-10) if solved else 0.25)
