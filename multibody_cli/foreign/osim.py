"""OpenSim, models of muscles and bones.

The frame of a body is that of the file.  The world is the ground.  Units are those of SI; angles are in rad, but in
degrees in limits of coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.foreign.contract import Format
from multibody_cli.foreign.draft import Body, Draft, Origin, Point, Shape
from multibody_cli.foreign.frames import IDENTITY, FramePose
from multibody_cli.foreign.geometry import find_mesh, scale_of
from multibody_cli.foreign.inertia import give_inertia
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element, parse
from multibody_cli.foreign.osim_constraints import read_constraint
from multibody_cli.foreign.osim_contacts import read_geometry, set_contacts
from multibody_cli.foreign.osim_controllers import read_controller
from multibody_cli.foreign.osim_forces import read_force
from multibody_cli.foreign.osim_joints import claim_frame, read_joint
from multibody_cli.foreign.osim_loads import read_loads
from multibody_cli.foreign.osim_model import BODIES, OFFSET, Osim
from multibody_cli.foreign.osim_paths import read_surface
from multibody_cli.foreign.osim_upgrade import UpgradeError, upgraded
from multibody_cli.foreign.reading import Reading

FIRST_VERSION = 40000
"""Version of the first files whose components have paths."""

STANDARD_GRAVITY = (0.0, -9.80665, 0.0)
"""Gravitational acceleration of a model that states none, m/s^2."""

ANY_DISTANCE = 1e3
"""Tolerance of the assembly, m or rad, where the start of a file has no meaning for dependent coordinates."""

GEOMETRY = "Geometry"
"""Name of the folder of meshes, beside the file or above it."""

METERS = ("", "Unassigned", "meters", "m")

ELSEWHERE = {
    "credits": "no mechanics",
    "publications": "no mechanics",
    "force_units": "units are those of SI",
    "ProbeSet": "probes compute quantities from a motion",
    "assembly_accuracy": "a scene has a tolerance of its own",
    "ModelVisualPreferences": "settings of pictures",
    "visualPreferences": "settings of pictures",
    "defaults": "defaults of other classes than components",
    "AnalysisSet": "analyses of a motion",
    "MiscModelOptions": "settings of the user interface",
}
"""Parts of a model that do not describe its mechanics, and why they are dropped."""

POINTS = ("Marker", "Station")
"""Points of bodies."""

COMPONENTS = {
    "IMU": "a sensor; `sensors` of a scene have its signals",
    "StationDefinedFrame": "a frame by four points",
}
"""Components that are dropped, and why."""

OF_BODIES = {
    "frames": "frames without a body of their own",
    "Appearance": "pictures have colors of their own",
}


def read(root: Element, reading: Reading) -> Draft:
    """Read a model, or the loads on a model."""
    loads = reading.child(root, "ExternalLoads")
    if loads is not None:
        return read_loads(root, loads, reading)
    draft = Draft(reading.path, reading.ledger, reading.problems)
    version = root.attributes.get("Version", "")
    if not version.isdigit() or int(version) < FIRST_VERSION:
        root = _upgraded(root, reading)
    reading.ledger.keep(root, "Version")
    top = reading.child(root, "Model")
    if top is None:
        reading.problems.stop(root.mark, (), "expected a <Model> or <ExternalLoads>")
    model = Osim(root, top, reading, draft)
    reading.ledger.keep(top, "name")
    for one in root.children:
        if one.tag == "defaults":
            _keep_all(reading, one)
    model.drop(top, ELSEWHERE)
    units = model.text(top, "length_units")
    if units not in METERS:
        reading.refuse(top, f"lengths are in `{units}`; meters are read")
    for body in _in_set(model, top, "Ground", "BodySet"):
        _read_body(model, body)
    for joint in _in_set(model, top, "", "JointSet"):
        read_joint(model, joint)
    for constraint in _in_set(model, top, "", "ConstraintSet"):
        read_constraint(model, constraint)
    for geometry in _in_set(model, top, "", "ContactGeometrySet"):
        read_geometry(model, geometry)
    for controller in _in_set(model, top, "", "ControllerSet"):
        read_controller(model, controller)
    for force in _in_set(model, top, "", "ForceSet"):
        read_force(model, force)
    for marker in _in_set(model, top, "", "MarkerSet"):
        _read_marker(model, marker)
    for component in _in_set(model, top, "components", "ComponentSet"):
        _read_component(model, component)
    set_contacts(model, top)
    draft.set("gravity", top, list(model.numbers(top, "gravity", STANDARD_GRAVITY)))
    if "couplings" in draft.elements:  # the file may leave dependent coordinates at 0
        reading.ledger.note(top.mark, "coordinates that depend on others start where these place them")
        draft.set_step(top, 0.001, assembly_tolerance=ANY_DISTANCE)
    else:
        draft.set_step(top, 0.001)
    return draft


def _upgraded(root: Element, reading: Reading) -> Element:
    """Return the root of the file in the form of OpenSim 4."""
    try:
        content = upgraded(reading.path)
    except UpgradeError as error:
        reading.problems.stop(root.mark, (), str(error))
    found = parse(content, f"{reading.path} (upgraded)", reading.usage).root
    reading.ledger.replace_source(root, found)
    reading.ledger.note(
        root.mark, "a file before OpenSim 4, which OpenSim upgraded; it writes lists of numbers with 6 digits"
    )
    return found


def _in_set(model: Osim, top: Element, direct: str, set_: str) -> list[Element]:
    """Return the components of a set, and those outside of sets that have the tag `direct`."""
    found = model.reading.children(top, direct) if direct else []
    if direct == "components":
        found = [one for holder in found for one in holder.children]
    return [*found, *model.objects(top, set_)]


def _keep_all(reading: Reading, element: Element) -> None:
    """Claim an element that sets the defaults of other elements."""
    for one in element.walk():
        reading.ledger.keep(one, *one.attributes, TEXT)


# --- bodies -----------------------------------------------------------------------------------------------------------
def _read_body(model: Osim, element: Element) -> None:
    reading = model.reading
    reading.ledger.keep(element, "name")
    name = model.body_name(element)
    if element.tag == "Ground":
        body = model.draft.world
    elif element.tag == "Body":
        body = model.draft.add_body(name, element)
        mass = model.number(element, "mass", 0.0)
        center = np.array(model.numbers(element, "mass_center", (0.0, 0.0, 0.0)))
        xx, yy, zz, xy, xz, yz = model.numbers(element, "inertia", (0.0,) * 6)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        give_inertia(body, mass, inertia, FramePose(center, np.eye(3)))
    else:
        reading.ledger.drop(element, "bodies of this type are not read")
        return
    for holder in reading.children(element, "components"):
        for one in holder.children:
            _read_component(model, one)
    for holder in reading.children(element, "attached_geometry"):
        for solid in holder.children:
            _read_shape(model, body, solid)
    for surface in model.objects(element, "WrapObjectSet"):
        read_surface(model, surface, name)
    model.drop(element, OF_BODIES)


def _read_component(model: Osim, element: Element) -> None:
    if element.tag == OFFSET:
        claim_frame(model, element)
    elif element.tag in POINTS:
        _read_marker(model, element)
    elif element.tag in BODIES:
        _read_body(model, element)
    elif element.tag.endswith("Joint"):
        read_joint(model, element)
    elif element.tag.endswith("Constraint"):
        read_constraint(model, element)
    elif element.tag.endswith(("Force", "Actuator", "Spring", "Muscle")):
        read_force(model, element)
    else:
        model.reading.ledger.drop(element, COMPONENTS.get(element.tag, "components of this type are not read"))


def _read_marker(model: Osim, element: Element) -> None:
    reading = model.reading
    reading.ledger.keep(element, "name")
    model.drop(element, {"fixed": "a choice of the tool that scales models"})
    name, pose = model.frame(element, "socket_parent_frame")
    inner = FramePose(np.array(model.numbers(element, "location", (0.0, 0.0, 0.0))), np.eye(3))
    point = Point(FramePose(pose.at(inner).position, np.eye(3)), Origin(element.mark))
    if name:
        model.draft.body(name).points[reading.text(element, "name")] = point


# --- shapes in pictures -----------------------------------------------------------------------------------------------
def _read_shape(model: Osim, body: Body, element: Element) -> None:
    reading = model.reading
    reader = SHAPES.get(element.tag)
    if reader is None:
        reading.ledger.drop(element, "shapes of this type are not read")
        return
    reading.ledger.keep(element)
    if "name" in element.attributes:
        reading.ledger.drop(element, "shapes have no names", attribute="name")
    for one in element.all("socket_frame"):
        reading.ledger.keep(one, TEXT)
    scale = np.array(model.numbers(element, "scale_factors", (1.0, 1.0, 1.0)))
    color = _color(model, element)
    shape = Shape({"contact": False} | color, Origin(element.mark), IDENTITY)
    found = reader(model, element, scale, shape)
    if found is not None:
        shape.fields = found | shape.fields
        body.shapes.append(shape)


def _color(model: Osim, element: Element) -> dict[str, Any]:
    reading = model.reading
    appearance = reading.child(element, "Appearance")
    if appearance is None:
        return {}
    reading.ledger.keep(appearance, "name")
    model.drop(appearance, dict.fromkeys(("SurfaceProperties", "opacity", "visible", "representation"), "opaque"))
    color = model.numbers(appearance, "color", (1.0, 1.0, 1.0))
    return {} if color == (1.0, 1.0, 1.0) else {"color": [min(max(part, 0.0), 1.0) for part in color]}


def _mesh(model: Osim, element: Element, scale: Any, shape: Shape) -> dict[str, Any] | None:
    file = model.text(element, "mesh_file")
    shape.mesh = find_mesh(model.reading, element, file, f"package://{GEOMETRY}/{file}")
    if shape.mesh is None:
        return None
    return {"type": "mesh"} | scale_of(*scale.tolist())


def _brick(model: Osim, element: Element, scale: Any, _shape: Shape) -> dict[str, Any]:
    half = np.array(model.numbers(element, "half_lengths", (0.5, 0.5, 0.5)))
    return {"type": "box", "size": (2.0 * half * scale).tolist()}


def _sphere(model: Osim, element: Element, scale: Any, _shape: Shape) -> dict[str, Any]:
    radii = model.number(element, "radius", 1.0) * scale
    if radii[0] == radii[1] == radii[2]:
        return {"type": "sphere", "radius": float(radii[0])}
    return {"type": "ellipsoid", "radii": radii.tolist()}


def _ellipsoid(model: Osim, element: Element, scale: Any, _shape: Shape) -> dict[str, Any]:
    return {"type": "ellipsoid", "radii": (np.array(model.numbers(element, "radii", (1.0, 1.0, 1.0))) * scale).tolist()}


def _cylinder(model: Osim, element: Element, scale: Any, shape: Shape) -> dict[str, Any] | None:
    """Read a cylinder, whose axis is y."""
    radius, half = model.number(element, "radius", 1.0), model.number(element, "half_height", 1.0)
    if scale[0] != scale[2]:
        model.reading.ledger.drop(element, "a cylinder whose base is no circle")
        return None
    shape.pose = FramePose.of_euler((0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0))
    return {"type": "cylinder", "radius": float(radius * scale[0]), "length": float(2.0 * half * scale[1])}


SHAPES = {"Mesh": _mesh, "Brick": _brick, "Sphere": _sphere, "Ellipsoid": _ellipsoid, "Cylinder": _cylinder}
"""Readers of shapes."""

FORMAT = Format(title="OpenSim", roots=("OpenSimDocument",), read=read)
