"""Initial guesses of the mean rates of a step, and mean rates of prescribed motions.

    ig1             zero
    ig2             the mean rates of the previous step
    ig3             v + h a / 2, with the accelerations at the start: one semi-implicit step, in mean rates
    extrapolated    ig3 plus its error in the previous step

Source: Lee, Liu, Park and Srinivasa, 3.3; the last is one order better than ig3 at no cost.
"""

from __future__ import annotations

from multibody_cli.joints.motion import POSITION, VELOCITY
from multibody_cli.kernel import kernel
from multibody_cli.signals import evaluate

IG1, IG2, IG3, EXTRAPOLATED = range(4)

GUESSES = {"ig1": IG1, "ig2": IG2, "ig3": IG3, "extrapolated": EXTRAPOLATED}
"""Guesses by their keyword in the scene format."""


@kernel
def guess_rates(step, v, h):
    """Write the mean rates (n,) of the step into `step.rate`, which holds those of the previous step."""
    guess, rate, a, extrapolation = step.settings.guess, step.rate, step.a, step.extrapolation
    for j in range(len(v)):
        if guess == IG1:
            rate[j] = 0.0
        elif guess == IG3:
            rate[j] = v[j] + 0.5 * h * a[j]
        elif guess == EXTRAPOLATED:
            rate[j] = v[j] + 0.5 * h * a[j] + h * h * extrapolation[j]


@kernel
def prescribe_rates(motions, t, h, first_kick, v, rate):
    """Write the mean rates of prescribed coordinates over a step from t. Given positions determine them."""
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
