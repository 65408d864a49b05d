"""Values of SDF: those in the texts of elements, poses, and the elements that do not describe the mechanics."""

from __future__ import annotations

import math

from multibody_cli.errors import nearest
from multibody_cli.foreign.frames import IDENTITY, FramePose
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading

LATEST = (1, 12)
"""Version of SDF of a file that states none."""

ELSEWHERE = {
    **dict.fromkeys(("plugin", "gui", "audio_sink", "audio_source"), "settings of Gazebo"),
    **dict.fromkeys(
        ("sensor", "light", "projector", "scene", "particle_emitter", "lens_flare"), "pictures and sensors"
    ),
    **dict.fromkeys(("actor", "state", "road", "population"), "no model of a mechanism"),
    **dict.fromkeys(("wind", "atmosphere", "magnetic_field", "spherical_coordinates"), "an environment of sensors"),
    **dict.fromkeys(("enable_wind", "velocity_decay", "battery", "gripper"), "a model of Gazebo"),
    **dict.fromkeys(("allow_auto_disable", "must_be_base_link", "max_contacts"), "settings of Gazebo"),
    **dict.fromkeys(
        ("laser_retro", "transparency", "cast_shadows", "visibility_flags", "meta"), "pictures and sensors"
    ),
    **dict.fromkeys(("script", "shader", "pbr", "texture", "lighting", "specular", "emissive"), "shapes have a color"),
    **dict.fromkeys(("shininess", "render_order", "double_sided"), "shapes have a color"),
    **dict.fromkeys(("fluid_added_mass",), "bodies have no added mass"),
    **dict.fromkeys(("drake:deformable_properties",), "links are rigid"),
    **dict.fromkeys(("real_time_factor", "real_time_update_rate"), "a run is as fast as it can be"),
    **dict.fromkeys(("provide_feedback", "physics_engine", "implicit_spring_damper"), "settings of an engine"),
}
"""Elements that do not describe the mechanics, and why they are dropped."""


EXTENSIONS = (
    *("drake:joint", "drake:parent", "drake:child", "drake:damping"),
    *("drake:rotor_inertia", "drake:gear_ratio", "drake:mimic", "drake:capsule", "drake:ellipsoid"),
)
"""Extensions of SDF that are read."""


def read_pose(reading: Reading, element: Element) -> tuple[FramePose, str]:
    """Return the `<pose>` of an element, and the name of the frame that it is relative to; empty for the default."""
    pose = reading.child(element, "pose")
    if pose is None:
        return IDENTITY, ""
    base = reading.text(pose, "relative_to", "") or reading.text(pose, "frame", "")
    form = reading.text(pose, "rotation_format", "euler_rpy")
    unit = math.pi / 180 if reading.text(pose, "degrees", "false") in ("true", "1") else 1.0
    if not pose.text.strip():
        return IDENTITY, base
    if form == "quat_xyzw":
        *position, x, y, z, w = reading.numbers(pose, TEXT, 7, (0.0,) * 6 + (1.0,))
        if x == y == z == w == 0.0:
            reading.refuse(pose, "expected a quaternion other than 0")
            return IDENTITY, base
        length = math.hypot(w, x, y, z)
        return FramePose.of_quaternion(position, [part / length for part in (w, x, y, z)]), base
    if form != "euler_rpy":
        reading.refuse(pose, f"unknown rotation_format `{form}`; {nearest(form, ['euler_rpy', 'quat_xyzw'])}")
        return IDENTITY, base
    values = reading.numbers(pose, TEXT, 6)
    return FramePose.of_euler(values[:3], [unit * angle for angle in values[3:]]), base


def text_of(reading: Reading, parent: Element, tag: str, default: str = "") -> str:
    """Return the text of a child; the default if there is none."""
    element = reading.child(parent, tag)
    return default if element is None else reading.text(element, TEXT) or default


def flag_of(reading: Reading, parent: Element, tag: str) -> bool:
    """Return whether a child is true; without it, false."""
    text = text_of(reading, parent, tag, "false")
    if text not in ("true", "1", "false", "0"):
        reading.refuse(parent, f"<{tag}>: expected true or false, found `{text}`")
    return text in ("true", "1")


def number_of(reading: Reading, parent: Element, tag: str, default: float) -> float:
    """Return the number of a child; the default if there is none."""
    element = reading.child(parent, tag)
    return default if element is None or not element.text.strip() else reading.number(element, TEXT)


def vector_of(reading: Reading, parent: Element, tag: str, default: tuple[float, ...] = (1.0, 1.0, 1.0)) -> list[float]:
    """Return the three numbers of a child; the default if there is none."""
    element = reading.child(parent, tag)
    return list(default if element is None else reading.numbers(element, TEXT, 3, default))


def version_of(text: str) -> tuple[int, ...]:
    """Return the parts of a version, as (1, 7); the latest if there is none."""
    return tuple(int(part) for part in text.split(".") if part.isdecimal()) or LATEST


def claim_root(root: Element, reading: Reading) -> None:
    """Claim the root of a file."""
    reading.ledger.keep(root, "version")
    for element in root.walk():
        if element.tag in ELSEWHERE:
            reading.ledger.drop(element, ELSEWHERE[element.tag])
        elif ":" in element.tag and element.tag not in EXTENSIONS:
            reading.ledger.drop(element, f"an extension of SDF, `{element.tag.partition(':')[0]}`")
