"""Measured motion: a CSV file with a column `time` and columns that are named like quantities of a run.

The first line names the columns, each with an optional unit in parentheses, as `mbsim export` writes them:

    time (s), joints/hinge/q (deg), joints/hinge/force[fx] (N)

A column without a unit is in SI units and radians.  An empty cell is a missing value.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.errors import QuantityError, ResultError
from multibody_cli.output.selection import Scalar, select
from multibody_cli.spec.units import Unit, kind_of, parse_unit
from multibody_cli.studies.csv_cells import read_cells

if TYPE_CHECKING:
    from multibody_cli.model import Floats
    from multibody_cli.output.trajectory import Trajectory

_HEADING = re.compile(r"\s*(?P<name>.*?)\s*(?:\((?P<unit>[^()]*)\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Measurements:
    """Measured values.

    Parameters
    ----------
    source
        The file, for messages.
    times
        (T,) instants, s, ascending.
    names, units
        Of the columns; the unit is empty if the file has none.
    values
        (T, c) in SI units; NaN for a missing value.
    """

    source: str
    times: Floats
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Floats

    def scalars_of(self, trajectory: Trajectory) -> list[Scalar]:
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
                problems.append(f"{self.source}: column `{name}`: {error}")
        if problems:
            raise ResultError("\n".join(problems))
        return found


def _scalar(trajectory: Trajectory, name: str, unit: str) -> Scalar:
    scalars = select(trajectory, [name])
    if len(scalars) > 1:
        raise ResultError(f"expected one quantity, found {len(scalars)}: name a component, as in `{scalars[0]}`")
    wanted, given = _unit(scalars[0].units), _unit(unit)
    if unit and wanted.dimension != given.dimension:
        raise ResultError(f"expected {scalars[0].units}, but `{unit}` is {kind_of(given.dimension)}")
    return scalars[0]


def read_measurements(path: Path) -> Measurements:
    """Read a file.

    Raises
    ------
    ArgumentError
        It cannot be read.
    ResultError
        A cell is not a number; the message names file, line and column.
    """
    lines = read_cells(path)
    if len(lines) < 2:
        raise ResultError(f"{path} has no values: expected a line of headings and a line for each instant")
    headings = [_HEADING.fullmatch(word) for word in lines[0][1]]
    names = [heading["name"] if heading else "" for heading in headings]
    units = [(heading["unit"] or "").strip() if heading else "" for heading in headings]
    if names.count("time") != 1 or len(names) < 2 or len(set(names)) < len(names):
        raise ResultError(
            f"{path}:{lines[0][0]}: expected a column `time` and others with different names, found {', '.join(names)}"
        )
    factors = [_factor(path, lines[0][0], name, unit) for name, unit in zip(names, units, strict=True)]
    rows = np.array([_row(path, number, line, names) for number, line in lines[1:]]) * factors
    place = names.index("time")
    times = rows[:, place]
    if not (np.isfinite(times).all() and (np.diff(times) > 0.0).all() and times[0] >= 0.0):
        raise ResultError(f"{path}: `time` must rise from line to line, from 0 s or later, without missing values")
    others = [k for k in range(len(names)) if k != place]
    return Measurements(
        str(path), times, tuple(names[k] for k in others), tuple(units[k] for k in others), rows[:, others]
    )


def _factor(path: Path, number: int, name: str, unit: str) -> float:
    """Return the size of the unit of a column in SI units."""
    try:
        return _unit(unit).factor
    except QuantityError as error:
        raise ResultError(f"{path}:{number}: column `{name}`: {error}") from None


def _unit(text: str) -> Unit:
    """Return a unit; numbers without unit, and dimensionless ones, have the unit of an angle."""
    return parse_unit("rad" if text in ("", "1") else text)


def _row(path: Path, number: int, cells: list[str], names: list[str]) -> list[float]:
    """Return the numbers of a line; NaN for an empty cell."""
    if len(cells) != len(names):
        raise ResultError(f"{path}:{number}: expected {len(names)} cells, found {len(cells)}")
    row = []
    for name, cell in zip(names, cells, strict=True):
        try:
            value = float(cell) if cell.strip() else math.nan
        except ValueError:
            raise ResultError(f"{path}:{number}: column `{name}`: expected a number, found `{cell.strip()}`") from None
        row.append(value)
    return row
