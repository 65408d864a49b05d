"""Which joints each muscle crosses, so that its moment arms can be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import records
from multibody_cli.model import ARM, Integers, JointEntry, MuscleEntry, Records
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.topology import holders


class PackedArms(NamedTuple):
    """Entries of the muscles, rows of ARM, and the numbers of the points that joints carry."""

    muscles: tuple[MuscleEntry, ...]
    arms: Records
    carried: Integers


def pack_arms(scene: Scene, joints: tuple[JointEntry, ...], muscles: Records) -> PackedArms:
    """List the arms of each muscle about each coordinate of each joint that it crosses.

    Parameters
    ----------
    scene
        The scene.
    joints
        Its joints in the arrays of the model.
    muscles
        (n,) rows of MUSCLE, in scene order.
    """
    entries: list[MuscleEntry] = []
    arms: list[tuple[int, ...]] = []
    carried: list[int] = []
    places = {joint.name: joint for joint in joints}
    for name, muscle in zip(scene.muscles, muscles, strict=True):
        first, begin, end = len(arms), int(muscle["first"]), int(muscle["last"])
        for joint, outward in _crossings(scene, name):
            entry, span = places[joint], (len(carried), len(carried) + len(outward))
            carried += [begin + k for k in outward]
            arms += [(entry.row, iv, begin, end, *span) for iv in range(entry.columns.start, entry.columns.stop)]
        entries.append(MuscleEntry(name, slice(first, len(arms)), coordinates_crossed(scene, name)))
    return PackedArms(tuple(entries), _frozen(np.array(arms, ARM)), np.array(carried, dtype=np.int64))


def coordinates_crossed(scene: Scene, muscle: str) -> tuple[str, ...]:
    """Words for the coordinates of the joints that a muscle crosses."""
    words: list[str] = []
    for name, _ in _crossings(scene, muscle):
        count = len(scene.joints[name].coordinates)
        words += [name] if count == 1 else [f"{name}/{k}" for k in range(count)]
    return tuple(words)


def _crossings(scene: Scene, muscle: str) -> Iterator[tuple[str, list[int]]]:
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


def _frozen(table: np.ndarray) -> Records:
    table.flags.writeable = False
    found: Records = records(table)
    return found
