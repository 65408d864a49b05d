"""Unbalanced forces of a state without accelerations, and their derivatives along displacements.

With the forces f of gravity, of all force elements and, at constant rates, of inertia, and the multipliers x of the
rows with the Jacobian G,

    L(q, x) = f(q) + G(q)^T x.

The derivatives of L at constant x along the tangents of the constraints are those of the motion on the constraints: the
multipliers bring in the curvature of the rows.  They are exact by dual numbers, if these agree with differences.
Those are the slope of the odd polynomial of degree 5 that fits six central ones best; beside a kink, that of the
polynomial of degree 4 that fits the values to one side.  The rest, of round-off and higher derivatives, has orthogonal
samples of the error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.cables.moving import update_points
from multibody_cli.constraint_solver.loop_joints import apply_loop_forces
from multibody_cli.constraint_solver.solver import apply_impulses_as_forces, clear_impulses, update_kinematics
from multibody_cli.constraints.rows import apply_row_impulse
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.linearization import compute_constraint_jacobian
from multibody_cli.initial.element_states import settle
from multibody_cli.kernel import kernel
from multibody_cli.kernel.dual_numbers import slopes_of, with_duals
from multibody_cli.linalg.vectors import copy
from multibody_cli.model import Floats, Model, State
from multibody_cli.statics.dual_evaluation import DISAGREE, NoDerivatives, displaced_duals, with_dual_numbers
from multibody_cli.statics.slopes import Slopes, Stencil, slopes_along
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.inverse_dynamics import compute_inverse_dynamics
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.workspace import workspace_for


def _fitted(count: int, degree: int) -> tuple[Stencil, Stencil, Stencil]:
    """Return stencils of the slopes of polynomials that fit `count` values to each side best: central, and one-sided.

    The central ones are odd, of a degree, the one-sided ones of one less.  The rest of the values, and of their even
    part, has orthogonal samples of the error, of the size that it may have in the slope.
    """
    k = np.arange(count + 1.0)[:, None]
    odd, even = k[1:] ** np.arange(1, degree + 1, 2), k[1:] ** np.arange(2, degree + 2, 2)
    slope = 0.5 * np.linalg.pinv(odd)[0]
    size, nothing = float(np.linalg.norm(slope)), np.zeros((count - odd.shape[1], 1))
    of_odd, of_even = size * _rest(odd), size * _rest(even)
    centre = -2.0 * of_even.sum(axis=1, keepdims=True)
    samples = np.vstack(
        [np.hstack([-of_odd[:, ::-1], nothing, of_odd]), np.hstack([of_even[:, ::-1], centre, of_even])]
    )
    central = Stencil(np.concatenate([-slope[::-1], [0.0], slope]), samples, 0)
    powers = k ** np.arange(degree)
    slope = np.linalg.pinv(powers)[1]
    rest = np.linalg.norm(slope) * _rest(powers)
    copies = np.tile(rest, (len(samples) // len(rest), 1))  # as many samples as the central ones
    before = np.zeros((1 + len(copies), count))
    weights = np.hstack([before, np.vstack([slope, copies])])
    return central, Stencil(weights[0], weights[1:], 1), Stencil(-weights[0, ::-1], -weights[1:, ::-1], -1)


def _rest(powers: Floats) -> Floats:
    """Return orthonormal weights of values, as rows, that vanish for polynomials."""
    axes, _, _ = np.linalg.svd(powers)
    return np.asarray(axes[:, powers.shape[1] :].T)


COUNT = 6
"""Number of values to each side."""

STENCILS = _fitted(COUNT, 5)
CENTRAL = STENCILS[0]

STEP, OFFSET = 1e-5, 5e-4
"""Offsets, relative to the sizes of coordinates, of a step of the search and of the second variation."""

FINER = (5e-5, 5e-6, 5e-7, 5e-8, 5e-9, 5e-10, 5e-11)
"""Offsets of the second variation beside kinks as well."""

CHANGE = 1e-2
"""Offset of rates, relative to the slowest rate that counts and to the sizes of coordinates."""


class SecondDerivatives(NamedTuple):
    """Derivatives -D^T dL/dq D (k, k), samples of their errors (p, k, k), and displacements along which L has a kink.

    These are the columns and the sides, 1 or -1, that the derivatives are of.  `differences` is why they are
    differences; "" if they are exact.  `slopes` are the differences along each column.
    """

    K: Floats
    samples: Floats
    kinks: tuple[tuple[int, int], ...]
    differences: str
    slopes: tuple[Slopes, ...]


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

    def along(self, q: Floats, x: Floats, directions: Floats) -> Floats:
        """Return the differences (n, k) of L of second order along displacements (nv, k)."""
        before, _, after = self.nearby(q, x, directions, STEP, 1)
        return np.asarray((after - before) / (2.0 * STEP))

    def second_variation(self, q: Floats, x: Floats, directions: Floats, least: Floats) -> SecondDerivatives:
        """Return the derivatives of L along displacements D (nv, k), by the work along others of them.

        Those along each displacement that count have a size of at least `least` (k,), J.
        """
        found = self.slopes(q, x, directions, directions, least)
        chosen, differences = [one.best for one in found], ""
        slopes = np.reshape([one.value for one in chosen], (len(found), len(found))).T
        try:
            exact = self._exact(q, x, directions)
            near = [one.agreeing(own, _size, float(k)) for one, own, k in zip(found, exact.T, least, strict=True)]
            agreeing = [one for one in near if one is not None]
            if len(agreeing) == len(near):
                chosen, slopes = agreeing, exact
            else:
                differences = DISAGREE
        except NoDerivatives as error:
            differences = str(error)
        samples = np.reshape([one.samples for one in chosen], (len(found), len(CENTRAL.samples), len(found)))
        kinks = tuple((j, one.side) for j, one in enumerate(chosen) if found[j].has_kink)
        return SecondDerivatives(-slopes, samples.transpose(1, 2, 0), kinks, differences, found)

    def slopes(self, q: Floats, x: Floats, directions: Floats, works: Floats, least: Floats) -> tuple[Slopes, ...]:
        """Return differences, of the works of L along `works` (nv, k), along each of the displacements (nv, j).

        Those that count have a size of at least `least` (j,), J.
        """
        D = works[: self.n]
        every = np.tensordot(self.nearby(q, x, directions, OFFSET, COUNT), D, (1, 0))  # of displacement j, by work i

        def along(j: int) -> Slopes:
            def values(offset: float) -> Floats:
                if offset == OFFSET:
                    return np.asarray(every[:, j])
                return np.asarray(self.nearby(q, x, directions[:, [j]], offset, COUNT)[:, :, 0] @ D)

            return slopes_along(values, STENCILS, [OFFSET], FINER, _size, float(least[j]))

        return tuple(along(j) for j in range(directions.shape[1]))

    def _exact(self, q: Floats, x: Floats, directions: Floats) -> Floats:
        """Return D^T dL/dq D (k, k) along displacements D (nv, k) by dual numbers, or raise `NoDerivatives`."""
        if len(self.state.z):
            raise NoDerivatives("states of elements, as of elastic tendons, follow the position")

        def evaluate() -> Floats:
            system, work = with_duals((self.model.system, self.work))
            moved = displaced_duals(system.tree, q, directions)
            scratch = tuple(one.astype(object) for one in self._scratch)
            found = np.zeros(self.n).astype(object)
            compute_unbalanced_forces(
                system, work, self.state.time[0], moved, self.state.v, x, scratch, self._still.astype(object), found
            )
            return directions[: self.n].T @ slopes_of(found, directions.shape[1])

        found = with_dual_numbers(self.model.nv + len(x), evaluate)
        if not np.isfinite(found).all():
            raise NoDerivatives("a derivative is not finite")
        return found

    def nearby(self, q: Floats, x: Floats, directions: Floats, offset: float, count: int) -> Floats:
        """Return L (2 K + 1, n, k) at multiples -K, ..., K of an offset along displacements (nv, k)."""
        found = np.zeros((2 * count + 1, directions.shape[1], self.n))
        found[count] = self.at(q, x)
        if len(self.state.z) == 0:
            evaluate_nearby(
                self.model.system, self.work, self.state.time[0], q, self.state.v, x,
                np.ascontiguousarray(directions.T), offset, self._scratch, self._still, np.zeros(self.model.nq), found,
            )  # fmt: skip
        else:
            self._evaluate(q, x, directions, offset, found)
        return found.swapaxes(1, 2)

    def _evaluate(self, q: Floats, x: Floats, directions: Floats, offset: float, found: Floats) -> None:
        """Evaluate the displaced ones (2 K + 1, k, n) with calls of `at`."""
        count = len(found) // 2
        for j, column in enumerate(directions.T):
            for k in (k for k in range(-count, count + 1) if k != 0):
                found[k + count, j] = self.at(displaced(self.model, q, column, k * offset), x)
        self._settle(q)

    def by_rates(self, q: Floats, x: Floats, directions: Floats) -> Floats:
        """Return the derivatives (n, k) of L along changes of the rates (nv, k), and samples of their error, (4, n, k).

        They are exact for forces of inertia and linear dampers; a force with a kink at rest has the mean of its slopes.
        """
        given, found = self.state.v.copy(), np.zeros((2 * COUNT + 1, directions.shape[1], self.n))
        rate = CHANGE * self.model.system.tree.rate
        for j, column in enumerate(directions.T):
            for k in range(-COUNT, COUNT + 1):
                self.state.v[:] = given + k * rate * column
                found[k + COUNT, j] = self.at(q, x)
        self.state.v[:] = given
        odd = CENTRAL.samples[: len(CENTRAL.samples) // 2]
        return np.tensordot(np.vstack([CENTRAL.slope, odd]), found / rate, 1).swapaxes(1, 2)

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


def _size(rows: Floats) -> float:
    """Return the largest size of slopes, 0 without any."""
    return float(np.abs(rows).max(initial=0.0))


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
def evaluate_nearby(
    system: Any, work: Any, t: float, q: Any, v: Any, x: Any, columns: Any, offset: float, scratch: Any, still: Any,
    moved: Any, found: Any,
) -> None:  # fmt: skip
    """Store L at multiples -K, ..., K of an offset, but for 0, along `columns` (k, nv); `moved` (nq,) is scratch."""
    count = len(found) // 2
    for j in range(len(columns)):
        for k in range(-count, count + 1):
            if k != 0:
                copy(q, moved)
                displace(system.tree, moved, columns[j], k * offset)
                normalize(system.tree, moved)
                compute_unbalanced_forces(system, work, t, moved, v, x, scratch, still, found[k + count, j])
