"""Relations of joints of SDF: mimics, and gearboxes, which are joints there."""

from __future__ import annotations

import numpy as np

from multibody_cli.foreign.draft import WORLD
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.sdf_joints import AXES, GEARBOX, direction_of
from multibody_cli.foreign.sdf_scopes import Frame, Scope, World
from multibody_cli.foreign.sdf_values import number_of, text_of

PARALLEL = 1e-9
"""Largest angle between two axes that counts as round-off, rad."""


def read_relations(world: World, scope: Scope, name: str, frame: Frame) -> None:
    """Read the relations of a joint."""
    element = frame.element
    if element.attributes.get("type") == GEARBOX:
        _read_gearbox(world, scope, name, frame)
        return
    for tag in ("axis", "axis2"):
        for axis in element.all(tag):
            for mimic in axis.all("mimic"):
                _read_mimic(world, scope, (scope.prefix + name, tag), mimic)
    for mimic in element.all("drake:mimic"):
        _read_mimic_of_drake(world, scope, scope.prefix + name, mimic)


# --- mimics -----------------------------------------------------------------------------------------------------------
def _read_mimic(world: World, scope: Scope, follower: tuple[str, str], mimic: Element) -> None:
    """Read a coordinate that is a linear function of another one: multiplier (leader - reference) + offset."""
    reading = scope.reading
    leader = (scope.prefix + reading.text(mimic, "joint"), reading.text(mimic, "axis", "axis"))
    factor, start, offset = (
        number_of(reading, mimic, tag, default)
        for tag, default in (("multiplier", 1.0), ("reference", 0.0), ("offset", 0.0))
    )
    _follow(world, scope, mimic, follower, leader, factor, offset - factor * start)


def _read_mimic_of_drake(world: World, scope: Scope, follower: str, mimic: Element) -> None:
    reading = scope.reading
    leader = scope.prefix + reading.text(mimic, "joint")
    factor, offset = reading.number(mimic, "multiplier", 1.0), reading.number(mimic, "offset", 0.0)
    _follow(world, scope, mimic, (follower, "axis"), (leader, "axis"), factor, offset)


def _follow(
    world: World,
    scope: Scope,
    mimic: Element,
    follower: tuple[str, str],
    leader: tuple[str, str],
    factor: float,
    offset: float,
) -> None:
    """Add the coupling of two axes of joints: follower = factor leader + offset."""
    draft = world.draft
    ends = [_coordinate(world, *one) for one in (follower, leader)]
    if "" in ends or follower == leader:
        name = " ".join(leader if leader[1] != "axis" else leader[:1])
        scope.reading.ledger.drop(mimic, f"joint `{name}` has no coordinate that joint `{follower[0]}` can follow")
        return
    scope.reading.ledger.keep(mimic)
    relation = {"type": "linear", "reduce": True, "terms": {ends[0]: 1.0, ends[1]: -factor}}
    draft.add("couplings", ends[0], mimic, **relation, **({"value": offset} if offset else {}))
    if ends[0] == follower[0]:
        draft.joints[follower[0]].fields.pop("q", None)


def _coordinate(world: World, joint: str, axis: str) -> str:
    """Return the name of the coordinate of an axis of a joint in the scene; empty if there is none."""
    found = world.draft.joints.get(joint)
    named = world.draft.coordinates.get(f"{joint} {axis}")
    if named is not None:
        return f"{named.joint}/{named.position}"
    return joint if found is not None and axis == "axis" and found.type in WITH_ONE_AXIS else ""


WITH_ONE_AXIS = {type_ for type_, count in AXES.values() if count == 1}
"""Types of scenes with one coordinate."""


# --- gearboxes --------------------------------------------------------------------------------------------------------
def _read_gearbox(world: World, scope: Scope, name: str, frame: Frame) -> None:
    """Read the relation of the angles of two links about axes in a third one: angle of the child = -ratio angle.

    The angles are those of two hinges, which connect both links to the third one.
    """
    reading, element = scope.reading, frame.element
    ends = [text_of(reading, element, "parent"), frame.attached, text_of(reading, element, "gearbox_reference_body")]
    if "" in ends:
        reading.refuse(element, "expected a <parent>, a <child> and a <gearbox_reference_body>")
        return
    missing = [end for end in ends if end != WORLD and not scope.knows(end)]
    if missing:
        scope.refuse_name(element, missing[0])
        return
    links = [scope.carrier(end) for end in ends]
    bodies = [link if link == WORLD else owner.prefix + link for owner, link in links]
    ratio = number_of(reading, element, "gearbox_ratio", 1.0)
    terms = {}
    for body, tag, factor in ((bodies[0], "axis", ratio), (bodies[1], "axis2", 1.0)):
        axis = reading.child(element, tag)
        own = [0.0, 0.0, 1.0] if axis is None else direction_of(world, scope, name, axis)
        found = _hinge(world, scope, body, bodies[2], world.pose(scope, name).rotation @ own)
        if found is None:
            reading.ledger.drop(element, f"no hinge along its <{tag}> connects `{body}` to `{bodies[2]}`")
            return
        terms[found[0]] = factor * found[1]
    world.draft.add("couplings", scope.prefix + name, element, type="linear", terms=terms)


def _hinge(world: World, scope: Scope, body: str, reference: str, axis: np.ndarray) -> tuple[str, float] | None:
    """Return the hinge of a body in another one about an axis in the world, and the sign of its angle; or None."""
    for name, frame in scope.frames.items():
        joint = world.draft.joints.get(scope.prefix + name)
        if frame.element.tag != "joint" or joint is None or joint.type != "revolute":
            continue
        if {joint.parent, joint.child} != {body, reference}:
            continue
        own = world.pose(scope, name).rotation @ joint.fields["axis"]
        if np.linalg.norm(np.cross(own, axis)) <= PARALLEL * np.linalg.norm(own) * np.linalg.norm(axis):
            return joint.name, float(np.sign(own @ axis)) * (1.0 if joint.child == body else -1.0)
    return None
