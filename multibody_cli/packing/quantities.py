"""The quantities of the state that expressions read, packed into the table `Forces.quantities`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.expressions import Expression, Reference, constant, with_values
from multibody_cli.forces.quantities import QUANTITY, QuantityCode
from multibody_cli.kernel import records
from multibody_cli.model import Records
from multibody_cli.spec import NamedPoints
from multibody_cli.spec.combination import CombinationSpec
from multibody_cli.spec.entries import PackingContext, split_coordinate
from multibody_cli.spec.signal import is_of_state

BODY_QUANTITIES = {
    "position": QuantityCode.POSITION,
    "linear_velocity": QuantityCode.LINEAR_VELOCITY,
    "angular_velocity": QuantityCode.ANGULAR_VELOCITY,
}
"""The quantities of bodies by their names in expressions, which are those of channels."""

_LETTERS = {"x": 0, "y": 1, "z": 2}


class CoordinateReference(NamedTuple):
    """A coordinate of a joint by the name of the joint and its place."""

    joint: str
    place: int


class Combination(NamedTuple):
    """A combination of coordinates: each with its coefficient, and the value where all are 0."""

    terms: tuple[tuple[CoordinateReference, float], ...]
    offset: float


def coordinate_of(word: str) -> CoordinateReference:
    """Return a coordinate by its name."""
    joint, place = split_coordinate(word)
    return CoordinateReference(joint, int(place or 0))


def combination_of(spec: CombinationSpec) -> Combination:
    """Return a combination of a scene."""
    terms = tuple((coordinate_of(word), coefficient) for word, coefficient in spec.terms.items() if coefficient)
    return Combination(terms, spec.offset)


RATES_OF = {"value": "q", "rate": "v"}
"""The level of coordinates of each quantity of a combination."""


class PathReference(NamedTuple):
    """The length of a path by its name."""

    path: str


_CODES = {
    CoordinateReference: (QuantityCode.COORDINATE, QuantityCode.RATE),
    PathReference: (QuantityCode.PATH_LENGTH, QuantityCode.PATH_RATE),
}
"""Codes of the value and of the rate."""

Axis = CoordinateReference | Combination | PathReference
"""The quantity along which a force acts."""


class QuantityPacker:
    """Numbers the quantities that expressions read, and packs them; `points` are the named points of bodies."""

    def __init__(self, points: NamedPoints, combinations: Mapping[str, Combination]) -> None:
        self.places: dict[CoordinateReference, tuple[int, int]] = {}
        """Index of each coordinate of a joint in q and in v; in q -1 for coordinates of a rotation."""
        self._numbers: dict[Any, int] = {}
        self._points, self._combinations = points, combinations

    def __len__(self) -> int:
        """Return the number of quantities."""
        return len(self._numbers)

    def coordinate(self, of: CoordinateReference | PathReference) -> int:
        """Return the number of a coordinate, or of the length of a path."""
        return self._number((_CODES[type(of)][0], of))

    def rate(self, of: CoordinateReference | PathReference) -> int:
        """Return the number of the rate of a coordinate, or of the length of a path."""
        return self._number((_CODES[type(of)][1], of))

    def time_function(self, signal: int, order: int) -> int:
        """Return the number of a signal that is a function of time, or of its derivative of first or second order."""
        return self._number((QuantityCode.TIME_FUNCTION, signal, order))

    def held(self) -> int:
        """Return the number of a new value that only samples change."""
        return self._number((QuantityCode.HELD, len(self._numbers)))

    def bound(self, expression: Expression, own: Axis | None) -> tuple[ast.expr, dict[str, int]]:
        """Return an expression in quantities, and their numbers by its names; `q` and `v` are those of the own axis."""
        values: dict[str, ast.expr] = {}
        numbers: dict[str, int] = {}
        for text, reference in expression.references.items():
            if not is_of_state(reference):
                continue  # inputs and functions stand in the program
            if reference.path[0] == "combinations":
                _, name, word = reference.path
                sums, read = self.values_of(self._combinations[name])
                values[text], numbers = sums[RATES_OF[word]], numbers | read
            else:
                numbers[text] = self._referred(reference, own if isinstance(own, CoordinateReference) else None)
        if own is not None and {"q", "v"} & expression.names:
            sums, read = self.values_of(own)
            values, numbers = values | sums, numbers | read
        body = with_values(expression.body, values)
        names = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
        return body, {name: number for name, number in numbers.items() if name in names}

    def values_of(self, own: Axis) -> tuple[dict[str, ast.expr], dict[str, int]]:
        """Return `q` and `v` of an axis as expressions of quantities, if they are none, and these quantities."""
        if not isinstance(own, Combination):
            return {}, {"q": self.coordinate(own), "v": self.rate(own)}
        sums: dict[str, ast.expr] = {"q": constant(own.offset), "v": constant(0.0)}
        quantities: dict[str, int] = {}
        for of, coefficient in own.terms:
            for word, number in (("q", self.coordinate(of)), ("v", self.rate(of))):
                name = f"joints.{of.joint}.{word}[{of.place}]"
                quantities[name] = number
                term = ast.BinOp(constant(coefficient), ast.Mult(), ast.Name(name, ast.Load()))
                sums[word] = ast.BinOp(sums[word], ast.Add(), term)
        return sums, quantities

    def own(self, quantities: Mapping[str, int], of: CoordinateReference) -> tuple[int, int]:
        """Return the numbers of a coordinate and its rate among those of an expression; -1 if it does not read it."""
        read = set(quantities.values())
        found = (self._numbers.get((kind, of), -1) for kind in (QuantityCode.COORDINATE, QuantityCode.RATE))
        coordinate, rate = (number if number in read else -1 for number in found)
        return coordinate, rate

    def pack(self, bodies: PackingContext | None, paths: Mapping[str, tuple[int, int]]) -> Records:
        """Return the table of all quantities, after all joints have their places; `paths` are ranges of points."""
        return records(np.array([self._record(key, bodies, paths) for key in self._numbers], QUANTITY))

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _referred(self, reference: Reference, own: CoordinateReference | PathReference | None) -> int:
        match reference.path:
            case ("q" | "v" as name,):
                assert isinstance(own, CoordinateReference)
                of = CoordinateReference(own.joint, int(reference.component or 0))
                return self.coordinate(of) if name == "q" else self.rate(of)
            case ("joints", joint, "q" | "v" as name):
                of = CoordinateReference(joint, int(reference.component or 0))
                return self.coordinate(of) if name == "q" else self.rate(of)
            case ("paths", path, "length" | "rate" as name):
                along = PathReference(path)
                return self.coordinate(along) if name == "length" else self.rate(along)
            case ("bodies", body, name):
                point = reference.point or (0.0, 0.0, 0.0)
                return self._number((BODY_QUANTITIES[name], body, point, component_of(reference)))
            case ("points", body, point_name, name):
                point = self._points[body][point_name].position
                return self._number((BODY_QUANTITIES[name], body, point, component_of(reference)))
        raise TypeError(f"not a quantity of the state: {reference}")

    def _record(
        self, key: tuple[Any, ...], bodies: PackingContext | None, paths: Mapping[str, tuple[int, int]]
    ) -> tuple[Any, ...]:
        kind, *rest = key
        if kind in (QuantityCode.COORDINATE, QuantityCode.RATE):
            iq, iv = self.places[rest[0]]
            return kind, iq, iv, 0, np.zeros(3)
        if kind in (QuantityCode.PATH_LENGTH, QuantityCode.PATH_RATE):
            return kind, *paths[rest[0].path], 0, np.zeros(3)
        if kind is QuantityCode.TIME_FUNCTION:
            return kind, rest[0], 0, rest[1], np.zeros(3)
        if kind is QuantityCode.HELD:
            return kind, 0, 0, 0, np.zeros(3)
        body, point, component = rest
        assert bodies is not None
        return kind, bodies.row(body), 0, component, bodies.point(body, point)


def component_of(reference: Reference) -> int:
    """Return the index of the component of a vector."""
    component = reference.component
    return _LETTERS[component] if isinstance(component, str) else int(component or 0)
