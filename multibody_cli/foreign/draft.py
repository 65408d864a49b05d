"""The draft of a scene: bodies, joints and shapes with their poses, all else in the words of the scene format.

Each element has its origin, a place in the source.  The tree of a draft has these places as marks, so that errors of
the scene name the file of the other program.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from multibody_cli.foreign.frames import IDENTITY, ROUND_OFF, FramePose
from multibody_cli.foreign.ledger import Ledger
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.rounding import number, vector, with_round_coordinates
from multibody_cli.mass import MassProperties
from multibody_cli.nodes import Mark, Node, Problems, mapping, sequence

Added = TypeVar("Added")

LARGEST_COUNT = 1e12
"""Largest number of steps in a second for which the duration is a multiple of the step."""

SURFACE = ("density", "hull", "decompose", "contact", "friction", "groups", "collides_with", "color", "visible")
"""Fields of shapes that are no sizes; a scene has them behind the pose."""

WORLD = "world"
"""Name of the body that does not move."""


class Origin(NamedTuple):
    """The place of an element in the source, and a remark on values derived from it."""

    mark: Mark
    remark: str = ""

    def with_remark(self, remark: str) -> Origin:
        """Return the origin with another remark behind those that it has."""
        return Origin(self.mark, f"{self.remark}, {remark}" if self.remark else remark)


class Placed(NamedTuple):
    """A value of the scene with its origin; dictionaries and lists in it may contain other placed values."""

    value: Any
    origin: Origin


class Named(NamedTuple):
    """A value of the scene with the name that it has in the source, such as that of a color."""

    name: str
    value: Any


class MeshFile(str):
    """The name of a mesh file, relative to a written scene."""


@dataclass
class Shape:
    """A shape: `fields` as `type` and `size` of the scene format, its pose in the body, and its mesh file.

    `element` is that of a mesh that is approximated in contacts; the effect belongs to it in the ledger.  `density`,
    kg/m^3, is for bodies with the mass of their shapes.  `color` is the name of its color.
    """

    fields: dict[str, Any]
    origin: Origin
    pose: FramePose = IDENTITY
    mesh: Path | None = None
    element: Element | None = None
    density: float = 0.0
    color: str = ""


@dataclass
class Point:
    """A named frame of a body."""

    pose: FramePose
    origin: Origin


@dataclass
class Body:
    """A body.

    Parameters
    ----------
    name, origin
        Its name, and its place in the source.
    mass
        Mass properties about the center of mass, in the axes of the body; None if the source has none.
    inertia
        The inertia in a form of the scene format, if the source writes it so; empty if it is derived.
    shapes, points
        Shapes, and named frames.
    pose
        Initial pose of a body without an inboard joint.
    fields
        Other fields of the scene format.
    is_free
        Whether the source states that it moves freely, and not only that no joint holds it.
    is_solid
        Whether its mass properties are those of its shapes with their `density`.
    """

    name: str
    origin: Origin
    mass: MassProperties | None = None
    inertia: dict[str, Any] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)
    points: dict[str, Point] = field(default_factory=dict)
    pose: FramePose = IDENTITY
    fields: dict[str, Any] = field(default_factory=dict)
    is_free: bool = False
    is_solid: bool = False

    @property
    def is_massless(self) -> bool:
        """Whether it has neither mass nor shapes with a density."""
        return (self.mass is None or self.mass.mass == 0.0) and not self.has_density

    @property
    def has_density(self) -> bool:
        """Whether its mass follows from densities of its shapes."""
        return "density" in self.fields or any("density" in shape.fields for shape in self.shapes)


class Coordinate(NamedTuple):
    """The coordinates of a joint of the source in the scene.

    Parameters
    ----------
    joint
        Joint of the scene, or a free body.
    position, velocity
        First of its values in q and in v of that joint.
    reference
        Value of the source where that of the scene is 0.
    """

    joint: str
    position: int = 0
    velocity: int = 0
    reference: float = 0.0


@dataclass
class Joint:
    """A joint: `pose` of its frame in the parent, `child_pose` of it in the child, and `fields` of its type."""

    name: str
    origin: Origin
    type: str
    parent: str
    child: str
    pose: FramePose = IDENTITY
    child_pose: FramePose = IDENTITY
    fields: dict[str, Any] = field(default_factory=dict)


class Draft:
    """A model of another program, on its way to a scene.

    Parameters
    ----------
    source
        Its file.
    ledger
        Fates of the items of the source.
    problems
        Collects names that are used twice.

    Attributes
    ----------
    format
        Name of its format, as in the catalogue.
    bodies, joints
        By name, in the order of the source.
    world
        Shapes and points of the world.
    elements
        Entries of other sections by name: `elements["couplings"]["pinch"]`.
    coordinates
        By joint of the source, its coordinates in the scene, where they are not those of a joint with its name.
    settings
        Other sections: `gravity`, `contacts`, `simulation`, `states`.
    expanded
        Text of the model after its macros; empty if the file has none.
    free_bases
        Bodies with joints that are free although the source does not state it.
    """

    def __init__(self, source: Path, ledger: Ledger, problems: Problems) -> None:
        self.source = source
        self.format = ""
        self.ledger = ledger
        self._problems = problems
        self.world = Body(WORLD, Origin(Mark(str(source))))
        self.bodies: dict[str, Body] = {}
        self.joints: dict[str, Joint] = {}
        self.elements: dict[str, dict[str, Placed]] = {}
        self.coordinates: dict[str, Coordinate] = {}
        self.settings: dict[str, Placed] = {}
        self.expanded = ""
        self.free_bases: list[str] = []

    def add_body(self, name: str, element: Element) -> Body:
        """Add a body."""
        return self._added("bodies", self.bodies, Body(name, Origin(element.mark)), name, element)

    def add_joint(self, name: str, element: Element, type_: str, parent: str, child: str) -> Joint:
        """Add a joint."""
        joint = Joint(name, Origin(element.mark), type_, parent, child)
        return self._added("joints", self.joints, joint, name, element)

    def add(self, section: str, name: str, element: Element, **fields: Any) -> None:
        """Add an entry of another section."""
        self.add_value(section, name, element, fields)

    def add_value(self, section: str, name: str, element: Element, value: Any) -> None:
        """Add an entry of another section that has no fields."""
        entry = Placed(value, Origin(element.mark))
        self._added(section, self.elements.setdefault(section, {}), entry, name, element)

    def set(self, section: str, element: Element, value: Any) -> None:
        """Set a section that has no named entries."""
        self.settings[section] = Placed(value, Origin(element.mark))

    def set_step(self, element: Element, step: float, **more: Any) -> None:
        """Set the step of the simulation, s, and a duration of about 1 s that is a multiple of it."""
        is_usable = step > 1.0 / LARGEST_COUNT  # the scene reports others
        duration = math.ceil(1.0 / step) * step if is_usable else 1.0
        self.set("simulation", element, {"duration": duration, "step": step, **more})

    @property
    def is_still(self) -> bool:
        """Whether it is part of the world, and of use in another scene only."""
        return not self.bodies

    def body(self, name: str) -> Body:
        """Return a body, or the world."""
        return self.world if name == WORLD else self.bodies[name]

    def inboard(self, name: str) -> list[Joint]:
        """Return the joints whose child is a body."""
        return [joint for joint in self.joints.values() if joint.child == name]

    def _added(self, section: str, entries: dict[str, Any], entry: Added, name: str, element: Element) -> Added:
        """Add an entry to a section; report a name that is used already."""
        if name in entries:
            line = entries[name].origin.mark.line
            self._problems.add(element.mark, (), f"{element}: the name is already used in line {line} ({section})")
        else:
            entries[name] = entry
        return entry

    def sections(self, folder: Path | None) -> dict[str, Any]:
        """Return the scene, with placed values, and numbers as a person writes them.

        Parameters
        ----------
        folder
            The folder that names of files are relative to; None: that of the file in which the element is.
        """
        found: dict[str, Any] = {"mbsim": 1}
        settings = dict(self.settings)
        if "gravity" in settings:
            found["gravity"] = settings.pop("gravity")
        found["world"] = _fixtures_data(self.world, folder)
        moved = {joint.child for joint in self.joints.values()}
        found["bodies"] = {
            name: Placed(_body_data(body, folder, name not in moved), body.origin) for name, body in self.bodies.items()
        }
        found["joints"] = {name: Placed(_joint_data(joint), joint.origin) for name, joint in self.joints.items()}
        found |= {section: dict(entries) for section, entries in self.elements.items() if entries}
        found |= settings
        return {key: _plain(value, folder or self.source.parent) for key, value in found.items() if value != {}}

    def tree(self, without: Sequence[str] = ()) -> Node:
        """Return the scene, without some sections, as a tree whose marks are places in the source."""
        sections = {key: value for key, value in self.sections(None).items() if key not in without}
        return _node(sections, Mark(str(self.source)))


def _shape_data(shape: Shape, folder: Path | None, density: float | None) -> Placed:
    """Return a shape; `density` is that of the body, if its mass is that of its shapes."""
    own = Path(shape.origin.mark.file).parent
    file: dict[str, str] = {}
    if shape.mesh is not None:
        file = {"file": _relative(shape.mesh, own) if folder is None else MeshFile(_relative(shape.mesh, folder))}
    type_ = {"type": shape.fields["type"]}
    other = {} if density in (None, shape.density) or shape.fields["type"] == "plane" else {"density": shape.density}
    size = {key: value for key, value in shape.fields.items() if key not in SURFACE}
    surface = {key: value for key, value in shape.fields.items() if key in SURFACE}
    if "color" in surface:
        surface["color"] = Named(shape.color, surface["color"])
    return Placed({**type_, **file, **size, **shape.pose.data(), **other, **surface}, shape.origin)


def _relative(path: Path, folder: Path) -> str:
    try:
        return os.path.relpath(path, folder)
    except ValueError:  # another drive
        return str(path)


def _body_data(body: Body, folder: Path | None, is_root: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if body.mass is None and not body.has_density:
        found |= {"mass": 0.0, "inertia": {"principal": [0.0, 0.0, 0.0]}}
    elif body.is_solid:
        found["density"] = Named("density", _density_of(body))
    elif body.mass is not None:
        found["mass"] = body.mass.mass
        if body.mass.com.any():
            found["com"] = vector(body.mass.com.tolist())
        found["inertia"] = body.inertia or _inertia_data(body.mass)
    found |= body.fields
    found |= _fixtures_data(body, folder)
    return found | (body.pose.data() if is_root else {})


def _density_of(body: Body) -> float:
    """Return the density of most shapes of a body, of those with mass."""
    densities = [shape.density for shape in body.shapes if shape.density]
    return max(densities, key=densities.count)


def _fixtures_data(body: Body, folder: Path | None) -> dict[str, Any]:
    """Return the shapes and points of a body or of the world."""
    found: dict[str, Any] = {}
    if body.shapes:
        density = _density_of(body) if body.is_solid else None
        found["shapes"] = [_shape_data(shape, folder, density) for shape in body.shapes]
    if body.points:
        found["points"] = {name: Placed(_point_data(point), point.origin) for name, point in body.points.items()}
    return found


def _point_data(point: Point) -> Any:
    return point.pose.data() if point.pose.turns else vector(point.pose.position.tolist())


def _inertia_data(mass: MassProperties) -> dict[str, Any]:
    inertia = (mass.inertia + mass.inertia.T) / 2
    inertia[np.abs(inertia) <= ROUND_OFF * np.abs(inertia).max()] = 0.0
    if not (inertia - np.diag(inertia.diagonal())).any():
        return {"principal": inertia.diagonal().tolist()}
    return {"matrix": inertia.tolist()}


def _joint_data(joint: Joint) -> dict[str, Any]:
    found: dict[str, Any] = {"type": joint.type}
    if joint.parent != WORLD:
        found["parent"] = joint.parent
    found["child"] = joint.child
    for key, pose in (("origin", joint.pose), ("child_origin", joint.child_pose)):
        if data := pose.data():
            found[key] = data
    return found | with_round_coordinates(joint.type, joint.fields)


def _plain(value: Any, folder: Path) -> Any:
    """Return a value of the scene with short numbers, and with names of files relative to a folder."""
    if isinstance(value, Placed | Named):
        return value._replace(value=_plain(value.value, folder))
    if isinstance(value, dict):
        return {key: _plain(entry, folder) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, folder) for entry in value]
    if isinstance(value, Path):
        return _relative(value, folder)
    return number(value) if isinstance(value, float) else value


def _node(value: Any, mark: Mark) -> Node:
    """Return the tree of a value, whose parts without an origin have the place of their container."""
    if isinstance(value, Placed):
        return _node(value.value, value.origin.mark)
    if isinstance(value, Named):
        return _node(value.value, mark)
    if isinstance(value, dict):
        keys = {key: entry.origin.mark if isinstance(entry, Placed) else mark for key, entry in value.items()}
        return mapping({key: _node(entry, mark) for key, entry in value.items()}, mark, keys)
    if isinstance(value, list | tuple):
        return sequence([_node(entry, mark) for entry in value], mark)
    return Node(value, mark)
