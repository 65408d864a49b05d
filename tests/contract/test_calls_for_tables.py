"""Calls of one kernel for each array of a tuple that is not empty, as plain Python and compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from multibody_cli.kernel import EachNonempty, kernel
from multibody_cli.kernel.functions import with_globals


class _Tables(NamedTuple):
    tables: tuple[Any, ...]
    out: Any


@kernel
def _add_first(block, scale):
    block.out[0] += scale * block.tables[0][0]


@kernel
def _add_second(block, scale):
    block.out[0] += scale * block.tables[1][0, 1]


@kernel
def _sum_of_first(block, scale) -> float:
    return scale * block.tables[0][0]


@kernel
def _last_of_third(block, scale) -> float:
    return scale + len(block.tables[2])


_add_all = EachNonempty((_add_first, _add_second, None))
_sum_all = EachNonempty((_sum_of_first, None, _last_of_third))


@kernel
def _call_each(block, scale) -> float:
    _add_all(block.tables, block, scale)
    return _sum_all(block.tables, block, scale)


@pytest.mark.parametrize("empty", [(), (0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_each_nonempty_array_has_its_call(empty):
    """In the order of the arrays; the sum of results is 0 if all are empty."""
    full = [np.array([2.0, 5.0]), np.array([[3.0, 7.0]]), np.zeros(4, np.dtype([("a", "i8")]))]
    tables = tuple(one[:0] if k in empty else one for k, one in enumerate(full))
    block = _Tables(tables, np.zeros(1))
    assert _call_each(block, 10.0) == 20.0 * (0 not in empty) + 14.0 * (2 not in empty)
    assert block.out[0] == 20.0 * (0 not in empty) + 70.0 * (1 not in empty)


def test_a_digest_covers_the_functions_of_arrays():
    calls = [(_add_first, None), (None, _add_first), (_add_second, None), (_add_first, _add_second)]
    callers = [kernel(with_globals(_call_each.py_func, {"_add_all": EachNonempty(one)})) for one in calls]
    assert len({caller.reach.digest for caller in callers}) == len(calls)
