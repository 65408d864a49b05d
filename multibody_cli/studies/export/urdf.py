"""Export of a scene as URDF, the reverse of `foreign/urdf.py`.

The root is a link `world`.  A link has the axes of its body, and its origin at the last anchor of its joint.
A joint of several steps is a chain of joints with links without mass between them.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.spec import WORLD
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats
from multibody_cli.nodes import NodePath
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.scene.shapes.mesh import MeshSpec
from multibody_cli.spec.rotations import rotation_matrix
from multibody_cli.studies.export.contract import ExportFormat
from multibody_cli.studies.export.joint_fields import UNBOUNDED, drop_laws, fields_of
from multibody_cli.studies.export.mechanism import ExportedMechanism, Link, MovingPart
from multibody_cli.studies.export.xml_values import row, unused

GRAVITY = (0.0, 0.0, -9.81)
"""Gravity of programs that read URDF, m/s^2."""

MESHES = (".stl", ".obj", ".dae")
"""Suffixes of files of meshes."""

NO_STATE = "URDF has no initial coordinates and velocities"

IN_PLACE = Placement(np.zeros(3), np.eye(3))


def objections(mechanism: ExportedMechanism) -> Iterator[tuple[NodePath, str]]:
    """Yield the joints and bodies of the tree without counterpart."""
    return mechanism.objections("URDF", (PartCode.SCREW, PartCode.FREE, PartCode.OFFSET))


def write(mechanism: ExportedMechanism, folder: Path) -> ET.Element:
    """Return the root element."""
    return _Writer(mechanism, folder).robot()


class _Writer:
    def __init__(self, mechanism: ExportedMechanism, folder: Path) -> None:
        self._mechanism, self._scene, self._losses = mechanism, mechanism.scene, mechanism.losses
        self._folder = folder
        self._root = ET.Element("robot", name=self._scene.name)
        self._anchors: dict[str, Floats] = {WORLD: np.zeros(3)}
        self._link_names = {WORLD, *self._scene.bodies}
        self._joint_names = set(self._scene.joints)
        self._joints: dict[str, ET.Element] = {}  # by the name of the step

    def robot(self) -> ET.Element:
        """Return the root element."""
        scene = self._scene
        world = ET.SubElement(self._root, "link", name=WORLD)
        self._write_shapes(world, ("world",), scene.world.shapes, np.zeros(3))
        self._write_points(WORLD, scene.world.points)
        for link in self._mechanism.links.values():
            self._write_link(link)
        self._write_mimics()
        for name, joint in self._mechanism.loops.items():
            self._losses.drop(("joints", name), f"`{joint.type}` closes a loop: links of URDF are a tree")
        if tuple(scene.gravity) != GRAVITY:
            self._losses.drop(("gravity",), "gravity is a setting of the program that reads the file")
        if scene.contacts is not None:
            self._losses.drop(("contacts",), "friction, restitution and pairs are settings of the program")
        for name in self._mechanism.states:
            self._losses.drop(("states", name), NO_STATE)
        self._losses.drop_sections(scene)
        return self._root

    # --- links and joints ---------------------------------------------------------------------------------------------
    def _write_link(self, link: Link) -> None:
        body = self._scene.bodies[link.name]
        if link.joint is not None:
            drop_laws(link.joint_name, link.joint, ("motion", "force"), self._losses)
        self._drop_state(link)
        pose, above = Placement(link.pose.position - self._anchors[link.parent], link.pose.rotation), link.parent
        anchor = np.zeros(3)
        if not link.steps:
            self._add_joint(link.joint_name, "fixed", above, link.name, pose)
        for step in link.steps:
            last = step is link.steps[-1]
            name = (
                step.name if step.name in self._scene.joints else unused(step.name.replace("/", "_"), self._joint_names)
            )
            child = link.name if last else unused(name, self._link_names)
            joint = self._add_joint(
                name, self._type(step), above, child, pose @ Placement(step.anchor - anchor, np.eye(3))
            )
            self._joints[step.name] = joint
            self._write_fields(joint, link, step)
            if not last:
                ET.SubElement(self._root, "link", name=child)
            pose, above, anchor = IN_PLACE, child, step.anchor
        self._anchors[link.name] = anchor
        element = ET.SubElement(self._root, "link", name=link.name)
        _write_inertial(element, link.mass, anchor)
        self._write_shapes(element, ("bodies", link.name), body.shapes, anchor)
        self._write_points(link.name, body.points)

    def _add_joint(self, name: str, type_: str, parent: str, child: str, pose: Placement) -> ET.Element:
        joint = ET.SubElement(self._root, "joint", name=name, type=type_)
        _write_origin(joint, pose)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        return joint

    def _type(self, step: MovingPart) -> str:
        if step.part.code is PartCode.FREE:
            return "floating"
        return "continuous" if any(step.part.turn) else "prismatic"

    def _write_fields(self, joint: ET.Element, link: Link, step: MovingPart) -> None:
        """Write axis, limits, damping and friction of a step."""
        place, fields = ("joints", link.joint_name), fields_of(link, step, self._losses)
        is_free = step.part.code is PartCode.FREE
        held = ("rest", "limits") if is_free else ("rest", "limits", "damping", "friction")
        for key in fields:
            if key not in held:
                self._losses.drop((*place, key), f"{'free ' * is_free}joints of URDF have no {key}")
        if is_free:
            return
        ET.SubElement(joint, "axis", xyz=row(step.axis))
        limits = fields.get("limits")
        if limits is None and joint.get("type") == "prismatic":
            limits = (-UNBOUNDED, UNBOUNDED)
            self._losses.approximate(
                (*place, "limits") if link.joint else ("bodies", link.name),
                f"slides of URDF have limits: {UNBOUNDED:g}",
            )
        if limits is not None:
            joint.set("type", "prismatic" if joint.get("type") == "prismatic" else "revolute")
            lower, upper = map(repr, limits)
            ET.SubElement(joint, "limit", lower=lower, upper=upper, effort=repr(UNBOUNDED), velocity=repr(UNBOUNDED))
            self._losses.approximate(
                ("joints",), f"`effort` and `velocity`, which limits of URDF require, are {UNBOUNDED:g}"
            )
        dynamics = {str(key): repr(fields[key]) for key in ("damping", "friction") if key in fields}
        if dynamics:
            ET.SubElement(joint, "dynamics", dynamics)

    def _drop_state(self, link: Link) -> None:
        """Drop an initial state other than that of the file: zero, or the pose of a free body, at rest."""
        place = ("joints", link.joint_name, "q") if link.joint else ("bodies", link.name)
        for step in link.steps:
            if step.v.any() or (step.part.code is PartCode.SCREW and step.q.any()):
                self._losses.drop(place, NO_STATE)

    def _write_mimics(self) -> None:
        leaders: dict[str, str] = {}
        for relation in self._mechanism.relations():
            terms = [relation.first, relation.second]
            for (step, factor), (other, of_other) in (terms, reversed(terms)):
                if step.name not in leaders and not _leads(leaders, other.name, step.name):
                    leaders[step.name] = other.name
                    mimic = ET.SubElement(self._joints[step.name], "mimic")
                    mimic.set("joint", self._joints[other.name].get("name", ""))
                    mimic.attrib.update(multiplier=repr(-of_other / factor), offset=repr(relation.value / factor))
                    break
            else:
                self._losses.drop(("couplings", relation.coupling), "both joints follow others already")

    # --- fixtures -----------------------------------------------------------------------------------------------------
    def _write_points(self, body: str, points: Any) -> None:
        """Write named points as links without mass."""
        for point, pose in points.items():
            name = unused(point, self._link_names)
            if name != point:
                section: NodePath = ("world",) if body == WORLD else ("bodies", body)
                self._losses.approximate(
                    (*section, "points", point), f"its link is `{name}`, since another one has its name"
                )
            place = Placement(np.array(pose.position) - self._anchors[body], rotation_matrix(pose.rotation))
            self._add_joint(unused(f"{name}_to_{body}", self._joint_names), "fixed", body, name, place)
            ET.SubElement(self._root, "link", name=name)

    def _write_shapes(self, link: ET.Element, section: NodePath, shapes: Any, anchor: Floats) -> None:
        for k, shape in enumerate(shapes):
            path = (*section, "shapes", k)
            if shape.contact and shape.friction:
                self._losses.drop((*path, "friction"), "friction is a setting of the program that reads the file")
            for offset, tag, fields in self._solids(shape, path):
                pose = Placement(np.array(shape.position) - anchor, shape.axes) @ Placement(np.array(offset), np.eye(3))
                touches = shape.contact and self._scene.contacts is not None
                for role in (["visual"] if shape.visible else []) + (["collision"] if touches else []):
                    element = ET.SubElement(link, role)
                    _write_origin(element, pose)
                    ET.SubElement(ET.SubElement(element, "geometry"), tag, fields)
                    if role == "visual" and shape.color is not None:
                        material = ET.SubElement(element, "material", name="")
                        ET.SubElement(material, "color", rgba=row((*shape.color, 1.0)))

    def _solids(self, shape: Any, path: NodePath) -> Iterator[tuple[tuple[float, float, float], str, dict[str, str]]]:
        """Yield offset along z, tag and attributes of the solids of a shape."""
        center = (0.0, 0.0, 0.0)
        if isinstance(shape, MeshSpec) and shape.file:
            file = self._mechanism.loaded.resolve_path(shape.file, *path).absolute()
            if file.suffix.lower() in MESHES:
                yield (
                    center,
                    "mesh",
                    {"filename": os.path.relpath(file, self._folder.absolute()), "scale": row(shape.scale)},
                )
                return
        if shape.type == "box":
            yield center, "box", {"size": row(shape.size)}
        elif shape.type == "sphere":
            yield center, "sphere", {"radius": repr(shape.radius)}
        elif shape.type in ("cylinder", "capsule"):
            yield center, "cylinder", {"radius": repr(shape.radius), "length": repr(shape.length)}
            if shape.type == "capsule":
                self._losses.approximate(path, "a cylinder and two spheres")
                for side in (-0.5, 0.5):
                    yield (0.0, 0.0, side * shape.length), "sphere", {"radius": repr(shape.radius)}
        else:
            self._losses.drop(path, f"URDF has no `{shape.type}`" + (" of this form" if shape.type == "mesh" else ""))


def _write_inertial(element: ET.Element, mass: MassProperties, anchor: Floats) -> None:
    if mass.mass or mass.inertia.any():
        inertial = ET.SubElement(element, "inertial")
        ET.SubElement(inertial, "origin", xyz=row(mass.com - anchor))
        ET.SubElement(inertial, "mass", value=repr(float(mass.mass)))
        moments = {f"i{'xyz'[i]}{'xyz'[j]}": repr(float(mass.inertia[i, j])) for i in range(3) for j in range(i, 3)}
        ET.SubElement(inertial, "inertia", moments)


def _write_origin(element: ET.Element, pose: Placement) -> None:
    """Write the pose of a frame; nothing for the identity."""
    found = {}
    if pose.position.any():
        found["xyz"] = row(pose.position)
    if np.any(pose.rotation != np.eye(3)):
        found["rpy"] = row(angles_of(pose.rotation))
    if found:
        ET.SubElement(element, "origin", found)


def angles_of(R: Floats) -> tuple[float, float, float]:
    """Return the angles about the fixed axes x, y and z, rad, exact also where x and z are parallel."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def _leads(leaders: dict[str, str], step: str, follower: str) -> bool:
    """Whether a step is another one or follows it, also through others."""
    while step != follower and step in leaders:
        step = leaders[step]
    return step == follower


FORMAT = ExportFormat("URDF", objections, write)
