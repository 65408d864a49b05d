"""MJCF, the format of MuJoCo: numbers of the compiled model, names, order and places of the file.

Joints of a body act in their order, each about its own anchor, so that several are the parts of one composite joint.
The coordinate of a scene is zero in the initial pose of the file: q of MuJoCo minus `ref`.

The conversion of contacts is in `mjcf_contacts.py`, that of tendons, equalities and actuators in
`mjcf_transmissions.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.foreign import mjcf_fates
from multibody_cli.foreign.contract import Format
from multibody_cli.foreign.draft import Body, Draft, Joint, Origin, Point, Shape
from multibody_cli.foreign.frames import IDENTITY, FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.mjcf_compiler import CompilerError, compile_model
from multibody_cli.foreign.mjcf_contacts import contact_fields, has_contacts, read_contacts, usual_friction
from multibody_cli.foreign.mjcf_forces import read_body_forces
from multibody_cli.foreign.mjcf_model import (
    BALL,
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    FREE,
    HINGE,
    MESH,
    PLANE,
    SIZES,
    SLIDE,
    SPHERE,
    TYPES,
    UNTURNED,
    MjcfModel,
    pose_entry,
    pose_of,
    reference_of,
    source_of,
)
from multibody_cli.foreign.mjcf_polynomials import read_polynomials
from multibody_cli.foreign.mjcf_states import read_states
from multibody_cli.foreign.mjcf_transmissions import (
    read_actuators,
    read_equalities,
    read_tendons,
)
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.renaming import unused
from multibody_cli.foreign.rounding import direction
from multibody_cli.mass import MassProperties

SOLIDS = (SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX)
"""Those whose volume and inertia have closed forms."""


EQUAL_INERTIAS = 1e-13
"""Largest difference of an inertia of the file and its principal form, relative to the largest moment."""

ROUND_OFF = 1e-6
"""Error of an equality, m or rad, that is that of the numbers of a file."""


# --- reading ----------------------------------------------------------------------------------------------------------
def read(root: Element, reading: Reading) -> Draft:
    """Read a model."""
    _include(root, reading, (reading.path.absolute(),))
    mjcf_fates.claim(root, reading.ledger)
    try:
        arrays = compile_model(reading.path)
    except CompilerError as error:
        reading.problems.stop(root.mark, (), str(error))
    model = MjcfModel(root, reading, arrays)
    model.friction = usual_friction(arrays)
    _read_geoms(model, 0, model.draft.world)
    for body in range(1, len(arrays.body_parentid)):
        _read_body(model, body)
    read_equalities(model)
    read_contacts(model)
    read_body_forces(model)
    read_tendons(model)
    read_actuators(model)
    read_polynomials(model)
    read_states(model)
    _read_options(model)
    return model.draft


def _include(element: Element, reading: Reading, above: tuple[Path, ...]) -> None:
    """Put the elements of included files into the tree, below their `<include>`."""
    for child in element.children:
        if child.tag == "include" and "file" in child.attributes:
            name = child.attributes["file"]
            places = [folder / name for folder in (reading.path.parent, above[-1].parent)]  # in the order of MuJoCo
            path = next((place for place in places if place.is_file()), places[0])
            if path.absolute() in above:
                reading.problems.stop(child.mark, (), f"`{path}` includes itself")
            inner = reading.parse(path, child)
            child.children = inner.children
            _include(child, reading, (*above, path.absolute()))
        else:
            _include(child, reading, above)


def _read_options(model: MjcfModel) -> None:
    option = model.arrays.option
    gravity = [0.0, 0.0, 0.0] if model.is_disabled("gravity") else option["gravity"]
    model.draft.set("gravity", model.bodies[0], gravity)
    simulation: dict[str, Any] = {}
    arrays, actuators = model.arrays, model.draft.elements.get("actuators", {}).values()
    has_servos = any(entry.value["type"] in ("position", "velocity") for entry in actuators)
    names = ("dof_damping", "tendon_damping", "dof_dampingpoly", "tendon_dampingpoly")
    has_dampers = any(np.any(getattr(arrays, name, 0.0)) for name in names)
    if has_servos or (has_dampers and not model.is_disabled("damper")):  # dampers are implicit in MuJoCo, too
        simulation["integrator"] = "linearly_implicit_euler"
    if model.opening > ROUND_OFF:
        element = model.element("eq", 0, "equality") if len(model.arrays.eq_type) else model.bodies[0]
        subject = "equalities and ranges of ropes"
        text = f"{subject} have errors up to {model.opening:.3g} m or rad at the start, which assembly removes"
        model.reading.ledger.note(element.mark, text)
        simulation["assembly_tolerance"] = float(f"{2.0 * model.opening:.1g}")
    model.draft.set_step(model.bodies[0], option["timestep"], **simulation)


# --- bodies and joints ------------------------------------------------------------------------------------------------
def _read_body(model: MjcfModel, index: int) -> None:
    arrays = model.arrays
    element = model.bodies[index]
    body = model.draft.add_body(model.names[index], element)
    mass = float(arrays.body_mass[index])
    if mass or arrays.body_inertia[index].any():
        _read_mass(body, mass, arrays, index, next(iter(element.all("inertial")), element))
    _read_geoms(model, index, body)
    body.is_solid = _is_solid(arrays, index)
    _read_sites(model, index, body)
    placed = pose_of(arrays.body_pos[index], arrays.body_quat[index], element)
    parent = model.names[arrays.body_parentid[index]]
    first, count = int(arrays.body_jntadr[index]), int(arrays.body_jntnum[index])
    joints = range(first, first + count)
    type_ = "fixed" if not count else TYPES[int(arrays.jnt_type[first])] if count == 1 else "composite"
    fields = _joint_fields(model, joints) | _friction_fields(model, type_, joints)
    if type_ == "free" and not fields.keys() - {"q"}:
        body.pose, body.is_free = placed, True
        model.place(first, body.name)
        return
    if arrays.body_mocapid[index] >= 0:
        model.reading.ledger.approximate(
            element, "fixed at its initial pose: a joint with `motion` moves a body", attribute="mocap"
        )
    elements = model.of_body(index, count, "joint", "freejoint")
    names = [arrays.names["jnt"][joint] for joint in joints]
    name = (names[0] if count == 1 else "") or unused(body.name, arrays.names["jnt"])
    joint = model.draft.add_joint(name, elements[0] if count == 1 else element, type_, parent, body.name)
    joint.pose = placed
    if count == 1:
        anchor = FramePose(arrays.jnt_pos[first], np.eye(3))
        joint.pose, joint.child_pose = placed.at(anchor), anchor
        if arrays.jnt_type[first] == FREE:  # its coordinates are those of the world
            joint.pose = joint.child_pose = IDENTITY
        joint.fields |= _axis(arrays, first, elements[0])
        model.place(first, name)
    elif count:
        _read_parts(model, joint, joints, names, elements)
    joint.fields |= fields
    for one, place in zip(joints, elements, strict=True):
        _note_reference(model, one, place)


def _read_mass(body: Body, mass: float, arrays: Any, index: int, inertial: Element) -> None:
    """Read the mass properties of a body: the inertia of the file, or its principal moments, which MuJoCo computes."""
    pose = pose_of(arrays.body_ipos[index], arrays.body_iquat[index], inertial)
    moments = arrays.body_inertia[index]
    body.mass = MassProperties(mass, np.zeros(3), np.diag(moments)).moved(pose.position, pose.rotation)
    if full := source_of(inertial, "fullinertia"):
        xx, yy, zz, xy, xz, yz = full
        own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if np.abs(own - body.mass.inertia).max() <= EQUAL_INERTIAS * moments.max():
            body.mass = MassProperties(mass, pose.position, own)
            return
    if pose.turns and np.ptp(moments) > 0.0:
        body.inertia = {"principal": moments.tolist(), "rotation": dict(pose.rotation_data)}
    elif pose.turns:
        body.mass = MassProperties(mass, pose.position, np.diag(moments))


def _is_solid(arrays: Any, index: int) -> bool:
    """Whether the mass of a body follows from densities of shapes with closed forms."""
    densities = {int(geom): arrays.densities[geom] for geom in np.flatnonzero(arrays.geom_bodyid == index)}
    return any(densities.values()) and all(
        density is not None and (density == 0.0 or arrays.geom_type[geom] in SOLIDS)
        for geom, density in densities.items()
    )


def _axis(arrays: Any, joint: int, element: Element) -> dict[str, Any]:
    if arrays.jnt_type[joint] not in (SLIDE, HINGE):
        return {}
    return {"axis": direction(arrays.jnt_axis[joint].tolist(), source_of(element, "axis"))}


def _read_parts(model: MjcfModel, joint: Joint, joints: range, names: list[str], elements: list[Element]) -> None:
    arrays = model.arrays
    parts = []
    position = velocity = 0
    for one, element in zip(joints, elements, strict=True):
        anchor = {"position": arrays.jnt_pos[one].tolist()} if arrays.jnt_pos[one].any() else {}
        type_ = int(arrays.jnt_type[one])
        parts.append({"type": TYPES[type_]} | _axis(arrays, one, element) | anchor)
        model.place(one, joint.name, position, velocity)
        position, velocity = position + SIZES[type_][0], velocity + SIZES[type_][1]
    joint.fields["parts"] = parts
    joint.origin = Origin(joint.origin.mark, "parts: " + ", ".join(name or "unnamed" for name in names))


def _joint_fields(model: MjcfModel, joints: range) -> dict[str, Any]:
    """Return the fields of a joint of the scene that has the coordinates of several joints of the file."""
    arrays = model.arrays
    owners = [joint for joint in joints for _ in range(SIZES[int(arrays.jnt_type[joint])][1])]
    columns = (
        slice(int(arrays.jnt_dofadr[joints[0]]), int(arrays.jnt_dofadr[joints[0]]) + len(owners))
        if owners
        else slice(0)
    )
    found: dict[str, Any] = {}
    for key, values, flag in (
        ("stiffness", arrays.jnt_stiffness[owners], "spring"),
        ("damping", arrays.dof_damping[columns], "damper"),
        ("armature", arrays.dof_armature[columns], None),
    ):
        if values.any() and not (flag and model.is_disabled(flag)):
            found[key] = float(values[0]) if np.ptp(values) == 0.0 else values.tolist()
    for key, entries in (
        ("limits", [pair for joint in joints for pair in _limits(model, joint)]),
        ("q", [_start(model, joint) for joint in joints]),
        ("rest", [_rest(model, joint) for joint in joints] if "stiffness" in found else []),
    ):
        if any(entry not in (None, 0.0, UNTURNED) for entry in entries):
            found[key] = entries[0] if len(entries) == 1 else entries
    return found


def _friction_fields(model: MjcfModel, type_: str, joints: range) -> dict[str, Any]:
    """Return the dry friction of each degree of freedom, for any loads."""
    if not joints or model.is_disabled("frictionloss"):
        return {}
    owners = [one for one in joints for _ in range(SIZES[int(model.arrays.jnt_type[one])][1])]
    first = int(model.arrays.jnt_dofadr[joints[0]])
    losses = model.arrays.dof_frictionloss[first : first + len(owners)].tolist()
    words = {"prismatic": ("force",), "free": ("force", "torque"), "composite": ("brake",)}.get(type_, ("torque",))
    limit = losses[0] if len(set(losses)) == 1 else losses
    return {"friction": dict.fromkeys(words, limit)} if any(losses) else {}


def _limits(model: MjcfModel, joint: int) -> list[Any]:
    """Return the limits of each degree of freedom; None for none."""
    arrays = model.arrays
    type_ = int(arrays.jnt_type[joint])
    if not arrays.jnt_limited[joint] or model.is_disabled("limit") or type_ not in (HINGE, SLIDE):
        return [None] * SIZES[type_][1]
    reference = reference_of(model, joint)
    return [[value - reference for value in arrays.jnt_range[joint].tolist()]]


def _rest(model: MjcfModel, joint: int) -> Any:
    arrays = model.arrays
    address = int(arrays.jnt_qposadr[joint])
    if arrays.jnt_type[joint] in (HINGE, SLIDE):
        return float(arrays.qpos_spring[address]) - reference_of(model, joint)
    return UNTURNED if arrays.jnt_type[joint] == BALL else pose_entry(arrays.qpos_spring[address : address + 7])


def _start(model: MjcfModel, joint: int) -> Any:
    """Return the coordinate of a scene at the start: zero, or the nearest value within the limits."""
    if model.arrays.jnt_type[joint] == FREE:
        address = int(model.arrays.jnt_qposadr[joint])
        return pose_entry(model.arrays.qpos0[address : address + 7])
    if model.arrays.jnt_type[joint] == BALL:
        return UNTURNED
    limits = _limits(model, joint)[0]
    if limits is None:
        return 0.0
    lower, upper = (float(value) - reference_of(model, joint) for value in model.arrays.jnt_range[joint])
    start = min(max(0.0, lower), upper)
    if start == 0.0:
        return 0.0
    model.reading.ledger.note(
        model.bodies[model.arrays.jnt_bodyid[joint]].mark, f"starts at {start:g}: 0 is outside of its limits"
    )
    return limits[0] if start == lower else limits[1]


def _note_reference(model: MjcfModel, joint: int, element: Element) -> None:
    if model.arrays.jnt_type[joint] in (HINGE, SLIDE) and (reference := reference_of(model, joint)):
        effect = f"q of the scene is q of the file minus {reference:.6g}"
        model.reading.ledger.approximate(element, "coordinates are zero in the initial pose", effect, "ref")
    if model.arrays.jnt_limited[joint] and model.arrays.jnt_type[joint] == BALL:
        model.reading.ledger.drop(element, "the angle of a ball joint has no limit", attribute="range")


# --- shapes and points ------------------------------------------------------------------------------------------------
def _read_geoms(model: MjcfModel, index: int, body: Body) -> None:
    arrays = model.arrays
    geoms = np.flatnonzero(arrays.geom_bodyid == index)
    for geom, element in zip(geoms, model.of_body(index, len(geoms), "geom"), strict=True):
        shape = _shape(model, int(geom), element)
        if shape is not None:
            body.shapes.append(shape)


def _shape(model: MjcfModel, geom: int, element: Element) -> Shape | None:
    arrays = model.arrays
    type_ = int(arrays.geom_type[geom])
    a, b, c = arrays.geom_size[geom].tolist()
    pose = pose_of(arrays.geom_pos[geom], arrays.geom_quat[geom], element)
    mesh = None
    if type_ == PLANE:
        fields: dict[str, Any] = {"type": "plane"}
    elif type_ == SPHERE:
        fields = {"type": "sphere", "radius": a}
    elif type_ in (CAPSULE, CYLINDER):
        fields = {"type": "capsule" if type_ == CAPSULE else "cylinder", "radius": a, "length": 2 * b}
    elif type_ == ELLIPSOID:
        fields = {"type": "ellipsoid", "radii": [a, b, c]}
    elif type_ == BOX:
        fields = {"type": "box", "size": [2 * a, 2 * b, 2 * c]}
    elif type_ == MESH:
        mesh, fields, frame = _mesh(arrays, int(arrays.geom_dataid[geom]))
        pose = pose.at(frame.inverse) if frame is not IDENTITY else pose
    else:
        model.reading.ledger.drop(element, "height fields and distance fields are no shapes of a scene")
        return None
    if has_contacts(model):
        fields |= contact_fields(model, geom)
        if mesh is not None and fields.get("contact", True):  # MuJoCo, too, has contacts of the hull
            fields["decompose" if model.reading.options.decompose else "hull"] = True
    color = arrays.mat_rgba[arrays.geom_matid[geom]] if arrays.geom_matid[geom] >= 0 else arrays.geom_rgba[geom]
    if element.attributes.keys() & {"rgba", "material"} or arrays.geom_matid[geom] >= 0:
        fields["color"] = [round(float(part), 6) for part in color[:3]]
    material = arrays.names["mat"][arrays.geom_matid[geom]] if arrays.geom_matid[geom] >= 0 else ""
    return Shape(fields, Origin(element.mark), pose, mesh, density=arrays.densities[geom] or 0.0, color=material)


def _mesh(arrays: Any, mesh: int) -> tuple[Path | None, dict[str, Any], FramePose]:
    """Return the file and the fields of a mesh, and the pose of MuJoCo's frame of the mesh in that of the file.

    MuJoCo scales the vertices in the frame of `refpos` and `refquat`; a scene scales those of the file, so that a mesh
    which is turned and scaled unevenly has its vertices in the scene.
    """
    scale = arrays.mesh_scale[mesh].tolist()
    even = scale[0] == scale[1] == scale[2]
    position, quaternion = (np.array(part) for part in arrays.mesh_references[mesh])
    reference = pose_of(scale * position, quaternion)
    if (file := arrays.mesh_files[mesh]) and (even or not reference.turns):
        scaled = {} if scale == [1.0, 1.0, 1.0] else {"scale": scale[0] if even and scale[0] > 0.0 else scale}
        inner = pose_of(arrays.mesh_pos[mesh], arrays.mesh_quat[mesh])
        return Path(file), {"type": "mesh"} | scaled, reference.at(inner)
    first, count = int(arrays.mesh_vertadr[mesh]), int(arrays.mesh_vertnum[mesh])
    vertices = arrays.mesh_vert[first : first + count].astype(float)
    return None, {"type": "mesh", "vertices": vertices.tolist()}, IDENTITY


def _read_sites(model: MjcfModel, index: int, body: Body) -> None:
    arrays = model.arrays
    sites = np.flatnonzero(arrays.site_bodyid == index)
    for site, element in zip(sites, model.of_body(index, len(sites), "site"), strict=True):
        if name := arrays.names["site"][site]:
            body.points[name] = Point(
                pose_of(arrays.site_pos[site], arrays.site_quat[site], element), Origin(element.mark)
            )


FORMAT = Format("MJCF", ("mujoco",), read)
