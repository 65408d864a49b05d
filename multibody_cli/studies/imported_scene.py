"""An imported scene in the coordinates of the engine of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraints.relations import LinearSpec
from multibody_cli.escaping import decoded
from multibody_cli.foreign.draft import Coordinate, Draft
from multibody_cli.immutable import replace
from multibody_cli.initial.element_states import settle
from multibody_cli.initial.linearized_motion import accelerations_of
from multibody_cli.model import Floats
from multibody_cli.peers.contract import JointPrimitive
from multibody_cli.peers.engine import SIZES, Engine, EngineJoint, Quantities
from multibody_cli.spec.rotations import (
    quaternion_of_matrix,
    quaternion_of_vector,
    quaternion_product,
    rotation_matrix,
)
from multibody_cli.studies.equations_of_motion import EquationsOfMotion, places_by_name
from multibody_cli.studies.simulation import PreparedSimulation

Values = Mapping[str, Floats]
Equations = Callable[[Values, Values], tuple[Floats, Floats]]


class EngineMotion(NamedTuple):
    """Coordinates, velocities and accelerations of a scene, by joint of the engine."""

    q: dict[str, Floats]
    v: dict[str, Floats]
    a: dict[str, Floats]


class ImportedScene:
    """A scene in the coordinates of the engine of its file."""

    def __init__(self, simulation: PreparedSimulation, draft: Draft, engine: Engine) -> None:
        self._draft, self._engine = draft, engine
        self._model = simulation.compiled.model
        self._state, self._start = simulation.fresh_state(), simulation.fresh_state()
        self._equations = EquationsOfMotion(self._model)
        for controller in self._model.controllers:  # activations of filters are those of the start
            for update in controller.updates:
                self._model.system.forces.signals.quantities[update.quantity] = update.initial
        self._positions, self._velocities, _ = places_by_name(self._model)
        self._dependent = _dependents(simulation)
        self.joints = tuple(joint for joint in engine.joints if self._coordinate(joint) is not None)
        self.absent = tuple(joint.name for joint in engine.joints if self._coordinate(joint) is None)
        self.size = sum(SIZES[joint.kind][1] for joint in self.joints)

    @property
    def programs(self) -> tuple[Equations, Equations]:
        """The functions to M and b of the scene and of the engine."""
        return self.equations, self.equations_of_engine

    def columns(self) -> list[tuple[EngineJoint, slice]]:
        """Return the joints with their columns in M."""
        found, first = [], 0
        for joint in self.joints:
            size = SIZES[joint.kind][1]
            found.append((joint, slice(first, first + size)))
            first += size
        return found

    def row(self, values: Values) -> Floats:
        """Return all velocities or accelerations, in the order of M."""
        return np.concatenate([np.zeros(0), *(values[joint.name] for joint in self.joints)])

    def values(self, row: Floats) -> dict[str, Floats]:
        """Return velocities or accelerations by joint; `row` has the order of M."""
        return {joint.name: row[columns] for joint, columns in self.columns()}

    def start(self) -> dict[str, Floats]:
        """Return the coordinates of the assembled initial state."""
        found = {}
        for joint in self.joints:
            first, _ = self._places(joint)
            found[joint.name] = self._start.q[first : first + SIZES[joint.kind][0]].copy()
        return found

    def motion(self, number: int, random: np.random.Generator) -> EngineMotion:
        """Return the initial pose, right angles, or random values, with random velocities and accelerations.

        Prescribed coordinates stay at the start.
        """
        q, v, a = EngineMotion({}, {}, {})
        start = self.start()
        for joint in self.joints:
            size, speeds = SIZES[joint.kind]
            v[joint.name], a[joint.name] = random.uniform(-1.0, 1.0, (2, speeds))
            angle = (0.0, np.pi / 2, random.uniform(-1.0, 1.0))[min(number, 2)]
            if joint.kind is JointPrimitive.HINGE:
                q[joint.name] = np.array([angle])
            elif joint.kind is JointPrimitive.SLIDE:
                q[joint.name] = np.array([0.1 * angle])
            else:
                vector = np.array([0.0, 0.0, angle]) if number < 2 else random.normal(size=3)
                place = random.uniform(-1.0, 1.0, size - 4)
                q[joint.name] = np.concatenate([place, quaternion_of_vector(vector.tolist())])
        for joint in self.joints:
            if self._is_prescribed(joint):
                q[joint.name], v[joint.name], a[joint.name] = (
                    start[joint.name],
                    0.0 * v[joint.name],
                    0.0 * a[joint.name],
                )
        for name, (other, factor, offset) in self._dependent.items():
            if name in q and other in q:
                q[name], v[name], a[name] = factor * q[other] + offset, factor * v[other], factor * a[other]
        return EngineMotion(q, v, a)

    def equations(self, q: Values, v: Values) -> tuple[Floats, Floats]:
        """Return M and b of the scene."""
        columns = self._place(q, v)
        M = self._equations.mass_matrix(self._state)
        b = self._equations.inverse_dynamics(self._state, np.zeros(self._equations.n))
        return M[np.ix_(columns, columns)], b[columns]

    def accelerations(self, q: Values, v: Values) -> Floats:
        """Return the accelerations, in the order of M, with loops, constraints and couplings."""
        columns = self._place(q, v)
        return accelerations_of(self._model, self._state)[columns]

    def quantities(self, motion: EngineMotion) -> Quantities:
        """Return the other quantities of the scene."""
        columns, state = self._place(motion.q, motion.v), self._state
        a = np.zeros(self._equations.n)
        a[columns] = self.row(motion.a)
        forces, gravity = self._equations.inverse_dynamics(state, a), self._equations.gravity(state)
        _, moment, _ = self._equations.moments_of_mass(state)
        momenta, energies = self._equations.momenta(state), self._equations.energies(state)
        return Quantities(forces[columns], gravity[columns], moment, *momenta, *energies)

    def element_forces(self, q: Values, v: Values) -> dict[str, Floats]:
        """Return the generalized forces of each force element of the scene, by name, with fibers in equilibrium."""
        columns, model = self._place(q, v), self._model
        settle(model, self._state)
        forces, still = model.system.forces, np.zeros(self._equations.n)

        def bias(account: int) -> Floats:
            """Return the bias with the elements of one account."""
            tables = tuple(table[table["account"] == account] for table in forces.tables)
            system = model.system._replace(forces=forces._replace(tables=tables))
            return EquationsOfMotion(replace(model, system=system)).inverse_dynamics(self._state, still)[columns]

        without = bias(-1)
        causes = [account.cause.split("/") for account in model.names.accounts]
        return {decoded(name): without - bias(k) for k, (section, name, *_) in enumerate(causes) if section != "joints"}

    def element_forces_of_engine(self, q: Values, v: Values, names: Iterable[str]) -> dict[str, Floats]:
        """Return the generalized forces of elements of the engine."""
        own_q, own_v, G, _ = self._convert(q, v)
        return {name: G.T @ force for name, force in self._engine.element_forces(own_q, own_v, names).items()}

    def moves(self, joint: EngineJoint) -> bool:
        """Whether the coordinates of a joint are not prescribed."""
        return not self._is_prescribed(joint)

    def sizes(self, motion: EngineMotion) -> tuple[float, float]:
        """Return mass and polar moment of inertia about the world's origin of the bodies that move."""
        self._place(motion.q, motion.v)
        mass, _, polar = self._equations.moments_of_mass(self._state)
        return mass, polar

    def _place(self, q: Values, v: Values) -> list[int]:
        """Set the state of the scene; return the numbers of its velocities, in the order of M."""
        columns: list[int] = []
        for joint in self.joints:
            size, speeds = SIZES[joint.kind]
            first, column = self._places(joint)
            self._state.q[first : first + size] = q[joint.name]
            self._state.v[column : column + speeds] = v[joint.name]
            columns += range(column, column + speeds)
        return columns

    def _is_prescribed(self, joint: EngineJoint) -> bool:
        _, column = self._places(joint)
        return bool(self._model.system.tree.driven[column])

    def _places(self, joint: EngineJoint) -> tuple[int, int]:
        """Return the first coordinate and the first velocity of a joint in the state of the scene."""
        coordinate = self._coordinate(joint)
        assert coordinate is not None
        first = self._positions[coordinate.joint].start + coordinate.position
        return first, self._velocities[coordinate.joint].start + coordinate.velocity

    def equations_of_engine(self, q: Values, v: Values) -> tuple[Floats, Floats]:
        """Return M and b of the engine, for the bodies of the scene."""
        own_q, own_v, G, rest = self._convert(q, v)
        M, b = self._engine.equations(own_q, own_v)
        return G.T @ M @ G, G.T @ (M @ rest + b)

    def equality_jacobian(self, q: Values) -> Floats:
        """Return the Jacobian (m, n) of the equalities of the engine, for the velocities of the scene."""
        own_q, _, G, _ = self._convert(q, self.values(np.zeros(self.size)))
        return self._engine.equality_jacobian(own_q) @ G

    def quantities_of_engine(self, motion: EngineMotion) -> Quantities:
        """Return the other quantities of the engine, with forces on the bodies of the scene."""
        own_q, own_v, G, rest = self._convert(motion.q, motion.v)
        own_a = G @ self.row(motion.a) + rest
        found = self._engine.quantities(
            own_q, own_v, {joint.name: own_a[joint.columns] for joint in self._engine.joints}
        )
        return found._replace(forces=G.T @ found.forces, gravity=G.T @ found.gravity)

    def _convert(self, q: Values, v: Values) -> tuple[Values, Values, Floats, Floats]:
        """Return q and v of the engine, and G and c with v' = G v, a' = G a + c."""
        own_q, own_v = {}, {}
        G = np.zeros((sum(SIZES[joint.kind][1] for joint in self._engine.joints), self.size))
        rest = np.zeros(len(G))
        for joint, columns in self.columns():
            coordinate = self._coordinate(joint)
            assert coordinate is not None
            rows = joint.columns
            own_q[joint.name], G[rows, columns] = q[joint.name] + coordinate.reference, np.eye(SIZES[joint.kind][1])
            if joint.kind is JointPrimitive.FREE:
                own_q[joint.name], G[rows, columns], rest[rows] = self._base(joint, q[joint.name], v[joint.name])
            own_v[joint.name] = G[rows, columns] @ v[joint.name]
        return own_q, own_v, G, rest

    def _base(self, joint: EngineJoint, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Return pose, velocities and accelerations of a link that is a point of a free body of the scene."""
        name = self._free_body(joint)
        point = None if name in (None, joint.body) else self._draft.bodies[name].points.get(joint.body)
        if point is None:
            return q, np.eye(6), np.zeros(6)
        lever = rotation_matrix(q[3:]) @ point.pose.position
        G = np.eye(6)
        G[:3, 3:] = np.cross(np.eye(3), lever).T
        turn = turned(q[3:], quaternion_of_matrix(point.pose.rotation.tolist()))
        spin = np.cross(v[3:], np.cross(v[3:], lever))
        return np.concatenate([q[:3] + lever, turn]), G, np.concatenate([spin, np.zeros(3)])

    def _free_body(self, joint: EngineJoint) -> str | None:
        names = [name for name, body in self._draft.bodies.items() if name == joint.body or joint.body in body.points]
        return names[0] if names else None

    def _coordinate(self, joint: EngineJoint) -> Coordinate | None:
        found = self._draft.coordinates.get(joint.name)
        if found is None and joint.kind is JointPrimitive.FREE and joint.name not in self._draft.joints:
            body = self._free_body(joint)
            found = None if body is None else Coordinate(body)
        found = found or Coordinate(joint.name)
        place = self._velocities.get(found.joint)
        return found if place is not None and place.stop <= self._equations.n else None  # joints that close loops: none


def moved(q: Values, v: Values, joints: tuple[EngineJoint, ...], h: float) -> dict[str, Floats]:
    """Return the values after a time h with constant velocities."""
    found = {}
    for joint in joints:
        value, rate = q[joint.name], h * v[joint.name]
        if joint.kind is JointPrimitive.FREE:  # the angular velocity is in outer axes
            turn = turned(quaternion_of_vector(rate[3:].tolist()), value[3:])
            found[joint.name] = np.concatenate([value[:3] + rate[:3], turn])
        elif joint.kind is JointPrimitive.BALL:
            found[joint.name] = turned(value, quaternion_of_vector(rate.tolist()))
        else:
            found[joint.name] = value + rate
    return found


def turned(outer: Any, inner: Any) -> Floats:
    """Return the product of two quaternions."""
    product: Any = quaternion_product(tuple(np.asarray(outer).tolist()), tuple(np.asarray(inner).tolist()))
    return np.array(product)


def _dependents(simulation: PreparedSimulation) -> dict[str, tuple[str, float, float]]:
    """Return the joints whose coordinate is a multiple of another one plus an offset, by couplings that reduce."""
    found = {}
    for coupling in simulation.scene.couplings.values():
        if isinstance(coupling, LinearSpec) and coupling.reduce and len(coupling.terms) == 2:
            (name, own), (other, factor) = coupling.terms.items()
            found[name] = (other, -factor / own, coupling.value / own)
    return found
