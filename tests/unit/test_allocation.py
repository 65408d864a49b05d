"""The arrays of a named tuple are allocated as its fields declare them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from multibody_cli.kernel import Flags, Floats, Integers, Records, allocate, interpreted

PAIR = np.dtype([("a", "f8", 3), ("b", "i8")])


class Inner(NamedTuple):
    numbers: Annotated[Integers, "m", 2]
    triangle: Annotated[Floats, "m * (m + 1) // 2"]
    tolerance: float = 0.5


class Outer(NamedTuple):
    matrix: Annotated[Floats, "n", "m"]
    flags: Annotated[Flags, 3]
    pairs: Annotated[Records, "n", PAIR]
    inner: Inner
    other: Floats  # without a shape, it is not allocated


def test_arrays_have_the_declared_shapes_and_are_zero():
    work = allocate(Outer, n=4, m=3, other="given")
    assert (work.matrix.shape, work.matrix.dtype) == ((4, 3), np.float64)
    assert (work.flags.shape, work.flags.dtype) == ((3,), np.bool_)
    assert (work.pairs.shape, work.pairs.dtype) == ((4,), PAIR)
    assert (work.inner.numbers.shape, work.inner.numbers.dtype) == ((3, 2), np.int64)
    assert work.inner.triangle.shape == (6,)
    assert work.other == "given"
    assert work.inner.tolerance == 0.5
    assert not any(array.any() for array in (work.matrix, work.flags, work.pairs["a"], work.inner.numbers))


def test_fields_that_are_given_are_not_allocated():
    matrix, inner = np.ones((2, 2)), Inner(np.zeros((9, 2), np.int64), np.zeros(1), 1.0)
    work = allocate(Outer, n=4, matrix=matrix, inner=inner, other=None)
    assert work.matrix is matrix
    assert work.inner is inner


def test_each_allocation_has_memory_of_its_own():
    work = allocate(Outer, n=4, m=3, other=None)
    again = allocate(Outer, n=4, m=3, other=None)
    assert not np.shares_memory(work.matrix, again.matrix)


def test_records_have_attributes_in_interpreted_mode():
    with interpreted():
        assert allocate(Outer, n=2, m=1, other=None).pairs[1].a.shape == (3,)


def test_a_missing_size_or_field_is_an_error():
    with pytest.raises(KeyError, match="m"):
        allocate(Outer, n=4, other=None)
    with pytest.raises(TypeError, match="other"):
        allocate(Outer, n=4, m=3)


def test_a_size_that_no_field_declares_is_an_error():
    with pytest.raises(TypeError, match="Outer has no size or field k"):
        allocate(Outer, n=4, m=3, k=2, other=None)
