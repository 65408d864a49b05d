"""A peer for one slide: the acceleration of gravity along its axis."""

from __future__ import annotations

import time

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import Mechanism, PeerKind


class Slide:
    """One body on a slide."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism

    def accelerations(self) -> Floats:
        """Return the acceleration of the coordinate."""
        [link] = self._mechanism.links
        return np.array([self._mechanism.gravity @ link.rotation @ link.pieces[0].axis])

    def evaluate(self, count: int) -> float:
        """Compute the acceleration `count` times."""
        began = time.perf_counter()
        for _ in range(count):
            self.accelerations()
        return time.perf_counter() - began

    def advance(self, count: int) -> float:
        """Take `count` steps: a parabola needs none."""
        return self.evaluate(count)


BY_HAND = PeerKind("by_hand", "python", "math", Slide, {"semi_implicit_euler": "parabola"}, "a scalar product")
