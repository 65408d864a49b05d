"""Closed loops at one instant: three methods agree with a dense formulation from poses alone."""

from __future__ import annotations

import numpy as np
import pytest
from constraint_rows import Rows
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from loops import (
    KINDS,
    THREE,
    Driver,
    RandomLoops,
    accelerations_of,
    drive,
    n_dofs,
    oracle_of,
    random_body,
    random_joint,
    set_rates,
    start,
)
from structured import any_loops

from multibody_cli.methods import METHODS

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


@st.composite
def driven_trees(draw) -> tuple[RandomLoops, Rows]:
    """Trees with a drive, whose coordinate is coupled to one or two others, and the row of the coupling."""
    kinds = draw(
        st.lists(st.sampled_from(("revolute", "prismatic", "universal", "cylindrical")), min_size=2, max_size=4)
    )
    parents = [draw(st.integers(0, k)) for k in range(len(kinds))]
    leader = draw(st.integers(0, len(kinds) - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = ["world", *(f"b{k}" for k in range(1, len(kinds) + 1))]
    joints = {f"j{k}": random_joint(rng, kind, names[parents[k]], names[k + 1]) for k, kind in enumerate(kinds)}
    drivers: dict[tuple[str, int], Driver] = {}
    drive(rng, f"j{leader}", joints[f"j{leader}"], drivers)
    places = [(name, k) for name, joint in joints.items() for k in range(n_dofs(joint))]
    followers = rng.permutation([k for k, place in enumerate(places) if place not in drivers])
    chosen = [next(iter(drivers)), *(places[k] for k in followers[: draw(st.integers(1, 2))])]
    words = [f"{name}/{k}" if n_dofs(joints[name]) > 1 else name for name, k in chosen]
    terms = dict(zip(words, (rng.uniform(0.4, 1.5, 3) * rng.choice([-1, 1], 3)).tolist(), strict=False))
    value = sum(c * joints[name]["q"][k] for (name, k), c in zip(chosen, terms.values(), strict=True))
    scene = {"gravity": (5 * rng.normal(size=3)).tolist(), "joints": joints}
    scene["bodies"] = {name: random_body(rng) for name in names[1:]}
    row = Rows("linear", {"terms": terms})
    set_rates(rng, scene, drivers, (row,))
    scene["couplings"] = {"mesh": {"type": "linear", "terms": terms, "value": value}}
    return RandomLoops(scene, drivers), row


@settings(max_examples=25)
@given(driven_trees())
def test_coupled_drives_agree_with_the_oracle_in_every_method(machine):
    tree, row = machine
    for method in METHODS:
        run = start(tree.scene, method)
        loops, v = oracle_of(run, (row,))
        expected = loops.solve(v, tree.given(0.0))
        assume(expected.is_sharp)
        size = 1.0 + np.abs(expected.a).max()
        np.testing.assert_allclose(accelerations_of(run, loops), expected.a, rtol=0, atol=ACCELERATIONS * size)
