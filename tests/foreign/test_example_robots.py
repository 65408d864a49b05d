"""Mass matrices and biases of the robots of `example-robot-data` agree with those of Pinocchio.

Free bases differ in the frame: that of Pinocchio is the root link, that of a scene the first link with mass.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import mbsim
from multibody_cli.api.views import places_by_name
from multibody_cli.errors import MbsimError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.frames import IDENTITY
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

pin = pytest.importorskip("pinocchio")
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

REFUSED = {
    "ur3.urdf": "the model has no bodies",
    "icub.urdf": "joints.neck_roll: moves no mass or inertia at the start",
}
"""Robots that are not run: a file without links, and one whose mass matrix is singular at the start."""


def robots() -> Iterator[Path]:
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    yield from sorted(folder.rglob("*.urdf"))


def cross(vector: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3), vector)


def root_frame(path: Path, body: str):
    """Pose of the root link in the body that it became part of."""
    robot = ElementTree.parse(path).getroot()
    children = {joint.find("child").get("link") for joint in robot.findall("joint")}
    [root] = [name for link in robot.findall("link") if (name := link.get("name")) not in children]
    return IDENTITY if root == body else read_model(path, Options(), Problems()).bodies[body].points[root].pose


class Pair:
    """A robot in both programs, at one state."""

    def __init__(self, path: Path) -> None:
        self.simulation = mbsim.Simulation(mbsim.load(path, {"simulation.duration": 0.01}))
        self.joints = self.simulation.scene.prepared.scene.joints
        model = self.simulation._model
        self.places, self.columns, self.fixed = places_by_name(model)
        self.base = next((name for name in self.places if name not in self.joints), None)
        root = (pin.JointModelFreeFlyer(),) if self.base else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        self.frame = root_frame(path, self.base) if self.base else IDENTITY
        couplings = self.simulation.scene.prepared.scene.couplings.values()
        terms = [(list(coupling.terms.items()), coupling.value) for coupling in couplings]
        self.leaders = {follower: (leader, -factor, value) for [(follower, _), (leader, factor)], value in terms}

    def move(self, rng: np.random.Generator) -> None:
        """Set a random state, and the map from the velocities of a scene to those of Pinocchio."""
        state, own = self.simulation._state, {}
        self.q, self.v = pin.neutral(self.model), np.zeros(self.model.nv)
        self.map, self.drift = np.zeros((self.model.nv, state.v.size)), np.zeros(self.model.nv)
        for name, joint in self.joints.items():
            size = 0.1 if joint.type == "prismatic" else 1.0
            own[name] = rng.uniform(-size, size), rng.uniform(-1, 1)

        def state_of(name: str) -> tuple[float, float]:
            if name not in self.leaders:
                return own[name]
            leader, factor, value = self.leaders[name]
            q, v = state_of(leader)
            return factor * q + value, factor * v

        for name, part in zip(list(self.model.names)[1:], list(self.model.joints)[1:], strict=True):
            if self.base and name == "root_joint":
                self._move_base(part, rng)
            elif name in self.joints and self.joints[name].type != "fixed":
                q, v = state_of(name)
                self.q[part.idx_q : part.idx_q + part.nq] = [q] if part.nq == 1 else [np.cos(q), np.sin(q)]
                self.v[part.idx_v], self.map[part.idx_v, self.columns[name]] = v, 1.0
                state.q[self.places[name]], state.v[self.columns[name]] = q, v

    def _move_base(self, part, rng: np.random.Generator) -> None:
        position, quaternion, twist = rng.uniform(-1, 1, 3), rng.normal(size=4), rng.uniform(-1, 1, 6)
        quaternion /= np.linalg.norm(quaternion)
        R = pin.Quaternion(*quaternion).toRotationMatrix()
        axes, arm = R @ self.frame.rotation, R @ self.frame.position
        block = np.block([[axes.T, axes.T @ cross(arm).T], [np.zeros((3, 3)), axes.T]])
        where = slice(part.idx_v, part.idx_v + 6)
        self.q[part.idx_q : part.idx_q + 7] = [*(position + arm), *pin.Quaternion(axes).coeffs()]
        self.v[where], self.map[where, self.columns[self.base]] = block @ twist, block
        centripetal = axes.T @ np.cross(twist[3:], np.cross(twist[3:], arm))
        linear, angular = self.v[where][:3], self.v[where][3:]
        self.drift[part.idx_v : part.idx_v + 3] = centripetal - np.cross(angular, linear)
        state = self.simulation._state
        state.q[self.places[self.base]], state.v[self.columns[self.base]] = [*position, *quaternion], twist

    def differences(self) -> tuple[float, float]:
        """Largest relative differences of the mass matrix and of the bias, without dampers."""
        upper = np.triu(pin.crba(self.model, self.data, self.q))
        matrix = upper + np.triu(upper, 1).T
        bias = matrix @ self.drift + pin.nonLinearEffects(self.model, self.data, self.q, self.v)
        others = self.map.T @ matrix @ self.map, self.map.T @ bias
        damping = np.zeros(self.simulation._state.v.size)
        for name, joint in self.joints.items():
            damping[self.columns.get(name, slice(0, 0))] = (getattr(joint, "damping", None) or (0.0,))[0]
        n = self.simulation.equations.n
        own = self.simulation.mass_matrix(), self.simulation.bias() - (damping * self.simulation._state.v)[:n]
        pairs = zip(own, (others[0][:n, :n], others[1][:n]), strict=True)
        return tuple(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


@pytest.mark.parametrize("path", list(robots()), ids=lambda path: f"{path.parents[1].name}/{path.name}")
def test_a_robot_runs_and_agrees_with_pinocchio(path: Path) -> None:
    if path.name in REFUSED:
        with pytest.raises(MbsimError, match=REFUSED[path.name]):
            mbsim.load(path)
        return
    pair, rng = Pair(path), np.random.default_rng(0)
    for _ in range(3):
        pair.move(rng)
        assert max(pair.differences()) < 1e-10
    pair.simulation.reset()
    pair.simulation.step(10)
