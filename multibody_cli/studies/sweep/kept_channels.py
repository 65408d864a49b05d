"""Rows of a table of a sweep: outcome, alarms, and the numbers that a run is reduced to.

`--keep CHANNEL@REDUCTION,...` names channels as `mbsim plot` does, or an expression of channels as in `expect`, and
the number that is kept of each: a key of `REDUCTIONS`, or the time of an output instant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.alarms.contract import Raised
from multibody_cli.errors import ArgumentError, ExpressionError, QuantityError, ResultError, nearest, shortened
from multibody_cli.escaping import path_component
from multibody_cli.expressions import Expression
from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats, SceneNames
from multibody_cli.output.rows import Column, Row
from multibody_cli.output.selection import select
from multibody_cli.output.sink import Outcome
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.scene.expect import read_expression
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.quantities import read_quantity
from multibody_cli.spec.units import TIME
from multibody_cli.studies.expect import (
    NO_PERIOD,
    blank_trajectory,
    channels_read,
    evaluate,
    evaluate_expression,
    period_of,
)
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.wrenches import RECORDED, WrenchAxes, wrench_axes
from multibody_cli.timeline import Summary

LONGEST_REASON = 500
"""Number of characters in a reason or in a list of alarms."""

ENERGIES = ("kinetic", "potential", "elastic", "total", "ledger_residual")
"""Energies of the end that are kept by default."""


PATH = re.compile(r"[A-Za-z_*?][\w*?]*(/|\[|$)")
"""Begin of a path of channels; all other texts are expressions."""


class Reduction(NamedTuple):
    """A number made from the values (T,) of a scalar at the instants (T,), s; `units` replaces those of the scalar.

    `differentiate` takes the instants, the values, and the derivatives (T,) of the values, and returns the derivative
    of the number; None if the number is no differentiable function of the values. `lack` says why a number is not
    finite.
    """

    compute: Callable[[Floats, Floats], float]
    meaning: str
    units: str = ""
    differentiate: Callable[[Floats, Floats, Floats], float] | None = None
    lack: str = "a value is not finite"


def _period(time: Floats, values: Floats) -> float:
    found = period_of(time, values)
    return math.nan if found is None else found


REDUCTIONS = {
    "final": Reduction(
        lambda time, values: float(values[-1]), "value at the end", "", lambda time, values, slopes: float(slopes[-1])
    ),
    "initial": Reduction(
        lambda time, values: float(values[0]), "value at the start", "", lambda time, values, slopes: float(slopes[0])
    ),
    "max": Reduction(
        lambda time, values: float(values.max()),
        "largest value at an output instant",
        "",
        lambda time, values, slopes: float(slopes[values.argmax()]),
    ),
    "min": Reduction(
        lambda time, values: float(values.min()),
        "smallest value at an output instant",
        "",
        lambda time, values, slopes: float(slopes[values.argmin()]),
    ),
    "mean": Reduction(
        lambda time, values: float(values.mean()),
        "mean of the values at the output instants",
        "",
        lambda time, values, slopes: float(slopes.mean()),
    ),
    "sum": Reduction(
        lambda time, values: float(values.sum()),
        "sum of the values at the output instants",
        "",
        lambda time, values, slopes: float(slopes.sum()),
    ),
    "period": Reduction(_period, "period of an oscillation, as in `expect`", "s", None, NO_PERIOD),
    "time_of_max": Reduction(lambda time, values: float(time[values.argmax()]), "instant of the largest value", "s"),
    "time_of_min": Reduction(lambda time, values: float(time[values.argmin()]), "instant of the smallest value", "s"),
}
"""Reductions by name."""


class Kept(Immutable):
    """Channels, or an expression of channels, and the numbers kept of each: keys of `REDUCTIONS`, or times, s."""

    channel: str
    reductions: tuple[str | float, ...] = ("final",)

    @property
    def expression(self) -> Expression | None:
        """The expression; None for channels, whose paths have slashes."""
        try:
            return read_expression(self.channel)
        except ExpressionError:
            return None


def read_kept(text: str) -> Kept:
    """Read `CHANNEL@REDUCTION,...`; without `@`, the value at the end is kept.

    Raises
    ------
    ArgumentError
        A reduction is neither known nor a time, or the text is no path, and no expression of channels.
    """
    channel, at, words = text.partition("@")
    if not channel.strip() or (at and not words.strip()):
        raise ArgumentError(f"--keep {text}: expected CHANNEL@REDUCTION, as in `joints/hinge/q@max`")
    if not PATH.match(channel.strip()):
        try:
            read_expression(channel.strip())
        except ExpressionError as error:
            raise ArgumentError(f"--keep {text}: no expression of channels: {error}") from None
    return Kept(
        channel.strip(), tuple(_reduction(word.strip(), text) for word in words.split(",")) if at else ("final",)
    )


def _reduction(word: str, text: str) -> str | float:
    if word in REDUCTIONS:
        return word
    try:
        return read_quantity(word if not word.replace(".", "").isdecimal() else float(word), TIME)
    except QuantityError:
        remedy = nearest(word, REDUCTIONS)
        raise ArgumentError(f"--keep {text}: `{word}` is neither a reduction nor a time: {remedy}") from None


def kept_of(kept: tuple[Kept, ...], simulation: PreparedSimulation) -> tuple[Kept, ...]:
    """Return the kept numbers of a run; by default final coordinates of joints, poses of free bodies, and energies."""
    if kept:
        return kept
    scene, names = simulation.scene, simulation.compiled.model.names
    held = inboard_joints(scene)
    joints = [f"joints/{path_component(joint.name)}/q" for joint in names.joints if joint.coordinates]
    floating = [path_component(name) for name in scene.bodies if name not in held]
    poses = [f"bodies/{name}/{word}" for name in floating for word in ("position", "quaternion")]
    return tuple(map(Kept, (*joints, *poses, *(f"energy/{word}" for word in ENERGIES))))


def channels_of(kept: Sequence[Kept], names: SceneNames, time: Floats, axes: WrenchAxes) -> list[str]:
    """Return the channels that are needed to reduce a run, other than `time`.

    Parameters
    ----------
    kept
        The kept numbers.
    names
        The names of the model.
    time
        Some instants (K,) of the run, s, with those that are kept.
    axes
        The axes of wrenches.

    Raises
    ------
    ResultError
        The model has no such channel, or an instant is no output instant.
    """
    read: list[str] = []
    list(reduce_run(kept, axes.express(blank_trajectory(names, None, time, read.append))))
    return sorted({*read} - {"time"})


class KeptNumber(NamedTuple):
    """A number that is kept: its column, and how a run is reduced to it.

    `values` takes a run and returns the values (T,) that the number is made from; `reduction` makes it.
    """

    column: Column
    values: Callable[[Trajectory], Floats]
    reduction: Reduction


def kept_numbers(kept: Sequence[Kept], trajectory: Trajectory) -> Iterator[KeptNumber]:
    """Yield the numbers that are kept of all runs like one.

    Raises
    ------
    ResultError
        The run has no such channel, or an instant is no output instant.
    """
    for one in kept:
        for name, units, description, values in _scalars(one, trajectory):
            for word in one.reductions:
                reduction = REDUCTIONS[word] if isinstance(word, str) else _value_at(trajectory.at(word), word)
                title = word if isinstance(word, str) else f"at {word:.9g} s"
                about = f"{reduction.meaning}. {description}"
                column = Column(f"{name} {title}", reduction.units or units, about[0].upper() + about[1:])
                yield KeptNumber(column, values, reduction)


def _scalars(one: Kept, trajectory: Trajectory) -> Iterator[tuple[str, str, str, Callable[[Trajectory], Floats]]]:
    """Yield name, units and description of each scalar that is reduced, and a function that reads it from a run."""
    expression = one.expression
    if expression is not None:
        units = evaluate_expression(expression, trajectory).units
        yield one.channel, units, "Expression of channels, in SI units.", partial(_values_of, expression=expression)
        return
    for scalar in select(trajectory, [one.channel]):
        description = trajectory.channel(scalar.channel).description
        yield str(scalar), scalar.units, description, partial(_component, channel=scalar.channel, column=scalar.column)


def _values_of(trajectory: Trajectory, expression: Expression) -> Floats:
    values: Floats = evaluate_expression(expression, trajectory).values[:, 0]
    return values


def _component(trajectory: Trajectory, channel: str, column: int) -> Floats:
    values = trajectory.channel(channel).values
    found: Floats = values.reshape(len(values), -1)[:, column]
    return found


def _value_at(row: int, time: float) -> Reduction:
    return Reduction(
        lambda _time, values: float(values[row]),
        f"value at {time:.9g} s",
        "",
        lambda _time, _values, slopes: float(slopes[row]),
    )


def reduce_run(kept: Sequence[Kept], trajectory: Trajectory) -> Iterator[tuple[KeptNumber, float]]:
    """Yield the numbers that are kept of a run, each with its value; see `kept_numbers`."""
    for number, values in with_values(kept, trajectory):
        yield number, number.reduction.compute(trajectory.time, values)


def with_values(kept: Sequence[Kept], trajectory: Trajectory) -> Iterator[tuple[KeptNumber, Floats]]:
    """Yield the numbers that are kept of a run, each with the values (T,) that it is made from; see `kept_numbers`."""
    source, values = None, np.zeros(0)
    for number in kept_numbers(kept, trajectory):
        if number.values is not source:  # all reductions of a scalar have one function
            source, values = number.values, number.values(trajectory)
        yield number, values


def instants_of(kept: Sequence[Kept]) -> list[float]:
    """Return the times at which values are kept, s."""
    return [word for one in kept for word in one.reductions if not isinstance(word, str)]


def unknown_channels(error: ResultError) -> ArgumentError:
    """Return the error about `--keep` for an error about a channel of a run."""
    lines = (line.removeprefix("the run has ").removeprefix("the run: ") for line in str(error).splitlines())
    return ArgumentError("\n".join(f"--keep: {line}" for line in lines))


def channels_for(kept: tuple[Kept, ...], simulation: PreparedSimulation, frame: str = RECORDED) -> tuple[str, ...]:
    """Return the channels that a row is made from: those that are kept, and those of the expectations."""
    scene, timing = simulation.scene, simulation.compiled.timing
    recorded = scene.output.channels
    end = timing.outputs * timing.every
    written = None if recorded is None else tuple(recorded)
    axes = wrench_axes(scene, frame)
    return _channels_for(kept, end, simulation.compiled.model.names, tuple(scene.expect), written, axes)


@lru_cache(maxsize=4)
def _channels_for(
    kept: tuple[Kept, ...],
    end: float,
    names: SceneNames,
    expect: tuple[Any, ...],
    recorded: tuple[str, ...] | None,
    axes: WrenchAxes,
) -> tuple[str, ...]:
    instants = np.unique([0.0, end, *instants_of(kept)])
    return tuple(sorted({*channels_of(kept, names, instants, axes), *channels_read(expect, names, recorded)}))


def reduced(
    number: int, kept: Sequence[Kept], expect: Sequence[Any], summary: Summary, run: Trajectory, axes: WrenchAxes
) -> Row:
    """Return the row of a run that has ended.

    Parameters
    ----------
    number
        Number of the run.
    kept, expect
        The kept numbers, and the expectations.
    summary, run
        The result of the run.
    axes
        The axes of the wrenches that are kept.
    """
    numbers, own = progress_of(summary.steps, summary.reached), list[tuple[KeptNumber, float]]()
    if summary.outcome.reached_end:
        numbers += numbers_expected(expect, run)
        own = [*reduce_run(kept, axes.express(run))]
        numbers += [(one.column, x) for one, x in own]
    columns, values = zip(*numbers, strict=True)
    return row_of(number, summary.outcome, columns, values, own)


def row_of(
    number: int,
    outcome: Outcome,
    columns: tuple[Column, ...],
    values: tuple[float, ...],
    kept: Iterable[tuple[KeptNumber, float]],
) -> Row:
    """Return a row with an outcome and numbers, and why those that are kept are not finite."""
    reasons = [] if outcome.status == "complete" else [outcome.message]
    reasons += [f"`{one.column.name}` is not finite: {one.reduction.lack}" for one, x in kept if not math.isfinite(x)]
    return Row(number, outcome.status, in_one_line("; ".join(reasons)), _in_words(outcome.alarms), columns, values)


def progress_of(steps: int, reached: float) -> list[tuple[Column, float]]:
    """Return the numbers that every run has."""
    return [
        (Column("steps", "", "Number of steps."), float(steps)),
        (Column("reached", "s", "Time of the last output instant."), reached),
    ]


def numbers_expected(expect: Sequence[Any], run: Trajectory) -> Iterator[tuple[Column, float]]:
    """Yield for each expectation whether it is met, 1 or 0, and the numbers found, with their columns."""
    seen: dict[str, int] = {}
    for verdict in evaluate(expect, run):
        seen[verdict.entry] = number = seen.get(verdict.entry, 0) + 1
        title = f"expect {verdict.entry}" + (f" #{number}" if number > 1 else "")
        yield Column(f"{title} passed", "", "1 if the expectation is met, else 0."), float(verdict.passed)
        found = verdict.found if isinstance(verdict.found, tuple) else (verdict.found,)
        for place, value in enumerate(found):
            index = f"[{place}]" if len(found) > 1 else ""
            yield (
                Column(f"{title} found{index}", verdict.units, "Number found for the expectation."),
                math.nan if value is None else value,
            )


def _in_words(alarms: Iterable[Raised]) -> str:
    """Return alarms with their levels and times."""
    words = (
        f"{alarm.name} ({alarm.level}" + (f" from {alarm.time:.6g} s)" if alarm.time is not None else ")")
        for alarm in alarms
    )
    return in_one_line("; ".join(words))


def in_one_line(text: str) -> str:
    """Return a text in one line that is not too long."""
    return shortened(" ".join(text.split()), LONGEST_REASON)
