"""Equations of motion at a state: mass matrix, bias, inverse dynamics, Jacobians, momenta and energies.

For the n coordinates of the tree,

    M(q) a + bias(t, q, v) = tau + G^T lambda,

with generalized forces tau beyond those of the scene and of the model, and the forces of loops and constraints.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multibody_cli.cables.moving import update_points
from multibody_cli.constraint_solver.loop_joints import apply_loop_forces, compute_loop_accelerations
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.forces.elements import MUSCLES, apply_forces, elastic_energy
from multibody_cli.forces.muscle import compute_tensions
from multibody_cli.implicit.linearization import compute_rates_of_coordinates
from multibody_cli.model import Floats, Model, State
from multibody_cli.studies.inverse.equality_rows import EqualityRows
from multibody_cli.studies.inverse.one_sided import with_taut_ropes
from multibody_cli.tree.energy import armature_energy, gravity_energy, kinetic_energy, momentum
from multibody_cli.tree.inverse_dynamics import (
    compute_inverse_dynamics,
    fill_mass_matrix,
    fill_point_jacobian,
    write_motions,
)
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes
from multibody_cli.tree.workspace import Work, workspace_for


class EquationsOfMotion:
    """Evaluates the equations of motion of a model in joint coordinates, in work arrays of its own."""

    def __init__(self, model: Model) -> None:
        self._model, self._system = model, model.system
        self._work: Work = workspace_for(self._system)
        self.n = int(self._system.tree.links["nv"].sum())
        self._driven = np.asarray(self._system.tree.driven[: self.n])

    def kinematics(self, state: State) -> Work:
        """Return the work arrays with poses and twists of a state, and the columns of S."""
        self._update_kinematics(state)
        return self._work

    def mass_matrix(self, state: State) -> Floats:
        """Return the mass matrix M (n, n)."""
        self._place(state)
        M = np.zeros((self.n, self.n))
        fill_mass_matrix(self._system.tree, self._work, np.zeros(self.n), M)
        return M

    def inverse_dynamics(self, state: State, a: Floats, on: Sequence[str] = ()) -> Floats:
        """Return M a + bias (n,) for accelerations a (n,)."""
        prescribed = self._place(state)
        tau = np.zeros(self.n)
        compute_inverse_dynamics(self._system.tree, self._work, a, prescribed, tau)
        return tau

    def accelerate(self, state: State, a: Floats) -> Work:
        """Return the work arrays of a motion with the accelerations a (n,), without forces.

        The state receives the rates and accelerations of coordinates that follow from others, those of joints that
        close loops too.
        """
        q, v, own = self._update_kinematics(state)
        tree, work = self._system.tree, self._work
        write_motions(tree, a - np.where(self._driven, own[: self.n], 0.0), work)
        update_marker_changes(tree, work.bodies)
        own[: self.n] = a
        compute_loop_accelerations(tree, own, work)
        state.q[:], state.v[:], state.a[:] = q, v, own
        return work

    def through_constraints(self, state: State, forces: Floats, on: Sequence[str]) -> Floats:
        """Return the forces (nv,) on coordinates of some joints that have the effect of forces (n,) on all.

        With the columns of N a basis of the rates that loops and constraints allow, and those of C the rates of all
        coordinates, those of joints that close loops too, forces f on coordinates have the generalized forces C^T f.
        They have the same effect along N, as nearly as they can in the least-squares sense; if they are more than the
        degrees of freedom, f has the least sum of squares.

        Raises
        ------
        ArgumentError
            A joint does not exist.
        """
        places, chosen = places_by_name(self._model)[1], list[int]()
        for name in on:
            if name not in places:
                raise ArgumentError(f"no joint `{name}`: {nearest(name, places)}")
            chosen += range(places[name].start, places[name].stop)
        rows = EqualityRows(with_taut_ropes(self._model, state.copy()))
        rows.update(state.copy())
        found, C = np.zeros(self._model.nv), self._rates_of_coordinates(state)
        found[chosen] = np.linalg.pinv((C[chosen] @ rows.N).T) @ (rows.N.T @ forces)
        return found

    def of_coordinates(self, state: State, forces: Floats) -> Floats:
        """Return the generalized forces (n,) of forces (nv,) on coordinates, those of joints that close loops too."""
        return np.asarray(self._rates_of_coordinates(state).T @ forces)

    def _rates_of_coordinates(self, state: State) -> Floats:
        """Return the rates C (nv, n) of all coordinates for unit rates of those of the tree."""
        self._update_kinematics(state)
        C = np.zeros((self._model.nv, self.n))
        compute_rates_of_coordinates(self._system, self._work, C)
        return C

    def gravity(self, state: State) -> Floats:
        """Return the generalized forces (n,) against gravity alone: the bias at v = 0 without other forces."""
        self._update_kinematics(state._replace(v=np.zeros_like(state.v)))
        self._work.tau[:] = 0.0
        tau, still = np.zeros((2, self.n))
        compute_inverse_dynamics(self._system.tree, self._work, still, still, tau)
        return tau

    def momenta(self, state: State) -> tuple[Floats, Floats]:
        """Return the linear momentum (3,), N s, and the angular momentum (3,) about the world's origin, N m s."""
        self._update_kinematics(state)
        linear, angular = momentum(self._system.tree, self._work.bodies)
        return np.array(linear), np.array(angular)

    def energies(self, state: State) -> tuple[float, float]:
        """Return the kinetic energy, and the potential energy of gravity and springs, J."""
        q, v, _ = self._update_kinematics(state)
        tree, bodies = self._system.tree, self._work.bodies
        kinetic = kinetic_energy(tree, bodies) + armature_energy(tree, v)
        return kinetic, gravity_energy(tree, bodies) + elastic_energy(self._system.forces, q, bodies)

    def moments_of_mass(self, state: State) -> tuple[float, Floats, float]:
        """Return mass, mass times center of mass (3,), and polar moment of inertia, of the bodies that move.

        The moment is about the world's origin, in kg m^2, the integral of the squared distance.  A body moves if its
        twist is not 0, so that v should be random.
        """
        self._update_kinematics(state)
        links = self._system.tree.links
        bodies = self._work.bodies[: len(links)]  # frames of loop joints follow
        moves = (bodies["w"].any(axis=1) | bodies["v"].any(axis=1)) & (links["ignores_gravity"] == 0)
        m, x, h = links["mass"][moves], bodies["x"][moves], bodies["h"][moves]
        xx, _, _, yy, _, zz = bodies["J"][moves].T
        polar = (xx + yy + zz) / 2 + 2 * (x * h).sum(axis=1) + m * (x * x).sum(axis=1)
        return float(m.sum()), np.asarray(m @ x + h.sum(axis=0)), float(polar.sum())

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

    def tensions(self, state: State) -> Floats:
        """Return the tensions (m,) of the muscles, N."""
        self._update_kinematics(state)
        muscles = self._system.forces.tables[MUSCLES]
        found = np.zeros(len(muscles))
        compute_tensions(muscles, self._system.forces, state.time[0], self._work.bodies, found)
        return found

    def _place(self, state: State) -> Floats:
        """Compute kinematics and forces of a state; return the prescribed accelerations (n,), 0 for others."""
        system, work, t = self._system, self._work, state.time[0]
        q, v, a = self._update_kinematics(state)
        apply_forces(system.forces, t, q, v, work, np.zeros_like(state.ledger))
        apply_loop_forces(system.tree, work.tau, work)
        transfer_marker_wrenches(system.tree, work.bodies, work.bodies)
        return np.where(self._driven, a[: self.n], 0.0)

    def _update_kinematics(self, state: State) -> tuple[Floats, Floats, Floats]:
        """Compute the kinematics of a state; return its q, v and a with those that follow from others or from time."""
        q, v, a = state.q.copy(), state.v.copy(), np.zeros(self._model.nv)
        update_kinematics(self._system, state.time[0], q, v, a, self._work)
        update_points(self._system.forces.points, q, v)
        write_ball_columns(self._system.tree, self._work)
        return q, v, a


def places_by_name(model: Model) -> tuple[dict[str, slice], dict[str, slice], frozenset[str]]:
    """Return the parts of q and of v by name, and the names whose coordinates follow from others or from time."""
    system, names = model.system, model.names
    positions = {joint.name: joint.positions for joint in names.joints if len(joint.coordinates)}
    columns = {joint.name: joint.columns for joint in names.joints if len(joint.coordinates)}
    follows = np.array(system.tree.driven)
    follows[system.tree.links["nv"].sum() :] = True
    follows[system.reductions.dependents["iv"]] = True
    fixed = frozenset(name for name, place in columns.items() if follows[place].all())
    inboard = {joint.row for joint in names.joints}
    for body, row in zip(names.bodies, names.body_rows.tolist(), strict=True):
        if row not in inboard:
            name = body if body not in columns else f"bodies/{body}"
            positions[name], columns[name] = _of_free_body(model, row)
    return positions, columns, fixed


def _of_free_body(model: Model, row: int) -> tuple[slice, slice]:
    """Return the parts of q and of v of a body without inboard joint, which may have several rows."""
    names, links = model.names, model.system.tree.links
    later = names.body_rows[names.body_rows > row]
    if len(later):
        end = links[int(later.min())]
        ends = int(end["iq"]), int(end["iv"])
    else:
        loops = [joint.positions.start for joint in names.joints if joint.row >= len(links)]
        ends = min(loops, default=model.nq), int(links["nv"].sum())
    return slice(int(links[row]["iq"]), ends[0]), slice(int(links[row]["iv"]), ends[1])
