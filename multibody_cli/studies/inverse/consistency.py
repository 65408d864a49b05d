"""Motions that satisfy loops, constraints and prescribed motions, from some of their coordinates.

The rates v of a state on the constraints satisfy G v + g = 0 for all equality rows, and the accelerations G a + h = 0.
With the columns of N a basis of the null space of G,

    v = N u - G^+ g,    a = N w - G^+ h,

where u and w are those with which the given coordinates have their given rates and accelerations.  If constraints
contradict these, the weighted sum of squares of the changes is least, in angles, and displacements over the length of
the mechanism.  Coordinates that neither a table nor the constraints determine keep the values of the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from multibody_cli.errors import RunFailed
from multibody_cli.forces.states import load_states
from multibody_cli.initial.assemble import Assembler
from multibody_cli.kernel import Flags, Floats, Integers
from multibody_cli.model import Model, State
from multibody_cli.packing.ropes import follow_ropes
from multibody_cli.studies.inverse.branches import branches_at
from multibody_cli.studies.inverse.equality_rows import EqualityRows
from multibody_cli.studies.prescribed_motion import PrescribedMotion
from multibody_cli.tree.configuration import displace, normalize

LONGEST = 0.1
"""Largest displacement between configurations from one of which the other is assembled, rad or lengths of the
mechanism."""

MOST_STEPS = 1000

POSITION_ERROR, RATE_ERROR = 1e-9, 1e-5
"""Largest errors of a continued motion, relative to the sizes of rows, and to the rates times the Jacobian."""

DEPENDENT = 1e-8
"""Length of the part of a direction outside of others that is round-off."""


class ConsistentMotion:
    """States on the constraints of a model, each from the one before.

    Parameters
    ----------
    model, state
        The model in joint coordinates, and its state at the start, which is changed.
    given
        Indices in v of the coordinates of a table; of the three of a rotation, all or none.
    dependent
        Indices in v of coordinates that follow from others, as those of couplings: they are the last to be held.

    Attributes
    ----------
    held
        Indices in v of the coordinates that keep their values.
    rows
        The equality rows at the last state.
    branches
        Rates (n,) of the branches that meet at the start, if it is a singular position; the motion follows the first.
    change, changes
        (given,) change of each given coordinate at the last state, and the largest of all states, since the constraints
        contradict the table.
    """

    def __init__(self, model: Model, state: State, given: Sequence[int], dependent: Sequence[int] = ()) -> None:
        self._model, self._system, self._state = model, model.system, state
        self.rows, self._assembler = EqualityRows(model), Assembler(model, state)
        self._prescribed = PrescribedMotion(model, state)
        tree = model.system.tree
        self._moves = ~tree.driven
        self._places = np.full(model.nv, -1)
        self._places[tree.plain["iv"]] = tree.plain["iq"]
        for turn in tree.exponentials:
            self._places[turn["iv"] : turn["iv"] + 3] = np.arange(turn["iq"], turn["iq"] + 3)
        self.given: Integers = np.array(given, np.int64)
        self._is_plain: Flags = self._places[self.given] >= 0
        turns = [(int(turn["iq"]), given.index(int(turn["iv"]))) for turn in tree.quaternions if turn["iv"] in given]
        self._turns = turns  # first number in q, and place among the given coordinates
        self._dependent = [*dependent]
        self.change, self.changes = np.zeros((2, len(given)))
        self.held: Integers = np.zeros(0, np.int64)
        self.branches: tuple[Floats, ...] = ()
        self._is_first = True

    def directions(self, state: State) -> Floats:
        """Return a basis N (n, k) of the rates that satisfy all equality rows, as columns."""
        self.rows.update(state)
        return self.rows.N

    def values(self, state: State) -> Floats:
        """Return all coordinates (nv,) of a state by their places in v; NaN for a rotation in a quaternion."""
        return np.where(self._places >= 0, state.q[self._places], np.nan)

    def order(self, preferred: Sequence[int]) -> list[int]:
        """Return the free coordinates of the tree in the order in which they are chosen: dependent ones last."""
        others = [int(j) for j in self.rows.free if j not in self._dependent]
        chosen = dict.fromkeys([*preferred, *others, *self.rows.free.tolist()])
        return [j for j in chosen if j < self.rows.n]

    def advance(self, time: float, q: Floats, v: Floats, a: Floats) -> tuple[State, Floats]:
        """Return the state at a time, and its accelerations (n,).

        Parameters
        ----------
        time
            Time, s.
        q, v, a
            (given,) values, rates and accelerations of the given coordinates; of a rotation, the rotation vector.

        Raises
        ------
        RunFailed
            The constraints cannot be satisfied.
        ArgumentError
            Whole turns of a rope are uncertain between two configurations.
        """
        state, rows = self._state, self.rows
        before = state.v[: rows.n].copy(), state.a[: rows.n].copy()
        self._place(time, q)
        state.v[self._moves] = 0.0
        rows.update(state)
        if self._is_first:
            self._start(v, a, before)
        wanted = np.concatenate([self.given, self.held])
        rates, accelerations = (np.append(values, np.zeros(len(self.held))) for values in (v, a))
        state.v[rows.free] = self._solve(rows.velocities(state), wanted, rates, before[0])
        values, own = rows.accelerations(state)
        own[rows.free] = self._solve(values, wanted, accelerations, before[1])
        state.a[: rows.n] = own
        return state, own

    def determinacy(self) -> float:
        """Return how well the given and the held coordinates determine the rates of the others at the last state.

        It is the smallest singular value of the columns of the others, relative to the largest one; 1 without others.
        """
        rows = self.rows
        G = rows.G * rows.scales[rows.free]
        others = ~np.isin(rows.free, [*self.given, *self.held])
        if not G[:, others].size:
            return 1.0
        sizes = self._assembler.scales.rows[rows.equalities()]
        values = np.linalg.svd(G[:, others] / sizes[:, None], compute_uv=False)
        return float(values[-1] / (values[0] or 1.0))

    def displace(self, time: float, displacement: Floats, v: Floats, a: Floats) -> Floats | None:
        """Displace the last state to a time, s, with given rates and accelerations (n,).

        Returns
        -------
        a
            (n,) the accelerations; None if the constraints are not satisfied there.
        """
        state, rows = self._state, self.rows
        whole, before = np.zeros(self._model.nv), state.q.copy()
        whole[rows.free] = displacement[rows.free]
        displace(self._system.tree, state.q, whole, 1.0)
        normalize(self._system.tree, state.q)
        self._prescribed.place(state, time)
        follow_ropes(self._model, state, before)
        state.time[0], state.v[rows.free] = time, v[rows.free]
        rows.update(state)
        errors = rows.errors() / self._assembler.scales.rows[rows.equalities()]
        rates = rows.velocities(state)
        sizes = np.abs(rows.G) @ np.abs(v[rows.free])
        own = rows.accelerations(state)[1]
        own[rows.free] = a[rows.free]
        state.a[: rows.n] = own
        error, slip = np.abs(errors).max(initial=0.0), np.abs(rates).max(initial=0.0)
        return own if error <= POSITION_ERROR and slip <= RATE_ERROR * sizes.max(initial=0.0) else None

    def _place(self, time: float, q: Floats) -> None:
        """Assemble the configuration with the given values."""
        state, plain, before = self._state, self._is_plain, self._state.q.copy()
        load_states(self._system.forces.states, state.z)
        places = self._places[self.given[plain]]
        for iq, k in self._turns:
            state.q[iq : iq + 4] = quaternion_of(q[k : k + 3])
        q = q[plain]
        start, began = state.q[places].copy(), float(state.time[0])
        steps = 1
        if self._system.is_constrained:
            size = np.abs((q - start) / self.rows.scales[self.given[plain]]).max(initial=0.0)
            steps = int(np.clip(np.ceil(size / LONGEST), 1, MOST_STEPS)) if self._is_first else 1
        kept = self._system.tree.driven.copy()
        kept[self.given] = kept[self.held] = True
        if not self._is_first:  # coordinates that follow from the others are near to where their rates lead
            rates = np.where(kept, 0.0, state.v) * (time - began)
            displace(self._system.tree, state.q, rates, 1.0)
            normalize(self._system.tree, state.q)
        self._prescribed.place(state, time)
        state.time[0] = time
        for k in range(1, steps + 1):
            state.q[places] = start + k / steps * (q - start)
            self._assemble(kept)
            follow_ropes(self._model, state, before)
            before = state.q.copy()
        self.change[plain] = np.abs(state.q[places] - q)
        self.changes = np.maximum(self.changes, self.change)

    def _assemble(self, kept: Flags) -> None:
        if not self._system.is_constrained:
            return
        found = self._assembler.assemble_positions(kept)
        if not found.closed:
            row = self._model.names.rows[found.row]
            raise RunFailed(
                f"at t = {self._state.time[0]:.9g} s, {row.section}.{row.element} cannot be satisfied: an error of "
                f"{found.after.value:.3g} m or rad {row.direction} remains; check the motion"
            )

    def _start(self, v: Floats, a: Floats, before: tuple[Floats, Floats]) -> None:
        """Hold the coordinates that nothing determines; at a singular position, the rates before become a branch's."""
        self._is_first = False
        state, rows = self._state, self.rows
        found = branches_at(rows, self._assembler.scales.rows, state, self.given, v, a, before[0])
        state.v[self._moves] = 0.0
        rows.update(state)
        self._hold(rows.N if found is None else found.loose)
        if found is not None and found.rates:
            self.branches = tuple(found.rates)
            before[0][:] = found.rates[0]

    def _hold(self, N: Floats) -> None:
        order = self.order(self.given.tolist())
        chosen = [order[k] for k in spanning(N[order] / self.rows.scales[order, None])]
        self.held = np.array([j for j in chosen if j not in self.given], np.int64)

    def _solve(self, values: Floats, wanted: Integers, given: Floats, before: Floats) -> Floats:
        """Return the rates or accelerations (free,) of the free coordinates: of several, those next to others (n,).

        There are several where branches meet: those before are on the same branch.
        """
        rows = self.rows
        particular, own = rows.particular(values), 1.0 / rows.scales[wanted]
        u = rows.N.T @ ((before - particular) / rows.scales**2)
        missing = own * (given - particular[wanted] - rows.N[wanted] @ u)
        u += np.linalg.lstsq(own[:, None] * rows.N[wanted], missing, 1e-12)[0]
        return np.asarray((particular + rows.N @ u)[rows.free])


def quaternion_of(vector: Floats) -> Floats:
    """Return the quaternion (w, x, y, z) of a rotation vector, rad."""
    angle = float(np.linalg.norm(vector))
    return np.array([math.cos(0.5 * angle), *(0.5 * np.sinc(0.5 * angle / math.pi) * vector)])


def spanning(rows: Floats) -> list[int]:
    """Return the numbers of the first rows of a matrix (m, k) that span all of them."""
    chosen: list[int] = []
    basis = np.zeros((rows.shape[1], 0))
    for k, row in enumerate(rows):
        rest = row - basis @ (basis.T @ row)
        rest -= basis @ (basis.T @ rest)
        if basis.shape[1] < rows.shape[1] and np.linalg.norm(rest) > DEPENDENT:
            chosen.append(k)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return chosen
