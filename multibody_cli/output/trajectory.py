"""Trajectory: read access to a recorded run, by channel and time."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.errors import ResultError, similar_file
from multibody_cli.immutable import Immutable, replace
from multibody_cli.output.attributes import DATASET_ATTRIBUTES, EarlierScene
from multibody_cli.output.bodies import body_paths, find_body_channel
from multibody_cli.output.channel import CONTACT, INSTANT, ROWS, Array
from multibody_cli.output.contact_channels import (
    BODY_PAIR,
    COUNT,
    CREEP,
    DESCRIPTION,
    GROUP,
    NEEDS,
    OFFSET,
    STEP,
    STORED,
    UNITS,
    Pair,
    find_pair,
    force_of_pair,
    pairs_in_contact,
    paths_of,
    suggest,
)
from multibody_cli.output.file_replacement import HDF5_ENDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from multibody_cli.model import Floats
    from multibody_cli.output.certificate import Certificate
    from multibody_cli.output.events import EventTable
    from multibody_cli.output.result_file import ResultFile

ENDINGS = (*HDF5_ENDINGS, ".part")
"""Usual suffixes of result files."""

ALL_ROWS = slice(None)


class ChannelRecord(Immutable):
    """Values of one channel, (T, ...), with the attributes of its dataset.

    `labels` are the labels of each axis after the first.  `units` is one unit for all values, or a comma-separated list
    for the indices of the last axis.  `per` is the meaning of a row, a key of `output.channel.ROWS`.
    """

    path: str
    values: Array
    labels: tuple[tuple[str, ...], ...]
    units: str
    description: str
    frame: str
    rtol: float
    atol: float
    role: str = ""
    same: str = ""
    per: str = INSTANT


def explain_not_per_instant(record: ChannelRecord) -> str:
    """Return an error message for a channel that does not have one row for each instant."""
    return (
        f"{record.path} has one row for {ROWS[record.per]}, so it is not a function of time: "
        f"use {COUNT} or {CREEP}, or read it with `mbsim export` or, in Python, with `Trajectory.contacts`"
    )


class Trajectory(Immutable, eq=False):
    """Read-only view of a run.

    Parameters
    ----------
    source
        Name of the run in messages: the path of its file.
    attributes
        Attributes of the run: method, integrator, step, duration, status, message, ...
    scene_yaml
        The resolved scene as text.
    bodies
        Names of the bodies.
    com
        (B, 3) center of mass of each body in its body frame, m.
    paths
        Paths of the stored channels.
    load
        Function that reads a range of rows of a stored channel.
    load_certificate
        Function that reads the certificate of the run; None if it has none.
    load_events
        Function that reads the events of the run; None if its scene has none.
    earlier
        The scenes before the last, if the run is a branch.
    """

    source: str
    attributes: Mapping[str, Any]
    scene_yaml: str
    bodies: tuple[str, ...]
    com: Floats
    paths: tuple[str, ...]
    load: Callable[[str, slice], ChannelRecord]
    load_certificate: Callable[[], Certificate | None] = lambda: None
    load_events: Callable[[], EventTable | None] = lambda: None
    earlier: tuple[EarlierScene, ...] = ()

    @cached_property
    def time(self) -> Floats:
        """(T,) output instants, s."""
        return self.load("time", ALL_ROWS).values

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate of the run, with error bars; None without one."""
        return self.load_certificate()

    @cached_property
    def events(self) -> EventTable | None:
        """The events of the run; None if its scene has none."""
        return self.load_events()

    def channel(self, path: str, rows: slice = ALL_ROWS) -> ChannelRecord:
        """Read a stored channel, or compute one of a body, `bodies/crate/com`, or of a pair, `contacts/A:B/force`.

        Parameters
        ----------
        path
            Path of the channel.
        rows
            Range of rows, by default all.

        Raises
        ------
        ResultError
            The channel does not exist, or a stored channel that it is computed from was not recorded.
        """
        if path in self.paths:
            return self.load(path, rows)
        if pair := find_pair(path, self.bodies):
            return self._force_of_pair(path, pair, rows)
        found = find_body_channel(path, self.bodies)
        if found is None:
            known = [*self.paths, *body_paths(self.bodies, self.paths)]
            raise ResultError(f"{self.source} has no channel `{path}`: {suggest(path, self.bodies, known)}")
        channel, body = found
        records = [self._stored(need, path, rows) for need in channel.paths]
        first = records[0]
        return replace(
            first,
            path=path,
            values=channel.compute(*(record.values[:, body] for record in records), self.com[body]),
            labels=first.labels[1:],
            description=channel.description,
            frame=channel.frame,
        )

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Paths of the forces of each pair of bodies that has recorded contacts: on the one body, on the other."""
        if not {*BODY_PAIR} <= {*self.paths}:
            return ()
        found = pairs_in_contact(*(self.load(path, ALL_ROWS).values for path in BODY_PAIR))
        return tuple(paths_of(pair, self.bodies) for pair in found)

    def _force_of_pair(self, path: str, pair: Pair, rows: slice) -> ChannelRecord:
        self._require_contacts()
        start, stop, _ = rows.indices(len(self.time))
        part = slice(start, max(start, stop))
        step = self._stored(STEP, path, part).values
        bounds = self._stored(OFFSET, path, slice(part.start, part.stop + 1)).values
        contacts = [self._stored(need, path, slice(bounds[0], bounds[-1])) for need in NEEDS]
        instant = np.repeat(np.arange(len(step)), np.diff(bounds))
        force = force_of_pair(pair, step, instant, *(record.values for record in contacts))
        return replace(
            contacts[-1], path=path, values=force[:: rows.step], units=UNITS, description=DESCRIPTION, per=INSTANT
        )

    def converted(self, convert: Callable[[ChannelRecord, slice], ChannelRecord]) -> Trajectory:
        """Return the run with other values of its stored channels, and without its certificate.

        Parameters
        ----------
        convert
            Returns the record of a channel from the stored one and the range of its rows.
        """
        return replace(
            self, load=lambda path, rows: convert(self.load(path, rows), rows), load_certificate=lambda: None
        )

    def values_per_row(self, path: str) -> int:
        """Return the number of stored values that one row of a channel is read from."""
        own = int(np.prod(self.channel(path, slice(0, 0)).values.shape[1:]))
        # a channel of one body is computed from the arrays of all
        return own if path in self.paths else own * len(self.bodies)

    def contacts(self, row: int) -> dict[str, Array]:
        """Read the contacts of one output instant.

        Parameters
        ----------
        row
            Index of the output instant; -1 is the last.

        Returns
        -------
        dict
            The recorded channels of contacts by the last component of their path (`body_a`, `point`, `mode`, ...),
            (n, ...), with one row for each of the n contacts.

        Raises
        ------
        ResultError
            The instant does not exist, or contacts were not recorded.
        """
        self._require_contacts()
        if not -self.time.size <= row < self.time.size:
            raise ResultError(f"{self.source} has no row {row}: it has {self.time.size} output instants")
        begin, end = self.load(OFFSET, slice(row % self.time.size, row % self.time.size + 2)).values
        records = (self.load(path, slice(begin, end)) for path in self.paths if path.startswith(f"{GROUP}/"))
        return {one.path.rpartition("/")[2]: one.values for one in records if one.per == CONTACT}

    def _require_contacts(self) -> None:
        if OFFSET not in self.paths:
            raise ResultError(f"{self.source} has no contacts: the scene has none, or `output.channels` excludes them")

    def _stored(self, path: str, wanted: str, rows: slice) -> ChannelRecord:
        if path not in self.paths:
            raise ResultError(f"{self.source}: {wanted} requires {path}, which `output.channels` excludes")
        return self.load(path, rows)

    def at(self, time: float) -> int:
        """Return the row of the output instant at `time`, s.

        Raises
        ------
        ResultError
            `time` is not an output instant; the message names the nearest.
        """
        if not self.time.size:
            raise ResultError(f"{self.source} has no output instants")
        row = int(np.argmin(np.abs(self.time - time)))
        spacing = self.time[-1] / max(1, self.time.size - 1)
        if abs(self.time[row] - time) > 1e-6 * spacing + 1e-12 * abs(time):
            raise ResultError(
                f"{self.source} has no output instant at {time:g} s: the nearest is {self.time[row]:.12g} s, "
                f"the last {self.time[-1]:.12g} s"
            )
        return row


def sources_of(path: str, bodies: Sequence[str]) -> tuple[str, ...]:
    """Return the stored channels that a channel is computed from; empty if it is none that is computed."""
    if find_pair(path, bodies):
        return STORED
    found = find_body_channel(path, bodies)
    return found[0].paths if found else ()


def read_trajectory(path: Path | str) -> Trajectory:
    """Open a result file.

    The `.part` file of a killed run can be read up to its last complete block; its status is `running`.

    Raises
    ------
    ResultError
        The file does not exist, is not a result file of this program, or is damaged.
    """
    return _trajectory_of(open_result(path))


def open_result(path: Path | str) -> ResultFile:
    """Open and check a result file.

    Raises
    ------
    ResultError
        As in `read_trajectory`.
    """
    import h5py

    from multibody_cli.output.result_file import ResultFile

    path = Path(path)
    if not path.is_file():
        raise ResultError(_why_missing(path))
    if not h5py.is_hdf5(path):
        raise ResultError(f"{path} is not a result file: it is not an HDF5 file")
    return ResultFile(path)


def _why_missing(path: Path) -> str:
    if path.is_dir():
        return f"{path} is a folder, not a result file"
    part = path.with_name(path.name + ".part")
    if part.exists():
        return (
            f"{path} does not exist, but {part} does: its run is still in progress, or was killed; "
            f"give {part.name} to read the recorded part"
        )
    near = similar_file(path, ENDINGS)
    return f"{path} does not exist" + (f": did you mean `{near}`?" if near else "")


def _trajectory_of(result: ResultFile) -> Trajectory:
    @cache
    def header(channel: str) -> ChannelRecord:
        """Return a channel without rows."""
        with result.open() as file:
            found = file.describe(channel)
            about = {name: getattr(found, name) for name in DATASET_ATTRIBUTES}
            about |= {name: about[name] or 0.0 for name in ("rtol", "atol")}
            return ChannelRecord(channel, file.numbers(channel, 0, 0), file.labels(channel), **about)

    def load(channel: str, wanted: slice) -> ChannelRecord:
        start, stop, step = wanted.indices(result.rows[channel])
        record = header(channel)
        if start == stop == 0:
            return record
        with result.open() as file:
            return replace(record, values=file.numbers(channel, start, stop)[::step])

    def load_certificate() -> Certificate | None:
        with result.open() as file:
            return file.certificate()

    def load_events() -> EventTable | None:
        with result.open() as file:
            return file.events()

    return Trajectory(
        source=str(result.path),
        attributes=result.attributes,
        scene_yaml=result.scene_yaml,
        bodies=result.bodies,
        com=result.com,
        paths=tuple(result.rows),
        load=load,
        load_certificate=load_certificate,
        load_events=load_events,
        earlier=result.earlier,
    )
