"""Kinds of bodies: nothing turns a body that has no orientation, or acts on a point beside a point."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.document.nodes import Path
from multibody_cli.forces.spec import DragSpec, LoadSpec
from multibody_cli.joints.spec import JointSpec
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.checks.draft import Draft, written
from multibody_cli.scene.schema import between_bodies
from multibody_cli.spec import SignalSpec, Vector

_NOTHING = SignalSpec(constant=0.0)


def check_kinds(draft: Draft) -> None:
    """Check forces, constraints and frames of joints against the kinds of the bodies on which they act."""
    for name, force in draft.scene.forces.items():
        for field, word in _turning(force):
            _refuse_torque(draft, ("forces", name, *field), word)
        if isinstance(force, LoadSpec):
            _require_within(draft, ("forces", name, "point"), force.body, force.point)
    for section, entries in between_bodies(draft.scene):
        for name, entry in written(draft, section, entries):
            for place, end in entry.points:
                _require_within(draft, (section, name, *place, "point"), end.body, end.point)
            for place, body in entry.bodies if entry.turns else ():
                _require_axes(draft, (section, name, *place), body)
    for name, strand in draft.scene.strands.items():
        for place, end in strand.points:
            if end.body in draft.scene.bodies and draft.scene.bodies[end.body].kind == "affine":
                draft.tell(
                    ("strands", name, *place),
                    "cannot be attached to a body of kind `affine`: end the strand "
                    "free, and tie its last node with a stiff spring",
                )
    for section in ("couplings", "constraints"):
        for name, spec in getattr(draft.scene, section).items():
            _check_constraint(draft, (section, name), spec)
    for name, joint in draft.scene.joints.items():
        _check_frames(draft, ("joints", name), joint)


def without_axes(draft: Draft, body: str) -> bool:
    """Whether a body is there and has no orientation."""
    return body in draft.scene.bodies and not KINDS[draft.scene.bodies[body].kind].has_axes


def _turning(force: object) -> Iterator[tuple[Path, str]]:
    """Fields of a force that turn a body, or speak of its axes, with the body."""
    if isinstance(force, LoadSpec):
        if any(signal != _NOTHING for signal in force.torque):
            yield ("torque",), force.body
        if force.frame == "body":
            yield ("frame",), force.body
    if isinstance(force, DragSpec) and force.viscous.angular > 0.0:
        yield ("viscous", "angular"), force.body


def _refuse_torque(draft: Draft, path: Path, body: str) -> None:
    if without_axes(draft, body):
        kind = draft.scene.bodies[body].kind
        draft.tell(path, f"has no meaning for `{body}`, which is of kind `{kind}` and has no orientation")


def _require_within(draft: Draft, path: Path, body: str, point: Vector) -> None:
    if body in draft.scene.bodies and draft.scene.bodies[body].kind == "point" and any(point):
        draft.tell(path, f"expected [0, 0, 0]: `{body}` is a point, and there is none of it elsewhere")


def _check_constraint(draft: Draft, path: Path, spec: ConstraintSpec) -> None:
    points = {place: point for place, _, point in spec.points}
    for place, body in spec.bodies:
        if place[:-1] in points:
            _require_within(draft, (*path, *place[:-1], "point"), body, points[place[:-1]])
        else:
            _require_axes(draft, (*path, *place), body)


def _require_axes(draft: Draft, path: Path, body: str) -> None:
    if without_axes(draft, body):
        kind = draft.scene.bodies[body].kind
        draft.tell(path, f"needs the orientation of `{body}`, and a body of kind `{kind}` has none")


def _check_frames(draft: Draft, path: Path, joint: JointSpec) -> None:
    _require_within(draft, (*path, "origin", "position"), joint.parent, joint.origin.position)
    _require_within(draft, (*path, "child_origin", "position"), joint.child, joint.child_origin.position)
