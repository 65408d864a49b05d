"""Sinks: receivers of the output of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from multibody_cli.immutable import Immutable, replace
from multibody_cli.output.attributes import ATTRIBUTES, FORMAT, FORMAT_VERSION, EarlierScene, Status
from multibody_cli.output.history import History, block_of_runs
from multibody_cli.output.samples import Samples
from multibody_cli.output.series import select_channels
from multibody_cli.output.trajectory import ChannelRecord, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from multibody_cli.alarms.contract import Raised
    from multibody_cli.model import Floats, SceneNames
    from multibody_cli.output.channel import Array
    from multibody_cli.output.events import EventTable
    from multibody_cli.output.series import Series

BLOCK_ROWS = 1000
BLOCK_BYTES = 2**26


class Header(Immutable):
    """Metadata of a run, known before it starts.

    Parameters
    ----------
    names
        The names of the model.
    com
        (B, 3) center of mass of each body in its body frame, m.
    method, integrator
        As in the scene; `integrator` is empty if the method has its own.
    step, duration
        Step and duration of the run, s.
    scene_yaml, scene_sha256
        The resolved scene as text, and its hash.
    mbsim_version
        The version of this program.
    options
        Options of the method, as in the scene.
    name, description
        Name and description of the scene.
    mbsim_commit
        The commit of this program; empty if it is not known.
    block_rows
        Number of rows of a full block, see `block_rows`; the maximum for every block.
    earlier
        The scenes before the last, if the run is a branch.
    """

    names: SceneNames
    com: Floats
    method: str
    integrator: str
    step: float
    duration: float
    scene_yaml: str
    scene_sha256: str
    mbsim_version: str
    options: Mapping[str, Any] = {}
    name: str = ""
    description: str = ""
    mbsim_commit: str = ""
    block_rows: int = BLOCK_ROWS
    earlier: tuple[EarlierScene, ...] = ()

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the result file that are known before the run."""
        known = {"format": FORMAT, "format_version": FORMAT_VERSION, **vars(self)}
        known["options"] = json.dumps(self.options, sort_keys=True)
        return {
            name: known[name] for name, one in ATTRIBUTES.items() if name in known and (one.is_required or known[name])
        }


class Outcome(Immutable):
    """Outcome of a run.

    Parameters
    ----------
    status
        `untrusted` is a complete run with an alarm of the level `failed`.
    message
        Message for the user, with the alarms.
    steps
        Number of steps taken.
    alarms
        The alarms that were raised.
    events
        The events of the run; None if its scene has none.
    """

    status: Status
    message: str = ""
    steps: int = 0
    alarms: tuple[Raised, ...] = ()
    events: EventTable | None = None

    @property
    def later_alarms(self) -> tuple[Raised, ...]:
        """The alarms that were not reported before the first step."""
        return tuple(alarm for alarm in self.alarms if not alarm.at_start)

    @property
    def reached_end(self) -> bool:
        """Whether the run reached its end, trusted or not."""
        return self.status in ("complete", "untrusted")

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the result file that are known after the run."""
        alarms = json.dumps([alarm.as_data() for alarm in self.alarms])
        return {"status": self.status, "message": self.message, "steps": self.steps, "alarms": alarms}


def block_rows(rows: int, names: SceneNames) -> int:
    """Return the number of output instants per block.

    A block is one chunk of the result file: at most about a thousand rows, fewer if the rows of a large model take too
    much memory, chosen such that `rows` rows nearly fill whole chunks.

    Parameters
    ----------
    rows
        Number of output instants of the whole run.
    names
        The names of the model.
    """
    numbers = 16 * len(names.bodies) + sum(8 + 3 * len(joint.coordinates) for joint in names.joints)
    numbers += 14 * names.contacts
    most = max(1, min(BLOCK_ROWS, BLOCK_BYTES // (8 * (numbers + 16))))
    blocks = max(1, round(rows / most))
    return -(-rows // blocks)


class Sink(Protocol):
    """Receiver of the output of one run: `open` once, `write` for each block, and `close` in every case.

    The outcome of a run that was ended by an error is None.
    """

    accepts_partial_blocks: bool
    """Whether the result is independent of the division of the rows into blocks."""

    def open(self, header: Header) -> None:
        """Begin a run."""

    def write(self, samples: Samples, count: int) -> None:
        """Write the first `count` rows of `samples`, which remain unchanged until the next call."""

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""


class MemorySink:
    """Sink that keeps a run in memory.

    Parameters
    ----------
    channels
        Channels to keep, as in `select_channels`; None keeps all.
    """

    accepts_partial_blocks = True

    def __init__(self, channels: Sequence[str] | None = None) -> None:
        self._channels = channels
        self._blocks: dict[str, list[Array]] = {}

    def open(self, header: Header) -> None:
        """Begin a run."""
        self._header = header
        self._history = History(header.names)
        self._series = {series.path: series for series in select_channels(self._channels, header.names)}
        self._blocks = {path: [series.leading_rows] for path, series in self._series.items()}

    def write(self, samples: Samples, count: int) -> None:
        """Store a copy of a block."""
        block = self._history.block(samples, count)
        for path, series in self._series.items():
            self._blocks[path].append(np.array(series.read(block)))

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""
        self._outcome = outcome or Outcome("interrupted", "the run was ended by an error")

    def trajectory(self) -> Trajectory:
        """Return the run as a trajectory, as if it was read from a result file."""
        return trajectory_in_memory(
            self._header, self._outcome, self._series, lambda path: np.concatenate(self._blocks[path])
        )


def trajectory_in_memory(
    header: Header, outcome: Outcome, series: Mapping[str, Series], values_of: Callable[[str], Array]
) -> Trajectory:
    """Return a run in memory as a trajectory.

    Parameters
    ----------
    header, outcome
        The metadata of the run.
    series
        The channels by path.
    values_of
        Returns the values of a channel, (T, ...).
    """

    def load(path: str, rows: slice) -> ChannelRecord:
        one = series[path]
        return ChannelRecord(path=path, values=values_of(path)[rows], labels=one.labels, **one.attributes())

    return Trajectory(
        source="the run",
        attributes=header.attributes() | outcome.attributes(),
        scene_yaml=header.scene_yaml,
        bodies=header.names.bodies,
        com=header.com,
        paths=tuple(series),
        load=load,
        load_events=lambda: outcome.events,
        earlier=header.earlier,
    )


class TeeSink:
    """Passes every instant to each of several sinks.

    Parameters
    ----------
    sinks
        The other sinks, in the order in which they are called.
    """

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks
        self.accepts_partial_blocks = all(sink.accepts_partial_blocks for sink in sinks)

    def open(self, header: Header) -> None:
        """Begin a run."""
        for sink in self._sinks:
            sink.open(header)

    def write(self, samples: Samples, count: int) -> None:
        """Write a block."""
        for sink in self._sinks:
            sink.write(samples, count)

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""
        for sink in self._sinks:
            sink.close(outcome)


class ThinningSink:
    """Passes every `every`-th instant and the last one to another sink.

    Parameters
    ----------
    sink
        The other sink.
    every
        Interval between recorded instants, from the first one.
    last
        Index of the last instant of the run.
    """

    accepts_partial_blocks = True

    def __init__(self, sink: Sink, every: int, last: int) -> None:
        self._sink = sink
        self._every = every
        self._last = last
        self._seen = 0

    def open(self, header: Header) -> None:
        """Begin a run."""
        kept = len(set(range(0, self._last + 1, self._every)) | {self._last})
        self._sink.open(replace(header, block_rows=min(header.block_rows, kept)))

    def write(self, samples: Samples, count: int) -> None:
        """Write the selected instants of a block."""
        numbers = np.arange(self._seen, self._seen + count)
        kept = np.flatnonzero((numbers % self._every == 0) | (numbers == self._last))
        self._seen += count
        if len(kept):
            self._sink.write(samples._replace(**{k: v[kept] for k, v in samples._asdict().items()}), len(kept))

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""
        self._sink.close(outcome)


class RunsInMemory:
    """Channels of R runs with K instants each.

    Parameters
    ----------
    header
        The metadata of the runs.
    channels
        Channels to keep, as in `select_channels`.
    samples
        The samples of the runs, R K rows.
    runs
        Their number R.
    """

    def __init__(self, header: Header, channels: Sequence[str], samples: Samples, runs: int) -> None:
        self._header = header
        self._series = {series.path: series for series in select_channels(channels, header.names)}
        self._instants = len(samples.time) // runs
        block = block_of_runs(header.names, samples, runs)
        self._values = {path: np.array(series.read(block)) for path, series in self._series.items()}

    def all_runs(self, outcome: Outcome) -> Trajectory:
        """Return all runs as one trajectory of R K rows."""
        return trajectory_in_memory(self._header, outcome, self._series, self._values.__getitem__)

    def run(self, number: int, outcome: Outcome) -> Trajectory:
        """Return one run with its outcome."""
        rows = slice(number * self._instants, (number + 1) * self._instants)
        return trajectory_in_memory(self._header, outcome, self._series, lambda path: self._values[path][rows])
