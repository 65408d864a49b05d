"""Springs, dampers, armature, brakes and limits of a joint as attributes of joints of MJCF."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.coordinate_fields import Coordinate
from multibody_cli.joints.friction_spec import coefficient_of
from multibody_cli.joints.spec import JointSpec
from multibody_cli.packing.layout import joint_data
from multibody_cli.studies.mjcf_elements import Losses, row

Attributes = Callable[[int, Part], dict[str, str]]

UNBOUNDED = 1e10
"""Bound of a coordinate without one, rad or m, where the other side has a bound."""


def is_held(part: Part) -> bool:
    """Whether MJCF has a joint of this motion."""
    if part.code is PartCode.SCREW:
        return not (any(part.turn) and any(part.slide))
    return part.code in (PartCode.BALL, PartCode.FREE, PartCode.OFFSET)


def no_attributes(first: int, part: Part) -> dict[str, str]:
    """Return no attributes, for a body without a joint in the scene."""
    return {}


def joint_attributes(name: str, joint: JointSpec, losses: Losses) -> Attributes:
    """Return the function to the attributes of a part of a joint, from its first coordinate and the part."""
    place = ("joints", name)
    brakes = _brakes(place, joint, losses)
    for key in ("motion", "force"):
        if getattr(joint, key, None) is not None:
            losses.drop((*place, key), "a function of time or of the state")
    if getattr(joint, "restitution", 0.0):
        losses.drop((*place, "restitution"), "limits of MuJoCo have no restitution")
    if joint.own_domains or joint.domains:
        losses.drop(place, "its coordinates are unbounded in MuJoCo")

    def fields(first: int, part: Part) -> dict[str, str]:
        found: dict[str, str] = {}
        columns = slice(first, first + part.nv)
        for key, values in (
            ("stiffness", getattr(joint, "stiffness", None)),
            ("damping", getattr(joint, "damping", None)),
            ("armature", getattr(joint, "armature", None)),
            ("frictionloss", brakes),
        ):
            own = tuple(values or ())[columns]
            if not any(own):
                continue
            if reason := _objection(joint, key, own, first, part):
                losses.drop((*place, "friction" if key == "frictionloss" else key), reason)
                continue
            found[key] = repr(float(own[0]))
            if key == "stiffness" and part.code is PartCode.SCREW:
                found["springref"] = repr(float(joint_data(joint)[1].rest[_number(joint, first)]))
        return found | _limits(place, joint, first, losses)

    return fields


def _number(joint: JointSpec, coordinate: int) -> int:
    """Return the index in q of a coordinate that is a number of its own."""
    iq = iv = 0
    for part in joint_data(joint)[0]:
        if iv == coordinate:
            break
        iq, iv = iq + part.nq, iv + part.nv
    return iq


def _objection(joint: JointSpec, key: str, own: Sequence[float], first: int, part: Part) -> str:
    """Return the reason for which a joint of MJCF does not have these values; empty if it does."""
    if len(set(own)) > 1:
        return "a joint of MJCF has one value for all its coordinates"
    if part.code is PartCode.SCREW:
        return "" if joint.plain[first] else "it acts on the rotation as a whole, which is several joints of MJCF"
    numbers = joint_data(joint)[1].rest[_number(joint, first) :][: part.nq]
    if part.code is PartCode.FREE and (key == "stiffness" or any(joint.child_origin.position)):
        return "it acts on another point or from another pose than in MuJoCo"
    if key == "stiffness" and tuple(numbers) != (1.0, 0.0, 0.0, 0.0):
        return "the spring of a ball joint is relaxed at zero in MuJoCo"
    return ""


def _brakes(place: tuple[str, str], joint: JointSpec, losses: Losses) -> tuple[float, ...]:
    """Return the limit of the dry friction of each coordinate, N m or N."""
    friction = getattr(joint, "friction", None)
    if friction is None:
        return ()
    if coefficient_of(friction).static > 0.0:
        losses.drop((*place, "friction", "coefficient"), "friction in proportion to the loads of a joint")
    if hasattr(friction, "brake"):
        return tuple(friction.brake)
    limits = {Coordinate.ANGLE: _each(friction, "torque"), Coordinate.LENGTH: _each(friction, "force")}
    return tuple(next(limits[kind], 0.0) for kind in joint.coordinates)


def _limits(place: tuple[str, str], joint: JointSpec, coordinate: int, losses: Losses) -> dict[str, str]:
    entry = (tuple(getattr(joint, "limits", None) or ()) or (None,) * (coordinate + 1))[coordinate]
    if entry is None:
        return {}
    if not isinstance(entry, tuple):
        losses.drop((*place, "limits"), "soft limits")
        return {}
    if not all(map(math.isfinite, entry)):
        losses.approximate((*place, "limits"), f"a missing bound is {UNBOUNDED:g}")
    lower, upper = (min(max(bound, -UNBOUNDED), UNBOUNDED) for bound in entry)
    return {"limited": "true", "range": row((lower, upper))}


def _each(friction: Any, word: str) -> Iterator[float]:
    value = getattr(friction, word, ())
    return iter(value if isinstance(value, tuple) else (value,))
