"""Joint maps: joints defined by formulas of their coordinates.

A joint map is a product of factors (rotations, translations, frames), each a function of the coordinates and of
constants.  These define the pose, the motion subspace and its rate,

    X = X_1 X_2 ...,    S = [Ad(X_2^-1) S_1 + S_2, ...],    dS/dt = sum_j (dS/dq_j) dq_j/dt,

by exact differentiation of the formulas.  All joints with the same joint map share the generated source; only their
constants differ.

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
from multibody_cli.symbolic.scalar import Scalar, Value, cos, fresh_graph, name, sin

cross, dot, transposed_times = map(in_python, (products.cross, products.dot, products.transposed_times))
outer, skew = map(in_python, (products.outer, products.skew))


# --- factors ------------------------------------------------------------------------------------------------------
class PoseAndSubspace(NamedTuple):
    """Pose (R, p), and the columns of the motion subspace S in its own axes."""

    R: Mat3
    p: Vec3
    S: tuple[Motion, ...]


Direction = Mapping[Scalar, Value]
"""Derivatives of the names in formulas along one direction; for one coordinate: 1 for its own name."""


class Factor(Protocol):
    """A rigid transform that is a function of coordinates."""

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Return the pose, and its twist along each direction."""


def derivative(a: Vec3, along: Direction) -> Vec3:
    """Return the derivative of a vector along a direction."""
    return Vec3(*differentiate(a, along))


class Turn(NamedTuple):
    """A rotation by any angle about a constant unit axis."""

    axis: Vec3
    angle: Value

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Return exp[axis angle], whose twist is the axis."""
        n, s, c = self.axis, sin(self.angle), cos(self.angle)
        axial = outer(n, n)
        R = axial + c * (UNIT - axial) + s * skew(n)
        rates = (differentiate([self.angle], one)[0] for one in along)
        return PoseAndSubspace(R, ZERO, tuple(Motion(rate * n, ZERO) for rate in rates))


class Shift(NamedTuple):
    """A translation."""

    by: Vec3

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Return the translation."""
        return PoseAndSubspace(UNIT, self.by, tuple(Motion(ZERO, derivative(self.by, one)) for one in along))


class Frame(NamedTuple):
    """A frame: three orthonormal axes, and an origin."""

    R: Mat3
    p: Vec3

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Return the twist from the derivatives of axes and origin: [w] = R^T dR."""
        return PoseAndSubspace(self.R, self.p, tuple(self._twist(one) for one in along))

    def _twist(self, one: Direction) -> Motion:
        x, y, z = self.R
        dx, dy, dp = (derivative(a, one) for a in (x, y, self.p))
        return Motion(Vec3(dot(z, dy), -dot(z, dx), dot(y, dx)), transposed_times(self.R, dp))


class FactorProduct(NamedTuple):
    """A product of factors."""

    factors: Sequence[Factor]

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Multiply the factors in order."""
        R, p, S = UNIT, ZERO, tuple(Motion(ZERO, ZERO) for _ in along)
        for factor in self.factors:
            inner = factor.pose_and_subspace(along)
            S = tuple(_past(inner, s) + own for s, own in zip(S, inner.S, strict=True))
            p = p + R @ inner.p
            R = R @ inner.R
        return PoseAndSubspace(R, p, S)


def _past(inner: PoseAndSubspace, s: Motion) -> Motion:
    """Return Ad(X^-1) s: a twist referred to the next frame."""
    return Motion(transposed_times(inner.R, s.w), transposed_times(inner.R, s.v + cross(s.w, inner.p)))


class Inverse(NamedTuple):
    """The inverse of a factor: its twist is -Ad(X) S."""

    of: Factor

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Invert."""
        R, p, S = self.of.pose_and_subspace(along)
        back = Mat3(*(Vec3(*row) for row in zip(*R, strict=True)))
        turned = ((R @ s.w, R @ s.v) for s in S)
        return PoseAndSubspace(back, -(back @ p), tuple(Motion(-w, -(v + cross(p, w))) for w, v in turned))


# --- shapes -------------------------------------------------------------------------------------------------------
class Pieces(NamedTuple):
    """A coordinate along which the formulas have different constants from piece to piece.

    Three numbers per such coordinate precede all constants: the start of the first piece, the number of pieces per unit
    of the coordinate, and the number of pieces.

    Parameters
    ----------
    closed
        Whether the last piece is followed by the first; otherwise the first and the last piece extrapolate.
    """

    closed: bool = False


PER_HEAD = 3
"""Leading numbers for each coordinate with pieces."""


class Constants(Protocol):
    """The constants of a joint map, or of its piece at the coordinates."""

    def __getitem__(self, k: int) -> Value:
        """Return number k."""

    def vector(self, k: int) -> Vec3:
        """Return three numbers from k on."""
        return Vec3(self[k], self[k + 1], self[k + 2])


class NamedConstants(Constants):
    """Symbolic constants: `c[k]`, or `c[at + k]` of the piece whose constants begin `at`."""

    def __init__(self, offset: str = "") -> None:
        self._offset = offset

    def __getitem__(self, k: int) -> Value:
        """Return the name of number k."""
        return name(f"c[{self._offset}{k}]")


class KnownConstants(Constants):
    """Numeric constants."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = numbers

    def __getitem__(self, k: int) -> Value:
        """Return number k."""
        return float(self._numbers[k])


class JointMap(Hashable, Protocol):
    """A joint map; equal joint maps have the same formulas."""

    @property
    def title(self) -> str:
        """Short description."""

    @property
    def pieces(self) -> tuple[Pieces | None, ...]:
        """For each coordinate, its pieces, if any."""

    @property
    def stride(self) -> int:
        """Number of constants of each piece."""

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """Return the factors at the coordinates."""


class MapCoordinate(NamedTuple):
    """A coordinate of a joint map: its name q, its name u in [0, 1] within a piece, and their derivatives along it."""

    q: Value
    u: Value
    along: Direction


def map_coordinates_of(
    joint_map: JointMap, q: Sequence[Scalar], u: Sequence[Scalar], head: Constants
) -> list[MapCoordinate]:
    """Return the coordinates of a joint map.

    Parameters
    ----------
    joint_map
        The joint map.
    q, u
        Names of its coordinates, and of the local coordinates within pieces.
    head
        The leading constants.
    """
    map_coordinates: list[MapCoordinate] = []
    heads = 0
    for one, own, pieces in zip(q, u, joint_map.pieces, strict=True):
        if pieces is None:
            map_coordinates.append(MapCoordinate(one, one, {one: 1.0}))
        else:
            map_coordinates.append(MapCoordinate(one, own, {one: 1.0, own: head[PER_HEAD * heads + 1]}))
            heads += 1
    return map_coordinates


def rates_along(map_coordinates: Sequence[MapCoordinate], v: Sequence[Scalar]) -> dict[Scalar, Value]:
    """Return the derivatives of names with respect to time, at the rates v of the coordinates."""
    return {
        one: by * rate
        for map_coordinate, rate in zip(map_coordinates, v, strict=True)
        for one, by in map_coordinate.along.items()
    }


FIRST_COLUMN, PER_COLUMN = 12, 12
"""Index and size of the twists in the output of generated code: R by columns, p, then S and dS/dt of each rate."""

MAX_OUTPUTS = FIRST_COLUMN + 6 * PER_COLUMN
"""Maximum number of outputs of generated code."""


def own_map_coordinates(joint_map: JointMap) -> list[MapCoordinate]:
    """Return the coordinates by their names in generated code."""
    q, u = ([name(word.format(k)) for k in range(len(joint_map.pieces))] for word in ("q[{}]", "u{}"))
    return map_coordinates_of(joint_map, q, u, NamedConstants())


def pose_and_subspace(joint_map: JointMap) -> PoseAndSubspace:
    """Return the pose and the motion subspace of a joint map as formulas."""
    map_coordinates = own_map_coordinates(joint_map)
    constants = NamedConstants("at + " if any(joint_map.pieces) else "")
    return FactorProduct(joint_map.factors(map_coordinates, constants)).pose_and_subspace(
        [map_coordinate.along for map_coordinate in map_coordinates]
    )


def results_of(joint_map: JointMap) -> list[tuple[str, Value]]:
    """Return every number of the pose, of S and of dS/dt, with its output index."""
    R, p, S = pose_and_subspace(joint_map)
    rates = rates_along(own_map_coordinates(joint_map), [name(f"v[{k}]") for k in range(len(joint_map.pieces))])
    numbers = [*R.x, *R.y, *R.z, *p]
    for s in S:
        numbers += [*s.w, *s.v, *differentiate([*s.w, *s.v], rates)]
    return [(f"out[{k}]", number) for k, number in enumerate(numbers)]


@lru_cache(maxsize=256)
def source_of(joint_map: JointMap) -> str:
    """Return the source of the function that computes pose, S and dS/dt from q, rates v and constants c."""
    q, u = ([word.format(k) for k in range(len(joint_map.pieces))] for word in ("q[{}]", "u{}"))
    with fresh_graph():
        lines = [*find_piece(joint_map, q, u, "at", "c[{}]".format), *write_lines(results_of(joint_map))]
    body = "".join(f"    {line}\n" for line in lines)
    words = f'"""Pose (R by columns, p), then each column of S (angular, linear) and its rate: {joint_map.title}."""'
    return f"def generated(q, v, c, out):\n    {words}\n{body}"


def find_piece(
    joint_map: JointMap, q: Sequence[str], u: Sequence[str], at: str, constant: Callable[[int], str]
) -> list[str]:
    """Return source lines that find the piece at the coordinates; none for a joint map without pieces.

    Parameters
    ----------
    joint_map
        The joint map.
    q, u
        Names of the coordinates, and of the local coordinates within pieces.
    at
        Name of the index of the first constant of the piece.
    constant
        Function from a number to the text of that constant.
    """
    lines = []
    along = [(k, pieces) for k, pieces in enumerate(joint_map.pieces) if pieces]
    for map_coordinate, (k, pieces) in enumerate(along):
        start, per_unit, count = (constant(PER_HEAD * map_coordinate + j) for j in range(PER_HEAD))
        lines.append(f"way{k} = {per_unit} * ({q[k]} - {start})")
        if pieces.closed:
            lines += [f"whole{k} = floor(way{k})", f"{u[k]} = way{k} - whole{k}"]
            lines.append(f"piece{k} = whole{k} - {count} * floor(whole{k} / {count})")
        else:
            lines += [f"piece{k} = min(max(floor(way{k}), 0.0), {count} - 1.0)", f"{u[k]} = way{k} - piece{k}"]
    if along:
        (first, _), *others = along
        row = f"(piece{first} * {constant(PER_HEAD + 2)} + piece{others[0][0]})" if others else f"piece{first}"
        lines.append(f"{at} = {PER_HEAD * len(along)} + {joint_map.stride} * int({row})")
    return lines
