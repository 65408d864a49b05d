"""Links that are fixed to each other become one body: sums of inertias, re-framed joints, and points for lost frames.

A leaf without mass on a moving joint makes the mass matrix singular; its joint becomes fixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from multibody_cli.foreign.draft import WORLD, Body, Draft, Joint, Origin, Placed, Point
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.renaming import unused
from multibody_cli.mass import summed

End = Literal["parent", "child"]

NEAR = 1e-12
"""Largest difference of poses that are equal, m or components of rotation matrices."""


def merge_links(draft: Draft, which: str) -> None:
    """Merge links of fixed joints.

    A body that another element names, such as a force, is not merged.

    Parameters
    ----------
    draft
        The model.
    which
        `frames`: links without mass with a link that they are fixed to; `all`: also those with mass; `none`.
    """
    if which == "none":
        return
    merger = _Merger(draft)
    ends: tuple[End, End] = ("child", "parent")  # frames into the links that carry them, then frames that carry links
    for end in ends:
        for joint in merger.from_the_roots():
            if joint.type == "fixed" and merger.may_absorb(joint, end, which):
                merger.merge(joint, end)


def fix_massless_leaves(draft: Draft) -> None:
    """Merge bodies without mass at the ends of moving joints with their parents, and note it in the ledger."""
    merger = _Merger(draft)
    for joint in reversed(_massless_ends(draft, merger)):
        _drop_relations_of(draft, joint)
        remark = f"joint `{joint.name}` is fixed: `{joint.child}` has no mass, and the joint would move nothing"
        draft.ledger.note(joint.origin.mark, remark)
        merger.merge(joint, "child")


def _massless_ends(draft: Draft, merger: _Merger) -> list[Joint]:
    """Return the moving joints that carry no mass, each after those that it carries."""
    found: list[Joint] = []
    degree = {name: len(joints) for name, joints in merger.joints.items()}
    left = list(draft.bodies)
    while left:
        name = left.pop()
        if degree.get(name) != 1 or name in merger.named or name == WORLD or not draft.bodies[name].is_massless:
            continue
        inboard = [joint for joint in merger.joints[name] if joint.child == name]
        if inboard and "armature" not in inboard[0].fields:
            found += [joint for joint in inboard if joint.type != "fixed"]
            degree[name] = 0
            degree[inboard[0].parent] -= 1
            left.append(inboard[0].parent)
    return found


def settle_bases(draft: Draft, base: str | None) -> list[str]:
    """Fix bodies without an inboard joint to the world, or leave them free.

    Returns the free ones that have joints, unless `base` frees them: bases of robots, as arms that will fall.

    Parameters
    ----------
    draft
        The model.
    base
        `fixed` or `free`; None: a body without mass becomes part of the world, unless it is fixed to one with mass; any
        other one is free.
    """
    merger, free = _Merger(draft), []
    moved = {joint.child for joint in draft.joints.values()}
    for name, body in list(draft.bodies.items()):
        if name in moved:
            continue
        if body.is_free and base != "fixed":
            continue
        if merger.joints[name] and merger.is_massless(name):
            draft.ledger.note(body.origin.mark, f"`{name}` has no mass, and is fixed to the world")
            merger.absorb(WORLD, name, body.pose)
        elif base == "fixed":
            joint = unused(f"{name}_to_world", draft.joints)
            draft.joints[joint] = Joint(
                joint, Origin(body.origin.mark, "--fixed"), "fixed", WORLD, name, pose=body.pose
            )
        elif base is None:
            draft.ledger.note(body.origin.mark, f"`{name}` is free: no joint connects it to the world")
            if merger.joints[name]:
                free.append(name)
    return free


class _Merger:
    """Joins bodies of a draft, with the joints of each body at hand."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.named = set(_words([*draft.elements.values(), *draft.settings.values()]))
        self.joints: defaultdict[str, list[Joint]] = defaultdict(list)
        for joint in draft.joints.values():
            self.joints[joint.parent].append(joint)
            self.joints[joint.child].append(joint)

    def from_the_roots(self) -> list[Joint]:
        """Return all joints, each behind the inboard joint of its parent where there is one."""
        found: dict[str, Joint] = {}
        moved = {joint.child for joint in self._draft.joints.values()}
        left = [WORLD, *(name for name in self._draft.bodies if name not in moved)]
        for name in left:
            for joint in self.joints[name]:
                if joint.parent == name and joint.name not in found:
                    found[joint.name] = joint
                    left.append(joint.child)
        return list((found | self._draft.joints).values())

    def may_absorb(self, joint: Joint, end: End, which: str) -> bool:
        """Whether the body at one end of a joint, which closes no loop, can become part of the other one."""
        if joint is not self._draft.inboard(joint.child)[0]:
            return False
        guest, host = (joint.child, joint.parent) if end == "child" else (joint.parent, joint.child)
        if guest in (WORLD, host) or guest in self.named:
            return False
        kept, lost = self._draft.body(host), self._draft.bodies[guest]
        if lost.is_massless or kept.is_massless:
            return (lost.is_massless and not lost.is_free) or kept.is_free
        return which == "all" and end == "child" and host != WORLD and not (kept.has_density or lost.has_density)

    def is_massless(self, root: str) -> bool:
        """Whether neither a body nor those that are fixed to it, in turn, have a mass."""
        left = [root]
        for name in left:
            if not self._draft.bodies[name].is_massless:
                return False
            carried = (joint for joint in self.joints[name] if joint.type == "fixed" and joint.parent == name)
            left += [joint.child for joint in carried if joint.child not in left]
        return True

    def merge(self, joint: Joint, end: End) -> None:
        """Join the bodies of a joint in its zero position; the body at `end` becomes part of the other one."""
        child_in_parent = joint.pose.at(joint.child_pose.inverse)
        guest, host = (joint.child, joint.parent) if end == "child" else (joint.parent, joint.child)
        if end == "parent":  # the host takes the place of its parent
            self._draft.body(host).pose = self._draft.body(guest).pose.at(child_in_parent)
        self._remove(joint)
        self.absorb(host, guest, child_in_parent if end == "child" else child_in_parent.inverse)

    def absorb(self, host: str, guest: str, pose: FramePose) -> None:
        """Make a body part of another one, or of the world; `pose` is that of the guest's frame in the host's."""
        kept, lost = self._draft.body(host), self._draft.bodies.pop(guest)
        has_inertia = lost.mass is not None and (lost.mass.mass != 0.0 or lost.mass.inertia.any())
        if lost.mass is not None and has_inertia and host != WORLD:
            moved = lost.mass.moved(pose.position, pose.rotation)
            kept.mass = moved if kept.mass is None else summed((kept.mass, moved))
            kept.inertia, kept.is_solid = {}, False
        kept.origin = kept.origin.with_remark(f"with {guest}" if not kept.origin.remark else guest)
        kept.shapes += [replace(shape, pose=pose.at(shape.pose)) for shape in lost.shapes]
        self._add_point(kept, guest, Point(pose, lost.origin))
        for name, point in lost.points.items():
            self._add_point(kept, name, replace(point, pose=pose.at(point.pose)))
        for joint in self.joints.pop(guest, []):
            if joint.parent == guest:
                joint.parent, joint.pose = host, pose.at(joint.pose)
                joint.origin = joint.origin.with_remark(f"on {guest}")
            if joint.child == guest:
                joint.child, joint.child_pose = host, pose.at(joint.child_pose)
                joint.origin = joint.origin.with_remark(f"to {guest}")
            if joint.type == "fixed" and joint.parent == joint.child:
                self._remove(joint)
            else:
                self.joints[host].append(joint)

    def _add_point(self, body: Body, name: str, point: Point) -> None:
        """Add a point to a body, with another name if the body has one there already that is elsewhere."""
        if name in body.points and _coincide(point.pose, body.points[name].pose):
            return
        own = unused(name, body.points)
        body.points[own] = point
        if own != name:
            self._draft.ledger.note(point.origin.mark, f"frame `{name}` on `{body.name}` is its point `{own}`")

    def _remove(self, joint: Joint) -> None:
        del self._draft.joints[joint.name]
        for name in {joint.parent, joint.child}:
            self.joints[name] = [one for one in self.joints[name] if one is not joint]


def _drop_relations_of(draft: Draft, joint: Joint) -> None:
    """Remove couplings and actuators of a joint."""
    for entries in draft.elements.values():
        for name, entry in list(entries.items()):
            if joint.name in set(_words(entry)):
                draft.ledger.note(entry.origin.mark, f"`{name}` has no effect: joint `{joint.name}` is fixed")
                del entries[name]


def _coincide(one: FramePose, other: FramePose) -> bool:
    return bool(
        np.abs(one.position - other.position).max() < NEAR and np.abs(one.rotation - other.rotation).max() < NEAR
    )


def _words(value: Any) -> Iterator[str]:
    """Yield all texts in a value."""
    if isinstance(value, Placed):
        yield from _words(value.value)
    elif isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str))
        yield from _words(list(value.values()))
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _words(entry)
    elif isinstance(value, str):
        yield value
