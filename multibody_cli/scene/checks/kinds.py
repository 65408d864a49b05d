"""Checks of body kinds: no torque or orientation on bodies without one, no offset points on point masses."""

from __future__ import annotations

from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.document.nodes import Path
from multibody_cli.forces.spec import BodyForceSpec
from multibody_cli.joints.spec import JointSpec
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.checks.draft import Draft, own_entries
from multibody_cli.scene.schema import between_bodies
from multibody_cli.spec import Vector


def check_kinds(draft: Draft) -> None:
    """Check forces, constraints and joint frames against the kinds of their bodies."""
    for name, force in draft.scene.forces.items():
        if not isinstance(force, BodyForceSpec):
            continue
        for place in force.turning:
            _refuse_torque(draft, ("forces", name, *place), force.body)
        for place, point in force.points:
            _require_within(draft, ("forces", name, *place), force.body, point)
    for section, entries in between_bodies(draft.scene):
        for name, entry in own_entries(draft, section, entries):
            for place, end in entry.points:
                _require_within(draft, (section, name, *place, "point"), end.body, end.point)
            for place, body in entry.bodies if entry.turns else ():
                _require_orientation(draft, (section, name, *place), body)
    for name, strand in draft.scene.strands.items():
        for place, end in strand.points:
            if end.body in draft.scene.bodies and draft.scene.bodies[end.body].kind == "affine":
                draft.report(
                    ("strands", name, *place),
                    "cannot be attached to a body of kind `affine`: leave the end of the strand "
                    "free, and connect its last node with a stiff spring",
                )
    for name, sensor in draft.scene.sensors.items():
        _require_orientation(draft, ("sensors", name, "body"), sensor.body)
    for section in ("couplings", "constraints"):
        for name, spec in getattr(draft.scene, section).items():
            _check_constraint(draft, (section, name), spec)
    for name, joint in draft.scene.joints.items():
        _check_frames(draft, ("joints", name), joint)


def lacks_orientation(draft: Draft, body: str) -> bool:
    """Whether a body exists and has no orientation."""
    return body in draft.scene.bodies and not KINDS[draft.scene.bodies[body].kind].has_axes


def _refuse_torque(draft: Draft, path: Path, body: str) -> None:
    if lacks_orientation(draft, body):
        kind = draft.scene.bodies[body].kind
        draft.report(path, f"`{body}` is of kind `{kind}` and has no orientation")


def _require_within(draft: Draft, path: Path, body: str, point: Vector) -> None:
    if body in draft.scene.bodies and draft.scene.bodies[body].kind == "point" and any(point):
        draft.report(path, f"expected [0, 0, 0]: `{body}` is a point mass")


def _check_constraint(draft: Draft, path: Path, spec: ConstraintSpec) -> None:
    points = {place: point for place, _, point in spec.points}
    for place, body in spec.bodies:
        if place[:-1] in points:
            _require_within(draft, (*path, *place[:-1], "point"), body, points[place[:-1]])
        else:
            _require_orientation(draft, (*path, *place), body)


def _require_orientation(draft: Draft, path: Path, body: str) -> None:
    if lacks_orientation(draft, body):
        kind = draft.scene.bodies[body].kind
        draft.report(path, f"requires the orientation of `{body}`, but a body of kind `{kind}` has none")


def _check_frames(draft: Draft, path: Path, joint: JointSpec) -> None:
    _require_within(draft, (*path, "origin", "position"), joint.parent, joint.origin.position)
    _require_within(draft, (*path, "child_origin", "position"), joint.child, joint.child_origin.position)
