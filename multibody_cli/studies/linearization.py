"""Linearized motion about a state, at rest or moving, with loops and constraints.

The configurations q that satisfy all loops and holonomic constraints are a manifold, and the velocities v that satisfy
all rows a space at each q.  With orthonormal bases P of the displacements and N of the velocities at the state,

    x = [P^T dq; N^T dv],    dx/dt = [P^T (dv + W dq); N^T da],

where W turns the deviations of rotations.  Nonholonomic rows restrict N alone, so that P has more columns.  A curve of
states on the constraints leaves the state along each column of P and of N: the state is displaced along the column and
projected onto the constraints, positions first and then velocities, which brings in the derivatives of the rows along
the displacement.  With X and Y the derivatives of x and dx/dt along all curves, A = Y X^-1.

Where the state accelerates, A depends on the states: in other states z = h(x) it is H A H^-1 plus the derivative of H
along dx/dt, times H^-1.  Named coordinates are therefore states by themselves, in place of those along P and N.

Limits and flanks of gears with backlash are one-sided rows.  Those that are pressed at the state are equalities, and
the others are left out: A is that of the present mode of contact.

A and B are exact derivatives by dual numbers, if these agree with differences (`curves`), of any offset and side,
within their errors.  Else, as in large models, they are differences: central ones of sixth order with the best of
several offsets, about 1e-13 of the accelerations, and beside a kink those of the side on which the state is.

Sources: Schwab and Meijaard, Dynamics of flexible multibody systems with non-holonomic constraints: a finite element
approach, Multibody System Dynamics 10 (2003), for P and N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.errors import ArgumentError
from multibody_cli.forces.elements import ELASTIC_ROPES, MUSCLES
from multibody_cli.forces.states import load_states
from multibody_cli.immutable import replace
from multibody_cli.implicit.linearization import compute_mass_matrix
from multibody_cli.initial.linearized_motion import Linearization, linearization_of
from multibody_cli.kernel import Flags, records
from multibody_cli.methods.aba import ABA
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.spec.rotations import cross_matrix
from multibody_cli.statics.dual_evaluation import DISAGREE, NoDerivatives
from multibody_cli.statics.slopes import ROUND_OFF, Slopes, side_of_kink
from multibody_cli.studies.curves import Curves, along
from multibody_cli.studies.exact_derivatives import Outputs, exact_derivatives
from multibody_cli.tree.configuration import displace, displacement_between, normalize
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.workspace import workspace_for

ACCURACY = 1e-13
"""Error of accelerations that is no difference: that of the projection, relative to the rate of the motion."""


class LinearModel(NamedTuple):
    """Linearized motion dx/dt = A x + B u about a state.

    The outputs are y = C x + D u.

    The columns of `basis` (n, k) are an orthonormal basis N of the velocities that loops, constraints and prescribed
    motions leave free, and those of `position_basis` (n, p) a basis P of the displacements; without any constraints,
    both are the identity.  They differ only if a constraint restricts velocities alone, as rolling does: p > k.  x is
    [P^T dq, N^T dv] (p + k,): the deviation from the motion of the scene, in which the deviation of a rotation is a
    rotation vector in the frame of its angular velocity.  u (m,) are applied forces, in the order of `inputs`.  `A` is
    (p + k, p + k), `B` (p + k, m).

    `closed` are the elements whose limits or flanks the state presses, such as `joints.hinge`: A is that of motions in
    which these stay closed.  `touching` are those at limits or flanks without force, which count as open.  `errors` are
    those of A: of the differences, or of dual numbers.  `differences` is why A and B, or C (r, p + k) and D (r, m), are
    differences; "" if all are exact.  `accelerations` (k,) are those of the state along N: if they are 0, the motion is
    steady.
    """

    A: Floats
    B: Floats
    basis: Floats
    position_basis: Floats
    inputs: tuple[str, ...]
    closed: tuple[str, ...]
    touching: tuple[str, ...]
    kinks: tuple[str, ...]
    C: Floats
    D: Floats
    errors: Floats
    differences: str
    accelerations: Floats


class Input(NamedTuple):
    """An input by its name: the operands of the model that it changes, and their places."""

    name: str
    operands: Floats
    places: tuple[int, ...]

    @property
    def value(self) -> float:
        """The present value, in SI units."""
        return float(self.operands[self.places[0]])

    def set(self, value: float) -> None:
        """Write a value."""
        self.operands[list(self.places)] = value


def no_outputs(*_: Any) -> Floats:
    """Return no outputs."""
    return np.zeros(0)


States = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""The rows (p, nv) and (k, nv) that map the deviations of q and v to the states, from the bases P and N."""


def tangent_states(P: Floats, N: Floats) -> tuple[Floats, Floats]:
    """Return P^T and N^T."""
    return P.T, N.T


def inputs_of_forces(model: Model, forces: Floats, columns: Integers) -> list[Input]:
    """Return the inputs of applied forces (m,), by their indices in v."""
    names = model.names.coordinates
    return [Input(names[iv].removeprefix("joint "), forces, (k,)) for k, iv in enumerate(columns)]


def linearize(
    model: Model,
    state: State,
    inputs: Sequence[Input] = (),
    outputs: Outputs = no_outputs,
    states: States = tangent_states,
) -> LinearModel:
    """Linearize the motion about a state.

    Parameters
    ----------
    model
        The model, in coordinates of joints or of bodies.
    state
        A state that satisfies loops and constraints.
    inputs, outputs
        The inputs of the model, and its outputs.
    states
        The states x; by default those of `LinearModel`.

    Raises
    ------
    ArgumentError
        Bodies without inertia can move, or an acceleration is not finite.
    """
    load_states(model.system.forces.states, state.z)
    return _Linearizer(model, state, outputs, states).linearize(state, inputs)


def remarks_of(model: Model, found: LinearModel) -> Iterator[str]:
    """Yield remarks on elements that a linear model leaves out, or keeps as they are at the state, and on kinks."""
    yield from left_out(model, found, "linearize")
    yield from map(remark_of_kink, found.kinks)


def left_out(model: Model, found: LinearModel, verb: str) -> Iterator[str]:
    """Yield remarks on elements that a linear model leaves out, or keeps as they are at the state."""
    names, muscles = model.names, model.system.forces.tables[MUSCLES]
    elastic = [f"muscles.{one.name}" for one, k in zip(names.muscles, muscles["state"], strict=True) if k >= 0]
    ropes = zip(names.elastic_ropes, model.system.forces.tables[ELASTIC_ROPES]["stored"], strict=True)
    slipping = [f"springs.{rope.name}" for rope, state in ropes if state >= 0]
    brakes = [*(("joints", name) for name in names.friction_joints), *names.brakes]
    frictions = [f"{section}.{name}.friction" for section, name in brakes]
    frictions += [f"constraints.{rope.name}" for rope in names.friction_ropes]
    for claim, elements in (
        ("ignores {} of the scene", [*["contacts"] * bool(names.contacts), *frictions]),
        ("keeps the lengths of fibers with elastic tendons, of {}", elastic),
        (
            "keeps the values that sampled controllers hold, of {}",
            [f"actuators.{one.name}" for one in model.controllers if one.name not in names.filtered],
        ),
        (
            "has no states of filters: activations are constant, and neither feedback nor inputs act by them, of {}",
            [f"actuators.{one.name}" for one in model.controllers if one.name in names.filtered],
        ),
        ("keeps the slip over the guides of elastic ropes with friction, of {}", slipping),
        ("keeps closed the limits and flanks that are pressed at this state, of {}", found.closed),
        ("keeps open the limits and flanks that are touched without force, of {}", found.touching),
    ):
        if elements:
            words = claim.format(", ".join(f"`{element}`" for element in elements))
            yield f"`{verb}` {words}"


def remark_of_kink(side: str) -> str:
    """Return the remark on a side, such as "joint slide increases", of a force with a kink at the state."""
    return f"a force has a kink at this state: the derivatives are those of the side on which {side}"


class _Linearizer:
    """Linearizes the motion of a model by the kernels of `aba`, with all rows in the dual problem.

    One-sided rows that the state presses are equalities; the others are not written, and never become active.
    """

    def __init__(self, model: Model, state: State, outputs: Outputs, states: States) -> None:
        self._states = states
        rows, tree = np.array(model.system.rows), model.system.tree
        rows["primary"] = 0
        tree = tree._replace(inboard_joints=tree.inboard_joints[:0])
        self._system = model.system._replace(tree=tree, rows=records(rows))
        self._dynamics, self._work = ABA.kernels.dynamics(self._system), workspace_for(self._system)
        closed, touching = self._contact_mode(state)
        rows["one_sided"][closed], rows["active"][closed] = 0, 1
        left_out = np.flatnonzero(rows["one_sided"])
        written = [table[~np.isin(table["first_row"], left_out)] for table in self._system.constraints.tables]
        constraints = self._system.constraints._replace(tables=tuple(records(table) for table in written))
        self._system = self._system._replace(rows=records(rows), constraints=constraints)
        self._model, self._work = replace(model, system=self._system), workspace_for(self._system)
        special = self._work.special_rows
        self._work = self._work._replace(special_rows=special[rows["one_sided"][special] == 0])
        self._outputs, self._length, self._closed, self._touching = outputs, tree.length, closed, touching

    def _contact_mode(self, state: State) -> tuple[Integers, Integers]:
        """Return the one-sided rows that are closed at a state, with and without force."""
        near, system, work = state.copy(), self._system, self._work
        one_sided = np.flatnonzero(system.rows["one_sided"])
        if self._dynamics.project_onto_constraints and len(one_sided) > 0:
            t, powers = near.time[0], np.zeros_like(near.ledger)
            self._dynamics.project_onto_constraints(system, work, t, near.q, near.v, near.a, near.ledger)
            self._dynamics.evaluate(system, work, t, near.q, near.v, near.a, powers)
        touched = one_sided[work.rows["active"][one_sided] == 1]
        pressed = work.rows["multiplier"][touched] > 0.0
        return touched[pressed], touched[~pressed]

    def _elements(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return the elements of rows."""
        names = self._model.names.rows
        return tuple(dict.fromkeys(f"{names[r].section}.{names[r].element}" for r in numbers))

    def linearize(self, state: State, inputs: Sequence[Input]) -> LinearModel:
        """Linearize the motion; see `linearize`."""
        try:
            linear = linearization_of(self._model, state)
        except np.linalg.LinAlgError:
            raise ArgumentError("the motion cannot be linearized: bodies without inertia can move") from None
        P, N = linear.displacements, linear.directions
        n, nothing = int(self._system.tree.links["nv"].sum()), np.zeros(self._model.nv)
        accelerations = self._accelerations(state)
        rate = self._rate(state, accelerations, nothing == 0.0)
        moved = [self._along(state, column, nothing, 1.0, rate**2) for column in P.T]
        changed = [self._along(state, nothing, column, rate, rate) for column in N.T]
        driven = [self._response(state, one, rate) for one in inputs]
        curves = Curves((*moved, *changed), tuple(driven), *self._states(P, N), self._turning(state))
        nv = self._model.nv
        y = self._deviation(state, nothing, nothing)[3 * nv :]
        A, B, C, D, errors = curves.system(3 * nv + len(y))
        exact, differences = self._exact(state, linear, inputs)
        scale = self._scales(state, accelerations, exact[0] if exact else A, P, N)
        errors[P.shape[1] :] += ACCURACY * scale
        round_off = ROUND_OFF * (np.abs(A).max(axis=1, keepdims=True, initial=0.0) + scale)
        every = curves.of_states + curves.of_inputs
        sides = [one.best.side for one in every]
        near = curves.agreeing(exact[0], exact[1], scale) if exact else None
        if exact and near is not None:
            (A, B), errors, sides = exact[:2], np.minimum(errors, round_off), [one.side for one in near]
            if curves.agree_in_outputs(exact[2], exact[3], np.abs(y)):
                C, D = exact[2:]
            else:
                differences = differences or DISAGREE
        else:
            differences = differences or DISAGREE
        elements = self._elements(self._closed), self._elements(self._touching)
        names, a = tuple(one.name for one in inputs), N.T @ accelerations
        places = [*self._names_of(P, ""), *self._names_of(N, "the rate of "), *((f"`{name}`", 1) for name in names)]
        kinks = tuple(
            side_of_kink(name, sign * side)
            for one, (name, sign), side in zip(every, places, sides, strict=True)
            if curves.has_kink(one, scale)
        )
        return LinearModel(A, B, N[:n], P[:n], names, *elements, kinks, C, D, errors, differences, a)

    def _names_of(self, basis: Floats, level: str) -> Iterator[tuple[str, float]]:
        """Yield the coordinate that each column (nv,) of a basis changes most, and the sign of its change."""
        for column in basis.T:
            iv = int(np.argmax(np.abs(column * self._system.tree.weights)))
            yield f"{level}{self._model.names.coordinates[iv]}", float(column[iv])

    def _exact(
        self, state: State, linear: Linearization, inputs: Sequence[Input]
    ) -> tuple[tuple[Floats, Floats, Floats, Floats] | None, str]:
        """Return A, B, C, D by dual numbers; None, or C and D of NaN, and the reason, where these do not exist."""
        P, N = linear.displacements, linear.directions
        p, k = P.shape[1], P.shape[1] + N.shape[1]
        shifts, changes = (np.zeros((len(P), k)) for _ in range(2))
        shifts[:, :p], changes[:, p:] = P, N
        near = state.copy()
        if self._dynamics.project_onto_constraints:
            self._dynamics.project_onto_constraints(
                self._system, self._work, near.time[0], near.q, near.v, near.a, near.ledger
            )
        try:
            moved = exact_derivatives(
                self._system, self._work, self._dynamics, near, linear, shifts, changes, inputs, self._outputs
            )
        except NoDerivatives as error:
            return None, str(error)
        Q, V = self._states(P, N)
        X = np.concatenate([Q @ moved.q, V @ moved.v])
        Y = np.concatenate([Q @ (moved.v + self._turning(state) @ moved.q), V @ moved.a])
        A, C = (np.linalg.solve(X[:, :k].T, one[:, :k].T).T for one in (Y, moved.y))
        return (A, Y[:, k:] - A @ X[:, k:], C, moved.y[:, k:] - C @ X[:, k:]), moved.reason

    def _along(self, state: State, shift: Floats, change: Floats, unit: float, scale: float) -> Slopes:
        """Return the derivatives of q, v, the accelerations and outputs along a curve."""
        size = self._motion(state, shift + change) / unit
        values = partial(self._on_curve, state, shift, change)
        return along(values, 1.0 / size, self._model.nv, scale)

    def _on_curve(self, state: State, shift: Floats, change: Floats, h: float) -> Floats:
        return self._deviation(state, h * shift, h * change)

    def _accelerations(self, state: State) -> Floats:
        """Return the accelerations (nv,) of a state."""
        nothing = np.zeros(self._model.nv)
        return self._deviation(state, nothing, nothing)[2 * self._model.nv : 3 * self._model.nv]

    def _motion(self, state: State, v: Floats) -> float:
        """Return the largest motion of a body with rates v (nv,), 1/s: angular, or linear by the length."""
        tree, bodies = self._system.tree, self._work.bodies
        update_kinematics(self._system, state.time[0], state.q.copy(), state.v.copy(), state.a.copy(), self._work)
        write_ball_columns(tree, self._work)
        jacobian_times(tree, np.ascontiguousarray(v), self._work)
        moving = bodies[: len(tree.links)]
        return float(max(np.abs(moving["dw"]).max(), np.abs(moving["dv"]).max() / self._length)) or 1.0

    def _rate(self, state: State, a: Floats, own: Flags) -> float:
        """Return the rate, 1/s, of the motion of coordinates (nv,), or of their accelerations from rest, or 1."""
        return max(self._motion(state, own * state.v), np.sqrt(self._motion(state, own * a))) or 1.0

    def _scales(self, state: State, a: Floats, A: Floats, P: Floats, N: Floats) -> Floats:
        """Return the sizes of dx/dt (p + k,) that count: by the rate of the motions that A couples with each state.

        Prescribed motions have no states: those count that the mass matrix couples.
        """
        Q, V = self._states(P, N)
        moves = np.hstack([P @ np.linalg.inv(Q @ P), N @ np.linalg.inv(V @ N)]) != 0.0
        count, parts = connected_components(A != 0.0, connection="weak")
        n, rates = int(self._system.tree.links["nv"].sum()), np.ones(len(A))
        M, driven = np.zeros((n, n)), self._system.tree.driven[:n]
        compute_mass_matrix(self._system, self._work, state.copy(), np.zeros(n), M)
        for own in (parts == k for k in range(count)):
            moving = moves[:, own].any(axis=1)
            moving[:n] |= driven & (M[:, moving[:n]] != 0.0).any(axis=1)
            rates[own] = self._rate(state, a, moving)
        return np.append(rates[: P.shape[1]] ** 2, rates[P.shape[1] :])

    def _response(self, state: State, one: Input, rate: float) -> Slopes:
        """Return the derivatives of q, v, the accelerations and outputs with respect to an input."""
        given, nothing = one.value, np.zeros(self._model.nv)

        def changed(shift: float) -> Floats:
            one.set(given + shift)
            return self._deviation(state, nothing, nothing)

        try:
            size = max(abs(given), 1.0)  # a drive may move no free coordinate
            return along(changed, size, self._model.nv, rate**2, rate**2)
        finally:
            one.set(given)

    def _deviation(self, state: State, shift: Floats, change: Floats) -> Floats:
        """Return the deviations of q and v of a displaced state (nv,), its accelerations (nv,), and the outputs."""
        system, work, t = self._system, self._work, state.time[0]
        q, v, a, ledger = state.q.copy(), state.v + change, np.zeros(self._model.nv), state.ledger.copy()
        displace(system.tree, q, np.ascontiguousarray(shift), 1.0)
        normalize(system.tree, q)
        if self._dynamics.project_onto_constraints:
            self._dynamics.project_onto_constraints(system, work, t, q, v, a, ledger)
        self._dynamics.evaluate(system, work, t, q, v, a, np.zeros_like(ledger))
        if not np.isfinite(a).all():
            raise ArgumentError("the motion cannot be linearized: an acceleration is not finite")
        y = self._outputs(system, state._replace(q=q, v=v, a=a, ledger=ledger), work)
        return np.concatenate([displacement_between(system.tree, state.q, q), v - state.v, a, y])

    def _turning(self, state: State) -> Floats:
        """Return the part (nv, nv) of the rate of dq that is linear in dq: the deviation of a rotation turns."""
        turning = np.zeros((self._model.nv, self._model.nv))
        for place in self._system.tree.quaternions:
            j = int(place["iv"])
            turning[j : j + 3, j : j + 3] = cross_matrix((-1.0 if place["outer"] else 1.0) * state.v[j : j + 3])
        return turning
