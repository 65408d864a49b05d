"""Joints of general shape where they start: their motion is defined there, and each coordinate moves something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from multibody_cli.errors import Problem, SceneError
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part
from multibody_cli.joints.domain import DomainJointSpec
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.model import Floats
from multibody_cli.packing.constraint_bases import columns_at
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.topology import holders

DEPENDENT = 1e-9
"""Smallest singular value of the motion subspace, its columns in their usual size, that is taken for none."""

AROUND = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)
"""How far from the start the usual size of the columns is looked for, in each coordinate."""


NOWHERE = "its motion is not defined anywhere: a straight curve has no Frenet frame, and a surface needs a normal"


def usual_sizes(loaded: LoadedScene) -> Mapping[str, tuple[float, ...]]:
    """Give the usual size of each column of the motion subspace, for joints of general shape that move freely.

    Raises
    ------
    SceneError
        With every joint whose motion is not defined where it starts, or whose coordinates are not independent there.
    """
    scene = loaded.scene
    carrying = set(holders(scene.bodies, scene.joints).values())
    problems: list[Problem] = []
    found = {}
    for name, joint in scene.joints.items():
        kind = JOINTS[joint.type]
        parts = tuple(kind.parts(joint))
        if not any(part.shape for part in parts):
            continue
        try:
            found[name], columns = _around(joint, parts, np.array(kind.start(joint).q))
        except ZeroDivisionError:
            messages = [NOWHERE]
        except ArithmeticError as error:
            messages = [f"its formulas cannot be worked out: {error}"]
        else:  # where a joint starts that closes a loop is found by assembly
            free = _free(joint)
            sizes = np.array(found[name])
            messages = list(_objections(columns, sizes, free)) if name in carrying else []
            if not free.all():  # a prescribed coordinate may stand still, as a piston at its dead centre
                del found[name]
        for message in messages:
            problems += loaded.error(message, "joints", name).problems
    if problems:
        raise SceneError(problems)
    return found


def _around(joint: JointSpec, parts: tuple[Part, ...], q: Floats) -> tuple[tuple[float, ...], Floats]:
    """Usual sizes of the columns, and the columns at the start."""
    here = columns_at(parts, q)
    sizes = np.linalg.norm(here, axis=0)
    domains = joint.own_domains if isinstance(joint, DomainJointSpec) else ()
    for k in range(sum(part.nv for part in parts if part.shape)):
        for step in AROUND:
            moved = q.copy()
            moved[k] += step
            if domains:
                moved[k] = np.clip(moved[k], *domains[k])
            sizes = np.fmax(sizes, np.linalg.norm(columns_at(parts, moved), axis=0))
    return tuple(np.where(sizes > 0.0, sizes, 1.0).tolist()), here


def _free(joint: JointSpec) -> NDArray[np.bool_]:
    """Which coordinates have no prescribed motion."""
    motion = joint.motion if isinstance(joint, MovingJointSpec) else None
    return np.array([signal is None for signal in motion.signals] if motion else [True] * len(joint.coordinates))


def _objections(columns: Floats, sizes: Floats, free: NDArray[np.bool_]) -> Iterator[str]:
    if not np.isfinite(columns).all():
        yield (
            "its motion, or a derivative of it, is not a finite number where it starts: look for a division by zero, a "
            "root of zero, or a curve without curvature in a Frenet frame; start it elsewhere"
        )
    elif free.any() and np.linalg.svd((columns / sizes)[:, free], compute_uv=False)[-1] < DEPENDENT:
        yield (
            "its coordinates do not move it independently where it starts: there its parametrization has not full "
            "rank, as at the pole of a sphere, at the cusp of a cycloid, or where surfaces touch along a line; start "
            "it elsewhere, or take other coordinates"
        )
