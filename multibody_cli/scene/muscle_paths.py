"""Joints that each muscle crosses, for its moment arms."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.scene.schema import Scene
from multibody_cli.scene.topology import holders


def coordinates_crossed(scene: Scene, muscle: str) -> tuple[str, ...]:
    """Words for the coordinates of the joints that a muscle crosses."""
    words: list[str] = []
    for name, _ in crossings(scene, muscle):
        count = len(scene.joints[name].coordinates)
        words += [name] if count == 1 else [f"{name}/{k}" for k in range(count)]
    return tuple(words)


def crossings(scene: Scene, muscle: str) -> Iterator[tuple[str, list[int]]]:
    """Joints that carry some points of a muscle but not all, and which of them."""
    held = holders(scene.bodies, scene.joints)
    chains = [set(_chain(end.body, scene, held)) for _, end in scene.muscles[muscle].points]
    for name in scene.joints:
        outward = [k for k, chain in enumerate(chains) if name in chain]
        if 0 < len(outward) < len(chains):
            yield name, outward


def _chain(body: str, scene: Scene, held: dict[str, str]) -> Iterator[str]:
    """Joints between a body and the world."""
    while body in held:
        yield held[body]
        body = scene.joints[held[body]].parent
