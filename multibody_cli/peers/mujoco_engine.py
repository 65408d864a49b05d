"""MuJoCo as the engine of MJCF files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import JointPrimitive
from multibody_cli.peers.engine import SIZES, Engine, EngineJoint, Quantities
from multibody_cli.spec.rotations import rotation_matrix

KINDS = (JointPrimitive.FREE, JointPrimitive.BALL, JointPrimitive.SLIDE, JointPrimitive.HINGE)
"""Kinds by number (`mjtJoint`)."""


class MujocoEngine(Engine):
    """A model of MuJoCo, without contacts, at controls of 0."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        self._mujoco, self._model, self._data = mujoco, model, mujoco.MjData(model)
        self.joints = tuple(
            EngineJoint(
                model.joint(k).name or f"joint {k}",
                KINDS[model.jnt_type[k]],
                int(model.jnt_dofadr[k]),
                model.body(model.jnt_bodyid[k]).name,
            )
            for k in range(model.njnt)
        )

    title = "MuJoCo"
    has_dampers = True

    @classmethod
    def read(cls, path: Path) -> MujocoEngine:
        """Read an MJCF file."""
        import mujoco

        mujoco.set_mju_user_warning(lambda _message: None)  # it would write a file into the working directory
        return cls(mujoco, mujoco.MjModel.from_xml_path(str(path)))

    def equations(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return M and b."""
        model, data = self._model, self._data
        G = self._place(q, v)
        self._mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        self._mujoco.mj_fullM(model, data, M)
        b = data.qfrc_bias - data.qfrc_passive - data.qfrc_actuator
        # with R' = R [w]x, the derivative of R^T w has no term besides R^T dw/dt: no acceleration is left over
        return G.T @ M @ G, G.T @ b

    def quantities(self, q: Mapping[str, Floats], v: Mapping[str, Floats], a: Mapping[str, Floats]) -> Quantities:
        """Return other quantities; the inverse dynamics are without constraints, and with actuators."""
        mujoco, model, data = self._mujoco, self._model, self._data
        G = self._place(q, v)
        for joint in self.joints:
            columns = joint.columns
            if joint.name in a:
                data.qacc[columns] = G[columns, columns] @ a[joint.name]
        enabled = model.opt.disableflags
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        mujoco.mj_inverse(model, data)
        model.opt.disableflags = enabled
        mujoco.mj_fwdActuation(model, data)
        springs = [getattr(model, f"{kind}_stiffnesspoly", np.zeros(0)) for kind in ("jnt", "tendon")]
        kept = [terms.copy() for terms in springs]
        for terms in springs:  # in a scene, those beyond the first are actuators, without potential energy
            terms[:] = 0.0
        mujoco.mj_energyPos(model, data)
        for terms, own in zip(springs, kept, strict=True):
            terms[:] = own
        mujoco.mj_energyVel(model, data)
        mujoco.mj_subtreeVel(model, data)
        forces = data.qfrc_inverse - data.qfrc_actuator
        center, momentum = data.subtree_com[0].copy(), model.body_subtreemass[0] * data.subtree_linvel[0]
        spin = data.subtree_angmom[0] + np.cross(center, momentum)
        potential, kinetic = data.energy.tolist()
        data.qvel[:] = 0.0
        mujoco.mj_fwdVelocity(model, data)
        mass_moment = model.body_subtreemass[0] * center
        return Quantities(G.T @ forces, G.T @ data.qfrc_bias, mass_moment, momentum, spin, kinetic, potential)

    def equality_jacobian(self, q: Mapping[str, Floats]) -> Floats:
        """Return the Jacobian of the equalities that are active at the start."""
        mujoco, model, data = self._mujoco, self._model, self._data
        G = self._place(q, {joint.name: np.zeros(SIZES[joint.kind][1]) for joint in self.joints})
        model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        mujoco.mj_forward(model, data)
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        J = data.efc_J[: data.nefc * model.nv].reshape(data.nefc, model.nv)  # it has room for rows that are zero
        return np.asarray(J[rows] @ G, np.float64)

    def _place(self, q: Mapping[str, Floats], v: Mapping[str, Floats]) -> Floats:
        """Set the state; return G with the velocities G v of MuJoCo, where those of free joints turn in body axes."""
        model, data = self._model, self._data
        self._mujoco.mj_resetData(model, data)
        G = np.eye(model.nv)
        for k, joint in enumerate(self.joints):
            if joint.name not in q:
                continue
            columns = joint.columns
            if joint.kind is JointPrimitive.FREE:
                G[columns, columns][3:, 3:] = rotation_matrix(q[joint.name][3:]).T
            first = int(model.jnt_qposadr[k])
            data.qpos[first : first + SIZES[joint.kind][0]] = q[joint.name]
            data.qvel[columns] = G[columns, columns] @ v[joint.name]
        return G


ENGINE = MujocoEngine
