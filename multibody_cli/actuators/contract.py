"""The contract of an actuator: fields of a scene file, and the law of its force as an expression.

An actuator is one file with a Spec, derived from `ActuatorSpec`, and its entry in the catalogue.  Its `law` is packed
into the program of a signal, so that a new kind of actuator compiles nothing, and its derivatives are exact.
"""

from __future__ import annotations

import ast
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.actuators.controllers import ExternalLaw
from multibody_cli.expressions import with_values
from multibody_cli.immutable import Immutable, replace
from multibody_cli.nodes import NodePath
from multibody_cli.spec import PositiveTime, Quantity, SignalSpec, Spec, Time, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, format_value, list_schema, located_error, read_any, read_each
from multibody_cli.spec.signal import Signal

_BOUND = {"anyOf": [*NUMBER_SCHEMA["anyOf"], {"type": "null"}]}
Gain = Annotated[float, Quantity(units.ANY, least=0.0)]
Target = Annotated[SignalSpec, Signal(units.ANY)]


class ControllerState(Immutable):
    """A number that a sampled controller keeps: its value at the start, and its next value as an expression.

    `at_rest` is the expression of its value at rest, by the law at rest; None if the state does not determine it.
    """

    initial: float
    following: str
    at_rest: str | None = None


class ControlLaw(Immutable):
    """The force of an actuator.

    Parameters
    ----------
    force
        An expression of `t`, of the coordinate or length `q` and its rate `v`, and of the names below.
    parameters
        Values of names.
    signals
        Functions of time or state by name; `x_rate` is the time derivative of the function of time `x`.
    tables
        Functions of one argument: arguments and values.
    states
        Numbers that a sampled controller keeps.
    input
        The signal that a filter acts on, and that has limits.
    definitions
        Names that stand for expressions, also within signals.
    """

    force: str
    parameters: Mapping[str, float] = {}
    signals: Mapping[str, SignalSpec] = {}
    tables: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {}
    states: Mapping[str, ControllerState] = {}
    input: str = ""
    definitions: Mapping[str, str] = {}

    def bounded(self, limits: tuple[float, float]) -> ControlLaw:
        """Return the law with its input within limits; beyond them its rate is 0."""
        given = f"{self.input}_given"
        input_, sides = given, []
        for bound, word, difference in zip(limits, ("max", "min"), ("{1} - {0}", "{0} - {1}"), strict=True):
            if math.isfinite(bound):
                input_ = f"{word}({bound!r}, {input_})"
                sides.append(f"(1 + sign({difference.format(repr(bound), given)}))/2")
        definitions = {self.input: input_}
        if f"{self.input}_rate" in self.force:
            definitions[f"{self.input}_rate"] = "*".join([f"{given}_rate", *sides])
        signals = {given if name == self.input else name: signal for name, signal in self.signals.items()}
        return replace(self, signals=signals, definitions={**self.definitions, **definitions})

    def filtered(self, time: float, initial: float, is_sampled: bool) -> ControlLaw:
        """Return the law with the activation a of a filter in place of its input u: da/dt = (u - a)/time.

        With the input u_k that is held from a sample at t_k on, a = u_k + (a(t_k) - u_k) exp((t_k - t)/time) is exact.
        """
        activation = "(held_input + (held_activation - held_input)*exp((sampled_at - t)/filter))"
        command = f"{self.input}_command"
        present = command if is_sampled else "held_input"  # a sampled law is evaluated where the next input is not held
        limited = self.definitions.get(self.input)
        words = {self.input: "activation", f"{self.input}_rate": f"({present} - activation)/filter"}
        values = {word: ast.parse(text, mode="eval").body for word, text in words.items()}

        def substituted(text: str) -> str:
            return ast.unparse(with_values(ast.parse(text, mode="eval").body, values))

        states = {word: replace(one, following=substituted(one.following)) for word, one in self.states.items()}
        states["held_activation"] = ControllerState(initial, "activation", "activation")
        states["held_input"] = ControllerState(0.0, command, "activation")
        states["sampled_at"] = ControllerState(0.0, "t", "t")
        return replace(
            self,
            force=substituted(self.force),
            parameters={**self.parameters, "filter": time},
            signals={command if name == self.input else name: signal for name, signal in self.signals.items()},
            states=states,
            definitions={"activation": activation} | ({command: limited} if limited else {}),
        )


class ActuatorSpec(Spec):
    """A force on one coordinate of a joint, or on the length of a path, by a law of control.

    Attributes
    ----------
    DIMENSIONS
        The dimension of each field whose unit depends on the coordinate: see `scene.checks.actuators`.
    """

    type: str
    joint: str | None = Field(None, description="Coordinate on which it acts: `elbow`, or `wrist/1`.")
    combination: str | None = Field(
        None, description="Combination of coordinates along which it acts, in place of `joint`."
    )
    path: str | None = Field(
        None,
        description="Path on whose length it acts, by name, in place of `joint`: `q` is the length, `v` its rate, and "
        "a negative force pulls.",
    )
    limits: tuple[float, float] | None = Field(
        None,
        description="Least and greatest force, N or N*m; null or `.inf` for none.",
        json_schema_extra=lambda schema: schema.update(list_schema(_BOUND, 2)),
    )
    input_limits: tuple[float, float] | None = Field(
        None,
        description="Least and greatest input: `target`, `command`, or `force` or `input` of `general`; null or `.inf` "
        "for none.",
        json_schema_extra=lambda schema: schema.update(list_schema(_BOUND, 2)),
    )
    rate: Annotated[float, Quantity(units.RATE, above=0.0)] | None = Field(
        None, description="Rate of sampling, Hz: the force is held between samples. Default: continuous."
    )
    period: PositiveTime | None = Field(None, description="Time between samples, s, in place of `rate`.")
    delay: Time = Field(0.0, description="Time from a sample to the force that it determines, s.")
    filter: PositiveTime | None = Field(
        None,
        description="Time constant of a filter of first order, s: an activation a with da/dt = (u - a)/filter is in "
        "place of the input u, the `target`, the `command`, or the `force` or `input` of `general`. The input is "
        "sampled as the actuator, by default at each step.",
    )
    initial_activation: Annotated[float, Quantity(units.ANY)] = Field(
        0.0, description="Initial activation, with a `filter`."
    )

    DIMENSIONS: ClassVar[Mapping[str, str]] = {}

    @field_validator("limits", "input_limits", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_limits(cls, value: Any) -> tuple[float, float] | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueError(f"expected a pair [lower, upper], found {format_value(value)}")
        ends = zip(value, (-math.inf, math.inf), strict=True)
        lower, upper = read_each(lambda end: end[1] if end[0] in (None, end[1]) else read_any(end[0]), ends)
        if not lower < upper:
            raise ValueError(f"expected a lower limit below the upper one, found {lower:g} and {upper:g}")
        return lower, upper

    @model_validator(mode="after")
    def _require_one_period(self) -> Self:
        if self.rate is not None and self.period is not None:
            raise ValueError("expected at most one of `rate` and `period`")
        if self.delay > 0.0 and self.sampling_period is None:
            raise ValueError("`delay` requires `rate` or `period`: only sampled values can be delayed")
        return self

    @model_validator(mode="after")
    def _require_one_axis(self) -> Self:
        if sum(one is not None for one in (self.joint, self.combination, self.path)) != 1:
            raise ValueError("expected one of `joint`, `combination` and `path`")
        return self

    @model_validator(mode="after")
    def _require_a_filter(self) -> Self:
        if self.filter is None and "initial_activation" in self.model_fields_set:
            raise located_error("has no effect without `filter`", "initial_activation")
        return self

    @property
    def axis(self) -> str:
        """The coordinate, the combination or the path on which it acts."""
        return self.joint or self.combination or self.path or ""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinate, the combination or the path on which it acts."""
        return (self.axis,)

    @property
    def sampling_period(self) -> float | None:
        """Time between samples, s; None for a continuous actuator."""
        return 1.0 / self.rate if self.rate is not None else self.period

    @property
    def signals(self) -> Mapping[str, SignalSpec]:
        """Its functions of time and state, by field."""
        return {name: value for name in type(self).model_fields if isinstance(value := getattr(self, name), SignalSpec)}

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor, as seen from the coordinate, kg*m^2 or kg."""
        return 0.0

    def external_law(self, name: str, resolve: Callable[[str], Path]) -> ExternalLaw | None:
        """Return the law outside of the compiled code that computes the force from the sampled states; None if none.

        `name` is that of the actuator, and `resolve` returns the path of a file that the scene names.
        """
        return None

    def problems(
        self, resolve: Callable[[str], Path], above: Mapping[str, ActuatorSpec]
    ) -> Iterator[tuple[NodePath, str]]:
        """Yield the errors of files and of actuators above that it names: a path within its fields, and a message."""
        return iter(())

    @abstractmethod
    def law(self) -> ControlLaw:
        """Return the law of its force, without limits and filter."""

    def law_at_rest(self) -> ControlLaw:
        """Return the law of its force for its input within the limits, without limits of the force.

        The activation of a filter is the input.
        """
        law = self._bounded_law()
        if self.filter is None:
            return law
        return replace(law, definitions={**law.definitions, "activation": law.definitions.get(law.input, law.input)})

    def filtered_law(self) -> ControlLaw:
        """Return the law of its force for its input within the limits, filtered, without limits of the force."""
        law = self._bounded_law()
        if self.filter is None:
            return law
        return law.filtered(self.filter, self.initial_activation, self.sampling_period is not None)

    def _bounded_law(self) -> ControlLaw:
        return self.law() if self.input_limits is None else self.law().bounded(self.input_limits)

    def limited(self, force: str) -> str:
        """Return the expression of a force within the limits."""
        lower, upper = self.limits or (-math.inf, math.inf)
        if math.isfinite(lower):
            force = f"max({lower!r}, {force})"
        return f"min({upper!r}, {force})" if math.isfinite(upper) else force
