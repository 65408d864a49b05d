"""Checks that the method and the integrator support the features of the scene."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.actuators import ActuatorSpec, ComputedTorqueSpec
from multibody_cli.constraints.contract import split_coordinate
from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.document.nodes import Path
from multibody_cli.joints.friction import has_friction
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import inboard_joints


def check_features(draft: Draft) -> None:
    """Check the features of the scene against those of the method."""
    settings = draft.scene.simulation
    if "simulation" in draft.broken or settings.method not in METHODS or settings.integrator not in INTEGRATORS:
        return
    method, integrator = METHODS[settings.method], integrator_of(settings.method, settings.integrator)
    objections: dict[str, str] = {}
    for feature, path in _required_features(draft.scene):
        if feature not in method.supports:
            able = " or ".join(f"`{name}`" for name, kind in METHODS.items() if feature in kind.supports)
            remedy = f"use {able}" if able else "no method supports it"
            draft.report(path, f"method `{settings.method}` does not support {feature.value}: {remedy}")
        else:
            objections.update(method.objections(feature, settings.options))
        if feature is Feature.LIMITS and integrator.adaptive:
            draft.report(
                path,
                f"integrator `{integrator.name}` has a variable step size, but impacts on limits need a small fixed "
                "step: use a fixed-step integrator such as `rk4`",
            )
    for option, message in objections.items():
        draft.report(("simulation", "options", option), message)
    closing = set(draft.scene.joints) - set(inboard_joints(draft.scene.bodies, draft.scene.joints).values())
    _check_reductions(draft, closing)
    _check_rotors(draft, closing)


def _required_features(scene: SceneSpec) -> Iterator[tuple[Feature, Path]]:
    """Yield the features that the scene uses, with the path of the element."""
    if scene.contacts is not None:
        yield Feature.CONTACT, ("contacts",)
    for name, body in scene.bodies.items():
        if body.kind == "affine":
            yield Feature.AFFINE, ("bodies", name, "kind")
    closing = set(scene.joints) - set(inboard_joints(scene.bodies, scene.joints).values())
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
        if isinstance(coupling, CouplingSpec) and coupling.reduce:
            yield Feature.REDUCTION, ("couplings", name, "reduce")
        if coupling.one_sided:
            yield Feature.LIMITS, ("couplings", name, "backlash")
    for name in scene.constraints:
        yield Feature.CONSTRAINTS, ("constraints", name)
    for name, actuator in scene.actuators.items():
        if isinstance(actuator, ComputedTorqueSpec):
            yield Feature.COMPUTED_TORQUE, ("actuators", name)
        elif isinstance(actuator, ActuatorSpec) and actuator.reflected_inertia > 0.0:
            yield Feature.ROTORS, ("actuators", name, "rotor_inertia")


def _check_reductions(draft: Draft, closing: set[str]) -> None:
    for name, coupling in draft.scene.couplings.items():
        if not (isinstance(coupling, CouplingSpec) and coupling.reduce):
            continue
        for place, word in coupling.coordinates:
            joint, _ = split_coordinate(word)
            if joint in closing:
                draft.report(
                    ("couplings", name, *place),
                    f"`{joint}` closes a loop, so its coordinates are dependent: remove `reduce`",
                )


def _check_rotors(draft: Draft, closing: set[str]) -> None:
    for name, actuator in draft.scene.actuators.items():
        if isinstance(actuator, ActuatorSpec) and actuator.reflected_inertia > 0.0:
            joint, _ = split_coordinate(actuator.joint)
            if joint in closing:
                draft.report(
                    ("actuators", name, "rotor_inertia"),
                    f"`{joint}` closes a loop, and its coordinates have no inertia of their own: use another joint of "
                    "the loop",
                )
