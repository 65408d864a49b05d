"""Mechanisms in the coordinates of their bodies for tests of variational steps: at a start, and with an end ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from loops import Data, loaded
from scipy.spatial.transform import Rotation

from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.solver import place
from multibody_cli.methods.baraff import BARAFF
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import displace
from multibody_cli.tree.workspace import Work
from multibody_cli.variational.constrained import held_for
from multibody_cli.variational.discrete_motion import keep_momenta, keep_start
from multibody_cli.variational.newton_maximal import newton_for
from multibody_cli.variational.poses import pose_all
from multibody_cli.variational.workspace import Ahead, Settings, ahead_for


@dataclass
class Strided:
    """A system placed at its start, and the work arrays of a step."""

    system: System
    state: State
    work: Work
    ahead: Ahead

    def stride(self, h: float) -> None:
        """Let the coordinates ahead be where the rates of the start lead in a time h."""
        self.ahead.q[:] = self.state.q
        displace(self.system.tree, self.ahead.q, self.state.v, h)
        pose_all(self.system.tree, self.ahead.q, self.ahead.strides, self.ahead.crosser)

    def turn(self, body: int, twist: np.ndarray) -> None:
        """Move a body ahead by a small twist (w, v) in world axes about its origin."""
        stride = self.ahead.strides[body]
        R = Rotation.from_rotvec(twist[:3]).as_matrix() @ stride["R"].reshape(3, 3).T
        stride["R"], stride["x"] = R.T.ravel(), stride["x"] + twist[3:]


def strided(scene: Data) -> Strided:
    """Place a scene at its start."""
    compiled = compile_scene(loaded(scene, method="variational_maximal"))
    system, state = compiled.model.system, State(*(array.copy() for array in compiled.state))
    work: Any = BARAFF.workspace(compiled.model, None)
    settings = Settings(1e-10, 50, 0.5, 0, False, np.ones(1), True)
    ahead = ahead_for(system, len(state.q), len(state.ledger), settings, held_for(system), newton_for(system))
    place(system, 0.0, state.q, state.v, state.a, work)
    keep_start(system.tree, work.bodies, ahead.strides)
    keep_momenta(system.tree.links, work.bodies, ahead.strides)
    return Strided(system, state, work, ahead)


def oblique(rng: np.random.Generator) -> Data:
    """A pose by chance."""
    return {"position": rng.uniform(-1, 1, 3).tolist(), "rotation": {"rotvec": rng.uniform(-1, 1, 3).tolist()}}


def chain(*joints: Data, seed: int = 0) -> Data:
    """Bodies one behind the other in joints whose frames are placed by chance; the last hangs the wrong way round.

    Its joint calls the body nearer to the ground its child, so that elimination goes against the joint; the program
    itself finds where that joint is closed.
    """
    rng = np.random.default_rng(seed)
    bodies = {
        f"b{k}": {
            "mass": float(rng.uniform(0.5, 2.0)),
            "com": rng.uniform(-0.3, 0.3, 3).tolist(),
            "inertia": {"principal": rng.uniform(0.2, 0.3, 3).tolist()},
        }
        for k in range(len(joints))
    }
    names = ["world", *bodies]
    hung = {}
    for k, joint in enumerate(joints):
        ends = (names[k], names[k + 1]) if k < len(joints) - 1 or k == 0 else (names[k + 1], names[k])
        hung[f"j{k}"] = {
            "parent": ends[0],
            "child": ends[1],
            "origin": oblique(rng),
            "child_origin": oblique(rng),
            **joint,
        }
        if ends[0] != names[k]:
            hung[f"j{k}"].pop("v", None)  # it closes a loop
    return {"bodies": bodies, "joints": hung, "simulation": {"assembly_tolerance": 10.0}}
