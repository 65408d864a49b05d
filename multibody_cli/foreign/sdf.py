"""SDF, the Simulation Description Format of Gazebo and Drake.

The frame of a body is that of its link.  Links of static models are part of the world.  Models in a world have names
`model::link`; the model of a file without a world has none.  The frames of a file are in `sdf_scopes.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multibody_cli.foreign.contract import Format
from multibody_cli.foreign.draft import WORLD, Body, Draft, Origin, Point, Shape
from multibody_cli.foreign.frames import IDENTITY
from multibody_cli.foreign.geometry import contact_by_convex_shapes, find_mesh, scale_of
from multibody_cli.foreign.inertia import give_inertia
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.sdf_joints import read_joint, read_planar_joints
from multibody_cli.foreign.sdf_relations import read_relations
from multibody_cli.foreign.sdf_scopes import Frame, Scope, World, collect
from multibody_cli.foreign.sdf_values import claim_root, flag_of, number_of, read_pose, text_of, vector_of, version_of

GRAVITY = (0.0, 0.0, -9.8)
"""Gravitational acceleration of a world that states none, m/s^2."""

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravitational acceleration of a scene that states none, m/s^2."""

FRICTION = 1.0
"""Coefficient of friction of shapes that state none."""

SIDES = 32
"""Number of sides of the pyramid in place of a cone."""

DENSITY = 1000.0
"""Density of shapes that state none, where the inertia of their link is automatic, kg/m^3."""


def read(root: Element, reading: Reading) -> Draft:
    """Read a world or a model."""
    draft = Draft(reading.path, reading.ledger, reading.problems)
    claim_root(root, reading)
    element = reading.child(root, "world")
    version = version_of(root.attributes.get("version", ""))
    top = Scope(element or root, reading, is_world=True, files=(reading.path,), version=version)
    collect(top)
    reading.problems.raise_any()
    world = World(top, draft)
    for tag, read_one in READERS:
        for scope, _ in world.scopes:
            for name, frame in scope.frames.items():
                if frame.element.tag == tag:
                    read_one(world, scope, name, frame)
    for scope, _ in world.scopes:
        read_planar_joints(world, scope)
    _read_settings(world, reading, element, root)
    return draft


# --- world ------------------------------------------------------------------------------------------------------------
def _read_settings(world: World, reading: Reading, element: Element | None, root: Element) -> None:
    """Read gravity, step and contacts; a file without a world has no contacts."""
    draft, step = world.draft, 0.001
    acceleration: Sequence[float] = STANDARD_GRAVITY
    excluded = []
    for scope, _ in world.scopes:
        if scope.is_world or scope.is_merged:
            continue
        collides = flag_of(scope.reading, scope.element, "self_collide")
        if not scope.is_static and not collides and scope.count > 1:
            excluded.append([f"{scope.prefix}*", f"{scope.prefix}*"])
    if element is not None:
        reading.text(element, "name", "")
        gravity = reading.child(element, "gravity")
        acceleration = GRAVITY if gravity is None else reading.numbers(gravity, TEXT, 3)
        draft.set("gravity", element, list(acceleration))
        physics = reading.child(element, "physics")
        if physics is not None:
            reading.ledger.keep(physics, "name", "default", "type")
            for one in (one for one in physics.children if one.tag != "max_step_size"):
                reading.ledger.drop(one, "settings of an engine; constraints are hard")
            step = number_of(reading, physics, "max_step_size", step)
        bodies = [draft.world, *draft.bodies.values()]
        if any(shape.fields.get("contact", True) for body in bodies for shape in body.shapes):
            contacts = {"friction": FRICTION, "combine": {"friction": "minimum"}, "overlap": "separate"}
            draft.set("contacts", element, contacts | ({"exclude": excluded} if excluded else {}))
    draft.set_step(element or root, step)
    for body, one in world.floating:
        _hold(body, one, acceleration, world)


def _hold(body: Body, element: Element, acceleration: Sequence[float], world: World) -> None:
    """Add the force that balances gravity on a body."""
    if body.mass is None:
        world.draft.ledger.drop(element, "gravity acts on all bodies; the mass is that of the shapes")
        return
    force = [0.0 - body.mass.mass * component for component in acceleration]
    fields = {"body": body.name, "force": force, "point": body.mass.com.tolist()}
    world.draft.add("forces", f"{body.name}_without_gravity", element, **fields)


# --- links ------------------------------------------------------------------------------------------------------------
def _read_link(world: World, scope: Scope, name: str, frame: Frame) -> None:
    reading, link, draft = scope.reading, frame.element, world.draft
    body = draft.world if scope.is_static else draft.add_body(scope.prefix + name, link)
    body.pose = IDENTITY if scope.is_static else world.pose(scope, name)
    for tag, why in (
        ("self_collide", "links of a model touch each other if the model has it"),
        ("kinematic", "a link without dynamics: joints with `motion` prescribe it"),
    ):
        for one in link.all(tag):
            reading.ledger.drop(one, why)
    for one in link.all("gravity"):
        reading.ledger.keep(one, TEXT)
        if one.text.strip() not in ("true", "1") and body is not draft.world:
            world.floating.append((body, one))
    inertial = reading.child(link, "inertial")
    is_automatic = inertial is not None and reading.text(inertial, "auto", "false") in ("true", "1")
    density = total = None
    if scope.is_static:
        if inertial is not None:
            reading.ledger.drop(inertial, "the link is part of the world")
    elif is_automatic and inertial is not None:
        density = number_of(reading, inertial, "density", DENSITY)
        if inertial.all("mass"):
            total = number_of(reading, inertial, "mass", 1.0)
        for one in (one for one in inertial.children if one.tag not in ("density", "mass")):
            reading.ledger.drop(one, "the inertia is that of the shapes")
    else:
        _read_inertial(body, reading, inertial)
    touching = len(body.shapes)
    for collision in reading.children(link, "collision"):
        own = None if density is None else number_of(reading, collision, "density", density)
        if density is None:
            for one in collision.all("density"):
                reading.ledger.drop(one, "the link has an inertia")
        fields = _friction(world, reading, collision) | ({} if own is None else {"density": own})
        _read_shape(world, scope, name, body, collision, fields)
    if total is not None and inertial is not None:
        _set_mass(body, total, reading, inertial)
    visuals = len(body.shapes)
    for visual in reading.children(link, "visual"):
        fields = {"contact": False} | _color(reading, visual) | ({} if density is None else {"density": 0.0})
        _read_shape(world, scope, name, body, visual, fields)
    if len(body.shapes) > visuals:  # pictures show the visuals instead
        for shape in body.shapes[touching:visuals]:
            shape.fields["visible"] = False


def _set_mass(body: Body, mass: float, reading: Reading, inertial: Element) -> None:
    """Give a body, whose shapes have densities so far, a mass; densities are in proportion."""
    if len({shape.fields.pop("density", None) for shape in body.shapes}) > 1:
        reading.ledger.approximate(inertial, "one density for all shapes of the link")
    body.fields["mass"] = mass


def _read_inertial(body: Body, reading: Reading, inertial: Element | None) -> None:
    mass, own, pose = 1.0, np.eye(3), IDENTITY
    if inertial is not None:
        pose, base = read_pose(reading, inertial)
        if base:
            reading.refuse(inertial, "the <pose> is that in the link, and has no `relative_to`")
        mass = number_of(reading, inertial, "mass", mass)
        inertia = reading.child(inertial, "inertia")
        if inertia is not None:
            xx, yy, zz = (number_of(reading, inertia, tag, 1.0) for tag in ("ixx", "iyy", "izz"))
            xy, xz, yz = (number_of(reading, inertia, tag, 0.0) for tag in ("ixy", "ixz", "iyz"))
            own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    give_inertia(body, mass, own, pose)


def _read_shape(world: World, scope: Scope, link: str, body: Body, element: Element, fields: dict[str, Any]) -> None:
    reading = scope.reading
    if "name" in element.attributes:
        reading.ledger.drop(element, "shapes have no names", attribute="name")
    pose, base = read_pose(reading, element)
    if base and not scope.knows(base):
        scope.refuse_name(element, base)
        base = ""
    carrier = (scope, WORLD if scope.is_static else link)
    shape = Shape(fields, Origin(element.mark), world.pose_in(carrier, scope, base or link).at(pose))
    geometry = reading.child(element, "geometry")
    for solid in [] if geometry is None else geometry.children:
        if solid.tag == "empty":
            reading.ledger.keep(solid)
        elif solid.tag in WITHOUT_SHAPE:
            reading.ledger.drop(solid, WITHOUT_SHAPE[solid.tag])
        elif solid.tag == "plane" and body.name != WORLD:
            reading.ledger.drop(solid, "planes belong to the world")
        elif solid.tag in SHAPES:
            reading.ledger.keep(solid)
            found = SHAPES[solid.tag](reading, solid, shape)
            if found:
                shape.fields = found | fields
                body.shapes.append(shape)
            if shape.mesh is not None and fields.get("contact", True):
                contact_by_convex_shapes(reading, solid, shape)


def _box(reading: Reading, element: Element, _shape: Shape) -> dict[str, Any]:
    return {"type": "box", "size": vector_of(reading, element, "size")}


def _sphere(reading: Reading, element: Element, _shape: Shape) -> dict[str, Any]:
    return {"type": "sphere", "radius": number_of(reading, element, "radius", 1.0)}


def _round(reading: Reading, element: Element, _shape: Shape) -> dict[str, Any]:
    sizes = {tag: number_of(reading, element, tag, 1.0) for tag in ("radius", "length")}
    return {"type": element.tag.removeprefix("drake:"), **sizes}


def _ellipsoid(reading: Reading, element: Element, _shape: Shape) -> dict[str, Any]:
    return {"type": "ellipsoid", "radii": vector_of(reading, element, "radii")}


def _ellipsoid_of_drake(reading: Reading, element: Element, _shape: Shape) -> dict[str, Any]:
    return {"type": "ellipsoid", "radii": [number_of(reading, element, tag, 1.0) for tag in "abc"]}


def _cone(reading: Reading, element: Element, _shape: Shape) -> dict[str, Any]:
    """Return a pyramid with the volume of a cone, whose middle is the origin and whose apex is on z."""
    radius, length = (number_of(reading, element, tag, 1.0) for tag in ("radius", "length"))
    step = 2 * np.pi / SIDES
    outer = radius * np.sqrt(step / np.sin(step))
    base = [[outer * np.cos(k * step), outer * np.sin(k * step), -length / 2] for k in range(SIDES)]
    reading.ledger.approximate(element, f"by a pyramid of {SIDES} sides", "volumes are equal, inertias to 1e-4")
    return {"type": "mesh", "vertices": [*np.array(base).tolist(), [0.0, 0.0, length / 2]]}


def _plane(reading: Reading, element: Element, _shape: Shape) -> dict[str, Any]:
    for size in element.all("size"):
        reading.ledger.drop(size, "planes are infinite")
    normal = vector_of(reading, element, "normal", (0.0, 0.0, 1.0))
    return {"type": "plane"} | ({} if normal == [0.0, 0.0, 1.0] else {"normal": normal})


def _mesh(reading: Reading, element: Element, shape: Shape) -> dict[str, Any]:
    shape.mesh = find_mesh(reading, element, text_of(reading, element, "uri"))
    if shape.mesh is None:
        return {}
    for one in element.all("submesh"):
        reading.ledger.drop(one, "a mesh is that of the whole file")
    return {"type": "mesh"} | scale_of(*vector_of(reading, element, "scale"))


SHAPES = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _round,
    "capsule": _round,
    "ellipsoid": _ellipsoid,
    "plane": _plane,
    "cone": _cone,
    "mesh": _mesh,
    "drake:capsule": _round,
    "drake:ellipsoid": _ellipsoid_of_drake,
}
"""Readers of the solids of a `<geometry>`."""

WITHOUT_SHAPE = {
    "heightmap": "there is no terrain among the shapes",
    "image": "there is no terrain among the shapes",
    "polyline": "there is no extruded polygon among the shapes",
}
"""Solids that no shape expresses, and why they are dropped."""


def _friction(world: World, reading: Reading, collision: Element) -> dict[str, Any]:
    """Read the coefficient of friction that ODE and Drake use."""
    element = reading.child(collision, "surface")
    if element is not None and not world.has_contacts:
        reading.ledger.drop(element, "a file without a world has no contacts without `--floor`")
        return {}
    for tag in ("friction", "ode"):
        for one in [] if element is None else element.children:
            if one.tag != tag:
                reading.ledger.drop(one, "contacts are hard")
        element = None if element is None else reading.child(element, tag)
    for one in [] if element is None else element.children:
        if one.tag != "mu":
            reading.ledger.drop(one, "friction has one coefficient in all directions")
    mu = None if element is None else number_of(reading, element, "mu", FRICTION)
    return {} if mu is None or mu == FRICTION else {"friction": mu}


def _color(reading: Reading, visual: Element) -> dict[str, Any]:
    """Read the color of a visual: `diffuse`, or else `ambient`."""
    material = reading.child(visual, "material")
    if material is None:
        return {}
    colors = [one for tag in ("diffuse", "ambient") for one in material.all(tag)]
    for one in colors[1:]:
        reading.ledger.drop(one, "shapes have one color")
    if not colors:
        return {}
    reading.ledger.keep(colors[0])
    r, g, b, *a = reading.numbers(colors[0], TEXT, 3 if len(colors[0].text.split()) == 3 else 4)
    if a and a[0] != 1.0:
        reading.ledger.approximate(colors[0], "opaque", f"opacity {a[0]:g}", TEXT)
    return {"color": [min(max(part, 0.0), 1.0) for part in (r, g, b)]}


def _read_point(world: World, scope: Scope, name: str, frame: Frame) -> None:
    owner, link = carrier = scope.carrier(name)
    body = world.draft.body(link if link == WORLD else owner.prefix + link)
    body.points[scope.prefix + name] = Point(world.pose_in(carrier, scope, name), Origin(frame.element.mark))


READERS = (("link", _read_link), ("frame", _read_point), ("joint", read_joint), ("joint", read_relations))
"""Readers of the elements to which frames of scopes belong, in this order."""

FORMAT = Format("SDF", ("sdf",), read)
