"""The equality rows of a model at a state, in the rates of the free coordinates.

The rates v of a state on the constraints satisfy G v + g = 0.  With the columns of N a basis of the null space of G,

    v = N u - G^+ g.

Rates are compared in angles, and in displacements over the length of the mechanism.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.constraint_solver.projection import compute_velocity_residuals
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.implicit.linearization import compute_constraint_jacobian, compute_row_accelerations
from multibody_cli.initial.linearized_motion import null_space, row_lengths
from multibody_cli.kernel import Flags, Floats
from multibody_cli.model import Model, State
from multibody_cli.tree.workspace import Work, workspace_for


class EqualityRows:
    """The equality rows of a model in joint coordinates; `update` computes them at a state.

    Parameters
    ----------
    model
        The model.
    of_positions
        Whether rows of rates alone are left out, as those of rolling bodies: they restrict no position.

    Attributes
    ----------
    work
        The work arrays, with the kinematics of the last state.
    n, free
        Number of the coordinates of the tree, and the indices of those that are not prescribed.
    scales
        (n,) displacement of a coordinate that counts as 1 rad, or as one length of the mechanism.
    G, N
        Jacobian (m, free), and basis (n, k) of the rates that satisfy all rows, as columns.
    """

    def __init__(self, model: Model, of_positions: bool = False) -> None:
        self._model, self._system, self._of_positions = model, model.system, of_positions
        self._whole: Floats = np.zeros((len(model.system.rows), 0))
        self.work: Work = workspace_for(model.system)
        tree = model.system.tree
        self.n = int(tree.links["nv"].sum())
        self.free = np.flatnonzero(~tree.driven[: self.n])
        self.scales: Floats = 1.0 / tree.weights[: self.n]
        self.G: Floats = np.zeros((0, len(self.free)))
        self.N: Floats = np.zeros((self.n, 0))

    def update(self, state: State) -> None:
        """Compute the rows at a state."""
        self._whole = np.zeros((len(self._system.rows), self.n))
        if self._system.is_constrained:
            compute_constraint_jacobian(self._system, self.work, state, self._whole)
        else:
            update_kinematics(self._system, state.time[0], state.q, state.v, state.a, self.work)
        self.G = self._whole[self.equalities()][:, self.free]
        basis = null_space(self._scaled()) if len(self.G) else np.eye(len(self.free))
        self.N = np.zeros((self.n, basis.shape[1]))
        self.N[self.free] = self.scales[self.free, None] * basis

    def _scaled(self) -> Floats:
        """Return the Jacobian (m, free) relative to the rows of a body that turns by 1 rad or moves by one length."""
        return np.asarray(self._weights()[:, None] * self.G * self.scales[self.free])

    def _weights(self) -> Floats:
        return np.asarray(self._system.rows["weight"][self.equalities()])

    def limits(self) -> tuple[Floats, Floats]:
        """Return the Jacobian (l, n) and the values (l,) of the one-sided rows at positions, which are 0 or more."""
        one_sided = self.work.rows["one_sided"] == 1
        return self._whole[one_sided], np.array(self.work.rows["error"][one_sided])

    def errors(self) -> Floats:
        """Return the values of the equality rows at positions."""
        return np.array(self.work.rows["error"][self.equalities()])

    def velocities(self, state: State) -> Floats:
        """Return the values of the equality rows at velocity level with zero rates of the free coordinates."""
        if not len(self._system.rows):
            return np.zeros(0)
        compute_velocity_residuals(self.work, state.v)
        return np.array(self.work.rows["residual"][self.equalities()])

    def accelerations(self, state: State) -> tuple[Floats, Floats]:
        """Return the values of the equality rows at acceleration level with zero dv/dt of the free coordinates.

        Returns
        -------
        values
            (m,) the values.
        prescribed
            (n,) the prescribed accelerations; 0 of the free coordinates.
        """
        update_kinematics(self._system, state.time[0], state.q, state.v, state.a, self.work)
        prescribed = state.a[: self.n].copy()
        prescribed[self.free] = 0.0
        full, values = np.zeros(self._model.nv), np.zeros(len(self._system.rows))
        full[: self.n] = prescribed
        compute_row_accelerations(self._system, self.work, full, values)
        return values[self.equalities()], prescribed

    def particular(self, values: Floats) -> Floats:
        """Return -G^+ g (n,), the least rates that satisfy rows with the values g (m,)."""
        found = np.zeros(self.n)
        if len(self.G):
            G = self._scaled()
            sizes = row_lengths(G)
            least = np.linalg.lstsq(G / sizes[:, None], self._weights() * values / sizes, 1e-10)[0]
            found[self.free] = -self.scales[self.free] * least
        return found

    def equalities(self) -> Flags:
        """Return which rows (m,) these are."""
        rows = self.work.rows
        found: Flags = (rows["one_sided"] == 0) & (rows["active"] == 1)
        return found & (rows["holonomic"] == 1) if self._of_positions else found
