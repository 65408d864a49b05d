"""Shapes of a scene as geoms of MJCF, with their contacts."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.shapes.contract import DEFAULT_GROUP
from multibody_cli.scene.shapes.mesh import MeshSpec
from multibody_cli.studies.mjcf_elements import Losses, row, set_pose

_SIZES: dict[str, Callable[[Any], Iterable[float]]] = {
    "plane": lambda shape: (0.0, 0.0, 1.0),
    "sphere": lambda shape: (shape.radius,),
    "box": lambda shape: (0.5 * length for length in shape.size),
    "capsule": lambda shape: (shape.radius, 0.5 * shape.length),
    "cylinder": lambda shape: (shape.radius, 0.5 * shape.length),
    "ellipsoid": lambda shape: shape.radii,
}
"""Numbers `size` of each shape of MJCF."""

MOST_GROUPS = 31
"""Largest number of groups that the masks of MuJoCo hold."""


class Shapes:
    """Writes shapes.

    Parameters
    ----------
    loaded
        The scene.
    folder
        Folder of the file; paths of meshes are relative to it.
    losses
        Receives the losses.
    """

    def __init__(self, loaded: LoadedScene, folder: Path, losses: Losses) -> None:
        self._loaded, self._scene, self._folder, self._losses = loaded, loaded.scene, folder, losses
        self.assets = ET.Element("asset")
        shapes = [self._scene.world.shapes, *(body.shapes for body in self._scene.bodies.values())]
        self._groups = sorted(
            {group for of_body in shapes for one in of_body for group in (*one.groups, *one.collides_with)}
        )

    def write(self, element: ET.Element, body: str, shapes: Sequence[Any], is_fixed: bool) -> None:
        """Write the shapes of a body; `is_fixed` is whether it is fixed to the world."""
        section: tuple[str | int, ...] = ("world",) if body == WORLD else ("bodies", body)
        for k, shape in enumerate(shapes):
            path = (*section, "shapes", k)
            form = self._form(shape, path, f"{body}_{k}")
            if form is None:
                continue
            if shape.type == "plane" and not is_fixed:
                self._losses.drop(path, "planes of MJCF do not move")
                continue
            geom = ET.SubElement(element, "geom", form | self._surface(shape, path))
            set_pose(geom, Placement(np.array(shape.position), shape.axes))

    def _form(self, shape: Any, path: tuple[str | int, ...], name: str) -> dict[str, str] | None:
        """Return type and size of a shape; None if MJCF has no such shape."""
        if isinstance(shape, MeshSpec):
            return self._mesh(shape, path, name)
        if shape.type not in _SIZES:
            self._losses.drop(path, f"MJCF has no `{shape.type}`")
            return None
        return {"type": shape.type, "size": row(_SIZES[shape.type](shape))}

    def _mesh(self, shape: MeshSpec, path: tuple[str | int, ...], name: str) -> dict[str, str] | None:
        if shape.file:
            file = self._loaded.resolve_path(shape.file, *path).absolute()
            if file.suffix.lower() not in (".stl", ".obj"):
                self._losses.drop(path, f"MuJoCo reads no meshes *{file.suffix}")
                return None
            fields = {"file": os.path.relpath(file, self._folder.absolute()), "scale": row(shape.scale)}
        else:
            fields = {"vertex": row(number for vertex in shape.vertices for number in vertex)}
        if shape.contact and self._scene.contacts is not None and shape.file and not shape.hull:
            self._losses.approximate(path, "contacts of MuJoCo are those of the convex hull")
        ET.SubElement(self.assets, "mesh", {"name": name} | fields)
        return {"type": "mesh", "mesh": name}

    def _surface(self, shape: Any, path: tuple[str | int, ...]) -> dict[str, str]:
        """Return friction, groups and color of a shape."""
        found = {} if shape.color is None else {"rgba": row((*shape.color, 1.0))}
        contacts = self._scene.contacts
        if contacts is None or not shape.contact:
            return found | {"contype": "0", "conaffinity": "0"}
        friction = shape.friction or contacts.friction
        if friction.differ:
            self._losses.approximate((*path, "friction"), "MuJoCo has the coefficient at rest alone")
        if shape.restitution:
            self._losses.drop((*path, "restitution"), "contacts of MuJoCo have no restitution")
        found["friction"] = row((friction.static, friction.torsional, friction.rolling))
        found["condim"] = "6" if friction.rolling else "4" if friction.torsional else "3" if friction.static else "1"
        for key, groups in (("contype", shape.groups), ("conaffinity", shape.collides_with)):
            if len(self._groups) > MOST_GROUPS:
                self._losses.drop((*path, "groups"), f"MuJoCo has {MOST_GROUPS} groups")
            elif self._groups != [DEFAULT_GROUP]:
                found[key] = str(sum(1 << self._groups.index(group) for group in groups))
        return found

    def exclusions(self) -> ET.Element:
        """Return the pairs of bodies that never touch."""
        contact, names = ET.Element("contact"), [WORLD, *self._scene.bodies]
        pairs = {
            tuple(sorted((a, b), key=names.index))
            for patterns in (self._scene.contacts.exclude if self._scene.contacts else ())
            for a in names
            for b in names
            if a != b and fnmatchcase(a, patterns[0]) and fnmatchcase(b, patterns[1])
        }
        for a, b in sorted(pairs):
            ET.SubElement(contact, "exclude", body1=a, body2=b)
        return contact
