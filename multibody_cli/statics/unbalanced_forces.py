"""Unbalanced forces of a state without accelerations, and their derivatives along displacements.

With the forces f of gravity, of all force elements and, at constant rates, of inertia, and the multipliers x of the
rows with the Jacobian G,

    L(q, x) = f(q) + G(q)^T x.

The derivatives of L at constant x along the tangents of the constraints are those of the motion on the constraints: the
multipliers bring in the curvature of the rows.  They are central differences: the slope of the odd polynomial of degree
5 that fits six of them best.  The rest, of round-off and higher derivatives, has three orthogonal samples of the error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.cables.moving import update_points
from multibody_cli.constraint_solver.loop_joints import apply_loop_forces
from multibody_cli.constraint_solver.solver import apply_impulses_as_forces, clear_impulses, update_kinematics
from multibody_cli.constraints.rows import apply_row_impulse
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.linearization import compute_constraint_jacobian
from multibody_cli.initial.element_states import settle
from multibody_cli.kernel import kernel
from multibody_cli.linalg.vectors import copy
from multibody_cli.model import Floats, Model, State
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.inverse_dynamics import compute_inverse_dynamics
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.workspace import workspace_for


def _fitted() -> Floats:
    """Return the weights (4, 6) of the slope of the best polynomial, and of three samples of its error."""
    offsets = np.arange(1.0, 7.0)
    axes, sizes, _ = np.linalg.svd(offsets[:, None] ** [1.0, 3.0, 5.0])
    slope = 0.5 * np.linalg.pinv(offsets[:, None] ** [1.0, 3.0, 5.0])[0]
    return np.array([slope, *(np.linalg.norm(slope) * axes[:, len(sizes) :].T)])


SECOND, FOURTH, FITTED = np.array([[0.5]]), np.array([[2.0 / 3.0, -1.0 / 12.0]]), _fitted()
"""Weights (p, K) of central differences over 1, ..., K offsets."""

OFFSETS = {1: 1e-5, 2: 1e-3, 6: 5e-4}
"""Offset, relative to the sizes of coordinates, by the number of weights K."""

CHANGE = 1e-2
"""Offset of rates, relative to the slowest rate that counts and to the sizes of coordinates."""


class UnbalancedForces:
    """Evaluates L(q, x) of a model at one instant and at constant rates.

    Parameters
    ----------
    model
        The model in joint coordinates.
    state
        Time, rates v, and states of force elements; fibers with elastic tendons follow q.
    """

    def __init__(self, model: Model, state: State) -> None:
        self.model, self.state = model, state
        self.n = int(model.system.tree.links["nv"].sum())
        self.work = workspace_for(model.system)
        self._scratch = (np.zeros(model.nq), *np.zeros((2, model.nv)), np.zeros(len(model.names.accounts)))
        self._still = np.zeros(self.n)

    def at(self, q: Floats, x: Floats) -> Floats:
        """Return L (n,) at the coordinates q (nq,) and multipliers x (m,); `work` receives the rows."""
        found = np.zeros(self.n)
        self._settle(q)
        compute_unbalanced_forces(
            self.model.system, self.work, self.state.time[0], q, self.state.v, x, self._scratch, self._still, found
        )
        return found

    def along(self, q: Floats, x: Floats, directions: Floats, weights: Floats) -> Floats:
        """Return the differences (p, n, k) of L along displacements (nv, k), with weights (p, K)."""
        if len(self.state.z):
            return self.differences(q, x, directions, weights)
        columns, found = np.ascontiguousarray(directions.T), np.zeros((len(weights), directions.shape[1], self.n))
        differentiate_unbalanced_forces(
            self.model.system, self.work, self.state.time[0], q, self.state.v, x, columns, weights,
            OFFSETS[weights.shape[1]], self._scratch, self._still, np.zeros(self.model.nq), np.zeros(self.n), found,
        )  # fmt: skip
        return found.swapaxes(1, 2)

    def differences(self, q: Floats, x: Floats, directions: Floats, weights: Floats, fineness: float = 1.0) -> Floats:
        """Return the same with calls of `at`; `fineness` is a factor of the offset."""
        offset = fineness * OFFSETS[weights.shape[1]]
        found = np.zeros((len(weights), directions.shape[1], self.n))
        for j, column in enumerate(directions.T):
            for k, parts in enumerate(weights.T, start=1):
                for sign in (1.0, -1.0):
                    moved = displaced(self.model, q, column, sign * k * offset)
                    found[:, j] += sign / offset * np.outer(parts, self.at(moved, x))
        self._settle(q)
        return found.swapaxes(1, 2)

    def by_rates(self, q: Floats, x: Floats, directions: Floats) -> Floats:
        """Return the derivatives (n, k) of L along changes of the rates (nv, k), and samples of their error, (4, n, k).

        They are exact for forces of inertia and linear dampers; a force with a kink at rest has the mean of its slopes.
        """
        given, found = self.state.v.copy(), np.zeros((len(FITTED), directions.shape[1], self.n))
        rate = CHANGE * self.model.system.tree.rate
        for j, column in enumerate(directions.T):
            for k, parts in enumerate(FITTED.T, start=1):
                for sign in (1.0, -1.0):
                    self.state.v[:] = given + sign * k * rate * column
                    found[:, j] += sign / rate * np.outer(parts, self.at(q, x))
        self.state.v[:] = given
        return found.swapaxes(1, 2)

    def jacobian(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the Jacobian G (m, n) of all rows at q, and their errors (m,)."""
        G = np.zeros((len(self.work.rows), self.n))
        if self.model.system.is_constrained:
            compute_constraint_jacobian(self.model.system, self.work, self.state._replace(q=q).copy(), G)
        return G, self.work.rows["error"].copy()

    def _settle(self, q: Floats) -> None:
        if len(self.state.z):
            self.state.q[:] = q
            settle(self.model, self.state)


def displaced(model: Model, q: Floats, shift: Floats, factor: float = 1.0) -> Floats:
    """Return the coordinates (nq,) after a displacement (nv,)."""
    moved = q.copy()
    displace(model.system.tree, moved, np.ascontiguousarray(shift), factor)
    normalize(model.system.tree, moved)
    return moved


@kernel
def compute_unbalanced_forces(
    system: Any, work: Any, t: float, q: Any, v: Any, x: Any, scratch: Any, still: Any, found: Any
) -> None:
    """Compute L (n,) at q (nq,), v (nv,) and multipliers x (m,).

    `scratch` are arrays (nq,), (nv,), (nv,) and of the powers; `still` (n,) receives prescribed accelerations.
    """
    placed, rates, a, powers = scratch
    copy(q, placed)
    copy(v, rates)
    for j in range(len(a)):
        a[j] = 0.0
    update_kinematics(system, t, placed, rates, a, work)
    update_points(system.forces.points, placed, rates)
    write_ball_columns(system.tree, work)
    apply_forces(system.forces, t, placed, rates, work, powers)
    apply_loop_forces(system.tree, work.tau, work)
    clear_impulses(work)
    for r in range(len(x)):
        apply_row_impulse(work.rows[r], work.terms, x[r], work.wrenches, work.impulse)
    apply_impulses_as_forces(system.tree, work)
    for j in range(len(still)):
        still[j] = a[j] if system.tree.driven[j] else 0.0
    compute_inverse_dynamics(system.tree, work, still, still, found)
    for j in range(len(found)):
        found[j] = -found[j]


@kernel
def differentiate_unbalanced_forces(
    system: Any, work: Any, t: float, q: Any, v: Any, x: Any, columns: Any, weights: Any, offset: float,
    scratch: Any, still: Any, moved: Any, part: Any, found: Any,
) -> None:  # fmt: skip
    """Add the differences (p, k, n) of L along `columns` (k, nv); `moved` (nq,) and `part` (n,) are scratch."""
    for j in range(len(columns)):
        for k in range(weights.shape[1]):
            for side in range(2):
                sign = 1.0 - 2.0 * side
                copy(q, moved)
                displace(system.tree, moved, columns[j], sign * (k + 1) * offset)
                normalize(system.tree, moved)
                compute_unbalanced_forces(system, work, t, moved, v, x, scratch, still, part)
                for p in range(len(weights)):
                    for i in range(len(part)):
                        found[p, j, i] += sign * weights[p, k] / offset * part[i]
