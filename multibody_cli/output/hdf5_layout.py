"""Layout of the result file: groups, empty datasets, attributes and dimension scales.

A large model has tens of thousands of datasets.  For speed, datasets that differ only in their name are copies of the
first one, including attributes, and the reference list of each dimension scale is written once, at the end.
"""

from __future__ import annotations

import h5py
import numpy as np
from h5py import h5d, h5g, h5o, h5p, h5r

from multibody_cli.output.attributes import EARLIER
from multibody_cli.output.channel import CONTACT
from multibody_cli.output.elements import AxisScale
from multibody_cli.output.series import SCALES, Series
from multibody_cli.output.sink import Header

SCALE_ENTRY = np.dtype([("dataset", h5py.ref_dtype), ("dimension", "i4")])
"""Entry of a reference list, as the standard of dimension scales defines it: dataset and axis of a scale."""

CONTACT_ROWS = 512
"""Rows of a chunk of contacts: 12 KiB for a vector, a compromise between small files and few chunks."""

FILTERS = {"none": {}, "gzip": {"compression": "gzip", "shuffle": True}}
"""Filters of HDF5 by the value of `output.compression` in the scene."""


class FileLayout:
    """Creates the datasets of a result file.

    Parameters
    ----------
    file
        An empty file.
    header
        Metadata of the run.
    compression
        A key of `FILTERS`.
    """

    def __init__(self, file: h5py.File, header: Header, compression: str) -> None:
        self._file = file
        self._chunks = dict.fromkeys(SCALES, header.block_rows)
        self._chunks[CONTACT] = max(1, min(CONTACT_ROWS, header.block_rows * header.names.contacts))
        self._filters = FILTERS[compression]
        self._templates: dict[tuple[object, ...], h5d.DatasetID] = {}
        self._groups: dict[str, h5g.GroupID] = {"": h5g.open(file.id, b"/")}
        self._made: set[str] = set()
        self._of_element = ("", self._groups[""])
        self._scale_entries: dict[str, list[tuple[h5r.Reference, int]]] = {}
        self._in_order = h5p.create(h5p.GROUP_CREATE)
        self._in_order.set_obj_track_times(False)
        self._in_order.set_link_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
        self._group("bodies")
        self._group("scene")
        text = file.create_dataset("scene/yaml", data=header.scene_yaml, dtype=h5py.string_dtype())
        text.attrs["description"] = "The resolved scene; mbsim run accepts this file."
        if header.earlier:
            texts = np.array([scene.scene_yaml for scene in header.earlier], dtype=object)
            earlier = file.create_dataset(EARLIER, data=texts, dtype=h5py.string_dtype())
            earlier.attrs["until"] = [scene.until for scene in header.earlier]
        self._add_com(header)

    def add(self, series: Series) -> None:
        """Create the empty dataset of a series."""
        group, _, link = series.path.rpartition("/")
        place = self._group(group)
        axes = tuple(dimension.path for dimension in series.dimensions)
        kind = (series.channel.path, series.units, series.same, series.shape, axes)
        if kind in self._templates:
            h5o.copy(self._templates[kind], b".", place, link.encode())
        else:
            self._templates[kind] = self._create(series).id
        reference, scale = h5r.create(place, link.encode(), h5r.OBJECT), SCALES[series.channel.per]
        if series.path != scale:
            self._note(scale, reference, 0)
        for axis, dimension in enumerate(series.dimensions, start=1):
            self._note(dimension.path, reference, axis)

    def chunk_of(self, series: Series) -> int:
        """Return the number of rows per chunk of a series."""
        return self._chunks[series.channel.per]

    def finish(self) -> None:
        """Write the reference list of each scale."""
        for path, entries in self._scale_entries.items():
            self._file[path].attrs.create("REFERENCE_LIST", np.array(entries, SCALE_ENTRY), dtype=SCALE_ENTRY)

    def _create(self, series: Series) -> h5py.Dataset:
        dataset = self._file.create_dataset(
            series.path,
            shape=(0, *series.shape),
            maxshape=(None, *series.shape),
            chunks=(self.chunk_of(series), *series.shape),
            dtype=series.channel.dtype,
            fill_time="never",
            **self._filters,
        )
        dataset.attrs.update({name: value for name, value in series.attributes().items() if value != ""})
        scale = SCALES[series.channel.per]
        if series.path == scale:
            dataset.make_scale(scale.rpartition("/")[2])
        else:
            dataset.dims[0].attach_scale(self._file[scale])
        for axis, dimension in enumerate(series.dimensions, start=1):
            dataset.dims[axis].attach_scale(self._scale(dimension))
        return dataset

    def _add_com(self, header: Header) -> None:
        """Add the centers of mass, the only array of bodies that is constant in time."""
        dataset = self._file.create_dataset("bodies/com_offset", data=header.com)
        dataset.attrs.update({"units": "m", "description": "Center of mass of each body.", "frame": "body"})
        for axis, dimension in enumerate(
            (AxisScale("bodies/name", header.names.bodies), AxisScale("xyz", ("x", "y", "z")))
        ):
            dataset.dims[axis].attach_scale(self._scale(dimension))
            self._note(dimension.path, h5r.create(dataset.id, b".", h5r.OBJECT), axis)

    def _scale(self, dimension: AxisScale) -> h5py.Dataset:
        """Return the scale of a dimension: a dataset of labels."""
        if dimension.path not in self._file:
            labels = np.array(dimension.labels, dtype=object)
            scale = self._file.create_dataset(dimension.path, data=labels, dtype=h5py.string_dtype())
            scale.make_scale(dimension.path.rpartition("/")[2])
            scale.attrs["description"] = "Labels of an axis."
        return self._file[dimension.path]

    def _note(self, scale: str, dataset: h5r.Reference, axis: int) -> None:
        self._scale_entries.setdefault(scale, []).append((dataset, axis))

    def _group(self, path: str) -> h5g.GroupID:
        """Return a group, created if necessary, with members in order of creation and without time stamps.

        Of the groups within groups, such as those of the joints, one is open at a time.
        """
        if path in self._groups:
            return self._groups[path]
        if path != self._of_element[0]:
            parent, _, link = path.rpartition("/")
            place, name = self._group(parent), link.encode()
            found = h5g.open(place, name) if path in self._made else h5g.create(place, name, gcpl=self._in_order)
            self._made.add(path)
            if not parent:
                self._groups[path] = found
                return found
            self._of_element = (path, found)
        return self._of_element[1]
