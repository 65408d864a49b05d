"""Shapes: joints that are written down as formulas of their coordinates.

A shape is a product of factors (turns, shifts, frames), each a function of the coordinates and of constants.  From
these alone come the pose, the motion subspace and its rate,

    X = X_1 X_2 ...,    S = [Ad(X_2^-1) S_1 + S_2, ...],    dS/dt = sum_j (dS/dq_j) dq_j/dt,

by exact differentiation of the formulas, written out once as source that all joints of the same shape share: what
tells them apart are their constants.

Sources: Si and Guenter 2011, (9), (12), of which any joint transform is one; Sueda, notes (2.52).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from multibody_cli.kernel import in_python
from multibody_cli.spatial import products
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.program import write_lines
from multibody_cli.symbolic.scalar import Scalar, Value, afresh, cos, name, sin

cross, dot, transposed_times = map(in_python, (products.cross, products.dot, products.transposed_times))
outer, skew = map(in_python, (products.outer, products.skew))


# --- factors ------------------------------------------------------------------------------------------------------
class Moved(NamedTuple):
    """A pose and its twist, in its own axes, by the rate of each coordinate."""

    R: Mat3
    p: Vec3
    S: tuple[Motion, ...]


Direction = Mapping[Scalar, Value]
"""How names in formulas change with one coordinate: as a rule one of them does, by 1."""


class Factor(Protocol):
    """A rigid motion that is a function of coordinates."""

    def moved(self, along: Sequence[Direction]) -> Moved:
        """Give the pose, and its twists by the rate of each coordinate."""


def derivative(a: Vec3, along: Direction) -> Vec3:
    """Derivative of a vector along a direction."""
    return Vec3(*differentiate(a, along))


class Turn(NamedTuple):
    """A rotation about a unit axis that does not change, by any angle."""

    axis: Vec3
    angle: Value

    def moved(self, along: Sequence[Direction]) -> Moved:
        """Give exp[axis angle], whose twist is the axis."""
        n, s, c = self.axis, sin(self.angle), cos(self.angle)
        axial = outer(n, n)
        R = axial + c * (UNIT - axial) + s * skew(n)
        rates = (differentiate([self.angle], one)[0] for one in along)
        return Moved(R, ZERO, tuple(Motion(rate * n, ZERO) for rate in rates))


class Shift(NamedTuple):
    """A translation."""

    by: Vec3

    def moved(self, along: Sequence[Direction]) -> Moved:
        """Give the translation."""
        return Moved(UNIT, self.by, tuple(Motion(ZERO, derivative(self.by, one)) for one in along))


class Frame(NamedTuple):
    """A frame of three orthonormal axes, at an origin."""

    R: Mat3
    p: Vec3

    def moved(self, along: Sequence[Direction]) -> Moved:
        """Read the twist from how the axes and the origin change: [w] = R^T dR."""
        return Moved(self.R, self.p, tuple(self._twist(one) for one in along))

    def _twist(self, one: Direction) -> Motion:
        x, y, z = self.R
        dx, dy, dp = (derivative(a, one) for a in (x, y, self.p))
        return Motion(Vec3(dot(z, dy), -dot(z, dx), dot(y, dx)), transposed_times(self.R, dp))


class Run(NamedTuple):
    """Factors one after the other, as one."""

    factors: Sequence[Factor]

    def moved(self, along: Sequence[Direction]) -> Moved:
        """Multiply the factors in their order."""
        R, p, S = UNIT, ZERO, tuple(Motion(ZERO, ZERO) for _ in along)
        for factor in self.factors:
            inner = factor.moved(along)
            S = tuple(_past(inner, s) + own for s, own in zip(S, inner.S, strict=True))
            p = p + R @ inner.p
            R = R @ inner.R
        return Moved(R, p, S)


def _past(inner: Moved, s: Motion) -> Motion:
    """Give Ad(X^-1) s: a twist as the frame beyond has it."""
    return Motion(transposed_times(inner.R, s.w), transposed_times(inner.R, s.v + cross(s.w, inner.p)))


class Inverse(NamedTuple):
    """The motion that undoes another one: its twist is -Ad(X) S."""

    of: Factor

    def moved(self, along: Sequence[Direction]) -> Moved:
        """Invert."""
        R, p, S = self.of.moved(along)
        back = Mat3(*(Vec3(*row) for row in zip(*R, strict=True)))
        turned = ((R @ s.w, R @ s.v) for s in S)
        return Moved(back, -(back @ p), tuple(Motion(-w, -(v + cross(p, w))) for w, v in turned))


# --- shapes -------------------------------------------------------------------------------------------------------
class Pieces(NamedTuple):
    """A coordinate along which the formulas take other constants from piece to piece.

    Where the pieces begin, how many there are to a unit of the coordinate, and how many in all stand before all
    constants, for each such coordinate.

    Parameters
    ----------
    closed
        Whether the last piece leads on to the first; otherwise the first and the last go on beyond their ends.
    """

    closed: bool = False


PER_HEAD = 3
"""Numbers that stand before the constants for each coordinate with pieces."""


class Constants(Protocol):
    """The constants of a shape, or of the piece of it that the coordinates lie in."""

    def __getitem__(self, k: int) -> Value:
        """Give number k."""

    def vector(self, k: int) -> Vec3:
        """Give three numbers from k on."""
        return Vec3(self[k], self[k + 1], self[k + 2])


class NamedConstants(Constants):
    """Constants by name: `c[k]`, or `c[at + k]` of the piece that begins `at`."""

    def __init__(self, offset: str = "") -> None:
        self._offset = offset

    def __getitem__(self, k: int) -> Value:
        """Give the name of number k."""
        return name(f"c[{self._offset}{k}]")


class KnownConstants(Constants):
    """Constants that are known."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = numbers

    def __getitem__(self, k: int) -> Value:
        """Give number k."""
        return float(self._numbers[k])


class Shape(Hashable, Protocol):
    """What joints of one shape share; two shapes that are equal are the same formulas."""

    @property
    def title(self) -> str:
        """What it is, in a few words."""

    @property
    def pieces(self) -> tuple[Pieces | None, ...]:
        """For each coordinate, whether the shape is made of pieces along it."""

    @property
    def stride(self) -> int:
        """Constants of each piece."""

    def factors(self, places: Sequence[Place], c: Constants) -> Sequence[Factor]:
        """Give the factors at the coordinates."""


class Place(NamedTuple):
    """A coordinate of a shape: its own name, that of its way through a piece from 0 to 1, and how both change."""

    q: Value
    u: Value
    along: Direction


def places_of(shape: Shape, q: Sequence[Scalar], u: Sequence[Scalar], head: Constants) -> list[Place]:
    """Give the coordinates of a shape.

    Parameters
    ----------
    shape
        The shape.
    q, u
        Names of its coordinates, and of the ways through pieces along them.
    head
        What stands before all constants.
    """
    places: list[Place] = []
    heads = 0
    for one, own, pieces in zip(q, u, shape.pieces, strict=True):
        if pieces is None:
            places.append(Place(one, one, {one: 1.0}))
        else:
            places.append(Place(one, own, {one: 1.0, own: head[PER_HEAD * heads + 1]}))
            heads += 1
    return places


def rates_along(places: Sequence[Place], v: Sequence[Scalar]) -> dict[Scalar, Value]:
    """Give the direction in which formulas change with time, at the rates v of the coordinates."""
    return {one: by * rate for place, rate in zip(places, v, strict=True) for one, by in place.along.items()}


FIRST_COLUMN, PER_COLUMN = 12, 12
"""Where the twists stand in what generated code gives: behind R by columns and p; S, then dS/dt, of each rate."""

ROOM = FIRST_COLUMN + 6 * PER_COLUMN
"""Numbers that generated code gives, at most."""


def own_places(shape: Shape) -> list[Place]:
    """Give the coordinates by the names that they have in the code of a shape."""
    q, u = ([name(word.format(k)) for k in range(len(shape.pieces))] for word in ("q[{}]", "u{}"))
    return places_of(shape, q, u, NamedConstants())


def moved(shape: Shape) -> Moved:
    """Give the pose and the twists of a shape as formulas."""
    places = own_places(shape)
    constants = NamedConstants("at + " if any(shape.pieces) else "")
    return Run(shape.factors(places, constants)).moved([place.along for place in places])


def results_of(shape: Shape) -> list[tuple[str, Value]]:
    """Give every number of the pose, of S and of dS/dt, with the place where it belongs."""
    R, p, S = moved(shape)
    rates = rates_along(own_places(shape), [name(f"v[{k}]") for k in range(len(shape.pieces))])
    numbers = [*R.x, *R.y, *R.z, *p]
    for s in S:
        numbers += [*s.w, *s.v, *differentiate([*s.w, *s.v], rates)]
    return [(f"out[{k}]", number) for k, number in enumerate(numbers)]


@lru_cache(maxsize=256)
def source_of(shape: Shape) -> str:
    """Write the function that gives pose, S and dS/dt of a shape at coordinates q, rates v and constants c."""
    q, u = ([word.format(k) for k in range(len(shape.pieces))] for word in ("q[{}]", "u{}"))
    with afresh():
        lines = [*find_piece(shape, q, u, "at", "c[{}]".format), *write_lines(results_of(shape))]
    body = "".join(f"    {line}\n" for line in lines)
    words = f'"""Pose (R by columns, p), then each column of S (angular, linear) and its rate: {shape.title}."""'
    return f"def generated(q, v, c, out):\n    {words}\n{body}"


def find_piece(shape: Shape, q: Sequence[str], u: Sequence[str], at: str, constant: Callable[[int], str]) -> list[str]:
    """Write lines that find the piece in which the coordinates lie; none where there are no pieces.

    Parameters
    ----------
    shape
        The shape.
    q, u
        Words for the coordinates, and for the ways through pieces along them.
    at
        Word for where the constants of the piece begin.
    constant
        From a number to the text of that constant.
    """
    lines = []
    along = [(k, pieces) for k, pieces in enumerate(shape.pieces) if pieces]
    for place, (k, pieces) in enumerate(along):
        start, per_unit, count = (constant(PER_HEAD * place + j) for j in range(PER_HEAD))
        lines.append(f"way{k} = {per_unit} * ({q[k]} - {start})")
        if pieces.closed:
            lines += [f"whole{k} = floor(way{k})", f"{u[k]} = way{k} - whole{k}"]
            lines.append(f"piece{k} = whole{k} - {count} * floor(whole{k} / {count})")
        else:
            lines += [f"piece{k} = min(max(floor(way{k}), 0.0), {count} - 1.0)", f"{u[k]} = way{k} - piece{k}"]
    if along:
        (first, _), *others = along
        row = f"(piece{first} * {constant(PER_HEAD + 2)} + piece{others[0][0]})" if others else f"piece{first}"
        lines.append(f"{at} = {PER_HEAD * len(along)} + {shape.stride} * int({row})")
    return lines
