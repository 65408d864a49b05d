"""Packing of joints with dry friction into the arrays of `JointFriction`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.joints import JOINTS
from multibody_cli.joints.friction import FRICTION_PATCH, FRICTION_POINT, FrictionPatch, has_friction
from multibody_cli.kernel import records
from multibody_cli.model import CONSTRAINT_AXIS, JointFriction, Tree
from multibody_cli.packing.layout import Layout
from multibody_cli.scene.schema import SceneSpec


def joints_with_friction(scene: SceneSpec) -> list[str]:
    """Return the names of the joints with dry friction."""
    return [name for name, joint in scene.joints.items() if has_friction(joint)]


def pack_joint_friction(
    scene: SceneSpec, layout: Layout, tree: Tree, account: Callable[[Any, str], int]
) -> JointFriction:
    """Pack the friction patches of all joints; `account` opens an account of the ledger for each joint."""
    patches: list[tuple[Any, ...]] = []
    points: list[tuple[Any, ...]] = []
    loads: list[tuple[Any, Any]] = []
    numbers = {name: k for k, name in enumerate(scene.joints)}
    for place, name in enumerate(joints_with_friction(scene)):
        joint: Any = scene.joints[name]
        row, number = layout.row_of_joint(name, joint), account("dissipation", f"joints/{name}/friction")
        of_joint = JOINTS[joint.type].friction_patches(joint)
        group = (len(patches), len(patches) + len(of_joint))
        for patch in of_joint:
            carrier, axes = _axes_of(patch, row, tree)
            patches.append(
                (
                    row,
                    carrier,
                    *_bodies_of(row, tree),
                    numbers[name],
                    place,
                    *group,
                    number,
                    joint.friction.coefficient.static,
                    joint.friction.coefficient.kinetic,
                    joint.friction.coefficient.stribeck_speed,
                    axes,
                    len(patch.slip_wrenches),
                    *_wrenches(patch.slip_wrenches),
                    len(points),
                    len(points) + len(patch.points),
                )
            )
            for point in patch.points:
                points.append((*_wrenches(point.friction_wrenches), len(loads), len(loads) + len(point.loads)))
                loads += [(load[:3], load[3:]) for load in point.loads]
    return JointFriction(
        records(np.array(patches, FRICTION_PATCH)),
        records(np.array(points, FRICTION_POINT)),
        records(np.array(loads, CONSTRAINT_AXIS)),
    )


def _wrenches(one_or_two: Any) -> tuple[Any, ...]:
    """Return moments and forces of two wrenches; a missing second one is 0."""
    both = [*one_or_two, np.zeros(6)][:2]
    return tuple(part for wrench in both for part in (wrench[:3], wrench[3:]))


def _axes_of(patch: FrictionPatch, row: int, tree: Tree) -> tuple[int, Any]:
    """Return the row that carries the axes of a patch, and the axes there, by columns (9,)."""
    if not patch.on_parent:
        return row, np.eye(3).ravel()
    n = len(tree.links)
    joint = tree.links[row] if row < n else tree.closures[row - n]
    return int(joint["parent"]), joint["frame"]


def _bodies_of(row: int, tree: Tree) -> tuple[int, int]:
    """Return the rows of the parent and of the child of a joint."""
    if row < len(tree.links):
        return int(tree.links[row]["parent"]), row
    closure = tree.closures[row - len(tree.links)]
    return int(closure["parent"]), int(closure["child"])
