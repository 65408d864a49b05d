"""Constants and structure of each link: its frame, its inertia and the parts of its joint.

Links of equal structure share one text.  Their constants appear in the text where they are equal, and in a table where
they differ.  The axes of a link with a single oblique screw are rotated so that the screw axis is x: its elimination
then changes one column of the articulated inertia only, and leaves a row of zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.immutable import Immutable, replace
from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.joint_map import JointMap
from multibody_cli.model import Floats, Tree

ROUND_OFF = 4e-16
"""Tolerance within which an entry of a rotation is set to 0, 1 or -1."""

FRAME, ORIGIN, INERTIA, MOMENT, MASS, ALIGNMENT, PARTS = 0, 9, 12, 18, 21, 22, 31
"""Offsets of the constants of a link.

The frame by columns, its origin, J about the origin of M, m c, m, the axes of all these relative to the joint frame;
then the constants of its parts.
"""

MAX_STRUCTURES = 8
"""Number of structures above which zeros of constants are ignored, so that more links share a structure."""

_IDENTITY = tuple(np.eye(3).ravel().tolist())

ROTATIONS = (*range(FRAME, ORIGIN), *range(ALIGNMENT, PARTS))


class PartStructure(NamedTuple):
    """Everything that the text of a part depends on.

    `driven` and `has_armature` report for each coordinate whether its motion is prescribed, and whether it may have an
    inertia of its own.  `constant_count` is the number of constants: `turn` and `slide` of a screw, the displacement of
    an offset, or those of a joint map.
    """

    code: PartCode
    driven: tuple[bool, ...]
    has_armature: tuple[bool, ...]
    joint_map: JointMap | None
    constant_count: int

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.driven)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.nv + (self.code in (PartCode.BALL, PartCode.FREE))


class Structure(NamedTuple):
    """Everything that the text of a link depends on: its parts, and which of its constants are 0, 1 or -1."""

    parts: tuple[PartStructure, ...]
    pattern: tuple[float | None, ...]


class Link(Immutable):
    """One link: its row, the row of its parent, the offsets of its coordinates, its structure and its constants."""

    row: int
    parent: int
    iq: int
    iv: int
    structure: Structure
    constants: Floats


def links_of(
    tree: Tree, joint_maps: Mapping[int, JointMap], has_armature: Any, *, aligned: bool = True, placed: bool = False
) -> list[Link]:
    """Return the links of a tree.

    Parameters
    ----------
    tree
        The tree.
    joint_maps
        The formulas of generated parts, by the address of their code.
    has_armature
        (nv,) whether a coordinate may have an inertia of its own.
    aligned
        Whether the axes of links with an oblique screw are rotated; otherwise all axes are those of the joint frames.
    placed
        Whether the code computes positions in the world, on which the origins of links on the ground have an effect.
    """
    alignments = [_alignment(tree, row) if aligned and row else np.eye(3) for row in range(len(tree.links))]
    links: list[Link] = []
    for row in range(1, len(tree.links)):
        record = tree.links[row]
        A, P = alignments[row], alignments[record["parent"]]
        frame, origin, mass = record["frame"].reshape(3, 3).T, record["origin"], record["mass"]
        com, inertia = A.T @ record["com"], A.T @ _about_origin(record) @ A
        constants = [*(P.T @ frame @ A).T.ravel(), *(P.T @ origin), *inertia[np.triu_indices(3)], *(mass * com), mass]
        constants += [*A.T.ravel()]
        parts = []
        for part in tree.parts[record["first_part"] : record["last_part"]]:
            columns = slice(part["iv"], part["iv"] + part["width"])
            own = _constants_of(part, A, tree)
            flags = tuple(map(bool, tree.driven[columns])), tuple(map(bool, has_armature[columns]))
            parts.append(PartStructure(PartCode(part["code"]), *flags, joint_maps.get(int(part["address"])), len(own)))
            constants += own
        found = np.array(constants)
        _snap_rotations(found)
        place = row, int(record["parent"]), int(record["iq"]), int(record["iv"])
        links.append(_with_constants(Link(*place, Structure(tuple(parts), ()), found), found))
    return _with_few_structures(links if placed else _with_normalized_roots(links))


def with_common_structures(variants: Sequence[Sequence[Link]]) -> list[list[Link]]:
    """Give the links of each row of several trees one structure: that of their common zeros and ones."""
    rows = []
    for variants_of_link in zip(*variants, strict=True):
        columns = zip(*(link.structure.pattern for link in variants_of_link), strict=True)
        pattern = tuple(column[0] if len(set(column)) == 1 else None for column in columns)
        rows.append([replace(link, structure=link.structure._replace(pattern=pattern)) for link in variants_of_link])
    return [list(links) for links in zip(*rows, strict=True)]


def _constants_of(part: Any, A: Floats, tree: Tree) -> list[float]:
    """Constants of a part, in the axes of the link."""
    if part["code"] == PartCode.SCREW:
        if np.array_equal(A, np.eye(3)):
            return [*part["turn"].tolist(), *part["slide"].tolist()]
        if part["turn"].any():
            return [1.0, 0.0, 0.0, float(A[:, 0] @ part["slide"]), 0.0, 0.0]
        return [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    if part["code"] == PartCode.OFFSET:
        return [float(x) for x in part["slide"]]
    if part["code"] == PartCode.GENERATED:
        later = [first for first in tree.parts["first_constant"] if first > part["first_constant"]]
        last = min(later, default=len(tree.constants))
        return [float(x) for x in tree.constants[part["first_constant"] : last]]
    return []


def _alignment(tree: Tree, row: int) -> Floats:
    """Axes of which x is the axis of an oblique screw; the identity for all other joints."""
    record = tree.links[row]
    if record["last_part"] - record["first_part"] == 1:
        part = tree.parts[record["first_part"]]
        axis = part["turn"] if part["turn"].any() else part["slide"]
        if part["code"] == PartCode.SCREW and np.count_nonzero(axis) > 1:
            x = axis / np.linalg.norm(axis)
            y = np.cross(x, np.eye(3)[np.argmin(np.abs(x))])
            y /= np.linalg.norm(y)
            return np.column_stack([x, y, np.cross(x, y)])
    return np.eye(3)


def _about_origin(record: Any) -> Floats:
    """Inertia about the origin of the joint frame."""
    J = np.zeros((3, 3))
    J[np.triu_indices(3)] = record["central"]
    c = record["com"]
    about: Floats = J + np.triu(J, 1).T + record["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
    return about


def _snap_rotations(constants: Floats) -> None:
    """Remove the round-off of right angles."""
    for k in ROTATIONS:
        near = np.rint(constants[k])
        if abs(constants[k] - near) < ROUND_OFF:
            constants[k] = near


def _with_normalized_roots(links: list[Link]) -> list[Link]:
    """Give links on the ground the origin of other links with an equal joint, to share their structure.

    The origin of such a link has no effect: the ground does not rotate, and takes up every reaction.
    """
    models = {link.structure.parts: link for link in reversed(links) if link.parent > 0}
    rooted: list[Link] = []
    for link in links:
        constants = link.constants.copy()
        if link.parent == 0:
            model = models.get(link.structure.parts)
            constants[ORIGIN:INERTIA] = 0.0 if model is None else model.constants[ORIGIN:INERTIA]
        rooted.append(_with_constants(link, constants))
    return rooted


def _with_constants(link: Link, constants: Floats, free: range = range(0)) -> Link:
    """Return a link with other constants; its structure ignores the values of those in the range `free`."""
    pattern = tuple(x if x in (0.0, 1.0, -1.0) and k not in free else None for k, x in enumerate(constants.tolist()))
    if pattern[ALIGNMENT:PARTS] != _IDENTITY:
        pattern = (*pattern[:ALIGNMENT], *[None] * len(_IDENTITY), *pattern[PARTS:])
    return Link(link.row, link.parent, link.iq, link.iv, Structure(link.structure.parts, pattern), constants)


def _with_few_structures(links: list[Link]) -> list[Link]:
    """Merge structures that differ in zeros only, if there are too many: first in masses and origins, then frames."""
    for free in (range(ORIGIN, ALIGNMENT), range(FRAME, PARTS)):
        if len({link.structure for link in links}) > MAX_STRUCTURES:
            links = [_with_constants(link, link.constants, free) for link in links]
    return links
