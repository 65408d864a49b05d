"""Equivalent values of a channel: the two signs of a quaternion, angles modulo 2 pi.

To add an equivalence, add an entry to `EQUIVALENCES`; its key is the value of `Channel.same`.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from multibody_cli.model import Floats


def nearest_equivalent(result: Floats, reference: Floats, same: str) -> Floats:
    """Replace values by the equivalent values nearest to the reference.

    Parameters
    ----------
    result, reference
        (K, ..., n) values of one channel at K instants.
    same
        Equivalence of the channel: one key for all n components, or a comma-separated list.
    """
    words = [word.strip() for word in same.split(",")]
    if len(words) == 1:
        return EQUIVALENCES.get(words[0], _itself)(result, reference)
    nearest, start = result.copy(), 0
    for word, run in groupby(words):
        columns = slice(start, start + len(list(run)))
        nearest[..., columns] = EQUIVALENCES.get(word, _itself)(result[..., columns], reference[..., columns])
        start = columns.stop
    return nearest


def _itself(result: Floats, reference: Floats) -> Floats:
    return result


def _sign(result: Floats, reference: Floats) -> Floats:
    """Return q or -q, which represent the same rotation, whichever is nearer to the reference."""
    agreement = np.einsum("...i,...i->...", result, reference)[..., None]
    nearer: Floats = np.where(agreement < 0.0, -result, result)
    return nearer


def _turn(result: Floats, reference: Floats) -> Floats:
    """Subtract whole turns from an angle such that it is nearest to the reference."""
    turns = np.round((result - reference) / math.tau)
    # an angle without a whole turn is unchanged to the last bit
    nearer: Floats = np.where(turns == 0.0, result, result - math.tau * turns)
    return nearer


def _rotation(result: Floats, reference: Floats) -> Floats:
    """Return the rotation vector r (1 + 2 pi k / |r|) of the same rotation nearest to the reference."""
    vectors, references = (numbers.reshape(*numbers.shape[:-1], -1, 3) for numbers in (result, reference))
    angle, size = (np.linalg.norm(numbers, axis=-1, keepdims=True) for numbers in (vectors, references))
    # the identity equals whole turns about any axis
    direction = np.where(angle > 0.0, vectors, references)
    axis = direction / np.where(angle > 0.0, angle, np.where(size > 0.0, size, 1.0))
    turns = np.round((np.einsum("...i,...i->...", axis, references)[..., None] - angle) / math.tau)
    nearer: Floats = np.where(turns == 0.0, vectors, vectors + math.tau * turns * axis)
    return nearer.reshape(result.shape)


EQUIVALENCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "": _itself,
    "itself": _itself,
    "sign": _sign,
    "turn": _turn,
    "rotation": _rotation,
}
"""Functions by value of `same`: (result, reference) -> equivalent of the result nearest to the reference."""
