"""Pinocchio as the engine of URDF files, whose forces are gravity alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import JointPrimitive
from multibody_cli.peers.engine import Engine, EngineJoint, Quantities
from multibody_cli.spec.rotations import rotation_matrix

ROOT = "root_joint"
"""Name in Pinocchio of the free joint of a root link."""


class PinocchioEngine(Engine):
    """A model of Pinocchio; its root link is free if the file does not connect it to a link `world`."""

    def __init__(self, pinocchio: Any, model: Any) -> None:
        self._pinocchio, self._model, self._data = pinocchio, model, model.createData()
        self._numbers = range(1, model.njoints)
        self.joints = tuple(self._joint(number) for number in self._numbers)

    title = "Pinocchio"
    has_dampers = False

    @classmethod
    def read(cls, path: Path) -> PinocchioEngine:
        """Read a URDF file."""
        import pinocchio

        model = pinocchio.buildModelFromUrdf(str(path))
        if not any(frame.name == "world" for frame in model.frames):
            model = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
        return cls(pinocchio, model)

    def _joint(self, number: int) -> EngineJoint:
        model = self._model
        joint, name = model.joints[number], model.names[number]
        if joint.nv == 6:
            links = (frame for frame in model.frames if frame.type == self._pinocchio.FrameType.BODY)
            link = next(frame.name for frame in links if frame.parentJoint == number)
            return EngineJoint(name, JointPrimitive.FREE, joint.idx_v, link)
        slides = joint.shortname().startswith("JointModelP")  # PX, PY, PZ, PrismaticUnaligned
        return EngineJoint(name, JointPrimitive.SLIDE if slides else JointPrimitive.HINGE, joint.idx_v)

    def equations(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return M and b."""
        own_q, own_v, G, rest = self._place(q, v)
        M = np.triu(self._pinocchio.crba(self._model, self._data, own_q))
        M += np.triu(M, 1).T
        b = self._pinocchio.nonLinearEffects(self._model, self._data, own_q, own_v)
        return G.T @ M @ G, G.T @ (M @ rest + b)

    def quantities(self, q: Mapping[str, Floats], v: Mapping[str, Floats], a: Mapping[str, Floats]) -> Quantities:
        """Return other quantities."""
        pinocchio, model, data = self._pinocchio, self._model, self._data
        own_q, own_v, G, own_a = self._place(q, v)
        for joint in self.joints:
            columns = joint.columns
            if joint.name in a:
                own_a[columns] += G[columns, columns] @ a[joint.name]
        forces = pinocchio.rnea(model, data, own_q, own_v, own_a)
        gravity = pinocchio.computeGeneralizedGravity(model, data, own_q)
        mass_moment = pinocchio.centerOfMass(model, data, own_q) * data.mass[0]
        momentum = pinocchio.computeCentroidalMomentum(model, data, own_q, own_v)
        return Quantities(
            G.T @ forces,
            G.T @ gravity,
            mass_moment,
            momentum.linear.copy(),
            momentum.angular + np.cross(data.com[0], momentum.linear),
            pinocchio.computeKineticEnergy(model, data, own_q, own_v),
            pinocchio.computePotentialEnergy(model, data, own_q),
        )

    def _place(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
        """Return q and v of Pinocchio, and G and c with v' = G v, a' = G a + c.

        The velocity of a free joint is in body axes in Pinocchio, and in world axes here.
        """
        model = self._model
        own_q, own_v = self._pinocchio.neutral(model), np.zeros(model.nv)
        G, rest = np.eye(model.nv), np.zeros(model.nv)
        for number, joint in zip(self._numbers, self.joints, strict=True):
            if joint.name not in q:
                continue
            found = model.joints[number]
            columns = joint.columns
            values = q[joint.name]
            if joint.kind is JointPrimitive.FREE:
                R = rotation_matrix(values[3:])
                G[columns, columns] = np.kron(np.eye(2), R.T)
                linear, angular = v[joint.name][:3], v[joint.name][3:]
                rest[columns][:3] = -R.T @ np.cross(angular, linear)
                values = np.concatenate([values[:3], np.roll(values[3:], -1)])
            elif found.nq == 2:  # a hinge without limits
                values = np.array([np.cos(values[0]), np.sin(values[0])])
            own_q[found.idx_q : found.idx_q + found.nq] = values
            own_v[columns] = G[columns, columns] @ v[joint.name]
        return own_q, own_v, G, rest


ENGINE = PinocchioEngine
