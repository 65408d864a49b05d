"""Variational steps in maximal coordinates for tests: the start of a step, and an iterate of its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from loops import Data, loaded
from scipy.spatial.transform import Rotation

from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.methods.baraff import BARAFF
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import displace
from multibody_cli.tree.workspace import Work
from multibody_cli.variational.discrete_motion import initialize_momenta, store_start_of_step
from multibody_cli.variational.newton_maximal import maximal_newton_for
from multibody_cli.variational.poses import compute_poses
from multibody_cli.variational.step_forces import explicit_forces
from multibody_cli.variational.workspace import Settings, StepWorkspace, step_workspace_for


@dataclass
class StepCase:
    """A system in its initial state, and the work arrays of a step."""

    system: System
    state: State
    work: Work
    step: StepWorkspace

    def move(self, h: float) -> None:
        """Set the iterate to the coordinates after a time h at the initial rates."""
        self.step.q[:] = self.state.q
        displace(self.system.tree, self.step.q, self.state.v, h)
        compute_poses(self.system.tree, self.step.q, self.step.discrete_motions, self.step.pose_work)

    def rotate(self, body: int, twist: np.ndarray) -> None:
        """Displace the iterate of a body by a small twist (w, v) in world axes about its origin."""
        discrete_motion = self.step.discrete_motions[body]
        R = Rotation.from_rotvec(twist[:3]).as_matrix() @ discrete_motion["R"].reshape(3, 3).T
        discrete_motion["R"], discrete_motion["x"] = R.T.ravel(), discrete_motion["x"] + twist[3:]


def step_case(scene: Data, coupled: bool = False) -> StepCase:
    """Place a scene at its start."""
    compiled = compile_scene(loaded(scene, method="variational_maximal"))
    system, state = compiled.model.system, State(*(array.copy() for array in compiled.state))
    work: Any = BARAFF.kernels.workspace(compiled.model, None)
    settings = Settings(1e-10, 50, 0.5, 0, False, np.ones(1), maximal=True, coupled=coupled, has_drives=False)
    forces, solver = explicit_forces(system, work), maximal_newton_for(system)
    step = step_workspace_for(system, len(state.q), len(state.ledger), settings, forces, solver)
    update_kinematics(system, 0.0, state.q, state.v, state.a, work)
    store_start_of_step(system.tree, work.bodies, step.discrete_motions)
    initialize_momenta(system.tree.links, work.bodies, step.discrete_motions)
    return StepCase(system, state, work, step)


def oblique(rng: np.random.Generator) -> Data:
    """A pose by chance."""
    return {"position": rng.uniform(-1, 1, 3).tolist(), "rotation": {"rotvec": rng.uniform(-1, 1, 3).tolist()}}


def chain(*joints: Data, seed: int = 0) -> Data:
    """A chain of bodies on joints with random frames; the last joint is reversed.

    Its joint calls the body nearer to the ground its child, so that elimination goes against the joint; the program
    itself computes where that joint is closed.
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
