"""Closed loops at one instant: three methods agree with a dense formulation from poses alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from loops import KINDS, THREE, RandomLoops, accelerations_of, oracle_of, start
from structured import any_loops

ACCELERATIONS, REACTIONS = 1e-9, 1e-7
"""Differences that are allowed, of the largest acceleration and the largest reaction; some 1e-11 are found."""


def require_agreement(machine: RandomLoops) -> None:
    """Of positions, rates, accelerations, and those reactions that the equations determine."""
    for method in THREE:
        run = start(machine.scene, method)
        loops, v = oracle_of(run)
        error, G, _ = loops.rows(v)
        assert np.abs(error).max(initial=0.0) < 1e-11
        assert np.abs(G @ v).max(initial=0.0) < 1e-8
        expected = loops.solve(v, machine.given(0.0))
        assume(expected.is_sharp)
        size, force = 1.0 + np.abs(expected.a).max(), 1.0 + np.abs(expected.multipliers).max()
        np.testing.assert_allclose(accelerations_of(run, loops), expected.a, rtol=0, atol=ACCELERATIONS * size)
        for name in loops.hinges:
            reaction, determined = expected.reaction(name)
            found = run.joint(name, "reaction")[determined]
            np.testing.assert_allclose(found, reaction[determined], rtol=0, atol=REACTIONS * force)


@settings(max_examples=40)
@given(any_loops())
def test_methods_and_oracle_agree(machine):
    require_agreement(machine)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_that_is_closed_by_a_joint_of_each_kind(kind):
    @settings(max_examples=6)
    @given(any_loops(closing=kind, max_bodies=3))
    def check(machine):
        require_agreement(machine)

    check()


@pytest.mark.parametrize("method", THREE)
def test_a_loop_joint_without_constraint_rows_still_applies_its_forces(method):
    """A free joint beside a slider closes a loop without constraint rows; its actuator and damper apply forces."""
    body = {"mass": 2.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    joints = {
        "slide": {"type": "prismatic", "child": "b", "v": 3.0},
        "beside": {"type": "free", "child": "b", "force": [0, 0, 7, 0, 0, 0], "damping": 0.5},
    }
    run = start({"gravity": [0, 0, -10], "bodies": {"b": body}, "joints": joints}, method)
    expected = -10 + (7 - 0.5 * 3.0) / 2.0
    np.testing.assert_allclose(run.joint("slide", "acceleration"), expected, rtol=1e-12)
    np.testing.assert_allclose(run.joint("beside", "velocity"), [0, 0, 3.0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(run.joint("beside", "acceleration"), [0, 0, expected, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(run.joint("beside", "reaction"), [0, 0, 0, 0, 0, 5.5], atol=1e-12)
