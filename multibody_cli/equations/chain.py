"""Pose and motion subspace of every body as formulas of all coordinates.

Body axes: S_i (6 x n) gives the twist of joint frame M_i in its own axes, V_i = S_i v.  With X the motion across a
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
from multibody_cli.joints.shape import (
    PER_HEAD,
    Direction,
    Factor,
    KnownConstants,
    Moved,
    Place,
    Run,
    Shape,
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

Shapes = Mapping[int, Shape]

ROUND_OFF = 1e-15
"""Share of the largest number of a vector, or of the constants of a piece, up to which another one is round-off."""


class Coordinates(NamedTuple):
    """Names of all position numbers and velocities, how the former change with each of the latter, and quaternions."""

    q: tuple[Scalar, ...]
    v: tuple[Scalar, ...]
    along: tuple[Direction, ...]
    quaternions: tuple[tuple[Scalar, ...], ...]


class Counts(NamedTuple):
    """How many position numbers and velocities there are."""

    q: int
    v: int


class Chain(NamedTuple):
    """Formulas of a tree: its coordinates, and each body as moved by all of them, by row; row 0 is the ground."""

    coordinates: Coordinates
    bodies: tuple[Moved, ...]


def chain_of(tree: Tree, shapes: Shapes, at: Floats) -> Chain:
    """Write down a tree.

    Parameters
    ----------
    tree
        The bodies and joints.
    shapes
        The formulas of generated parts, by the address of their code.
    at
        Coordinates q (nq,), which say on which pieces joints of pieces are.

    Raises
    ------
    Refused
        For a rotation in exponential coordinates.
    """
    coordinates = _coordinates_of(tree)
    bodies = [Moved(UNIT, ZERO, tuple(Motion(ZERO, ZERO) for _ in coordinates.v))]
    for link in tree.links[1:]:
        frame = _Placed(_columns(link["frame"]), vector_of(link["origin"]))
        factors: list[Factor] = [_Behind(bodies[link["parent"]]), frame]
        for part in tree.parts[link["first_part"] : link["last_part"]]:
            factors += _FACTORS[PartCode(part["code"])](part, tree, coordinates, shapes, at)
        bodies.append(Run(factors).moved(coordinates.along))
    return Chain(coordinates, tuple(bodies))


def body_frame(tree: Tree, chain: Chain, row: int) -> Moved:
    """Give the frame of a body, as the scene has it, in place of its joint frame."""
    frame = tree.frames[row]
    placed = _Placed(_columns(frame["frame"]), vector_of(frame["origin"]))
    return Run([_Behind(chain.bodies[row]), placed]).moved(chain.coordinates.along)


def counts_of(tree: Tree) -> Counts:
    """Count the coordinates of joints that carry bodies; those of joints that close loops stand behind them."""
    parts = [part for link in tree.links[1:] for part in tree.parts[link["first_part"] : link["last_part"]]]
    quaternions = sum(part["code"] in (PartCode.BALL, PartCode.FREE) for part in parts)
    v = int(tree.links["nv"].sum())
    return Counts(v + quaternions, v)


def _coordinates_of(tree: Tree) -> Coordinates:
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
    return Coordinates(q, v, tuple(along), tuple(quaternions))


# --- factors ------------------------------------------------------------------------------------------------------
class _Behind(NamedTuple):
    """What is moved already."""

    body: Moved

    def moved(self, along: Sequence[Direction]) -> Moved:
        """It stays so."""
        return self.body


class _Placed(NamedTuple):
    """A frame that is fixed in the one before."""

    R: Mat3
    p: Vec3

    def moved(self, along: Sequence[Direction]) -> Moved:
        """No coordinate moves it."""
        return Moved(self.R, self.p, tuple(Motion(ZERO, ZERO) for _ in along))


class _Ball(NamedTuple):
    """A rotation held as a unit quaternion; its velocities, from number iv on, are in the outer frame."""

    quaternion: Sequence[Scalar]
    iv: int

    def moved(self, along: Sequence[Direction]) -> Moved:
        """S = [1; 0]."""
        own = {self.iv + j: Motion(axis, ZERO) for j, axis in enumerate(UNIT)}
        still = Motion(ZERO, ZERO)
        return Moved(rotation(*self.quaternion), ZERO, tuple(own.get(j, still) for j in range(len(along))))


class _Free(NamedTuple):
    """A position and a rotation whose velocities, from number iv on, are in the inner frame."""

    position: Sequence[Scalar]
    quaternion: Sequence[Scalar]
    iv: int

    def moved(self, along: Sequence[Direction]) -> Moved:
        """S = [[0, R^T], [R^T, 0]]."""
        R = rotation(*self.quaternion)
        rows = [transposed_times(R, axis) for axis in UNIT]
        own = {self.iv + j: Motion(ZERO, row) for j, row in enumerate(rows)}
        own |= {self.iv + 3 + j: Motion(row, ZERO) for j, row in enumerate(rows)}
        still = Motion(ZERO, ZERO)
        return Moved(R, Vec3(*self.position), tuple(own.get(j, still) for j in range(len(along))))


def _columns(numbers: Any) -> Mat3:
    return Mat3(*(vector_of(numbers[k : k + 3]) for k in (0, 3, 6)))


def vector_of(numbers: Any) -> Vec3:
    """A vector of a model, without components that are round-off of the others, as of cos(90 deg)."""
    return Vec3(*_cleared(numbers))


def _cleared(numbers: Any) -> list[float]:
    least = ROUND_OFF * np.abs(numbers).max(initial=0.0)
    return [float(one) if abs(one) > least else 0.0 for one in numbers]


# --- the parts of joints ------------------------------------------------------------------------------------------
def _screw(part: Any, tree: Tree, coordinates: Coordinates, shapes: Shapes, at: Floats) -> list[Factor]:
    q = coordinates.q[part["iq"]]
    turn, slide = (vector_of(part[word]) for word in ("turn", "slide"))
    factors: list[Factor] = []
    if any(turn):
        factors.append(Turn(turn, q))
    if any(slide):
        factors.append(Shift(q * slide))
    return factors


def _ball(part: Any, tree: Tree, coordinates: Coordinates, shapes: Shapes, at: Floats) -> list[Factor]:
    return [_Ball(coordinates.q[part["iq"] : part["iq"] + 4], int(part["iv"]))]


def _free(part: Any, tree: Tree, coordinates: Coordinates, shapes: Shapes, at: Floats) -> list[Factor]:
    first = int(part["iq"])
    return [_Free(coordinates.q[first : first + 3], coordinates.q[first + 3 : first + 7], int(part["iv"]))]


def _exponential(part: Any, tree: Tree, coordinates: Coordinates, shapes: Shapes, at: Floats) -> list[Factor]:
    raise Refused(
        "the equations of a rotation in exponential coordinates have no short form: take `parametrization: quaternion` "
        "or `euler_xzx`"
    )


class Piece(NamedTuple):
    """Of the pieces of a joint along position number iq, the one that formulas hold for, and how many there are."""

    iq: int
    lower: float
    upper: float
    place: int
    many: int


def pieces_of(tree: Tree, shapes: Shapes, at: Floats) -> Iterator[Piece]:
    """Give the pieces on which joints of pieces are at coordinates q (nq,)."""
    for link in tree.links[1:]:
        for part in tree.parts[link["first_part"] : link["last_part"]]:
            if part["code"] == PartCode.GENERATED:
                yield from _pieces(part, shapes[int(part["address"])], tree.constants[part["first_constant"] :], at)


def _pieces(part: Any, shape: Shape, constants: Floats, at: Floats) -> Iterator[Piece]:
    heads = iter(constants.tolist())
    for iq, pieces in enumerate(shape.pieces, int(part["iq"])):
        if pieces:
            start, per_unit, count = (next(heads) for _ in range(PER_HEAD))
            whole = math.floor(per_unit * (float(at[iq]) - start))
            within = whole if pieces.closed else min(max(whole, 0), int(count) - 1)
            yield Piece(iq, start + within / per_unit, start + (within + 1) / per_unit, within % int(count), int(count))


def _generated(part: Any, tree: Tree, coordinates: Coordinates, shapes: Shapes, at: Floats) -> Sequence[Factor]:
    """The formulas of a shape, on the piece where it is."""
    shape, constants = shapes[int(part["address"])], tree.constants[part["first_constant"] :]
    along = {piece.iq: piece for piece in _pieces(part, shape, constants, at)}
    places, row, heads = [], 0, len(along)
    for iq in range(int(part["iq"]), int(part["iq"]) + len(shape.pieces)):
        q = coordinates.q[iq]
        way: Value = q
        if iq in along:
            piece = along[iq]
            way = (q - piece.lower) / (piece.upper - piece.lower)
            row = row * piece.many + piece.place
        places.append(Place(q, way, {q: 1.0}))
    first = PER_HEAD * heads + row * shape.stride
    known = _cleared(constants[first : first + shape.stride]) if along else constants[first:].tolist()
    return shape.factors(places, KnownConstants(known))


_FACTORS: Mapping[PartCode, Callable[[Any, Tree, Coordinates, Shapes, Floats], Sequence[Factor]]] = {
    PartCode.SCREW: _screw,
    PartCode.BALL: _ball,
    PartCode.EXPONENTIAL: _exponential,
    PartCode.FREE: _free,
    PartCode.GENERATED: _generated,
}
