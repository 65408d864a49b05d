"""The activation of a muscle that follows an excitation u(t): da/dt = rate(u, a), one of `DYNAMICS`.

An activation that has fallen to its least value stays there, until the excitation exceeds it.

Since u is a function of time alone, a is integrated before the run, to ten digits if u is smooth over half of the
shorter time constant.  Every method and every integrator reads the same curve.

Sources: Thelen, Adjustment of muscle mechanics model parameters, J. Biomech. Eng. 125 (2003), (1)-(2); De Groote et
al., Ann. Biomed. Eng. 44 (2016), (1)-(2).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions.evaluation import value_of
from multibody_cli.forces.muscle import MuscleSpec
from multibody_cli.interpolation import INTERPOLATIONS
from multibody_cli.kernel import Floats
from multibody_cli.spec import SignalSpec

RTOL, ATOL = 1e-11, 1e-13
"""Tolerances of the solution."""

FINER = 12
"""Pieces of the curve per step of the solver."""

SLACK = 1e-9
"""Distance outside [0, 1] that is treated as round-off."""


def follow_excitation(spec: MuscleSpec, duration: float) -> tuple[Floats, Floats, Floats]:
    """Compute the activation over a run.

    Parameters
    ----------
    spec
        A muscle with an excitation.
    duration
        Duration of the run, s.

    Returns
    -------
    tuple
        Instants (n,), s; activation at the instants (n,); its slopes at both ends of each piece (n - 1, 2), 1/s.

    Raises
    ------
    ExpressionError
        At some instant the excitation has no value, or one outside [0, 1].
    """
    assert spec.excitation is not None
    times = spec.activation_time, spec.deactivation_time
    start = max(spec.initial_activation, spec.least_activation)
    return _follow(spec.excitation, spec.activation_dynamics, times, spec.least_activation, start, duration)


Times = tuple[float, float]
"""Time constants of rising and falling activation, s."""


def _thelen(u: float, a: float, times: Times) -> float:
    rise, fall = times
    pace = 0.5 + 1.5 * a
    return (u - a) / (rise * pace if u > a else fall / pace)


def _first_order(u: float, a: float, times: Times) -> float:
    rise, fall = times
    return (u - a) / (rise if u > a else fall)


def _degroote(u: float, a: float, times: Times) -> float:
    rise, fall = times
    share, pace = 0.5 + 0.5 * math.tanh(0.1 * (u - a)), 0.5 + 1.5 * a
    return (share / (rise * pace) + (1.0 - share) * pace / fall) * (u - a)


DYNAMICS: dict[str, Callable[[float, float, Times], float]] = {
    "thelen2003": _thelen,
    "first_order": _first_order,
    "degroote2016": _degroote,
}
"""Rate of the activation by the excitation u and the activation a, 1/s."""


@lru_cache(maxsize=256)  # a scene may be packed in two layouts, and muscles may share an excitation
def _follow(
    signal: SignalSpec, dynamics: str, times: Times, least: float, initial: float, duration: float
) -> tuple[Floats, Floats, Floats]:
    from scipy.integrate import solve_ivp

    excitation, rate_of = _bounded(_function_of(signal)), DYNAMICS[dynamics]
    longest_step = 0.5 * min(times)

    def rate(t: float, a: Floats) -> Floats:
        found = rate_of(excitation(float(t)), max(float(a[0]), least), times)
        return np.array([found if a[0] > least else max(found, 0.0)])

    corners = [t for t in signal.times if 0.0 < t < duration]
    instants, values, slopes = [0.0], [initial], []
    for start, end in itertools.pairwise([0.0, *corners, duration]):
        found = solve_ivp(
            rate, (start, end), [values[-1]], "DOP853", rtol=RTOL, atol=ATOL, max_step=longest_step, dense_output=True
        )
        inner = math.nextafter(end, start)  # the excitation may jump at the corner
        for low, high in itertools.pairwise(found.t):
            for k in range(FINER):
                a, b = low + (high - low) * k / FINER, low + (high - low) * (k + 1) / FINER
                if b <= instants[-1]:  # a last step of round-off
                    continue
                before, after = found.sol(a), found.sol(b)
                instants.append(b)
                values.append(float(after[0]))
                slopes.append((float(rate(a, before)[0]), float(rate(min(b, inner), after)[0])))
    return np.array(instants), np.array(values), np.array(slopes)


def _bounded(excitation: Callable[[float], float]) -> Callable[[float], float]:
    """Return the excitation with a check that it has a value in [0, 1]."""

    def bounded(t: float) -> float:
        try:
            u = excitation(t)
        except (ArithmeticError, ValueError):
            raise ExpressionError(f"it has no value at t = {t:.6g} s") from None
        if not -SLACK <= u <= 1.0 + SLACK:
            raise ExpressionError(f"expected values from 0 to 1, found {u:.6g} at t = {t:.6g} s")
        return min(max(u, 0.0), 1.0)

    return bounded


def _function_of(signal: SignalSpec) -> Callable[[float], float]:
    """Return a signal as a function of time."""
    if signal.constant is not None:
        constant = signal.constant
        return lambda t: constant
    if signal.expression is not None:
        body = signal.expression.body
        return lambda t: float(value_of(body, {"t": t}))
    from scipy.interpolate import PPoly

    times, values = np.array(signal.times), np.array(signal.values)
    interpolant = PPoly(INTERPOLATIONS[signal.interpolation](times, values)[:-1, ::-1].T, times)
    return lambda t: float(interpolant(min(max(t, times[0]), times[-1])))
