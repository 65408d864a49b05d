"""Checks of references to coordinates: those of couplings, constraints and forces exist and have the required kind."""

from __future__ import annotations

from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.errors import QuantityError, nearest
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.nodes import NodePath
from multibody_cli.scene.checks.partial_scene import PartialScene, own_entries
from multibody_cli.scene.schema import between_bodies
from multibody_cli.scene.topology import is_prescribed
from multibody_cli.scene.turning import turning_coordinate
from multibody_cli.spec.combination import CombinationSpec
from multibody_cli.spec.entries import EntrySpec, split_coordinate
from multibody_cli.spec.path import MovingPoint, PathPoint, PathSpec, moving_coordinates

_SECTIONS = ("couplings", "constraints")


def check_constraints(partial: PartialScene) -> None:
    """Check all couplings and constraints, and the coordinates of forces."""
    for section in _SECTIONS:
        for name, spec in getattr(partial.scene, section).items():
            _check_bodies(partial, (section, name), spec)
            _check_points(partial, (section, name), spec)
            _check_coordinates(partial, (section, name), spec)
            _check_turning(partial, (section, name), spec)
            _check_active(partial, (section, name), spec)
    for name, spring in partial.scene.springs.items():
        _check_turning(partial, ("springs", name), spring)
    for name, combination in partial.scene.combinations.items():
        _check_coordinates(partial, ("combinations", name), combination)
        if combination.friction:
            _check_brake(partial, ("combinations", name), combination)
    for name, one in partial.scene.paths.items():
        if one.friction:
            _check_brake_of_path(partial, ("paths", name, "friction"), [end.body for _, end in one.points])
    for section, entries in between_bodies(partial.scene):
        for name, entry in own_entries(partial, section, entries):
            _check_points(partial, (section, name), entry)
    for name, force in partial.scene.forces.items():
        for place, word in force.coordinates:
            find_coordinate(partial, ("forces", name, *place), word)


def _check_bodies(partial: PartialScene, path: NodePath, spec: ConstraintSpec) -> None:
    for place, body in spec.bodies:
        if partial.require_body(body, (*path, *place)) and body == WORLD and not spec.RELATIVE:
            partial.report((*path, *place), "the world is fixed: name a body")
    fixed = not moving_coordinates([end for _, end in spec.points])
    if spec.RELATIVE and fixed and len({body for _, body in spec.bodies}) == 1:
        place, body = spec.bodies[-1]
        partial.report((*path, *place), f"both are fixed in `{body}`: name two different bodies")


def _check_active(partial: PartialScene, path: NodePath, spec: ConstraintSpec) -> None:
    """Refuse `active: false` of constraints that are more than their rows."""
    if spec.active:
        return
    if isinstance(spec, CouplingSpec) and spec.reduce:
        partial.report(
            (*path, "active"), "a coupling with `reduce: true` is a change of coordinates, which always acts"
        )
    elif getattr(spec, "has_friction", False):
        partial.report((*path, "active"), "a rope or belt with `friction` always acts: omit one of both keys")


def _check_turning(partial: PartialScene, path: NodePath, spec: EntrySpec) -> None:
    if partial.names("joints") != partial.scene.joints.keys():
        return  # one of them is invalid, and reported
    for place, body, axis in spec.turning:
        valid = body == WORLD or body in partial.scene.bodies
        if valid and turning_coordinate(partial.scene.joints, body, axis) is None:
            partial.report(
                (*path, *place, "axis"),
                f"no coordinate counts the turns of `{body}` about this axis: make it the child of a joint whose last "
                "coordinate is a rotation about it, such as a revolute joint, or let the rope slide: `slides: true`",
            )


def _check_coordinates(partial: PartialScene, path: NodePath, spec: EntrySpec) -> None:
    found: dict[tuple[str, int], str] = {}
    for place, word in spec.coordinates:
        coordinate = find_coordinate(partial, (*path, *place), word)
        if coordinate is None:
            continue
        joint, k = coordinate
        if coordinate in found:
            partial.report((*path, *place), f"`{word}` is named twice")
        found[coordinate] = partial.scene.joints[joint].coordinates[k]
    if not found or len(found) < len(spec.coordinates) or not isinstance(spec, ConstraintSpec):
        return
    kinds = list(found.values())
    if kind_error := spec.kind_error(kinds):
        partial.report(path, kind_error)
    elif expected := spec.quantity(kinds):
        field, quantity = expected
        try:
            quantity.read(partial.data[str(path[0])][path[1]].get(field, 0.0))
        except QuantityError as error:
            partial.report((*path, field), str(error))


def _check_brake(partial: PartialScene, path: NodePath, spec: CombinationSpec) -> None:
    """Friction acts on coordinates that are free to move, as that of joints does."""
    for word, coefficient in spec.terms.items():
        joint = partial.scene.joints.get(split_coordinate(word)[0])
        if coefficient and joint is not None and any(joint.driven):
            message = f"`friction` is not supported with the prescribed `motion` of `{word}`: set its coefficient to 0"
            partial.report((*path, "friction"), message)


def _check_points(partial: PartialScene, path: NodePath, spec: EntrySpec) -> None:
    """Points of paths that depend on a coordinate."""
    for place, end in spec.points:
        if not isinstance(end, MovingPoint) or end.coordinate is None:
            continue
        at = (*path, *place)
        if not isinstance(spec, ConstraintSpec):  # whose coordinates are checked with those of all
            find_coordinate(partial, (*at, "coordinate"), end.coordinate)
        body = partial.scene.bodies.get(end.body)
        if body is not None and body.kind in ("affine", "point") and end.moving is not None:
            partial.report((*at, "moving"), f"points do not move in a body of kind `{body.kind}`: use a rigid body")
        if isinstance(spec, PathSpec) and spec.friction and isinstance(end, PathPoint) and end.range is not None:
            message = (
                "`friction` is not supported with the `range` of a point, where the length may jump: omit one of both"
            )
            partial.report((*path, "friction"), message)
        if isinstance(spec, ConstraintSpec) and isinstance(end, PathPoint) and end.range is not None:
            partial.report((*at, "range"), "the length of a constraint does not jump: use a stiff spring")


def _check_brake_of_path(partial: PartialScene, path: NodePath, bodies: list[str]) -> None:
    """Friction that changes no motion would be a load of the drives alone, which rows do not determine."""
    known = partial.names("joints") == partial.scene.joints.keys() and {WORLD, *partial.scene.bodies}.issuperset(bodies)
    if known and is_prescribed(partial.scene, bodies):
        partial.report(path, "has no effect on points that move by a prescribed `motion` alone, or not at all: omit it")


def find_coordinate(partial: PartialScene, path: NodePath, word: str) -> tuple[str, int] | None:
    """Return the joint and the index of a coordinate; None after reporting a problem, or for an invalid joint."""
    name, index = split_coordinate(word)
    if name not in partial.names("joints"):
        partial.report(path, f"unknown joint `{name}`; {nearest(name, partial.names('joints'))}")
        return None
    joint = partial.scene.joints.get(name)
    if joint is None:
        return None
    words = _words(name, joint)
    if word in words:
        return name, words[word]
    if not joint.coordinates:
        partial.report(path, f"`{name}` is a fixed joint without coordinates")
    elif not words:
        partial.report(
            path,
            f"the rotation of `{name}` has no scalar coordinates; use an `angle` or `direction` of axes of bodies in "
            "a constraint by `expression`, Euler angles, as in `parametrization: euler_xzx`, or a `universal` or "
            "`composite` joint",
        )
    else:
        choice = ", ".join(f"`{one}`" for one in words)
        said = f"has no scalar coordinate `{index}`" if index else f"has {len(joint.coordinates)} coordinates"
        partial.report(path, f"`{name}` {said}: expected {'one of ' if len(words) > 1 else ''}{choice}")
    return None


def _words(name: str, joint: JointSpec) -> dict[str, int]:
    """Return the names of the coordinates of a joint, with their indices."""
    if len(joint.coordinates) == 1:
        return {name: 0, f"{name}/0": 0}
    return {f"{name}/{k}": k for k, plain in enumerate(joint.plain) if plain}
