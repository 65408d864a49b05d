"""Steps and output instants of a run: whole numbers of steps apart, unless the integrator chooses its own steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from multibody_cli.errors import QuantityError
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.simulation import OutputSpec, SimulationSpec

MOST_INTERVALS = 1000
FEWEST_INTERVALS = 100
ADAPTIVE_PAUSES = 1024
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Timing:
    """When a run steps and when it is written.

    Parameters
    ----------
    step
        Time step, s; of an integrator that chooses its own, the time between two output instants.
    steps_per_output
        Steps between two output instants.
    outputs
        Intervals between output instants; there is one instant more.
    pauses
        Equal parts of an output interval at whose ends a run may pause: its steps, or any if steps are chosen.
    """

    step: float
    steps_per_output: int
    outputs: int
    pauses: int

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.steps_per_output * self.outputs

    @property
    def every(self) -> float:
        """Time between two output instants, s."""
        return self.step * self.steps_per_output

    def index_of(self, time: float) -> int:
        """Give the number of the output instant at a time.

        Raises
        ------
        QuantityError
            Where there is none; the message names the nearest.
        """
        index = whole(time, self.every)
        if index is not None and 0 <= index <= self.outputs:
            return index
        near = min(max(round(time / self.every), 0), self.outputs)
        raise QuantityError(
            f"expected an output instant: a multiple of {self.every:.9g} s up to "
            f"{self.every * self.outputs:.9g} s; the nearest to {time:.9g} s is {near * self.every:.9g} s"
        )


def whole(time: float, unit: float) -> int | None:
    """Give how many units a time is; None where that is not a whole number."""
    ratio = time / unit
    if not math.isfinite(ratio) or abs(ratio - round(ratio)) > _TOLERANCE * max(1.0, abs(ratio)):
        return None
    return round(ratio)


def timing(simulation: SimulationSpec, output: OutputSpec) -> Timing:
    """Work out steps and output instants.

    Raises
    ------
    QuantityError
        Where the times are no multiples of one another; see `multiples`.
    """
    if is_adaptive(simulation):
        every = simulation.duration / MOST_INTERVALS if output.every is None else output.every
        outputs = multiples(simulation.duration, every, "duration", "every")
        return Timing(every, 1, outputs, pauses=ADAPTIVE_PAUSES)
    steps = multiples(simulation.duration, simulation.step, "duration", "step")
    if output.every is None:
        per_output = _default_steps_per_output(steps)
    else:
        per_output = multiples(output.every, simulation.step, "every", "step")
        require_divisor(steps, per_output, simulation.step)
    return Timing(simulation.step, per_output, steps // per_output, pauses=per_output)


def is_adaptive(simulation: SimulationSpec) -> bool:
    """Whether the integrator chooses its own steps, so that output instants need not be whole steps apart."""
    known = simulation.method in METHODS and simulation.integrator in INTEGRATORS
    return known and integrator_of(simulation.method, simulation.integrator).adaptive


def multiples(time: float, unit: float, name: str, unit_name: str) -> int:
    """Give how many units a time is, one or more.

    Raises
    ------
    QuantityError
        With the nearest times that would do.
    """
    count = whole(time, unit)
    if count is not None and count >= 1:
        return count
    ratio = time / unit
    if not ratio < 2**53:
        raise QuantityError(f"`{name}` is more of `{unit_name}` than can be counted: {time:g} s of {unit:g} s")
    below, above = math.floor(ratio), math.floor(ratio) + 1
    near = " or ".join(f"{n * unit:.9g} s" for n in (below, above) if n >= 1)
    raise QuantityError(
        f"expected a whole number of `{unit_name}`s of {unit:.9g} s, found {time:.9g} s; nearest: {near}"
    )


def require_divisor(steps: int, per_output: int, step: float) -> None:
    """Raise a `QuantityError` where the output instants do not end with the run; it names the nearest."""
    if steps % per_output:
        divisors = _divisors(steps)
        below = max(d for d in divisors if d < per_output)
        above = min((d for d in divisors if d > per_output), default=below)
        near = " or ".join(f"{d * step:.9g} s" for d in sorted({below, above}))
        raise QuantityError(
            f"expected a time that divides the duration of {steps * step:.9g} s, "
            f"found {per_output * step:.9g} s; nearest: {near}"
        )


def _default_steps_per_output(steps: int) -> int:
    """Give the fewest steps that divide the run into at most 1000 intervals.

    A run whose number of steps has no fitting divisor is written more often rather than hardly at all.
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
