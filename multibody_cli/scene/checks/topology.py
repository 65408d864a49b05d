"""The tree of joints: every joint connects bodies that exist, and every body is held at most once."""

from __future__ import annotations

from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.checks.draft import Draft

_STATE = ("position", "rotation", "velocity")


def check_topology(draft: Draft) -> None:
    """Check parents and children of all joints, and that bodies held by a joint leave their place to it."""
    holders: dict[str, str] = {}
    for name, joint in draft.scene.joints.items():
        path = ("joints", name)
        draft.require_body(joint.parent, (*path, "parent"))
        if not draft.require_body(joint.child, (*path, "child")):
            continue
        if joint.child == WORLD:
            draft.tell((*path, "child"), "the world cannot be a child: make it the parent")
        elif joint.child == joint.parent:
            draft.tell((*path, "child"), f"joins `{joint.child}` to itself")
        elif joint.child in holders:
            first = holders[joint.child]
            draft.tell(
                (*path, "child"),
                f"`{joint.child}` is held already by joint `{first}` ({draft.line_of('joints', first)}); "
                "a closed loop is not yet supported",
            )
        else:
            holders[joint.child] = name
    _check_cycles(draft, holders)
    _check_places(draft, holders)


def _check_cycles(draft: Draft, holders: dict[str, str]) -> None:
    """Follow each body towards the world; coming back to where one was is a cycle."""
    settled = {WORLD}
    for start in holders:
        trail: dict[str, None] = {}  # in order, and quick to search
        body = start
        while body in holders and body not in settled and body not in trail:
            trail[body] = None
            body = draft.scene.joints[holders[body]].parent
        if body in trail:
            cycle = list(trail)[list(trail).index(body) :]
            names = " -> ".join(reversed([*cycle, body]))
            draft.tell(
                ("joints", holders[cycle[-1]]),
                f"these joints form a cycle that nothing ties to the world: {names}; give one of them another parent",
            )
        settled.update(trail)


def _check_places(draft: Draft, holders: dict[str, str]) -> None:
    for name, joint in holders.items():
        body = draft.scene.bodies.get(name)
        given = body.model_fields_set if body is not None else frozenset[str]()
        for field in _STATE:
            if field in given:
                draft.tell(
                    ("bodies", name, field),
                    f"has no effect: `{name}` is held by joint `{joint}`, which places it by `origin`, "
                    "`child_origin`, `q` and `v`",
                )
