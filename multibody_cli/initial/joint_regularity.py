"""Regularity of joints that may be singular: in the initial configuration, S is defined and has full rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part
from multibody_cli.joints.domain import DomainJointSpec
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.model import Floats
from multibody_cli.packing.constraint_bases import configuration_at
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.topology import loop_joints

DEPENDENT = 1e-9
"""Smallest singular value of the motion subspace, its columns in units of their typical norm, for full rank."""

AROUND = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)
"""Offsets from the initial value of each coordinate at which the typical norm of the columns is sampled."""


NOWHERE = "its motion is not defined anywhere: a straight curve has no Frenet frame, and a surface needs a normal"


def typical_column_norms(loaded: LoadedScene) -> Mapping[str, tuple[float, ...]]:
    """Return the typical norm of each column of the motion subspace, for joints that may be singular, without motion.

    Raises
    ------
    SceneError
        With every joint whose motion is undefined, or whose coordinates are dependent, in the initial configuration.
    """
    scene = loaded.scene
    closing = loop_joints(scene)
    problems: list[tuple[tuple[str, str], str]] = []
    found = {}
    for name, joint in scene.joints.items():
        kind = JOINTS[joint.type]
        parts = tuple(kind.parts(joint))
        if not may_be_singular(parts):
            continue
        try:
            found[name], columns = _around(joint, parts, np.array(kind.start(joint).q))
        except ZeroDivisionError:
            messages = [NOWHERE]
        except ArithmeticError as error:
            messages = [f"its formulas cannot be evaluated: {error}"]
        else:  # assembly determines the initial coordinates of a loop joint
            free = _free(joint)
            sizes = np.array(found[name])
            is_map = any(part.joint_map for part in parts)  # the axes of a gimbal may coincide where it has armatures
            messages = list(_objections(columns, sizes, free)) if is_map and name not in closing else []
            if not free.all():  # a prescribed coordinate may be stationary, as a piston at its dead centre
                del found[name]
        problems += [(("joints", name), message) for message in messages]
    loaded.refuse(problems)
    return found


def may_be_singular(parts: Sequence[Part]) -> bool:
    """Whether a joint may lose a degree of freedom: a joint map, or angles about three axes, as in a gimbal."""
    return any(part.joint_map for part in parts) or sum(any(part.turn) for part in parts) >= 3


def _around(joint: JointSpec, parts: tuple[Part, ...], q: Floats) -> tuple[tuple[float, ...], Floats]:
    """Return the typical norms of the columns, and the columns at the start."""
    here = configuration_at(parts, q).columns
    sizes = np.linalg.norm(here, axis=0)
    domains = joint.own_domains if isinstance(joint, DomainJointSpec) else ()
    for k in range(sum(part.nv for part in parts if part.joint_map)):
        for step in AROUND:
            moved = q.copy()
            moved[k] += step
            if domains:
                moved[k] = np.clip(moved[k], *domains[k])
            sizes = np.fmax(sizes, np.linalg.norm(configuration_at(parts, moved).columns, axis=0))
    return tuple(np.where(sizes > 0.0, sizes, 1.0).tolist()), here


def _free(joint: JointSpec) -> NDArray[np.bool_]:
    """Return which coordinates have no prescribed motion."""
    motion = joint.motion if isinstance(joint, MovingJointSpec) else None
    return np.array([signal is None for signal in motion.signals] if motion else [True] * len(joint.coordinates))


def _objections(columns: Floats, sizes: Floats, free: NDArray[np.bool_]) -> Iterator[str]:
    if not np.isfinite(columns).all():
        yield (
            "its motion, or a derivative of it, is not finite in the initial configuration: look for a division by "
            "zero, a root of zero, or a curve without curvature in a Frenet frame; choose another initial configuration"
        )
    elif free.any() and np.linalg.svd((columns / sizes)[:, free], compute_uv=False)[-1] < DEPENDENT:
        yield (
            "its coordinates are dependent in the initial configuration: its parametrization does not have full rank "
            "there, as at the pole of a sphere, at the cusp of a cycloid, or where surfaces touch along a line; choose "
            "another initial configuration, or other coordinates"
        )
