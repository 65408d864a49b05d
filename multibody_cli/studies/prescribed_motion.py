"""The prescribed coordinates at any instant, without a run: given velocities and accelerations are integrated.

From an instant s to an instant t,

    q(t) = q(s) + int v du                                      for a given velocity v,
    v(t) = v(s) + int a du,
    q(t) = q(s) + (t - s) v(s) + int (t - u) a(u) du            for a given acceleration a.

The integrals are those of the adaptive rule of QUADPACK between the knots of the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.joints.motion import POSITION, VELOCITY, prescribe
from multibody_cli.knots import knots_of
from multibody_cli.model import Model, State
from multibody_cli.signals import evaluate

ERROR = 1e-13
"""Error of an integral, relative to it, at which the refinement ends, unless it is round-off."""

MOST_INTERVALS = 20_000
"""Number of intervals between two instants, beyond those between knots, at which an integral is refused.

A wave needs about one and a half for each period.
"""


class PrescribedMotion:
    """The prescribed coordinates of a model at any instant.

    Parameters
    ----------
    model, state
        The model, and its state at the start.
    """

    def __init__(self, model: Model, state: State) -> None:
        self._motions, self._joints = model.system.motions, model.names.joints
        self._integrated = self._motions.rows[self._motions.rows["given"] != POSITION]
        self._numbers = self._integrated["signal"].tolist()
        self._given = [evaluate.on(self._motions.signals, number) for number in self._numbers]
        self._time, self._q, self._v = float(state.time[0]), state.q.copy(), state.v.copy()
        self._end, self._knots = 0.0, np.zeros(0)

    def place(self, state: State, time: float) -> None:
        """Set q, v and dv/dt of the prescribed coordinates of a state to those at a time, s."""
        if len(self._integrated) and time > self._end:  # twice as far, so that few searches suffice
            self._end = 2.0 * time
            self._knots = knots_of(self._motions.signals, self._end, self._numbers).at
        for motion, given in zip(self._integrated, self._given, strict=True):
            iq, iv = int(motion["iq"]), int(motion["iv"])
            change = self._moment(given, 0, time, iv)
            if motion["given"] == VELOCITY:
                self._q[iq] += change
            else:
                self._q[iq] += (time - self._time) * self._v[iv] + self._moment(given, 1, time, iv)
                self._v[iv] += change
            state.q[iq], state.v[iv] = self._q[iq], self._v[iv]
        self._time = time
        prescribe(self._motions, time, state.q, state.v, state.a)

    def _moment(self, given: Callable[[float], Sequence[float]], power: int, time: float, iv: int) -> float:
        """Return the integral of (t - u)^power f(u) from the last instant to a time t, of the coordinate iv."""
        from scipy.integrate import quad

        low, high = sorted((self._time, time))
        knots = self._knots[(low < self._knots) & (self._knots < high)]
        most = MOST_INTERVALS + len(knots)
        value, _, report, *_ = quad(
            lambda u: (time - u) ** power * given(u)[0],
            self._time,
            time,
            epsabs=0.0,
            epsrel=ERROR,
            points=knots,
            limit=most,
            full_output=True,  # without a warning where round-off prevents the error
        )
        if report["last"] >= most:
            joint = next(one for one in self._joints if one.columns.start <= iv < one.columns.stop)
            raise ArgumentError(
                f"joints.{joint.name}.motion: the function has too many waves from {low:.9g} s to {high:.9g} s for its "
                "integral: write its integral as `position`, or choose instants nearer to each other"
            )
        return float(value)
