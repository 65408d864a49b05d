"""Prescribed motion of coordinates: position, velocity or acceleration as functions of time (hybrid dynamics).

A prescribed position sets q, v and dv/dt; a prescribed velocity sets v and dv/dt; a prescribed acceleration sets dv/dt
alone, and integration yields the rest.  Source: Sueda, notes 2.9 and 2.12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import kernel
from multibody_cli.signals import Signals, evaluate

POSITION, VELOCITY, ACCELERATION = 0, 1, 2

MOTION = np.dtype([("iq", "i8"), ("iv", "i8"), ("given", "i8"), ("signal", "i8"), ("row", "i8"), ("account", "i8")])
"""One row per prescribed coordinate: `given` is the derivative that the signal prescribes."""


class Motions(NamedTuple):
    """The prescribed coordinates of a model."""

    rows: NDArray[np.void]
    signals: Signals


@kernel
def prescribe(motions, t, q, v, a):
    """Set q, v and dv/dt of the prescribed coordinates at time t, in place."""
    for k in range(len(motions.rows)):
        motion = motions.rows[k]
        value, first, second = evaluate(motions.signals, motion.signal, t)
        if motion.given == POSITION:
            q[motion.iq], v[motion.iv], a[motion.iv] = value, first, second
        elif motion.given == VELOCITY:
            v[motion.iv], a[motion.iv] = value, first
        else:
            a[motion.iv] = value


@kernel
def prescribe_rates(motions, t, h, first_kick, v, rate):
    """Write the mean rates of the prescribed coordinates over a variational step from t.

    Given positions determine them.  `first_kick` is the share of the given accelerations that acts at its start.
    """
    for k in range(len(motions.rows)):
        motion = motions.rows[k]
        j = motion.iv
        value, _, _ = evaluate(motions.signals, motion.signal, t)
        end, _, _ = evaluate(motions.signals, motion.signal, t + h)
        if motion.given == POSITION:
            rate[j] = (end - value) / h
        elif motion.given == VELOCITY:
            rate[j] = 0.5 * (value + end)
        else:
            rate[j] = v[j] + 0.5 * first_kick * h * (value + end)
