"""Pose and motion subspace of each body as formulas of all coordinates.

Body axes: S_i (6 x n) maps v to the twist of joint frame M_i in its own axes, V_i = S_i v.  With X the motion across a
joint, S_i = [Ad(X^-1) S_parent, S_own].

Source: Si and Guenter 2011, (6)-(9); Sueda, notes 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.errors import Refused
from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.joint_map import (
    PER_HEAD,
    Direction,
    Factor,
    FactorProduct,
    JointMap,
    KnownConstants,
    MapCoordinate,
    PoseAndSubspace,
    Shift,
    Turn,
    transposed_times,
)
from multibody_cli.kernel import in_python
from multibody_cli.model import Floats, Tree
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.rotations import rotation_of_quaternion
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.scalar import Scalar, Value, name

rotation = in_python(rotation_of_quaternion)

JointMaps = Mapping[int, JointMap]

ROUND_OFF = 1e-15
"""Relative magnitude below which a component of a vector, or a constant of a spline piece, is treated as round-off."""


class CoordinateSymbols(NamedTuple):
    """Names of positions and velocities, the direction dq/dv of each velocity, and the quaternions of q."""

    q: tuple[Scalar, ...]
    v: tuple[Scalar, ...]
    along: tuple[Direction, ...]
    quaternions: tuple[tuple[Scalar, ...], ...]


class Counts(NamedTuple):
    """Numbers of position coordinates and velocities."""

    q: int
    v: int


class Chain(NamedTuple):
    """Formulas of a tree: its coordinates, and pose and motion subspace of each body by row; row 0 is the ground."""

    coordinates: CoordinateSymbols
    bodies: tuple[PoseAndSubspace, ...]


def chain_of(tree: Tree, joint_maps: JointMaps, at: Floats) -> Chain:
    """Return the formulas of a tree.

    Parameters
    ----------
    tree
        The bodies and joints.
    joint_maps
        The formulas of generated parts, by the address of their code.
    shapes
        The formulas of generated parts, by the address of their code.
    at
        (nq,) coordinates q, which select the pieces of splines.

    Raises
    ------
    Refused
        For a rotation in exponential coordinates.
    """
    coordinates = _coordinates_of(tree)
    bodies = [PoseAndSubspace(UNIT, ZERO, tuple(Motion(ZERO, ZERO) for _ in coordinates.v))]
    for link in tree.links[1:]:
        frame = _FixedFrame(_columns(link["frame"]), vector_of(link["origin"]))
        factors: list[Factor] = [_ParentPose(bodies[link["parent"]]), frame]
        for part in tree.parts[link["first_part"] : link["last_part"]]:
            factors += _FACTORS[PartCode(part["code"])](part, tree, coordinates, joint_maps, at)
        bodies.append(FactorProduct(factors).pose_and_subspace(coordinates.along))
    return Chain(coordinates, tuple(bodies))


def body_frame(tree: Tree, chain: Chain, row: int) -> PoseAndSubspace:
    """Return pose and motion subspace of the frame of a body, which may differ from its joint frame."""
    frame = tree.frames[row]
    placed = _FixedFrame(_columns(frame["frame"]), vector_of(frame["origin"]))
    return FactorProduct([_ParentPose(chain.bodies[row]), placed]).pose_and_subspace(chain.coordinates.along)


def counts_of(tree: Tree) -> Counts:
    """Count the coordinates of tree joints; those of loop joints follow them."""
    parts = [part for link in tree.links[1:] for part in tree.parts[link["first_part"] : link["last_part"]]]
    quaternions = sum(part["code"] in (PartCode.BALL, PartCode.FREE) for part in parts)
    v = int(tree.links["nv"].sum())
    return Counts(v + quaternions, v)


def _coordinates_of(tree: Tree) -> CoordinateSymbols:
    nq, n = counts_of(tree)
    q = tuple(name(f"q{k + 1}") for k in range(nq))
    v = tuple(name(f"v{k + 1}") for k in range(n))
    along: list[dict[Scalar, Value]] = [{} for _ in v]
    for place in tree.plain[tree.plain["iv"] < n]:
        along[place["iv"]] = {q[place["iq"]]: 1.0}
    quaternions = []
    for place in tree.quaternions[tree.quaternions["iv"] < n]:
        w, x, y, z = q[place["iq"] : place["iq"] + 4]
        quaternions.append((w, x, y, z))
        side = 1.0 if place["outer"] else -1.0  # dq/dt = q (0, w) / 2 in the outer frame, (0, w) q / 2 in the inner one
        products = ((-x, w, side * z, -side * y), (-y, -side * z, w, side * x), (-z, side * y, -side * x, w))
        for j, rates in enumerate(products):
            along[place["iv"] + j] = {one: 0.5 * rate for one, rate in zip((w, x, y, z), rates, strict=True)}
    return CoordinateSymbols(q, v, tuple(along), tuple(quaternions))


# --- factors ------------------------------------------------------------------------------------------------------
class _ParentPose(NamedTuple):
    """Pose and motion subspace of the parent."""

    body: PoseAndSubspace

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Return those of the parent."""
        return self.body


class _FixedFrame(NamedTuple):
    """A frame that is fixed in the preceding one."""

    R: Mat3
    p: Vec3

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Return a fixed pose, and a motion subspace of zeros."""
        return PoseAndSubspace(self.R, self.p, tuple(Motion(ZERO, ZERO) for _ in along))


class _Ball(NamedTuple):
    """A rotation as a unit quaternion; its velocities, from index iv on, are in the outer frame."""

    quaternion: Sequence[Scalar]
    iv: int

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """S = [1; 0]."""
        own = {self.iv + j: Motion(axis, ZERO) for j, axis in enumerate(UNIT)}
        still = Motion(ZERO, ZERO)
        return PoseAndSubspace(rotation(*self.quaternion), ZERO, tuple(own.get(j, still) for j in range(len(along))))


class _Free(NamedTuple):
    """A position and a rotation; their velocities, from index iv on, are in the inner frame."""

    position: Sequence[Scalar]
    quaternion: Sequence[Scalar]
    iv: int

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """S = [[0, R^T], [R^T, 0]]."""
        R = rotation(*self.quaternion)
        rows = [transposed_times(R, axis) for axis in UNIT]
        own = {self.iv + j: Motion(ZERO, row) for j, row in enumerate(rows)}
        own |= {self.iv + 3 + j: Motion(row, ZERO) for j, row in enumerate(rows)}
        still = Motion(ZERO, ZERO)
        return PoseAndSubspace(R, Vec3(*self.position), tuple(own.get(j, still) for j in range(len(along))))


def _columns(numbers: Any) -> Mat3:
    return Mat3(*(vector_of(numbers[k : k + 3]) for k in (0, 3, 6)))


def vector_of(numbers: Any) -> Vec3:
    """Return a vector of the model without components that are round-off of the others, as of cos(90 deg)."""
    return Vec3(*_without_round_off(numbers))


def _without_round_off(numbers: Any) -> list[float]:
    threshold = ROUND_OFF * np.abs(numbers).max(initial=0.0)
    return [float(one) if abs(one) > threshold else 0.0 for one in numbers]


# --- the parts of joints ------------------------------------------------------------------------------------------
def _screw(part: Any, tree: Tree, coordinates: CoordinateSymbols, joint_maps: JointMaps, at: Floats) -> list[Factor]:
    q = coordinates.q[part["iq"]]
    turn, slide = (vector_of(part[word]) for word in ("turn", "slide"))
    factors: list[Factor] = []
    if any(turn):
        factors.append(Turn(turn, q))
    if any(slide):
        factors.append(Shift(q * slide))
    return factors


def _offset(part: Any, tree: Tree, coordinates: CoordinateSymbols, joint_maps: JointMaps, at: Floats) -> list[Factor]:
    return [Shift(vector_of(part["slide"]))]


def _ball(part: Any, tree: Tree, coordinates: CoordinateSymbols, joint_maps: JointMaps, at: Floats) -> list[Factor]:
    return [_Ball(coordinates.q[part["iq"] : part["iq"] + 4], int(part["iv"]))]


def _free(part: Any, tree: Tree, coordinates: CoordinateSymbols, joint_maps: JointMaps, at: Floats) -> list[Factor]:
    first = int(part["iq"])
    return [_Free(coordinates.q[first : first + 3], coordinates.q[first + 3 : first + 7], int(part["iv"]))]


def _exponential(
    part: Any, tree: Tree, coordinates: CoordinateSymbols, joint_maps: JointMaps, at: Floats
) -> list[Factor]:
    raise Refused(
        "the equations of a rotation in exponential coordinates are not supported: use `parametrization: quaternion` "
        "or Euler angles, as in `euler_xzx`"
    )


class SplinePiece(NamedTuple):
    """The spline piece along position coordinate iq for which the formulas hold, and the number of pieces."""

    iq: int
    lower: float
    upper: float
    place: int
    many: int


def pieces_of(tree: Tree, joint_maps: JointMaps, at: Floats) -> Iterator[SplinePiece]:
    """Yield the pieces of splines that contain the coordinates q (nq,)."""
    for link in tree.links[1:]:
        for part in tree.parts[link["first_part"] : link["last_part"]]:
            if part["code"] == PartCode.GENERATED:
                yield from _pieces(part, joint_maps[int(part["address"])], tree.constants[part["first_constant"] :], at)


def _pieces(part: Any, joint_map: JointMap, constants: Floats, at: Floats) -> Iterator[SplinePiece]:
    heads = iter(constants.tolist())
    for iq, pieces in enumerate(joint_map.pieces, int(part["iq"])):
        if pieces:
            start, per_unit, count = (next(heads) for _ in range(PER_HEAD))
            whole = math.floor(per_unit * (float(at[iq]) - start))
            within = whole if pieces.closed else min(max(whole, 0), int(count) - 1)
            yield SplinePiece(
                iq, start + within / per_unit, start + (within + 1) / per_unit, within % int(count), int(count)
            )


def _generated(
    part: Any, tree: Tree, coordinates: CoordinateSymbols, joint_maps: JointMaps, at: Floats
) -> Sequence[Factor]:
    """Factors of a joint map, on its current piece."""
    joint_map, constants = joint_maps[int(part["address"])], tree.constants[part["first_constant"] :]
    along = {piece.iq: piece for piece in _pieces(part, joint_map, constants, at)}
    map_coordinates, row, heads = [], 0, len(along)
    for iq in range(int(part["iq"]), int(part["iq"]) + len(joint_map.pieces)):
        q = coordinates.q[iq]
        way: Value = q
        if iq in along:
            piece = along[iq]
            way = (q - piece.lower) / (piece.upper - piece.lower)
            row = row * piece.many + piece.place
        map_coordinates.append(MapCoordinate(q, way, {q: 1.0}))
    first = PER_HEAD * heads + row * joint_map.stride
    known = _without_round_off(constants[first : first + joint_map.stride]) if along else constants[first:].tolist()
    return joint_map.factors(map_coordinates, KnownConstants(known))


_FACTORS: Mapping[PartCode, Callable[[Any, Tree, CoordinateSymbols, JointMaps, Floats], Sequence[Factor]]] = {
    PartCode.SCREW: _screw,
    PartCode.BALL: _ball,
    PartCode.EXPONENTIAL: _exponential,
    PartCode.FREE: _free,
    PartCode.GENERATED: _generated,
    PartCode.OFFSET: _offset,
}
