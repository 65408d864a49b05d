"""Forces of OpenSim: actuators, muscles, springs, ligaments, bushings and limits of coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.errors import closest
from multibody_cli.expressions import Reference
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_actuators import ACTUATORS, coordinate_of
from multibody_cli.foreign.osim_contacts import read_contact
from multibody_cli.foreign.osim_expressions import EXPRESSIONS
from multibody_cli.foreign.osim_functions import Expression, added, function_in, in_product, property_named, read_call
from multibody_cli.foreign.osim_joints import claim_frames
from multibody_cli.foreign.osim_model import Osim
from multibody_cli.foreign.osim_muscles import APPROXIMATED, KINDS, read_muscle
from multibody_cli.foreign.osim_paths import read_path
from multibody_cli.foreign.rounding import number
from multibody_cli.interpolation import continued

NOT_READ = {
    "ExternalForce": "a force from a file of data, which a scene includes beside the model",
    "ExpressionBasedBushingForce": "a bushing by expressions",
}
"""Forces that are dropped, and why."""

LIGAMENT = {
    "x": [-5.0, 0.998, 0.999, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.601, 1.602, 5.0],
    "y": [0.0, 0.0, 0.0, 0.0, 0.035, 0.12, 0.26, 0.55, 1.17, 2.0, 2.0, 2.0, 2.0],
    "interpolation": "simm",
}
"""Tension of a ligament without a curve of its own, relative to its force, by its length relative to that at rest."""

TENSION_AT_REST = 1e-9
"""Tension of a ligament at its length at rest, relative to its force, that is none."""

TAUT = 0.01
"""Strain above which the damping of a ligament of Blankevoort is whole."""


def read_force(model: Osim, element: Element) -> None:
    """Read a force."""
    ledger = model.reading.ledger
    if element.tag in NOT_READ:
        ledger.drop(element, NOT_READ[element.tag])
    elif element.tag in FORCES:
        if model.is_enforced(element, "appliesForce"):
            FORCES[element.tag](model, element)
    else:
        close = closest(element.tag, FORCES)
        ledger.drop(element, "forces of this type are not read" + (f"; did you mean `{close}`?" if close else ""))


# --- springs ----------------------------------------------------------------------------------------------------------
def _path_spring(model: Osim, element: Element) -> None:
    """Read a spring with the tension k e (1 + d de/dt) of its stretch e; the part of d is a force of its own."""
    path = read_path(model, element)
    stiffness, rest = (model.number(element, tag, 1.0) for tag in ("stiffness", "resting_length"))
    dissipation = model.number(element, "dissipation", 0.0)
    name = model.reading.text(element, "name")
    if path is None:
        return
    fields: dict[str, Any] = {"stiffness": stiffness, "rest_length": [0.0, rest] if rest else 0.0}
    model.draft.add("springs", name, element, path=path, **fields)
    if dissipation:
        length, rate = _of_path(path)
        stretch = f"max({length} - {number(rest)}, 0)"
        text = f"{number(stiffness * dissipation)}*{stretch}*{rate}"
        model.draft.add("forces", f"{name}_dissipation", element, path=path, tension=text)


def _ligament(model: Osim, element: Element) -> None:
    """Read a ligament, whose tension is a function of its length over that at rest, and 0 below 1."""
    path = read_path(model, element)
    name, force = model.reading.text(element, "name"), model.number(element, "pcsa_force", 0.0)
    rest = model.number(element, "resting_length", 0.0)
    found = property_named(model, element, "force_length_curve")
    function = found if found is None or found.tag != "force_length_curve" else function_in(model, found)
    if path is None:
        return
    if rest <= 0.0:
        model.reading.refuse(element, "expected a <resting_length> above 0")
        return
    x = f"max({_of_path(path)[0]}/{number(rest)}, 1)"
    if function is None:
        call = str(Reference(("functions", name)))
        model.draft.add("functions", name, element, **LIGAMENT)
        curve = Expression(f"{call}({x})", {call: LIGAMENT})
    else:
        curve = read_call(model, function, x, name)
    text = f"{number(force)}*{in_product(curve.text)}"
    if not _begins_at_zero(curve):
        text += f"*sign({x} - 1)"
    model.draft.add("forces", name, element, path=path, tension=text)


def _begins_at_zero(curve: Expression) -> bool:
    """Whether the tension of a ligament does not jump at its length at rest."""
    return any(
        abs(
            continued(np.array(one["x"]), np.array(one["y"]), one["interpolation"], one.get("smoothing", 0.0)).value(
                1.0
            )
        )
        <= TENSION_AT_REST
        for one in curve.tables.values()
    )


def _blankevoort(model: Osim, element: Element) -> None:
    """Read a ligament that is quadratic in the strain, then linear, and damped where it lengthens."""
    path = read_path(model, element)
    k, transition, damping, slack = (
        model.number(element, tag, default)
        for tag, default in (
            ("linear_stiffness", 1.0),
            ("transition_strain", 0.06),
            ("damping_coefficient", 0.003),
            ("slack_length", 0.0),
        )
    )
    if path is None:
        return
    if slack <= 0.0 or transition <= 0.0:
        model.reading.refuse(element, "expected a <slack_length> and a <transition_strain> above 0")
        return
    length, rate = _of_path(path)
    strain, faster = f"max({length}/{number(slack)} - 1, 0)", f"max({rate}, 0)"
    toe = f"{number(0.5 * k / transition)}*min({strain}, {number(transition)})**2"
    text = f"{toe} + {number(k)}*max({strain} - {number(transition)}, 0)"
    if damping:
        x = f"min({strain}/{TAUT}, 1)"
        text += f" + {number(damping / slack)}*{faster}*{x}**3*(10 - 15*{x} + 6*{x}**2)"
    model.draft.add("forces", model.reading.text(element, "name"), element, path=path, tension=text)


def _of_path(path: str) -> tuple[str, str]:
    """Return the length and the rate of a path as expressions."""
    return str(Reference(("paths", path, "length"))), str(Reference(("paths", path, "rate")))


def _point_to_point(model: Osim, element: Element) -> None:
    between = []
    for k in "12":
        body, pose = model.frame(element, f"socket_body{k}")
        inner = FramePose(np.array(model.numbers(element, f"point{k}", (0.0, 0.0, 0.0))), np.eye(3))
        between.append({"body": body, "point": pose.at(inner).position.tolist()})
    fields = {
        "stiffness": model.number(element, "stiffness", 1.0),
        "rest_length": model.number(element, "rest_length", 0.0),
    }
    model.draft.add("springs", model.reading.text(element, "name"), element, between=between, **fields)


def _coordinate_spring(model: Osim, element: Element) -> None:
    """Read a spring of a coordinate, which is an actuator of the scene, since a coordinate may have several."""
    joint = coordinate_of(model, element)
    stiffness, rest, viscosity = (
        model.number(element, tag, default)
        for tag, default in (("stiffness", 1.0), ("rest_length", 0.0), ("viscosity", 0.0))
    )
    text = added([(-stiffness, "q"), (stiffness * rest, ""), (-viscosity, "v")])
    if joint is not None:
        model.draft.add(
            "actuators", model.reading.text(element, "name"), element, type="general", joint=joint, force=text
        )


def _coordinate_limit(model: Osim, element: Element) -> None:
    """Read springs and dampers beyond the limits of a coordinate, whose effect grows by a step of degree 5.

    Angles are in degrees in the file.
    """
    joint = coordinate_of(model, element)
    if joint is None:
        return
    name = model.text(element, "coordinate")
    unit = math.pi / 180 if _is_angle(model, name) else 1.0
    upper, lower = (unit * model.number(element, f"{side}_limit", 0.0) for side in ("upper", "lower"))
    stiff_up, stiff_low = (model.number(element, f"{side}_stiffness", 1.0) / unit for side in ("upper", "lower"))
    damping, width = model.number(element, "damping", 0.001) / unit, unit * model.number(element, "transition", 1.0)
    model.drop(element, {"compute_dissipation_energy": "the ledger of energies has it"})
    for side, bound, stiffness, sign in (("upper", upper, stiff_up, 1.0), ("lower", lower, stiff_low, -1.0)):
        beyond = added([(sign, "q"), (-sign * bound, "")])
        x = f"min(max({in_product(beyond)}/{number(width)}, 0), 1)"
        law = added([(-stiffness, "q"), (stiffness * bound, ""), (-damping, "v")])
        text = f"{x}**3*(10 - 15*{x} + 6*{x}**2)*{in_product(law)}"
        own = f"{model.reading.text(element, 'name')}_{side}"
        model.draft.add("actuators", own, element, type="general", joint=joint, force=text)


def _is_angle(model: Osim, name: str) -> bool:
    """Whether a coordinate is an angle."""
    place = model.draft.coordinates.get(name)
    if place is None:  # its joint is an error
        return True
    fields = model.draft.joints[place.joint].fields
    if "coordinates" in fields:
        return bool(list(fields["coordinates"].values())[place.position] == "rad")
    if "parts" in fields:
        return bool(fields["parts"][place.position]["type"] == "revolute")
    return model.draft.joints[place.joint].type == "revolute"


def _bushing(model: Osim, element: Element) -> None:
    (parent, pose), (child, child_pose) = (model.frame(element, f"socket_frame{k}") for k in "12")
    claim_frames(model, element)
    fields: dict[str, Any] = {}
    for field, suffix in (("stiffness", "stiffness"), ("damping", "damping")):
        found = {
            "linear": list(model.numbers(element, f"translational_{suffix}", (0.0, 0.0, 0.0))),
            "angular": list(model.numbers(element, f"rotational_{suffix}", (0.0, 0.0, 0.0))),
        }
        fields[field] = found
    for key, one in (("origin", pose), ("child_origin", child_pose)):
        if one.data():
            fields[key] = one.data()
    model.draft.add(
        "springs",
        model.reading.text(element, "name"),
        element,
        type="euler_bushing",
        parent=parent,
        child=child,
        **fields,
    )


FORCES = (
    ACTUATORS
    | EXPRESSIONS
    | {
        "PathSpring": _path_spring,
        "HuntCrossleyForce": read_contact,
        "ElasticFoundationForce": read_contact,
        "SmoothSphereHalfSpaceForce": read_contact,
        "Ligament": _ligament,
        "Blankevoort1991Ligament": _blankevoort,
        "PointToPointSpring": _point_to_point,
        "SpringGeneralizedForce": _coordinate_spring,
        "CoordinateLimitForce": _coordinate_limit,
        "BushingForce": _bushing,
    }
    | dict.fromkeys((*KINDS, *APPROXIMATED), read_muscle)
)
"""Readers of forces by type."""
