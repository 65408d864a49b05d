"""Columns of a table of a sweep: numbers that a run is reduced to.

`--keep CHANNEL@REDUCTION,...` names channels as `mbsim plot` does, and what is kept of each: a key of `REDUCTIONS`, or
the time of an output instant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from multibody_cli.errors import ArgumentError, QuantityError, ResultError, nearest
from multibody_cli.model import Floats, Names
from multibody_cli.output.rows import Column
from multibody_cli.output.selection import select
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.quantities import read_quantity
from multibody_cli.spec.units import TIME
from multibody_cli.studies.expect import blank_trajectory
from multibody_cli.studies.period import period_of
from multibody_cli.studies.verdict import Verdict

ENERGIES = ("kinetic", "potential", "elastic", "total", "ledger_residual")
"""Energies of the end that are kept by default."""


class Reduction(NamedTuple):
    """A number made from the values (T,) of a scalar at the instants (T,), s; `units` replaces those of the scalar."""

    compute: Callable[[Floats, Floats], float]
    meaning: str
    units: str = ""


def _period(time: Floats, values: Floats) -> float:
    found = period_of(time, values)
    return math.nan if found is None else found


REDUCTIONS = {
    "final": Reduction(lambda time, values: float(values[-1]), "value at the end"),
    "initial": Reduction(lambda time, values: float(values[0]), "value at the start"),
    "max": Reduction(lambda time, values: float(values.max()), "largest value at an output instant"),
    "min": Reduction(lambda time, values: float(values.min()), "smallest value at an output instant"),
    "mean": Reduction(lambda time, values: float(values.mean()), "mean of the values at the output instants"),
    "period": Reduction(_period, "period of an oscillation, as in `expect`", "s"),
    "time_of_max": Reduction(lambda time, values: float(time[values.argmax()]), "instant of the largest value", "s"),
    "time_of_min": Reduction(lambda time, values: float(time[values.argmin()]), "instant of the smallest value", "s"),
}
"""Reductions by name."""


@dataclass(frozen=True)
class Kept:
    """Channels and what is kept of each: keys of `REDUCTIONS`, or times, s."""

    channel: str
    reductions: tuple[str | float, ...] = ("final",)


def read_kept(text: str) -> Kept:
    """Read `CHANNEL@REDUCTION,...`; without `@`, the value at the end is kept.

    Raises
    ------
    ArgumentError
        A reduction is neither known nor a time.
    """
    channel, at, words = text.partition("@")
    if not channel.strip() or (at and not words.strip()):
        raise ArgumentError(f"--keep {text}: expected CHANNEL@REDUCTION, as in `joints/hinge/q@max`")
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


def kept_by_default(scene: Scene, names: Names) -> tuple[Kept, ...]:
    """Return the final coordinates of joints, the poses of bodies without a joint, and the energies."""
    held = inboard_joints(scene.bodies, scene.joints)
    joints = [f"joints/{joint.name}/q" for joint in names.joints if joint.coordinates]
    poses = [
        f"bodies/{name}/{word}" for name in scene.bodies if name not in held for word in ("position", "quaternion")
    ]
    return tuple(map(Kept, (*joints, *poses, *(f"energy/{word}" for word in ENERGIES))))


def channels_of(kept: Sequence[Kept], names: Names, time: Floats) -> list[str]:
    """Return the channels that are needed to reduce a run, other than `time`.

    Parameters
    ----------
    kept
        What is kept.
    names
        The names of the model.
    time
        Some instants (K,) of the run, s, with those that are kept.

    Raises
    ------
    ResultError
        The model has no such channel, or an instant is no output instant.
    """
    read: list[str] = []
    list(reduce_run(kept, blank_trajectory(names, None, time, read.append)))
    return sorted({*read} - {"time"})


class KeptNumber(NamedTuple):
    """A number that is kept: its column, the channel and the component that it is made from, and how.

    `compute` takes the instants (T,), s, and the values of the component (T,).
    """

    column: Column
    channel: str
    component: int
    compute: Callable[[Floats, Floats], float]


def kept_numbers(kept: Sequence[Kept], trajectory: Trajectory) -> Iterator[KeptNumber]:
    """Yield the numbers that are kept of all runs like one.

    Raises
    ------
    ResultError
        The run has no such channel, or an instant is no output instant.
    """
    for one in kept:
        for scalar in select(trajectory, [one.channel]):
            description = trajectory.channel(scalar.channel).description
            for word in one.reductions:
                if isinstance(word, str):
                    reduction = REDUCTIONS[word]
                    units, compute = reduction.units or scalar.units, reduction.compute
                    about = f"{reduction.meaning}. {description}"
                else:
                    units, compute = scalar.units, partial(_value_at, trajectory.at(word))
                    word, about = f"at {word:.9g} s", f"value at {word:.9g} s. {description}"
                column = Column(f"{scalar} {word}", units, about[0].upper() + about[1:])
                yield KeptNumber(column, scalar.channel, scalar.column, compute)


def _value_at(row: int, _time: Floats, values: Floats) -> float:
    return float(values[row])


def reduce_run(kept: Sequence[Kept], trajectory: Trajectory) -> Iterator[tuple[Column, float]]:
    """Yield the kept numbers of a run with their columns.

    Raises
    ------
    ResultError
        As in `kept_numbers`.
    """
    for number in kept_numbers(kept, trajectory):
        values = trajectory.channel(number.channel).values
        found = values.reshape(len(values), -1)[:, number.component]
        yield number.column, number.compute(trajectory.time, found)


def instants_of(kept: Sequence[Kept]) -> list[float]:
    """Return the times at which values are kept, s."""
    return [word for one in kept for word in one.reductions if not isinstance(word, str)]


def reduce_expectations(verdicts: Sequence[Verdict]) -> Iterator[tuple[Column, float]]:
    """Yield for each expectation whether it is met, 1 or 0, and the numbers found, with their columns."""
    seen: dict[str, int] = {}
    for verdict in verdicts:
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


def unknown_channels(error: ResultError) -> ArgumentError:
    """Return the error about `--keep` for an error about a channel of a run."""
    lines = (line.removeprefix("the run has ").removeprefix("the run: ") for line in str(error).splitlines())
    return ArgumentError("\n".join(f"--keep: {line}" for line in lines))
