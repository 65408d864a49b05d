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

from multibody_cli.constraint_solver.projection import compute_velocity_residuals
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.errors import RunFailed
from multibody_cli.implicit.linearization import compute_constraint_jacobian, compute_row_accelerations
from multibody_cli.initial.assemble import Assembler
from multibody_cli.initial.linearized_motion import null_space
from multibody_cli.kernel import Flags, Floats, Integers
from multibody_cli.model import Model, State
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.workspace import workspace_for

LONGEST = 0.1
"""Largest displacement between configurations from one of which the other is assembled, rad or lengths of the
mechanism."""

MOST_STEPS = 1000

DEPENDENT = 1e-8
"""Length of the part of a direction outside of others that is round-off."""


class ConsistentMotion:
    """States on the constraints of a model, each from the one before.

    Parameters
    ----------
    model, state
        The model in joint coordinates, and its state at the start, which is changed.
    given
        Indices in v of the coordinates that a table gives; of the three of a rotation, all or none.
    dependent
        Indices in v of coordinates that follow from others, as those of couplings: they are the last to be held.

    Attributes
    ----------
    held
        Indices in v of the coordinates that keep their values.
    changes
        (given,) largest change of each given coordinate, since the constraints contradict the table.
    """

    def __init__(self, model: Model, state: State, given: Sequence[int], dependent: Sequence[int] = ()) -> None:
        self._model, self._system, self._state = model, model.system, state
        self._work, self._assembler = workspace_for(model.system), Assembler(model, state)
        tree = model.system.tree
        self.n = int(tree.links["nv"].sum())
        self._free = np.flatnonzero(~tree.driven[: self.n])
        self._scales = 1.0 / tree.weights[: self.n]
        self._places = np.full(model.nv, -1)
        self._places[tree.plain["iv"]] = tree.plain["iq"]
        for turn in tree.exponentials:
            self._places[turn["iv"] : turn["iv"] + 3] = np.arange(turn["iq"], turn["iq"] + 3)
        self.given: Integers = np.array(given, np.int64)
        self._is_plain: Flags = self._places[self.given] >= 0
        turns = [(int(turn["iq"]), given.index(int(turn["iv"]))) for turn in tree.quaternions if turn["iv"] in given]
        self._turns = turns  # first number in q, and place among the given coordinates
        self._dependent = [*dependent]
        self.changes = np.zeros(len(given))
        self.held: Integers = np.zeros(0, np.int64)
        self._is_first = True

    def directions(self, state: State) -> Floats:
        """Return a basis N (n, k) of the rates that satisfy all equality rows, as columns."""
        return self._basis(self._jacobian(state))

    def order(self, preferred: Sequence[int]) -> list[int]:
        """Return the free coordinates of the tree in the order in which they are chosen: dependent ones last."""
        others = [int(j) for j in self._free if j not in self._dependent]
        chosen = dict.fromkeys([*preferred, *others, *self._free.tolist()])
        return [j for j in chosen if j < self.n]

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
        """
        state, n = self._state, self.n
        self._place(time, q)
        state.v[:] = 0.0
        G = self._jacobian(state)
        N = self._basis(G)
        if self._is_first:
            self._hold(N)
        wanted = np.concatenate([self.given, self.held])
        rates, accelerations = (np.append(values, np.zeros(len(self.held))) for values in (v, a))
        state.v[:n][self._free] = self._solve(G, N, self._velocity_residuals(), wanted, rates)
        update_kinematics(self._system, time, state.q, state.v, state.a, self._work)
        own = self._prescribed()
        values = np.zeros(len(self._system.rows))
        full = np.zeros(self._model.nv)
        full[:n] = own
        compute_row_accelerations(self._system, self._work, full, values)
        own[self._free] = self._solve(G, N, values[self._equalities()], wanted, accelerations)
        state.a[:n] = own
        return state, own

    def _place(self, time: float, q: Floats) -> None:
        """Assemble the configuration with the given values."""
        state, plain = self._state, self._is_plain
        places = self._places[self.given[plain]]
        for iq, k in self._turns:
            state.q[iq : iq + 4] = quaternion_of(q[k : k + 3])
        q = q[plain]
        start, began = state.q[places].copy(), float(state.time[0])
        steps = 1
        if self._system.is_constrained:
            size = np.abs((q - start) / self._scales[self.given[plain]]).max(initial=0.0)
            steps = int(np.clip(np.ceil(size / LONGEST), 1, MOST_STEPS)) if self._is_first else 1
        kept = np.zeros(self._model.nv, np.bool_)
        kept[self.given] = kept[self.held] = True
        if not self._is_first:  # coordinates that follow from the others are near to where their rates lead
            rates = np.where(kept, 0.0, state.v) * (time - began)
            displace(self._system.tree, state.q, rates, 1.0)
            normalize(self._system.tree, state.q)
        state.time[0] = time
        for k in range(1, steps + 1):
            state.q[places] = start + k / steps * (q - start)
            self._assemble(kept)
        self.changes[plain] = np.maximum(self.changes[plain], np.abs(state.q[places] - q))

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

    def _hold(self, N: Floats) -> None:
        """Hold the coordinates that nothing determines."""
        self._is_first = False
        order = self.order(self.given.tolist())
        chosen = [order[k] for k in spanning(N[order] / self._scales[order, None])]
        self.held = np.array([j for j in chosen if j not in self.given], np.int64)

    def _equalities(self) -> Flags:
        rows = self._work.rows
        found: Flags = (rows["one_sided"] == 0) & (rows["active"] == 1)
        return found

    def _jacobian(self, state: State) -> Floats:
        """Return the Jacobian (m, free) of the equality rows; the kinematics are in the work arrays."""
        G = np.zeros((len(self._system.rows), self.n))
        if self._system.is_constrained:
            compute_constraint_jacobian(self._system, self._work, state, G)
        return G[self._equalities()][:, self._free]

    def _basis(self, G: Floats) -> Floats:
        scales = self._scales[self._free]
        basis = null_space(G * scales) if len(G) else np.eye(len(scales))
        N = np.zeros((self.n, basis.shape[1]))
        N[self._free] = scales[:, None] * basis
        return N

    def _velocity_residuals(self) -> Floats:
        """Return the values of the equality rows at velocity level with zero rates of the free coordinates."""
        if not len(self._system.rows):
            return np.zeros(0)
        compute_velocity_residuals(self._work, self._state.v)
        return np.array(self._work.rows["residual"][self._equalities()])

    def _prescribed(self) -> Floats:
        found = self._state.a[: self.n].copy()
        found[self._free] = 0.0
        return found

    def _solve(self, G: Floats, N: Floats, residuals: Floats, wanted: Integers, values: Floats) -> Floats:
        """Return the rates or accelerations (free,) of the free coordinates."""
        scales = self._scales[self._free]
        particular = np.zeros(self.n)
        if len(G):
            sizes = np.linalg.norm(G * scales, axis=1) + 1e-300
            particular[self._free] = -scales * np.linalg.lstsq(G * scales / sizes[:, None], residuals / sizes, 1e-10)[0]
        own = 1.0 / self._scales[wanted]
        u = np.linalg.lstsq(own[:, None] * N[wanted], own * (values - particular[wanted]), 1e-12)[0]
        return np.asarray((particular + N @ u)[self._free])


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
