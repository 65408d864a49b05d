"""What a joint must give: the specification that every joint and every method relies on.

A joint connects the frame F, fixed in the parent body, to the frame M, fixed in the child body.  It is a
*run of parts*, multiplied in order, and each part gives three things as functions of its own coordinates:

    pose        X(q), the pose of the part's outer frame in its inner frame,
    subspace    S(q), the motion subspace: the twist across the part is S(q) v, in the outer frame,
    bias        c = (dS/dt) v, in the outer frame.

Everything else that a method needs is derived from these.  A universal, planar or free2d joint is therefore
data, not code, and `fixed` is the empty run.

A part has `nq` position numbers and `nv` velocities; they differ only for rotations held as unit quaternions
(nq = nv + 1).  What a user reads and writes are the `nv` *coordinates*: a rotation is reported as a rotation
vector.  See `docs/adr` for the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from multibody_cli.joints.friction import Pad
    from multibody_cli.joints.shape import Shape
    from multibody_cli.joints.spec import JointSpec

Vector = tuple[float, float, float]


class PartCode(IntEnum):
    """The number by which kernels know the kind of a part."""

    SCREW = 0
    BALL = 1
    EXPONENTIAL = 2
    FREE = 3
    GENERATED = 4


class Coordinate(StrEnum):
    """The kind of a coordinate; its value is the unit in which it is measured."""

    ANGLE = "rad"
    LENGTH = "m"
    NUMBER = "1"


@dataclass(frozen=True)
class Part:
    """One part of a joint: its kind, its constants and the kinds of its coordinates.

    Parameters
    ----------
    code
        Kind of the part.
    coordinates
        One entry for each velocity of the part.
    turn, slide
        Constants of a screw: angular and linear velocity per unit of the coordinate, in the part's frame
        (rad and m per rad, or m per m).  Zero for the other kinds.
    shape, constants
        Formulas of a generated part, and the numbers in them.
    stand
        Coordinates at which a generated part can surely stand.
    """

    code: PartCode
    coordinates: tuple[Coordinate, ...]
    turn: Vector = (0.0, 0.0, 0.0)
    slide: Vector = (0.0, 0.0, 0.0)
    shape: Shape | None = None
    constants: tuple[float, ...] = ()
    stand: tuple[float, ...] = ()

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.coordinates)

    @property
    def nq(self) -> int:
        """Number of position numbers: one more than velocities where a quaternion is held."""
        return self.nv + (self.code in (PartCode.BALL, PartCode.FREE))

    @property
    def same(self) -> tuple[str, ...]:
        """Which other values of each reported coordinate mean the same pose: those a turn away, or none."""
        if self.code is PartCode.SCREW:
            return ("turn",) if any(self.turn) and not any(self.slide) else ("itself",)
        if self.code is PartCode.GENERATED:
            return ("itself",) * self.nv
        return tuple("rotation" if kind is Coordinate.ANGLE else "itself" for kind in self.coordinates)


def turning(axis: Vector) -> Part:
    """Rotation about a unit axis: S = [axis; 0]."""
    return Part(PartCode.SCREW, (Coordinate.ANGLE,), turn=axis)


def sliding(axis: Vector) -> Part:
    """Translation along a unit axis: S = [0; axis]."""
    return Part(PartCode.SCREW, (Coordinate.LENGTH,), slide=axis)


def screwing(axis: Vector, lead: float) -> Part:
    """Rotation about a unit axis with a travel of `lead` metres per radian: S = [axis; lead axis]."""
    x, y, z = axis
    return Part(PartCode.SCREW, (Coordinate.ANGLE,), turn=axis, slide=(lead * x, lead * y, lead * z))


def ball() -> Part:
    """Rotation held as a unit quaternion; its velocity is the angular velocity in the outer frame: S = [1; 0]."""
    return Part(PartCode.BALL, (Coordinate.ANGLE,) * 3)


def exponential_ball() -> Part:
    """Rotation held as a rotation vector q, its velocity is dq/dt: notes 2.4.8, (2.43)-(2.47)."""
    return Part(PartCode.EXPONENTIAL, (Coordinate.ANGLE,) * 3)


def floating() -> Part:
    """Six freedoms: position and quaternion; velocity [linear; angular], both in the inner frame."""
    return Part(PartCode.FREE, (Coordinate.LENGTH,) * 3 + (Coordinate.ANGLE,) * 3)


def shaped(shape: Shape, coordinates: Sequence[Coordinate], constants: Sequence[float], stand: Sequence[float]) -> Part:
    """Any motion that formulas describe, at the coordinates `stand` for one."""
    return Part(PartCode.GENERATED, tuple(coordinates), shape=shape, constants=tuple(constants), stand=tuple(stand))


@dataclass(frozen=True)
class Start:
    """Where a joint starts, in the numbers of its parts: q (nq,), v (nv,), and q at which its springs are relaxed."""

    q: Sequence[float]
    v: Sequence[float]
    rest: Sequence[float]


def start_of_coordinates(spec: Any) -> Start:
    """Start of a joint that is written by its coordinates themselves."""
    return Start(spec.q, spec.v, spec.rest)


def no_pads(_spec: Any) -> Sequence[Pad]:
    """Pads of a joint that knows no friction."""
    return ()


@dataclass(frozen=True)
class JointKind:
    """An entry of the catalogue of joints.

    Parameters
    ----------
    name
        The word of the scene file, `type: name`.
    spec
        What a user may write for this joint.
    parts
        The run of parts of a joint that was written so.
    start
        Where a joint that was written so starts.
    pads
        What rubs in a joint that was written so, with `friction`.
    """

    name: str
    spec: type[JointSpec]
    parts: Callable[..., Sequence[Part]]
    start: Callable[..., Start] = start_of_coordinates
    pads: Callable[..., Sequence[Pad]] = no_pads
