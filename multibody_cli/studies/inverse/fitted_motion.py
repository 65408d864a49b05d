"""The motion of all coordinates from markers and poses: inverse kinematics, then splines.

The splines and the filter of `motion` lead through the fitted coordinates.  For a rotation they lead through the
components of its quaternion c, with continuous signs.  With x = c / |c|, its angular velocity w has (0, w) = 2 x* x' in
the outer frame, and 2 x' x* in the inner frame (`tree.configuration`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.errors import ArgumentError, listed
from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel import Floats, Integers
from multibody_cli.model import Model, State
from multibody_cli.output.trajectory import ENDINGS
from multibody_cli.scene.likely_mistakes import TURN
from multibody_cli.studies.inverse.coordinates import Coordinates
from multibody_cli.studies.inverse.fit import Fit, Fitting
from multibody_cli.studies.inverse.measured_frames import FrameColumns, Frames, MeasuredFrames, missing_counts
from multibody_cli.studies.inverse.motion import (
    Columns,
    MeasuredMotion,
    coordinates_in,
    derivatives,
    filtered,
    motion_of,
    read_columns,
    read_motion,
)
from multibody_cli.studies.inverse.trc import SUFFIX, read_trc

MOST_NAMES = 5
"""Largest number of names that a remark lists."""


class Misfit(Immutable):
    """Differences between a measured quantity and the fitted motion.

    Parameters
    ----------
    name, unit
        The point, body or coordinate, and `m` or `rad`.
    root_mean_square, largest, time
        Over all instants at which it was measured, and the instant of the largest one, s.
    """

    name: str
    unit: str
    root_mean_square: float
    largest: float
    time: float


class FittedMotion(Immutable, eq=False):
    """A motion.

    Parameters
    ----------
    motion
        The motion.
    configurations
        (T, nq) configurations that fit markers and poses; None if the file has coordinates.
    misfits
        Differences of measured points, bodies and coordinates.
    remarks
        Missing markers, coordinates that markers do not determine, and probable mistakes in headings.
    """

    motion: MeasuredMotion
    configurations: Floats | None = None
    misfits: tuple[Misfit, ...] = ()
    remarks: tuple[str, ...] = ()

    def between(self, start: float | None, end: float | None) -> FittedMotion:
        """Return the part of the motion between two instants, s; see `MeasuredMotion.between`."""
        part, own = self.motion.between(start, end), self.configurations
        kept = np.isin(self.motion.times, part.times)
        return replace(self, motion=part, configurations=None if own is None else own[kept])


def motion_from(
    path: Path | None,
    model: Model,
    state: State,
    coordinates: Coordinates,
    cutoff: float | None = None,
    weights: Sequence[str] = (),
) -> FittedMotion:
    """Read a motion: coordinates as they are, or those that fit markers and poses.

    Parameters
    ----------
    path
        A table (`.mot`, `.sto`, `.csv`), a file of markers (`.trc`), or a result file; None is refused.
    model, state
        The model in joint coordinates, and its state at the start, which is changed.
    coordinates
        The coordinates of the scene.
    cutoff
        Cutoff frequency of the filter, Hz; None for no filter.
    weights
        Weights of measured quantities, `NAME=NUMBER`; 1 by default.

    Raises
    ------
    ArgumentError
        The file cannot be read, has no coordinate, point or body of the scene, or too few instants.
    RunFailed
        The constraints cannot be satisfied.
    """
    if path is None:
        raise ArgumentError("--motion FILE is required")
    hints: list[str] = []
    if path.suffix in ENDINGS:
        measured, motion = None, read_motion(path, coordinates, cutoff)
    elif path.suffix.lower() == SUFFIX:
        measured, motion = _read_markers(path, model, coordinates, weights), None
    else:
        table = read_columns(path)
        times, found, others = coordinates_in(path, table, coordinates)
        hints.extend(_likely_degrees(path, table, coordinates))
        columns = FrameColumns(Frames(model), str(path), times)
        of_others = [(name, table[1].index(name)) for name in others]
        ignored = [name for name, k in of_others if not columns.add(name, table[2][:, k], table[4][k])]
        measured = columns.measured(found, coordinates, weights, ignored) if len(columns) else None
        motion = None if measured else motion_of(path, table, coordinates, cutoff)
    source = measured or motion
    assert source is not None
    hints.extend(_near_names(source.ignored, Frames(model), coordinates))
    if measured is None:
        if weights:
            raise ArgumentError(f"--weight has no effect: {path} has no markers and no poses")
        assert motion is not None
        return FittedMotion(motion, remarks=tuple(hints))
    fit = Fitting(model, state, measured).solve()
    motion = _splined(path, model, measured, fit, cutoff)
    remarks = (*hints, *_remarks(measured, fit, coordinates))
    return FittedMotion(motion, fit.q, tuple(_misfits(measured, fit, coordinates)), remarks)


def _likely_degrees(path: Path, table: Columns, coordinates: Coordinates) -> Iterator[str]:
    """Yield the columns of angles without a unit that exceed a turn."""
    _, names, columns, line, units, in_degrees = table
    for k, name in enumerate(names):
        one = coordinates.find(name)
        if one is None or one.unit != "rad" or units[k] is not None or in_degrees:
            continue
        largest = float(np.nanmax(np.abs(columns[:, k]), initial=0.0))
        if largest > TURN:
            yield (
                f"{path}:{line}: `{name}` has no unit, and {largest:.4g} rad is {largest / TURN:.3g} turns: "
                f"of degrees, write `{name} (deg)`"
            )


def _near_names(ignored: Sequence[str], frames: Frames, coordinates: Coordinates) -> Iterator[str]:
    """Yield the columns that move nothing, but are named almost like a coordinate, a point or a body."""
    for name in ignored:
        if (near := frames.closest(name, coordinates.names)) is not None:
            yield f"the column `{name}` moves nothing: did you mean `{near}`?"


def _read_markers(path: Path, model: Model, coordinates: Coordinates, weights: Sequence[str]) -> MeasuredFrames:
    times, names, places = read_trc(path)
    frames = Frames(model)
    columns = FrameColumns(frames, str(path), times)
    ignored = [name for k, name in enumerate(names) if not columns.add_marker(name, places[:, k])]
    if not len(columns):
        raise ArgumentError(
            f"{path}: no marker is a point of the scene: it has {listed(names, MOST_NAMES, 'markers')}, and the scene "
            f"{listed([*frames.all], MOST_NAMES, 'points and bodies')}"
        )
    return columns.measured({}, coordinates, weights, ignored)


def _splined(path: Path, model: Model, measured: MeasuredFrames, fit: Fit, cutoff: float | None) -> MeasuredMotion:
    """Return the motion through fitted configurations, with rates and accelerations."""
    times, tree = measured.times, model.system.tree
    signed = fit.q.copy()
    for turn in tree.quaternions:
        own = slice(int(turn["iq"]), int(turn["iq"]) + 4)
        flips = np.einsum("ti,ti->t", signed[1:, own], signed[:-1, own]) < 0.0
        signed[1:, own] *= np.cumprod(np.where(flips, -1.0, 1.0))[:, None]
    parts = derivatives(path, times, signed) if cutoff is None else filtered(path, times, signed, cutoff)
    n = int(tree.links["nv"].sum())
    q, v, a = np.zeros((3, len(times), model.nv))
    for values, part in zip((q, v, a), parts, strict=True):
        values[:, tree.plain["iv"]] = part[:, tree.plain["iq"]]
    for turn in tree.quaternions:
        own = slice(int(turn["iv"]), int(turn["iv"]) + 3)
        x, dx, ddx = (part[:, int(turn["iq"]) :][:, :4] for part in parts)
        q[:, own], v[:, own], a[:, own] = _turning(x, dx, ddx, bool(turn["outer"]))
    free: Integers = np.flatnonzero(~tree.driven[:n])
    return MeasuredMotion(str(path), times, free, q[:, free], v[:, free], a[:, free], measured.ignored)


def _turning(c: Floats, dc: Floats, ddc: Floats, outer: bool) -> tuple[Floats, Floats, Floats]:
    """Return the rotation vectors, angular velocities and accelerations (T, 3) of quaternions c (T, 4) of any length.

    In the outer frame, w = 2 vec(c* c') / |c|^2 and dw/dt = 2 vec(c* c'') / |c|^2 - 2 w (c . c') / |c|^2; in the inner
    frame, c' c* and c'' c* take the places of c* c' and c* c''.
    """
    square = np.einsum("ti,ti->t", c, c)[:, None]
    slope = np.einsum("ti,ti->t", c, dc)[:, None] / square
    w = 2.0 * _vector(c, dc, outer) / square
    dw = 2.0 * _vector(c, ddc, outer) / square - 2.0 * slope * w
    sizes = np.linalg.norm(c[:, 1:], axis=1)
    angles = 2.0 * np.arctan2(sizes, c[:, 0])
    factors = np.where(sizes > 0.0, angles / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    return factors[:, None] * c[:, 1:], w, dw


def _vector(c: Floats, d: Floats, outer: bool) -> Floats:
    """Return the vector part (T, 3) of c* d in the outer frame, or of d c* in the inner one."""
    crossed = np.cross(c[:, 1:], d[:, 1:])
    found: Floats = c[:, :1] * d[:, 1:] - d[:, :1] * c[:, 1:] + (-crossed if outer else crossed)
    return found


def _misfits(measured: MeasuredFrames, fit: Fit, coordinates: Coordinates) -> Iterator[Misfit]:
    units = [coordinates.by_index(int(iv)) for iv in measured.coordinates]
    columns: list[tuple[str, str, Any]] = [(name, "m", fit.distances[:, k]) for k, name in enumerate(measured.names)]
    columns += [(name, "rad", fit.angles[:, k]) for k, name in enumerate(measured.names)]
    columns += [(one.name, one.unit, fit.differences[:, k]) for k, one in enumerate(units)]
    for name, unit, values in columns:
        known = np.flatnonzero(np.isfinite(values))
        if len(known):
            own = np.abs(values[known])
            worst = int(np.argmax(own))
            root = float(np.sqrt(np.mean(own**2)))
            yield Misfit(name, unit, root, float(own[worst]), float(measured.times[known[worst]]))


def _remarks(measured: MeasuredFrames, fit: Fit, coordinates: Coordinates) -> Iterator[str]:
    count = len(measured.times)
    if measured.left_out:
        instants = [f"t = {time:g} s" for time in measured.left_out]
        yield f"nothing is measured at {listed(instants, MOST_NAMES, 'instants')}: the motion has no such instant"
    gaps = [f"{name} at {missing} of {count} instants" for name, missing in missing_counts(measured)]
    if gaps:
        yield f"missing, and left out there: {listed(gaps, MOST_NAMES, 'others')}"
    loose = np.flatnonzero(fit.undetermined)
    if len(loose):
        names = [coordinates.by_index(int(iv)).name for iv in loose]
        yield (
            f"the measured quantities do not determine {listed(names, MOST_NAMES, 'coordinates')} at "
            f"{int(fit.undetermined.max())} of {count} instants, the first at t = {fit.first_undetermined:g} s: to "
            "first order, there is a motion of these that changes none of them; they change as little as possible"
        )
