"""Contacts of OpenSim: spheres, half-spaces and meshes, which touch as rigid shapes with friction in a scene.

The forces of OpenSim are compliant: bodies sink into each other.  A model of walking needs them for feet that stand on
the ground without slip, as rigid contacts with the same coefficients of friction do.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import Origin, Shape
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.geometry import contact_by_convex_shapes, find_mesh
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_model import Osim, of_body_angles

OUTWARD = FramePose.of_euler((0.0, 0.0, 0.0), (0.0, -np.pi / 2, 0.0))
"""Frame of a plane, whose normal is z, in that of a half-space, which is where x > 0."""

COMPLIANT = "of compliant contacts"

OF_FORCES = dict.fromkeys(
    (
        "stiffness",
        "dissipation",
        "viscous_friction",
        "transition_velocity",
        "constant_contact_force",
        "hertz_smoothing",
        "hunt_crossley_smoothing",
        "derivative_smoothing",
        "force_visualization_radius",
        "force_visualization_scale_factor",
    ),
    COMPLIANT,
)
"""Properties of forces, and of their parameters, that rigid contacts do not have."""

EFFECT = "bodies do not sink into each other; without dissipation and viscous friction"


def read_geometry(model: Osim, element: Element) -> None:
    """Read a geometry, which the first force that names it makes a shape of its body."""
    model.reading.ledger.keep(element, "name")
    reader = GEOMETRIES.get(element.tag)
    if reader is None:
        model.reading.ledger.drop(element, "geometries of contacts of this type are not read")
        return
    model.drop(element, {})
    body, pose = model.frame(element, "socket_frame")
    place = pose.at(of_body_angles(*(model.numbers(element, tag, (0.0,) * 3) for tag in ("location", "orientation"))))
    shape = Shape({}, Origin(element.mark), place)
    if body and reader(model, element, shape):
        model.geometries[element.attributes.get("name", "")] = body, shape


def _half_space(_model: Osim, _element: Element, shape: Shape) -> bool:
    shape.fields, shape.pose = {"type": "plane"}, shape.pose.at(OUTWARD)
    return True


def _sphere(model: Osim, element: Element, shape: Shape) -> bool:
    shape.fields = {"type": "sphere", "radius": model.number(element, "radius", 0.0)}
    return True


def _mesh(model: Osim, element: Element, shape: Shape) -> bool:
    shape.fields, shape.mesh = {"type": "mesh"}, find_mesh(model.reading, element, model.text(element, "filename"))
    if shape.mesh is not None:
        contact_by_convex_shapes(model.reading, element, shape)
    return shape.mesh is not None


GEOMETRIES = {"ContactHalfSpace": _half_space, "ContactSphere": _sphere, "ContactMesh": _mesh}
"""Readers of geometries, which return whether there is one."""


def read_contact(model: Osim, element: Element) -> None:
    """Read a force between geometries, which is a rigid contact of their bodies."""
    model.reading.ledger.approximate(element, "by rigid contacts with friction", EFFECT)
    model.drop(element, OF_FORCES)
    names = [model.text(element, tag).rsplit("/", 1)[-1] for tag in ("socket_sphere", "socket_half_space")]
    names, friction = [name for name in names if name], {}
    if names:
        friction = _friction(model, element)
    for one in _parameters(model, element):
        model.drop(one, OF_FORCES)
        names += [name for holder in model.reading.children(one, "geometry") for name in _words(model, holder)]
        friction = _friction(model, one)
    found = []
    for name in names:
        if name in model.geometries:
            found.append(model.geometries[name])
        elif not model.has(name):
            model.reading.refuse(element, f"there is no geometry `{name}`; {nearest(name, model.geometries)}")
    _touch(model, found, friction)


def _parameters(model: Osim, element: Element) -> list[Element]:
    """Return the groups of geometries of a force."""
    sets = [one for one in element.children if one.tag.endswith("ContactParametersSet")]
    for one in sets:
        model.reading.ledger.keep(one, "name")
        model.drop(one, {})
    groups = [one for found in sets for holder in model.reading.children(found, "objects") for one in holder.children]
    for one in groups:
        model.reading.ledger.keep(one, "name")
    return groups


def _words(model: Osim, element: Element) -> list[str]:
    return model.reading.text(element, TEXT).split()


def _friction(model: Osim, element: Element) -> Any:
    """Return the coefficients of friction: that of slip is no larger than that at rest."""
    static, dynamic = (model.number(element, f"{kind}_friction", 0.0) for kind in ("static", "dynamic"))
    return static if dynamic >= static else {"static": static, "kinetic": dynamic}


def _touch(model: Osim, geometries: list[tuple[str, Shape]], friction: Any) -> None:
    """Add shapes to their bodies, and the pairs of bodies: with planes, if there are any, and all others without."""
    for body, shape in geometries:
        shapes = model.draft.body(body).shapes
        if not any(shape is one for one in shapes):
            shapes.append(shape)
    planes = {body for body, shape in geometries if shape.fields["type"] == "plane"}
    for first, second in combinations(dict.fromkeys(body for body, _ in geometries), 2):
        if not planes or first in planes or second in planes:
            model.contacts.setdefault(frozenset((first, second)), {"bodies": [first, second], "friction": friction})


def set_contacts(model: Osim, top: Element) -> None:
    """Enable the contacts of a model that has some; feet that begin in the ground are moved out of it."""
    if model.contacts:
        model.draft.set("contacts", top, {"overlap": "separate", "pairs": list(model.contacts.values())})
