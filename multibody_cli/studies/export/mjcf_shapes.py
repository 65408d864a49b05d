"""Shapes of a scene as geoms of MJCF, with their contacts."""

from __future__ import annotations

import itertools
import os
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.contacts.surfaces import RULES, combined
from multibody_cli.joints.spec import WORLD
from multibody_cli.nodes import NodePath
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.shapes.contract import DEFAULT_GROUP
from multibody_cli.scene.shapes.mesh import MeshSpec
from multibody_cli.studies.export.losses import Losses
from multibody_cli.studies.export.xml_values import row

_SIZES: dict[str, Callable[[Any], Iterable[float]]] = {
    "plane": lambda shape: (0.0, 0.0, 1.0),
    "sphere": lambda shape: (shape.radius,),
    "box": lambda shape: (0.5 * length for length in shape.size),
    "capsule": lambda shape: (shape.radius, 0.5 * shape.length),
    "cylinder": lambda shape: (shape.radius, 0.5 * shape.length),
    "ellipsoid": lambda shape: shape.radii,
}
"""Numbers `size` of each shape of MJCF."""

HIDDEN = "3"
"""Group of shapes that viewers of MuJoCo do not show at first."""

AT_REST = "MuJoCo has the coefficient at rest alone"
NO_RESTITUTION = "contacts of MuJoCo have no restitution"

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
        self._pairs = self._scene.contacts.listed if self._scene.contacts else {}
        self._geoms: dict[str, dict[str, Any]] = defaultdict(dict)  # shapes with contacts by body and name, for pairs
        shapes = [self._scene.world.shapes, *(body.shapes for body in self._scene.bodies.values())]
        self._groups = sorted(
            {group for of_body in shapes for one in of_body for group in (*one.groups, *one.collides_with)}
        )

    def write(self, element: ET.Element, body: str, shapes: Sequence[Any], is_fixed: bool) -> None:
        """Write the shapes of a body; `is_fixed` is whether it is fixed to the world."""
        section: NodePath = ("world",) if body == WORLD else ("bodies", body)
        for k, shape in enumerate(shapes):
            path = (*section, "shapes", k)
            form = self._form(shape, path, f"{body}_{k}")
            if form is None:
                continue
            if shape.type == "plane" and not is_fixed:
                self._losses.drop(path, "planes of MJCF do not move")
                continue
            geom = ET.SubElement(element, "geom", form | self._surface(shape, path))
            if not shape.visible:
                geom.set("group", HIDDEN)
            if self._pairs and shape.contact:
                geom.set("name", f"{body}_{k}")
                self._geoms[body][f"{body}_{k}"] = shape
            set_pose(geom, Placement(np.array(shape.position), shape.axes))

    def _form(self, shape: Any, path: NodePath, name: str) -> dict[str, str] | None:
        """Return type and size of a shape; None if MJCF has no such shape."""
        if isinstance(shape, MeshSpec):
            return self._mesh(shape, path, name)
        if shape.type not in _SIZES:
            self._losses.drop(path, f"MJCF has no `{shape.type}`")
            return None
        return {"type": shape.type, "size": row(_SIZES[shape.type](shape))}

    def _mesh(self, shape: MeshSpec, path: NodePath, name: str) -> dict[str, str] | None:
        if shape.file:
            file = self._loaded.resolve_path(shape.file, *path).absolute()
            if file.suffix.lower() not in (".stl", ".obj", ".msh"):
                self._losses.drop(path, f"MuJoCo reads no meshes *{file.suffix}")
                return None
            fields = {"file": os.path.relpath(file, self._folder.absolute()), "scale": row(shape.scale)}
        else:
            fields = {"vertex": row(number for vertex in shape.vertices for number in vertex)}
        if shape.contact and self._scene.contacts is not None and shape.file and not shape.hull:
            self._losses.approximate(path, "contacts of MuJoCo are those of the convex hull")
        ET.SubElement(self.assets, "mesh", {"name": name} | fields)
        return {"type": "mesh", "mesh": name}

    def _surface(self, shape: Any, path: NodePath) -> dict[str, str]:
        """Return friction, groups and color of a shape."""
        found = {} if shape.color is None else {"rgba": row((*shape.color, 1.0))}
        contacts = self._scene.contacts
        if contacts is None or not shape.contact:
            return found | {"contype": "0", "conaffinity": "0"}
        friction = self._friction_of(shape)
        if friction.differ:
            self._losses.approximate((*path, "friction"), AT_REST)
        coefficients = friction.static, friction.torsional, friction.rolling
        found |= {"friction": row(coefficients), "condim": _dimension(*coefficients)}
        if shape.priority:
            found["priority"] = str(shape.priority)
        if shape.restitution:
            self._losses.drop((*path, "restitution"), NO_RESTITUTION)
        if len(self._pairs) == len(contacts.pairs):  # no other pairs touch
            return found | {"contype": "0", "conaffinity": "0"}
        for key, groups in (("contype", shape.groups), ("conaffinity", shape.collides_with)):
            if len(self._groups) > MOST_GROUPS:
                self._losses.drop((*path, "groups"), f"MuJoCo has {MOST_GROUPS} groups")
            elif self._groups != [DEFAULT_GROUP]:
                found[key] = str(sum(1 << self._groups.index(group) for group in groups))
        return found

    def _friction_of(self, shape: Any) -> Any:
        return shape.friction or self._scene.contacts.friction if self._scene.contacts else None

    def contact(self) -> ET.Element:
        """Return the pairs of bodies that never touch, and pairs of shapes of the bodies that the scene lists."""
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
        for k, pair in self._pairs.items():
            if pair.restitution:
                self._losses.drop(("contacts", "pairs", k, "restitution"), NO_RESTITUTION)
            if pair.friction is not None and pair.friction.differ:
                self._losses.approximate(("contacts", "pairs", k, "friction"), AT_REST)
            for (geom1, one), (geom2, other) in itertools.product(*(self._geoms[body].items() for body in pair.bodies)):
                sliding, torsional, rolling = self._combined(pair.friction, one, other)
                fields = {"geom1": geom1, "geom2": geom2, "condim": _dimension(sliding, torsional, rolling)}
                ET.SubElement(contact, "pair", fields, friction=row((sliding, sliding, torsional, rolling, rolling)))
        return contact

    def _combined(self, own: Any, one: Any, other: Any) -> tuple[float, float, float]:
        """Return the coefficients of a pair: its own ones, or those of two shapes, as the scene combines them."""
        if own is not None:
            return own.static, own.torsional, own.rolling
        assert self._scene.contacts is not None
        shapes = [shape for shape in (one, other) if shape.priority == max(one.priority, other.priority)]
        a, b = self._friction_of(shapes[0]), self._friction_of(shapes[-1])
        if len(shapes) == 1:
            return a.static, a.torsional, a.rolling
        static = combined(RULES.index(self._scene.contacts.combine.friction), a.static, b.static)
        return static, max(a.torsional, b.torsional), max(a.rolling, b.rolling)


def _dimension(sliding: float, torsional: float, rolling: float) -> str:
    """Return the dimension of contacts with some coefficients of friction."""
    return "6" if rolling else "4" if torsional else "3" if sliding else "1"


def set_pose(element: ET.Element, pose: Placement) -> None:
    """Write the attributes of a pose; those of the identity are left out."""
    if pose.position.any():
        element.set("pos", row(pose.position))
    if np.any(pose.rotation != np.eye(3)):
        element.set("xyaxes", row((*pose.rotation[:, 0], *pose.rotation[:, 1])))
