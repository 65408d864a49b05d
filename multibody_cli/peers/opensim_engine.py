"""OpenSim as the engine of its files, without muscles and contacts, and without the constraints of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import JointPrimitive
from multibody_cli.peers.engine import CONTROL, Engine, EngineJoint, Quantities
from multibody_cli.spec.rotations import rotation_matrix

SLIDING = 2
"""Value of `Coordinate.getMotionType` of a translation."""

CONTACTS = ("HuntCrossleyForce", "ElasticFoundationForce", "SmoothSphereHalfSpaceForce")
"""Forces of compliant contacts."""

WITHOUT_ENERGY = ("CoordinateLimitForce", "Blankevoort1991Ligament")
"""Forces with a potential energy that a scene has as actuators and tensions, which have none."""

COUNTED_TWICE = ("BushingForce",)
"""Forces of which OpenSim counts the potential energy twice."""

PATH_SPRING = "PathSpring"
"""A spring whose energy OpenSim does not count."""

SWAP = np.kron([[0.0, 1.0], [1.0, 0.0]], np.eye(3))
"""Matrix from [linear; angular] to the velocities [angular; linear] of a FreeJoint."""


class OpenSimEngine(Engine):
    """A model of OpenSim; each coordinate is a joint, but those of a FreeJoint are one."""

    title = "OpenSim"
    has_dampers = True
    leaves_out = ("muscles",)

    def __init__(self, opensim: Any, model: Any, elements: tuple[str, ...] = ()) -> None:
        self._opensim, self._model, self._elements = opensim, model, elements
        self._state = model.initSystem()
        self._matter = model.getMatterSubsystem()
        coordinates = model.updCoordinateSet()
        self._coordinates = {one.getName(): one for one in map(coordinates.get, range(coordinates.getSize()))}
        for one in self._coordinates.values():
            one.setLocked(self._state, False)
        self.joints, self._parts = self._joints()
        self._places = {name: self._place(name) for name in self._coordinates}
        self._G, self._rest = np.eye(self._state.getNU()), np.zeros(self._state.getNU())

    @classmethod
    def read(cls, path: Path) -> OpenSimEngine:
        """Read a file."""
        import opensim

        opensim.Logger.setLevelString("off")
        model = opensim.Model(str(path))
        elements = []
        for force in _forces_of(model):
            is_contact = force.getConcreteClassName() in CONTACTS
            if force.get_appliesForce() and not is_contact:
                elements.append(force.getName())
            if is_contact or opensim.Muscle.safeDownCast(force) is not None:
                force.set_appliesForce(False)
        return cls(opensim, model, tuple(elements))

    def _joints(self) -> tuple[tuple[EngineJoint, ...], dict[str, list[str]]]:
        """Return the joints, and the names of the coordinates of each."""
        found, parts = [], {}
        joints = self._model.getJointSet()
        for joint in map(joints.get, range(joints.getSize())):
            names = [joint.get_coordinates(k).getName() for k in range(joint.numCoordinates())]
            if joint.getConcreteClassName() == "FreeJoint":
                body = joint.getChildFrame().findBaseFrame().getName()
                found.append(EngineJoint(joint.getName(), JointPrimitive.FREE, self._column(names[0]), body))
                parts[joint.getName()] = names
                continue
            for name in names:
                slides = self._coordinates[name].getMotionType() == SLIDING
                kind = JointPrimitive.SLIDE if slides else JointPrimitive.HINGE
                found.append(EngineJoint(name, kind, self._column(name)))
                parts[name] = [name]
        return tuple(found), parts

    def _column(self, name: str) -> int:
        """Return the velocity of a coordinate in M."""
        for one in self._coordinates.values():
            one.setSpeedValue(self._state, 0.0)
        self._coordinates[name].setSpeedValue(self._state, 1.0)
        return int(np.argmax(np.abs(_values(self._state.getU()))))

    def _place(self, name: str) -> int:
        """Return the number of a coordinate among the q of Simbody."""
        before = _values(self._state.getQ())
        coordinate = self._coordinates[name]
        value = coordinate.getValue(self._state)
        coordinate.setValue(self._state, value + 1.0, False)
        place = int(np.argmax(np.abs(_values(self._state.getQ()) - before)))
        coordinate.setValue(self._state, value, False)
        return place

    def equations(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return M and b."""
        self._set(q, v)
        M = self._opensim.Matrix()
        self._matter.calcM(self._state, M)
        rows = [[M.get(i, j) for j in range(M.ncol())] for i in range(M.nrow())]
        return self._G.T @ np.array(rows) @ self._G, self._forces({})

    @property
    def elements(self) -> tuple[str, ...]:
        """Names of the forces that the file enables, but contacts."""
        return self._elements

    def element_forces(
        self, q: Mapping[str, Floats], v: Mapping[str, Floats], names: Iterable[str]
    ) -> dict[str, Floats]:
        """Return the forces of elements, of muscles with fibers in equilibrium."""
        self._set(q, v)
        forces = {force.getName(): force for force in _forces_of(self._model)}
        enabled = [force for force in forces.values() if force.appliesForce(self._state)]
        for force in enabled:
            force.setAppliesForce(self._state, False)
        without, found = self._forces({}), {}
        controls = self._vector(np.full(self._model.getNumControls(), CONTROL))
        for name in names:
            forces[name].setAppliesForce(self._state, True)
            try:
                self._model.realizeVelocity(self._state)
                muscle = self._opensim.Muscle.safeDownCast(forces[name])
                if muscle is not None:
                    muscle.computeEquilibrium(self._state)
                    self._model.realizeVelocity(self._state)
                self._model.setControls(self._state, controls)
                found[name] = without - self._forces({})
            except RuntimeError:  # of OpenSim, where fibers have no equilibrium
                found[name] = np.full(len(without), np.nan)
            forces[name].setAppliesForce(self._state, False)
        for force in enabled:
            force.setAppliesForce(self._state, True)
        return found

    def quantities(self, q: Mapping[str, Floats], v: Mapping[str, Floats], a: Mapping[str, Floats]) -> Quantities:
        """Return other quantities."""
        self._set(q, v)
        mass, center = (f(self._state) for f in (self._matter.calcSystemMass, self._model.calcMassCenterPosition))
        momentum = self._matter.calcSystemMomentumAboutGroundOrigin(self._state)
        angular, linear = (_values(momentum.get(k)) for k in range(2))
        return Quantities(
            self._forces(a),
            self._gravity(),
            mass * _values(center),
            linear,
            angular,
            self._matter.calcKineticEnergy(self._state),
            self._model.calcPotentialEnergy(self._state) - self._other_energy(),
        )

    def _other_energy(self) -> float:
        """Return the potential energy that OpenSim counts and a scene does not, less that which only a scene counts."""
        total = 0.0
        for force in _forces_of(self._model):
            kind = force.getConcreteClassName()
            if force.get_appliesForce() and kind in (*WITHOUT_ENERGY, *COUNTED_TWICE, PATH_SPRING):
                own = getattr(self._opensim, kind).safeDownCast(force)
                if kind == PATH_SPRING:
                    total -= 0.5 * own.getStiffness() * own.getStretch(self._state) ** 2
                else:
                    total += own.computePotentialEnergy(self._state)
        return float(total)

    def _set(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> None:
        """Set the state; coordinates without a value have that of the start."""
        rates = np.zeros(len(self._G))
        for joint in self.joints:
            coordinates = [self._coordinates[name] for name in self._parts[joint.name]]
            values = q.get(joint.name, np.array([one.getDefaultValue() for one in coordinates]))
            rates[joint.columns] = v.get(joint.name, np.zeros(len(coordinates)))
            if len(values) == 7:
                values = np.concatenate([_body_angles(rotation_matrix(values[3:])), values[:3]])
            for one, value in zip(coordinates, values.tolist(), strict=True):
                one.setValue(self._state, value, False)
        self._model.realizePosition(self._state)
        self._G = self._speeds_by_rates()
        self._state.setU(self._vector(self._G @ rates))
        self._model.realizeDynamics(self._state)
        self._rest = self._speeds_at_rest()

    def _speeds_by_rates(self) -> Floats:
        """Return the matrix from velocities here to those of Simbody, which are angular velocities in some joints."""
        G = np.zeros_like(self._G)
        for joint in self.joints:
            if joint.kind is JointPrimitive.FREE:
                G[joint.columns, joint.columns] = SWAP
            else:
                rate = self._opensim.Vector(self._state.getNQ(), 0.0)
                rate.set(self._places[joint.name], 1.0)
                G[:, joint.velocity] = self._speeds_of(rate)
        return G

    def _speeds_at_rest(self) -> Floats:
        """Return the accelerations of Simbody where those here are 0: G a + rest."""
        changes = self._opensim.Vector()
        self._matter.multiplyByNDot(self._state, False, self._state.getU(), changes)
        rest = -self._speeds_of(changes)
        for joint in self.joints:
            if joint.kind is JointPrimitive.FREE:
                rest[joint.columns] = 0.0
        return rest

    def _speeds_of(self, rates: Any) -> Floats:
        """Return the speeds that have some rates of the coordinates."""
        found = self._opensim.Vector()
        self._matter.multiplyByNInv(self._state, False, rates, found)
        return _values(found)

    def _vector(self, numbers: Floats) -> Any:
        found = self._opensim.Vector(len(numbers), 0.0)
        for k, value in enumerate(numbers.tolist()):
            found.set(k, value)
        return found

    def _forces(self, a: Mapping[str, Floats]) -> Floats:
        """Return M a + b."""
        rates = np.zeros(len(self._G))
        for joint in self.joints:
            rates[joint.columns] = a.get(joint.name, 0.0)
        accelerations = self._vector(self._G @ rates + self._rest)
        forces = self._opensim.InverseDynamicsSolver(self._model).solve(self._state, accelerations)
        return self._G.T @ _values(forces)

    def _gravity(self) -> Floats:
        """Return the forces against gravity alone."""
        wrenches, forces = self._model.getGravityBodyForces(self._state), self._opensim.Vector()
        self._matter.multiplyBySystemJacobianTranspose(self._state, wrenches, forces)
        return -self._G.T @ _values(forces)


def _forces_of(model: Any) -> list[Any]:
    """Return the forces of a model."""
    forces = model.updForceSet()
    return [forces.get(k) for k in range(forces.getSize())]


def _values(vector: Any) -> Floats:
    """Return the numbers of a vector of OpenSim."""
    return np.array([vector.get(k) for k in range(vector.size())])


def _body_angles(R: Floats) -> Floats:
    """Return the Euler angles about the axes x, y, z of the body in this order."""
    return np.array(
        [np.arctan2(-R[1, 2], R[2, 2]), np.arcsin(np.clip(R[0, 2], -1.0, 1.0)), np.arctan2(-R[0, 1], R[0, 0])]
    )


ENGINE = OpenSimEngine
