"""Initial rates with reduced couplings and limits, and their recording."""

from __future__ import annotations

import numpy as np
import pytest
from loops import close_loops, start

BAR = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": {"principal": [0.02, 0.1, 0.1]}}
HINGE = {"type": "revolute", "axis": [0, 0, 1]}


def chain(**joints):
    """Three bars in a row, hinged about z; `joints` are fields of the hinges A, B, C."""
    places = {"A": {}, "B": {"parent": "a", "origin": {"position": [1, 0, 0]}}}
    places["C"] = {"parent": "b", "origin": {"position": [1, 0, 0]}}
    return {
        "bodies": {"a": BAR, "b": BAR, "c": BAR},
        "joints": {
            name: {**HINGE, "child": name.lower(), **place, **joints.get(name, {})} for name, place in places.items()
        },
    }


def gear(reduce):
    return {"couplings": {"g": {"type": "gear", "joints": ["B", "C"], "ratio": 2.0, "reduce": reduce}}}


def test_a_reduced_coupling_has_no_samples():
    run = start(chain(A={"v": 1.0}) | gear(True))
    assert run.observed().multiplier.shape == (1, 0)


def test_a_reduced_coupling_starts_like_its_constraint():
    driven = chain(A={"motion": {"velocity": 1.0}})
    rates = [start(driven | gear(reduce)).state.v for reduce in (False, True)]
    np.testing.assert_allclose(rates[1], rates[0], atol=1e-12)
    assert abs(rates[0][1]) > 0.1


def test_the_impulsive_start_respects_a_limit_that_is_reached():
    """B would turn backward, into its limit; the start leaves it at rest and C free."""
    free = start(chain(A={"motion": {"velocity": 1.0}}))
    assert free.state.v[1] < -0.1
    run = start(chain(A={"motion": {"velocity": 1.0}}, B={"limits": [0, 1]}))
    assert run.state.v[1] == pytest.approx(0.0, abs=1e-12)
    assert run.state.ledger == pytest.approx(0.0, abs=1e-12)
    # the free momentum of C vanishes: its rate is that of the chain with B locked
    locked = chain(A={"motion": {"velocity": 1.0}})
    locked["joints"]["B"] |= {"v": 0.0}
    assert run.state.v[2] == pytest.approx(start(locked).state.v[2], rel=1e-12)


def test_a_limit_alone_does_not_change_rates_that_a_scene_leaves_out():
    """A is between its limits, or leaves one: B and C start at rest, as without limits."""
    for limits in ([-1, 1], [0, 1]):
        np.testing.assert_array_equal(start(chain(A={"v": 1.0, "limits": limits})).state.v, [1.0, 0.0, 0.0])


@pytest.mark.parametrize("tilt", [1e-9, 1e-8, 1e-7])
def test_given_rates_are_kept_where_rows_contradict_them_by_round_off(tilt):
    """A hinge of a parallelogram is tilted by round-off: strictly, the rows across the plane allow no motion."""
    place = {"position": [1, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": tilt}}
    scene = {
        "bodies": {"crank": BAR, "rod": BAR, "rocker": BAR},
        "joints": {
            "A": {**HINGE, "child": "crank", "q": np.pi / 2, "v": -2.0},
            "B": {**HINGE, "parent": "crank", "child": "rod", "origin": place, "q": -np.pi / 2, "v": 2.0},
            "D": {**HINGE, "child": "rocker", "origin": {"position": [1, 0, 0]}, "q": np.pi / 2, "v": -2.0},
            "C": {**HINGE, "parent": "rod", "child": "rocker", "origin": {"position": [1, 0, 0]}, "q": 0.0},
        },
    }
    close_loops(scene)
    del scene["joints"]["C"]["q"]
    run = start(scene)
    np.testing.assert_allclose(run.state.v, [-2.0, 2.0, -2.0, -2.0], atol=2 * tilt)
