"""Checks that the method and the integrator support the features of the scene."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeGuard

from multibody_cli.actuators.computed_torque import ComputedTorqueSpec
from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.forces.elastic_rope import ElasticRopeSpec
from multibody_cli.joints.friction_spec import has_friction
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.options import ends_at_corrected_velocities, has_symmetrized_stiffness
from multibody_cli.nodes import NodePath
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.checks.partial_scene import PartialScene, own_entries
from multibody_cli.scene.schema import SceneSpec, between_bodies
from multibody_cli.spec import Pose, Vector
from multibody_cli.spec.entries import BodyForceSpec, EntrySpec, split_coordinate

_FIXED_STEP = {Feature.LIMITS: "impacts on limits need", Feature.ELASTIC_FRICTION: "the slip of a rope needs"}
"""Features that need steps of constant length."""


def check_features(partial: PartialScene) -> None:
    """Check the features of the scene against those of the method."""
    settings = partial.scene.simulation
    if "simulation" in partial.broken or settings.method not in METHODS or settings.integrator not in INTEGRATORS:
        return
    method, integrator = METHODS[settings.method], integrator_of(settings.method, settings.integrator, settings.options)
    objections: dict[str, str] = {}
    for feature, path in _required_features(partial.scene, partial.closing):
        if feature not in method.supports:
            able = " or ".join(f"`{name}`" for name, kind in METHODS.items() if feature in kind.supports)
            remedy = f"use {able}" if able else "no method supports it"
            partial.report(path, f"method `{settings.method}` does not support {feature.value}: {remedy}")
        else:
            objections.update(method.objections(feature, settings.options))
        if feature in _FIXED_STEP and integrator.adaptive:
            partial.report(
                path,
                f"integrator `{integrator.name}` has a variable step size, but {_FIXED_STEP[feature]} a small fixed "
                "step: use a fixed-step integrator such as `rk4`",
            )
    if ends_at_corrected_velocities(settings.options) and integrator.order != 1:
        objections["stabilization"] = (
            "`baumgarte_velocity` selects the velocities at the end of an Euler step: use `semi_implicit_euler` or "
            f"`linearly_implicit_euler` instead of `{integrator.name}`, or `baumgarte`"
        )
    if has_symmetrized_stiffness(settings.options) and not (integrator.implicit and integrator.order == 1):
        objections["implicit_stiffness"] = (
            "`symmetrized` is the stiffness of one Euler step: use `linearly_implicit_euler` instead of "
            f"`{integrator.name}`, or remove it"
        )
    for option, message in objections.items():
        partial.report(("simulation", "options", option), message)
    _check_loops(partial)


def _required_features(scene: SceneSpec, closing: Collection[str]) -> Iterator[tuple[Feature, NodePath]]:
    """Yield the features that the scene uses, with the path of the element."""
    if scene.contacts is not None:
        yield Feature.CONTACT, ("contacts",)
    for name, body in scene.bodies.items():
        if body.kind == "affine":
            yield Feature.AFFINE, ("bodies", name, "kind")
    for name, joint in scene.joints.items():
        if name in closing:
            yield Feature.LOOPS, ("joints", name)
        if isinstance(joint, MovingJointSpec):
            if has_friction(joint):
                yield Feature.JOINT_FRICTION, ("joints", name, "friction")
            if joint.bounds is not None:
                yield Feature.LIMITS, ("joints", name, "limits")
    for name, coupling in scene.couplings.items():
        yield Feature.COUPLINGS, ("couplings", name)
        if _reduces(coupling):
            yield Feature.REDUCTION, ("couplings", name, "reduce")
        if coupling.one_sided:
            yield Feature.LIMITS, ("couplings", name, "backlash")
    for name, combination in scene.combinations.items():
        if combination.bounds:
            yield Feature.LIMITS, ("combinations", name, "limits")
    for section, name in scene.brakes:
        yield Feature.JOINT_FRICTION, (section, name, "friction")
    for name, constraint in scene.constraints.items():
        yield Feature.CONSTRAINTS, ("constraints", name)
        if constraint.one_sided:
            yield Feature.LIMITS, ("constraints", name, "limits")
        if constraint.has_friction:
            yield Feature.JOINT_FRICTION, ("constraints", name, "over")
    for name, spring in scene.springs.items():
        if isinstance(spring, ElasticRopeSpec) and spring.has_friction:
            yield Feature.ELASTIC_FRICTION, ("springs", name, "over")
    for name, muscle in scene.muscles.items():
        if muscle.tendon == "elastic":
            yield Feature.ELASTIC_TENDONS, ("muscles", name, "tendon")
    for name, actuator in scene.actuators.items():
        if isinstance(actuator, ComputedTorqueSpec):
            yield Feature.COMPUTED_TORQUE, ("actuators", name)


def _reduces(coupling: ConstraintSpec) -> TypeGuard[CouplingSpec]:
    return isinstance(coupling, CouplingSpec) and coupling.reduce


def _check_loops(partial: PartialScene) -> None:
    """Refuse reductions of the coordinates of loop joints."""
    for name, coupling in partial.scene.couplings.items():
        if _reduces(coupling):
            for place, word in coupling.coordinates:
                joint, _ = split_coordinate(word)
                if joint in partial.closing:
                    message = f"`{joint}` closes a loop, so its coordinates are dependent: remove `reduce`"
                    partial.report(("couplings", name, *place), message)


# --- kinds of bodies --------------------------------------------------------------------------------------------------
def check_kinds(partial: PartialScene) -> None:
    """Check forces, constraints and joint frames against the kinds of their bodies."""
    for name, force in partial.scene.forces.items():
        if not isinstance(force, BodyForceSpec):
            continue
        for place in force.turning:
            if kind := _without_axes(partial, force.body):
                partial.report(("forces", name, *place), f"`{force.body}` is of kind `{kind}` and has no orientation")
        for place, point in force.points:
            _require_within(partial, ("forces", name, *place), force.body, point)
    for section, entries in between_bodies(partial.scene):
        for name, entry in own_entries(partial, section, entries):
            _check_entry(partial, (section, name), entry)
    for name, strand in partial.scene.strands.items():
        for place, end in strand.points:
            if end.body in partial.scene.bodies and partial.scene.bodies[end.body].kind == "affine":
                partial.report(
                    ("strands", name, *place),
                    "cannot be attached to a body of kind `affine`: leave the end of the strand "
                    "free, and connect its last node with a stiff spring",
                )
    for name, sensor in partial.scene.sensors.items():
        _require_orientation(partial, ("sensors", name, "body"), sensor.body)
    for section in ("couplings", "constraints"):
        for name, spec in getattr(partial.scene, section).items():
            _check_entry(partial, (section, name), spec)
    for name, joint in partial.scene.joints.items():
        for body, origin in (("parent", "origin"), ("child", "child_origin")):
            frame: Pose = getattr(joint, origin)
            _require_within(partial, ("joints", name, origin, "position"), getattr(joint, body), frame.position)


def _without_axes(partial: PartialScene, body: str) -> str:
    """Return the kind of a body that exists and has no orientation; else empty."""
    found = partial.scene.bodies.get(body)
    return "" if found is None or KINDS[found.kind].has_axes else found.kind


def _require_within(partial: PartialScene, path: NodePath, body: str, point: Vector) -> None:
    if body in partial.scene.bodies and partial.scene.bodies[body].kind == "point" and any(point):
        partial.report(path, f"expected [0, 0, 0]: `{body}` is a point mass")


def _check_entry(partial: PartialScene, path: NodePath, spec: EntrySpec) -> None:
    """Check points of bodies, and the orientation of the bodies that the entry names otherwise."""
    points = {place: end.point for place, end in spec.points if not end.ORIENTED}
    for place, body in spec.bodies:
        if place[:-1] in points:
            _require_within(partial, (*path, *place[:-1], "point"), body, points[place[:-1]])
        else:
            _require_orientation(partial, (*path, *place), body)


def _require_orientation(partial: PartialScene, path: NodePath, body: str) -> None:
    if kind := _without_axes(partial, body):
        partial.report(path, f"requires the orientation of `{body}`, but a body of kind `{kind}` has none")
