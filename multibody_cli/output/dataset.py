"""Trajectories as xarray datasets, with units.  The only module that imports xarray."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from multibody_cli.output.channel import AXES, BOUND, CONTACT, INSTANT, OF_ONE_ELEMENT
from multibody_cli.output.channels import declaration_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray

    from multibody_cli.output.channel import Array
    from multibody_cli.output.rows import Column
    from multibody_cli.output.trajectory import ChannelRecord, Trajectory

ROWS = {INSTANT: "time", CONTACT: "contact", BOUND: "bound"}
"""Name of the first dimension, by the meaning of a row."""

KEPT = ("units", "description", "frame")
"""Fields of a record that are attributes of its variable."""


def dataset_of(trajectory: Trajectory, computed: Sequence[str] = ()) -> xarray.Dataset:
    """Return the stored channels of a run as a dataset, and others that are `computed` from them.

    The variables have the paths of the channels as names, such as `joints/hinge/q`, and the attributes `units`,
    `description` and `frame`.  The first dimension is `time`, for channels of contacts `contact` or `bound`; the others
    are `body`, `xyz`, `wxyz`, `matrix`, `moment_force`, `coordinates_<n>` and `rows_<m>`.  The attributes are those of
    the result file: `method`, `status`, `message` and others.
    """
    import xarray

    variables, coordinates = {}, {}
    for path in (*trajectory.paths, *computed):
        record = trajectory.channel(path)
        dimensions = _dimensions(record)
        attributes = {name: value for name in KEPT if (value := getattr(record, name))}
        variables[path] = xarray.Variable(dimensions, record.values, attributes)
        for dimension, labels in zip(dimensions[1:], record.labels, strict=True):
            coordinates[dimension] = xarray.Variable((dimension,), list(labels))
    time = variables.pop("time")
    attributes = dict(trajectory.attributes)
    if (events := trajectory.events) is not None:
        attributes["events"] = json.dumps(events.as_rows())
    return xarray.Dataset(variables, {"time": time, **coordinates}, attributes)


def dataset_of_columns(dimension: str, columns: Sequence[Column], values: Sequence[Array]) -> xarray.Dataset:
    """Return the columns of a table as a dataset with one dimension."""
    import xarray

    variables = {
        column.name: xarray.Variable((dimension,), own, {"units": column.units, "description": column.description})
        for column, own in zip(columns, values, strict=True)
    }
    return xarray.Dataset(variables)


def _dimensions(record: ChannelRecord) -> tuple[str, ...]:
    """Return the names of the dimensions of a channel; other axes of channels without declaration are numbered."""
    channel = declaration_of(record.path)
    names = [ROWS[record.per]]
    if channel is None:
        known = {labels: name for name, labels in AXES.items()}
        names += [known.get(labels, f"{record.path}/axis_{k}") for k, labels in enumerate(record.labels)]
        return tuple(names)
    for name, labels in zip(channel.dimensions, record.labels, strict=True):
        if name in AXES or name == "body":
            names.append(name)
        elif name in OF_ONE_ELEMENT:
            names.append(f"{record.path.rpartition('/')[0]}/{name}")
        else:
            names.append(f"{name}s_{len(labels)}")
    return tuple(names)
