"""Functions of time that change within a step.

An integrator evaluates a function of time a few times in each step.  Faster changes leave no trace in forces or
energies, so it is checked before the run: over a step, Simpson's rule with the values at start, middle and end is
compared with Simpson's rule on sixteen parts; a pulse between two of these remains unnoticed, unless it is made of
functions with knots, between which steps integrate them.  A prescribed position that jumps has no velocity that makes
it jump: its change over a step is compared with the integral of its derivative.

A scene with a function that has no finite value at one of these instants is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.alarms.catalogue import JUMPS, SIGNALS
from multibody_cli.alarms.contract import Raised, Remedy
from multibody_cli.alarms.remedies import DIVISORS, reduce_step
from multibody_cli.kernel import kernel
from multibody_cli.knots import knots_of
from multibody_cli.model import Floats
from multibody_cli.nodes import NodePath, format_path
from multibody_cli.packing.forces import ForcePacker
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.simulation import SimulationSpec
from multibody_cli.scene.tables import signals_of
from multibody_cli.scene.timing import is_adaptive
from multibody_cli.signals import Signals, evaluate

PARTS = 16
"""Parts of a step in which a function of time is integrated; even."""

MOST_STEPS = 4000
"""Largest number of steps that are checked, evenly spread over the run: about 10 ms for a function."""

LARGEST_ERROR = 0.1
"""Error of the integral of a function of time that is reported, relative to the integral of its absolute value."""

RESOLVED = 1e-3
"""Error of the integral over the worst step with the recommended step, relative to that of the absolute value."""

LARGEST_JUMP = 0.01
"""Jump of a prescribed position that is reported, relative to the range of its values."""


@kernel
def integration_errors(
    signals: Any, k: int, start: float, h: float, spacing: int, count: int, end: float, order: int, found: Any
) -> None:
    """Compare integrals of signal k over `count` steps of h from `start`, one out of every `spacing`.

    The signal is not evaluated after `end`, which the last step may exceed, at least by its round-off.
    `order` 0 integrates the value; 1 its derivative, which is compared with the change of the value.  Writes the sum
    of the errors, the sum of the integrals of the absolute value, the largest error, its time, the least and greatest
    value, and the first time without a finite value or, with `order` 1, derivative, else infinity, to `found` (7,).
    """
    found[:4] = 0.0
    found[4], found[5], found[6] = math.inf, -math.inf, math.inf
    for step in range(count):
        t = start + step * spacing * h
        fine = size = coarse = change = 0.0
        for i in range(PARTS + 1):
            value, rate, _ = evaluate(signals, k, min(t + h * (i / PARTS), end))
            weight = 1.0 if i == 0 or i == PARTS else (4.0 if i % 2 else 2.0)
            y = rate if order == 1 else value
            if not (math.isfinite(value) and math.isfinite(y)):
                found[6] = min(t + h * (i / PARTS), end)
                return
            fine += weight * y
            size += weight * abs(y)
            if i == 0 or i == PARTS:
                coarse += y / 6.0
                change += value if i else -value
            if 2 * i == PARTS:
                coarse += y * 4.0 / 6.0
            found[4], found[5] = min(found[4], value), max(found[5], value)
        fine *= h / (3.0 * PARTS)
        error = abs(change - fine) if order == 1 else abs(h * coarse - fine)
        found[0] += error
        found[1] += size * h / (3.0 * PARTS)
        if error > found[2]:
            found[2], found[3] = error, t


def signal_alarms(loaded: LoadedScene) -> Iterator[tuple[str, Raised]]:
    """Yield functions of time that steps of constant length do not resolve, and positions that jump, with the place.

    Raises
    ------
    SceneError
        A function has no finite value during the run, or a prescribed position no finite velocity.
    """
    simulation = loaded.scene.simulation
    signals_of_scene = signals_of(loaded.scene, ())
    written = [(path, spec) for path, spec in signals_of_scene if spec.constant is None and not spec.uses_state]
    if not written:
        return
    packer = ForcePacker({}, {}, loaded.scene.inputs, loaded.scene.functions)  # those of time read no points
    numbers = [packer.signal(spec) for _, spec in written]
    signals = packer.pack()[0].signals
    for (path, _), k in zip(written, numbers, strict=True):
        found = _errors_of(simulation, path, signals, k)
        if found[6] < math.inf:
            value = "value or velocity" if _is_position(path) else "value"
            raise loaded.error(f"has no finite {value} at t = {found[6]:.4g} s, which is within the run", *path)
        if not is_adaptive(simulation):
            for alarm in _alarms_of(simulation, path, signals, k, found):
                yield loaded.where(*path), alarm


def _is_position(path: NodePath) -> bool:
    """Whether a function is a prescribed position or a length of a rope, whose rate the bodies follow."""
    return path[-3:-1] == ("motion", "position") or path[-1] == "length"


def _errors_of(simulation: SimulationSpec, path: NodePath, signals: Signals, k: int) -> Floats:
    """Return the results (7,) of `integration_errors` over the run."""
    found = np.zeros(7)
    steps = max(round(simulation.duration / simulation.step), 1)
    spacing = -(-steps // MOST_STEPS)
    h, end, order = simulation.step, simulation.duration, int(_is_position(path))
    integration_errors(signals, k, 0.0, h, spacing, steps // spacing, end, order, found)
    return found


def _alarms_of(simulation: SimulationSpec, path: NodePath, signals: Signals, k: int, found: Floats) -> Iterator[Raised]:
    h = simulation.step
    total, size, largest, time, least, greatest, _ = (float(number) for number in found)
    if _is_position(path):
        allowed, name = simulation.alarms.get(JUMPS, LARGEST_JUMP), JUMPS
        error, scale = largest, greatest - least
    else:
        allowed, name = simulation.alarms.get(SIGNALS, LARGEST_ERROR), SIGNALS
        error, scale = total, size
    if not error > allowed * scale:
        return
    knots = knots_of(signals, simulation.duration).at
    if not _is_position(path) and ((knots >= time) & (knots <= time + h)).any():
        return  # integrated from knot to knot
    place = format_path(path)
    if _is_position(path):
        message = (
            f"{place}: jumps by {largest:.3g} at t = {time:.4g} s, but its velocity does not, and the bodies that it "
            "moves receive no impulse"
        )
        remedy = Remedy(change="write a continuous function of t, or a table")
    else:
        message = (
            f"{place}: changes within a step of {h:.4g} s, most at t = {time:.4g} s, and its integral has an error of "
            f"{100.0 * total / size:.2g} %"
        )
        remedy = reduce_step(h, _needed_factor(signals, k, time, h), "write a slower function of t")
    yield Raised(name, "warning", message, remedy, value=error / scale, threshold=allowed, at_start=True)


def _needed_factor(signals: Signals, k: int, start: float, h: float) -> float:
    """Return by how much the step must be smaller to resolve signal k from `start` to `start` + h."""
    found = np.zeros(7)
    for divisor in DIVISORS:
        integration_errors(signals, k, start, h / divisor, 1, divisor, start + h, 0, found)
        if found[0] <= RESOLVED * found[1]:
            return float(divisor)
    return float(DIVISORS[-1])
