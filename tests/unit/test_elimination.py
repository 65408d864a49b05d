"""The elimination tree of a mechanism: primary constraints, and parents of bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from multibody_cli.packing.body_order import inboard_joints_for, plan_elimination


@st.composite
def mechanisms(draw):
    """A number of bodies, and pairs of them and of the ground, in any order and with repetitions."""
    count = draw(st.integers(1, 12))
    body = st.integers(0, count)
    return count, draw(st.lists(st.tuples(body, body).filter(lambda pair: pair[0] != pair[1]), max_size=20))


def components(count, pairs):
    """The component of every body and of the ground."""
    a, b = (list(side) for side in zip(*pairs, strict=True)) if pairs else ([], [])
    return connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(count + 1, count + 1)), directed=False)


def auxiliary(plan, pairs):
    """The constraints that are not primary."""
    return sorted(set(range(len(pairs))) - set(plan.constraints.tolist()))


@given(mechanisms())
def test_primary_constraints_form_a_spanning_tree(mechanism):
    count, pairs = mechanism
    plan = plan_elimination(count, pairs)
    primary = sorted(plan.constraints[plan.constraints >= 0].tolist())
    assert len(set(primary)) == len(primary)
    assert len(primary) == count + 1 - components(count, pairs)[0]
    for k in auxiliary(plan, pairs):  # earlier entries of the scene have precedence
        _, component = components(count, pairs[:k])
        assert component[pairs[k][0]] == component[pairs[k][1]]


@given(mechanisms())
def test_parents_stand_before_children_and_constraints_between_them(mechanism):
    """Every constraint of the tree has its child body below it: it is never a leaf."""
    count, pairs = mechanism
    plan = plan_elimination(count, pairs)
    assert sorted(plan.bodies) == list(range(count + 1))
    assert plan.bodies[0] == 0
    assert plan.constraints[0] == -1
    chosen = plan.constraints[plan.constraints >= 0]
    assert len(set(chosen)) == len(chosen)
    _, component = components(count, pairs)
    for row in range(1, count + 1):
        body, parent, k = plan.bodies[row], plan.bodies[plan.parents[row]], plan.constraints[row]
        assert plan.parents[row] < row
        if k >= 0:
            assert set(pairs[k]) == {body, parent}
        else:
            assert parent == 0
            assert component[body] != component[0]


def test_a_second_pin_closes_a_loop_through_the_world():
    """A chain pinned at both ends hangs from the pin that comes first in the scene, wherever that is."""
    pairs = [(1, 2), (2, 3), (3, 0), (0, 1)]
    plan = plan_elimination(3, pairs)
    assert plan.bodies.tolist() == [0, 3, 2, 1]
    assert plan.parents.tolist() == [0, 0, 1, 2]
    assert plan.constraints.tolist() == [-1, 2, 1, 0]
    assert auxiliary(plan, pairs) == [3]


def test_the_last_constraint_of_a_cycle_is_auxiliary():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1)]
    plan = plan_elimination(4, pairs)
    assert auxiliary(plan, pairs) == [4]
    assert plan.parents.tolist() == [0, 0, 1, 2, 3]


def test_components_without_ground_constraint_are_floating():
    plan = plan_elimination(4, [(2, 1), (3, 4), (4, 0)])
    assert plan.bodies.tolist() == [0, 4, 3, 1, 2]
    assert plan.constraints.tolist() == [-1, 2, 1, -1, 0]
    assert plan.parents.tolist() == [0, 0, 1, 0, 3]


def test_chains_of_any_length_are_planned():
    """No recursion: five thousand bodies in a row, each right below its parent."""
    count = 5000
    plan = plan_elimination(count, [(i, i + 1) for i in range(count)])
    np.testing.assert_array_equal(plan.parents[1:], np.arange(count))


@pytest.mark.parametrize("reverse", [False, True])
def test_inboard_joints_have_the_rows_of_their_constraint(reverse):
    pairs = [(1, 2), (0, 1)]
    spans = [(0, 5), (5, 8)]
    if reverse:
        pairs, spans = pairs[::-1], spans[::-1]
    inboard_joints = inboard_joints_for(plan_elimination(3, pairs), spans)
    assert inboard_joints["parent"].tolist() == [0, 0, 1, 0]
    assert inboard_joints["first_row"].tolist() == [0, 5, 0, 0]
    assert inboard_joints["last_row"].tolist() == [0, 8, 5, 0]
