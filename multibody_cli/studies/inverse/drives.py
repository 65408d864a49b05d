"""A model whose drives are unknown: forces on coordinates, activations of muscles and contact forces are written.

Actuators of the scene, and forces of its joints, are left out.  All else acts as in a run: gravity, springs, dampers,
forces on bodies, prescribed motions.  Tendons are rigid, and the active force of a muscle is in proportion to its
activation: fibers are as fast as with full activation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.forces import body_load, joint_control
from multibody_cli.forces.elements import CONTROLS, MUSCLES, PLACES
from multibody_cli.forces.muscle_curves import without_curves
from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel import Floats, records
from multibody_cli.model import Account, ActuationEntry, Model
from multibody_cli.packing.applied_forces import with_constants

ACTUATORS, LOADS = PLACES[joint_control.ACTUATORS.name], PLACES[body_load.ELEMENT.name]


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
    contacts
        (b, 6) contact forces and torques on rows of bodies, about the origins of joint frames, N and N m, likewise.
    left_out
        The actuators of the scene, and the joints with a `force`, which do not act.
    driven
        Indices in v of the coordinates on which they act.
    """

    model: Model
    forces: Floats
    activations: Floats
    contacts: Floats
    left_out: tuple[str, ...]
    driven: frozenset[int]


def with_unknown_drives(
    model: Model, coordinates: Mapping[str, int], passive: bool = False, touching: Sequence[int] = ()
) -> Drives:
    """Return a copy of a model with unknown drives.

    Parameters
    ----------
    model
        The model, in joint coordinates.
    coordinates
        Index in v of each coordinate with a force, by the name of the force.
    passive
        Whether muscles have their passive forces, which rigid tendons make larger.
    touching
        Rows of the bodies with contact forces.
    """
    names, forces = model.names, model.system.forces
    accounts, left_out = _without_drives(names.accounts)
    own = len(accounts)
    accounts += [Account("work", f"actuators/{path_component(name)}") for name in coordinates]
    tables = [_without(table, left_out) for table in forces.tables]
    driven = {int(iv) for place in (ACTUATORS, CONTROLS) for iv in forces.tables[place]["iv"]}
    driven -= {int(iv) for iv in tables[CONTROLS]["iv"]}  # of springs
    driven |= {int(iv) for iv in model.system.commands["iv"]}
    muscles = np.array(tables[MUSCLES])
    first = len(forces.signals.first)
    ends = np.cumsum([len(coordinates), len(muscles), 6 * len(touching)])
    of_forces, of_muscles, of_contacts = np.split(first + np.arange(ends[-1]), ends[:-1])
    controls = [
        (iv, signal, -1, -1, 1.0, own + k)
        for k, (iv, signal) in enumerate(zip(coordinates.values(), of_forces, strict=True))
    ]
    tables[CONTROLS] = _extended(tables[CONTROLS], controls)
    loads = [
        (row, 0, np.zeros(3), np.zeros(9), *of_contacts[6 * k : 6 * k + 6].reshape(2, 3), len(accounts))
        for k, row in enumerate(touching)
    ]
    accounts += [Account("work", "contacts")] if loads else []
    tables[LOADS] = _extended(tables[LOADS], loads)
    muscles["state"], muscles["slowing"], muscles["activation"] = -1, 0.0, of_muscles
    muscles["least"], muscles["damping"] = 0.0, 0.0
    curves = forces.curves
    if not passive:
        curves = without_curves(curves, muscles["passive"])
    tables[MUSCLES] = records(muscles)
    system = with_constants(model.system, ends[-1])
    signals = system.forces.signals
    system = system._replace(
        commands=system.commands[:0],
        forces=system.forces._replace(tables=tuple(tables), curves=curves, states=system.forces.states.copy()),
    )
    entries = tuple(ActuationEntry(name, slice(k, k + 1), (name,)) for k, name in enumerate(coordinates))
    names = replace(names, accounts=tuple(accounts), actuators=entries, filtered=())
    changed = replace(model, system=system, names=names, controllers=(), activations=np.zeros(0, np.int64))
    values, split, last = signals.operand[len(signals.operand) - ends[-1] :], ends[0], ends[1]
    causes = tuple(accounts[k].cause.removesuffix(_UNUSED) for k in sorted(left_out))
    contacts = values[last:].reshape(-1, 6)
    return Drives(changed, values[:split], values[split:last], contacts, causes, frozenset(driven))


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
