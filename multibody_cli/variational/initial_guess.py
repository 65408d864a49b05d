"""Where the search for a step begins: guesses of its mean rates, and what prescribed motions make of them.

    ig1             no motion at all
    ig2             the mean rates of the step before
    ig3             v + h a / 2, with the accelerations at the start: one semi-implicit step, in mean rates
    extrapolated    ig3, and what was missing from it in the step before

Source: Lee, Liu, Park and Srinivasa, 3.3; the last is one order better than ig3 and costs nothing.
"""

from __future__ import annotations

from multibody_cli.joints.motion import POSITION, VELOCITY
from multibody_cli.kernel import kernel
from multibody_cli.signals import evaluate

IG1, IG2, IG3, EXTRAPOLATED = range(4)

GUESSES = {"ig1": IG1, "ig2": IG2, "ig3": IG3, "extrapolated": EXTRAPOLATED}
"""Every guess by the word of the scene file."""


@kernel
def guess_rates(ahead, v, h):
    """Mean rates (n,) of the step ahead into `ahead.rate`, which holds those of the step before."""
    guess, rate, a, bend = ahead.settings.guess, ahead.rate, ahead.a, ahead.bend
    for j in range(len(v)):
        if guess == IG1:
            rate[j] = 0.0
        elif guess == IG3:
            rate[j] = v[j] + 0.5 * h * a[j]
        elif guess == EXTRAPOLATED:
            rate[j] = v[j] + 0.5 * h * a[j] + h * h * bend[j]


@kernel
def prescribe_rates(motions, t, h, first_kick, v, rate):
    """Mean rates of prescribed coordinates over a step from t on; given positions count by themselves."""
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
