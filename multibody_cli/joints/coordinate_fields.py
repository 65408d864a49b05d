"""Fields of a joint with one entry for each coordinate: units, forms, and number of entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from multibody_cli.immutable import Immutable
from multibody_cli.spec import Quantity, Signal, SignalSpec, Spec, units
from multibody_cli.spec.quantities import (
    NUMBER_SCHEMA,
    TEXT_SCHEMA,
    describe_kind,
    format_value,
    moved_error,
    read_each,
    read_quantity,
)
from multibody_cli.spec.signal import signal_schema


class Coordinate(StrEnum):
    """The kind of a coordinate; its value is the unit in which it is measured."""

    ANGLE = "rad"
    LENGTH = "m"
    NUMBER = "1"


Reader = Callable[[Any], Any]
Kinds = Mapping[Coordinate, units.QuantityKind]


def _kinds(angle: units.QuantityKind, length: units.QuantityKind, number: units.QuantityKind) -> Kinds:
    return {Coordinate.ANGLE: angle, Coordinate.LENGTH: length, Coordinate.NUMBER: number}


_POSITION = _kinds(units.ANGLE, units.LENGTH, units.NUMBER)
_VELOCITY = _kinds(units.ANGULAR_SPEED, units.SPEED, units.RATE)
_ACCELERATION = _kinds(units.ANGULAR_ACCELERATION, units.ACCELERATION, units.ANGULAR_ACCELERATION)
COORDINATE_KINDS = {"q": _POSITION, "v": _VELOCITY, "acceleration": _ACCELERATION}
"""Quantities of coordinates, their rates and their accelerations, by channel."""

# the generalized force on a dimensionless coordinate is an energy, with the dimensions of a torque
_FORCE = _kinds(units.TORQUE, units.FORCE, units.TORQUE)
_STIFFNESS = _kinds(units.ANGULAR_STIFFNESS, units.STIFFNESS, units.ANGULAR_STIFFNESS)
_DAMPING = _kinds(units.ANGULAR_DAMPING, units.DAMPING, units.ANGULAR_DAMPING)
_ARMATURE = _kinds(units.INERTIA, units.MASS, units.INERTIA)
CONTROL_KINDS = {
    "position": _POSITION,
    "velocity": _VELOCITY,
    "force": _FORCE,
    "stiffness": _STIFFNESS,
    "damping": _DAMPING,
    "integral_gain": _kinds(units.ANGULAR_INTEGRAL_GAIN, units.INTEGRAL_GAIN, units.ANGULAR_INTEGRAL_GAIN),
    "gear": _kinds(units.NUMBER, units.PER_LENGTH, units.NUMBER),
}
"""Quantities of the fields of actuators: see `actuators.contract`."""


def _each(readers: list[Reader], value: Any, spread: bool = False) -> tuple[Any, ...]:
    """Read one entry for each coordinate; with `spread`, a single entry applies to all."""
    if not isinstance(value, list | tuple):
        if len(readers) != 1 and not spread:
            raise ValueError(
                f"expected a list of {len(readers)} entries, one per coordinate, found {format_value(value)}"
            )
        return tuple(reader(value) for reader in readers)
    if len(value) != len(readers):
        raise ValueError(f"expected {len(readers)} entries, one per coordinate, found {len(value)}")
    pairs = zip(readers, value, strict=True)
    return read_each(lambda pair: pair[0](pair[1]), pairs)


class NumberField(Immutable):
    """One number for each coordinate."""

    kinds: Kinds
    least: float | None = None
    optional: bool = False
    spread: bool = False

    def read(self, value: Any, coordinates: tuple[Coordinate, ...]) -> tuple[float, ...] | None:
        """Read the field; a missing one is None if optional, otherwise zeros."""
        if value is None and self.optional:
            return None
        if value == ():
            return (0.0,) * len(coordinates)
        readers: list[Reader] = [Quantity(self.kinds[kind], self.least).read for kind in coordinates]
        return _each(readers, value, self.spread)


class SignalField(Immutable):
    """One function of time for each coordinate; with `gaps`, null omits one; with `smooth`, tables have velocities.

    `state` and `refusal` are those of `Signal`.
    """

    kinds: Kinds
    gaps: bool = False
    smooth: bool = False
    state: tuple[str, ...] | None = None
    refusal: str = ""

    def read(self, value: Any, coordinates: tuple[Coordinate, ...]) -> tuple[SignalSpec | None, ...] | None:
        """Read the field."""
        if value is None:
            return None
        return _each([self._reader(kind) for kind in coordinates], value)

    def _reader(self, kind: Coordinate) -> Reader:
        read = Signal(self.kinds[kind], self.smooth, self.state, self.refusal).read
        return (lambda entry: None if entry is None else read(entry)) if self.gaps else read


class SoftLimits(Immutable):
    """Limits of a coordinate with a spring and a damper beyond them."""

    range: tuple[float, float]
    stiffness: float
    damping: float


Bounds = tuple[tuple[float, float] | None, ...]
"""Least and greatest value of each coordinate, infinite where it has none; None where it has neither."""

Limits = tuple[tuple[float, float] | SoftLimits | None, ...]
"""Limits of each coordinate: rigid ones as `Bounds`, or soft ones."""


class LimitsField:
    """Limits of each coordinate: [lower, upper], or null for none; null or `.inf` removes one bound.

    Soft limits are a mapping with this pair as `range`, `stiffness` and `damping`.
    """

    def read(self, value: Any, coordinates: tuple[Coordinate, ...]) -> Limits | None:
        """Read the field."""
        if value is None:
            return None
        if len(coordinates) == 1 and not (isinstance(value, list | tuple) and len(value) == 1):
            return (_read_limits(value, coordinates[0]),)
        pairs = _each([self._reader(kind) for kind in coordinates], value)
        if all(pair is None for pair in pairs):
            raise ValueError("expected limits of at least one coordinate")
        return pairs

    def _reader(self, kind: Coordinate) -> Reader:
        return lambda entry: None if entry is None else _read_limits(entry, kind)


def _read_limits(value: Any, coordinate: Coordinate) -> tuple[float, float] | SoftLimits:
    if isinstance(value, SoftLimits):
        return value
    if not isinstance(value, Mapping):
        return _read_pair(value, _POSITION[coordinate])
    required, found = {"range", "stiffness"}, {str(key) for key in value}
    if not required <= found <= required | {"damping"}:
        words = ", ".join(f"`{key}`" for key in sorted(found)) or "none"
        raise ValueError(
            f"expected soft limits with the keys `range`, `stiffness` and `damping`, 0 by default, found {words}"
        )
    readers: dict[str, Reader] = {
        "range": lambda pair: _read_pair(pair, _POSITION[coordinate]),
        "stiffness": Quantity(_STIFFNESS[coordinate], above=0.0).read,
        "damping": Quantity(_DAMPING[coordinate], least=0.0).read,
    }
    names = [str(key) for key in value]
    entries = dict(zip(names, read_each(lambda name: readers[name](value[name]), names, names), strict=True))
    return SoftLimits(**{"damping": 0.0, **entries})


def _read_pair(value: Any, kind: units.QuantityKind) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(
            f"expected a pair [lower, upper], each {describe_kind(kind)} or null, found {format_value(value)}"
        )
    ends = zip(value, (-math.inf, math.inf), strict=True)
    lower, upper = read_each(lambda end: end[1] if end[0] in (None, end[1]) else read_quantity(end[0], kind), ends)
    if math.isinf(lower) and math.isinf(upper):
        raise ValueError("expected a lower or an upper limit")
    if not lower < upper:
        raise ValueError(f"expected a lower limit below the upper one, found {lower:g} and {upper:g} {kind.unit}")
    return lower, upper


class MotionSpec(Spec):
    """Prescribed motion of a joint: exactly one of its derivatives is given."""

    position: tuple[SignalSpec | None, ...] | None = Field(
        None, description="Coordinates as functions of time, rad or m; a table is a cubic spline by default."
    )
    velocity: tuple[SignalSpec | None, ...] | None = Field(
        None, description="Rates as functions of time, rad/s or m/s."
    )
    acceleration: tuple[SignalSpec | None, ...] | None = Field(
        None,
        description="Second derivatives as functions of time, rad/s^2 or m/s^2.",
    )

    @property
    def given(self) -> str:
        """Which derivative is prescribed: position, velocity or acceleration."""
        return next(name for name in _DERIVATIVES if getattr(self, name) is not None)

    @property
    def signals(self) -> tuple[SignalSpec | None, ...]:
        """One function of time for each coordinate; None for a free coordinate."""
        signals: tuple[SignalSpec | None, ...] = getattr(self, self.given)
        return signals


_REFUSAL = (
    "a prescribed motion needs exact velocities and accelerations, which depend on the accelerations of the state; "
    "use `force`, or an actuator such as `position` or `computed_torque`"
)
_DERIVATIVES = {
    "position": SignalField(_POSITION, gaps=True, smooth=True, refusal=_REFUSAL),
    "velocity": SignalField(_VELOCITY, gaps=True, refusal=_REFUSAL),
    "acceleration": SignalField(_ACCELERATION, gaps=True, refusal=_REFUSAL),
}


class _MotionKeys(Spec):
    """The keys of a prescribed motion, before its entries are read."""

    position: Any = None
    velocity: Any = None
    acceleration: Any = None


class MotionField:
    """The prescribed motion of a joint."""

    def read(self, value: Any, coordinates: tuple[Coordinate, ...]) -> MotionSpec | None:
        """Read the field."""
        if value is None or isinstance(value, MotionSpec):
            return value
        written = _MotionKeys.model_validate(value)
        given = [name for name in _DERIVATIVES if getattr(written, name) is not None]
        if len(given) != 1:
            found = " and ".join(f"`{name}`" for name in given) or "none"
            raise ValueError(f"expected exactly one of `position`, `velocity`, `acceleration`, found {found}")
        name = given[0]
        try:
            signals = _DERIVATIVES[name].read(getattr(written, name), coordinates)
        except ValueError as error:
            raise moved_error(error, name) from None
        if signals is not None and all(signal is None for signal in signals):
            raise ValueError("expected a motion of at least one coordinate")
        return MotionSpec.model_construct(None, **{name: signals})


FIELDS: dict[str, NumberField | SignalField | LimitsField | MotionField] = {
    "q": NumberField(_POSITION),
    "v": NumberField(_VELOCITY),
    "rest": NumberField(_POSITION),
    "stiffness": NumberField(_STIFFNESS, least=0.0, optional=True, spread=True),
    "damping": NumberField(_DAMPING, least=0.0, optional=True, spread=True),
    "armature": NumberField(_ARMATURE, least=0.0, optional=True, spread=True),
    "brake": NumberField(_FORCE, least=0.0, spread=True),
    "force": SignalField(_FORCE, state=("q", "v")),
    "limits": LimitsField(),
    "motion": MotionField(),
}
"""Reader of each field of a joint."""


def one_or_each(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an entry, or a list of entries."""
    return {"anyOf": [entry, {"type": "array", "items": entry}]}


def limits_schema() -> dict[str, Any]:
    """Return the JSON Schema of limits, or of a list of limits with null for coordinates without."""
    pair = {
        "type": "array",
        "items": {"anyOf": [*NUMBER_SCHEMA["anyOf"], {"type": "null"}]},
        "minItems": 2,
        "maxItems": 2,
    }
    soft = {
        "type": "object",
        "properties": {"range": pair, "stiffness": NUMBER_SCHEMA, "damping": NUMBER_SCHEMA},
        "required": ["range", "stiffness"],
        "additionalProperties": False,
    }
    each = {"type": "array", "items": {"anyOf": [pair, soft, {"type": "null"}, TEXT_SCHEMA]}}
    return {"anyOf": [pair, soft, each, TEXT_SCHEMA]}


def motion_schema() -> dict[str, Any]:
    """Return the JSON Schema of a prescribed motion."""
    entry = {"anyOf": [signal_schema(), {"type": "null"}]}
    signals = [signal_schema(), {"type": "array", "items": entry}]
    fields = MotionSpec.model_fields
    motion = {
        "type": "object",
        "properties": {name: {"anyOf": signals, "description": fields[name].description} for name in _DERIVATIVES},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }
    return {"anyOf": [motion, TEXT_SCHEMA]}
