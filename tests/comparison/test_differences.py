"""Differences of one dataset: numbers beyond their tolerance, by how much, where and when first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.comparison.differences import Differences
from multibody_cli.comparison.tolerance import Tolerance


def compared(reference, result, rtol=0.0, atol=1e-9, slabs=1) -> Differences:
    differences = Differences(Tolerance(rtol, atol, "here", "here"))
    one, other = np.asarray(reference), np.asarray(result)
    row = 0
    for part, partner in zip(np.array_split(one, slabs), np.array_split(other, slabs), strict=True):
        differences.add(part, partner, row)
        row += len(part)
    return differences


def test_largest_worst_and_first_differ():
    reference = [[1e6, 1.0], [1e6, 1.0], [1e6, 1.0]]
    result = [[1e6, 1.0 + 2e-6], [1e6, 1.0 + 5e-6], [1e6 + 1.5, 1.0]]
    found = compared(reference, result, rtol=1e-6, atol=0.0)
    assert (found.first.row, found.first.index) == (0, (1,))
    assert (found.worst.row, found.worst.index) == (1, (1,))
    assert (found.largest.row, found.largest.index) == (2, (0,))
    assert found.worst.excess == pytest.approx(5.0, rel=1e-6)
    assert found.largest.difference == 1.5
    assert (found.compared, found.exceeding) == (6, 3)


@given(st.integers(1, 6), st.lists(st.sampled_from([0.0, 0.5e-9, 2e-9, np.nan, np.inf]), min_size=6, max_size=6))
def test_slabs_do_not_change_the_differences(slabs, errors):
    reference = np.zeros(6)
    whole, cut = (compared(reference, reference + errors, slabs=count) for count in (1, slabs))
    assert str(cut) == str(whole)  # in words, where nan equals itself


def test_a_difference_of_just_the_tolerance_is_allowed():
    assert compared([1.0], [1.5], rtol=0.25, atol=0.25).exceeding == 0
    assert compared([1.0], [1.5 + 1e-15], rtol=0.25, atol=0.25).exceeding == 1


def test_without_tolerance_equal_numbers_alone_are_the_same():
    assert compared([0.0, 1.0], [-0.0, 1.0], atol=0.0).exceeding == 0
    found = compared([0.0, 1.0], [0.0, np.nextafter(1.0, 2.0)], atol=0.0)
    assert (found.exceeding, found.worst.excess) == (1, np.inf)


@pytest.mark.parametrize("one", [0.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("other", [0.0, np.nan, np.inf, -np.inf])
def test_nonfinite_numbers_equal_only_themselves(one, other):
    found = compared([0.0, one], [0.0, other], rtol=1e-6)
    same = one == other or (np.isnan(one) and np.isnan(other))
    assert found.exceeding == (0 if same else 1)
    if not same:
        assert found.first.row == 1
        assert found.first.difference == np.inf
        assert found.first.excess == np.inf


@pytest.mark.parametrize("tolerance", [np.nan, -1.0])
def test_a_nan_tolerance_allows_nothing(tolerance):
    assert compared([1.0, 1.0], [1.0, 1.1], atol=tolerance).exceeding == 1


def test_integers_are_compared_as_numbers():
    found = compared(np.array([3, 3]), np.array([3, 6]), atol=2.0)
    assert (found.exceeding, found.first.reference, found.first.result) == (1, 3.0, 6.0)


def test_nothing_differs_from_nothing():
    found = compared(np.zeros((0, 3)), np.zeros((0, 3)))
    assert (found.compared, found.exceeding, found.largest) == (0, 0, None)
