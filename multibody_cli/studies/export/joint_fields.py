"""Springs, dampers, armature, brakes and limits of the steps of a joint."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.coordinate_fields import Coordinate
from multibody_cli.joints.friction_spec import coefficient_of
from multibody_cli.joints.spec import JointSpec
from multibody_cli.packing.layout import joint_data
from multibody_cli.studies.export.losses import Losses
from multibody_cli.studies.export.mechanism import Link, MovingPart

UNBOUNDED = 1e10
"""Bound of a coordinate without one, rad or m, where the file needs a bound."""


def drop_laws(name: str, joint: JointSpec, keys: Iterable[str], losses: Losses) -> None:
    """Drop functions of time or state, `keys`, restitution, domains, names, and friction in proportion to loads."""
    place = ("joints", name)
    for key in keys:
        if getattr(joint, key, None) is not None:
            losses.drop((*place, key), "a function of time or of the state")
    if getattr(joint, "restitution", 0.0):
        losses.drop((*place, "restitution"), "limits have no restitution")
    if getattr(joint, "coordinate_names", ()):
        losses.drop((*place, "coordinate_names"), "coordinates have the names of their joints")
    if joint.own_domains or joint.domains:
        losses.drop(place, "its coordinates are unbounded")
    friction = getattr(joint, "friction", None)
    if friction is not None and coefficient_of(friction).static > 0.0:
        losses.drop((*place, "friction", "coefficient"), "friction in proportion to the loads of a joint")


def fields_of(link: Link, step: MovingPart, losses: Losses) -> dict[str, Any]:
    """Return `stiffness` with `rest`, `damping`, `armature`, `friction` and `limits` of a step, where they are not 0.

    A step has one value for all its coordinates.
    """
    joint, part = link.joint, step.part
    if joint is None:
        return {}
    place, found = ("joints", link.joint_name), dict[str, Any]()
    for key, values in (
        ("stiffness", getattr(joint, "stiffness", None)),
        ("damping", getattr(joint, "damping", None)),
        ("armature", getattr(joint, "armature", None)),
        ("friction", _brakes(joint)),
    ):
        own = tuple(values or ())[step.number : step.number + part.nv]
        if not any(own):
            continue
        if reason := _objection(joint, key, own, step.number, part):
            losses.drop((*place, key), reason)
            continue
        found[key] = float(own[0])
        if key == "stiffness" and part.code is PartCode.SCREW:
            found["rest"] = float(joint_data(joint)[1].rest[_number(joint, step.number)])
    limits = (tuple(getattr(joint, "limits", None) or ()) or (None,) * (step.number + 1))[step.number]
    if limits is None:
        return found
    if not isinstance(limits, tuple):
        losses.approximate((*place, "limits"), "the stiffness and damping of limits are those of the program")
        limits = limits.range
    if not all(map(math.isfinite, limits)):
        losses.approximate((*place, "limits"), f"a missing bound is {UNBOUNDED:g}")
    return found | {"limits": tuple(min(max(bound, -UNBOUNDED), UNBOUNDED) for bound in limits)}


def _number(joint: JointSpec, coordinate: int) -> int:
    """Return the index in q of a coordinate that is a number of its own."""
    iq = iv = 0
    for part in joint_data(joint)[0]:
        if iv == coordinate:
            break
        iq, iv = iq + part.nq, iv + part.nv
    return iq


def _objection(joint: JointSpec, key: str, own: Sequence[float], first: int, part: Part) -> str:
    """Return the reason for which a joint of a file does not have these values; empty if it does."""
    if len(set(own)) > 1:
        return "a joint of the model has one value for all its coordinates"
    if part.code is PartCode.SCREW:
        return "" if joint.plain[first] else "it acts on the rotation as a whole, which is several joints of the model"
    numbers = joint_data(joint)[1].rest[_number(joint, first) :][: part.nq]
    if part.code is PartCode.FREE and (key == "stiffness" or any(joint.child_origin.position)):
        return "it acts on another point or from another pose than in the model"
    if key == "stiffness" and tuple(numbers) != (1.0, 0.0, 0.0, 0.0):
        return "the spring of a ball joint is relaxed at zero in the model"
    return ""


def _brakes(joint: JointSpec) -> tuple[float, ...]:
    """Return the limit of the dry friction of each coordinate, N m or N."""
    friction = getattr(joint, "friction", None)
    if friction is None:
        return ()
    if hasattr(friction, "brake"):
        return tuple(friction.brake)
    limits = {Coordinate.ANGLE: _each(friction, "torque"), Coordinate.LENGTH: _each(friction, "force")}
    return tuple(next(limits[kind], 0.0) for kind in joint.coordinates)


def _each(friction: Any, word: str) -> Iterator[float]:
    value = getattr(friction, word, ())
    return iter(value if isinstance(value, tuple) else (value,))
