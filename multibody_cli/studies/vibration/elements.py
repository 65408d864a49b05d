"""Energies of the elements of a scene in small motions: of springs, gravity, inertia at constant rates and constraints.

A displacement x changes the forces f of an element by df/dq x, and its energy by -x^T df/dq x/2, to second order.  The
forces of a row, of a constraint or a limit, are those of its multiplier, G^T x: they turn with the motion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from multibody_cli.escaping import decoded
from multibody_cli.immutable import replace
from multibody_cli.initial.linearized_motion import Complex
from multibody_cli.kernel import Flags, Floats, records
from multibody_cli.model import Model, Records, State
from multibody_cli.statics.rest import with_held_motions
from multibody_cli.statics.unbalanced_forces import UnbalancedForces

SMALLEST_SHARE = 0.05
"""Share of the energy of a mode, above which an element is listed."""


def energies_of_elements(model: Model, state: State, multipliers: Floats, shapes: Complex) -> dict[str, Floats]:
    """Return the energy (k,) of each element in displacements (nv, k), J; of complex ones, the sum of both parts.

    Parameters
    ----------
    model, state
        The model in joint coordinates, and the state from which it is displaced.
    multipliers
        (m,) forces of the rows there.
    shapes
        The displacements.
    """
    model = with_held_motions(model, np.zeros(model.nv, np.bool_))
    columns, n = np.hstack([shapes.real, shapes.imag]), int(model.system.tree.links["nv"].sum())
    moving = columns.any(axis=0)
    still, no_rows = state._replace(v=np.zeros_like(state.v)), np.zeros_like(multipliers)
    found: dict[str, Floats] = {}

    def add(name: str, part: Model, at: State, x: Floats) -> None:
        forces, energies = UnbalancedForces(part, at.copy()), np.zeros(columns.shape[1])
        works = np.abs(columns[:n, moving]).T @ np.abs(forces.at(state.q, x))
        K = forces.second_variation(state.q, x, columns[:, moving], works).K
        energies[moving] = 0.5 * np.diag(K)
        energies = energies.reshape(2, -1).sum(axis=0)
        if energies.any():
            found[name] = found[name] + energies if name in found else energies

    elements = _elements(model)
    for name in dict.fromkeys(name for table in elements for name in table):
        add(name, _with(model, [np.array([one == name for one in table], bool) for table in elements]), still, no_rows)
    no_forces = [np.zeros(len(table), bool) for table in elements]
    nothing = _with(model, no_forces)
    if model.system.tree.gravity.any():
        add("gravity", _with(model, no_forces, gravity=True), still, no_rows)
    if state.v.any():
        add("inertia", nothing, state, no_rows)
    rows = [f"{row.section}.{row.element}" for row in model.names.rows]
    for name in dict.fromkeys(rows):
        own = np.where([one == name for one in rows], multipliers, 0.0)
        if own.any():
            add(name, nothing, still, own)
    return found


def shares(energies: Mapping[str, Floats], k: int) -> dict[str, float]:
    """Return the shares of the elements in the k-th displacement, relative to the sum of their sizes, largest first.

    That of an element whose energy decreases is negative.
    """
    total = sum(abs(float(one[k])) for one in energies.values())
    own = {name: float(one[k]) / total for name, one in energies.items()} if total > 0.0 else {}
    names = sorted(own, key=lambda name: -abs(round(own[name], 9)))
    return {name: own[name] for name in names if abs(own[name]) >= SMALLEST_SHARE}


def _elements(model: Model) -> list[list[str]]:
    """Return the element of each record of each table of force elements."""

    def names_of(table: Records) -> Iterator[str]:
        for number in table["account"].tolist():
            section, name = model.names.accounts[number].cause.split("/")[:2]
            yield f"{section}.{decoded(name)}"

    return [list(names_of(table)) for table in model.system.forces.tables]


def _with(model: Model, kept: list[Flags], gravity: bool = False) -> Model:
    """Return a model with some of its force elements, and with or without gravity."""
    system, tree = model.system, model.system.tree
    tables = tuple(records(np.array(table[flags])) for table, flags in zip(system.forces.tables, kept, strict=True))
    own = tree if gravity else tree._replace(gravity=np.zeros(3))
    return replace(model, system=system._replace(tree=own, forces=system.forces._replace(tables=tables)))
