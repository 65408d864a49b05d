"""The parts of a joint as formulas: a sequence of steps from the joint frame of the parent to that of the link.

A step is a rigid motion (R, p): R leads from the axes of the outer frame to those of the inner frame, and p is the
outer origin in the inner frame.  Its motion subspace S is given in the outer frame.  The recursion crosses a joint of
several parts step by step, as if each part carried a massless link.  S is therefore never gathered in one frame, and
stays constant where it is constant.

Each function is called once per evaluation, and its values are stored in memory for later passes.  Arithmetic is
repeated in every pass.

Source: Si and Guenter, (9), (12); Sueda, notes 2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from multibody_cli.codegen.links import FRAME, ORIGIN, PARTS, PartStructure
from multibody_cli.codegen.rotations import AxisRotation, Rotation
from multibody_cli.codegen.runs import Site
from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.joint_map import (
    Constants,
    FactorProduct,
    JointMap,
    MapCoordinate,
    find_piece,
    map_coordinates_of,
    rates_along,
)
from multibody_cli.kernel import in_python
from multibody_cli.spatial import products, rotations
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.scalar import Scalar, Value
from multibody_cli.symbolic.script import Script

cross, dot, skew, outer = map(in_python, (products.cross, products.dot, products.skew, products.outer))
rotation_of_quaternion = in_python(rotations.rotation_of_quaternion)


class SubspaceColumn(NamedTuple):
    """A column of S in the outer frame.

    `iv` is the index of its velocity relative to the first one of the period.  `driven` marks a coordinate of
    prescribed motion.  `has_armature` marks a coordinate that may have an inertia of its own.
    """

    S: Motion
    iv: int
    driven: bool = False
    has_armature: bool = False


class JointStep(NamedTuple):
    """A rigid motion, its columns of S, their velocities, and the bias (dS/dt) v, in the outer frame."""

    R: Rotation
    p: Vec3
    columns: Sequence[SubspaceColumn] = ()
    rates: Sequence[Value] = ()
    bias: Motion = Motion(ZERO, ZERO)


STILL = Motion(ZERO, ZERO)


class Slot(NamedTuple):
    """A number in memory that belongs to one link during one evaluation."""

    kind: int
    position: int
    quantity: str
    number: int


class ConstantSlot(NamedTuple):
    """A position in the table of constants that differ from link to link; `size` consecutive numbers."""

    kind: int
    position: int
    number: int
    size: int = 1


class Emitter:
    """Emitter of the source of one link.

    It provides the constants and coordinates of the link, and the values that earlier passes stored in memory.

    Parameters
    ----------
    script
        The statements.
    site
        The link.
    reuses_joints
        Whether an earlier pass has evaluated the joint.
    known
        Constant values of memory slots; updated by `store`.
    """

    def __init__(self, script: Script, site: Site, reuses_joints: bool, known: dict[Slot, Value]) -> None:
        self.script, self.site, self._reuses_joints, self._known = script, site, reuses_joints, known
        self._cached_count = 0
        self._constants: dict[int, Value] = {}

    def constant(self, k: int) -> Value:
        """Return constant k of the link, as a literal or from the table."""
        literal = self.site.literal[k]
        if literal is not None:
            return literal
        if k not in self._constants:
            self._constants[k] = self.script.load("number", ConstantSlot(self.site.kind, self.site.position, k))
        return self._constants[k]

    def vector(self, k: int) -> Vec3:
        """Return constants k, k + 1 and k + 2 as a vector."""
        return Vec3(self.constant(k), self.constant(k + 1), self.constant(k + 2))

    def coordinate(self, k: int) -> Scalar:
        """Load position coordinate k of the link."""
        return self.script.load("q_k", at("q", "iq", self.site.iq + k))

    def rate(self, k: int) -> Scalar:
        """Load velocity k of the link."""
        return self.script.load("v_k", at("v", "iv", self.site.iv + k))

    def slot(self, quantity: str, number: int = 0) -> Slot:
        """Return a memory slot of the link."""
        return Slot(self.site.kind, self.site.position, quantity, number)

    def store(self, slot: Slot, value: Value) -> None:
        """Store a value in memory; a constant is recorded in `known` instead."""
        self._known.pop(slot, None)
        if isinstance(value, Scalar):
            self.script.store(slot, value)
        else:
            self._known[slot] = value

    def load(self, stem: str, slot: Slot) -> Value:
        """Load a value from memory, or return it where it is constant."""
        return self._known[slot] if slot in self._known else self.script.load(stem, slot)

    def cached(self, stems: Sequence[str], values: Sequence[Value]) -> list[Value]:
        """Store values that are costly to compute, or load the values that an earlier pass stored."""
        slots = [self.slot("joint", self._cached_count + k) for k in range(len(stems))]
        self._cached_count += len(stems)
        if self._reuses_joints:
            return [self.load(stem, slot) for stem, slot in zip(stems, slots, strict=True)]
        for slot, value in zip(slots, values, strict=True):
            self.store(slot, value)
        return list(values)


def at(array: str, index: str, offset: int, width: int = 1, number: int = 0) -> str:
    """Return the text of an array entry; with `width`, of entry `number` in a row of so many numbers."""
    begin = index if width == 1 else f"{width} * {index}"
    position = width * offset + number
    return f"{array}[{begin} + {position}]" if position else f"{array}[{begin}]"


# --- all steps of a joint -----------------------------------------------------------------------------------------
def steps_of(emitter: Emitter) -> list[JointStep]:
    """Return the steps from the joint frame of the parent to that of the link."""
    frame = Mat3(emitter.vector(FRAME), emitter.vector(FRAME + 3), emitter.vector(FRAME + 6))
    steps = [JointStep(frame, emitter.vector(ORIGIN))]
    iq = iv = 0
    first = PARTS
    for part in emitter.site.structure.parts:
        steps += _STEPS[part.code](emitter, part, iq, iv, first)
        iq, iv, first = iq + part.nq, iv + part.nv, first + part.constant_count
    return steps


def _columns(emitter: Emitter, part: PartStructure, iv: int, first: int, S: Sequence[Motion]) -> list[SubspaceColumn]:
    """Columns of S of a part, from its coordinate `first` on."""
    flags = zip(part.driven[first:], part.has_armature[first:], strict=True)
    base = emitter.site.iv + iv + first
    return [SubspaceColumn(s, base + k, *flag) for k, (s, flag) in enumerate(zip(S, flags, strict=False))]


def _screw(emitter: Emitter, part: PartStructure, iq: int, iv: int, first: int) -> Iterator[JointStep]:
    turn, slide, q = emitter.vector(first), emitter.vector(first + 3), emitter.coordinate(iq)
    R: Rotation = UNIT
    if turn != ZERO:
        s, c = emitter.cached(("s", "c"), emitter.script.call(("s", "c"), "sine_and_cosine", q))
        R = _rotated(turn, s, c)
    yield JointStep(R, q * slide, _columns(emitter, part, iv, 0, [Motion(turn, slide)]), [emitter.rate(iv)])


def _rotated(axis: Vec3, s: Value, c: Value) -> Rotation:
    sole = [k for k in range(3) if axis[k] != 0.0]
    if len(sole) == 1 and axis[sole[0]] in (1.0, -1.0):
        return AxisRotation(sole[0], axis[sole[0]] * s, c)
    R: Mat3 = c * UNIT + s * skew(axis) + (1.0 - c) * outer(axis, axis)
    return R


def _ball(emitter: Emitter, part: PartStructure, iq: int, iv: int, _first: int) -> Iterator[JointStep]:
    R = rotation_of_quaternion(*(emitter.coordinate(iq + k) for k in range(4)))
    angular = [Motion(e, ZERO) for e in UNIT]
    yield JointStep(R, ZERO, _columns(emitter, part, iv, 0, angular), [emitter.rate(iv + k) for k in range(3)])


def _free(emitter: Emitter, part: PartStructure, iq: int, iv: int, _first: int) -> Iterator[JointStep]:
    """Both velocities are in the axes of the inner frame: a translation, a rotation, then a change of axes."""
    p = Vec3(*(emitter.coordinate(iq + k) for k in range(3)))
    linear, angular = [Motion(ZERO, e) for e in UNIT], [Motion(e, ZERO) for e in UNIT]
    yield JointStep(UNIT, p, _columns(emitter, part, iv, 0, linear), [emitter.rate(iv + k) for k in range(3)])
    yield JointStep(UNIT, ZERO, _columns(emitter, part, iv, 3, angular), [emitter.rate(iv + 3 + k) for k in range(3)])
    yield JointStep(rotation_of_quaternion(*(emitter.coordinate(iq + 3 + k) for k in range(4))), ZERO)


def _exponential(emitter: Emitter, part: PartStructure, iq: int, iv: int, _first: int) -> Iterator[JointStep]:
    """R = 1 + (1 - c t^2) [q] + b [q]^2 and S = 1 - b [q] + c [q]^2: Sueda, notes (2.43)-(2.47)."""
    q, v = (
        Vec3(*(read(first + k) for k in range(3))) for read, first in ((emitter.coordinate, iq), (emitter.rate, iv))
    )
    t2 = emitter.script.let("square", dot(q, q))
    stems = ("b", "c", "db", "dc")
    b, c, db, dc = emitter.cached(stems, emitter.script.call(stems, "exponential_coefficients", t2))
    once = [cross(q, e) for e in UNIT]
    twice = [cross(q, one) for one in once]
    a = 1.0 - c * t2
    R = Mat3(*(e + a * x + b * xx for e, x, xx in zip(UNIT, once, twice, strict=True)))
    S = [Motion(e - b * x + c * xx, ZERO) for e, x, xx in zip(UNIT, once, twice, strict=True)]
    rate, qv = dot(q, v), cross(q, v)
    bias = (-(rate * db)) * qv + (rate * dc) * cross(q, qv) + c * cross(v, qv)
    yield JointStep(R, ZERO, _columns(emitter, part, iv, 0, S), list(v), Motion(bias, ZERO))


def _mapped(emitter: Emitter, part: PartStructure, iq: int, iv: int, first: int) -> Iterator[JointStep]:
    """Formulas of a joint map: their values are stored for later passes, because they may be costly."""
    joint_map = part.joint_map
    assert joint_map is not None
    q, v = [emitter.coordinate(iq + k) for k in range(part.nv)], [emitter.rate(iv + k) for k in range(part.nv)]
    own = ShapeConstants(emitter, first)
    coordinates, constants = (
        _piece(emitter, part, joint_map, q, first)
        if any(joint_map.pieces)
        else (map_coordinates_of(joint_map, q, q, own), own)
    )
    motion = FactorProduct(joint_map.factors(coordinates, constants)).pose_and_subspace(
        [one.along for one in coordinates]
    )
    numbers = emitter.cached(["pose"] * 12, [*motion.R.x, *motion.R.y, *motion.R.z, *motion.p])
    R, p = Mat3(*(Vec3(*numbers[k : k + 3]) for k in (0, 3, 6))), Vec3(*numbers[9:])
    rates = rates_along(coordinates, v)
    S, bias = [], STILL
    for s, rate in zip(motion.S, v, strict=True):
        bias = bias + rate * Motion(Vec3(*differentiate(s.w, rates)), Vec3(*differentiate(s.v, rates)))
        column = emitter.cached(["S"] * 6, [*s.w, *s.v])
        S.append(Motion(Vec3(*column[:3]), Vec3(*column[3:])))
    yield JointStep(R, p, _columns(emitter, part, iv, 0, S), v, bias)


def _offset(emitter: Emitter, _part: PartStructure, _iq: int, _iv: int, first: int) -> Iterator[JointStep]:
    yield JointStep(UNIT, emitter.vector(first))


class ShapeConstants(Constants):
    """The constants of a joint map among the constants of a link."""

    def __init__(self, emitter: Emitter, first: int) -> None:
        self._emitter, self._first = emitter, first

    def __getitem__(self, k: int) -> Value:
        return self._emitter.constant(self._first + k)


class TableConstants(Constants):
    """Constants in the table, from an offset that is computed at run time."""

    def __init__(self, emitter: Emitter, *begin: Scalar) -> None:
        self._emitter, self._begin = emitter, begin

    def __getitem__(self, k: int) -> Value:
        begin = " + ".join(one.text for one in self._begin)
        return self._emitter.script.load("number", f"table[{begin} + {k}]", *self._begin)


def _piece(
    emitter: Emitter, part: PartStructure, joint_map: JointMap, q: Sequence[Scalar], first: int
) -> tuple[list[MapCoordinate], Constants]:
    """Return the coordinates on the piece of a spline that contains q, and its constants."""
    block = emitter.script.load(
        "block", ConstantSlot(emitter.site.kind, emitter.site.position, first, part.constant_count)
    )

    def lines(at: str, *u: str) -> list[str]:
        return find_piece(joint_map, [one.text for one in q], u, at, lambda k: f"table[{block.text} + {k}]")

    at, *u = emitter.script.lines(["at", *["u"] * len(q)], lines, block, *q)
    return map_coordinates_of(joint_map, q, u, TableConstants(emitter, block)), TableConstants(emitter, block, at)


_STEPS: dict[PartCode, Callable[[Emitter, PartStructure, int, int, int], Iterator[JointStep]]] = {
    PartCode.SCREW: _screw,
    PartCode.BALL: _ball,
    PartCode.EXPONENTIAL: _exponential,
    PartCode.FREE: _free,
    PartCode.GENERATED: _mapped,
    PartCode.OFFSET: _offset,
}
"""Functions that yield the steps of a part, by the code of the part."""
