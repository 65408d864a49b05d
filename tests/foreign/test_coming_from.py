"""The conventions of Pinocchio and Drake on the pages for their users, by a robot with a free base."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbsim

PAGE = Path(__file__).parents[2] / "docs/first-robot.md"
JOINTS = ("front_hip", "front_knee", "rear_hip", "rear_knee")

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore:.*imported", "ignore:.*is free")]


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    [text] = re.findall(r'^```xml title="walker.urdf"\n(.*?)^```$', PAGE.read_text(), re.DOTALL | re.MULTILINE)
    path = tmp_path / "walker.urdf"
    path.write_text(text)
    return path


@pytest.fixture
def sim(robot: Path) -> mbsim.Simulation:
    """The robot in a random state, without the damping of its joints, which is no part of the others' bias."""
    found = mbsim.Simulation(mbsim.load(robot, {f"joints.{name}.damping": 0.0 for name in JOINTS}))
    rng = np.random.default_rng(1)
    turn = rng.normal(size=4)
    found.q["body"][:] = [*rng.normal(size=3), *turn / np.linalg.norm(turn)]
    found.v["body"][:] = rng.normal(size=6)
    for name in JOINTS:
        found.q[name], found.v[name] = rng.normal(), rng.normal()
    return found


def first(sim: mbsim.Simulation, name: str) -> int:
    """First column of a joint or free body."""
    marked = sim.v[...].copy()
    sim.v[...][:] = np.arange(len(marked))
    found = int(sim.v[name][0])
    sim.v[...][:] = marked
    return found


def require_equal(sim: mbsim.Simulation, T: np.ndarray, M: np.ndarray, bias: np.ndarray, J: np.ndarray) -> None:
    """Require equations in velocities T v; `bias` has the rate of T too, J is [angular; linear] of `front_shin`."""
    np.testing.assert_allclose(T.T @ M @ T, sim.mass_matrix(), atol=1e-13)
    np.testing.assert_allclose(T.T @ bias, sim.bias(), atol=1e-12)
    np.testing.assert_allclose(J @ T, sim.jacobian("front_shin"), atol=1e-13)


def test_pinocchio(sim: mbsim.Simulation, robot: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(robot), pin.JointModelFreeFlyer())
    data, base = model.createData(), sim.q["body"]
    q, T, free = pin.neutral(model), np.zeros((model.nv, model.nv)), first(sim, "body")
    q[:7] = [*base[:3], *base[4:], base[3]]
    R = Rotation.from_quat(base[3:], scalar_first=True).as_matrix()
    T[:3, free : free + 3] = T[3:6, free + 3 : free + 6] = R.T
    for name in JOINTS:
        joint = model.getJointId(name)
        q[model.idx_qs[joint]], T[model.idx_vs[joint], first(sim, name)] = sim.q[name][0], 1.0
    v = T @ sim.v[...]
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    rate = np.zeros(model.nv)  # of T, times v
    rate[:3] = -np.cross(v[3:6], v[:3])
    bias = pin.nonLinearEffects(model, data, q, v) + M @ rate
    J = pin.computeFrameJacobian(model, data, q, model.getFrameId("front_shin"), pin.LOCAL_WORLD_ALIGNED)
    require_equal(sim, T, M, bias, np.vstack([J[3:], J[:3]]))


def test_drake(sim: mbsim.Simulation, robot: Path) -> None:
    pytest.importorskip("pydrake.multibody.plant")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import JacobianWrtVariable

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(robot))
    plant.Finalize()
    context, free = plant.CreateDefaultContext(), first(sim, "body")
    q, T = np.zeros(plant.num_positions()), np.zeros((plant.num_velocities(),) * 2)
    body = plant.GetBodyByName("body")
    iq, iv = body.floating_positions_start(), body.floating_velocities_start_in_v()
    q[iq : iq + 7] = [*sim.q["body"][3:], *sim.q["body"][:3]]
    T[iv : iv + 3, free + 3 : free + 6] = T[iv + 3 : iv + 6, free : free + 3] = np.eye(3)
    for name in JOINTS:
        joint = plant.GetJointByName(name)
        q[joint.position_start()], T[joint.velocity_start(), first(sim, name)] = sim.q[name][0], 1.0
    plant.SetPositions(context, q)
    plant.SetVelocities(context, T @ sim.v[...])
    bias = plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)
    frame, world = plant.GetFrameByName("front_shin"), plant.world_frame()
    J = plant.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, frame, np.zeros(3), world, world)
    require_equal(sim, T, plant.CalcMassMatrix(context), bias, J)
