"""Largest force of a force element at the start of a run: that of one far from rest makes the first steps diverge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.escaping import decoded
from multibody_cli.forces.elements import ELEMENTS, apply_forces
from multibody_cli.forces.states import load_states
from multibody_cli.joints.contract import Coordinate
from multibody_cli.kernel import interpreted, records
from multibody_cli.model import Floats, Model, Records, State
from multibody_cli.tree.workspace import Work, workspace_for


class Start(NamedTuple):
    """Initial state of a run, and its placed bodies."""

    state: State
    bodies: Records


def start_of(state: State, work: Work) -> Start:
    """Return copies of a state and of its placed bodies in the work arrays of a method."""
    return Start(state.copy(), work.bodies.copy())


class LargestForce(NamedTuple):
    """The force element with the largest force.

    `name` is that of the entry or the joint, with its kind, and `element` its section and name; `value` the force or
    moment in its `unit`; `size` the force, N, where moments are divided by the length of the bodies; `rest` is that of
    the element.
    """

    name: str
    value: float
    unit: str
    size: float
    rest: str
    element: tuple[str, str]


def find_largest_force(model: Model, start: Start) -> LargestForce | None:
    """Return the element with the largest finite force at the start; None without."""
    found = (one for one in _forces(model, start) if math.isfinite(one.size))
    return max(found, key=lambda one: one.size, default=None)


def elements_with_undefined_force(model: Model, start: Start) -> list[tuple[str, str]]:
    """Return the elements whose force at a state is not finite, by section and name."""
    return [one.element for one in _forces(model, start) if not math.isfinite(one.size)]


def _forces(model: Model, start: Start) -> Iterator[LargestForce]:
    """Return the forces of all elements, each of which is applied alone."""
    length, angles, state = model.system.tree.length, _angles(model), start.state
    with interpreted(), np.errstate(all="ignore"):  # once, at the end of a run: compilation would take longer
        forces, work = _copied(model.system.forces), workspace_for(model.system)
        powers = np.zeros(len(model.names.accounts))
        for place, (element, table) in enumerate(zip(ELEMENTS, forces.tables, strict=True)):
            for k, record in enumerate(table):
                tables = [other[:0] for other in forces.tables]
                tables[place] = table[k : k + 1]
                alone = forces._replace(tables=tuple(tables))
                load_states(forces.states, state.z)
                np.asarray(work.bodies)[:] = start.bodies
                work.bodies["f"], work.bodies["t"] = 0.0, 0.0
                try:
                    apply_forces(alone, state.time[0], state.q, state.v, work, powers)
                except (ArithmeticError, ValueError):  # compiled code computes infinity or NaN
                    work.tau[:] = math.nan
                force = float(np.maximum(_norms(work.bodies["f"]), _largest(work.tau[~angles])))
                moment = float(np.maximum(_norms(work.bodies["t"]), _largest(work.tau[angles])))
                size = float(np.maximum(force, moment / length))  # NaN if one of them is
                value, unit = (force, "N") if force * length >= moment else (moment, "N m")
                section, name = model.names.accounts[record["account"]].cause.split("/")[:2]
                kind = section.removesuffix("s") if element.entry is None else element.entry.kind
                own = section, decoded(name)
                yield LargestForce(f"{kind} `{own[1]}`", value, unit, size, element.rest, own)


def _copied(tables: Any) -> Any:
    """Return a copy of tables, whose records have their fields as attributes."""
    if isinstance(tables, tuple):
        parts = map(_copied, tables)
        return tables._make(parts) if hasattr(tables, "_make") else tuple(parts)
    if not isinstance(tables, np.ndarray):
        return tables
    return records(tables.copy()) if tables.dtype.names else tables.copy()


def _angles(model: Model) -> Any:
    """Return which coordinates (nv,) are angles."""
    angles = np.zeros(model.nv, np.bool_)
    for joint in model.names.joints:
        angles[joint.columns] = [kind is Coordinate.ANGLE for kind in joint.coordinates]
    return angles


def _largest(values: Floats) -> float:
    return float(np.abs(values).max(initial=0.0))


def _norms(vectors: Floats) -> float:
    return float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
