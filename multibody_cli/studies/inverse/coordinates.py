"""Coordinates of a scene by the names that tables of motions have for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from multibody_cli.escaping import path_component
from multibody_cli.immutable import Immutable
from multibody_cli.model import Model
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.studies.equations_of_motion import places_by_name


class CoordinateName(Immutable):
    """A coordinate: its name in results, its index in v, its unit, and whether it is a number with dq/dt = v."""

    name: str
    iv: int
    unit: str
    is_plain: bool


class Coordinates:
    """The coordinates of a scene.

    A coordinate has its own name, of `coordinate_names` or of a `symbolic` joint; its address, `hinge` or `wrist/1`;
    and the name of its channel, `joints/wrist/q[1]`.  In results it has the first of these that is its alone.

    Attributes
    ----------
    all
        The coordinates, in the order of v.
    free
        Bodies that move freely with the position and, if they are rigid, the rotation of their frame in the world as
        coordinates, with the places of these in v.
    """

    def __init__(self, scene: SceneSpec, model: Model) -> None:
        entries = sorted(_entries(scene, model), key=lambda entry: entry[3])
        own = [name for name, *_ in entries]
        repeated = {name for name in own if own.count(name) > 1}
        self.all = tuple(
            CoordinateName(address if not name or name in repeated else name, iv, unit, plain)
            for name, address, _, iv, unit, plain in entries
        )
        self.free = {
            body: columns for _, body, columns in _free_bodies(model) if scene.bodies[body].kind in ("rigid", "point")
        }
        self._channels = {iv: channel for _, _, channel, iv, *_ in entries}
        self._by_name: dict[str, CoordinateName] = {}
        for found, (_, address, channel, *_) in zip(self.all, entries, strict=True):
            for name in filter(None, (found.name, address, channel)):
                self._by_name.setdefault(name, found)
        self._by_symbol = {_symbol(name): found for name, found in self._by_name.items()}

    @property
    def names(self) -> list[str]:
        """The names of all coordinates in results."""
        return [one.name for one in self.all]

    def find(self, text: str) -> CoordinateName | None:
        """Return the coordinate of a column: `hip_flexion_r`, `/jointset/hip_r/hip_flexion_r/value`, `hip/0`."""
        parts = text.split("/")
        name = parts[-2] if len(parts) > 2 and parts[-1] == "value" else text
        return self._by_name.get(name) or self._by_symbol.get(_symbol(name))

    def channel_of(self, one: CoordinateName) -> str:
        """Return the channel of a coordinate in result files."""
        return self._channels[one.iv]

    def by_index(self, iv: int) -> CoordinateName:
        """Return a coordinate by its index in v; one without a name, as that of a rotor, has its number."""
        return next((one for one in self.all if one.iv == iv), CoordinateName(f"coordinate {iv}", iv, "1", False))


def _symbol(name: str) -> str:
    """Return a name as expressions can have it."""
    return re.sub(r"\W", "_", name)


def _entries(scene: SceneSpec, model: Model) -> Iterator[tuple[str, str, str, int, str, bool]]:
    for joint in model.names.joints:
        spec, count = scene.joints[joint.name], len(joint.coordinates)
        names, single = spec.names_of_coordinates or ("",) * count, count == 1
        for k, kind in enumerate(joint.coordinates):
            channel = f"joints/{path_component(joint.name)}/q" + ("" if single else f"[{k}]")
            address = joint.name if single else f"{joint.name}/{k}"
            yield names[k], address, channel, joint.columns.start + k, kind.value, spec.plain[k]
    plain = set(model.system.tree.plain["iv"].tolist())
    for name, body, columns in _free_bodies(model):
        own = KINDS[scene.bodies[body].kind]
        units = [coordinate.value for part in own.parts for coordinate in part.coordinates] * own.rows
        for k, unit in enumerate(units):
            iv = columns.start + k
            yield "", f"{name}/{k}", "", iv, unit, iv in plain


def _free_bodies(model: Model) -> Iterator[tuple[str, str, slice]]:
    """Yield the address of each body that moves freely, its name, and the places of its coordinates in v."""
    joints = {joint.name for joint in model.names.joints}
    for name, columns in places_by_name(model)[1].items():
        if name not in joints:
            yield name, name.removeprefix("bodies/"), columns


def dependent_coordinates(scene: SceneSpec, coordinates: Coordinates) -> list[int]:
    """Return the indices in v of the coordinates that couplings compute from others: `output`, or the first term."""
    found = []
    for coupling in scene.couplings.values():
        terms = getattr(coupling, "terms", None)
        first = getattr(coupling, "output", None) or (next(iter(terms)) if isinstance(terms, Mapping) else None)
        one = coordinates.find(first) if isinstance(first, str) else None
        found += [] if one is None else [one.iv]
    return found
