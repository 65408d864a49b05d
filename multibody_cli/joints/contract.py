"""Contract of joints: the specification that every joint and every method relies on.

A joint connects the frame F, fixed in the parent body, to the frame M, fixed in the child body.  It is a *sequence of
parts*, multiplied in order, and each part defines three functions of its own coordinates:

    pose        X(q), the pose of the part's outer frame in its inner frame,
    subspace    S(q), the motion subspace: the twist across the part is S(q) v, in the outer frame,
    bias        c = (dS/dt) v, in the outer frame.

All other joint quantities are derived from these.  A universal, planar or free2d joint is therefore data, not code, and
`fixed` is the empty sequence.

A part has `nq` position numbers and `nv` velocities; they differ only for rotations stored as unit quaternions (nq = nv
+ 1).  Users read and write the `nv` *coordinates*: a rotation is reported as a rotation vector.  See `docs/adr` for the
choice.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from multibody_cli.immutable import Immutable
from multibody_cli.joints.coordinate_fields import Coordinate as Coordinate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from multibody_cli.joints.friction import FrictionPatch
    from multibody_cli.joints.joint_map import JointMap
    from multibody_cli.joints.spec import JointSpec

Vector = tuple[float, float, float]


class PartCode(IntEnum):
    """Number of the kind of a part, for kernels."""

    SCREW = 0
    BALL = 1
    EXPONENTIAL = 2
    FREE = 3
    GENERATED = 4
    OFFSET = 5


class Part(Immutable):
    """One part of a joint: its kind, its constants and the kinds of its coordinates.

    Parameters
    ----------
    code
        Kind of the part.
    coordinates
        One entry for each velocity of the part.
    turn, slide
        Constants of a screw: angular and linear velocity per unit of the coordinate, in the part's frame
        (rad and m per rad, or m per m).  Of an offset, `slide` is the displacement, m.  Zero for the other kinds.
    joint_map, constants
        Formulas of a generated part, and their constants.
    regular_coordinates
        Coordinates at which a generated part is regular.
    """

    code: PartCode
    coordinates: tuple[Coordinate, ...]
    turn: Vector = (0.0, 0.0, 0.0)
    slide: Vector = (0.0, 0.0, 0.0)
    joint_map: JointMap | None = None
    constants: tuple[float, ...] = ()
    regular_coordinates: tuple[float, ...] = ()

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.coordinates)

    @property
    def nq(self) -> int:
        """Number of position numbers: one more than velocities for a quaternion."""
        return self.nv + (self.code in (PartCode.BALL, PartCode.FREE))

    @property
    def same(self) -> tuple[str, ...]:
        """For each coordinate, which other values describe the same pose: those a full turn away, or none."""
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
    """Rotation about a unit axis with a translation of `lead` metres per radian: S = [axis; lead axis]."""
    x, y, z = axis
    return Part(PartCode.SCREW, (Coordinate.ANGLE,), turn=axis, slide=(lead * x, lead * y, lead * z))


def ball() -> Part:
    """Rotation stored as a unit quaternion; its velocity is the angular velocity in the outer frame: S = [1; 0]."""
    return Part(PartCode.BALL, (Coordinate.ANGLE,) * 3)


def exponential_ball() -> Part:
    """Rotation stored as a rotation vector q, its velocity is dq/dt: notes 2.4.8, (2.43)-(2.47)."""
    return Part(PartCode.EXPONENTIAL, (Coordinate.ANGLE,) * 3)


def floating() -> Part:
    """Six degrees of freedom: position and quaternion; velocity [linear; angular], both in the inner frame."""
    return Part(PartCode.FREE, (Coordinate.LENGTH,) * 3 + (Coordinate.ANGLE,) * 3)


def offset(displacement: Vector) -> Part:
    """Constant displacement between two other parts, m: no coordinates, S is empty."""
    return Part(PartCode.OFFSET, (), slide=displacement)


def generated_part(
    joint_map: JointMap,
    coordinates: Sequence[Coordinate],
    constants: Sequence[float],
    regular_coordinates: Sequence[float],
) -> Part:
    """Any motion given by formulas, regular at the coordinates `regular_coordinates`."""
    return Part(
        PartCode.GENERATED,
        tuple(coordinates),
        joint_map=joint_map,
        constants=tuple(constants),
        regular_coordinates=tuple(regular_coordinates),
    )


def numbers_of(parts: Iterable[Part]) -> tuple[int, ...]:
    """Return the index in q of each coordinate that is a number of its own; of a rotation, those in its quaternion."""
    numbers: list[int] = []
    iq = 0
    for part in parts:
        numbers += range(iq, iq + part.nv)
        iq += part.nq
    return tuple(numbers)


class JointStart(Immutable):
    """Initial state of a joint, in the numbers of its parts: q (nq,), v (nv,), and the rest position of its springs."""

    q: Sequence[float]
    v: Sequence[float]
    rest: Sequence[float]


def start_of_coordinates(spec: Any) -> JointStart:
    """Return the initial state of a joint whose coordinates are given directly."""
    return JointStart(spec.q, spec.v, spec.rest)


class JointKind(Immutable):
    """An entry of the catalogue of joints.

    Parameters
    ----------
    name
        The word of the scene file, `type: name`.
    spec
        The fields of this joint in a scene file.
    parts
        Function from the fields to the parts.
    start
        Function from the fields to the initial state.
    friction_patches
        Function from the fields, with `friction`, to the friction patches.
    """

    name: str
    spec: type[JointSpec]
    parts: Callable[..., Sequence[Part]]
    start: Callable[..., JointStart] = start_of_coordinates
    friction_patches: Callable[..., Sequence[FrictionPatch]] = lambda _spec: ()
