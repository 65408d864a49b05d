"""Equations of motion at a state: mass matrix, bias, inverse dynamics, Jacobians, linearization.

For the n coordinates of the tree,

    M(q) a + bias(t, q, v) = tau + G^T lambda,

with generalized forces tau beyond those of the scene and of the model, and the forces of loops and constraints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import apply_loop_forces
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.forces.elements import apply_forces
from multibody_cli.initial.linearized_motion import linearization_of
from multibody_cli.methods.aba import ABA
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.inverse_dynamics import compute_inverse_dynamics, fill_mass_matrix, fill_point_jacobian
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.markers import transfer_marker_wrenches
from multibody_cli.tree.workspace import Work, workspace_for

DISPLACEMENT, RATE = 1e-5, 1e-4
"""Offsets of the central differences: rad or m, and rad/s or m/s."""


class LinearModel(NamedTuple):
    """Linearized motion dx/dt = A x + B u about a state.

    The columns of `basis` (n, k) are an orthonormal basis N of the velocities that loops, constraints and prescribed
    motions leave free; without any, it is the identity.  x (2k,) is [N^T dq, N^T dv]: the deviation from the motion of
    the scene, in which the deviation of a rotation is a rotation vector in the frame of its angular velocity.  u (m,)
    are applied forces, in the order of `inputs`.  `A` is (2k, 2k), `B` (2k, m).
    """

    A: Floats
    B: Floats
    basis: Floats
    inputs: tuple[str, ...]


class EquationsOfMotion:
    """Evaluates the equations of motion of a model in joint coordinates, in work arrays of its own."""

    def __init__(self, model: Model) -> None:
        self._model, self._system = model, model.system
        self._work: Work = workspace_for(self._system)
        self._dynamics = ABA.dynamics(self._system)
        self.n = int(self._system.tree.links["nv"].sum())
        self._driven = np.asarray(self._system.tree.driven[: self.n])

    def mass_matrix(self, state: State) -> Floats:
        """Return the mass matrix M (n, n)."""
        self._place(state)
        M = np.zeros((self.n, self.n))
        fill_mass_matrix(self._system.tree, self._work, np.zeros(self.n), M)
        return M

    def inverse_dynamics(self, state: State, a: Floats) -> Floats:
        """Return M a + bias (n,), for accelerations a (n,)."""
        prescribed = self._place(state)
        tau = np.zeros(self.n)
        compute_inverse_dynamics(self._system.tree, self._work, a - prescribed, tau)
        return tau

    def jacobian(self, state: State, body: str, point: Floats) -> Floats:
        """Return the Jacobian (6, n), [angular; linear], of a point of the body frame, in world axes."""
        names, tree = self._model.names, self._system.tree
        if body not in names.bodies:
            raise ArgumentError(f"no body `{body}`: {nearest(body, names.bodies)}")
        row = int(names.body_rows[names.bodies.index(body)])
        self._place(state)
        frame = tree.frames[row]
        axes = np.asarray(frame["frame"]).reshape(3, 3).T  # stored by columns
        local = frame["origin"] + axes @ point
        J = np.zeros((6, self.n))
        fill_point_jacobian(tree, self._work, row, local, J)
        return J

    def linearize(self, state: State, forces: Floats, columns: Integers) -> LinearModel:
        """Linearize the motion by central differences of accelerations.

        Parameters
        ----------
        state
            A state that satisfies loops and constraints.
        forces, columns
            Applied forces of the model (m,), and their indices in v.

        Raises
        ------
        ArgumentError
            Bodies without inertia can move, or an acceleration is not finite.
        """
        try:
            N = self._directions(state)
        except np.linalg.LinAlgError:
            raise ArgumentError("the motion cannot be linearized: bodies without inertia can move") from None
        k, nothing = N.shape[1], np.zeros(self._model.nv)
        states, rates = np.zeros((2 * k, 2 * k)), np.zeros((k, 2 * k))
        for j, direction in enumerate(N.T):
            for column, shift, change, h in (
                (j, DISPLACEMENT * direction, nothing, DISPLACEMENT),
                (k + j, nothing, RATE * direction, RATE),
            ):
                (x, a), (y, b) = (self._deviation(state, s * shift, s * change) for s in (1.0, -1.0))
                states[:, column] = np.concatenate([N.T @ (one - other) for one, other in zip(x, y, strict=True)])
                states[:, column] /= 2.0 * h
                rates[:, column] = N.T @ (a - b) / (2.0 * h)
        response = np.linalg.solve(states.T, rates.T).T
        A = np.block([[N.T @ self._turning(state) @ N, np.eye(k)], [response]])
        return LinearModel(A, self._response_to_forces(state, N, forces), N[: self.n], self._names(columns))

    def _names(self, columns: Integers) -> tuple[str, ...]:
        return tuple(self._model.names.coordinates[column].removeprefix("joint ") for column in columns)

    def _response_to_forces(self, state: State, N: Floats, forces: Floats) -> Floats:
        """Return B (2k, m): accelerations are linear in the forces."""
        given, nothing, responses = forces.copy(), np.zeros(self._model.nv), []
        try:
            for place in range(len(forces)):
                pair = []
                for sign in (1.0, -1.0):
                    forces[place] = given[place] + sign
                    pair.append(self._deviation(state, nothing, nothing)[1])
                    forces[place] = given[place]
                responses.append(0.5 * (pair[0] - pair[1]))
        finally:
            forces[:] = given
        B = np.zeros((2 * N.shape[1], len(forces)))
        B[N.shape[1] :] = N.T @ np.array(responses).reshape(len(forces), self._model.nv).T
        return B

    def _place(self, state: State) -> Floats:
        """Compute kinematics and forces of a state; return the prescribed accelerations (n,), 0 for others."""
        system, work, t = self._system, self._work, state.time[0]
        q, v, a = state.q.copy(), state.v.copy(), np.zeros(self._model.nv)
        update_kinematics(system, t, q, v, a, work)
        apply_forces(system.forces, t, q, v, work, np.zeros_like(state.ledger))
        apply_loop_forces(system.tree, work.tau, work)
        transfer_marker_wrenches(system.tree, work.bodies)
        write_ball_columns(system.tree, work)
        return np.where(self._driven, a[: self.n], 0.0)

    def _directions(self, state: State) -> Floats:
        """Return the basis N (nv, k)."""
        if self._system.is_constrained:
            return linearization_of(self._model, state).directions
        return np.eye(self._model.nv)[:, ~self._driven]

    def _deviation(self, state: State, shift: Floats, change: Floats) -> tuple[tuple[Floats, Floats], Floats]:
        """Return the deviations of q and v (nv,) of a displaced state on the constraints, and its accelerations."""
        system, work = self._system, self._work
        q, v, a, ledger = state.q.copy(), state.v + change, np.zeros(self._model.nv), state.ledger.copy()
        displace(system.tree, q, np.ascontiguousarray(shift), 1.0)
        normalize(system.tree, q)
        self._dynamics.project_onto_constraints(system, work, state.time[0], q, v, a, ledger)
        self._dynamics.evaluate(system, work, state.time[0], q, v, a, np.zeros_like(ledger))
        if not np.isfinite(a).all():
            raise ArgumentError("the motion cannot be linearized: an acceleration is not finite")
        return (self._difference(q, state.q), v - state.v), a

    def _difference(self, q: Floats, origin: Floats) -> Floats:
        """Return the displacement (nv,) from one configuration to another near it."""
        tree, shift = self._system.tree, np.zeros(self._model.nv)
        shift[tree.plain["iv"]] = (q - origin)[tree.plain["iq"]]
        for place in tree.quaternions:
            i, j = int(place["iq"]), int(place["iv"])
            x, y = q[i : i + 4], origin[i : i + 4] / np.linalg.norm(origin[i : i + 4])
            sign = 1.0 if place["outer"] else -1.0  # of the cross product in y^-1 x, and in x y^-1
            u = y[0] * x[1:] - x[0] * y[1:] + sign * np.cross(x[1:], y[1:])
            w, size = float(x @ y), float(np.linalg.norm(u))
            shift[j : j + 3] = 2.0 * u / w if size == 0.0 else 2.0 * np.arctan2(size, w) * u / size
        return shift

    def _turning(self, state: State) -> Floats:
        """Return the part (nv, nv) of the rate of dq that is linear in dq: the deviation of a rotation turns."""
        turning = np.zeros((self._model.nv, self._model.nv))
        for place in self._system.tree.quaternions:
            j = int(place["iv"])
            x, y, z = (-1.0 if place["outer"] else 1.0) * state.v[j : j + 3]
            turning[j : j + 3, j : j + 3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        return turning
