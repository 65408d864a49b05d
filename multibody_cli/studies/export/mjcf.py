"""Export of a scene as MJCF, the reverse of `foreign/mjcf.py`.

A body of the file has the frame of the body of the scene, and its pose at zero coordinates.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.spec import WORLD
from multibody_cli.mass import objection_to
from multibody_cli.nodes import NodePath
from multibody_cli.packing.layout import joint_data
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.spec.rotations import rotation_matrix
from multibody_cli.studies.export.contract import ExportFormat
from multibody_cli.studies.export.joint_fields import drop_laws, fields_of
from multibody_cli.studies.export.mechanism import ExportedMechanism, Link, MovingPart
from multibody_cli.studies.export.mjcf_shapes import NO_RESTITUTION, Shapes, set_pose
from multibody_cli.studies.export.mjcf_transmissions import Transmissions
from multibody_cli.studies.export.xml_values import row, unused

LEAST = 1e-14
"""Least mass, kg, and least principal moment, kg m^2, that MuJoCo accepts of a body that moves."""

INTEGRATORS = {"rk4": "RK4", "semi_implicit_euler": "Euler", "linearly_implicit_euler": "implicitfast"}
"""Integrators of MuJoCo by those of a scene."""

TAGS = {PartCode.BALL: "ball", PartCode.FREE: "free"}
"""Types of joints but hinges and slides."""

ATTRIBUTES = {
    "stiffness": "stiffness",
    "rest": "springref",
    "damping": "damping",
    "armature": "armature",
    "friction": "frictionloss",
}
"""Attributes of joints by the fields of a scene."""


def objections(mechanism: ExportedMechanism) -> Iterator[tuple[NodePath, str]]:
    """Yield the joints and bodies of the tree without counterpart."""
    yield from mechanism.objections("MJCF", (PartCode.SCREW, PartCode.BALL, PartCode.FREE, PartCode.OFFSET))
    for link in mechanism.links.values():
        if link.is_free and link.parent != WORLD:
            yield ("joints", link.joint_name), "a free joint of MJCF connects a body to the world only"
        if mechanism.scene.bodies[link.name].kind != "affine" and (objection := objection_to(link.mass)):
            yield ("bodies", link.name, "inertia"), f"MuJoCo refuses an inertia that no body has: {objection}"


def write(mechanism: ExportedMechanism, folder: Path) -> ET.Element:
    """Return the root element, with the assembled initial state as the keyframe `start`."""
    return _Writer(mechanism, folder).model()


class _Writer:
    def __init__(self, mechanism: ExportedMechanism, folder: Path) -> None:
        self._mechanism, self._scene, self._losses = mechanism, mechanism.scene, mechanism.losses
        self._shapes = Shapes(mechanism.loaded, folder, self._losses)
        self._transmissions = Transmissions(mechanism, self._write_site)
        self._bodies: dict[str, ET.Element] = {}
        self._sites: set[str] = set()

    def model(self) -> ET.Element:
        """Return the root element."""
        scene = self._scene
        root = ET.Element("mujoco", model=scene.name)
        ET.SubElement(root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false")
        self._write_options(root)
        root.append(self._shapes.assets)
        self._bodies[WORLD] = world = ET.SubElement(root, "worldbody")
        self._shapes.write(world, WORLD, scene.world.shapes, is_fixed=True)
        self._write_points(WORLD, scene.world.points)
        for link in self._mechanism.links.values():
            self._write_body(link)
        equality = ET.Element("equality")
        self._write_loops(equality)
        self._write_couplings(equality)
        self._transmissions.write()
        sections = (equality, self._shapes.contact(), self._transmissions.tendons, self._transmissions.actuators)
        root.extend(part for part in sections if len(part))
        if not len(self._shapes.assets):
            root.remove(self._shapes.assets)
        keyframe = ET.SubElement(root, "keyframe")
        states = self._mechanism.states
        _write_key(keyframe, unused("start", set(states)), self._mechanism, self._transmissions)
        for name, mechanism in states.items():
            transmissions = Transmissions(mechanism, lambda body, site, pose: site)
            transmissions.write()
            _write_key(keyframe, name, mechanism, transmissions)
        self._losses.drop_sections(scene, Transmissions.SECTIONS)
        return root

    def _write_options(self, root: ET.Element) -> None:
        settings, contacts = self._scene.simulation, self._scene.contacts
        integrator = INTEGRATORS.get(settings.integrator)
        if integrator is None:
            integrator = "implicitfast"
            self._losses.approximate(("simulation", "integrator"), f"`{settings.integrator}` becomes `{integrator}`")
        option = ET.SubElement(
            root, "option", timestep=repr(settings.step), gravity=row(self._scene.gravity), integrator=integrator
        )
        if contacts is not None:
            option.set("cone", "elliptic")
            self._losses.approximate(
                ("contacts",), "contacts of MuJoCo are soft and combine coefficients by the maximum"
            )
            if "all" in contacts.pairs:
                ET.SubElement(option, "flag", filterparent="disable")
            if contacts.restitution:
                self._losses.drop(("contacts", "restitution"), NO_RESTITUTION)

    # --- bodies and joints --------------------------------------------------------------------------------------------
    def _write_body(self, link: Link) -> None:
        body = self._scene.bodies[link.name]
        self._bodies[link.name] = element = ET.SubElement(self._bodies[link.parent], "body", name=link.name)
        set_pose(element, link.pose)
        if link.joint is not None:
            drop_laws(link.joint_name, link.joint, ("motion",), self._losses)
        for step in link.steps:
            self._write_joint(element, link, step)
        self._write_inertia(element, link)
        self._write_points(link.name, body.points)
        self._shapes.write(element, link.name, body.shapes, link.is_fixed)

    def _write_joint(self, element: ET.Element, link: Link, step: MovingPart) -> None:
        joint = ET.SubElement(element, "joint", name=step.name)
        if step.part.code is PartCode.SCREW:
            joint.set("type", "hinge" if any(step.part.turn) else "slide")
            joint.set("axis", row(step.axis))
        else:
            joint.set("type", TAGS[step.part.code])
        if step.part.code is not PartCode.FREE and step.anchor.any():
            joint.set("pos", row(step.anchor))
        fields = fields_of(link, step, self._losses)
        if rotor := self._transmissions.armature.get(step.name):
            fields["armature"] = fields.get("armature", 0.0) + rotor
        joint.attrib.update({name: repr(fields[key]) for key, name in ATTRIBUTES.items() if key in fields})
        if "limits" in fields:
            joint.attrib.update(limited="true", range=row(fields["limits"]))

    def _write_inertia(self, element: ET.Element, link: Link) -> None:
        mass, least = link.mass, LEAST if link.steps else 0.0
        if np.count_nonzero(mass.inertia - np.diag(np.diag(mass.inertia))):
            moments, axes = np.linalg.eigh(mass.inertia)
            axes = axes * np.sign(np.linalg.det(axes))
        else:
            moments, axes = np.diag(mass.inertia), np.eye(3)
        if mass.mass < least or moments.min() < least:
            text = f"its mass and its principal moments are at least {least:g}"
            self._losses.approximate(("bodies", link.name), text)
            moments = np.maximum(moments, least)
        if max(mass.mass, least) > 0.0:
            inertial = ET.SubElement(element, "inertial", mass=repr(float(max(mass.mass, least))))
            set_pose(inertial, Placement(mass.com, axes))
            inertial.set("pos", row(mass.com))
            inertial.set("diaginertia", row(moments))

    def _write_points(self, body: str, points: Any) -> None:
        for name, pose in points.items():
            own = name if name not in self._sites else f"{body}_{name}"
            site = self._write_site(body, own, Placement(np.array(pose.position), rotation_matrix(pose.rotation)))
            if site != name:
                section: NodePath = ("world",) if body == WORLD else ("bodies", body)
                self._losses.approximate(
                    (*section, "points", name), f"its site is `{site}`, since another one has its name"
                )

    def _write_site(self, body: str, name: str, pose: Placement) -> str:
        """Write a site; return its name, which differs from `name` if that is used."""
        name = unused(name, self._sites)
        set_pose(ET.SubElement(self._bodies[body], "site", name=name), pose)
        return name

    # --- loops and couplings ------------------------------------------------------------------------------------------
    def _write_loops(self, equality: ET.Element) -> None:
        for name, joint in self._mechanism.loops.items():
            tag = {"spherical": "connect", "fixed": "weld"}.get(joint.type)
            if tag is None:
                self._losses.drop(
                    ("joints", name), f"`{joint.type}` closes a loop: MJCF closes loops by points and welds only"
                )
                continue
            _, _, _, origin, child_origin = joint_data(joint)
            ends = [(f"{name}_parent", joint.parent, origin), (f"{name}_child", joint.child, child_origin)]
            if self._mechanism.links[joint.child].is_free:  # the second body of an equality is the child at import
                ends.reverse()
            site1, site2 = (self._write_site(body, site, pose) for site, body, pose in ends)
            ends_of_loop = ET.SubElement(equality, tag, name=name, site1=site1, site2=site2)
            if not joint.active:
                ends_of_loop.set("active", "false")
            self._losses.approximate(("joints", name), "loops of MuJoCo are soft")
            for key in ("stiffness", "damping", "armature", "friction", "force", "motion", "limits"):
                if getattr(joint, key, None) is not None:
                    text = "a joint that closes a loop has no coordinates in MuJoCo"
                    self._losses.drop(("joints", name, key), text)

    def _write_couplings(self, equality: ET.Element) -> None:
        for relation in self._mechanism.relations():
            (first, a), (second, b) = relation.first, relation.second
            numbers = row((relation.value / a, -b / a, 0.0, 0.0, 0.0))
            fields = {"name": relation.name, "joint1": first.name, "joint2": second.name, "polycoef": numbers}
            ET.SubElement(equality, "joint", fields)
            self._losses.approximate(("couplings", relation.coupling), "couplings of MuJoCo are soft")


def _write_key(keyframe: ET.Element, name: str, mechanism: ExportedMechanism, transmissions: Transmissions) -> None:
    """Write an initial state; the angular velocity of a free body is in body axes in MuJoCo."""
    q, v = list[float](), list[float]()
    for link in mechanism.links.values():
        for step in link.steps:
            q += step.q.tolist()
            v += step.v.tolist()
            if step.part.code is PartCode.FREE:
                v[-3:] = (link.pose.rotation.T @ step.v[3:]).tolist()
    key = ET.SubElement(keyframe, "key", name=name, qpos=row(q), qvel=row(v))
    for word, values in (("ctrl", transmissions.controls), ("act", transmissions.activations)):
        if any(values):
            key.set(word, row(values))


FORMAT = ExportFormat("MJCF", objections, write)
