"""Muscles: cables with a tension by Hill's model, fibers at an angle to a tendon: see `forces.fiber`.

The activation is a function of time and state.  The passive part is elastic; the active part, with the damping of the
fibers, does work.

Source: Sueda, notes 1.9.4 and 1.9.5, (1.38)-(1.39), (1.47)-(1.64); the slopes keep the term of the rate with the
configuration that the notes drop (`forces.cable`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.cables.lines import COLLAPSED, measure
from multibody_cli.forces.cable import (
    LENGTH_JUMPED,
    PATH_WARNINGS,
    add_stiffness_blocks,
    add_tension,
    apply_tension,
    has_jumped,
    linearize,
    path_warning,
    stiffness_damping_product,
)
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.elastic_tendon import (
    ELASTIC_TENDON,
    GAMMA,
    cosine_at,
    elastic_law,
    elastic_tension_by_activation,
    fiber_velocity,
    implicit_length,
    steady_length,
    stored_energy,
)
from multibody_cli.forces.fiber import (
    FIBER,
    elastic_energy_at,
    fiber_at,
    law_at,
    passive_force,
    passive_tension,
    speed_factor,
    tension_by_activation_at,
)
from multibody_cli.forces.muscle_models import Curves
from multibody_cli.forces.muscle_models.contract import NonNegative
from multibody_cli.forces.muscle_models.cubic import CubicSpec
from multibody_cli.kernel import bound_kernel, formula, kernel
from multibody_cli.nodes import NodePath
from multibody_cli.signals import derivative_along, evaluate
from multibody_cli.spec import Fraction, PositiveLength, PositiveTime, Quantity, SignalSpec, units
from multibody_cli.spec.entries import BetweenSpec, PackingContext, placed
from multibody_cli.spec.path import PointsOrName
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import located_error
from multibody_cli.spec.signal import Signal

# --- entries of `muscles:` in a scene file ----------------------------------------------------------------------------
_REFUSAL = "the activation that follows an excitation is computed before the run; use `activation`"
_OF_EXCITATION = ("activation_dynamics", "activation_time", "deactivation_time", "initial_activation")


class MuscleSpec(BetweenSpec):
    """A Hill-type muscle along the lines between points of bodies.

    The `activation` is a function of time, or follows an `excitation` u by its `activation_dynamics`.
    """

    path: PointsOrName = Field(
        description="Its points, and surfaces between them over which it wraps, from end to end; or the name of one."
    )
    max_isometric_force: Annotated[float, Quantity(units.FORCE, above=0.0)] = Field(
        description="Active force at the optimal length and zero velocity, N."
    )
    optimal_length: PositiveLength = Field(description="Fiber length with the largest active force, m.")
    tendon_slack_length: Annotated[float, Quantity(units.LENGTH, least=0.0)] = Field(
        0.0, description="Length of the rigid tendon, or of the elastic one without force, m."
    )
    tendon: Literal["rigid", "elastic"] = Field(
        "rigid", description="Whether the tendon keeps its length, or is stretched by its curve."
    )
    pennation_angle: Annotated[float, Quantity(units.ANGLE, least=0.0, most=1.5)] = Field(
        0.0, description="Angle of the fibers to the tendon at the optimal length; their thickness is constant."
    )
    curves: Curves = Field(
        CubicSpec(type="cubic"),
        description="Forces by normalized lengths and velocities: `cubic`, `thelen2003`, `millard2012` or "
        "`degroote2016`, or one of these as `type`, with parameters and curves of your own.",
    )
    fiber_damping: NonNegative | None = Field(
        None,
        description="Damping of the fibers: a force at `max_velocity`, over `max_isometric_force`. Default: 0.1 for "
        "`millard2012`, else 0.",
    )
    max_velocity: Annotated[float, Quantity(units.RATE, above=0.0)] = Field(
        10.0, description="Shortening velocity at which the active force is 0, optimal lengths per second."
    )
    activation: Annotated[SignalSpec, Signal(units.NUMBER, state=())] | None = Field(
        None, description="Activation from 0 to 1: a number, an expression of t and the state, or a table."
    )
    minimum_activation: Fraction | None = Field(
        None, description="Lower limit of the activation. Default: 0.01 with an elastic tendon, else 0."
    )
    excitation: Annotated[SignalSpec, Signal(units.NUMBER, refusal=_REFUSAL, inputs=False)] | None = Field(
        None,
        description="Excitation from 0 to 1, which the activation follows: a number, an expression of t, or a table.",
    )
    activation_dynamics: Literal["thelen2003", "first_order", "degroote2016"] = Field(
        "thelen2003",
        description="da/dt = (u - a)/tau, down to `minimum_activation`. `thelen2003`: tau is "
        "activation_time (0.5 + 1.5 a) while the activation rises, and deactivation_time/(0.5 + 1.5 a) while it falls; "
        "`first_order`: tau is activation_time or deactivation_time; `degroote2016`: smooth between rise and fall.",
    )
    activation_time: PositiveTime = Field(0.01, description="Time constant of rising activation, s.")
    deactivation_time: PositiveTime = Field(0.04, description="Time constant of falling activation, s.")
    initial_activation: Fraction = Field(0.01, description="Initial activation, with an `excitation`.")

    @model_validator(mode="after")
    def _require_one_drive(self) -> Self:
        if (self.activation is None) == (self.excitation is None):
            raise ValueError("expected one of `activation` and `excitation`")
        for field in _OF_EXCITATION if self.excitation is None else ():
            if field in self.model_fields_set:
                raise located_error("has no effect without `excitation`", field)
        for field in ("activation", "excitation"):
            signal = getattr(self, field)
            given = [signal.constant] if signal is not None and signal.constant is not None else []
            given += list(signal.values) if signal is not None else []
            if any(not 0.0 <= value <= 1.0 for value in given):
                raise located_error("expected values from 0 to 1", field)
        return self

    @model_validator(mode="after")
    def _require_equilibrium(self) -> Self:
        if self.tendon == "elastic":
            if self.tendon_slack_length == 0.0:
                raise located_error("an elastic tendon needs a `tendon_slack_length` above 0", "tendon")
            if self.curves.curves.tendon is None:
                message = f"`{self.curves.type}` has no curve of the tendon: add `tendon`, or choose another model"
                raise located_error(message, "curves")
            if self.damping == self.least_activation == 0.0:
                message = "an elastic tendon needs a `fiber_damping` or a `minimum_activation` above 0"
                raise located_error(f"{message}, without which the velocity of the fibers has no bound", "tendon")
        return self

    @property
    def damping(self) -> float:
        """Damping of the fibers, over `max_isometric_force`."""
        return self.curves.curves.damping if self.fiber_damping is None else self.fiber_damping

    @property
    def least_activation(self) -> float:
        """Lower limit of the activation."""
        if self.minimum_activation is None:
            return 0.01 if self.tendon == "elastic" else 0.0
        return self.minimum_activation

    @property
    def points(self) -> list[tuple[NodePath, Attachment]]:
        """Its points from end to end."""
        return placed("path", self.path)


MUSCLE = np.dtype(
    [
        ("first", "i8"),  # its points
        ("last", "i8"),
        *FIBER,
        *ELASTIC_TENDON,
        ("lengths", "f8", 2),  # normalized, between which activation has an effect
        ("velocities", "f8", 2),  # normalized, beyond which their force no longer changes
        ("least", "f8"),  # activation
        ("activation", "i8"),  # signal
        ("account", "i8"),
    ]
)

STEEPEST_SINE = math.sin(math.acos(0.1))
"""Sine of the largest angle of fibers with an elastic tendon, as in OpenSim."""

TOO_SHORT, TOO_LONG, TOO_FAST, OUT_OF_RANGE = 2, 4, 8, 16
"""Bits of warnings, beside those of the path."""


@formula
def activation_of(muscle, signals, t):
    """Activation, clipped to the range from the least one to 1."""
    given, _, _ = evaluate(signals, muscle.activation, t)
    return min(max(given, muscle.least), 1.0)


@formula
def law_of(muscle, forces, t, length, rate):
    """Tension, N, and its slopes with length and rate."""
    activation = activation_of(muscle, forces.signals, t)
    if muscle.state >= 0:
        return elastic_law(muscle, forces.curves, forces.states[muscle.state], activation, length)
    return law_at(muscle, forces.curves, activation, length, rate)


@kernel
def compute_tensions(muscles, forces, t, bodies, tensions):
    """Compute the tension (m,) of each muscle."""
    for k in range(len(muscles)):
        length, rate, _ = measure(forces.points, muscles[k].first, muscles[k].last, bodies)
        tensions[k], _, _ = law_of(muscles[k], forces, t, length, rate)


@formula
def tension_by_activation(muscle, forces, t, length, rate):
    """Derivative of the tension by the activation, N; 0 where the activation is clipped."""
    given, _, _ = evaluate(forces.signals, muscle.activation, t)
    if not muscle.least < given < 1.0:
        return 0.0
    if muscle.state >= 0:
        return elastic_tension_by_activation(muscle, forces.curves, forces.states[muscle.state], given, length)
    return tension_by_activation_at(muscle, forces.curves, given, length, rate)


@kernel
def add_activation(muscle, forces, t, change, bodies, wrenches):
    """Add the wrenches of a change of the activation, to first order."""
    length, rate, _ = measure(forces.points, muscle.first, muscle.last, bodies)
    tension = tension_by_activation(muscle, forces, t, length, rate) * change
    add_tension(forces.points, muscle.first, muscle.last, tension, bodies, wrenches)


@formula
def tension_change_of(muscle, forces, t, length, rate):
    """Change of the tension by that of the activation along a change of the state, N."""
    by_activation = tension_by_activation(muscle, forces, t, length, rate)
    return by_activation * derivative_along(forces.signals, muscle.activation, t)


@formula
def warnings_of(muscle, given, fibers, activation, shortest):
    """Warnings as bits; fibers across a rigid tendon are those of a path that is no longer than it."""
    z, velocity, cosine = fibers
    x, y = z / muscle.optimal, velocity / (muscle.optimal * muscle.fastest * speed_factor(muscle, activation))
    bits = path_warning(shortest) if shortest < COLLAPSED * muscle.optimal else 0
    if x < muscle.lengths[0] or cosine == 0.0:
        bits |= TOO_SHORT
    if x > muscle.lengths[1]:
        bits |= TOO_LONG
    if y < muscle.velocities[0] or y > muscle.velocities[1]:
        bits |= TOO_FAST
    if given < -1e-9 or given > 1.0 + 1e-9:
        bits |= OUT_OF_RANGE
    return bits


@kernel
def advance_fibers(muscle, forces, t, length, rate):
    """Advance the length of the fibers by a pending step, in two implicit stages, on which the rate is constant."""
    state, curves = forces.states[muscle.state], forces.curves
    h, before = GAMMA * state.pending, (1.0 - GAMMA) * state.pending
    activation = activation_of(muscle, forces.signals, t - before)
    first = implicit_length(muscle, curves, activation, state.start, h, length - before * rate, 0.0)
    base = state.start + before / h * (first - state.start)
    state.start = implicit_length(muscle, curves, activation_of(muscle, forces.signals, t), base, h, length, 0.0)
    state.pending, state.value = 0.0, state.start


@kernel
def update_fibers(muscle, forces, t, length, rate):
    """Compute length and velocity of fibers with an elastic tendon: see `forces.states`."""
    state, curves = forces.states[muscle.state], forces.curves
    if state.pending > 0.0:
        advance_fibers(muscle, forces, t, length, rate)
    activation = activation_of(muscle, forces.signals, t)
    if state.step == math.inf:
        state.value = steady_length(muscle, curves, activation, length, rate)
        state.rate = fiber_velocity(muscle, curves, activation, state.value, length)
    elif state.step > 0.0:
        state.value = implicit_length(muscle, curves, activation, state.start, state.step, length, 0.0)
        state.rate = (state.value - state.start) / state.step
    else:
        state.rate = fiber_velocity(muscle, curves, activation, max(state.value, muscle.shortest), length)


@formula
def fibers_of(muscle, forces, length, rate):
    """Length, m, and velocity, m/s, of the fibers, and the cosine of their angle."""
    if muscle.state < 0:
        return fiber_at(muscle, length, rate)
    state = forces.states[muscle.state]
    z = max(state.value, muscle.shortest)
    return z, state.rate, cosine_at(muscle, z)


@formula
def work_rate(muscle, forces, length, rate, tension):
    """Power of the active part and of the damping of the fibers, W."""
    if muscle.state < 0:
        return -(tension - passive_tension(muscle, forces.curves, length)) * rate
    z, velocity, cosine = fibers_of(muscle, forces, length, rate)
    return -(tension / cosine - passive_force(muscle, forces.curves, z)) * velocity


@formula
def apply_force(muscle, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the tension to the bodies, add the work of the active part to the account, and raise warnings."""
    points = forces.points
    length, rate, shortest = measure(points, muscle.first, muscle.last, bodies)
    if muscle.state >= 0:
        update_fibers(muscle, forces, t, length, rate)
    tension, _, _ = law_of(muscle, forces, t, length, rate)
    apply_tension(points, muscle.first, muscle.last, tension, bodies)
    powers[muscle.account] += work_rate(muscle, forces, length, rate, tension)
    if watched:
        given, _, _ = evaluate(forces.signals, muscle.activation, t)
        fibers = fibers_of(muscle, forces, length, rate)
        activation = min(max(given, muscle.least), 1.0)
        warnings[k] |= warnings_of(muscle, given, fibers, activation, shortest)
        if has_jumped(points, muscle.first, muscle.last, bodies, length):
            warnings[k] |= LENGTH_JUMPED


@formula
def elastic_energy(muscle, forces, q, bodies) -> float:
    """Elastic energy of the passive fibers and of the tendon, J."""
    length, _, _ = measure(forces.points, muscle.first, muscle.last, bodies)
    if muscle.state < 0:
        return elastic_energy_at(muscle, forces.curves, length)
    z, _, _ = fibers_of(muscle, forces, length, 0.0)
    return stored_energy(muscle, forces.curves, z, length)


def pack(spec: MuscleSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a muscle."""
    curves, thickness = spec.curves.curves, spec.optimal_length * math.sin(spec.pennation_angle)
    elastic, shortest = spec.tendon == "elastic", max(curves.shortest * spec.optimal_length, thickness / STEEPEST_SINE)
    return (
        *context.cable([end for _, end in spec.points]),
        *(spec.max_isometric_force, spec.optimal_length, spec.tendon_slack_length, spec.max_velocity),
        *(thickness, spec.damping, curves.slowing),
        *map(context.curve, (curves.active, curves.velocity, curves.passive)),
        *(context.curve(curves.tendon) if curves.tendon else -1, context.state() if elastic else -1, shortest),
        *(curves.lengths, curves.velocities, spec.least_activation, context.activation(spec)),
    )


ELEMENT = ForceElement(
    "muscles",
    MUSCLE,
    description="springs or muscles between bodies",
    rest="lengths",
    account="work",
    implicit=True,
    cable=True,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    linearize=linearize,
    stiffness_damping_product=bound_kernel(
        stiffness_damping_product, law_of=law_of, tension_change_of=tension_change_of
    ),
    add_stiffness_blocks=bound_kernel(add_stiffness_blocks, law_of=law_of),
    warnings={
        **PATH_WARNINGS,
        TOO_SHORT: "its fibers were too short to apply a force: the path is too short for this `tendon_slack_length`",
        TOO_LONG: "its fibers were so long that activation had no effect: the path is too long for this "
        "`tendon_slack_length`",
        TOO_FAST: "its fibers moved faster than `max_velocity`, where their force no longer changes",
        OUT_OF_RANGE: "its activation left the range from 0 to 1, and was clipped",
    },
    entry=SceneEntry("muscles", "muscle", ("path",), MuscleSpec, pack),
)
