"""A scene asks its method and its integrator for nothing that they cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.constraints.contract import split_coordinate
from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.document.nodes import Path
from multibody_cli.joints.friction import has_friction
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.topology import holders


def check_features(draft: Draft) -> None:
    """Check what the scene asks for against what the method says of itself."""
    settings = draft.scene.simulation
    if "simulation" in draft.broken or settings.method not in METHODS or settings.integrator not in INTEGRATORS:
        return
    method, integrator = METHODS[settings.method], integrator_of(settings.method, settings.integrator)
    objections: dict[str, str] = {}
    for feature, path in _asked(draft.scene):
        if feature not in method.supports:
            able = " or ".join(f"`{name}`" for name, kind in METHODS.items() if feature in kind.supports)
            remedy = f"use {able}" if able else "no method can yet"
            draft.tell(path, f"method `{settings.method}` cannot take {feature.value}: {remedy}")
        else:
            objections.update(method.objections(feature, settings.options))
    for option, message in objections.items():
        draft.tell(("simulation", "options", option), message)
    closing = set(draft.scene.joints) - set(holders(draft.scene.bodies, draft.scene.joints).values())
    for name, joint in draft.scene.joints.items():
        if not isinstance(joint, MovingJointSpec):
            continue
        if joint.bounds is not None and integrator.adaptive:
            draft.tell(
                ("joints", name, "limits"),
                f"integrator `{integrator.name}` takes steps of its own length, and an impact on a limit needs short "
                "ones: use one of constant step, such as `rk4`",
            )
        if integrator.implicit and has_friction(joint) and (draft.scene.springs or draft.scene.muscles):
            draft.tell(
                ("joints", name, "friction"),
                f"integrator `{integrator.name}` takes springs and muscles as they will push, and the dry friction of "
                "a joint needs what they push now: use `semi_implicit_euler`, or leave out one of the two",
            )
    _check_reductions(draft, closing)


def _asked(scene: Scene) -> Iterator[tuple[Feature, Path]]:
    """List what the scene asks for, and where."""
    if scene.contacts is not None:
        yield Feature.CONTACT, ("contacts",)
    for name, body in scene.bodies.items():
        if body.kind == "affine":
            yield Feature.AFFINE, ("bodies", name, "kind")
    closing = set(scene.joints) - set(holders(scene.bodies, scene.joints).values())
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
    for name in scene.constraints:
        yield Feature.CONSTRAINTS, ("constraints", name)


def _check_reductions(draft: Draft, closing: set[str]) -> None:
    for name, coupling in draft.scene.couplings.items():
        if not (isinstance(coupling, CouplingSpec) and coupling.reduce):
            continue
        for place, word in coupling.coordinates:
            joint, _ = split_coordinate(word)
            if joint in closing:
                draft.tell(
                    ("couplings", name, *place),
                    f"`{joint}` closes a loop, so that its coordinates follow from the bodies already: "
                    "leave `reduce` out",
                )
