"""Numbers that differ and mean the same: two signs of a quaternion, whole turns of an angle.

To add one, add an entry to `EQUIVALENCES` under the word that channels carry as `same`.
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
    """Replace numbers by those that mean the same and lie nearest to the reference.

    Parameters
    ----------
    result, reference
        (K, ..., n) numbers of one channel at K instants.
    same
        Its attribute: one word for all n, or one for each, with commas between them.
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
    """Of q and -q, which are the same rotation, the one nearer to the reference."""
    agreement = np.einsum("...i,...i->...", result, reference)[..., None]
    nearer: Floats = np.where(agreement < 0.0, -result, result)
    return nearer


def _turn(result: Floats, reference: Floats) -> Floats:
    """Take off the whole turns between an angle and the reference."""
    turns = np.round((result - reference) / math.tau)
    # an angle that needs none stays as it is, to the last digit
    nearer: Floats = np.where(turns == 0.0, result, result - math.tau * turns)
    return nearer


def _rotation(result: Floats, reference: Floats) -> Floats:
    """Of the rotation vectors r (1 + 2 pi k / |r|) of one rotation, take the one nearest to the reference."""
    vectors, references = (numbers.reshape(*numbers.shape[:-1], -1, 3) for numbers in (result, reference))
    angle, size = (np.linalg.norm(numbers, axis=-1, keepdims=True) for numbers in (vectors, references))
    # no rotation at all is whole turns about any axis
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
"""What a word of `same` allows: (result, reference) to the equivalent of the result that is nearest."""
