"""Joints that each muscle crosses, for its moment arms."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import inboard_joints


def coordinates_crossed(scene: SceneSpec, muscle: str) -> tuple[str, ...]:
    """Return the names of the coordinates of the joints that a muscle crosses."""
    words: list[str] = []
    for name, _ in crossings(scene, muscle):
        count = len(scene.joints[name].coordinates)
        words += [name] if count == 1 else [f"{name}/{k}" for k in range(count)]
    return tuple(words)


def crossings(scene: SceneSpec, muscle: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each joint that some but not all points of a muscle are outboard of, and the numbers of these points."""
    inboard_joint_of = inboard_joints(scene.bodies, scene.joints)
    chains = [set(_chain(end.body, scene, inboard_joint_of)) for _, end in scene.muscles[muscle].points]
    for name in scene.joints:
        outward = [k for k, chain in enumerate(chains) if name in chain]
        if 0 < len(outward) < len(chains):
            yield name, outward


def _chain(body: str, scene: SceneSpec, inboard_joint_of: dict[str, str]) -> Iterator[str]:
    """Yield the joints from a body to the world."""
    while body in inboard_joint_of:
        yield inboard_joint_of[body]
        body = scene.joints[inboard_joint_of[body]].parent
