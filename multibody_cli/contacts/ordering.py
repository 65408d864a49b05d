"""Counting sort of pairs, linear in the numbers of pairs and of geoms."""

from __future__ import annotations

from multibody_cli.kernel import kernel


@kernel
def sort_pairs(pairs, count, places, spare):
    """Sort the first `count` rows of `pairs` (np, 2), by the first number, then by the second.

    `places` (n + 1,) with n above all numbers, and `spare` (np, 2), are scratch.
    """
    _sort_by(1, pairs, count, places, spare)
    _sort_by(0, spare, count, places, pairs)  # equal ones keep their order


@kernel
def _sort_by(column, pairs, count, places, ordered):
    for i in range(len(places)):
        places[i] = 0
    for k in range(count):
        places[pairs[k, column] + 1] += 1
    for i in range(1, len(places)):
        places[i] += places[i - 1]
    for k in range(count):
        i = pairs[k, column]
        ordered[places[i], 0] = pairs[k, 0]
        ordered[places[i], 1] = pairs[k, 1]
        places[i] += 1
