"""Measured motion: coordinates as functions of time, from a table or from a result file.

Through the values of each column of a table leads the natural spline of degree five: its third and fourth derivatives
are 0 at both ends.  It is that of OpenSim (GCVSpline without smoothing), and has continuous accelerations.  Before
that, a filter can remove noise: a Butterworth filter of third order, forward and backward, so that it shifts no phase.

A result file has rates and accelerations, which are used as they are.  Of bodies that move freely it has positions,
rotations and velocities; the accelerations are those of a spline through these.

Sources: Woltring, A Fortran package for generalized, cross-validatory spline smoothing and differentiation, Adv. Eng.
Software 8 (1986); SciPy's `make_interp_spline` and `sosfiltfilt`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from multibody_cli.document.table_file import NO_UNIT, TableFile, read_table
from multibody_cli.errors import ArgumentError, QuantityError, ResultError, nearest
from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel import Flags, Floats, Integers
from multibody_cli.limits import Usage
from multibody_cli.model import Model
from multibody_cli.output.trajectory import ENDINGS, Trajectory, read_trajectory
from multibody_cli.spec.units import Unit, kind_of, parse_unit
from multibody_cli.studies.inverse.coordinates import Coordinates
from multibody_cli.studies.measurements import series_of

DEGREE = 5
FILTER_ORDER = 3
FEWEST = 6
"""Fewest instants of a spline of degree five."""

UNEVEN = 1e-3
"""Largest relative difference of the intervals between instants that a filter takes for equal."""


Columns = tuple[Floats, list[str], Floats, int, list[Unit | None], bool]
"""Result of `read_columns`."""


class MeasuredMotion(Immutable):
    """The motion of some coordinates.

    Parameters
    ----------
    source
        The file.
    times
        (T,) instants, s.
    coordinates
        (g,) indices in v.
    q, v, a
        (T, g) their values in rad, m or 1, rates and accelerations; three values of a rotation are its rotation vector.
    ignored
        Columns that are no coordinates.
    """

    source: str
    times: Floats
    coordinates: Integers
    q: Floats
    v: Floats
    a: Floats
    ignored: tuple[str, ...] = ()

    def between(self, start: float | None, end: float | None) -> MeasuredMotion:
        """Return the part of the motion between two instants, s.

        Raises
        ------
        ArgumentError
            It has no instant there.
        """
        slack = 1e-9 * max(abs(self.times[0]), abs(self.times[-1]))
        first, last = self.times[0] if start is None else start, self.times[-1] if end is None else end
        rows = (self.times >= first - slack) & (self.times <= last + slack)
        if not rows.any():
            ends = f"it has {len(self.times)} from {self.times[0]:g} s to {self.times[-1]:g} s"
            raise ArgumentError(f"{self.source} has no instant from {first:g} s to {last:g} s: {ends}")
        return replace(self, times=self.times[rows], q=self.q[rows], v=self.v[rows], a=self.a[rows])

    def without(self, dropped: Flags) -> MeasuredMotion:
        """Return the motion without some of its coordinates (g,)."""
        kept = np.flatnonzero(~dropped)
        parts = {name: getattr(self, name)[:, kept] for name in ("q", "v", "a")}
        return replace(self, coordinates=self.coordinates[kept], **parts)


def of_tree(motion: MeasuredMotion, model: Model, coordinates: Coordinates) -> tuple[MeasuredMotion, tuple[str, ...]]:
    """Return the motion of coordinates of the tree that the scene does not prescribe, and columns that are ignored."""
    n = int(model.system.tree.links["nv"].sum())
    closing = motion.coordinates >= n
    dropped = model.system.tree.driven[motion.coordinates] | closing
    names = [
        f"{coordinates.by_index(int(iv)).name} ({'closes a loop' if iv >= n else 'prescribed'})"
        for iv in motion.coordinates[dropped]
    ]
    return motion.without(dropped), (*motion.ignored, *names)


def refuse_closing(motion: MeasuredMotion, held: Integers, model: Model, coordinates: Coordinates) -> None:
    """Refuse values of coordinates that close loops if other coordinates are held because nothing determines them.

    Raises
    ------
    ArgumentError
        The motion has such a coordinate, and `held` names one of the tree.
    """
    closing = motion.coordinates[motion.coordinates >= int(model.system.tree.links["nv"].sum())]
    if len(closing) and len(held):
        name, free = (coordinates.by_index(int(one[0])).name for one in (closing, held))
        raise ArgumentError(
            f"{motion.source}: `{name}` is of a joint that closes a loop, whose coordinates follow from those of the "
            f"tree, and nothing determines `{free}`: give `{free}` in its place"
        )


def read_motion(path: Path, coordinates: Coordinates, cutoff: float | None = None) -> MeasuredMotion:
    """Read the motion of coordinates.

    Parameters
    ----------
    path
        A table (`.mot`, `.sto`, `.csv`) with a column `time`, or a result file.
    coordinates
        The coordinates of the scene.
    cutoff
        Cutoff frequency of the filter, Hz; None for no filter.

    Raises
    ------
    ArgumentError
        The file cannot be read, has no column of a coordinate, or too few instants.
    """
    if path.suffix in ENDINGS:
        if cutoff is not None:
            raise ArgumentError("--filter has no effect on a result file, which has rates and accelerations")
        return _from_result(path, coordinates)
    return motion_of(path, read_columns(path), coordinates, cutoff)


def motion_of(path: Path, table: Columns, coordinates: Coordinates, cutoff: float | None = None) -> MeasuredMotion:
    """Return the motion of coordinates from the columns of a table; see `read_motion`."""
    times, found, ignored = coordinates_in(path, table, coordinates)
    if not found:
        first = ignored[0] if ignored else ""
        raise ArgumentError(
            f"{path}:{table[3]}: no column is a coordinate of the scene, or a point or a body of it: "
            f"{nearest(first, coordinates.names)}"
        )
    gaps = {coordinates.by_index(iv).name: times[~np.isfinite(column)] for iv, column in found.items()}
    if where := [f"`{name}` at {at[0]:g} s" for name, at in gaps.items() if len(at)]:
        raise ArgumentError(f"{path}: missing values, first in {', '.join(where)}: fill the gaps first")
    q = np.array([*found.values()]).T
    columns_of = derivatives(path, times, q) if cutoff is None else filtered(path, times, q, cutoff)
    return MeasuredMotion(str(path), times, np.array([*found], np.int64), *columns_of, tuple(ignored))


def coordinates_in(path: Path, table: Columns, coordinates: Coordinates) -> tuple[Floats, dict[int, Floats], list[str]]:
    """Return the instants of a table, the values (T,) of its coordinates by their indices in v, and its other columns.

    Raises
    ------
    ArgumentError
        A column is a rotation or has another unit, or two are the same coordinate.
    """
    times, names, columns, line, units, in_degrees = table
    found: dict[int, int] = {}
    factors: dict[int, float] = {}
    others = []
    for k, name in enumerate(names):
        one = coordinates.find(name)
        if one is None:
            others.append(name)
        elif not one.is_plain:
            raise ArgumentError(f"{path}:{line}: `{name}`: a rotation of a spherical or free joint is no column")
        elif one.iv in found:
            raise ArgumentError(f"{path}:{line}: `{name}` and `{names[found[one.iv]]}` are the same coordinate")
        elif (unit := units[k]) is not None and unit.dimension != parse_unit(one.unit).dimension:
            raise ArgumentError(f"{path}:{line}: `{name}`: expected {one.unit}, found {kind_of(unit.dimension)}")
        else:
            found[one.iv] = k
            factors[one.iv] = math.radians(1.0) if in_degrees and unit is None and one.unit == "rad" else 1.0
    return times, {iv: factors[iv] * columns[:, k] for iv, k in found.items()}, others


def derivatives(path: Path, times: Floats, q: Floats) -> tuple[Floats, Floats, Floats]:
    """Return values, first and second derivatives (T, g) of the natural spline of degree five; a pose is at rest.

    Raises
    ------
    ArgumentError
        There are too few instants.
    """
    if (q == q[:1]).all():
        return q, np.zeros_like(q), np.zeros_like(q)
    if len(times) < FEWEST:
        raise ArgumentError(
            f"{path} has {len(times)} instants: a spline of degree five needs {FEWEST}; equal rows, or one, are a pose "
            "at rest"
        )
    ends: list[tuple[int, Floats]] = [(order, np.zeros(q.shape[1])) for order in (3, 4)]
    spline = make_interp_spline(times, q, DEGREE, bc_type=(ends, ends))
    return q, spline.derivative(1)(times), spline.derivative(2)(times)


def filtered(path: Path, times: Floats, q: Floats, cutoff: float) -> tuple[Floats, Floats, Floats]:
    """Return values, first and second derivatives (T, g) without frequencies above the cutoff, Hz.

    The filter and the spline have the columns with half of their length added at both ends, reflected at the end point.

    Raises
    ------
    ArgumentError
        The instants are not equally spaced, or too far apart.
    """
    intervals = np.diff(times)
    interval = float(np.mean(intervals)) if len(intervals) else 1.0
    if len(times) < FEWEST or np.abs(intervals - interval).max() > UNEVEN * interval:
        raise ArgumentError(f"{path}: --filter needs equally spaced instants, at least {FEWEST}")
    if not 0.0 < cutoff < 0.5 / interval:
        nyquist = 0.5 / interval
        raise ArgumentError(f"--filter {cutoff:g}: expected a frequency up to half of that of {path}, {nyquist:g} Hz")
    sections = butter(FILTER_ORDER, cutoff, fs=1.0 / interval, output="sos")
    count = len(times) // 2
    longer = [
        np.concatenate([2.0 * x[0] - x[count:0:-1], x, 2.0 * x[-1] - x[-2 : -count - 2 : -1]]) for x in (times, q)
    ]
    smooth = sosfiltfilt(sections, longer[1], axis=0)
    own = slice(count, count + len(times))
    found, v, a = (part[own] for part in derivatives(path, longer[0], smooth))
    return found, v, a


def read_columns(path: Path) -> Columns:
    """Read a table.

    Returns
    -------
    times
        (T,) instants, s.
    names, values
        Names and values (T, c) of the other columns, in SI units where a column has a unit.
    line
        Line of the headings.
    units
        Units of the columns; None without.
    in_degrees
        Whether angles without a unit are in degrees.

    Raises
    ------
    ArgumentError
        It cannot be read, or `time` does not rise.
    """
    table = read_table(path, Usage())
    units = [_unit(table, k) for k in range(len(table.headings))]
    times, others, values = series_of(table, units)
    names = [table.headings[k].name for k in others]
    return times, names, values, table.line, [units[k] for k in others], table.in_degrees


def _unit(table: TableFile, place: int) -> Unit | None:
    """Return the unit of a column; a name such as `knee_l` has none."""
    text = table.headings[place].unit
    try:
        return parse_unit(text) if text and text != NO_UNIT else None
    except QuantityError as error:
        raise table.error(table.line, place, str(error)) from None


def _from_result(path: Path, coordinates: Coordinates) -> MeasuredMotion:
    """Read coordinates, rates and accelerations of a run."""
    trajectory = read_trajectory(path)
    found: list[int] = []
    values: list[Floats] = []
    for one in coordinates.all:
        channel, _, k = coordinates.channel_of(one).rstrip("]").partition("[")
        paths = [f"{channel.removesuffix('/q')}/{word}" for word in ("q", "v", "acceleration")]
        if paths[0] not in trajectory.paths:
            continue
        missing = [text for text in paths if text not in trajectory.paths]
        if missing:
            raise ResultError(f"{path} has no channel {missing[0]}: record it (`output.channels`)")
        found.append(one.iv)
        values.append(np.array([trajectory.channel(text).values[:, int(k or 0)] for text in paths]))
    for body, places in coordinates.free.items():
        if body in trajectory.bodies and "bodies/position" in trajectory.paths and len(trajectory.time) >= FEWEST:
            found += range(places.start, places.stop)
            values += _of_free_body(trajectory, body)[: places.stop - places.start]
    if not found:
        raise ResultError(f"{path} has no coordinates of the scene")
    q, v, a = np.array(values).transpose(1, 2, 0)
    return MeasuredMotion(str(path), trajectory.time, np.array(found, np.int64), q, v, a)


def _of_free_body(trajectory: Trajectory, body: str) -> list[Floats]:
    """Return the values, rates and accelerations (3, T) of the position and the rotation of a body."""
    place = trajectory.bodies.index(body)
    position, quaternion, linear, angular = (
        trajectory.channel(f"bodies/{word}").values[:, place]
        for word in ("position", "quaternion", "linear_velocity", "angular_velocity")
    )
    q = np.hstack([position, Rotation.from_quat(quaternion, scalar_first=True).as_rotvec()])
    v = np.hstack([linear, angular])
    a = make_interp_spline(trajectory.time, v, DEGREE)(trajectory.time, 1)
    return [np.array(triple) for triple in zip(q.T, v.T, a.T, strict=True)]
