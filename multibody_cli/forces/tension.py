"""Tensions along paths, as functions of time and state, also those of actuators on paths.

An actuator with the force F on the length l of a path has the power F dl/dt: the path has the tension -F.

Of a tension that depends on the state, the matrix of implicit integrators has the stiffness of taut lines across their
direction; `implicit.coupled_forces` adds the derivatives by the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from multibody_cli.cables.lines import has_collapsed, measure, trace
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
from multibody_cli.kernel import bound_kernel, formula, kernel
from multibody_cli.nodes import NodePath
from multibody_cli.signals import derivative_along, evaluate
from multibody_cli.spec import SignalSpec, units
from multibody_cli.spec.entries import BetweenSpec, ForceSpec, PackingContext, placed
from multibody_cli.spec.path import PointsOrName
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.signal import Signal


class TensionSpec(BetweenSpec, ForceSpec):
    """A tension along a path, as a function of time and state, as of a rope on a winch."""

    path: PointsOrName = Field(
        description="Its points, and surfaces between them over which it wraps, from end to end; or the name of one."
    )
    tension: Annotated[SignalSpec, Signal(units.FORCE, state=())] = Field(
        description="Tension, N, positive where it pulls: a number, an expression of t and the state, or a table."
    )

    @property
    def points(self) -> Sequence[tuple[NodePath, Attachment]]:
        """Its points from end to end."""
        return placed("path", self.path)


TENSION = np.dtype(
    [
        ("first", "i8"),  # its points
        ("last", "i8"),
        ("signal", "i8"),
        ("sign", "f8"),  # of the signal; -1 for the force of an actuator on the length
        ("account", "i8"),
    ]
)


@formula
def tension_of(item, signals, t):
    """Tension, N."""
    value, _, _ = evaluate(signals, item.signal, t)
    return item.sign * value


@formula
def law_of(item, forces, t, length, rate):
    """Tension, and its slopes with length and rate at constant signal: none."""
    return tension_of(item, forces.signals, t), 0.0, 0.0


@formula
def tension_change_of(item, forces, t, length, rate):
    """Change of the tension along a change of the state, N."""
    return item.sign * derivative_along(forces.signals, item.signal, t)


@kernel
def add_unit(item, forces, factor, bodies, wrenches):
    """Add the wrenches of the unit of the signal times `factor`."""
    trace(forces.points, item.first, item.last, bodies)
    add_tension(forces.points, item.first, item.last, item.sign * factor, bodies, wrenches)


@formula
def apply_force(item, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the tension to the bodies, add its work to the account, and raise warnings."""
    length, rate, shortest = measure(forces.points, item.first, item.last, bodies)
    tension = tension_of(item, forces.signals, t)
    apply_tension(forces.points, item.first, item.last, tension, bodies)
    powers[item.account] -= tension * rate
    if watched and has_collapsed(shortest, 0.0, length):
        warnings[k] |= path_warning(shortest)
    if watched and has_jumped(forces.points, item.first, item.last, bodies, length):
        warnings[k] |= LENGTH_JUMPED


def pack(spec: TensionSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a tension."""
    return *context.cable([end for _, end in spec.points]), context.signal(spec.tension), 1.0


ELEMENT = ForceElement(
    "tensions",
    TENSION,
    description="tensions along paths",
    account="work",
    implicit=True,
    cable=True,
    apply_force=apply_force,
    linearize=linearize,
    stiffness_damping_product=bound_kernel(
        stiffness_damping_product, law_of=law_of, tension_change_of=tension_change_of
    ),
    add_stiffness_blocks=bound_kernel(add_stiffness_blocks, law_of=law_of),
    warnings=PATH_WARNINGS,
    entry=SceneEntry("forces", "tension", ("tension",), TensionSpec, pack),
)
