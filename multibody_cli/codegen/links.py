"""What is constant about each link: its frame, its inertia and the parts of its joint, as numbers and as a structure.

Links of one structure share one text; their numbers stand in it, or in a table where they differ.  A joint of one
oblique screw is turned so that its axis is x: then one column of the articulated inertia is all that eliminating takes,
and its row is zero afterwards, whatever the axis was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.shape import Shape
from multibody_cli.model import Floats, Tree

ROUND_OFF = 4e-16
"""An entry of a rotation this near to 0, 1 or -1 is meant to be that."""

FRAME, ORIGIN, INERTIA, MOMENT, MASS, ALIGNMENT, PARTS = 0, 9, 12, 18, 21, 22, 31
"""Where the numbers of a link begin: frame by columns, origin, J about the origin of M, m c, m, the axes that all of
these are in, seen from the axes of the joint frame; then those of its parts."""

MOST_STRUCTURES = 8
"""Beyond this, structures forget which numbers of links are zero, so that more of them are one."""

_UPRIGHT = tuple(np.eye(3).ravel().tolist())

ROTATIONS = (*range(FRAME, ORIGIN), *range(ALIGNMENT, PARTS))


class PartStructure(NamedTuple):
    """What the text of a part depends on.

    `driven` and `armed` tell of each coordinate whether its motion is prescribed, and whether it may have inertia of
    its own.  `numbers` is how many numbers the part has: `turn` and `slide` of a screw, or the constants of a shape.
    """

    code: PartCode
    driven: tuple[bool, ...]
    armed: tuple[bool, ...]
    shape: Shape | None
    numbers: int

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.driven)

    @property
    def nq(self) -> int:
        """Number of position numbers."""
        return self.nv + (self.code in (PartCode.BALL, PartCode.FREE))


class Structure(NamedTuple):
    """What the text of a link depends on: its parts, and which numbers are 0, 1 or -1."""

    parts: tuple[PartStructure, ...]
    pattern: tuple[float | None, ...]


@dataclass(frozen=True)
class Link:
    """One link: its row, that of its parent, where its coordinates lie, its structure and its numbers."""

    row: int
    parent: int
    iq: int
    iv: int
    structure: Structure
    numbers: Floats


def links_of(tree: Tree, shapes: Mapping[int, Shape], armed: Any, *, aligned: bool = True) -> list[Link]:
    """Read the links off a tree.

    Parameters
    ----------
    tree
        The tree.
    shapes
        The formulas of generated parts, by the address of their code.
    armed
        (nv,) whether a coordinate may have inertia of its own.
    aligned
        Whether the axes of links with an oblique screw are turned; otherwise all are those of the joint frames.
    """
    alignments = [_alignment(tree, row) if aligned and row else np.eye(3) for row in range(len(tree.links))]
    links: list[Link] = []
    for row in range(1, len(tree.links)):
        record = tree.links[row]
        A, P = alignments[row], alignments[record["parent"]]
        frame, origin, mass = record["frame"].reshape(3, 3).T, record["origin"], record["mass"]
        com, inertia = A.T @ record["com"], A.T @ _about_origin(record) @ A
        numbers = [*(P.T @ frame @ A).T.ravel(), *(P.T @ origin), *inertia[np.triu_indices(3)], *(mass * com), mass]
        numbers += [*A.T.ravel()]
        parts = []
        for part in tree.parts[record["first_part"] : record["last_part"]]:
            columns = slice(part["iv"], part["iv"] + part["width"])
            own = _numbers_of(part, A, tree, shapes)
            flags = tuple(map(bool, tree.driven[columns])), tuple(map(bool, armed[columns]))
            parts.append(PartStructure(PartCode(part["code"]), *flags, shapes.get(int(part["address"])), len(own)))
            numbers += own
        found = np.array(numbers)
        _round(found)
        place = row, int(record["parent"]), int(record["iq"]), int(record["iv"])
        links.append(_with_numbers(Link(*place, Structure(tuple(parts), ()), found), found))
    return _with_few_structures(_with_free_roots(links))


def _numbers_of(part: Any, A: Floats, tree: Tree, shapes: Mapping[int, Shape]) -> list[float]:
    """Numbers of a part, in the axes of the link."""
    if part["code"] == PartCode.SCREW:
        if np.array_equal(A, np.eye(3)):
            return [*part["turn"].tolist(), *part["slide"].tolist()]
        if part["turn"].any():
            return [1.0, 0.0, 0.0, float(A[:, 0] @ part["slide"]), 0.0, 0.0]
        return [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    if part["code"] == PartCode.GENERATED:
        later = [first for first in tree.parts["first_constant"] if first > part["first_constant"]]
        last = min(later, default=len(tree.constants))
        return [float(x) for x in tree.constants[part["first_constant"] : last]]
    return []


def _alignment(tree: Tree, row: int) -> Floats:
    """Axes of which the first is that of an oblique screw; of all other joints, those of the joint frame."""
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


def _round(numbers: Floats) -> None:
    """Take away the round-off of right angles."""
    for k in ROTATIONS:
        near = np.rint(numbers[k])
        if abs(numbers[k] - near) < ROUND_OFF:
            numbers[k] = near


def _with_free_roots(links: list[Link]) -> list[Link]:
    """Let links that hang on the ground look like others with such a joint: where they hang does not matter.

    For the ground does not turn, and feels nothing.
    """
    models = {link.structure.parts: link for link in reversed(links) if link.parent > 0}
    rooted: list[Link] = []
    for link in links:
        numbers = link.numbers.copy()
        if link.parent == 0:
            model = models.get(link.structure.parts)
            numbers[ORIGIN:INERTIA] = 0.0 if model is None else model.numbers[ORIGIN:INERTIA]
        rooted.append(_with_numbers(link, numbers))
    return rooted


def _with_numbers(link: Link, numbers: Floats, free: range = range(0)) -> Link:
    """Give a link of other numbers, with a structure that knows nothing of those in the range `free`."""
    pattern = tuple(x if x in (0.0, 1.0, -1.0) and k not in free else None for k, x in enumerate(numbers.tolist()))
    if pattern[ALIGNMENT:PARTS] != _UPRIGHT:
        pattern = (*pattern[:ALIGNMENT], *[None] * len(_UPRIGHT), *pattern[PARTS:])
    return Link(link.row, link.parent, link.iq, link.iv, Structure(link.structure.parts, pattern), numbers)


def _with_few_structures(links: list[Link]) -> list[Link]:
    """Let links be alike that differ in zeros alone, where too many do: first in masses and origins, then in frames."""
    for free in (range(ORIGIN, ALIGNMENT), range(FRAME, PARTS)):
        if len({link.structure for link in links}) > MOST_STRUCTURES:
            links = [_with_numbers(link, link.numbers, free) for link in links]
    return links
