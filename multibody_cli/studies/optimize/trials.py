"""Trials of an optimization: runs at points that an algorithm chooses, with a row of a table each.

The rows are those of a sweep, and are written to the disk as they come.  An algorithm is deterministic: an optimization
that was interrupted begins again, and each trial that has a row is read instead of run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from multibody_cli.errors import MbsimError
from multibody_cli.immutable import Immutable
from multibody_cli.lanes.derivatives import Unsupported
from multibody_cli.model import Floats
from multibody_cli.output.row_file import RowFile
from multibody_cli.output.rows import Column, Rows
from multibody_cli.studies.optimize.derivatives import derivatives_of_numbers
from multibody_cli.studies.optimize.problem import Problem
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask

DIFFERENCE = 1e-5
"""Offset of central differences, relative to the size of a parameter."""

COMPLETE = ("complete", "untrusted")
"""Statuses of runs whose numbers count."""

Execute = Callable[[SweepTask, Iterable[SweepRun]], Iterator[list[Rows]]]


class Stopped(Exception):
    """The user asked to stop."""


class Exhausted(Exception):
    """The largest number of runs is reached."""


class Trial(Immutable, eq=False):
    """A run at a point.

    Parameters
    ----------
    number
        Number of the run.
    values
        Values (n,) of the parameters.
    numbers
        Numbers (m,) of the run, objectives first; NaN if it failed.
    jacobian
        Exact derivatives (m, n) of the numbers; None if they were not computed.
    reason
        Why the run failed; empty if it did not.
    """

    number: int
    values: Floats
    numbers: Floats
    jacobian: Floats | None
    reason: str


class Trials:
    """The trials of a problem.

    Parameters
    ----------
    problem, task, columns
        The problem, the common part of its runs, and the columns of its numbers.
    rows, most
        The rows so far, and the largest number of runs.
    execute
        Executes runs, in this process or in others.
    stop_asked, on_trial
        Whether the user asked to stop; and a function that is called after each trial.

    Attributes
    ----------
    all
        The trials in their order.
    derivatives
        How derivatives are computed; empty without any.
    """

    def __init__(
        self,
        problem: Problem,
        task: SweepTask,
        columns: Sequence[Column],
        rows: RowFile,
        most: int,
        execute: Execute,
        stop_asked: Callable[[], bool] = lambda: False,
        on_trial: Callable[[Trials], None] = lambda _trials: None,
    ) -> None:
        self._problem, self._task, self._columns = problem, task, columns
        self._rows, self._most, self._execute = rows, most, execute
        self._stop_asked, self._on_trial = stop_asked, on_trial
        self._of_slopes = [
            Column(f"slope of {column.name} by {one.key}", "", f"Derivative with respect to `{one.key}`.")
            for column in columns
            for one in problem.parameters
        ]
        self._known = {int(run): row for block in rows.rows(rows.runs) for run, row in _by_run(block)}
        self._at: dict[tuple[bytes, bool], Trial] = {}
        self.executed, self.derivatives = 0, ""
        self.all: list[Trial] = []

    def evaluate(self, points: Sequence[Floats], with_slopes: bool = False) -> list[Trial]:
        """Return the trials at points, in the units of the parameters; each different point is one run.

        Where these are more than the runs that are left, the first of them are made.

        Raises
        ------
        Stopped, Exhausted
            The user asked to stop; the largest number of runs is reached.
        Unsupported
            `with_slopes` is asked, and the run cannot be differentiated.
        """
        keys = [(np.asarray(point, float).tobytes(), with_slopes) for point in points]
        fresh = {key: np.asarray(point, float) for key, point in zip(keys, points, strict=True) if key not in self._at}
        first = len(self.all)
        numbered = list(zip(range(first, self._most), fresh.items(), strict=False))
        missing = [(number, values) for number, (_, values) in numbered if number not in self._known]
        if with_slopes:
            for number, values in missing:
                self._run([(number, values)], self._slopes(values))
        elif missing:
            self._run(missing)
        for number, (key, values) in numbered:
            self._at[key] = self._trial(number, values)
            self.all.append(self._at[key])
        if numbered:
            self._on_trial(self)
        if len(numbered) < len(fresh):
            raise Exhausted
        return [self._at[key] for key in keys]

    def differences(self, values: Floats) -> Floats:
        """Return derivatives (m, n) by central differences of runs; one-sided at bounds and where a run failed.

        Raises
        ------
        Stopped, Exhausted
            As in `evaluate`.
        """
        low, high = self._problem.bounds
        points = [values]
        for k, one in enumerate(self._problem.parameters):
            for sign in (1.0, -1.0):
                point = values.copy()
                point[k] = np.clip(values[k] + sign * DIFFERENCE * max(abs(values[k]), one.scale), low[k], high[k])
                points.append(point)
        center, *others = self.evaluate(points)
        jacobian = np.zeros((len(center.numbers), len(values)))
        for k in range(len(values)):
            pair = [one for one in others[2 * k : 2 * k + 2] if np.isfinite(one.numbers).all()]
            ends = [*pair, center][:2]
            if len(ends) == 2 and (change := ends[0].values[k] - ends[1].values[k]) != 0.0:
                jacobian[:, k] = (ends[0].numbers - ends[1].numbers) / change
        return jacobian

    def _run(self, missing: Sequence[tuple[int, Floats]], slopes: Floats | None = None) -> None:
        """Execute runs, add derivatives to their rows, and write these to the disk."""
        runs = [SweepRun(number, self._problem.overrides(values)) for number, values in missing]
        done = 0
        for blocks in self._execute(self._task, runs):
            if slopes is not None:
                blocks = [_extended(block, self._of_slopes, slopes) for block in blocks]
            self._rows.add(blocks)
            for block in blocks:
                self._known.update(_by_run(block))
                done += len(block.runs)
        self.executed += done
        if done < len(runs) or self._stop_asked():
            raise Stopped

    def _slopes(self, values: Floats) -> Floats | None:
        """Return the derivatives at a point; None if a scene there is invalid."""
        try:
            return derivatives_of_numbers(self._task, self._problem.parameters, values)
        except Unsupported:
            if not self.all:
                raise
        except MbsimError:
            pass
        return None

    def _trial(self, number: int, values: Floats) -> Trial:
        (status, reason, _), found = self._known[number]
        numbers = np.array([found.get(column, np.nan) for column in self._columns])
        failed = status not in COMPLETE
        undefined = next((one.name for one, x in zip(self._columns, numbers, strict=True) if not np.isfinite(x)), "")
        if failed or undefined:
            reason = (
                f"the run is {status}: {reason}" if failed else reason or f"`{undefined}` is not finite in this run"
            )
            return Trial(number, values, np.full(len(numbers), np.nan), None, reason)
        slopes = np.array([found.get(column, np.nan) for column in self._of_slopes])
        jacobian = slopes.reshape(len(numbers), -1) if np.isfinite(slopes).all() else None
        return Trial(number, values, numbers, jacobian, "")


def _by_run(block: Rows) -> Iterator[tuple[int, tuple[Any, dict[Column, float]]]]:
    for run, ending, values in zip(block.runs.tolist(), block.endings, block.values.tolist(), strict=True):
        yield run, (ending, dict(zip(block.columns, values, strict=True)))


def _extended(block: Rows, columns: Sequence[Column], slopes: Floats) -> Rows:
    """Return the row of one run with further columns."""
    values = np.hstack([block.values, slopes.reshape(1, -1)])
    return Rows(block.runs, block.endings, (*block.columns, *columns), values)
