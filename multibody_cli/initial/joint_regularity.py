"""Regularity of joints that may be singular: in the initial configuration, S is defined and has full rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part, numbers_of
from multibody_cli.joints.friction_spec import has_friction
from multibody_cli.joints.spec import JointSpec
from multibody_cli.model import Floats
from multibody_cli.nodes import NodePath
from multibody_cli.packing.constraint_bases import JointConfiguration, columns_at, sampled_configurations
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import loop_joints
from multibody_cli.spec import SignalSpec
from multibody_cli.spec.entries import split_coordinate

DEPENDENT = 1e-9
"""Smallest singular value of the motion subspace, its columns in units of their typical norm, for full rank."""

AROUND = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)
"""Offsets from the initial value of each coordinate at which the typical norm of the columns is sampled."""


NOWHERE = "its motion is not defined anywhere: a straight curve has no Frenet frame, and a surface needs a normal"


def typical_column_norms(loaded: LoadedScene) -> Mapping[str, tuple[tuple[float, float], ...]]:
    """Return the typical norms of the angular and the linear part of each column of the motion subspace.

    For joints that may be singular, without motion.

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
            found[name], columns = _around(parts, tuple(kind.start(joint).q), joint.own_domains)
        except ZeroDivisionError:
            messages = [NOWHERE]
        except ArithmeticError as error:
            messages = [f"its formulas cannot be evaluated: {error}"]
        else:  # assembly determines the initial coordinates of a loop joint
            free = ~np.array(joint.driven, np.bool_)
            sizes = np.hypot(*np.array(found[name]).T)
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


@lru_cache(maxsize=1024)
def _around(
    parts: tuple[Part, ...], start: tuple[float, ...], domains: Sequence[tuple[float, float]]
) -> tuple[tuple[tuple[float, float], ...], Floats]:
    """Return the typical norms of the columns, and the columns at the start; joints of a chain are often equal."""
    places = [np.array(start)]
    mapped = [part.joint_map is not None for part in parts for _ in range(part.nv)]
    for k in np.flatnonzero(mapped).tolist():
        place = numbers_of(parts)[k]
        for step in AROUND:
            places.append(np.array(start))
            places[-1][place] += step
            if domains:
                places[-1][place] = np.clip(places[-1][place], *domains[k])
    columns = columns_at(parts, places)
    turns, slides = (np.fmax.reduce(np.linalg.norm(half, axis=1)) for half in np.split(columns, 2, axis=1))
    turns = np.where(np.fmax(turns, slides) > 0.0, turns, 1.0)
    return tuple(zip(turns.tolist(), slides.tolist(), strict=True)), columns[0]


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


# --- point torques ----------------------------------------------------------------------------------------------------
_NONE = 1e-9
"""Moment that is round-off, relative to the wrench and its arm."""

_NOTHING = (None, 0.0, SignalSpec(constant=0.0))

_FIELDS_OF_TORQUES = ("stiffness", "damping", "force", "limits")


def require_no_torques(loaded: LoadedScene) -> None:
    """Refuse joints that apply a torque to a point.

    Raises
    ------
    SceneError
        With every such joint, and every coupling and force on its coordinates.
    """
    loaded.refuse(
        objection
        for name, joint in loaded.scene.joints.items()
        for body, at_child in ((joint.parent, False), (joint.child, True))
        if body in loaded.scene.bodies and not KINDS[loaded.scene.bodies[body].kind].turns
        for objection in _torques(loaded.scene, name, joint, body, at_child)
    )


def _torques(
    scene: SceneSpec, name: str, joint: JointSpec, body: str, at_child: bool
) -> Iterator[tuple[NodePath, str]]:
    configurations = sampled_configurations(tuple(JOINTS[joint.type].parts(joint)), joint.driven)
    kind = scene.bodies[body].kind
    if any(_turns(configuration.constraint_axes, configuration, at_child).any() for configuration in configurations):
        yield (
            ("joints", name),
            f"constrains a rotation of `{body}`, which is of kind `{kind}` and has no orientation: connect such a body "
            "by a `spherical` joint, or by a `composite` one of prismatic parts and then three revolute ones",
        )
        return
    turning = np.any(
        [_turns(configuration.dual_basis, configuration, at_child) for configuration in configurations], axis=0
    )
    words = f"applies a torque to `{body}`, which is of kind `{kind}` and has no orientation"
    for field in _FIELDS_OF_TORQUES:
        entries = getattr(joint, field, None) or ()
        if any(entry not in _NOTHING and turns for entry, turns in zip(entries, turning, strict=False)):
            yield ("joints", name, field), words
    if has_friction(joint) and any(turning[patch.coordinate] for patch in JOINTS[joint.type].friction_patches(joint)):
        yield ("joints", name, "friction"), words
    for section, entries in (("couplings", scene.couplings), ("forces", scene.forces)):
        for element, spec in entries.items():
            for place, word in spec.coordinates:
                owner, index = split_coordinate(word)
                if owner == name and turning[int(index or 0)]:
                    yield (section, element, *place), words


def _turns(wrenches: Floats, configuration: JointConfiguration, at_child: bool) -> np.ndarray:
    """Return which wrenches (n, 6) have a moment about the origin of the joint frame in the body."""
    moments, forces = wrenches[:, :3], wrenches[:, 3:]
    sizes = np.linalg.norm(moments, axis=1)
    if not at_child:
        moments = moments + np.cross(configuration.translation, forces)
        sizes = sizes + np.linalg.norm(configuration.translation) * np.linalg.norm(forces, axis=1)
    return np.asarray(np.abs(moments).max(axis=1, initial=0.0) > _NONE * sizes)
