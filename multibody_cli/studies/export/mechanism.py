"""A scene as a tree of links at zero coordinates, whose joints are steps with anchors and axes in the body frame.

With the joint frame at (p, C) in the child, a part that turns about or slides along an axis a is a step with anchor p
and axis C a, and a ball with rotation R is the ball with rotation C R C^T; parts follow each other as joints of a body
do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats
from multibody_cli.nodes import NodePath
from multibody_cli.packing.layout import joint_data
from multibody_cli.scene.body_kinds import Placement, body_links, start_of
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.rotations import quaternion_of_matrix, rotation_matrix
from multibody_cli.studies.equations_of_motion import places_by_name
from multibody_cli.studies.export.losses import Losses
from multibody_cli.studies.simulation import PreparedSimulation


class MovingPart(NamedTuple):
    """A part of a joint that moves.

    Parameters
    ----------
    name
        Its name: that of its joint, with the number of its first velocity if the joint has several steps.
    part
        The part.
    number
        First of its velocities in the joint.
    anchor, axis
        (3,) point on the axis, m, and direction of a turn or slide, in the body frame at zero coordinates.
    q, v
        Assembled initial state.  Of a ball, the quaternion and the angular velocity in the body frame at zero; of a
        free joint, position and quaternion of the body in the parent, and [linear; angular] in the parent's axes.
    """

    name: str
    part: Part
    number: int
    anchor: Floats
    axis: Floats
    q: Floats
    v: Floats


class Link(NamedTuple):
    """A body with its inboard joint.

    Parameters
    ----------
    name, parent
        The body, and that which carries it.
    joint_name, joint
        The joint; None for a body that moves by its own degrees of freedom.
    pose
        Pose in the parent at zero coordinates; that of the initial state, if the joint is free.
    steps
        The steps of the joint.
    mass
        Mass properties in the body frame.
    is_fixed
        Whether it is fixed to the world.
    """

    name: str
    parent: str
    joint_name: str
    joint: JointSpec | None
    pose: Placement
    steps: tuple[MovingPart, ...]
    mass: MassProperties
    is_fixed: bool

    @property
    def is_free(self) -> bool:
        """Whether it moves freely."""
        return any(step.part.code is PartCode.FREE for step in self.steps)


class StepRelation(NamedTuple):
    """A linear relation of two steps: the coupling, a name, the value, and each step with its factor."""

    coupling: str
    name: str
    value: float
    first: tuple[MovingPart, float]
    second: tuple[MovingPart, float]


class ExportedMechanism:
    """A scene for export.

    Attributes
    ----------
    loaded, scene
        The scene, with its floor among the shapes of the world.
    losses
        The losses of the export.
    states
        The scene in its other initial states, by their names.
    links
        The bodies by name, parents first, children in the order of the scene.
    steps
        The steps by the words that the scene has for their first coordinate: `elbow`, `wrist/1`.
    """

    def __init__(self, simulation: PreparedSimulation, states: Mapping[str, PreparedSimulation]) -> None:
        self.loaded, self._masses = simulation.compiled.loaded, simulation.compiled.masses
        self.scene = self.loaded.scene
        self.states = {name: ExportedMechanism(one, {}) for name, one in states.items()}
        self.losses = Losses()
        self._state = simulation.fresh_state()
        self._places = places_by_name(simulation.compiled.model)
        self._inboard = inboard_joints(self.scene)
        self.links: dict[str, Link] = {}
        self.steps: dict[str, MovingPart] = {}
        for name in self._order():
            self.links[name] = self._link(name)

    @property
    def loops(self) -> dict[str, JointSpec]:
        """The joints that close loops."""
        return {name: joint for name, joint in self.scene.joints.items() if self._inboard.get(joint.child) != name}

    def relations(self) -> Iterator[StepRelation]:
        """Yield the relations of couplings that are linear relations of two steps with one coordinate."""
        for name, coupling in self.scene.couplings.items():
            found = coupling.relations if isinstance(coupling, CouplingSpec) else ()
            if not found or any(len(terms) != 2 or not self._are_steps(terms) for terms, _ in found):
                self.losses.drop(("couplings", name), "only linear relations of two hinges or slides are exported")
                continue
            for k, (terms, value) in enumerate(found):
                first, second = ((self.steps[word], factor) for word, factor in terms.items())
                yield StepRelation(name, f"{name}_{k}" if k else name, value, first, second)

    def _are_steps(self, terms: Mapping[str, float]) -> bool:
        return all(terms.values()) and terms.keys() <= self.steps.keys()

    def objections(self, title: str, held: Container[PartCode]) -> Iterator[tuple[NodePath, str]]:
        """Yield the joints and bodies of the tree without counterpart in a format that holds these parts."""
        for name in self._inboard.values():
            joint = self.scene.joints[name]
            for part in joint_data(joint)[0]:
                if part.code not in held or (any(part.turn) and any(part.slide)):
                    yield ("joints", name), f"{title} has no joint for this motion: `{joint.type}`{_variant(joint)}"
                    break
        for name, body in self.scene.bodies.items():
            if body.kind == "affine":
                yield ("bodies", name, "kind"), f"bodies of {title} are rigid"

    # --- links --------------------------------------------------------------------------------------------------------
    def _order(self) -> Iterator[str]:
        """Yield the bodies, parents first, children in the order of the scene."""
        children: dict[str, list[str]] = defaultdict(list)
        for name in self.scene.bodies:
            children[self._parent(name)].append(name)
        # a stack instead of recursion, since a chain may be thousands of links deep
        waiting = list(reversed(children[WORLD]))
        while waiting:
            name = waiting.pop()
            yield name
            waiting += reversed(children[name])

    def _parent(self, body: str) -> str:
        return self.scene.joints[self._inboard[body]].parent if body in self._inboard else WORLD

    def _link(self, name: str) -> Link:
        body, mass = self.scene.bodies[name], self._masses[name]
        joint = self.scene.joints[self._inboard[name]] if name in self._inboard else None
        if joint is not None:
            parts, _, _, origin, child_origin = joint_data(joint)
        else:
            own = body_links(body, 1, mass, start_of(body, mass))[0]
            parts, origin, child_origin = own.parts, own.origin, own.child_origin
        place = self._inboard.get(name) or (f"bodies/{name}" if name in self.scene.joints else name)
        pose = origin @ child_origin.inverse()
        steps = tuple(self._steps(name, place, parts, origin, child_origin))
        if steps and steps[0].part.code is PartCode.FREE:
            pose = Placement(steps[0].q[:3], rotation_matrix(steps[0].q[3:]))
        parent = self._parent(name)
        is_fixed = not parts and (parent == WORLD or self.links[parent].is_fixed)
        return Link(name, parent, self._inboard.get(name, ""), joint, pose, steps, mass, is_fixed)

    def _steps(
        self, body: str, place: str, parts: Iterable[Part], origin: Placement, child_origin: Placement
    ) -> Iterator[MovingPart]:
        q, v = self._start(body, place)
        anchor, C = child_origin.position, child_origin.rotation
        several = sum(part.nv > 0 for part in parts) > 1
        iq = iv = 0
        for part in parts:
            if part.code is PartCode.OFFSET:
                anchor = anchor + C @ np.array(part.slide)
                continue
            axis = C @ np.array(part.turn if any(part.turn) else part.slide)
            own_q, own_v = q[iq : iq + part.nq], v[iv : iv + part.nv]
            if part.code is PartCode.BALL:
                turn = C @ rotation_matrix(own_q) @ C.T
                own_q, own_v = np.array(quaternion_of_matrix(turn.tolist())), C @ own_v
            elif part.code is PartCode.FREE:
                own_q, own_v = _free_state(origin, child_origin, own_q, own_v)
            step = MovingPart(f"{place}/{iv}" if several else place, part, iv, anchor, axis, own_q, own_v)
            if part.nv == 1:
                self.steps |= {f"{place}/{iv}": step} | ({} if several else {place: step})
            yield step
            iq, iv = iq + part.nq, iv + part.nv

    def _start(self, body: str, place: str) -> tuple[Floats, Floats]:
        """Return q and v of a body in the assembled initial state."""
        positions, columns, _ = self._places
        if place in positions:
            return self._state.q[positions[place]], self._state.v[columns[place]]
        if body in self._inboard:
            return np.zeros(0), np.zeros(0)
        self.losses.approximate(("bodies", body), "its initial pose is the written one, before assembly")
        start = start_of(self.scene.bodies[body], self._masses[body])
        return np.array(start.q), np.array(start.v)


def _free_state(origin: Placement, child_origin: Placement, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return position and quaternion of the body in its parent, and [linear; angular] of its origin there."""
    turned = Placement(q[:3], rotation_matrix(q[3:7]))
    back = child_origin.inverse()
    pose = origin @ turned @ back
    linear = origin.rotation @ (v[:3] + np.cross(v[3:], turned.rotation @ back.position))
    quaternion = quaternion_of_matrix(pose.rotation.tolist())
    return np.array([*pose.position, *quaternion]), np.concatenate([linear, origin.rotation @ v[3:]])


def _variant(joint: JointSpec) -> str:
    parametrization = getattr(joint, "parametrization", "")
    return f" with `parametrization: {parametrization}`" if parametrization else ""
