"""Equivalent values: the nearest one is compared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from multibody_cli.comparison.differences import EQUIVALENCES, nearest_equivalent

NUMBERS = st.floats(-20.0, 20.0).map(lambda number: round(number, 6))


def rows(count: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(NUMBERS, min_size=count, max_size=count).map(lambda row: np.array([row]))


@given(rows(4), rows(4))
def test_the_nearer_of_two_equivalent_quaternions_is_compared(result, reference):
    nearest = nearest_equivalent(result, reference, "sign")
    assert np.array_equal(np.abs(nearest), np.abs(result))
    assert np.array_equal(nearest, result) or np.array_equal(nearest, -result)
    assert np.linalg.norm(nearest - reference) <= np.linalg.norm(-nearest - reference) + 1e-12


@given(rows(1), rows(1))
def test_whole_turns_are_equivalent(result, reference):
    nearest = nearest_equivalent(result, reference, "turn")
    turns = (nearest - result) / math.tau
    assert turns == pytest.approx(np.round(turns), abs=1e-12)
    assert np.all(np.abs(nearest - reference) <= math.pi + 1e-9)


@given(rows(3), rows(3))
def test_the_nearest_equivalent_rotation_vector_is_compared(result, reference):
    nearest = nearest_equivalent(result, reference, "rotation")
    turned = Rotation.from_rotvec(nearest[0]) * Rotation.from_rotvec(result[0]).inv()
    assert turned.magnitude() == pytest.approx(0.0, abs=1e-7)
    size = np.linalg.norm(result)
    # no rotation at all is a whole turn about any axis, also about that of the reference
    axis = result / size if size > 0.0 else reference / max(np.linalg.norm(reference), 1e-300)
    others = [axis * (size + math.tau * turns) for turns in range(-12, 13)]
    least = min(np.linalg.norm(other - reference) for other in others)
    assert np.linalg.norm(nearest - reference) <= least + 1e-9


@given(rows(3), rows(3), rows(3), rows(3))
def test_each_rotation_vector_has_its_own_turns(first, second, one, other):
    together = nearest_equivalent(np.hstack([first, second]), np.hstack([one, other]), "rotation")
    apart = [nearest_equivalent(*pair, "rotation") for pair in ((first, one), (second, other))]
    np.testing.assert_array_equal(together, np.hstack(apart))


def test_each_component_has_its_own_equivalence():
    result = np.array([[7.0, 7.0, math.tau + 0.1, 0.0, 0.0]])
    nearest = nearest_equivalent(
        result, np.array([[0.7, 0.7, 0.1, 0.0, 0.0]]), "turn, itself, rotation, rotation, rotation"
    )
    assert nearest[0] == pytest.approx([7.0 - math.tau, 7.0, 0.1, 0.0, 0.0])


@given(rows(3), st.sampled_from(sorted(EQUIVALENCES)))
def test_equal_numbers_stay_as_they_are(numbers, word):
    np.testing.assert_array_equal(nearest_equivalent(numbers, numbers, word), numbers)


def test_an_unknown_equivalence_allows_nothing():
    np.testing.assert_array_equal(nearest_equivalent(np.array([[7.0]]), np.array([[0.7]]), "later"), [[7.0]])


@pytest.mark.filterwarnings("ignore:invalid value")  # whoever asks sees to it
@pytest.mark.parametrize("word", sorted(EQUIVALENCES))
def test_nan_stays_nan(word):
    found = nearest_equivalent(np.array([[np.nan, 0.0, 1.0]]), np.zeros((1, 3)), word)
    assert np.isnan(found).any()
