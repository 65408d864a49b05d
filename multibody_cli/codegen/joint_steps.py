"""The parts of a joint as formulas: steps from the frame of the parent's joint to that of the link's own.

A step is a rigid motion (R, p), from the axes of its outer frame to those of the inner one and with the outer origin
at p in the inner frame, and the columns of its motion subspace S in the outer frame.  A joint of many parts is crossed
step by step, as if each part carried a link without mass: so S need not be gathered in one frame, and stays constant
where it is constant.

Functions are called once, and arithmetic is done again in every pass: what lies in memory between passes is what
functions gave.

Source: Si and Guenter, (9), (12); Sueda, notes 2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from multibody_cli.codegen.links import FRAME, ORIGIN, PARTS, PartStructure
from multibody_cli.codegen.rotations import About, Rotation
from multibody_cli.codegen.runs import Site
from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.shape import Constants, Place, Run, Shape, find_piece, places_of, rates_along
from multibody_cli.kernel import in_python
from multibody_cli.spatial import products, rotations
from multibody_cli.spatial.products import UNIT, ZERO
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.scalar import Scalar, Value
from multibody_cli.symbolic.script import Script

cross, dot, skew, outer = map(in_python, (products.cross, products.dot, products.skew, products.outer))
rotation_of_quaternion = in_python(rotations.rotation_of_quaternion)


class Column(NamedTuple):
    """A column of S in the outer frame, and its coordinate behind the first one of the period; how that moves."""

    S: Motion
    iv: int
    driven: bool = False
    armed: bool = False


class Step(NamedTuple):
    """A rigid motion, its columns, their rates, and the bias (dS/dt) v, in the outer frame."""

    R: Rotation
    p: Vec3
    columns: Sequence[Column] = ()
    rates: Sequence[Value] = ()
    bias: Motion = Motion(ZERO, ZERO)


STILL = Motion(ZERO, ZERO)


class Slot(NamedTuple):
    """A place in memory that belongs to one link, for as long as an evaluation takes."""

    kind: int
    position: int
    what: str
    number: int


class Entry(NamedTuple):
    """A place in the table of numbers that differ from link to link; of many numbers, where they begin."""

    kind: int
    position: int
    number: int
    size: int = 1


class Desk:
    """Where the text of one link is written: what the link has, and what an earlier pass has left in memory.

    Parameters
    ----------
    script
        The statements.
    site
        The link.
    again
        Whether an earlier pass has crossed the joint already.
    known
        The values in memory that are constant, as far as that is known; what is kept here is noted there.
    """

    def __init__(self, script: Script, site: Site, again: bool, known: dict[Slot, Value]) -> None:
        self.script, self.site, self._again, self._known = script, site, again, known
        self._kept = 0
        self._numbers: dict[int, Value] = {}

    def number(self, k: int) -> Value:
        """Give a number of the link, as it is or from the table."""
        literal = self.site.literal[k]
        if literal is not None:
            return literal
        if k not in self._numbers:
            self._numbers[k] = self.script.fetch("number", Entry(self.site.kind, self.site.position, k))
        return self._numbers[k]

    def vector(self, k: int) -> Vec3:
        """Three numbers from k on."""
        return Vec3(self.number(k), self.number(k + 1), self.number(k + 2))

    def coordinate(self, k: int) -> Scalar:
        """Read a position number of the link."""
        return self.script.fetch("q_k", at("q", "iq", self.site.iq + k))

    def rate(self, k: int) -> Scalar:
        """Read a velocity of the link."""
        return self.script.fetch("v_k", at("v", "iv", self.site.iv + k))

    def slot(self, what: str, number: int = 0) -> Slot:
        """Give a place in memory."""
        return Slot(self.site.kind, self.site.position, what, number)

    def keep(self, slot: Slot, value: Value) -> None:
        """Leave a value in memory, unless it is constant."""
        self._known.pop(slot, None)
        if isinstance(value, Scalar):
            self.script.put(slot, value)
        else:
            self._known[slot] = value

    def recall(self, stem: str, slot: Slot) -> Value:
        """Take a value from memory."""
        return self._known[slot] if slot in self._known else self.script.fetch(stem, slot)

    def kept(self, stems: Sequence[str], values: Sequence[Value]) -> list[Value]:
        """Keep values that are costly to find, or take what an earlier pass has kept of them."""
        slots = [self.slot("joint", self._kept + k) for k in range(len(stems))]
        self._kept += len(stems)
        if self._again:
            return [self.recall(stem, slot) for stem, slot in zip(stems, slots, strict=True)]
        for slot, value in zip(slots, values, strict=True):
            self.keep(slot, value)
        return list(values)


def at(array: str, index: str, offset: int, width: int = 1, number: int = 0) -> str:
    """Write an entry of an array, or a number of one that is `width` numbers wide."""
    begin = index if width == 1 else f"{width} * {index}"
    behind = width * offset + number
    return f"{array}[{begin} + {behind}]" if behind else f"{array}[{begin}]"


# --- all steps of a joint -----------------------------------------------------------------------------------------
def steps_of(desk: Desk) -> list[Step]:
    """Give the steps from the parent's joint frame to the link's own."""
    frame = Mat3(desk.vector(FRAME), desk.vector(FRAME + 3), desk.vector(FRAME + 6))
    steps = [Step(frame, desk.vector(ORIGIN))]
    iq = iv = 0
    first = PARTS
    for part in desk.site.structure.parts:
        steps += _CROSSINGS[part.code](desk, part, iq, iv, first)
        iq, iv, first = iq + part.nq, iv + part.nv, first + part.numbers
    return steps


def _columns(desk: Desk, part: PartStructure, iv: int, first: int, S: Sequence[Motion]) -> list[Column]:
    """Columns of a part from its coordinate `first` on."""
    flags = zip(part.driven[first:], part.armed[first:], strict=True)
    base = desk.site.iv + iv + first
    return [Column(s, base + k, *flag) for k, (s, flag) in enumerate(zip(S, flags, strict=False))]


def _screw(desk: Desk, part: PartStructure, iq: int, iv: int, first: int) -> Iterator[Step]:
    turn, slide, q = desk.vector(first), desk.vector(first + 3), desk.coordinate(iq)
    R: Rotation = UNIT
    if turn != ZERO:
        s, c = desk.kept(("s", "c"), desk.script.call(("s", "c"), "sine_and_cosine", q))
        R = _turned(turn, s, c)
    yield Step(R, q * slide, _columns(desk, part, iv, 0, [Motion(turn, slide)]), [desk.rate(iv)])


def _turned(axis: Vec3, s: Value, c: Value) -> Rotation:
    sole = [k for k in range(3) if axis[k] != 0.0]
    if len(sole) == 1 and axis[sole[0]] in (1.0, -1.0):
        return About(sole[0], axis[sole[0]] * s, c)
    R: Mat3 = c * UNIT + s * skew(axis) + (1.0 - c) * outer(axis, axis)
    return R


def _ball(desk: Desk, part: PartStructure, iq: int, iv: int, _first: int) -> Iterator[Step]:
    R = rotation_of_quaternion(*(desk.coordinate(iq + k) for k in range(4)))
    turns = [Motion(e, ZERO) for e in UNIT]
    yield Step(R, ZERO, _columns(desk, part, iv, 0, turns), [desk.rate(iv + k) for k in range(3)])


def _free(desk: Desk, part: PartStructure, iq: int, iv: int, _first: int) -> Iterator[Step]:
    """Both velocities are in the axes of the inner frame: a step that slides, one that turns, and a change of axes."""
    p = Vec3(*(desk.coordinate(iq + k) for k in range(3)))
    slides, turns = [Motion(ZERO, e) for e in UNIT], [Motion(e, ZERO) for e in UNIT]
    yield Step(UNIT, p, _columns(desk, part, iv, 0, slides), [desk.rate(iv + k) for k in range(3)])
    yield Step(UNIT, ZERO, _columns(desk, part, iv, 3, turns), [desk.rate(iv + 3 + k) for k in range(3)])
    yield Step(rotation_of_quaternion(*(desk.coordinate(iq + 3 + k) for k in range(4))), ZERO)


def _exponential(desk: Desk, part: PartStructure, iq: int, iv: int, _first: int) -> Iterator[Step]:
    """R = 1 + (1 - c t^2) [q] + b [q]^2 and S = 1 - b [q] + c [q]^2: Sueda, notes (2.43)-(2.47)."""
    q, v = (Vec3(*(read(first + k) for k in range(3))) for read, first in ((desk.coordinate, iq), (desk.rate, iv)))
    t2 = desk.script.let("square", dot(q, q))
    stems = ("b", "c", "db", "dc")
    b, c, db, dc = desk.kept(stems, desk.script.call(stems, "exponential_coefficients", t2))
    once = [cross(q, e) for e in UNIT]
    twice = [cross(q, one) for one in once]
    a = 1.0 - c * t2
    R = Mat3(*(e + a * x + b * xx for e, x, xx in zip(UNIT, once, twice, strict=True)))
    S = [Motion(e - b * x + c * xx, ZERO) for e, x, xx in zip(UNIT, once, twice, strict=True)]
    rate, qv = dot(q, v), cross(q, v)
    bias = (-(rate * db)) * qv + (rate * dc) * cross(q, qv) + c * cross(v, qv)
    yield Step(R, ZERO, _columns(desk, part, iv, 0, S), list(v), Motion(bias, ZERO))


def _shaped(desk: Desk, part: PartStructure, iq: int, iv: int, first: int) -> Iterator[Step]:
    """What formulas of a shape give is kept as it is: formulas may be anything."""
    shape = part.shape
    assert shape is not None
    q, v = [desk.coordinate(iq + k) for k in range(part.nv)], [desk.rate(iv + k) for k in range(part.nv)]
    own = ShapeNumbers(desk, first)
    places, constants = _piece(desk, part, shape, q, first) if any(shape.pieces) else (places_of(shape, q, q, own), own)
    moved = Run(shape.factors(places, constants)).moved([place.along for place in places])
    numbers = desk.kept(["pose"] * 12, [*moved.R.x, *moved.R.y, *moved.R.z, *moved.p])
    R, p = Mat3(*(Vec3(*numbers[k : k + 3]) for k in (0, 3, 6))), Vec3(*numbers[9:])
    rates = rates_along(places, v)
    S, bias = [], STILL
    for s, rate in zip(moved.S, v, strict=True):
        bias = bias + rate * Motion(Vec3(*differentiate(s.w, rates)), Vec3(*differentiate(s.v, rates)))
        column = desk.kept(["S"] * 6, [*s.w, *s.v])
        S.append(Motion(Vec3(*column[:3]), Vec3(*column[3:])))
    yield Step(R, p, _columns(desk, part, iv, 0, S), v, bias)


class ShapeNumbers(Constants):
    """The constants of a shape among the numbers of a link."""

    def __init__(self, desk: Desk, first: int) -> None:
        self._desk, self._first = desk, first

    def __getitem__(self, k: int) -> Value:
        return self._desk.number(self._first + k)


class TableNumbers(Constants):
    """Constants in the table, from a place on that may be found as the function runs."""

    def __init__(self, desk: Desk, *begin: Scalar) -> None:
        self._desk, self._begin = desk, begin

    def __getitem__(self, k: int) -> Value:
        begin = " + ".join(one.text for one in self._begin)
        return self._desk.script.fetch("number", f"table[{begin} + {k}]", *self._begin)


def _piece(
    desk: Desk, part: PartStructure, shape: Shape, q: Sequence[Scalar], first: int
) -> tuple[list[Place], Constants]:
    """Find the piece that the coordinates lie in."""
    block = desk.script.fetch("block", Entry(desk.site.kind, desk.site.position, first, part.numbers))

    def lines(at: str, *u: str) -> list[str]:
        return find_piece(shape, [one.text for one in q], u, at, lambda k: f"table[{block.text} + {k}]")

    at, *u = desk.script.lines(["at", *["u"] * len(q)], lines, block, *q)
    return places_of(shape, q, u, TableNumbers(desk, block)), TableNumbers(desk, block, at)


_CROSSINGS: dict[PartCode, Callable[[Desk, PartStructure, int, int, int], Iterator[Step]]] = {
    PartCode.SCREW: _screw,
    PartCode.BALL: _ball,
    PartCode.EXPONENTIAL: _exponential,
    PartCode.FREE: _free,
    PartCode.GENERATED: _shaped,
}
"""From the code of a part to its steps."""
