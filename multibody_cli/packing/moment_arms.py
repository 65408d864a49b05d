"""Packing of the moment arms of muscles about the joints that they cross."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import frozen
from multibody_cli.model import ActuationEntry, Integers, JointEntry, Records
from multibody_cli.observation.moment_arms import ARM
from multibody_cli.scene.muscle_paths import coordinates_crossed, crossings
from multibody_cli.scene.schema import SceneSpec


class PackedArms(NamedTuple):
    """Entries of the muscles, rows of ARM, and the numbers of the path points outboard of the joints."""

    muscles: tuple[ActuationEntry, ...]
    arms: Records
    carried: Integers


def pack_arms(scene: SceneSpec, joints: tuple[JointEntry, ...], muscles: Records) -> PackedArms:
    """Return the arms of each muscle about each coordinate of each joint that it crosses.

    Parameters
    ----------
    scene
        The scene.
    joints
        Its joints in the arrays of the model.
    muscles
        (n,) rows of MUSCLE, in scene order.
    """
    entries: list[ActuationEntry] = []
    arms: list[tuple[int, ...]] = []
    carried: list[int] = []
    places = {joint.name: joint for joint in joints}
    for name, muscle in zip(scene.muscles, muscles, strict=True):
        first, begin, end = len(arms), int(muscle["first"]), int(muscle["last"])
        for joint, outward in crossings(scene, name):
            entry, span = places[joint], (len(carried), len(carried) + len(outward))
            carried += [begin + k for k in outward]
            arms += [(entry.row, iv, begin, end, *span) for iv in range(entry.columns.start, entry.columns.stop)]
        entries.append(ActuationEntry(name, slice(first, len(arms)), coordinates_crossed(scene, name)))
    return PackedArms(tuple(entries), frozen(np.array(arms, ARM)), np.array(carried, dtype=np.int64))
