"""Checks of expressions of the state: the joints, bodies and components that they refer to exist."""

from __future__ import annotations

from multibody_cli.errors import nearest
from multibody_cli.expressions import Reference
from multibody_cli.joints.spec import WORLD, MovingJointSpec
from multibody_cli.scene.checks.partial_scene import PartialScene
from multibody_cli.scene.tables import signals_of

_LETTERS = ("x", "y", "z")
_OF_JOINTS = ("q", "v")
_OF_BODIES = ("position", "linear_velocity", "angular_velocity")
_OF_COMBINATIONS = ("value", "rate")
_OF_PATHS = ("length", "rate")
_SECTIONS = ("joints", "bodies", "paths")
_CALLED = {"inputs": ("input", "an input, `inputs.NAME`"), "functions": ("function", "a function, `functions.NAME(x)`")}


def check_references(partial: PartialScene) -> None:
    """Check the references of all expressions of forces, muscles and actuators."""
    for path, signal in signals_of(partial.scene, ()):
        if signal.expression is None:
            continue
        own = partial.scene.joints.get(str(path[1])) if path[0] == "joints" else None
        place = int(path[3]) if own is not None and signal.uses_state and len(path) > 3 else 0
        written = path[:3] if own is not None and len(own.coordinates) == 1 else path
        for name in sorted(signal.expression.names & {"q"}):
            if isinstance(own, MovingJointSpec) and not own.plain[place]:
                partial.report(written, _no_number(name))
        for reference in signal.expression.references.values():
            problem = _problem(partial, reference, own)
            if problem:
                partial.report(written, f"`{reference}`: {problem}")


def _no_number(name: str) -> str:
    return (
        f"`{name}` is not a number here: the coordinates of this rotation are held as a quaternion; use rates, or the "
        "position of a point of a body"
    )


def _problem(partial: PartialScene, reference: Reference, own: object) -> str:
    """Return the problem of a reference; empty if it has none."""
    section, *rest = reference.path
    if section == "combinations" and len(rest) == 2:
        return _problem_of_combination(partial, rest[0], rest[1], reference)
    if section in _CALLED:
        return _problem_of_input(partial, section, reference)
    if section == "points" and len(rest) == 3:
        return _problem_of_point(partial, rest[0], rest[1], rest[2], reference)
    if section in _OF_JOINTS and not rest and isinstance(own, MovingJointSpec):
        return _problem_of_coordinate(section, reference, own)
    if section not in _SECTIONS or len(rest) != 2:
        return (
            "expected a quantity of the state: `joints.NAME.q`, `joints.NAME.v`, `paths.NAME.length`, "
            "`paths.NAME.rate`, or `position`, `linear_velocity` or `angular_velocity` of `bodies.NAME` or of "
            "`points.BODY.NAME`"
        )
    name, quantity = rest
    if section == "joints":
        if name not in partial.names("joints"):
            return f"unknown joint `{name}`; {nearest(name, partial.names('joints'))}"
        joint = partial.scene.joints.get(name)
        if joint is None:  # invalid, and reported
            return ""
        if quantity not in _OF_JOINTS:
            return f"unknown quantity `{quantity}` of a joint; {nearest(quantity, _OF_JOINTS)}"
        if not isinstance(joint, MovingJointSpec):
            return f"joint `{name}` has no coordinates"
        return _problem_of_coordinate(quantity, reference, joint)
    return (_problem_of_path if section == "paths" else _problem_of_body)(partial, name, quantity, reference)


def _problem_of_coordinate(quantity: str, reference: Reference, joint: MovingJointSpec) -> str:
    count, component = len(joint.coordinates), reference.component
    if reference.point is not None:
        return "only bodies have points"
    if isinstance(component, str) or (component is None and count > 1) or (component or 0) not in range(count):
        return f"expected a component, `[0]` to `[{count - 1}]`" if count > 1 else "expected no component, or `[0]`"
    return _no_number(str(reference)) if quantity == "q" and not joint.plain[component or 0] else ""


def _problem_of_combination(partial: PartialScene, name: str, quantity: str, reference: Reference) -> str:
    known = partial.names("combinations")
    if name not in known:
        return f"unknown combination `{name}`; {nearest(name, known)}"
    if quantity not in _OF_COMBINATIONS:
        return f"unknown quantity `{quantity}` of a combination; {nearest(quantity, _OF_COMBINATIONS)}"
    return "a combination has no components or points" if (reference.component, reference.point) != (None, None) else ""


def _problem_of_point(partial: PartialScene, body: str, name: str, quantity: str, reference: Reference) -> str:
    if reference.point is not None:
        return "only bodies have points"
    points = partial.points.get(body)
    if points is not None and name not in points:
        return f"`{body}` has no point `{name}`; {nearest(name, points)}"
    return _problem_of_body(partial, body, quantity, reference)


def _problem_of_input(partial: PartialScene, section: str, reference: Reference) -> str:
    _, *rest = reference.path
    noun, written = _CALLED[section]
    if len(rest) != 1 or reference.component is not None or reference.point is not None:
        return f"expected {written}"
    names = partial.names(section)
    return "" if rest[0] in names else f"unknown {noun} `{rest[0]}`; {nearest(rest[0], names)}"


def _problem_of_path(partial: PartialScene, name: str, quantity: str, reference: Reference) -> str:
    if name not in partial.names("paths"):
        return f"unknown path `{name}`; {nearest(name, partial.names('paths'))}"
    if quantity not in _OF_PATHS:
        return f"unknown quantity `{quantity}` of a path; {nearest(quantity, _OF_PATHS)}"
    return "a path has no points or components here" if reference.point or reference.component is not None else ""


def _problem_of_body(partial: PartialScene, name: str, quantity: str, reference: Reference) -> str:
    if name == WORLD:
        return "the world does not move"
    if name not in partial.bodies:
        return f"unknown body `{name}`; {nearest(name, partial.bodies)}"
    if quantity not in _OF_BODIES:
        return f"unknown quantity `{quantity}` of a body; {nearest(quantity, _OF_BODIES)}"
    body = partial.scene.bodies.get(name)
    if body is not None and body.kind == "affine":
        return "affine bodies have no rigid motion: refer to a rigid body"
    if body is not None and body.kind == "point" and quantity == "angular_velocity":
        return "a point body has no angular velocity"
    if body is not None and body.kind == "point" and reference.point is not None:
        return "a point body has no other points"
    if quantity == "angular_velocity" and reference.point is not None:
        return "all points of a body have the same angular velocity: leave the point out"
    if reference.component not in (*_LETTERS, 0, 1, 2):
        return "expected a component: `.x`, `.y`, `.z`, or `[0]` to `[2]`"
    return ""
