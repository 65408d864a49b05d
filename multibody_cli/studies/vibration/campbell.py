"""Campbell diagram: the frequencies of a machine over the rate of its rotor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.output.table_formats import FORMATS, ColumnTable
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.vibration.modes import modes_of_subject
from multibody_cli.studies.vibration.subject import subject_of

MOST_RATES = 10_000


class Campbell(Immutable, eq=False):
    """Frequencies over a rate.

    Parameters
    ----------
    coordinate
        The coordinate with the rate.
    rates
        (r,) constant rates, rad/s or m/s.
    frequencies
        (r, k) damped frequencies of the modes at each rate in ascending order, Hz; NaN where there are fewer than k.
    """

    coordinate: str
    rates: Floats
    frequencies: Floats


def read_range(rates: Mapping[str, str | None]) -> tuple[str, Floats]:
    """Return the coordinate and the rates of the one among `rates` that is a range LOW:HIGH:COUNT.

    Raises
    ------
    ArgumentError
        There is none, or more than one, or its numbers are invalid.
    """
    ranges = [(name, text) for name, text in rates.items() if text is not None and ":" in text]
    if len(ranges) != 1:
        raise ArgumentError("--campbell: expected one range of rates, as in --steady spin=0:100:21, in rad/s or m/s")
    [(name, text)] = ranges
    try:
        low, high, count = text.split(":")
        found = np.linspace(float(low), float(high), int(count))
    except ValueError:
        found = np.zeros(0)
    if not 2 <= len(found) <= MOST_RATES or not np.isfinite(found).all() or not found[0] < found[-1]:
        raise ArgumentError(f"--steady {name}={text}: expected LOW:HIGH:COUNT, as in {name}=0:100:21, in rad/s or m/s")
    return name, found


def campbell_of(
    prepared: PreparedSimulation, at: float | None, rates: Mapping[str, str | None], coordinate: str, values: Floats
) -> Campbell:
    """Compute the frequencies about the steady motions with each rate.

    Parameters
    ----------
    prepared, at
        The scene, prepared with `statics.study.OVERRIDES`, and the instant of the steady motions, s.
    rates
        Constant rates.
    coordinate, values
        The coordinate whose rate has other values, and these (r,).

    Raises
    ------
    RunFailed
        There is no steady motion with one of the rates.
    """
    rows = []
    for value in values.tolist():
        subject = subject_of(prepared, at, steady={**rates, coordinate: value})
        modes = modes_of_subject(subject, prepared.compiled.masses).modes
        rows.append(sorted(mode.damped_frequency for mode in modes if mode.kind == "oscillates"))
    most = max(map(len, rows))
    frequencies = np.array([row + [math.nan] * (most - len(row)) for row in rows]).reshape(len(rows), most)
    return Campbell(coordinate, values, frequencies)


def write_campbell(found: Campbell, path: Path) -> None:
    """Write the frequencies as comma-separated values, with a row for each rate."""
    columns = [(f"rate of {found.coordinate}", "SI", "", found.rates)]
    columns += [(f"frequency {k}", "Hz", "", own) for k, own in enumerate(found.frequencies.T, start=1)]
    FORMATS["csv"].replace(ColumnTable(tuple(columns)), path)
