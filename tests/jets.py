"""Matrices that are functions of time, with their first two derivatives, along many directions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Jet:
    """value (m, k), first and second derivative (directions, m, k)."""

    value: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __matmul__(self, other: Jet) -> Jet:
        return Jet(
            self.value @ other.value,
            self.first @ other.value + self.value @ other.first,
            self.second @ other.value + 2 * (self.first @ other.first) + self.value @ other.second,
        )

    def __add__(self, other: Jet) -> Jet:
        return Jet(self.value + other.value, self.first + other.first, self.second + other.second)

    def times(self, matrix: np.ndarray) -> Jet:
        """Times a constant matrix."""
        return Jet(self.value @ matrix, self.first @ matrix, self.second @ matrix)
