"""Parameters of a scene from measured motion, by weighted nonlinear least squares.

The sum of ((run - measurement) / sigma)^2 over all measured values is minimal, with a standard deviation sigma for each
column.  Unless they are given, these are estimated from the residuals of a first fit, and the fit is repeated with
them.  With the Jacobian J of the weighted residuals, the covariance of the parameters is (J^T J)^-1, times the reduced
chi-square if the sigmas are estimated.  J is computed by central differences of runs.

Sources: Bard, Nonlinear Parameter Estimation (1974), ch. 7; SciPy's `least_squares` (trust region reflective).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from multibody_cli.alarms.contract import Raised
from multibody_cli.document.source import SceneSource
from multibody_cli.errors import ArgumentError, MbsimError, RunFailed, SceneError
from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats
from multibody_cli.scene.timing import is_adaptive
from multibody_cli.spec.units import split_quantity
from multibody_cli.studies.measurements import Measurements
from multibody_cli.studies.simulation import prepare

MOST_INSTANTS = 20_000
"""Largest number of output instants of a run, between which measured instants are interpolated by cubic splines."""

CONVERGED = 1e-10
"""Relative change of the sum of squares, and of the parameters, at which the fit has converged."""

UNDETERMINED = 1e-8
"""Smallest singular value of J, relative to its largest, of parameters that the data determine."""

ROUND_OFF = 1e-12
"""Smallest standard deviation of a column, relative to its largest value."""


MOST_ITERATIONS = 100

ASSEMBLED = "simulation.assembly_tolerance=1e9"
"""Setting of the runs: with other lengths, loops are assembled however far from the written initial coordinates."""

Status = Literal["converged", "not converged", "interrupted"]
INTERRUPTED: Status = "interrupted"


class FreeParameter(Immutable):
    """A parameter to fit: its key, its first value, its unit (empty for a plain number), and its bounds."""

    key: str
    start: float
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf

    @property
    def scale(self) -> float:
        """Typical size."""
        spread = self.high - self.low
        return abs(self.start) or (spread if math.isfinite(spread) else 1.0)

    def override(self, value: float) -> str:
        """Return the text `KEY=VALUE` of a value."""
        return f"{self.key}={float(value)!r} {self.unit}".rstrip()


def read_parameter(text: str) -> FreeParameter:
    """Read `KEY=START` or `KEY=START,LOW,HIGH`; the numbers may have a unit, the same for all.

    Raises
    ------
    ArgumentError
        It is not of this form, or the start is outside the bounds.
    """
    key, equals, values = text.partition("=")
    numbers = [split_quantity(part) for part in values.split(",")]
    found = [number for number in numbers if number is not None]
    if not (key and equals) or len(found) < len(numbers) or len(found) not in (1, 3):
        raise ArgumentError(f"--vary {text}: expected KEY=START or KEY=START,LOW,HIGH, as in `vars.k=50 N/m,0,1000`")
    units = {unit for _, unit in found if unit}
    if len(units) > 1:
        raise ArgumentError(f"--vary {text}: expected one unit, found {', '.join(sorted(units))}")
    start, low, high = [number for number, _ in found] if len(found) == 3 else (found[0][0], -math.inf, math.inf)
    if not low < start < high:
        first, *bounds = (part.strip() for part in values.split(","))
        remedy = f": write --vary {key}={','.join([first, *reversed(bounds)])}" if high < start < low else ""
        raise ArgumentError(
            f"--vary {text}: expected a start between the bounds of {key.strip()}, the lower one first{remedy}"
        )
    return FreeParameter(key.strip(), start, units.pop() if units else "", low, high)


class FittedParameter(Immutable):
    """A fitted parameter with its standard error, in its unit; the error is NaN if the data do not determine it."""

    parameter: FreeParameter
    value: float
    standard_error: float

    @property
    def at_bound(self) -> bool:
        """Whether it lies at one of its bounds."""
        near = 1e-6 * self.parameter.scale
        return min(self.value - self.parameter.low, self.parameter.high - self.value) <= near


class MeasuredQuantity(Immutable):
    """A measured quantity: name, SI unit, number of values, root mean square of the residuals, and sigma."""

    name: str
    units: str
    count: int
    residual: float
    sigma: float


class Fit(Immutable):
    """Result of a fit.

    Parameters
    ----------
    status
        `converged`, `not converged`, or `interrupted`: the best parameters so far, without errors.
    estimates
        The parameters.
    covariance
        (n, n) in the units of the parameters; NaN if the data do not determine them.
    columns
        The measured quantities.
    chi_square, n_free
        Sum of the squared weighted residuals, and number of values less the number of parameters.
    runs
        Number of runs.
    alarms
        Alarms of the run with the fitted values that are not notes.
    settings
        Further overrides that the scene needs with the fitted values.
    """

    status: Status
    estimates: tuple[FittedParameter, ...]
    covariance: Floats
    columns: tuple[MeasuredQuantity, ...]
    chi_square: float
    n_free: int
    runs: int
    alarms: tuple[Raised, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Keys of the parameters without standard error."""
        return tuple(one.parameter.key for one in self.estimates if math.isnan(one.standard_error))


def fit(
    source: SceneSource,
    measurements: Measurements,
    parameters: Sequence[FreeParameter],
    overrides: Sequence[str] = (),
    sigmas: Mapping[str, float] | None = None,
) -> Fit:
    """Fit parameters of a scene to measurements.

    Parameters
    ----------
    source, overrides
        The scene file, and values to replace, each `KEY=VALUE`.
    measurements
        Measured motion.
    parameters
        The parameters: keys of the scene with numbers, or its variables.
    sigmas
        Standard deviations of columns by name, in SI units; by default, all are estimated.

    Raises
    ------
    SceneError
        The scene with the first values of the parameters is invalid.
    ResultError
        A column is not a quantity of the scene.
    RunFailed
        The run with the first values failed, or a run near the fitted ones.
    ArgumentError
        There are fewer values than parameters, or `sigmas` has an unknown column or only some of them.
    """
    given = dict(sigmas or {})
    _require_valid(measurements, parameters, given)
    problem = _Problem(source, measurements, parameters, overrides)
    scales = np.array([parameter.scale for parameter in parameters])
    start = np.array([parameter.start for parameter in parameters]) / scales
    low, high = (np.array(ends) for ends in zip(*((one.low, one.high) for one in parameters), strict=True))
    weights = np.ones(len(measurements.names))
    values, jacobian, status = start, np.full((0, len(start)), math.nan), INTERRUPTED
    try:
        problem.difference(start * scales)  # which determines the units of the columns
        weights = np.array([given.get(name, problem.spread(k)) for k, name in enumerate(measurements.names)])
        values, jacobian, status = problem.solve(values, scales, (low / scales, high / scales), weights)
        if not given:
            weights = problem.estimated_sigmas(values * scales)
            values, jacobian, status = problem.solve(values, scales, (low / scales, high / scales), weights)
    except KeyboardInterrupt:
        values, jacobian, status = problem.best / scales, np.full((0, len(start)), math.nan), INTERRUPTED
    return problem.conclude(values * scales, jacobian / scales, weights, status, bool(given))


def _require_valid(
    measurements: Measurements, parameters: Sequence[FreeParameter], sigmas: Mapping[str, float]
) -> None:
    unknown = sigmas.keys() - set(measurements.names)
    left = set(measurements.names) - sigmas.keys()
    if unknown:
        raise ArgumentError(f"{measurements.source} has no column {', '.join(sorted(unknown))}")
    if sigmas and left:
        raise ArgumentError(f"expected a standard deviation of every column or of none: {', '.join(sorted(left))}")
    if not all(sigma > 0.0 for sigma in sigmas.values()):
        raise ArgumentError("expected positive standard deviations")
    there = np.isfinite(measurements.values)
    empty = [name for name, some in zip(measurements.names, there.T, strict=True) if not some.any()]
    if empty:
        raise ArgumentError(f"{measurements.source} has no values of {', '.join(empty)}: leave the column out")
    count = int(np.count_nonzero(there))
    if count <= len(parameters):
        raise ArgumentError(f"{measurements.source} has {count} values, too few for {len(parameters)} parameters")
    keys = [parameter.key for parameter in parameters]
    if len(set(keys)) < len(keys):
        raise ArgumentError("a parameter is varied twice")


class _Problem:
    """Runs a scene for values of the parameters, and compares it with the measurements."""

    def __init__(
        self,
        source: SceneSource,
        measurements: Measurements,
        parameters: Sequence[FreeParameter],
        overrides: Sequence[str],
    ) -> None:
        self._source, self._measurements, self._parameters = source, measurements, parameters
        self._given = list(overrides)
        self._overrides = [*overrides, ASSEMBLED, *self._timing(source, overrides)]
        self._there = np.isfinite(measurements.values)
        self._runs, self._least = 0, math.inf
        self._failure: MbsimError | None = None
        self._units: list[str] = []
        self._alarms: tuple[Raised, ...] = ()
        self.best = np.array([parameter.start for parameter in parameters])

    def _timing(self, source: SceneSource, overrides: Sequence[str]) -> list[str]:
        """Return overrides so that a run reaches the last measured instant, with dense output."""
        end = float(self._measurements.times[-1])
        first = [parameter.override(parameter.start) for parameter in self._parameters]
        settings = prepare(source, [*overrides, *first]).scene.simulation
        if is_adaptive(settings):
            return [f"simulation.duration={end!r}", f"output.every={end / (MOST_INSTANTS // 10)!r}"]
        steps = max(1, math.ceil(end / settings.step * (1.0 - 1e-12)))
        every = math.ceil(steps / MOST_INSTANTS)
        steps = every * math.ceil(steps / every)
        return [f"simulation.duration={steps * settings.step!r}", f"output.every={every * settings.step!r}"]

    def spread(self, column: int) -> float:
        """Return the standard deviation of the measured values of a column, at least its round-off."""
        return self._at_least_round_off(column, float(np.std(self._measured(column))))

    def _measured(self, column: int) -> Floats:
        values: Floats = self._measurements.values[self._there[:, column], column]
        return values

    def _at_least_round_off(self, column: int, deviation: float) -> float:
        return max(deviation, ROUND_OFF * float(np.abs(self._measured(column)).max(initial=0.0))) or 1.0

    def solve(
        self, start: Floats, scales: Floats, bounds: tuple[Floats, Floats], sigmas: Floats
    ) -> tuple[Floats, Floats, Status]:
        """Return the scaled parameters of least squares, the Jacobian there, and whether they have converged.

        Raises
        ------
        RunFailed
            A run that the Jacobian needs failed.
        """
        from scipy.optimize import least_squares

        tolerances = {"xtol": CONVERGED, "ftol": CONVERGED, "gtol": CONVERGED, "max_nfev": MOST_ITERATIONS}
        try:
            found = least_squares(
                lambda z: self.residuals(z * scales, sigmas), start, "3-point", bounds, x_scale="jac", **tolerances
            )
        except (ValueError, np.linalg.LinAlgError):  # of a Jacobian that is not finite
            if self._failure is None:
                raise
            raise RunFailed(f"a run near the fitted values failed: {self._failure}") from None
        return found.x, found.jac, "converged" if found.success else "not converged"

    def residuals(self, values: Floats, sigmas: Floats) -> Floats:
        """Return the weighted residuals (N,); infinite if the run fails, so that the next trial is closer."""
        try:
            difference = self.difference(values)
        except MbsimError as error:
            self._failure = error
            return np.full(int(self._there.sum()), math.inf)
        weighted: Floats = (difference / sigmas)[self._there]
        size = float(np.sqrt(np.mean(weighted**2)))
        if size < self._least:
            self._least, self.best = size, values
        return weighted

    def estimated_sigmas(self, values: Floats) -> Floats:
        """Return the root mean square of the residuals of each column, at least its round-off."""
        self._least = math.inf
        sizes = self._residual_sizes(self.difference(values))
        return np.array([self._at_least_round_off(*pair) for pair in enumerate(sizes)])

    def _residual_sizes(self, difference: Floats) -> list[float]:
        """Return the root mean square of differences (T, c) in each column."""
        columns = zip(difference.T, self._there.T, strict=True)
        return [float(np.sqrt(np.mean(one[there] ** 2))) if there.any() else 0.0 for one, there in columns]

    def difference(self, values: Floats) -> Floats:
        """Return the measured quantities of a run less the measured values (T, c)."""
        from scipy.interpolate import CubicSpline

        settings = [one.override(value) for one, value in zip(self._parameters, values, strict=True)]
        summary, trajectory = prepare(self._source, [*self._overrides, *settings]).run_in_memory()
        outcome = summary.outcome
        self._runs += 1
        if not outcome.reached_end:
            raise RunFailed(f"the run with {', '.join(settings)} {outcome.status}: {outcome.message}")
        end, last = float(trajectory.time[-1]), float(self._measurements.times[-1])
        if end < last * (1.0 - ROUND_OFF):
            raise RunFailed(
                f"the run with {', '.join(settings)} ends at t = {end:.6g} s, before the last measured instant, "
                f"{last:g} s"
            )
        self._alarms = tuple(alarm for alarm in outcome.alarms if alarm.level != "note")
        scalars = self._measurements.scalars_of(trajectory)
        self._measurements = self._measurements.in_radians(scalars)
        self._units = [scalar.units for scalar in scalars]
        columns = []
        for scalar in scalars:
            numbers = trajectory.channel(scalar.channel).values.reshape(len(trajectory.time), -1)[:, scalar.column]
            columns.append(CubicSpline(trajectory.time, numbers)(self._measurements.times))
        return np.array(columns).T - self._measurements.values

    def conclude(self, values: Floats, J: Floats, sigmas: Floats, status: Status, are_given: bool) -> Fit:
        """Return the result for fitted values and the Jacobian of the weighted residuals there."""
        difference = self.difference(values)
        weighted = (difference / sigmas)[self._there]
        chi_square, n_free = float(weighted @ weighted), len(weighted) - len(values)
        covariance = _covariance(J) * (1.0 if are_given else chi_square / n_free)
        errors = np.sqrt(np.diag(covariance))
        estimates = [
            FittedParameter(*row) for row in zip(self._parameters, values.tolist(), errors.tolist(), strict=True)
        ]
        names, counts = self._measurements.names, self._there.sum(axis=0).tolist()
        about = zip(names, self._units, counts, self._residual_sizes(difference), sigmas.tolist(), strict=True)
        columns = tuple(MeasuredQuantity(*column) for column in about)
        settings: tuple[str, ...] = ()
        try:
            prepare(self._source, [*self._given, *(one.parameter.override(one.value) for one in estimates)])
        except SceneError:  # without this setting
            settings = (ASSEMBLED,)
        found = chi_square, n_free, self._runs, self._alarms, settings
        return Fit(status, tuple(estimates), covariance, columns, *found)


def _covariance(J: Floats) -> Floats:
    """Return (J^T J)^-1, NaN for parameters that take part in a combination that J does not determine."""
    n = J.shape[1]
    if len(J) < n or not np.isfinite(J).all():
        return np.full((n, n), math.nan)
    scale = np.linalg.norm(J, axis=0)
    scale[scale == 0.0] = 1.0
    _, sizes, directions = np.linalg.svd(J / scale, full_matrices=False)
    weak = sizes <= UNDETERMINED * sizes[0]
    kept = directions[~weak] / sizes[~weak, None]
    covariance: Floats = kept.T @ kept / np.outer(scale, scale)
    lost = (np.abs(directions[weak]) > math.sqrt(UNDETERMINED)).any(axis=0)
    covariance[lost] = covariance[:, lost] = math.nan
    return covariance
