"""Drake as the engine of SDF files, without constraints, which Drake has in discrete steps only."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import JointPrimitive
from multibody_cli.peers.engine import SIZES, Engine, EngineJoint, Quantities
from multibody_cli.spec.rotations import rotation_matrix

KINDS = {"prismatic": JointPrimitive.SLIDE, "ball_rpy": JointPrimitive.BALL, "quaternion_floating": JointPrimitive.FREE}
"""Kinds by the type of a joint; the coordinates of other types are angles."""

MANIFESTS = "*/model.config"
"""Manifests of the models `model://NAME`, in folders within or beside that of the file."""

GRAVITY = "0 0 -9.8"
"""Gravitational acceleration of a world that states none, m/s^2; Drake does not read it."""


class DrakeEngine(Engine):
    """A plant of Drake; a joint with two angles is two joints, `name axis` and `name axis2`."""

    def __init__(self, drake: Any, plant: Any, model: str) -> None:
        self._drake, self._plant, self._context = drake, plant, plant.CreateDefaultContext()
        self._prefix = f"{model}::" if model else ""
        self._elements = drake.MultibodyForces(plant)
        found = [pair for index in plant.GetJointIndices() for pair in self._joints_of(plant.get_joint(index))]
        self.joints = tuple(joint for joint, _ in found)
        self._first_positions = [first for _, first in found]

    title = "Drake"
    has_dampers = True

    @classmethod
    def read(cls, path: Path) -> DrakeEngine:
        """Read an SDF file; the name of its only model is no part of names."""
        import pydrake.all as drake

        logging.getLogger("drake").setLevel(logging.ERROR)
        plant = drake.MultibodyPlant(0.0)
        parser = drake.Parser(plant)
        for manifest in sorted((*path.parent.glob(MANIFESTS), *path.absolute().parent.parent.glob(MANIFESTS))):
            if not parser.package_map().Contains(manifest.parent.name):
                parser.package_map().Add(manifest.parent.name, manifest.parent)
        named = path.suffix == ".sdf"  # Drake takes the format from the suffix
        models = parser.AddModels(path) if named else parser.AddModelsFromString(path.read_text(), "sdf")
        text = re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.DOTALL)
        is_world = re.search(r"<world[\s>]", text) is not None
        if is_world:
            stated = re.search(r"<gravity>\s*(\S+\s+\S+\s+\S+)\s*</gravity>", text)
            acceleration: Any = np.array((GRAVITY if stated is None else stated[1]).split(), float)
            plant.mutable_gravity_field().set_gravity_vector(acceleration)
        plant.Finalize()
        if plant.num_velocities() == 0:
            raise ValueError("no link moves")
        first, *others = [plant.GetModelInstanceName(model) for model in models]
        is_only = not is_world and all(other.startswith(f"{first}::") for other in others)
        return cls(drake, plant, first if is_only else "")

    def _joints_of(self, joint: Any) -> Iterator[tuple[EngineJoint, int]]:
        """Yield the joints that a joint of Drake is, with their first positions."""
        scope, model = self._scope(joint.child_body(), joint.parent_body()), self._scope(joint.child_body())
        kind = KINDS.get(joint.type_name(), JointPrimitive.HINGE)
        speeds = SIZES[kind][1]
        for k in range(joint.num_velocities() // speeds):
            name = joint.name() if joint.num_velocities() == speeds else f"{joint.name()} axis{k + 1 if k else ''}"
            body = model + joint.child_body().name()
            yield EngineJoint(scope + name, kind, joint.velocity_start() + k, body), joint.position_start() + k

    def _scope(self, *bodies: Any) -> str:
        """Return the start of names in the innermost model that has all bodies, apart from the world."""
        plant = self._plant
        moving = [body for body in bodies if body.index() != plant.world_body().index()]
        models = [plant.GetModelInstanceName(body.model_instance()).split("::") for body in moving]
        levels = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*models, strict=False))
        return "".join(f"{parts[0]}::" for parts in levels).removeprefix(self._prefix)

    def equations(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return M and b."""
        G = self._place(q, v)
        M = self._plant.CalcMassMatrix(self._context)
        # with R' = R [w]x, the derivative of R w has no term besides R dw/dt: no acceleration is left over
        return G.T @ M @ G, G.T @ self._forces(np.zeros(len(G)))

    def quantities(self, q: Mapping[str, Floats], v: Mapping[str, Floats], a: Mapping[str, Floats]) -> Quantities:
        """Return other quantities."""
        plant, context = self._plant, self._context
        G, own_a = self._place(q, v), np.zeros(plant.num_velocities())
        for joint in self.joints:
            if joint.name in a:
                own_a[joint.columns] = G[joint.columns, joint.columns] @ a[joint.name]
        momentum = plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3))
        return Quantities(
            G.T @ self._forces(own_a),
            G.T @ -plant.CalcGravityGeneralizedForces(context),
            plant.CalcTotalMass(context) * plant.CalcCenterOfMassPositionInWorld(context),
            momentum.translational(),
            momentum.rotational(),
            plant.CalcKineticEnergy(context),
            plant.CalcPotentialEnergy(context),
        )

    def _forces(self, a: Floats) -> Floats:
        """Return M a + b in the velocities of Drake; springs and dampers are force elements."""
        self._plant.CalcForceElementsContribution(self._context, self._elements)
        found: Floats = self._plant.CalcInverseDynamics(self._context, a, self._elements)
        return found

    def _place(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> Floats:
        """Set the state; return G with the velocities G v of Drake.

        In Drake, the angular velocity of a ball is in the axes of its parent, and here in those of its child; that of a
        free joint comes first.
        """
        plant, context = self._plant, self._context
        own_q, own_v = plant.GetDefaultPositions(), np.zeros(plant.num_velocities())
        G = np.eye(len(own_v))
        for joint, first in zip(self.joints, self._first_positions, strict=True):
            if joint.name not in q:
                continue
            values, columns = q[joint.name], joint.columns
            if joint.kind is JointPrimitive.BALL:
                R = rotation_matrix(values)
                G[columns, columns] = R
                values = self._drake.RollPitchYaw(self._drake.RotationMatrix(R)).vector()
            elif joint.kind is JointPrimitive.FREE:
                G[columns, columns] = np.roll(np.eye(6), 3, axis=0)
                values = np.roll(values, 4)
            own_q[first : first + len(values)] = values
            own_v[columns] = G[columns, columns] @ v[joint.name]
        plant.SetPositions(context, own_q)
        plant.SetVelocities(context, own_v)
        return G


ENGINE = DrakeEngine
