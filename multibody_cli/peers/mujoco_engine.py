"""MuJoCo as the engine of MJCF files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import ShapeKind
from multibody_cli.peers.engine import SIZES, Engine, EngineJoint
from multibody_cli.spec.rotations import rotation_matrix

KINDS = (ShapeKind.FREE, ShapeKind.BALL, ShapeKind.SLIDE, ShapeKind.HINGE)
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
        """Return M and b; the angular velocity of a free joint is in body axes in MuJoCo, and in world axes here."""
        model, data = self._model, self._data
        self._mujoco.mj_resetData(model, data)
        G = np.eye(model.nv)
        for k, joint in enumerate(self.joints):
            if joint.name not in q:
                continue
            size, speeds = SIZES[joint.kind]
            columns = slice(joint.velocity, joint.velocity + speeds)
            if joint.kind is ShapeKind.FREE:
                G[columns, columns][3:, 3:] = rotation_matrix(q[joint.name][3:]).T
            first = int(model.jnt_qposadr[k])
            data.qpos[first : first + size] = q[joint.name]
            data.qvel[columns] = G[columns, columns] @ v[joint.name]
        self._mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        self._mujoco.mj_fullM(model, data, M)
        b = data.qfrc_bias - data.qfrc_passive - data.qfrc_actuator
        # with R' = R [w]x, the derivative of R^T w has no term besides R^T dw/dt: no acceleration is left over
        return G.T @ M @ G, G.T @ b


ENGINE = MujocoEngine
