"""Joints with dry friction, into the arrays of `Journals`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.joints import JOINTS
from multibody_cli.joints.friction import has_friction
from multibody_cli.kernel import records
from multibody_cli.model import LOCK, PAD, RUB, Journals, Tree
from multibody_cli.packing.layout import Layout
from multibody_cli.scene.schema import Scene


def rubbing(scene: Scene) -> list[str]:
    """Names of the joints with dry friction."""
    return [name for name, joint in scene.joints.items() if has_friction(joint)]


def pack_journals(scene: Scene, layout: Layout, tree: Tree, account: Callable[[Any, str], int]) -> Journals:
    """Give the pads of all joints, each joint with an account of the ledger that `account` opens."""
    pads: list[tuple[Any, ...]] = []
    points: list[tuple[Any, ...]] = []
    loads: list[tuple[Any, Any]] = []
    numbers = {name: k for k, name in enumerate(scene.joints)}
    for place, name in enumerate(rubbing(scene)):
        joint: Any = scene.joints[name]
        row, number = layout.row_of_joint(name, joint), account("dissipation", f"joints/{name}/friction")
        for pad in JOINTS[joint.type].pads(joint):
            pads.append(
                (
                    row,
                    *_bodies_of(row, tree),
                    numbers[name],
                    place,
                    number,
                    joint.friction.coefficient,
                    len(pad.slips),
                    *_wrenches(pad.slips),
                    len(points),
                    len(points) + len(pad.points),
                )
            )
            for point in pad.points:
                points.append((*_wrenches(point.rubs), len(loads), len(loads) + len(point.loads)))
                loads += [(load[:3], load[3:]) for load in point.loads]
    return Journals(records(np.array(pads, PAD)), records(np.array(points, RUB)), records(np.array(loads, LOCK)))


def _wrenches(one_or_two: Any) -> tuple[Any, ...]:
    """Moments and forces of two wrenches, the second of which may be none."""
    both = [*one_or_two, np.zeros(6)][:2]
    return tuple(part for wrench in both for part in (wrench[:3], wrench[3:]))


def _bodies_of(row: int, tree: Tree) -> tuple[int, int]:
    """Rows of the parent and of the child of a joint."""
    if row < len(tree.links):
        return int(tree.links[row]["parent"]), row
    closure = tree.closures[row - len(tree.links)]
    return int(closure["parent"]), int(closure["child"])
