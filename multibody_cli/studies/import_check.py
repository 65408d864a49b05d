"""An imported scene beside the engine of its file: mass matrix and bias at several states, and who contradicts itself.

The kinetic energy is 1/2 v^T M v, so that the power of the Coriolis and centrifugal forces c is that of dM/dt:

    v^T c(q, v) = 1/2 v^T (dM/dt) v,    c(q, v) = (b(q, v) + b(q, -v))/2 - b(q, 0),

A program whose M and b differ from this contradicts itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from multibody_cli.errors import series
from multibody_cli.foreign.draft import Coordinate, Draft
from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats, State
from multibody_cli.peers.contract import ShapeKind
from multibody_cli.peers.engine import SIZES, Engine, EngineJoint
from multibody_cli.spec.rotations import (
    quaternion_of_matrix,
    quaternion_of_vector,
    quaternion_product,
    rotation_matrix,
)
from multibody_cli.studies.equations_of_motion import EquationsOfMotion, places_by_name
from multibody_cli.studies.simulation import PreparedSimulation

AGREEMENT = 1e-10
"""Largest relative difference that counts as agreement."""

OFFSET = 1e-4
"""Half of the time between the mass matrices of dM/dt, s; the error is about its square."""

CONTRADICTION = 1e-6
"""Largest relative difference of both sides of the identity above that counts as round-off and truncation."""

Values = Mapping[str, Floats]
Equations = Callable[[Values, Values], tuple[Floats, Floats]]


class JointDifference(Immutable):
    """Largest relative differences of the rows of a joint in the mass matrix and in the bias."""

    name: str
    mass_matrix: float
    bias: float


class ImportCheck(Immutable):
    """The outcome of a comparison.

    Parameters
    ----------
    engine
        Title of the engine.
    states
        Number of states.
    joints
        Differences by joint, in the order of the engine.
    absent
        Joints of the engine that the scene does not have.
    scene_contradiction, engine_contradiction
        Largest relative differences of v^T c and 1/2 v^T (dM/dt) v in both programs.
    """

    engine: str
    states: int
    joints: tuple[JointDifference, ...]
    absent: tuple[str, ...]
    scene_contradiction: float
    engine_contradiction: float

    @property
    def mass_matrix(self) -> float:
        """The largest difference of the mass matrices."""
        return max((joint.mass_matrix for joint in self.joints), default=0.0)

    @property
    def bias(self) -> float:
        """The largest difference of the biases."""
        return max((joint.bias for joint in self.joints), default=0.0)

    @property
    def agrees(self) -> bool:
        """Whether both agree to `AGREEMENT`."""
        return max(self.mass_matrix, self.bias) <= AGREEMENT

    @property
    def contradicting(self) -> str:
        """The program that contradicts itself; empty if none does, or both, as where forces saturate."""
        values = {self.engine: self.engine_contradiction, "mbsim": self.scene_contradiction}
        found = [name for name, value in values.items() if value > CONTRADICTION]
        return found[0] if len(found) == 1 else ""

    def lines(self) -> Iterator[str]:
        """Yield the lines of a report; joints are listed where they differ."""
        yield f"{self.engine}: {len(self.joints)} joint{'s' * (len(self.joints) != 1)} at {self.states} states"
        yield f"  mass matrix   {self.mass_matrix:.1e} largest relative difference"
        yield f"  bias          {self.bias:.1e}"
        if self.absent:
            yield f"  not compared  {series(self.absent, 'and')}: not in the scene"
        for joint in self.joints:
            if max(joint.mass_matrix, joint.bias) > AGREEMENT:
                yield f"  {joint.name}: mass matrix {joint.mass_matrix:.1e}, bias {joint.bias:.1e}"
        if not self.agrees and self.contradicting:
            yield f"  {self.contradicting} contradicts itself: its bias is not that of the change of its mass matrix"

    def data(self) -> dict[str, Any]:
        """Return the comparison as plain data, for JSON."""
        joints = {joint.name: {"mass_matrix": joint.mass_matrix, "bias": joint.bias} for joint in self.joints}
        return {
            "engine": self.engine,
            "states": self.states,
            "agrees": self.agrees,
            "joints": joints,
            "absent": list(self.absent),
            "contradicting": self.contradicting,
        }


def check_import(simulation: PreparedSimulation, draft: Draft, engine: Engine, states: int = 6) -> ImportCheck:
    """Compare an imported scene with the engine of its file.

    The states are the initial pose, one of right angles, and random ones, each with random velocities.

    Parameters
    ----------
    simulation
        The scene.
    draft
        The import that it comes from.
    engine
        The file in its own engine.
    states
        Number of states, at least 2.
    """
    scene = _Imported(simulation, draft, engine)
    random = np.random.default_rng(1)
    M_error, b_error = np.zeros((2, scene.size))
    contradictions = np.zeros(2)
    for number in range(states):
        q, v = scene.state(number, random)
        M, b = _compared(scene.equations, q, v, engine)
        M_own, b_own = _compared(scene.of_engine, q, v, engine)
        scale = np.sqrt(np.maximum(np.diag(M_own), np.finfo(float).tiny))
        M_error = np.maximum(M_error, (np.abs(M - M_own) / np.outer(scale, scale)).max(axis=1, initial=0.0))
        b_error = np.maximum(b_error, np.abs(b - b_own) / scale / _size_of_bias(M_own, b_own / scale, scene.speeds(v)))
        found = [contradiction(equations, q, v, scene.joints) for equations in (scene.equations, scene.of_engine)]
        contradictions = np.maximum(contradictions, found)
    differences = []
    for joint, columns in scene.columns():
        differences.append(JointDifference(joint.name, float(M_error[columns].max()), float(b_error[columns].max())))
    return ImportCheck(engine.title, states, tuple(differences), scene.absent, *contradictions.tolist())


def _compared(equations: Equations, q: Values, v: Values, engine: Engine) -> tuple[Floats, Floats]:
    """Return M and b, without the forces of dampers, which are odd in v, if the engine does not have them."""
    M, b = equations(q, v)
    return M, b if engine.has_dampers else (b + equations(q, _opposite(v))[1]) / 2


def _size_of_bias(M: Floats, b: Floats, speeds: Floats) -> float:
    """Return the size of b_i / sqrt(M_ii): the largest, or that of inertia forces where b vanishes.

    Speeds of the states are about 1, so that inertia forces are about sqrt(v^T M v) at a rate of 1/s.
    """
    return max(float(np.abs(b).max(initial=0.0)), float(np.sqrt(speeds @ M @ speeds))) or 1.0


def _opposite(v: Values) -> dict[str, Floats]:
    return {name: -value for name, value in v.items()}


def contradiction(equations: Equations, q: Values, v: Values, joints: tuple[EngineJoint, ...]) -> float:
    """Return the difference of v^T c and 1/2 v^T (dM/dt) v, relative to the sizes of their terms."""
    M, b = equations(q, v)
    still = {name: np.zeros_like(value) for name, value in v.items()}
    c = (b + equations(q, _opposite(v))[1]) / 2 - equations(q, still)[1]
    before, after = (equations(moved(q, v, joints, h), v)[0] for h in (-OFFSET, OFFSET))
    speeds = np.concatenate([np.zeros(0), *(v[joint.name] for joint in joints)])
    rate = speeds @ (after - before) @ speeds / (4 * OFFSET)
    scale = np.abs(speeds) @ np.abs(c) + np.abs(speeds) @ np.abs(M) @ np.abs(speeds)
    return float(abs(speeds @ c - rate) / (scale or 1.0))


def moved(q: Values, v: Values, joints: tuple[EngineJoint, ...], h: float) -> dict[str, Floats]:
    """Return the values after a time h with constant velocities."""
    found = {}
    for joint in joints:
        value, rate = q[joint.name], h * v[joint.name]
        if joint.kind is ShapeKind.FREE:  # the angular velocity is in outer axes
            turned = _turned(quaternion_of_vector(rate[3:].tolist()), value[3:])
            found[joint.name] = np.concatenate([value[:3] + rate[:3], turned])
        elif joint.kind is ShapeKind.BALL:
            found[joint.name] = _turned(value, quaternion_of_vector(rate.tolist()))
        else:
            found[joint.name] = value + rate
    return found


def _turned(outer: Any, inner: Any) -> Floats:
    """Return the product of two quaternions."""
    product: Any = quaternion_product(tuple(np.asarray(outer).tolist()), tuple(np.asarray(inner).tolist()))
    return np.array(product)


class _Imported:
    """A scene in the coordinates of the engine of its file."""

    def __init__(self, simulation: PreparedSimulation, draft: Draft, engine: Engine) -> None:
        self._draft, self._engine = draft, engine
        self._model = simulation.compiled.model
        self._state: State = simulation.fresh_state()
        self._motion = EquationsOfMotion(self._model)
        for controller in self._model.controllers:  # activations of filters are those of the start
            for update in controller.updates:
                self._model.system.forces.signals.quantities[update.quantity] = update.initial
        self._positions, self._velocities, _ = places_by_name(self._model)
        self._dependent = _dependents(simulation)
        self.joints = tuple(joint for joint in engine.joints if self._coordinate(joint) is not None)
        self.absent = tuple(joint.name for joint in engine.joints if self._coordinate(joint) is None)
        self.size = sum(SIZES[joint.kind][1] for joint in self.joints)

    def columns(self) -> list[tuple[EngineJoint, slice]]:
        """Return the joints with their columns in M."""
        found, first = [], 0
        for joint in self.joints:
            size = SIZES[joint.kind][1]
            found.append((joint, slice(first, first + size)))
            first += size
        return found

    def speeds(self, v: Values) -> Floats:
        """Return all velocities, in the order of M."""
        return np.concatenate([np.zeros(0), *(v[joint.name] for joint in self.joints)])

    def state(self, number: int, random: np.random.Generator) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return values of the scene by joint of the engine: the initial pose, right angles, or random ones."""
        q, v = {}, {}
        for joint in self.joints:
            size, speeds = SIZES[joint.kind]
            v[joint.name] = random.uniform(-1.0, 1.0, speeds)
            angle = (0.0, np.pi / 2, random.uniform(-1.0, 1.0))[min(number, 2)]
            if joint.kind is ShapeKind.HINGE:
                q[joint.name] = np.array([angle])
            elif joint.kind is ShapeKind.SLIDE:
                q[joint.name] = np.array([0.1 * angle])
            else:
                vector = np.array([0.0, 0.0, angle]) if number < 2 else random.normal(size=3)
                place = random.uniform(-1.0, 1.0, size - 4)
                q[joint.name] = np.concatenate([place, quaternion_of_vector(vector.tolist())])
        for name, (other, factor, offset) in self._dependent.items():
            if name in q and other in q:
                q[name], v[name] = factor * q[other] + offset, factor * v[other]
        return q, v

    def equations(self, q: Values, v: Values) -> tuple[Floats, Floats]:
        """Return M and b of the scene."""
        columns: list[int] = []
        for joint in self.joints:
            coordinate = self._coordinate(joint)
            assert coordinate is not None
            size, speeds = SIZES[joint.kind]
            first = self._positions[coordinate.joint].start + coordinate.position
            self._state.q[first : first + size] = q[joint.name]
            first = self._velocities[coordinate.joint].start + coordinate.velocity
            self._state.v[first : first + speeds] = v[joint.name]
            columns += range(first, first + speeds)
        M = self._motion.mass_matrix(self._state)
        b = self._motion.inverse_dynamics(self._state, np.zeros(self._motion.n))
        return M[np.ix_(columns, columns)], b[columns]

    def of_engine(self, q: Values, v: Values) -> tuple[Floats, Floats]:
        """Return M and b of the engine, for the bodies of the scene."""
        own_q, own_v = {}, {}
        G = np.zeros((sum(SIZES[joint.kind][1] for joint in self._engine.joints), self.size))
        rest = np.zeros(len(G))
        for joint, columns in self.columns():
            coordinate = self._coordinate(joint)
            assert coordinate is not None
            rows = slice(joint.velocity, joint.velocity + SIZES[joint.kind][1])
            own_q[joint.name], G[rows, columns] = q[joint.name] + coordinate.reference, np.eye(SIZES[joint.kind][1])
            if joint.kind is ShapeKind.FREE:
                own_q[joint.name], G[rows, columns], rest[rows] = self._base(joint, q[joint.name], v[joint.name])
            own_v[joint.name] = G[rows, columns] @ v[joint.name]
        M, b = self._engine.equations(own_q, own_v)
        return G.T @ M @ G, G.T @ (M @ rest + b)

    def _base(self, joint: EngineJoint, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Return pose, velocities and accelerations of a link that is a point of a free body of the scene."""
        name = self._free_body(joint)
        point = None if name in (None, joint.body) else self._draft.bodies[name].points.get(joint.body)
        if point is None:
            return q, np.eye(6), np.zeros(6)
        lever = rotation_matrix(q[3:]) @ point.pose.position
        G = np.eye(6)
        G[:3, 3:] = np.cross(np.eye(3), lever).T
        turn = _turned(q[3:], quaternion_of_matrix(point.pose.rotation.tolist()))
        spin = np.cross(v[3:], np.cross(v[3:], lever))
        return np.concatenate([q[:3] + lever, turn]), G, np.concatenate([spin, np.zeros(3)])

    def _free_body(self, joint: EngineJoint) -> str | None:
        names = [name for name, body in self._draft.bodies.items() if name == joint.body or joint.body in body.points]
        return names[0] if names else None

    def _coordinate(self, joint: EngineJoint) -> Coordinate | None:
        found = self._draft.coordinates.get(joint.name)
        if found is None and joint.kind is ShapeKind.FREE and joint.name not in self._draft.joints:
            body = self._free_body(joint)
            found = None if body is None else Coordinate(body)
        found = found or Coordinate(joint.name)
        return found if found.joint in self._positions else None


def _dependents(simulation: PreparedSimulation) -> dict[str, tuple[str, float, float]]:
    """Return the joints whose coordinate is a multiple of another one plus an offset, by couplings that reduce."""
    found = {}
    couplings: Any = simulation.scene.couplings.values()
    for coupling in couplings:
        terms = list(getattr(coupling, "terms", {}).items())
        if coupling.reduce and len(terms) == 2:
            (name, own), (other, factor) = terms
            found[name] = (other, -factor / own, coupling.value / own)
    return found
