"""Joints connect bodies that exist, and place those that they hold."""

from __future__ import annotations

from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.topology import holders

_STATE = ("position", "rotation", "velocity")


def check_topology(draft: Draft) -> None:
    """Check parents and children of all joints, and that bodies held by a joint leave their place to it."""
    for name, joint in draft.scene.joints.items():
        path = ("joints", name)
        draft.require_body(joint.parent, (*path, "parent"))
        if not draft.require_body(joint.child, (*path, "child")):
            continue
        if joint.child == WORLD:
            draft.tell((*path, "child"), "the world cannot be a child: make it the parent")
        elif joint.child == joint.parent:
            draft.tell((*path, "child"), f"joins `{joint.child}` to itself")
    _check_places(draft, holders(draft.scene.bodies, draft.scene.joints))


def _check_places(draft: Draft, held: dict[str, str]) -> None:
    for name, joint in held.items():
        body = draft.scene.bodies.get(name)
        given = body.model_fields_set if body is not None else frozenset[str]()
        for field in _STATE:
            if field in given:
                draft.tell(
                    ("bodies", name, field),
                    f"has no effect: `{name}` is held by joint `{joint}`, which places it by `origin`, "
                    "`child_origin`, `q` and `v`",
                )
