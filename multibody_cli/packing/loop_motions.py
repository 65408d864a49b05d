"""Span of all motions that the joints of a loop permit in any configuration, from the axes of their parts alone.

Rotations about parallel axes keep their direction n.  They carry a vector along n to itself, and any other one around
the plane normal to n.  Rotations about axes that are not parallel carry a vector to every direction.  The span of the
motions of a joint, or of one body relative to another, is therefore known from one configuration.

A wrench without power on the span of a loop is transmitted by the loop joint, and has no effect on any coordinate, in
every configuration.  Such are a force along parallel hinges, and moments across them.

Source: Herve, The Lie group of rigid body displacements, Mechanism and Machine Theory 34 (1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.model import Floats
from multibody_cli.packing.constraint_bases import complement, constraint_axes_of
from multibody_cli.scene.body_kinds import LinkData, LoopJoint

PARALLEL = 1e-10
"""Sine of the angle up to which axes of a scene are parallel: a constant of the scene, as the axes are."""

_AXES, _NONE = np.eye(3), np.zeros((3, 3))

_ANGULAR, _LINEAR = slice(3), slice(3, 6)

_SCREWS_OF_PARTS = {
    PartCode.BALL: (_AXES, _NONE),
    PartCode.EXPONENTIAL: (_AXES, _NONE),
    PartCode.FREE: (np.vstack([_NONE, _AXES]), np.vstack([_AXES, _NONE])),
    PartCode.GENERATED: (np.vstack([_NONE, _AXES]), np.vstack([_AXES, _NONE])),
}
"""Axes of rotation and of translation of the parts that are no screws: all that are possible."""


class ConstraintAxes(NamedTuple):
    """Constraint axes of a loop joint.

    `directions` (m, 6) are the axes [t; f] in the axes of M, of which the first `constant` are the same in all
    configurations, and the others are 0; `has_effect` (m,) is False for an axis that has no effect in any of them.
    """

    directions: Floats
    constant: int
    has_effect: np.ndarray


class Screws(NamedTuple):
    """Axes of rotation and of translation (n, 3) of the parts of joints, in common axes, and whether they are free."""

    turns: Floats
    slides: Floats
    free: np.ndarray


def constraint_axes_of_loop(loop: LoopJoint, tree_links: Sequence[LinkData]) -> ConstraintAxes:
    """Return the constraint axes of a loop joint; `tree_links` are in the order of their rows."""
    axes = constraint_axes_of(loop.parts, loop.driven, loop.normal)
    motions = loop_motions(loop, tree_links)
    if has_constant_axes(loop.parts, loop.driven):
        return ConstraintAxes(axes, len(axes), np.abs(axes @ motions.T).max(axis=1, initial=0.0) > PARALLEL)
    constant = complement(motions) if loop.normal is None else axes[:0]
    axes = np.vstack([constant, np.zeros((len(axes) - len(constant), 6))])
    return ConstraintAxes(axes, len(constant), axes.any(axis=1) == 0)


def has_constant_axes(parts: Sequence[Part], driven: Sequence[bool]) -> bool:
    """Whether the constraint axes of a joint are the same in all configurations, in the axes of M."""
    free = sum(not flag for flag in driven)
    is_screw = len(parts) == 1 and parts[0].code is PartCode.SCREW
    return free == 0 or is_screw or len(joint_motions(screws_of(parts, driven))) == free


def screws_of(parts: Sequence[Part], driven: Sequence[bool], R: Floats = _AXES) -> Screws:
    """Return the screws of a sequence of parts at zero angles; R (3, 3) is the orientation of the first part."""
    turns, slides, free, first = [np.zeros((0, 3))], [np.zeros((0, 3))], [], 0
    for part in parts:
        if part.code in (PartCode.SCREW, PartCode.OFFSET):  # an offset is a translation that is not free
            own = np.array([part.turn]), np.array([part.slide])
            is_free = part.nv > 0 and not driven[first]
        else:
            own, is_free = _SCREWS_OF_PARTS[part.code], True
        turns.append(own[0] @ R.T)
        slides.append(own[1] @ R.T)
        free += [is_free] * len(own[0])
        first += part.nv
    return Screws(np.vstack(turns), np.vstack(slides), np.array(free, np.bool_))


def joint_motions(screws: Screws, arms: Floats = _AXES[:0]) -> Floats:
    """Return an orthonormal basis (k, 6), [angular; linear], of the free motions of screws in all configurations.

    `arms` (n, 3) are vectors between the axes of rotation and the reference point, besides the translations.
    """
    axes, free = _span(screws.turns), screws.free
    angular = _carried(screws.turns[free], axes)
    levers = [np.cross(n, arm) for n in angular for arm in _carried(np.vstack([screws.slides, arms]), axes)]
    linear = _carried(np.array([*screws.slides[free], *levers]).reshape(-1, 3), axes)
    return _motions(angular, linear)


def loop_motions(loop: LoopJoint, tree_links: Sequence[LinkData]) -> Floats:
    """Return a basis of the motions of all joints of a loop, in the axes of M, as `joint_motions`."""
    ends = {loop.child, loop.parent}
    if max(ends) > len(tree_links):  # markers of affine bodies
        return np.eye(6)
    path: list[LinkData] = []
    while len(ends) > 1:
        link = tree_links[max(ends) - 1]
        ends.remove(link.row)
        ends.add(link.parent)
        path.append(link)
    if any(part.code in (PartCode.FREE, PartCode.GENERATED) for link in path for part in link.parts):
        return np.eye(6)  # every motion
    orientations = {ends.pop(): _AXES}
    found = [screws_of((), ())]
    for link in reversed(path):
        R = orientations[link.parent] @ link.origin.rotation
        found.append(screws_of(link.parts, [False] * sum(part.nv for part in link.parts), R))
        orientations[link.row] = R @ link.child_origin.rotation.T
    tree = joint_motions(Screws(*(np.concatenate(columns) for columns in zip(*found, strict=True))), _AXES)
    M = orientations[loop.child] @ loop.child_origin.rotation
    own = joint_motions(screws_of(loop.parts, loop.driven))
    angular, linear = (_span(np.vstack([tree[:, half] @ M, own[:, half]])) for half in (_ANGULAR, _LINEAR))
    return _motions(angular, linear)


def _motions(angular: Floats, linear: Floats) -> Floats:
    """Return motions [angular; linear] with the directions of a basis of each."""
    motions = np.zeros((len(angular) + len(linear), 6))
    motions[: len(angular), _ANGULAR], motions[len(angular) :, _LINEAR] = angular, linear
    return motions


def _carried(vectors: Floats, axes: Floats) -> Floats:
    """Return an orthonormal basis of the vectors to which rotations about the orthonormal `axes` carry others."""
    vectors = _span(vectors)
    if len(axes) == 0 or len(vectors) == 0:
        return vectors
    if len(axes) > 1:
        return _AXES
    n = axes[0]
    along = np.abs(vectors @ n).max() > PARALLEL
    across = np.linalg.norm(np.cross(n, vectors), axis=1).max() > PARALLEL
    return np.vstack([n[None, :] if along else _AXES[:0], _span(np.vstack([n, _AXES]))[1:] if across else _AXES[:0]])


def _span(vectors: Floats) -> Floats:
    """Return an orthonormal basis of vectors (n, 3)."""
    basis: list[Floats] = []
    for vector in vectors:
        size = np.linalg.norm(vector)
        if size == 0.0:
            continue
        for _ in range(2):  # a second pass removes round-off
            for other in basis:
                vector = vector - (other @ vector) * other
        left = np.linalg.norm(vector)
        if left > PARALLEL * size:
            basis.append(vector / left)
    return np.array(basis).reshape(-1, 3)
