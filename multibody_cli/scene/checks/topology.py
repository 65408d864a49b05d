"""Checks of joints: their bodies exist, and bodies with an inboard joint have no own initial state."""

from __future__ import annotations

from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.topology import inboard_joints

_STATE = ("position", "rotation", "velocity")


def check_topology(draft: Draft) -> None:
    """Check the parents and children of all joints, and the initial state of their bodies."""
    for name, joint in draft.scene.joints.items():
        path = ("joints", name)
        draft.require_body(joint.parent, (*path, "parent"))
        if not draft.require_body(joint.child, (*path, "child")):
            continue
        if joint.child == WORLD:
            draft.report((*path, "child"), "the world cannot be a child: make it the parent")
        elif joint.child == joint.parent:
            draft.report((*path, "child"), f"connects `{joint.child}` to itself")
    _check_places(draft, inboard_joints(draft.scene.bodies, draft.scene.joints))


def _check_places(draft: Draft, held: dict[str, str]) -> None:
    for name, joint in held.items():
        body = draft.scene.bodies.get(name)
        given = body.model_fields_set if body is not None else frozenset[str]()
        for field in _STATE:
            if field in given:
                draft.report(
                    ("bodies", name, field),
                    f"has no effect: joint `{joint}` determines the initial state of `{name}` by `origin`, "
                    "`child_origin`, `q` and `v`",
                )
