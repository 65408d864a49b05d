"""A model whose drives are unknown: forces on coordinates, activations of muscles and wrenches on bodies are written.

Actuators of the scene, and forces of its joints, are left out.  All else acts as in a run: gravity, springs, dampers,
forces on bodies, prescribed motions.  Tendons are rigid, and the active force of a muscle is in proportion to its
activation: fibers are as fast as with full activation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.escaping import path_component
from multibody_cli.forces import body_load, joint_control
from multibody_cli.forces.elements import CONTROLS, MUSCLES, PLACES
from multibody_cli.forces.muscle_curves import without_curves
from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel import Floats, records
from multibody_cli.model import Account, ActuationEntry, Model
from multibody_cli.packing.applied_forces import with_constants

LOADS, ACTUATORS = (PLACES[element.name] for element in (body_load.ELEMENT, joint_control.ACTUATORS))


class Drives(Immutable):
    """A model with unknown drives.

    Parameters
    ----------
    model
        The model; its actuators are the forces on coordinates.
    forces
        (c,) forces on the coordinates, N or N m; zero at first, and written by the caller.
    activations
        (m,) activations of the muscles, likewise.
    wrenches
        (b, 6) force, N, and moment, N m, about the origin of its body frame, on each of some bodies, in world axes.
    left_out
        The actuators of the scene, and the joints with a `force`, which do not act.
    driven
        Indices in v of the coordinates on which they act.
    """

    model: Model
    forces: Floats
    activations: Floats
    wrenches: Floats
    left_out: tuple[str, ...]
    driven: frozenset[int]


def with_unknown_drives(
    model: Model, coordinates: Mapping[str, int], bodies: Sequence[str], passive: bool = False
) -> Drives:
    """Return a copy of a model with unknown drives.

    Parameters
    ----------
    model
        The model, in joint coordinates.
    coordinates
        Index in v of each coordinate with a force, by the name of the force.
    bodies
        Bodies with a wrench.
    passive
        Whether muscles have their passive forces, which rigid tendons make larger.

    Raises
    ------
    ArgumentError
        There is no such body.
    """
    for body in bodies:
        if body not in model.names.bodies:
            raise ArgumentError(f"no body `{body}`: {nearest(body, model.names.bodies)}")
    names, forces = model.names, model.system.forces
    accounts, left_out = _without_drives(names.accounts)
    own = len(accounts)
    accounts += [Account("work", f"actuators/{path_component(name)}") for name in coordinates]
    accounts += [Account("work", f"forces/load on {path_component(body)}") for body in bodies]
    tables = [_without(table, left_out) for table in forces.tables]
    driven = {int(iv) for place in (ACTUATORS, CONTROLS) for iv in forces.tables[place]["iv"]}
    driven -= {int(iv) for iv in tables[CONTROLS]["iv"]}  # of springs
    driven |= {int(iv) for iv in model.system.commands["iv"]}
    muscles = np.array(tables[MUSCLES])
    first = len(forces.signals.first)
    numbers = first + np.arange(len(coordinates) + len(muscles) + 6 * len(bodies))
    of_forces, of_muscles, of_loads = np.split(numbers, np.cumsum([len(coordinates), len(muscles)]))
    controls = [
        (iv, signal, -1, -1, 1.0, own + k)
        for k, (iv, signal) in enumerate(zip(coordinates.values(), of_forces, strict=True))
    ]
    tables[CONTROLS] = _extended(tables[CONTROLS], controls)
    rows = [int(names.body_rows[names.bodies.index(body)]) for body in bodies]
    frames = model.system.tree.frames
    loads = [
        (row, 0, frames[row]["origin"], np.eye(3).ravel(), six[:3], six[3:], own + len(coordinates) + k)
        for k, (row, six) in enumerate(zip(rows, of_loads.reshape(-1, 6), strict=True))
    ]
    tables[LOADS] = _extended(tables[LOADS], loads)
    muscles["state"], muscles["slowing"], muscles["activation"] = -1, 0.0, of_muscles
    muscles["least"], muscles["damping"] = 0.0, 0.0
    curves = forces.curves
    if not passive:
        curves = without_curves(curves, muscles["passive"])
    tables[MUSCLES] = records(muscles)
    system = with_constants(model.system, len(numbers))
    signals = system.forces.signals
    system = system._replace(
        commands=system.commands[:0],
        forces=system.forces._replace(tables=tuple(tables), curves=curves, states=system.forces.states.copy()),
    )
    entries = tuple(ActuationEntry(name, slice(k, k + 1), (name,)) for k, name in enumerate(coordinates))
    names = replace(names, accounts=tuple(accounts), actuators=entries, filtered=())
    changed = replace(model, system=system, names=names, controllers=(), activations=np.zeros(0, np.int64))
    values = signals.operand[len(signals.operand) - len(numbers) :]
    ends = len(coordinates), len(coordinates) + len(muscles)
    causes = tuple(accounts[k].cause.removesuffix(_UNUSED) for k in sorted(left_out))
    parts = values[: ends[0]], values[ends[0] : ends[1]], values[ends[1] :].reshape(-1, 6)
    return Drives(changed, *parts, causes, frozenset(driven))


_UNUSED = " (left out)"


def _without_drives(accounts: Sequence[Account]) -> tuple[list[Account], set[int]]:
    """Return the accounts, those of actuators and of forces of joints renamed, and the numbers of these."""
    found, drives = list(accounts), set()
    for k, account in enumerate(accounts):
        section, *_, cause = account.cause.split("/")
        if account.kind == "work" and (section == "actuators" or (section == "joints" and cause == "force")):
            found[k] = Account("work", account.cause + _UNUSED)
            drives.add(k)
    return found, drives


def _without(table: np.ndarray, accounts: set[int]) -> np.ndarray:
    """Return the records of a table with other accounts."""
    names = table.dtype.names or ()
    return table[~np.isin(table["account"], [*accounts])] if "account" in names and accounts else table


def _extended(table: np.ndarray, rows: list[tuple[Any, ...]]) -> np.ndarray:
    return records(np.concatenate([np.asarray(table), np.array(rows, table.dtype)]))
