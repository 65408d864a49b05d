"""Campbell diagram: the frequencies of a machine over the rate of its rotor.

A mode is followed by its shape from one rate to the next: the modes of a rate are assigned to those before with the
largest sum of the values MAC = |x^H y|^2/(|x|^2 |y|^2) of shapes x and y (Allemang and Brown 1982, A correlation
coefficient for modal vector analysis).  Modes of one exponent span a subspace, and MAC is that of the projection of x.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from scipy.linalg import orth
from scipy.optimize import linear_sum_assignment

from multibody_cli.errors import ArgumentError, RunFailed
from multibody_cli.immutable import Immutable
from multibody_cli.initial.linearized_motion import Complex
from multibody_cli.joints.coordinate_fields import COORDINATE_KINDS, Coordinate
from multibody_cli.kernel import Flags, Floats, Integers
from multibody_cli.output.table_formats import FORMATS, ColumnTable
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.statics.study import StaticProblem, read_rate
from multibody_cli.studies.vibration.modes import modes_of_subject
from multibody_cli.studies.vibration.subject import subject_of

MOST_RATES = 10_000

EQUAL = 1e-6
"""Difference of exponents, relative to them, whose modes count as a subspace; and growth that counts as round-off."""

LEAST = 0.1
"""Smallest MAC of the shapes of one mode at consecutive rates."""

TURNED = 0.5
"""Factor of the MAC of conjugate shapes, which are those of whirls in opposite directions."""

TIE = 1e-6
"""Difference of sums of MAC that is a tie: the order of the frequencies then decides."""


class Range(Immutable, eq=False):
    """Rates of a coordinate: its name, the unit of its rate, and (r,) ascending values, rad/s or m/s."""

    coordinate: str
    unit: str
    values: Floats

    def at(self, k: int) -> str:
        """Return a rate with its unit."""
        return f"{self.coordinate} = {self.values[k]:g} {self.unit}"


class Campbell(Immutable, eq=False):
    """Modes over a rate.

    Parameters
    ----------
    rates
        The constant rates.
    exponents
        (r, k) exponents of the modes that oscillate or grow at one of the rates, 1/s: that of an oscillation with the
        positive imaginary part; NaN at rates without the mode.
    failures
        Reasons why there are no modes, by the indices of rates.
    remarks
        The elements that the modes leave out.
    """

    rates: Range
    exponents: Complex
    failures: Mapping[int, str]
    remarks: tuple[str, ...] = ()

    @property
    def frequencies(self) -> Floats:
        """(r, k) damped frequencies, Hz; NaN where a mode does not oscillate."""
        return np.where(self.exponents.imag > 0.0, self.exponents.imag / (2.0 * math.pi), math.nan)

    @property
    def grows(self) -> Flags:
        """(r, k) whether a mode grows."""
        return np.asarray(self.exponents.real > EQUAL * np.abs(self.exponents))

    def growths(self) -> list[str]:
        """Return a sentence for each mode that grows, with the rates at which it does."""
        found, values = [], self.rates.values
        for k, (own, growth) in enumerate(zip(self.grows.T, self.exponents.real.T, strict=True), start=1):
            indices = np.flatnonzero(own)
            runs = [run for run in np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1) if len(run)]
            if runs:
                ends = [dict.fromkeys((f"{values[run[0]]:g}", f"{values[run[-1]]:g}")) for run in runs]
                parts = [" to ".join(pair) for pair in ends]
                where = f"{self.rates.coordinate} = {', '.join(parts)} {self.rates.unit}"
                found.append(f"mode {k} grows at {where}, by up to {growth[own].max():.3g} 1/s")
        return found


def read_range(
    prepared: PreparedSimulation, at: float | None, rates: Mapping[str, str | None]
) -> tuple[Range, dict[str, str | None]]:
    """Return the one among `rates` that is a range LOW:HIGH:COUNT, with or without units, and the others.

    Raises
    ------
    ArgumentError
        There is none, or more than one, its coordinate can have no constant rate, or its numbers are invalid.
    """
    ranges = [(name, text) for name, text in rates.items() if text is not None and ":" in text]
    if len(ranges) != 1:
        raise ArgumentError("--campbell: expected one range of rates, as in --steady spin=0:100:21")
    [(name, text)] = ranges
    others = {other: rate for other, rate in rates.items() if other != name}
    one = StaticProblem(prepared, at, others).coordinate(name)
    low, high, count = [*text.split(":"), "", ""][:3]
    if text.count(":") == 2 and count.strip().isdecimal() and 2 <= int(count) <= MOST_RATES:
        ends = read_rate(one, low.strip()), read_rate(one, high.strip())
        if ends[0] < ends[1]:
            return Range(name, COORDINATE_KINDS["v"][Coordinate(one.unit)].unit, np.linspace(*ends, int(count))), others
    raise ArgumentError(
        f"--steady {name}={text}: expected LOW:HIGH:COUNT with LOW < HIGH and COUNT from 2 to {MOST_RATES}, as in "
        f"{name}=0:100:21"
    )


def campbell_of(
    prepared: PreparedSimulation, at: float | None, others: Mapping[str, str | None], rates: Range
) -> Campbell:
    """Compute the modes about the steady motions with each rate.

    Parameters
    ----------
    prepared, at
        The scene, prepared with `statics.study.OVERRIDES`, and the instant of the steady motions, s.
    others
        Constant rates of other coordinates.
    rates
        The coordinate whose rate has several values, and these.

    Raises
    ------
    RunFailed
        There is a steady motion with none of the rates.
    """
    failures: dict[int, str] = {}
    remarks: dict[str, None] = {}
    found: list[tuple[Complex, Complex]] = []
    for k, value in enumerate(rates.values.tolist()):
        try:
            subject = subject_of(prepared, at, steady={**others, rates.coordinate: value})
            whole = modes_of_subject(subject, prepared.compiled.masses)
            modes = whole.modes
            remarks |= dict.fromkeys(whole.remarks)
        except RunFailed as error:
            failures[k], modes = str(error), ()
        if modes:  # those that decay without oscillation come last: from an oscillation, its growing part follows
            modes = tuple(sorted(modes, key=lambda mode: mode.kind == "decays"))
            sized = np.array([mode.shape for mode in modes]).T * subject.model.system.tree.weights[:, None]
            found.append((np.array([mode.exponent for mode in modes]), sized / np.linalg.norm(sized, axis=0)))
        else:
            found.append((np.zeros(0, np.complex128), np.zeros((0, 0), np.complex128)))
    if len(failures) == len(rates.values):
        raise RunFailed(f"no modes at any rate: at {rates.at(0)}: {failures[0]}")
    columns = follow(found)
    exponents = np.full((len(found), 1 + max((own.max(initial=-1) for own in columns), default=-1)), complex(math.nan))
    for k, own in enumerate(columns):
        exponents[k, own] = found[k][0]
    result = Campbell(rates, exponents, failures)
    kept = (np.isfinite(result.frequencies) | result.grows).any(axis=0)
    return Campbell(rates, exponents[:, kept], failures, tuple(remarks))


def follow(found: Iterable[tuple[Complex, Complex]]) -> list[Integers]:
    """Return for each rate the numbers (m,) of its modes, which a mode keeps from one rate to the next.

    Parameters
    ----------
    found
        Exponents (m,) and shapes (nv, m), of norm 1, at each rate.  Ties of shapes are broken by this order of modes.
    """
    columns: list[Integers] = []
    known: list[Complex] = []  # the last shape of each mode, and its place in the order
    places: list[int] = []
    for exponents, shapes in found:
        count = len(exponents)
        spans = [orth(shapes[:, np.abs(exponents - s) <= EQUAL * abs(s)]) for s in exponents]
        # a mode that passes frequency 0 has the conjugate shape afterwards
        same, turned = (
            np.array([[np.linalg.norm(Q.conj().T @ x) ** 2 for Q in spans] for x in earlier]).reshape(len(known), count)
            for earlier in (known, [x.conj() for x in known])
        )
        mac = np.maximum(same, TURNED * turned)
        apart = (np.array(places, float)[:, None] - np.arange(count)) / (len(known) + count + 1)
        own = np.full(count, -1)
        for before, k in zip(*linear_sum_assignment(mac - TIE * apart**2, maximize=True), strict=True):
            if mac[before, k] > LEAST:
                x = known[before] if same[before, k] == mac[before, k] else known[before].conj()
                shape = spans[k] @ (spans[k].conj().T @ x)
                own[k], known[before], places[before] = before, shape / np.linalg.norm(shape), k
        for k in np.flatnonzero(own < 0).tolist():
            own[k] = len(known)
            known.append(shapes[:, k])
            places.append(k)
        columns.append(own)
    return columns


def write_campbell(found: Campbell, path: Path) -> None:
    """Write frequencies and growth rates as comma-separated values, with a row for each rate."""
    columns = [(f"rate of {found.rates.coordinate}", found.rates.unit, "", found.rates.values)]
    for k, (frequency, growth) in enumerate(zip(found.frequencies.T, found.exponents.real.T, strict=True), start=1):
        columns += [(f"frequency {k}", "Hz", "", frequency), (f"growth {k}", "1/s", "", growth)]
    FORMATS["csv"].replace(ColumnTable(tuple(columns)), path)
