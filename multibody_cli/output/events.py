"""Table of the events of a run, in the group `events` of the result file: one row for each, in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.errors import UnknownName, nearest
from multibody_cli.immutable import Immutable

if TYPE_CHECKING:
    import h5py

    from multibody_cli.model import Floats, Integers

GROUP = "events"

COLUMNS = {
    "event": ("<i8", "", "Index of the event in `events/name`."),
    "time": ("<f8", "s", "Instant of the event."),
    "direction": (
        "<i8",
        "",
        "1 where the expression of the event rises, -1 where it falls, 0 where it only touches 0.",
    ),
}
"""Datasets of the rows: type, units and meaning."""


DIRECTIONS = {1: "rising", -1: "falling", 0: "touching"}
"""Words for the directions."""


class EventTable(Immutable, eq=False):
    """Events of a run.

    Parameters
    ----------
    names
        (E,) names of the events of the scene.
    event
        (N,) index of the event of each row.
    time
        (N,) its instant, s.
    direction
        (N,) 1 where its expression rises, -1 where it falls, 0 where it only touches 0.
    """

    names: tuple[str, ...]
    event: Integers
    time: Floats
    direction: Integers

    def of(self, name: str) -> Floats:
        """Return the instants (n,) of an event, s.

        Raises
        ------
        UnknownName
            The scene has no such event.
        """
        if name not in self.names:
            raise UnknownName(f"unknown event `{name}`: {nearest(name, self.names)}")
        times: Floats = self.time[self.event == self.names.index(name)]
        return times

    def by_name(self) -> dict[str, Floats]:
        """Return the instants (n,) of each event, s, by its name."""
        return {name: self.of(name) for name in self.names}

    def as_rows(self) -> list[dict[str, Any]]:
        """Return the rows as mappings, for tables."""
        rows = zip(self.event.tolist(), self.time.tolist(), self.direction.tolist(), strict=True)
        return [
            {"event": self.names[event], "time": time, "direction": DIRECTIONS[int(np.sign(sign))]}
            for event, time, sign in rows
        ]


def write_events(file: h5py.File, table: EventTable) -> None:
    """Add the table to an open result file."""
    import h5py

    group = file.create_group(GROUP, track_order=False)
    names = group.create_dataset("name", data=np.array(table.names, object), dtype=h5py.string_dtype())
    names.attrs["description"] = "Names of the events of the scene."
    for name, (kind, units, description) in COLUMNS.items():
        dataset = group.create_dataset(name, data=getattr(table, name).astype(kind), track_times=False)
        dataset.attrs.update({"units": units, "description": description} if units else {"description": description})


def read_events(file: h5py.File, file_bytes: int) -> EventTable | None:
    """Read the table from a result file; None if it has none.

    Raises
    ------
    Defect
        It is incomplete, or a row belongs to no event.
    """
    import h5py
    from h5py import h5d

    from multibody_cli.output.hdf5_checks import Defect, read_texts, require_numbers, require_stored

    if GROUP not in file:
        return None
    columns: dict[str, Any] = {}
    for name, (kind, _, _) in COLUMNS.items():
        where = f"{GROUP}/{name}"
        dataset = h5d.open(file.id, where.encode())
        require_numbers(where, dataset, kind)
        require_stored(where, dataset, file_bytes)
        columns[name] = h5py.Dataset(dataset)[()]
    names = read_texts(f"{GROUP}/name", h5d.open(file.id, f"{GROUP}/name".encode()), file_bytes)
    event = columns["event"]
    if {column.shape for column in columns.values()} != {(event.size,)}:
        raise Defect(GROUP, "has columns of different lengths")
    if event.size and not 0 <= event.min() <= event.max() < len(names):
        raise Defect(f"{GROUP}/event", "has an index of an event that does not exist")
    return EventTable(names, **columns)
