"""Equilibria that contacts and dry friction hold: forces of the least norm, and stability by the second variation.

Contacts that press without slip are equalities: along the normal, and with friction strictly inside of its cone along
the tangents as well, likewise moments of resistances to rolling and spinning.  Coordinates of joints whose dry friction
is inside of its limit are held.  With the motions N that these rows allow, the second variation is

    K = -N^T d(f + G^T x)/dq N,

where G contains the rows of contacts: their derivative has the curvature of both surfaces, times the forces.  Rows of
friction restrict rates alone: bodies roll.  Contacts without force, and touched limits, are inequalities.

Where friction is strictly inside of its limits, the equilibrium is one of a set, whose dimension is that of the motions
that friction takes away: a neighbor along any of them is held as well.

Source: Bottema, On the stability of the equilibrium of non-holonomic systems, Indagationes Mathematicae 11 (1949).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.contacts.contract import Records
from multibody_cli.immutable import replace
from multibody_cli.initial.linearized_motion import motions
from multibody_cli.kernel import Flags, Floats
from multibody_cli.model import Model, State
from multibody_cli.statics.active_rows import Balance
from multibody_cli.statics.bounded_forces import Cones, Forces, least_forces
from multibody_cli.statics.contact_rows import OF_CONTACT, Changed, ContactForces
from multibody_cli.statics.search import TOUCHING, Equilibrium, Place, Search

LOADED = 1e-7
"""Normal force of a contact, relative to the forces in a coordinate that it balances, from which it presses.

Those of the lighter one of its bodies count: their size is at least that of their inertia.
"""

ROUND_OFF = 1e-12
"""The same relative to the largest force of its group, and to those that cancel each other without contacts."""


class Hold(NamedTuple):
    """A coordinate that the dry friction of its joint may hold, and the largest friction, N or N m."""

    coordinate: int
    limit: float


class Group(NamedTuple):
    """Bodies that joints, rows and contacts join, but for the world: coordinates (n,), rows (m,) and weight, J."""

    columns: Flags
    rows: Flags
    weight: float


class HeldEquilibrium(NamedTuple):
    """An equilibrium that contacts and friction hold.

    Parameters
    ----------
    found
        The equilibrium, with the forces of rows.
    forces
        (c, 6) forces and moments of contacts along n, t and b, on the second body.
    set_dimension
        Dimension of the set of equilibria, of which this is one; 0 if it is isolated, or neutral.
    redundant
        Dimension of the set of forces that hold it.
    reason
        Why the stability is unknown; "" otherwise.
    """

    found: Equilibrium
    forces: Floats
    set_dimension: int
    redundant: int
    reason: str


class HeldPosition(Search):
    """A position that contacts and dry friction hold.

    Parameters
    ----------
    model, state
        The model in joint coordinates, and the position, without rates.
    contacts
        Its contacts that touch or press.
    holds
        Coordinates that dry friction may hold.
    """

    def __init__(self, model: Model, state: State, contacts: Records, holds: Sequence[Hold]) -> None:
        super().__init__(model, state, np.zeros(model.nv, np.bool_))
        tree, m, c = model.system.tree, len(self._weights), len(contacts)
        columns = np.array([one.coordinate for one in holds], np.int64)
        self._contacts, self._holds = contacts, holds
        self._rows_of_contacts = m + np.arange(OF_CONTACT * c).reshape(c, OF_CONTACT)
        self._rows_of_holds = m + OF_CONTACT * c + np.arange(len(holds))
        self._forces: ContactForces = ContactForces(model, state.copy(), contacts, columns)
        own = np.tile(np.repeat([1.0 / tree.length, 1.0], 3), c)
        self._weights = np.concatenate([self._weights, own, tree.weights[columns]])
        nothing = np.zeros(len(own) + len(holds), np.bool_)
        self._equality, self._holonomic = np.append(self._equality, nothing), np.append(self._holonomic, nothing)
        self._holonomic[self._rows_of_contacts[:, 0]] = True

    def equilibrium(self, rest: Equilibrium) -> HeldEquilibrium:
        """Return the equilibrium; that of `rest`, without its stability, where this is unknown."""
        q, normals = self._start, self._rows_of_contacts[:, 0]
        forces = self._sizes * self._forces.at(q, np.zeros(len(self._weights)))[self._free]
        try:
            G, errors = self._rows(q)
            groups = self._groups(q, G)
            touching = ~self._equality & self._holonomic & (errors <= TOUCHING)
            touching[normals] |= self._contacts["impulse"][:, 0] > 0.0
            found, taken = self._balanced(forces, G, groups, touching)
            sizes = LOADED * self._sizes_of_forces(forces, G, found.x)
            loaded = taken & (np.abs(G * found.x[:, None]) > sizes).any(axis=1)
            for _, rows, weight in groups:
                loaded[rows] &= found.x[rows] > ROUND_OFF * max(weight, np.abs(found.x[rows]).max(initial=0.0))
            if found.exists and not loaded[normals[touching[normals]]].all():
                pressed = touching.copy()  # contacts without force have no friction either
                pressed[normals] &= loaded[normals]
                found, taken = self._balanced(forces, G, groups, pressed)
            if not found.exists:
                return HeldEquilibrium(rest, np.zeros((0, OF_CONTACT)), 0, 0, "friction is at its limit")
            bounded = taken & ~self._equality & ~self._holonomic
            active = self._equality | bounded | (taken & loaded)
            N, without_friction = motions(G[active]), motions(G[active & ~bounded])
            x = np.where(active, found.x, 0.0)
            held = self._found(Place(q, forces, G, np.where(touching, 0.0, errors), Balance(x, active, N)))
        except Changed as error:
            return HeldEquilibrium(rest, np.zeros((0, OF_CONTACT)), 0, 0, str(error))
        m, dimension = len(rest.active), without_friction.shape[1] - N.shape[1]
        of_contacts = held.multipliers[self._rows_of_contacts]
        held = replace(held, multipliers=held.multipliers[:m], active=held.active[:m], steps=rest.steps)
        return HeldEquilibrium(held, of_contacts, dimension, found.dimension, "")

    def _groups(self, q: Floats, G: Floats) -> list[Group]:
        """Return the groups; rows without a coordinate are those of their contact, or of no group."""
        from scipy.sparse.csgraph import connected_components  # on demand

        M = self._mass_matrix(q, np.eye(len(self._free)))
        acts = G != 0.0
        for rows in self._rows_of_contacts:
            acts[rows] = acts[rows].any(axis=0)
        count, labels = connected_components((M != 0.0) | (acts.T @ acts), directed=False)
        each = (labels == k for k in range(count))
        weights = self._square * np.diag(M)
        return [Group(own, acts[:, own].any(axis=1), float(weights[own].max())) for own in each]

    def _balanced(self, forces: Floats, G: Floats, groups: Sequence[Group], touching: Flags) -> tuple[Forces, Flags]:
        """Return the forces (m,) of all rows, scaled, and which rows (m,) may have one, if these ones may press."""
        taken, w, contacts = self._equality | touching, self._weights, self._contacts
        taken[self._rows_of_holds] = True
        limits = np.array([one.limit for one in self._holds])
        cones = [Cones(np.full(len(limits), -1), self._rows_of_holds[:, None], limits / w[self._rows_of_holds])]
        for name, own in ("friction", slice(1, 3)), ("rolling", slice(4, 6)), ("torsional", slice(3, 4)):
            has_limit = touching[self._rows_of_contacts[:, 0]] & (contacts[name] > 0.0)
            rows, coefficients = self._rows_of_contacts[has_limit], contacts[name][has_limit]
            taken[rows[:, own]] = True
            cones.append(Cones(rows[:, 0], rows[:, own], coefficients * w[rows[:, 0]] / w[rows[:, own][:, 0]]))
        x, exists = np.zeros(len(taken)), True
        dimension = int(np.count_nonzero(taken & ~np.any([one.rows for one in groups], axis=0)))
        for columns, of_group, weight in groups:
            own = taken & of_group
            number = np.full(len(taken) + 1, -1)
            number[np.flatnonzero(own)] = np.arange(np.count_nonzero(own))
            kept = [(one, of_group[one.rows[:, 0]]) for one in cones]
            found = least_forces(
                G[np.ix_(own, columns)].T,
                -forces[columns],
                number[np.flatnonzero(own & touching)],
                [Cones(number[n[k]], number[rows[k]], c[k]) for (n, rows, c), k in kept if k.any()],
                weight,
            )
            x[own], exists, dimension = found.x, exists and found.exists, dimension + found.dimension
        return Forces(x, dimension, exists), taken
