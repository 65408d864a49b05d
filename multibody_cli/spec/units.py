"""Quantities with units: `"30 deg"`, `"250 g"`, `"7800 kg/m^3"` are converted to SI units and radians.

Common units are in a table in this module, because loading pint takes longer than most simulations; other units are
looked up in pint.
"""

from __future__ import annotations

import itertools
import math
import re
from functools import lru_cache
from typing import NamedTuple

from multibody_cli.errors import QuantityError
from multibody_cli.immutable import Immutable


class Dimension(NamedTuple):
    """Exponents of the base dimensions; `other` names dimensions outside mechanics, such as temperature."""

    mass: int = 0
    length: int = 0
    time: int = 0
    other: str = ""

    def times(self, other: Dimension, power: int) -> Dimension:
        """Return the product with a power of another dimension."""
        foreign = " ".join(filter(None, (self.other, other.other and f"{other.other}^{power}")))
        return Dimension(
            self.mass + power * other.mass,
            self.length + power * other.length,
            self.time + power * other.time,
            foreign,
        )


class QuantityKind(Immutable):
    """Physical kind of a number: its name, SI unit and dimension.

    `ambiguous` is a unit of this dimension that is rejected because it has two meanings.
    """

    name: str
    unit: str
    dimension: Dimension
    ambiguous: str = ""


def _kind(name: str, unit: str, mass: int = 0, length: int = 0, time: int = 0) -> QuantityKind:
    return QuantityKind(name, unit, Dimension(mass, length, time))


NUMBER = _kind("a plain number", "no unit")
ANY = _kind("a number (with or without a unit)", "")
ANGLE = _kind("an angle", "rad")
LENGTH = _kind("a length", "m", length=1)
TIME = _kind("a time", "s", time=1)
MASS = _kind("a mass", "kg", mass=1)
DENSITY = _kind("a density", "kg/m^3", mass=1, length=-3)
INERTIA = _kind("a moment of inertia", "kg*m^2", mass=1, length=2)
SPEED = _kind("a speed", "m/s", length=1, time=-1)
ANGULAR_SPEED = QuantityKind("an angular speed", "rad/s", Dimension(time=-1), ambiguous="Hz")
ACCELERATION = _kind("an acceleration", "m/s^2", length=1, time=-2)
ANGULAR_ACCELERATION = _kind("an angular acceleration", "rad/s^2", time=-2)
FORCE = _kind("a force", "N", mass=1, length=1, time=-2)
TORQUE = _kind("a torque", "N*m", mass=1, length=2, time=-2)
ENERGY = _kind("an energy", "J", mass=1, length=2, time=-2)
STIFFNESS = _kind("a stiffness", "N/m", mass=1, time=-2)
ANGULAR_STIFFNESS = _kind("an angular stiffness", "N*m/rad", mass=1, length=2, time=-2)
DAMPING = _kind("a damping coefficient", "N*s/m", mass=1, time=-1)
ANGULAR_DAMPING = _kind("an angular damping coefficient", "N*m*s/rad", mass=1, length=2, time=-1)
INTEGRAL_GAIN = _kind("an integral gain", "N/(m*s)", mass=1, time=-3)
ANGULAR_INTEGRAL_GAIN = _kind("an angular integral gain", "N*m/(rad*s)", mass=1, length=2, time=-3)
PER_LENGTH = _kind("an angle for each length", "rad/m", length=-1)
QUADRATIC_DAMPING = _kind("a coefficient of quadratic drag", "N*s^2/m^2", mass=1, length=-1)
VISCOSITY = _kind("a viscosity", "Pa*s", mass=1, length=-1, time=-1)
STRAIN_DAMPING = _kind("a damping coefficient for each unit of strain", "N*s", mass=1, length=1, time=-1)
RATE = _kind("a rate", "1/s", time=-1)
MOMENTUM = _kind("a momentum", "kg*m/s", mass=1, length=1, time=-1)
ANGULAR_MOMENTUM = _kind("an angular momentum", "kg*m^2/s", mass=1, length=2, time=-1)

KINDS = tuple(value for value in globals().values() if isinstance(value, QuantityKind))
"""All kinds of quantities of the scene format."""


class Unit(NamedTuple):
    """A unit: its value in SI units and radians, and its dimension."""

    factor: float
    dimension: Dimension


def _table() -> dict[str, Unit]:
    mass, length, time = Dimension(mass=1), Dimension(length=1), Dimension(time=1)
    force = Dimension(1, 1, -2)
    energy = Dimension(1, 2, -2)
    return {
        "kg": Unit(1.0, mass), "g": Unit(1e-3, mass), "mg": Unit(1e-6, mass), "t": Unit(1e3, mass),
        "m": Unit(1.0, length), "mm": Unit(1e-3, length), "cm": Unit(1e-2, length), "km": Unit(1e3, length),
        "um": Unit(1e-6, length),
        "s": Unit(1.0, time), "ms": Unit(1e-3, time), "us": Unit(1e-6, time), "min": Unit(60.0, time),
        "h": Unit(3600.0, time), "Hz": Unit(1.0, Dimension(time=-1)),
        "rad": Unit(1.0, Dimension()), "mrad": Unit(1e-3, Dimension()),
        "deg": Unit(math.pi / 180, Dimension()), "turn": Unit(math.tau, Dimension()),
        "rpm": Unit(math.tau / 60, Dimension(time=-1)),
        "N": Unit(1.0, force), "mN": Unit(1e-3, force), "kN": Unit(1e3, force),
        "J": Unit(1.0, energy), "mJ": Unit(1e-3, energy), "kJ": Unit(1e3, energy),
        "Pa": Unit(1.0, Dimension(1, -1, -2)), "mPa": Unit(1e-3, Dimension(1, -1, -2)),
    }  # fmt: skip


COMMON = _table()
"""Units that are known without pint."""

UNSEPARATED_PRODUCTS = {"Nm": "N*m", "mNm": "mN*m", "kNm": "kN*m", "Nmm": "N*mm", "Nms": "N*m*s"}
"""Products that are commonly written without an operator; pint interprets some of them differently."""

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*", re.DOTALL)
_TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d_]+|°|%)(?:(?:\^|\*\*)(?P<power>-?\d{1,2}))?|(?P<mark>[*/()·]))")
_LONGEST = 60


def split_quantity(text: str) -> tuple[float, str] | None:
    """Split `12 mm` into number and unit; None if the string is not a quantity."""
    match = _QUANTITY.fullmatch(text) if len(text) <= 2 * _LONGEST else None
    if match is None or (match[2] and not _has_tokens(match[2])):
        return None
    return float(match[1]), match[2]


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit:
    """Parse a unit such as `kg*m^2/s`.

    Raises
    ------
    QuantityError
        A name is unknown to the table and to pint.
    """
    tokens = _tokens(text)
    unit, rest = _product(tokens) if tokens else (None, [])
    if unit is None or rest:
        raise QuantityError(f"`{text}` is not a unit")
    return unit


def quantity(text: str) -> tuple[float, Dimension] | None:
    """Read a number with or without a unit, in SI; None if the string is not a quantity."""
    parts = split_quantity(text)
    if parts is None:
        return None
    number, name = parts
    unit = parse_unit(name) if name else Unit(1.0, Dimension())
    return number * unit.factor, unit.dimension


def kind_of(dimension: Dimension) -> str:
    """Name the kinds of this dimension."""
    names = [kind.name for kind in KINDS if kind.dimension == dimension and kind is not ANY]
    return " or ".join(names) if names else "another quantity"


@lru_cache(maxsize=1024)
def _has_tokens(text: str) -> bool:
    return _tokens(text) is not None


def _tokens(text: str) -> list[re.Match[str]] | None:
    tokens: list[re.Match[str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or len(tokens) >= _LONGEST:
            return None
        tokens.append(match)
        position = match.end()
    return tokens if tokens and tokens[0]["mark"] in (None, "(") and not _called(tokens) else None


def _called(tokens: list[re.Match[str]]) -> bool:
    """Whether a name is followed by a bracket, which makes the text an expression: `N*sin(t)`."""
    return any(a["name"] and b["mark"] == "(" for a, b in itertools.pairwise(tokens))


def _product(tokens: list[re.Match[str]]) -> tuple[Unit | None, list[re.Match[str]]]:
    """Parse factors up to the end or a closing bracket, from left to right; a space denotes a product."""
    result, power = Unit(1.0, Dimension()), 1
    expecting = True
    while tokens and tokens[0]["mark"] != ")":
        token, *tokens = tokens
        if token["mark"] in ("*", "/", "·"):
            if expecting:
                return None, tokens
            power, expecting = (-1 if token["mark"] == "/" else 1), True
            continue
        if token["mark"] == "(":
            factor, tokens = _product(tokens)
            if factor is None or not tokens:
                return None, tokens
            tokens = tokens[1:]
            exponent = power
        else:
            factor = _named(token["name"])
            exponent = power * int(token["power"] or 1)
        dimension = result.dimension.times(factor.dimension, exponent)
        result = Unit(result.factor * factor.factor**exponent, dimension)
        power, expecting = 1, False
    return (None if expecting else result), tokens


def _named(name: str) -> Unit:
    if name in UNSEPARATED_PRODUCTS:
        return parse_unit(UNSEPARATED_PRODUCTS[name])
    return COMMON.get(name) or _from_pint(name)


def _from_pint(name: str) -> Unit:
    import pint  # slow import, only on demand

    registry = pint.application_registry
    try:
        found = registry.Quantity(1.0, name).to_base_units()
    except (pint.errors.PintError, ValueError, TypeError, ArithmeticError, AssertionError):  # pint asserts its grammar
        meant = next((f"; did you mean `{unit}`?" for unit in COMMON if unit.lower() == name.lower()), "")
        raise QuantityError(f"unknown unit `{name}`{meant}") from None
    exponents = {key.strip("[]"): power for key, power in found.dimensionality.items()}
    mass, length, time = (int(exponents.pop(key, 0)) for key in ("mass", "length", "time"))
    return Unit(float(found.magnitude), Dimension(mass, length, time, " ".join(sorted(exponents))))


def behind_number(units: str) -> str:
    """Return a unit as text behind a number; nothing for a pure number."""
    return "" if units in ("", "1") else f" {units}"
