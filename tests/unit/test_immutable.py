"""`Immutable` against `dataclass(frozen=True)`, which defines the behavior of its classes."""

import dataclasses
import pickle
from functools import cached_property
from typing import ClassVar, NamedTuple

import pytest

from multibody_cli.immutable import Immutable, asdict, replace


class Pair(NamedTuple):
    left: object
    right: object


class Point(Immutable):
    KIND: ClassVar[str] = "point"
    name: str
    position: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def norm(self) -> float:
        return abs(self.position[0]) + abs(self.position[1])


@dataclasses.dataclass(frozen=True)
class StandardPoint:
    KIND: ClassVar[str] = "point"
    name: str
    position: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def norm(self) -> float:
        return abs(self.position[0]) + abs(self.position[1])


class Particle(Point):
    mass: float = 1.0
    name: str = "unnamed"
    law: object = abs


@dataclasses.dataclass(frozen=True)
class StandardParticle(StandardPoint):
    mass: float = 1.0
    name: str = "unnamed"
    law: object = abs


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        (("a",), {}),
        (("a", (1.0, 2.0)), {}),
        ((), {"position": (3.0, 4.0), "name": "b"}),
        (("a",), {"name": "b"}),
        (("a",), {"colour": "red"}),
        ((), {"colour": "red"}),
        (("a", (0.0, 0.0), 3.0, 4.0, 5.0), {}),
    ],
)
@pytest.mark.parametrize(("own", "standard"), [(Point, StandardPoint), (Particle, StandardParticle)])
def test_constructors_accept_and_refuse_what_those_of_dataclasses_do(own, standard, values, named):
    try:
        wanted = standard(*values, **named)
    except TypeError:
        with pytest.raises(TypeError, match=own.__name__):
            own(*values, **named)
        return
    made = own(*values, **named)
    assert asdict(made) == dataclasses.asdict(wanted)
    assert repr(made).partition("(")[2] == repr(wanted).partition("(")[2]
    assert made.norm == wanted.norm


def test_objects_are_equal_by_class_and_fields():
    assert Point("a") == Point(name="a", position=(0.0, 0.0)) != Point("b")
    assert hash(Point("a")) == hash(Point("a"))
    assert Point("a") != Particle("a")
    assert len({Point("a"), Point("a"), Point("a", (1.0, 0.0))}) == 2


class Identity(Immutable, eq=False):
    name: str


def test_equality_can_be_that_of_identity():
    one = Identity("a")
    assert one == one != Identity("a")
    assert len({one, Identity("a")}) == 2


def test_fields_neither_change_nor_disappear():
    point = Point("a")
    with pytest.raises(AttributeError, match="name of Point cannot change"):
        point.name = "b"
    with pytest.raises(AttributeError, match="name of Point cannot be removed"):
        del point.name
    assert replace(point, name="b") == Point("b")
    assert point == Point("a") == pickle.loads(pickle.dumps(point))
    with pytest.raises(TypeError, match="Point has the fields name, position: each is given once"):
        replace(point, colour="red")


class Checked(Immutable):
    length: float

    def __post_init__(self) -> None:
        if self.length <= 0.0:
            raise ValueError("a length is positive")


def test_fields_are_checked():
    assert Checked(1.0).length == 1.0
    with pytest.raises(ValueError, match="a length is positive"):
        replace(Checked(1.0), length=-1.0)


def test_dictionaries_reach_into_containers():
    inner = Checked(2.0)
    outer = Point("a", (Pair(inner, 1), [inner], {"k": inner}))
    plain = {"length": 2.0}
    assert asdict(outer) == {"name": "a", "position": (Pair(plain, 1), [plain], {"k": plain})}
