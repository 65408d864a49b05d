"""Steps and output instants of a run: multiples of the step, unless the integrator is adaptive."""

from __future__ import annotations

import math

from multibody_cli.errors import QuantityError
from multibody_cli.immutable import Immutable
from multibody_cli.limits import require_within
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.simulation import OutputSpec, SimulationSpec

MOST_INTERVALS = 1000
FEWEST_INTERVALS = 100
ADAPTIVE_PAUSES = 1024
_TOLERANCE = 1e-9


class Timing(Immutable):
    """Steps and output instants of a run.

    Parameters
    ----------
    step
        Time step, s; of an adaptive integrator, the output interval.
    steps_per_output
        Steps per output interval.
    outputs
        Number of output intervals, one less than the number of instants.
    pauses
        Number of equal parts of an output interval at whose ends a run may pause: its steps, or any number
        for an adaptive integrator.
    """

    step: float
    steps_per_output: int
    outputs: int
    pauses: int

    @property
    def steps(self) -> int:
        """Total number of steps."""
        return self.steps_per_output * self.outputs

    @property
    def every(self) -> float:
        """Output interval, s."""
        return self.step * self.steps_per_output

    def index_of(self, time: float) -> int:
        """Return the index of the output instant at a time.

        Raises
        ------
        QuantityError
            The time is not an output instant; the message names the nearest one.
        """
        index = integer_ratio(time, self.every)
        if index is not None and 0 <= index <= self.outputs:
            return index
        near = round(min(max(time / self.every, 0.0), self.outputs))
        raise QuantityError(
            f"expected an output instant: a multiple of {self.every:.9g} s up to "
            f"{self.every * self.outputs:.9g} s; the nearest to {time:.9g} s is {near * self.every:.9g} s"
        )


def integer_ratio(time: float, unit: float) -> int | None:
    """Return the ratio of a time to a unit; None if it is not an integer."""
    ratio = time / unit
    if not math.isfinite(ratio) or abs(ratio - round(ratio)) > _TOLERANCE * max(1.0, abs(ratio)):
        return None
    return round(ratio)


def timing(simulation: SimulationSpec, output: OutputSpec) -> Timing:
    """Compute steps and output instants.

    Raises
    ------
    QuantityError
        The times are not multiples of one another; see `integer_multiple`.
    LimitError
        There are too many steps or output instants.
    """
    if is_adaptive(simulation):
        every = simulation.duration / MOST_INTERVALS if output.every is None else output.every
        outputs = integer_multiple(simulation.duration, every, "duration", "every", "instants")
        return Timing(every, 1, outputs, pauses=ADAPTIVE_PAUSES)
    steps = integer_multiple(simulation.duration, simulation.step, "duration", "step")
    if output.every is None:
        per_output = _default_steps_per_output(steps)
    else:
        per_output = integer_multiple(output.every, simulation.step, "every", "step")
        require_divisor(steps, per_output, simulation.step)
    require_within("instants", steps // per_output)
    return Timing(simulation.step, per_output, steps // per_output, pauses=per_output)


def is_adaptive(simulation: SimulationSpec) -> bool:
    """Whether the integrator is adaptive, so that output instants need not be multiples of the step."""
    known = simulation.method in METHODS and simulation.integrator in INTEGRATORS
    return known and integrator_of(simulation.method, simulation.integrator, simulation.options).adaptive


def integer_multiple(time: float, unit: float, name: str, unit_name: str, limit: str = "steps") -> int:
    """Return the ratio of a time to a unit, at least one.

    Raises
    ------
    QuantityError
        The ratio is not an integer; the message names the nearest valid times.
    LimitError
        The ratio exceeds a limit.
    """
    ratio = time / unit
    if not ratio < 2**53:
        raise QuantityError(f"the ratio of `{name}` to `{unit_name}` is too large: {time:g} s to {unit:g} s")
    require_within(limit, ratio)
    count = integer_ratio(time, unit)
    if count is not None and count >= 1:
        return count
    below, above = math.floor(ratio), math.floor(ratio) + 1
    near = " or ".join(f"{n * unit:.9g} s" for n in (below, above) if n >= 1)
    wanted = f"to be a multiple of `{unit_name}`, {unit:.9g} s"
    raise QuantityError(f"expected `{name}`, {time:.9g} s, {wanted}; nearest: {near}")


def require_divisor(steps: int, per_output: int, step: float) -> None:
    """Raise a `QuantityError` if the last output instant is not the end of the run."""
    if steps % per_output:
        divisors = _divisors(steps)
        below = max(d for d in divisors if d < per_output)
        above = min((d for d in divisors if d > per_output), default=below)
        near = " or ".join(f"{d * step:.9g} s" for d in sorted({below, above}))
        raise QuantityError(
            f"expected a divisor of the duration, {steps * step:.9g} s, "
            f"found {per_output * step:.9g} s; nearest: {near}"
        )


def _default_steps_per_output(steps: int) -> int:
    """Return the smallest number of steps that divides the run into at most 1000 intervals.

    If that would leave fewer than 100 intervals, a smaller divisor with more than 1000 intervals is used.
    """
    if steps <= MOST_INTERVALS:
        return 1
    divisors = _divisors(steps)
    fitting = next(d for d in divisors if steps // d <= MOST_INTERVALS)
    if steps // fitting >= FEWEST_INTERVALS:
        return fitting
    return max(d for d in divisors if d < fitting)


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})
