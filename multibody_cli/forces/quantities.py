"""Quantities of the state that expressions of forces read: coordinates, rates, motions of points, lengths of paths.

`measure` writes their values into `Signals.quantities` before forces are evaluated, and `write_directions` their
derivatives along a change of the state into `Signals.directions`, from which `signals.derivative_along` computes
derivatives.  Two more kinds are constant along a change of the state: functions of time with their derivatives, and
held values of sampled controllers (`methods.sampling`), which only a sample changes.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from multibody_cli.cables.lines import keep_lines
from multibody_cli.cables.lines import measure as measure_cable
from multibody_cli.cables.variation import path_change
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.signals import derivative_along, evaluate
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross

QUANTITY = np.dtype(
    [
        ("kind", "i8"),
        ("index", "i8"),  # in q, of the row of a body, of the first point of a path, or of a signal
        ("iv", "i8"),  # of a coordinate or a rate, in v; of a path, the end of its points
        ("component", "i8"),  # of a vector; order of the derivative of a signal
        ("point", "f8", 3),  # of a body, in its joint frame
    ]
)
"""One row per quantity."""


class QuantityCode(IntEnum):
    """Kind of a quantity."""

    COORDINATE = 0
    RATE = 1
    POSITION = 2
    LINEAR_VELOCITY = 3
    ANGULAR_VELOCITY = 4
    PATH_LENGTH = 5
    PATH_RATE = 6
    TIME_FUNCTION = 7
    HELD = 8


(
    _COORDINATE, _RATE, _POSITION, _LINEAR_VELOCITY, _ANGULAR_VELOCITY, _PATH_LENGTH, _PATH_RATE, _TIME_FUNCTION, _HELD,
) = map(int, QuantityCode)  # fmt: skip


@formula
def component_of(x, k):
    """Component k of a vector."""
    return x.x if k == 0 else (x.y if k == 1 else x.z)


@kernel
def measure(quantities, points, signals, t, q, v, bodies):
    """Write the values of all quantities but the held ones; `points` are those of all paths."""
    if len(quantities) > 0:
        _measure_each(quantities, points, signals, t, q, v, bodies)


@lazy_kernel
def _measure_each(quantities, points, signals, t, q, v, bodies):
    """`measure` of models with quantities."""
    values = signals.quantities
    for i in range(len(quantities)):
        item = quantities[i]
        if item.kind == _COORDINATE:
            values[i] = q[item.index]
        elif item.kind == _RATE:
            values[i] = v[item.iv]
        elif item.kind == _TIME_FUNCTION:
            value, first, second = evaluate(signals, item.index, t)
            values[i] = value if item.component == 0 else (first if item.component == 1 else second)
        elif item.kind == _PATH_LENGTH or item.kind == _PATH_RATE:
            length, rate, _ = measure_cable(points, item.index, item.iv, bodies)
            values[i] = length if item.kind == _PATH_LENGTH else rate
        elif item.kind != _HELD:
            body = bodies[item.index]
            r, w = load(body.R) @ load(item.point), load(body.w)
            if item.kind == _POSITION:
                values[i] = component_of(load(body.x) + r, item.component)
            elif item.kind == _LINEAR_VELOCITY:
                values[i] = component_of(load(body.v) + cross(w, r), item.component)
            else:
                values[i] = component_of(w, item.component)


@kernel
def write_directions(quantities, points, signals, rates, bodies, displacement_factor, velocity_factor):
    """Write the derivatives of all quantities along a change of the state.

    The coordinates change by `displacement_factor` times `rates` (nv,), their rates by `velocity_factor` times these,
    and the bodies by the same factors times the twists `dw` and `dv` (`forces.variation`).  The change of the twist of
    a body with the pose, at constant rates, is left out.
    """
    if len(quantities) > 0:
        _write_each_direction(quantities, points, signals, rates, bodies, displacement_factor, velocity_factor)


@lazy_kernel
def _write_each_direction(quantities, points, signals, rates, bodies, displacement_factor, velocity_factor):
    """`write_directions` of models with quantities."""
    directions = signals.directions
    for i in range(len(quantities)):
        item = quantities[i]
        directions[i] = 0.0
        if item.kind == _COORDINATE:
            directions[i] = displacement_factor * rates[item.iv]
        elif item.kind == _RATE:
            directions[i] = velocity_factor * rates[item.iv]
        elif item.kind == _PATH_LENGTH or item.kind == _PATH_RATE:
            keep_lines(points, item.index, item.iv, bodies)
            length, rate = path_change(points, item.index, item.iv, bodies, displacement_factor, velocity_factor, True)
            directions[i] = length if item.kind == _PATH_LENGTH else rate
        elif item.kind != _TIME_FUNCTION and item.kind != _HELD:
            body = bodies[item.index]
            r, w, dw = load(body.R) @ load(item.point), load(body.w), load(body.dw)
            moved = load(body.dv) + cross(dw, r)
            if item.kind == _POSITION:
                directions[i] = displacement_factor * component_of(moved, item.component)
            elif item.kind == _LINEAR_VELOCITY:
                turned = cross(w, cross(dw, r))
                directions[i] = component_of(velocity_factor * moved + displacement_factor * turned, item.component)
            else:
                directions[i] = velocity_factor * component_of(dw, item.component)


@kernel
def derivative_by(quantities, signals, number, k, t) -> float:
    """Return the derivative of signal k by one quantity; 0 for number -1."""
    if number < 0:
        return 0.0
    for i in range(len(quantities)):
        signals.directions[i] = 0.0
    signals.directions[number] = 1.0
    return derivative_along(signals, k, t)
