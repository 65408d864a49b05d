"""Compact binary data of a page: numbers of 16 bits, differences from instant to instant, and deflate.

The bytes are a concatenation of arrays; a descriptor (type, shape, offset) in the header of the page locates each.
Positions are stored relative to their range, with an error of at most 1/131070 of it.  Of a unit quaternion the three
smallest components are stored; the rotation differs from the given one by at most `ROTATION_BOUND`.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody_cli.model import Floats

LEVELS = 65535
ROTATION_BOUND = 8e-5
"""Largest angle between a decoded and the given rotation, rad.

Each of the three components is off by at most r = sqrt(2) / 2 / 65535; the largest follows from the norm and is at
least 1/2, so that the quaternion is off by at most 2 sqrt(3) r, and the angle by twice that.
"""

Words = NDArray[np.uint16]


class Binary:
    """Arrays, one after the other."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._known: dict[bytes, int] = {}

    def add(self, array: NDArray[Any], kind: str) -> dict[str, Any]:
        """Add an array in a format of NumPy, as `<f4`; return its descriptor.  Equal arrays are stored once."""
        return self._descriptor(np.ascontiguousarray(array, dtype=kind).tobytes(), kind, array.shape)

    def add_series(self, words: Words) -> dict[str, Any]:
        """Add an array (T, ...) whose rows change little from one to the next; return its descriptor.

        Differences modulo 2^16 are mapped to 0, -1, 1, -2, ... -> 0, 1, 2, 3, ...; the high bytes of all columns come
        before the low bytes, and each column is contiguous.
        """
        columns = words.reshape(len(words), int(np.prod(words.shape[1:]))).T.astype(np.int64)
        change = np.diff(columns, axis=1, prepend=0)
        change = (change + 32768) % 65536 - 32768
        folded = np.where(change >= 0, 2 * change, -2 * change - 1)
        content = (folded >> 8).astype(np.uint8).tobytes() + (folded & 255).astype(np.uint8).tobytes()
        return self._descriptor(content, "series", words.shape)

    def _descriptor(self, content: bytes, kind: str, shape: tuple[int, ...]) -> dict[str, Any]:
        if content not in self._known:
            self._known[content] = self._size
            content_and_gap = content + bytes(-len(content) % 8)
            self._parts.append(content_and_gap)
            self._size += len(content_and_gap)
        return {"type": kind, "shape": list(shape), "offset": self._known[content]}

    def compressed(self) -> bytes:
        """Return all arrays, deflated."""
        return zlib.compress(b"".join(self._parts), 9)


def quantized(values: Floats) -> tuple[Words, Floats, Floats]:
    """Return values (T, ...) as words of 16 bits, with the offset and the step (...) of each column.

    A value is offset + step * word, to half a step.  A value that is not finite is stored as the offset.
    """
    finite = np.isfinite(values)
    low = np.where(finite, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, values, -np.inf).max(axis=0, initial=-np.inf)
    low, high = (np.where(np.isfinite(one), one, 0.0) for one in (low, high))
    step = (high - low) / LEVELS
    words = np.round((np.where(finite, values, low) - low) / np.where(step > 0.0, step, 1.0))
    return words.astype(np.uint16), low, step


def smallest_three(quaternion: Floats) -> tuple[Words, Words]:
    """Return the smallest components of unit quaternions (..., 4) as words (..., 3), and the index of the largest.

    The components lie between -1/sqrt(2) and 1/sqrt(2); the signs are those for which the largest is positive.
    """
    largest = np.argmax(np.abs(quaternion), axis=-1)
    sign = np.sign(np.take_along_axis(quaternion, largest[..., None], axis=-1))
    order = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    rest = np.take_along_axis(quaternion * sign, order[largest], axis=-1)
    words = np.round((np.clip(rest * np.sqrt(2.0), -1.0, 1.0) + 1.0) * (LEVELS / 2.0))
    return words.astype(np.uint16), largest.astype(np.uint16)
