"""Export of a scene as MJCF, the reverse of `foreign/mjcf.py`.

A body of the file has the frame of the body of the scene, and its pose at zero coordinates.  With the joint frame at
(p, C) in the child, a part that turns about or slides along an axis a is the joint with anchor p and axis C a, and a
ball with rotation R is the ball with rotation C R C^T; parts follow each other as joints of a body do.

What the file cannot hold is a `Loss`.  A joint of the tree that it cannot hold is an error: the model would be another
one without it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.constraints.relations import LinearSpec
from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.mass import MassProperties, objection_to
from multibody_cli.model import Floats
from multibody_cli.packing.layout import joint_data
from multibody_cli.scene.body_kinds import Placement, body_links, start_of
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.rotations import quaternion_of_matrix, rotation_matrix
from multibody_cli.studies.equations_of_motion import places_by_name
from multibody_cli.studies.mjcf_elements import Loss, Losses, row, set_pose
from multibody_cli.studies.mjcf_joints import Attributes, is_held, joint_attributes, no_attributes
from multibody_cli.studies.mjcf_shapes import Shapes
from multibody_cli.studies.simulation import PreparedSimulation

LEAST = 1e-14
"""Least mass, kg, and least principal moment, kg m^2, that MuJoCo accepts of a body that moves."""

INTEGRATORS = {"rk4": "RK4", "semi_implicit_euler": "Euler", "linearly_implicit_euler": "implicitfast"}
"""Integrators of MuJoCo by those of a scene."""

WITHOUT_COUNTERPART = {
    "constraints": "a constraint on bodies",
    "combinations": "springs, dampers and limits of combinations",
    "forces": "a force on bodies",
    "springs": "a spring between bodies",
    "muscles": "a muscle",
    "actuators": "an actuator, with the inertia of its rotor,",
    "sensors": "a sensor",
    "inputs": "a signal",
    "paths": "a path",
}
"""Sections of a scene that are not exported."""


def export_mjcf(simulation: PreparedSimulation, folder: Path) -> tuple[str, list[Loss]]:
    """Return a scene as MJCF, with its assembled initial state as the keyframe `start`, and the losses.

    Parameters
    ----------
    simulation
        The scene.
    folder
        Folder of the file; paths of meshes are relative to it.

    Raises
    ------
    SceneError
        The tree has joints that no joints of MJCF represent; all are listed.
    """
    writer = _Writer(simulation, folder)
    simulation.loaded.refuse(writer.objections())
    root = writer.model()
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n", writer.losses.all


class _Writer:
    def __init__(self, simulation: PreparedSimulation, folder: Path) -> None:
        self._scene, self._compiled = simulation.scene, simulation.compiled
        self._state = simulation.fresh_state()
        self._places = places_by_name(simulation.compiled.model)
        self._inboard = inboard_joints(self._scene)
        self._coordinates: dict[str, str] = {}  # names of joints of the file by words of the scene
        self._q: list[float] = []
        self._v: list[float] = []
        self.losses = Losses()
        self._shapes = Shapes(simulation.loaded, folder, self.losses)
        self._sites: set[str] = set()

    def objections(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the joints and bodies of the tree without counterpart."""
        for name in self._inboard.values():
            joint = self._scene.joints[name]
            parts = joint_data(joint)[0]
            if any(not is_held(part) for part in parts):
                yield ("joints", name), f"MJCF has no joint for this motion: `{joint.type}`{_variant(joint)}"
            elif any(part.code is PartCode.FREE for part in parts) and joint.parent != WORLD:
                yield ("joints", name), "a free joint of MJCF connects a body to the world only"
        for name, body in self._scene.bodies.items():
            if body.kind == "affine":
                yield ("bodies", name, "kind"), "bodies of MJCF are rigid"
            elif objection := objection_to(self._compiled.masses[name]):
                yield ("bodies", name, "inertia"), f"MuJoCo refuses an inertia that no body has: {objection}"

    def model(self) -> ET.Element:
        """Return the root element."""
        scene = self._scene
        root = ET.Element("mujoco", model=scene.name)
        ET.SubElement(root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false")
        self._write_options(root)
        root.append(self._shapes.assets)
        world = ET.SubElement(root, "worldbody")
        self._shapes.write(world, WORLD, scene.world.shapes, is_fixed=True)
        self._write_points(world, WORLD, scene.world.points)
        self._write_bodies(world)
        equality = ET.Element("equality")
        self._write_loops(equality, {WORLD: world, **{one.get("name", ""): one for one in world.iter("body")}})
        self._write_couplings(equality)
        contact = self._shapes.exclusions()
        root.extend(part for part in (equality, contact) if len(part))
        if not len(self._shapes.assets):
            root.remove(self._shapes.assets)
        keyframe = ET.SubElement(root, "keyframe")
        ET.SubElement(keyframe, "key", name="start", qpos=row(self._q), qvel=row(self._v))
        for section, what in WITHOUT_COUNTERPART.items():
            for name in getattr(scene, section):
                self.losses.drop((section, name), f"{what} is not exported")
        return root

    def _write_options(self, root: ET.Element) -> None:
        settings, contacts = self._scene.simulation, self._scene.contacts
        integrator = INTEGRATORS.get(settings.integrator)
        if integrator is None:
            integrator = "implicitfast"
            self.losses.approximate(("simulation", "integrator"), f"`{settings.integrator}` becomes `{integrator}`")
        option = ET.SubElement(
            root, "option", timestep=repr(settings.step), gravity=row(self._scene.gravity), integrator=integrator
        )
        if contacts is not None:
            option.set("cone", "elliptic")
            self.losses.approximate(
                ("contacts",), "contacts of MuJoCo are soft and combine coefficients by the maximum"
            )
            if "all" in contacts.pairs:
                ET.SubElement(option, "flag", filterparent="disable")
            for k in contacts.listed:
                self.losses.drop(
                    ("contacts", "pairs", k), "pairs of MJCF are pairs of shapes: shapes touch by their groups"
                )
            if contacts.restitution:
                self.losses.drop(("contacts", "restitution"), "contacts of MuJoCo have no restitution")

    # --- bodies -------------------------------------------------------------------------------------------------------
    def _write_bodies(self, world: ET.Element) -> None:
        """Write the tree, parents first, children in the order of the scene."""
        children: dict[str, list[str]] = defaultdict(list)
        for name in self._scene.bodies:
            children[self._parent(name)].append(name)
        # a stack instead of recursion, since a chain may be thousands of links deep
        waiting = [(name, world, True) for name in reversed(children[WORLD])]
        while waiting:
            name, above, is_fixed = waiting.pop()
            element = ET.SubElement(above, "body", name=name)
            is_fixed = self._write_body(element, name) and is_fixed
            self._shapes.write(element, name, self._scene.bodies[name].shapes, is_fixed)
            waiting += [(child, element, is_fixed) for child in reversed(children[name])]

    def _parent(self, body: str) -> str:
        return self._scene.joints[self._inboard[body]].parent if body in self._inboard else WORLD

    def _write_body(self, element: ET.Element, name: str) -> bool:
        """Write pose, joints, inertia and points of a body; return whether it is fixed in its parent."""
        body, mass = self._scene.bodies[name], self._compiled.masses[name]
        q, v = self._start(name)
        if name in self._inboard:
            joint = self._scene.joints[self._inboard[name]]
            parts, _, _, origin, child_origin = joint_data(joint)
        else:
            joint, (link, *_) = None, body_links(body, 1, mass, start_of(body, mass))
            parts, origin, child_origin = link.parts, link.origin, link.child_origin
        pose = origin @ child_origin.inverse()
        if parts and parts[0].code is PartCode.FREE:
            pose = self._write_free_state(origin, child_origin, q, v)
        set_pose(element, pose)
        attributes = no_attributes if joint is None else joint_attributes(self._inboard[name], joint, self.losses)
        self._write_joints(element, self._place_of(name), parts, child_origin, (q, v), attributes)
        self._write_inertia(element, name, mass, bool(parts))
        self._write_points(element, name, body.points)
        return not parts

    def _place_of(self, body: str) -> str:
        """Return the name of the coordinates of a body: its inboard joint, or itself."""
        return self._inboard.get(body) or (f"bodies/{body}" if body in self._scene.joints else body)

    def _start(self, body: str) -> tuple[Floats, Floats]:
        """Return q and v of a body in the assembled initial state."""
        positions, columns, _ = self._places
        place = self._place_of(body)
        if place in positions:
            return self._state.q[positions[place]], self._state.v[columns[place]]
        if body in self._inboard:
            return np.zeros(0), np.zeros(0)
        self.losses.approximate(("bodies", body), "the keyframe has its written pose, before assembly")
        start = start_of(self._scene.bodies[body], self._compiled.masses[body])
        return np.array(start.q), np.array(start.v)

    def _write_free_state(self, origin: Placement, child_origin: Placement, q: Floats, v: Floats) -> Placement:
        """Write the state of a free joint; return the pose of the body in the world.

        MuJoCo has the velocity of the body origin in world axes, and the angular velocity in body axes.
        """
        back = child_origin.inverse()
        turned = Placement(q[:3], rotation_matrix(q[3:7]))
        pose = origin @ turned @ back
        arm = turned.rotation @ back.position
        linear = origin.rotation @ (v[:3] + np.cross(v[3:], arm))
        self._q += [*pose.position.tolist(), *quaternion_of_matrix(pose.rotation.tolist())]
        self._v += [*linear.tolist(), *(pose.rotation.T @ origin.rotation @ v[3:]).tolist()]
        return pose

    def _write_inertia(self, element: ET.Element, name: str, mass: MassProperties, moves: bool) -> None:
        least = LEAST if moves else 0.0
        if np.count_nonzero(mass.inertia - np.diag(np.diag(mass.inertia))):
            moments, axes = np.linalg.eigh(mass.inertia)
            axes = axes * np.sign(np.linalg.det(axes))
        else:
            moments, axes = np.diag(mass.inertia), np.eye(3)
        if mass.mass < least or moments.min() < least:
            self.losses.approximate(("bodies", name), f"its mass and its principal moments are at least {least:g}")
            moments = np.maximum(moments, least)
        if max(mass.mass, least) > 0.0:
            inertial = ET.SubElement(element, "inertial", mass=repr(float(max(mass.mass, least))))
            set_pose(inertial, Placement(mass.com, axes))
            inertial.set("pos", row(mass.com))
            inertial.set("diaginertia", row(moments))

    def _write_points(self, element: ET.Element, body: str, points: Any) -> None:
        for name, pose in points.items():
            self._write_site(element, name if name not in self._sites else f"{body}_{name}", _placement(pose))

    def _write_site(self, element: ET.Element, name: str, pose: Placement) -> None:
        self._sites.add(name)
        set_pose(ET.SubElement(element, "site", name=name), pose)

    # --- joints -------------------------------------------------------------------------------------------------------
    def _write_joints(
        self,
        element: ET.Element,
        name: str,
        parts: Sequence[Part],
        child_origin: Placement,
        start: tuple[Floats, Floats],
        attributes: Attributes,
    ) -> None:
        """Write the parts of a joint, and their state."""
        anchor, iq, iv = child_origin.position, 0, 0
        (q, v), C = start, child_origin.rotation
        moving = [part for part in parts if part.nv]
        for part in parts:
            if part.code is PartCode.OFFSET:
                anchor = anchor + C @ np.array(part.slide)
                continue
            word = f"{name}/{iv}"
            joint = ET.SubElement(element, "joint", name=name if len(moving) == 1 else word)
            if part.code is PartCode.SCREW:
                self._coordinates |= {word: joint.get("name", "")} | ({name: name} if len(moving) == 1 else {})
                joint.set("type", "hinge" if any(part.turn) else "slide")
                joint.set("axis", row(C @ np.array(part.turn if any(part.turn) else part.slide)))
                self._q.append(float(q[iq]))
                self._v.append(float(v[iv]))
            elif part.code is PartCode.BALL:
                joint.set("type", "ball")
                turn = C @ rotation_matrix(q[iq : iq + 4]) @ C.T
                self._q += quaternion_of_matrix(turn.tolist())
                self._v += (C @ v[iv : iv + 3]).tolist()
            else:
                joint.set("type", "free")
            if part.code is not PartCode.FREE and anchor.any():
                joint.set("pos", row(anchor))
            joint.attrib.update(attributes(iv, part))
            iq, iv = iq + part.nq, iv + part.nv

    # --- loops and couplings ------------------------------------------------------------------------------------------
    def _write_loops(self, equality: ET.Element, bodies: dict[str, ET.Element]) -> None:
        for name, joint in self._scene.joints.items():
            if self._inboard.get(joint.child) == name:
                continue
            tag = {"spherical": "connect", "fixed": "weld"}.get(joint.type)
            if tag is None:
                self.losses.drop(
                    ("joints", name), f"`{joint.type}` closes a loop: MJCF closes loops by points and welds only"
                )
                continue
            _, _, _, origin, child_origin = joint_data(joint)
            ends = [(f"{name}_parent", joint.parent, origin), (f"{name}_child", joint.child, child_origin)]
            if self._floats(joint.child):  # the second body of an equality is the child of the loop at import
                ends.reverse()
            for site, body, pose in ends:
                self._write_site(bodies[body], site, pose)
            ET.SubElement(equality, tag, name=name, site1=ends[0][0], site2=ends[1][0])
            self.losses.approximate(("joints", name), "loops of MuJoCo are soft")
            for key in ("stiffness", "damping", "armature", "friction", "force", "motion", "limits"):
                if getattr(joint, key, None) is not None:
                    self.losses.drop(("joints", name, key), "a joint that closes a loop has no coordinates in MuJoCo")

    def _floats(self, body: str) -> bool:
        """Whether a body has a free joint in the file."""
        parts = joint_data(self._scene.joints[self._inboard[body]])[0] if body in self._inboard else None
        return parts is None or any(part.code is PartCode.FREE for part in parts)

    def _write_couplings(self, equality: ET.Element) -> None:
        for name, coupling in self._scene.couplings.items():
            if not isinstance(coupling, LinearSpec) or not self._is_held(coupling):
                self.losses.drop(("couplings", name), "only `linear` of two hinges or slides of the tree is exported")
                continue
            (first, a), (second, b) = coupling.terms.items()
            one, two = self._coordinates[first], self._coordinates[second]
            numbers = row((coupling.value / a, -b / a, 0.0, 0.0, 0.0))
            ET.SubElement(equality, "joint", name=name, joint1=one, joint2=two, polycoef=numbers)
            self.losses.approximate(("couplings", name), "couplings of MuJoCo are soft")

    def _is_held(self, coupling: LinearSpec) -> bool:
        """Whether a coupling is one of two coordinates that are joints of the file."""
        terms = coupling.terms
        return len(terms) == 2 and all(terms.values()) and terms.keys() <= self._coordinates.keys()


def _variant(joint: JointSpec) -> str:
    parametrization = getattr(joint, "parametrization", "")
    return f" with `parametrization: {parametrization}`" if parametrization else ""


def _placement(pose: Any) -> Placement:
    return Placement(np.array(pose.position), rotation_matrix(pose.rotation))
