"""Combinations, paths, springs and actuators of a scene as tendons and actuators of MJCF.

The command of an actuator is its control, which keyframes give.  A combination of MJCF has no offset, which moves to
the values at rest, limits and targets.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence

import numpy as np

from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.constraints.distance import DistanceSpec
from multibody_cli.forces.spring import SpringSpec
from multibody_cli.forces.tension import TensionSpec
from multibody_cli.joints.contract import PartCode
from multibody_cli.nodes import NodePath
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.spec import SignalSpec
from multibody_cli.spec.path import PathPoint
from multibody_cli.spec.points import Attachment
from multibody_cli.studies.export.affine_laws import Affine, NotAffine, affine_law
from multibody_cli.studies.export.joint_fields import UNBOUNDED
from multibody_cli.studies.export.mechanism import ExportedMechanism
from multibody_cli.studies.export.xml_values import row, unused

WriteSite = Callable[[str, str, Placement], str]

CONTINUOUS = "acts continuously, without samples and delay"


class Transmissions:
    """Writes tendons and actuators.

    Attributes
    ----------
    SECTIONS
        The sections of scenes of which each element is written or a loss.
    tendons, actuators
        The sections of the file.
    controls, activations
        Commands of all actuators, and initial activations of those with a filter.
    armature
        Inertia of rotors by step, kg m^2 or kg.
    """

    SECTIONS = ("combinations", "paths", "springs", "forces", "constraints", "inputs", "actuators")

    def __init__(self, mechanism: ExportedMechanism, write_site: WriteSite) -> None:
        self._mechanism, self._scene, self._losses = mechanism, mechanism.scene, mechanism.losses
        self._write_site = write_site
        self.tendons, self.actuators = ET.Element("tendon"), ET.Element("actuator")
        self._names = set(self._scene.combinations)  # of tendons
        self._of_paths: dict[str, str] = {}
        self._offsets: dict[str, float] = {}  # of combinations that are tendons
        self.controls: list[float] = []
        self.activations: list[float] = []
        self.armature: dict[str, float] = {}
        for actuator in self._scene.actuators.values():
            if isinstance(actuator, ActuatorSpec) and actuator.joint in mechanism.steps and actuator.reflected_inertia:
                name = mechanism.steps[actuator.joint].name
                self.armature[name] = self.armature.get(name, 0.0) + actuator.reflected_inertia

    def write(self) -> None:
        """Write all tendons and actuators; the sites of tendons go to the bodies, which must be there."""
        self._write_combinations()
        for name, path in self._scene.paths.items():
            tendon = self._write_path(("paths", name), path.path)
            self._of_paths[name] = tendon.get("name", "")
            self._set_friction(tendon, path.friction)
        for name, spring in self._scene.springs.items():
            if isinstance(spring, SpringSpec):
                self._write_spring(name, spring)
            else:
                self._losses.drop(("springs", name), "a spring of another kind than along a line")
        for name, force in self._scene.forces.items():
            if isinstance(force, TensionSpec):
                tendon = self._write_path(("forces", name), force.path)
                self._write_force(("forces", name), {"tendon": tendon.get("name", "")}, force.tension, -1.0)
            else:
                self._losses.drop(("forces", name), "a force on bodies is not exported")
        for name, constraint in self._scene.constraints.items():
            if isinstance(constraint, DistanceSpec) and constraint.limits is not None:
                self._write_rope(name, constraint)
            else:
                self._losses.drop(("constraints", name), "a constraint on bodies is not exported")
        self._write_forces_of_joints()
        for name, signal in self._scene.inputs.items():
            if signal.constant is None:
                self._losses.drop(("inputs", name), "a function of time")
            else:
                self._losses.approximate(("inputs", name), "its value is that of the controls")
        for name, actuator in self._scene.actuators.items():
            if isinstance(actuator, ActuatorSpec):
                self._write_actuator(name, actuator)
            else:
                self._losses.drop(("actuators", name), "a law of several coordinates")

    # --- tendons ------------------------------------------------------------------------------------------------------
    def _write_combinations(self) -> None:
        for name, combination in self._scene.combinations.items():
            place: NodePath = ("combinations", name)
            if not combination.terms.keys() <= self._mechanism.steps.keys():
                self._losses.drop(place, "it has coordinates of other joints than hinges and slides of the tree")
                continue
            self._offsets[name] = offset = combination.offset
            tendon = ET.SubElement(self.tendons, "fixed", name=name)
            for word, factor in combination.terms.items():
                ET.SubElement(tendon, "joint", joint=self._mechanism.steps[word].name, coef=repr(float(factor)))
            lower, upper = (value - offset for value in combination.rest)
            if lower == upper == -1.0:  # which MuJoCo reads as the length in the initial pose
                upper = float(np.nextafter(upper, 0.0))
            self._set_elastic(tendon, combination.stiffness, combination.damping, (lower, upper))
            self._set_friction(tendon, combination.friction)
            if combination.limits is not None:
                low, high = combination.limits
                self._set_range(tendon, (low - offset, high - offset))
            if combination.restitution:
                self._losses.drop((*place, "restitution"), "limits have no restitution")

    def _write_path(self, place: NodePath, points: Sequence[Attachment]) -> ET.Element:
        """Write a tendon along a path."""
        name = unused(str(place[1]), self._names)
        tendon = ET.SubElement(self.tendons, "spatial", name=name)
        for k, point in enumerate(points):
            if point.ORIENTED:
                self._losses.approximate(place, "the path leads past its surfaces in straight lines")
                continue
            if divisor := getattr(point, "divisor", None):
                ET.SubElement(tendon, "pulley", divisor=repr(float(divisor)))
            position = np.array(point.point)
            if isinstance(point, PathPoint) and point.coordinate is not None:
                if point.range is not None:
                    self._losses.approximate(place, "without a point that is part of the path at times")
                    continue
                self._losses.approximate(place, "a point that moves in its body stands where it is at q = 0")
                position = point.places([0.0])[0]
            site = self._write_site(point.body, f"{name}_{k}", Placement(position, np.eye(3)))
            ET.SubElement(tendon, "site", site=site)
        return tendon

    def _write_spring(self, name: str, spring: SpringSpec) -> None:
        tendon = self._write_path(("springs", name), spring.between or spring.path or [])
        self._set_elastic(tendon, *spring.coefficients, spring.lengths_at_rest)

    def _write_rope(self, name: str, constraint: DistanceSpec) -> None:
        tendon = self._write_path(("constraints", name), constraint.between or constraint.path or [])
        low, high = constraint.limits or (None, None)
        self._set_range(tendon, (low or 0.0, math.inf if high is None else high))
        self._losses.approximate(("constraints", name), "ropes and struts of MuJoCo are soft")

    def _set_elastic(self, tendon: ET.Element, stiffness: float, damping: float, rest: tuple[float, float]) -> None:
        if stiffness:
            tendon.attrib.update(stiffness=repr(float(stiffness)), springlength=row(rest))
        if damping:
            tendon.set("damping", repr(float(damping)))

    def _set_friction(self, tendon: ET.Element, friction: float) -> None:
        if friction:
            tendon.set("frictionloss", repr(float(friction)))

    def _set_range(self, element: ET.Element, bounds: tuple[float, float]) -> None:
        element.attrib.update(limited="true", range=row(_bounded(bounds)))

    # --- actuators ----------------------------------------------------------------------------------------------------
    def _write_forces_of_joints(self) -> None:
        for link in self._mechanism.links.values():
            for step in link.steps:
                place = ("joints", link.joint_name, "force")
                signals = (getattr(link.joint, "force", None) or ())[step.number : step.number + step.part.nv]
                if all(signal.constant == 0.0 for signal in signals):
                    continue
                if step.part.code is PartCode.SCREW:
                    self._write_force(place, {"joint": step.name}, signals[0], 1.0, f"{step.name}_force")
                else:
                    self._losses.drop(place, "a force on the rotation as a whole, or on a free joint")

    def _write_force(
        self, place: NodePath, quantity: dict[str, str], signal: SignalSpec, sign: float, name: str = ""
    ) -> None:
        """Write a force along a joint or tendon; a function of time or state becomes a control."""
        if signal.constant is None:
            self._losses.approximate(
                place, "a function of time or of the state, which the control of an actuator replaces"
            )
        self._add_actuator(name or str(place[1]), quantity, Affine(0.0, command=sign), signal.constant or 0.0)

    def _write_actuator(self, name: str, actuator: ActuatorSpec) -> None:
        place: NodePath = ("actuators", name)
        quantity = self._quantity(actuator)
        if actuator.reflected_inertia and not actuator.joint:
            self._losses.drop((*place, "rotor_inertia"), "the inertia of a rotor at no joint")
        if quantity is None:
            self._losses.drop(place, "it acts on another joint than a hinge or slide of the tree")
            return
        try:
            force, command, replaced = affine_law(actuator, self._scene.inputs)
        except NotAffine as reason:
            self._losses.drop(place, str(reason))
            return
        if replaced:
            text = "a function of time or of the state, which the control of the actuator replaces"
            self._losses.approximate((*place, replaced), text)
        if actuator.sampling_period is not None:
            self._losses.approximate(place, CONTINUOUS)
        offset = self._offsets.get(actuator.combination or "", 0.0)
        force = force._replace(constant=force.constant + force.position * offset)
        element = self._add_actuator(name, quantity, force, command)
        for name, limits in (("force", actuator.limits), ("ctrl", actuator.input_limits)):
            if limits is not None:
                element.set(f"{name}limited", "true")
                element.set(f"{name}range", row(_bounded(limits)))
        if actuator.filter is not None:
            element.attrib.update(dyntype="filter", dynprm=repr(actuator.filter))
            self.activations.append(actuator.initial_activation)

    def _quantity(self, actuator: ActuatorSpec) -> dict[str, str] | None:
        if actuator.joint in self._mechanism.steps:
            return {"joint": self._mechanism.steps[actuator.joint].name}
        if actuator.path is not None:
            return {"tendon": self._of_paths[actuator.path]}
        return {"tendon": actuator.combination} if actuator.combination in self._offsets else None

    def _add_actuator(self, name: str, quantity: dict[str, str], force: Affine, command: float) -> ET.Element:
        """Write an actuator with the force of a command."""
        self.controls.append(command)
        while any(one.get("name") == name for one in self.actuators):
            name += "_"
        fields = {"gainprm": repr(float(force.command))}
        if any((force.constant, force.position, force.rate)):
            fields |= {"biastype": "affine", "biasprm": row((force.constant, force.position, force.rate))}
        return ET.SubElement(self.actuators, "general", {"name": name} | quantity | fields)


def _bounded(bounds: tuple[float, float]) -> tuple[float, ...]:
    return tuple(min(max(bound, -UNBOUNDED), UNBOUNDED) for bound in bounds)
