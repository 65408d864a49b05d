"""From named bodies and joints to a numbered tree: parents first, and a chain's links one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multibody_cli.joints.spec import WORLD, JointSpec


def rows_of_tree(bodies: Sequence[str], joints: Mapping[str, JointSpec]) -> dict[str, int]:
    """Number the bodies in depth-first order; the world is row 0.

    Parameters
    ----------
    bodies
        Names in scene order; a body that no joint holds hangs on the world.
    joints
        By name; no body is the child of two, and there is no cycle (checked before).
    """
    parent_of = {joint.child: joint.parent for joint in joints.values()}
    children: dict[str, list[str]] = {name: [] for name in (WORLD, *bodies)}
    for body in bodies:
        children[parent_of.get(body, WORLD)].append(body)
    rows: dict[str, int] = {}
    waiting = [WORLD]
    while waiting:
        body = waiting.pop()
        rows[body] = len(rows)
        waiting.extend(reversed(children[body]))
    return rows
