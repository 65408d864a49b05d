"""Measured places of points and orientations of bodies, from a table: markers and poses.

A column is a component of the position of a point of a body, in the axes of the world: `tip_x`, or as in tables of
results, `points/arm/tip/position[x]` and `bodies/arm/position[x]`.  The four columns of an orientation are
`bodies/arm/quaternion[w]` to `[z]`.  A file `.trc` has the markers by their names.  Coordinates beside them are
measured like these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from multibody_cli.errors import ArgumentError, closest, listed
from multibody_cli.escaping import decoded, path_component
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats, Integers, Records, records
from multibody_cli.model import Model
from multibody_cli.observation.sensors import FIXED_FRAME
from multibody_cli.spec.units import LENGTH, Unit, kind_of
from multibody_cli.studies.inverse.coordinates import Coordinates

_COLUMN = re.compile(r"(?P<name>.+)(?:_(?P<axis>[xyz])|\[(?P<component>[wxyz])\])", re.IGNORECASE)
_WORDS = {"position": "xyz", "quaternion": "wxyz"}


class MeasuredFrames(Immutable, eq=False):
    """Measured places, orientations and coordinates; NaN where one is missing.

    Parameters
    ----------
    source, times
        The file, and its instants (T,), s.
    names
        Of the frames whose position or orientation is measured: `arm/tip`, or `arm` for the frame of a body.
    frames
        (f,) their frames, rows of `FIXED_FRAME`.
    positions
        (T, f, 3) positions, m.
    rotations
        (T, f, 4) quaternions (w, x, y, z).
    coordinates
        (g,) indices in v.
    values
        (T, g) coordinates, rad or m.
    weights
        (f + g,) weights of frames and coordinates.
    ignored
        Columns that are neither.
    left_out
        Instants of the file, s, at which nothing that counts is measured.
    """

    source: str
    times: Floats
    names: tuple[str, ...]
    frames: Records
    positions: Floats
    rotations: Floats
    coordinates: Integers
    values: Floats
    weights: Floats
    ignored: tuple[str, ...]
    left_out: tuple[float, ...]


class Frames:
    """The frames of a scene that can be measured: points and bodies, by their names."""

    def __init__(self, model: Model) -> None:
        names, tree = model.names, model.system.tree
        addresses = ["/".join(map(path_component, point)) for point in names.points]
        self.all: dict[str, Any] = dict(zip(addresses, np.array(model.points, FIXED_FRAME), strict=True))
        self._by_name = {f"points/{address}": address for address in addresses}
        short = [name for _, name in names.points]
        self._by_name |= {
            name: address for name, address in zip(short, addresses, strict=True) if short.count(name) == 1
        }
        for body, row in zip(names.bodies, names.body_rows.tolist(), strict=True):
            frame = np.zeros((), FIXED_FRAME)
            frame["row"], frame["origin"], frame["frame"] = row, *(tree.frames[row][key] for key in ("origin", "frame"))
            address = path_component(body)
            self.all.setdefault(address, frame[()])
            self._by_name[f"bodies/{address}"] = address
        self._by_name |= {address: address for address in self.all}
        self._affine = set(np.flatnonzero(tree.links["is_director"] == 1).tolist())

    def find(self, name: str) -> str | None:
        """Return the address of a frame: `arm/tip`, `tip`, `points/arm/tip`, `arm`, `bodies/arm`."""
        address = self._by_name.get(name)
        if address is not None and int(self.all[address]["row"]) in self._affine:
            raise ArgumentError(f"`{name}` is a point of an affine body, which is not measured")
        return address

    def closest(self, column: str, others: Iterable[str]) -> str | None:
        """Return the name of a frame, or one of others, that is close to that of a column which moves nothing."""
        match = _COLUMN.fullmatch(column)
        name = match["name"] if match else column
        channel, _, word = name.rpartition("/")
        return closest(channel if word in _WORDS else name, (*self._by_name, *others))

    def component(self, column: str) -> tuple[str, str, int] | None:
        """Return the frame, `position` or `quaternion`, and the number of the component of a column."""
        match = _COLUMN.fullmatch(column)
        if match is None:
            return None
        name, axis = match["name"], (match["axis"] or match["component"]).lower()
        channel, _, word = name.rpartition("/")
        if word not in _WORDS:
            channel, word = name, "position"
        address = self.find(channel)
        return None if address is None or axis not in _WORDS[word] else (address, word, _WORDS[word].index(axis))


class FrameColumns:
    """Collects the columns of a table."""

    def __init__(self, frames: Frames, source: str, times: Floats) -> None:
        self._frames, self._source, self._times = frames, source, times
        self._found: dict[str, dict[str, Floats]] = {}
        self._seen: dict[tuple[str, str, int], str] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, column: str, values: Floats, unit: Unit | None = None) -> bool:
        """Add the values (T,) of a column; return whether it belongs to a frame."""
        place = self._frames.component(column)
        if place is None:
            return False
        if place in self._seen:
            raise ArgumentError(f"{self._source}: `{column}` and `{self._seen[place]}` are the same quantity")
        self._seen[place] = column
        address, word, k = place
        if unit is not None and word == "position" and unit.dimension != LENGTH.dimension:
            raise ArgumentError(f"{self._source}: `{column}`: expected a length, found {kind_of(unit.dimension)}")
        self._of(address, word)[:, k] = values
        return True

    def add_marker(self, name: str, places: Floats) -> bool:
        """Add the places (T, 3) of a marker; return whether it is a point or a body."""
        address = self._frames.find(name)
        if address is not None:
            self._of(address, "position")[:] = places
        return address is not None

    def _of(self, address: str, word: str) -> Floats:
        empty = np.full((len(self._times), len(_WORDS[word])), math.nan)
        return self._found.setdefault(address, {}).setdefault(word, empty)

    def measured(
        self, found: Mapping[int, Floats], coordinates: Coordinates, weights: Sequence[str], ignored: Sequence[str]
    ) -> MeasuredFrames:
        """Return the measured frames, with the values (T,) of coordinates by their indices in v.

        Raises
        ------
        ArgumentError
            A quaternion is none, or a weight has no quantity.
        """
        names, missing = [*self._found], np.full((len(self._times), 4), math.nan)
        positions = np.stack([self._found[name].get("position", missing[:, :3]) for name in names], axis=1)
        rotations = np.stack([self._unit(name, self._found[name].get("quaternion", missing)) for name in names], axis=1)
        values = np.reshape([*found.values()], (len(found), len(self._times))).T
        factors = self._weights([*names, *(coordinates.by_index(iv).name for iv in found)], weights)
        counts = np.isfinite(np.concatenate([positions, rotations], axis=2)).any(axis=2)
        known = (np.concatenate([counts, np.isfinite(values)], axis=1) & (factors > 0.0)).any(axis=1)
        if not known.any():
            raise ArgumentError(f"{self._source}: nothing that is measured has a weight above 0")
        return MeasuredFrames(
            source=self._source,
            times=self._times[known],
            names=tuple(map(decoded, names)),
            frames=records(np.array([self._frames.all[name] for name in names], FIXED_FRAME)),
            positions=positions[known],
            rotations=rotations[known],
            coordinates=np.array([*found], np.int64),
            values=values[known],
            weights=factors,
            ignored=tuple(ignored),
            left_out=tuple(self._times[~known].tolist()),
        )

    def _unit(self, name: str, values: Floats) -> Floats:
        """Return quaternions (T, 4) of length 1; NaN where a component is missing."""
        lengths = np.linalg.norm(values, axis=1)
        if (np.abs(lengths - 1.0) > _LENGTH_ERROR).any():
            raise ArgumentError(f"{self._source}: the quaternion of `{name}` has no length of 1")
        return np.asarray(values / lengths[:, None])

    def _weights(self, names: Sequence[str], words: Sequence[str]) -> Floats:
        found = np.ones(len(names))
        for word in words:
            name, mark, number = word.rpartition("=")
            try:
                weight = float(number)
            except ValueError:
                weight = math.nan
            if not mark or not 0.0 <= weight < math.inf:
                raise ArgumentError(f"--weight {word}: expected NAME=NUMBER with a number of 0 or more, as in `tip=10`")
            address = self._frames.find(name) or name
            if address not in names:
                known = listed([*map(decoded, names)], 8, "quantities")
                raise ArgumentError(f"--weight {word}: `{name}` is not measured: {known} are")
            found[names.index(address)] = weight
        return found


_LENGTH_ERROR = 1e-3
"""Largest error of the length of a quaternion, as tables with few digits have."""


def rotation_between(measured: Floats, actual: Floats) -> Floats:
    """Return the rotation vector (3,) from an actual orientation (3, 3) to a measured one, a quaternion, world axes."""
    w, x, y, z = measured
    return np.asarray((Rotation.from_quat([x, y, z, w]) * Rotation.from_matrix(actual).inv()).as_rotvec())


def missing_counts(measured: MeasuredFrames) -> Iterator[tuple[str, int]]:
    """Yield the names of the frames that are missing at some instants, or incomplete, with the number of these."""
    for k, name in enumerate(measured.names):
        own = np.isfinite(np.concatenate([measured.positions[:, k], measured.rotations[:, k]], axis=1))
        columns = own.any(axis=0)
        count = int(np.count_nonzero(~own[:, columns].all(axis=1)))
        if count:
            yield name, count
