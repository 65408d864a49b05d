"""Measured motion: a table with a column `time` and columns that are named like quantities of a run.

The headings are those that `mbsim export` writes:

    time (s), joints/hinge/q (deg), joints/hinge/force[fx] (N)

A column without a unit is in SI units and radians.  An empty cell is a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from multibody_cli.document.table_file import NO_UNIT, TableFile, number_in, read_table
from multibody_cli.errors import ArgumentError, ResultError, listed
from multibody_cli.immutable import Immutable, replace
from multibody_cli.limits import Usage
from multibody_cli.model import Floats
from multibody_cli.output.selection import ScalarChannel, select
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.spec.units import KINDS, TIME, Unit, kind_of, parse_unit


class Measurements(Immutable):
    """Measured values.

    Parameters
    ----------
    source, line
        The file, and the line of its headings, for messages.
    times
        (T,) instants, s, ascending.
    names, units
        Of the columns; the unit is empty if the file has none.
    values
        (T, c) in SI units; NaN for a missing value.
    in_degrees
        Whether angles without a unit are in degrees.
    """

    source: str
    line: int
    times: Floats
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Floats
    in_degrees: bool

    def scalars_of(self, trajectory: Trajectory) -> list[ScalarChannel]:
        """Return the quantity of a run that each column measures.

        Raises
        ------
        ResultError
            A column is not the name of one quantity, or its unit has another dimension; the message has all of them.
        """
        found, problems = [], []
        for name, unit in zip(self.names, self.units, strict=True):
            try:
                found.append(_scalar(trajectory, name, unit))
            except ResultError as error:
                problems.append(f"{self.source}:{self.line}: column `{name}`: {error}")
        if problems:
            raise ResultError("\n".join(problems))
        return found

    def in_radians(self, scalars: Sequence[ScalarChannel]) -> Measurements:
        """Return these measurements of scalars of a run with angles in radians."""
        of_angles = ("rad", "rad/s", "rad/s^2")
        degrees = [
            self.in_degrees and not unit and scalar.units in of_angles
            for unit, scalar in zip(self.units, scalars, strict=True)
        ]
        return replace(self, values=self.values * np.where(degrees, math.radians(1.0), 1.0), in_degrees=False)


def _scalar(trajectory: Trajectory, name: str, unit: str) -> ScalarChannel:
    scalars = select(trajectory, [name])
    if len(scalars) > 1:
        raise ResultError(f"expected one quantity, found {len(scalars)}: name a component, as in `{scalars[0]}`")
    wanted, given = scalars[0].units, _unit(unit)
    if unit and _unit(wanted).dimension != given.dimension:
        raise ResultError(f"expected {wanted}, but `{unit}` is {kind_of(given.dimension)}")
    if unit and any((kind.unit, kind.ambiguous) == (wanted, unit) for kind in KINDS):
        raise ResultError(f"expected {wanted}: write rad/s, deg/s, turn/s or rpm in place of `{unit}`")
    return scalars[0]


def _unit(text: str) -> Unit:
    """Return a unit; numbers without unit, and dimensionless ones, have the unit of an angle."""
    return parse_unit("rad" if text in ("", NO_UNIT) else text)


def read_measurements(path: Path) -> Measurements:
    """Read a file.

    Raises
    ------
    ArgumentError
        It cannot be read, has no values, a cell is not a number, or its times are not ascending.
    ResultError
        Its columns have equal names, or its times are negative.
    """
    table = read_table(path, Usage())
    names = [heading.name for heading in table.headings]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ResultError(
            f"{path}:{table.line}: expected a column `time` and others with different names, found {', '.join(names)}"
        )
    times, others, values = series_of(table, [table.unit_of(place) for place in range(len(names))])
    if times[0] < 0.0:
        raise ResultError(f"{path}: `time` begins at {times[0]:g} s: expected instants from 0 s on")
    units = tuple(table.headings[k].unit for k in others)
    return Measurements(str(path), table.line, times, tuple(names[k] for k in others), units, values, table.in_degrees)


def series_of(table: TableFile, units: Sequence[Unit | None]) -> tuple[Floats, list[int], Floats]:
    """Read the columns of a table as functions of its column `time`.

    Parameters
    ----------
    table
        The table.
    units
        Unit of each of its columns, in which the values are given; None for values as they are.

    Returns
    -------
    times
        (T,) instants, s, ascending; at least one.
    others, values
        Places of the c other columns, and their values (T, c); NaN for an empty cell.

    Raises
    ------
    ArgumentError
        It has no column `time`, no values or a cell without a number, or `time` does not rise.
    """
    names = [heading.name for heading in table.headings]
    if names.count("time") != 1:
        among = f"found {names.count('time')} among {listed([f'`{name}`' for name in names], 8)}"
        raise ArgumentError(
            f"{table.path}:{table.line}: expected one column `time`, {among}: name that of the instants so"
        )
    time = names.index("time")
    if (unit := units[time]) is not None and unit.dimension != TIME.dimension:
        found = f"`{table.headings[time].unit}` is {kind_of(unit.dimension)}"
        raise table.error(table.line, time, f"expected a time (s), but {found}")
    lines = list(table.rows)
    rows = np.array([_numbers_of(table, line, row) for line, row in lines]).reshape(-1, len(names))
    if not len(rows):
        raise ArgumentError(f"{table.path} has no values: expected a line of headings and a line for each instant")
    rows *= [1.0 if unit is None else unit.factor for unit in units]
    times = rows[:, time]
    rises = np.diff(times, prepend=-math.inf) > 0.0
    if not rises.all():
        place = int(np.argmin(rises))
        line, row = lines[place]
        found = f"found `{row[time]}`" + (f" after `{lines[place - 1][1][time]}`" if place else "")
        raise table.error(line, time, f"expected times that rise from line to line, without missing values, {found}")
    others = [k for k in range(len(names)) if k != time]
    return times, others, rows[:, others]


def _numbers_of(table: TableFile, line: int, row: list[str]) -> list[float]:
    """Return the numbers of a line; NaN for an empty cell."""
    numbers = [number_in(cell) for cell in row]
    for place, (number, cell) in enumerate(zip(numbers, row, strict=True)):
        if not math.isfinite(number) and cell.lower() not in ("", "nan"):
            raise table.error(line, place, f"expected a number, found `{cell}`")
    return numbers
