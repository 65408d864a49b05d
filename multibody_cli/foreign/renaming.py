"""Names of a model that no scene can have get the nearest ones that it can; all others stay."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from multibody_cli.foreign.draft import WORLD, Coordinate, Draft, Origin, Placed
from multibody_cli.spec.names import nearest_name


def unused(name: str, used: Collection[str]) -> str:
    """Return a name, with underscores behind it if it is used."""
    while name in used:
        name += "_"
    return name


def rename(draft: Draft) -> None:
    """Replace names such as `a*b`, and `wrist/1`, which is that of a coordinate; note each in the ledger."""
    named = list(_named(draft))
    used = {WORLD, *(name for name, _ in named)}
    changed: dict[str, str] = {}
    for name, origin in named:
        if name not in changed and (new := nearest_name(name)) != name:
            changed[name] = unused(new, used)
            used.add(changed[name])
            draft.ledger.note(origin.mark, f"`{name}` is `{changed[name]}` in the scene")
    if not changed:
        return
    for joint in draft.joints.values():
        if joint.name in changed:
            draft.coordinates.setdefault(joint.name, Coordinate(joint.name))
        joint.name, joint.parent, joint.child = (
            changed.get(name, name) for name in (joint.name, joint.parent, joint.child)
        )
    for body in (draft.world, *draft.bodies.values()):
        body.name, body.points = changed.get(body.name, body.name), _renamed(body.points, changed)
    draft.bodies = {body.name: body for body in draft.bodies.values()}
    draft.joints = {joint.name: joint for joint in draft.joints.values()}
    draft.coordinates = {
        name: coordinate._replace(joint=changed.get(coordinate.joint, coordinate.joint))
        for name, coordinate in draft.coordinates.items()
    }
    draft.elements, draft.settings = _renamed(draft.elements, changed), _renamed(draft.settings, changed)


def _named(draft: Draft) -> Iterator[tuple[str, Origin]]:
    """Yield the names of all elements, with their places."""
    for body in (draft.world, *draft.bodies.values()):
        yield body.name, body.origin
        yield from ((name, point.origin) for name, point in body.points.items())
    yield from ((joint.name, joint.origin) for joint in draft.joints.values())
    for entries in draft.elements.values():
        yield from ((name, entry.origin) for name, entry in entries.items())
    states = draft.settings.get("states")
    if states is not None:
        yield from ((name, states.origin) for name in states.value)


def _renamed(value: Any, changed: dict[str, str]) -> Any:
    """Return a value in which all words, those of expressions, and coordinates such as `wrist/1` have the new names."""
    if isinstance(value, Placed):
        return Placed(_renamed(value.value, changed), value.origin)
    if isinstance(value, dict):
        return {_renamed(key, changed): _renamed(entry, changed) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(entry, changed) for entry in value]
    if not isinstance(value, str):
        return value
    if '["' in value:  # an expression; see `Reference`
        return re.sub(r'\["(.*?)"\]', lambda name: f'["{changed.get(name[1], name[1])}"]', value)
    joint, _, number = value.rpartition("/")
    return f"{changed[joint]}/{number}" if number.isdecimal() and joint in changed else changed.get(value, value)
