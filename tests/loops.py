"""Random scenes with closed loops, closed exactly, with consistent rates.

A random tree in a random state comes first.  A joint that closes a loop is then put where the two bodies are: its
coordinates are drawn, and its frame in the child follows from them.  Rates are projected onto those of all joints
by the dense oracle, so that neither poses nor rates come from the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption
from loop_oracle import Loops, forward, placement, pose_of_joint
from oracle import across, rotation_of_quaternion, vee
from scipy.spatial.transform import Rotation
from strategies import random_quaternion, random_rotation

from multibody_cli.compile import CompiledScene, compile_scene
from multibody_cli.constraint_solver.projection import (
    compute_velocity_residuals,
)
from multibody_cli.constraint_solver.solver import (
    largest_position_error,
)
from multibody_cli.joints import JOINTS
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Status
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.method import Method
from multibody_cli.model import State
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.observers import observe
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.scene.load import LoadedScene, load_scene
from multibody_cli.scene.mass_properties import mass_properties_of
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import inboard_joints

Data = dict[str, Any]

THREE = ("aba", "redmax", "baraff")


# --- scenes and their runs ----------------------------------------------------------------------------------------
def loaded(scene: Data, **simulation: Any) -> LoadedScene:
    """A scene that is written as data."""
    settings = {"duration": 1.0, **scene.get("simulation", {}), **simulation}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scene.yaml"
        path.write_text(json.dumps({"mbsim": 1, **scene, "simulation": settings}), encoding="utf-8")
        return load_scene(path)


@dataclass
class Run:
    """A scene with one method, started."""

    loaded: LoadedScene
    compiled: CompiledScene
    method: Method
    state: State

    def advance(self, until: float) -> Run:
        assert self.method.advance(self.state, until).status is Status.OK
        return self

    def observed(self) -> Samples:
        """The present values of the channels."""
        model = self.compiled.model
        samples = samples_for(model.names, 1)
        observe(model.system, self.state, self.method.work, element_rows(model), samples, 0)
        return samples

    def joint(self, name: str, channel: str) -> np.ndarray:
        """A channel of a joint: coordinates, velocity, acceleration, or reaction."""
        names = [entry.name for entry in self.compiled.model.names.joints]
        k, samples = names.index(name), self.observed()
        if channel in ("reaction", "constraint_error"):
            return getattr(samples, channel)[0, k]
        return getattr(samples, channel)[0, self.compiled.model.names.joints[k].columns]

    def body(self, name: str, channel: str) -> np.ndarray:
        """A channel of a body: position, quaternion, linear_velocity or angular_velocity."""
        return getattr(self.observed(), channel)[0, self.compiled.model.names.bodies.index(name)]

    def energy(self) -> tuple[float, float]:
        """Mechanical energy, and the residual of the ledger."""
        samples = self.observed()
        total = float(samples.kinetic[0] + samples.potential[0] + samples.elastic[0])
        accounts = zip(self.compiled.model.names.accounts, samples.accounts[0], strict=True)
        return total, total - sum(value if account.kind == "work" else -value for account, value in accounts)

    def errors(self) -> tuple[float, float]:
        """Largest error of a row at the level of positions, and of velocities."""
        work = self.method.work
        return float(largest_position_error(work)), float(compute_velocity_residuals(work, self.state.v))

    def multipliers(self, element: str) -> np.ndarray:
        """Of the rows of a joint that closes a loop, of a coupling or of a constraint."""
        named = zip(self.method.work.rows, self.compiled.model.names.rows, strict=True)
        return np.array([row["multiplier"] for row, name in named if name.element == element])


def start(scene: Data, method: str = "aba", integrator: str = "rk4", **simulation: Any) -> Run:
    """Load, compile and start a scene."""
    found = loaded(scene, method=method, integrator=integrator, **simulation)
    settings, compiled = found.scene.simulation, compile_scene(found)
    state = State(*(array.copy() for array in compiled.state))
    options = METHODS[method].Options.model_validate(settings.options)
    bound = METHODS[method](compiled.model, INTEGRATORS[integrator], compiled.control, state, options)
    assert bound.start(state).status is Status.OK
    return Run(found, compiled, bound, state)


# --- the same, for the oracle -------------------------------------------------------------------------------------
def poses_of(run: Run) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Poses of the body frames as channels show them."""
    samples = run.observed()
    return {
        name: (samples.position[0, k], rotation_of_quaternion(samples.quaternion[0, k]))
        for k, name in enumerate(run.compiled.model.names.bodies)
    }


def coordinates_of(run: Run) -> dict[str, np.ndarray]:
    """Numbers of the parts of every joint."""
    return {joint.name: run.state.q[joint.positions] for joint in run.compiled.model.names.joints}


def oracle_of(run: Run, extra=()) -> tuple[Loops, np.ndarray]:
    """The dense formulation at the current state of a run, and the rates."""
    loops = Loops(run.loaded.scene, run.compiled.masses, poses_of(run), coordinates_of(run), extra=extra)
    v, samples = np.zeros(loops.size), run.observed()
    for k, name in enumerate(run.compiled.model.names.bodies):
        v[loops.body_columns(name)] = [*samples.linear_velocity[0, k], *samples.angular_velocity[0, k]]
    for joint in run.compiled.model.names.joints:
        v[loops.hinges[joint.name].columns] = run.state.v[joint.columns]
    return loops, v


def accelerations_of(run: Run, loops: Loops) -> np.ndarray:
    """The accelerations of the method, in the layout of the dense formulation."""
    model, work, a = run.compiled.model, run.method.work, np.zeros(loops.size)
    ground = np.array(work.bodies[0]["a"])
    for name, row in zip(model.names.bodies, model.names.body_rows, strict=True):
        body, frame = work.bodies[row], model.system.tree.frames[row]
        R = np.array(body["R"]).reshape(3, 3).T
        r, w = R @ frame["origin"], np.array(body["w"])
        alpha = body["alpha"] + body["dw"]
        linear = body["a"] + body["dv"] - ground + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
        a[loops.body_columns(name)] = [*linear, *alpha]
    for joint in model.names.joints:
        a[loops.hinges[joint.name].columns] = run.state.a[joint.columns]
    return a


# --- random scenes ------------------------------------------------------------------------------------------------
def joint_kinds(pitch: float = 0.5) -> dict[str, Data]:
    """Every joint of the catalogue, and a few that composites make."""
    return {
        "revolute": {"type": "revolute", "axis": [1, 2, -2]},
        "prismatic": {"type": "prismatic", "axis": [0, 1, 0]},
        "screw": {"type": "screw", "axis": [2, -1, 2], "pitch": pitch},
        "cylindrical": {"type": "cylindrical", "axis": [0, 0, 1]},
        "universal": {"type": "universal"},
        "planar": {"type": "planar"},
        "translational": {"type": "translational"},
        "spherical": {"type": "spherical"},
        "spherical_xzx": {"type": "spherical", "parametrization": "euler_xzx"},
        "spherical_exponential": {"type": "spherical", "parametrization": "exponential"},
        "fixed": {"type": "fixed"},
        "free2d": {"type": "free2d"},
        "free": {"type": "free"},
        "composite": {
            "type": "composite",
            "parts": [
                {"type": "revolute", "axis": [0, 1, 0]},
                {"type": "prismatic", "axis": [1, 0, 0]},
                {"type": "screw", "axis": [1, 1, 1], "pitch": -0.7},
            ],
        },
        "anchors": {
            "type": "composite",
            "parts": [
                {"type": "revolute", "axis": [0, 1, 0], "position": [0.3, 0.1, -0.2]},
                {"type": "revolute", "axis": [1, 0, 0], "position": [0.0, -0.4, 0.2]},
                {"type": "revolute", "axis": [2, 1, -2], "position": [-0.2, 0.0, 0.5]},
            ],
        },
    }


WHOLE = ("spherical", "spherical_exponential", "free", "fixed")
"""Joints whose coordinates are not all numbers of their own, and the one that has none."""


@dataclass
class Driver:
    """A prescribed coordinate: its derivative that is given, and the numbers of c + s sin(w t + p)."""

    given: str
    numbers: tuple[float, float, float, float]

    def text(self) -> str:
        c, s, w, p = self.numbers
        return f"{c!r} + {s!r}*sin({w!r}*t + {p!r})"

    def __call__(self, t: float) -> tuple[float, float, float]:
        c, s, w, p = self.numbers
        return c + s * np.sin(w * t + p), s * w * np.cos(w * t + p), -s * w * w * np.sin(w * t + p)


@dataclass
class RandomLoops:
    """A scene, and the prescribed motion in it."""

    scene: Data
    drivers: Mapping[tuple[str, int], Driver]

    def given(self, t: float) -> dict[tuple[str, int], float]:
        """Prescribed accelerations."""
        place = {"position": 2, "velocity": 1, "acceleration": 0}
        return {key: driver(t)[place[driver.given]] for key, driver in self.drivers.items()}


KINDS = tuple(joint_kinds())


@st.composite
def random_loops(draw, closing=None, max_bodies: int = 5, driven: bool = True) -> RandomLoops:
    """Trees, some of them floating, with one to three loop joints."""
    count = draw(st.integers(1, max_bodies))
    inboard = [draw(st.sampled_from((*KINDS, None))) for _ in range(count)]
    parents = [draw(st.integers(0, k)) for k in range(count)]  # 0 is the world
    loose = st.sampled_from([kind for kind in KINDS if kind != "fixed"])
    extra = [closing] if closing else []
    extra += [draw(loose) for _ in range(draw(st.integers(0 if closing else 1, 2)))]
    ends = [(draw(st.integers(0, count)), draw(st.integers(1, count))) for _ in extra]
    moved = [driven and draw(st.integers(0, 5)) == 0 for _ in range(count)]
    moved += [driven and draw(st.integers(0, 3)) == 0 for _ in extra]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = ["world", *(f"b{k}" for k in range(1, count + 1))]
    joints: dict[str, Data] = {}
    drivers: dict[tuple[str, int], Driver] = {}
    for k, kind in enumerate(inboard):
        if kind is not None:
            joints[f"j{k + 1}"] = random_joint(rng, kind, names[parents[k]], names[k + 1])
    for k, (kind, (parent, child)) in enumerate(zip(extra, ends, strict=True)):
        parent = parent if parent != child else 0
        joints[f"loop{k + 1}"] = random_joint(rng, kind, names[parent], names[child])
    for (name, joint), yes in zip(
        joints.items(), [m for m, k in zip(moved, [*inboard, *extra], strict=True) if k], strict=True
    ):
        if yes:
            drive(rng, name, joint, drivers)
    bodies = {name: random_body(rng) for name in names[1:]}
    scene = {"gravity": (rng.normal(size=3) * 5).tolist(), "bodies": bodies, "joints": joints}
    for name in sorted(set(bodies) - set(inboard_joints_of(validated(scene)))):
        bodies[name] |= {"position": rng.normal(size=3).tolist(), "rotation": quaternion(random_quaternion(rng))}
    close_loops(scene)
    set_rates(rng, scene, drivers)
    return RandomLoops(scene, drivers)


def inboard_joints_of(scene):
    """The inboard joint of each body, by the name of the body."""
    return inboard_joints(scene)


def validated(scene: Data) -> SceneSpec:
    return SceneSpec.model_validate({"name": "random", "mbsim": 1, "simulation": {"duration": 1}, **scene})


def quaternion(numbers) -> Data:
    return {"quaternion": [float(x) for x in numbers]}


def quaternion_of(R: np.ndarray) -> Data:
    return quaternion(np.roll(Rotation.from_matrix(R).as_quat(), 1))


def random_body(rng) -> Data:
    moments = rng.random(3) + 0.5
    R = random_rotation(rng)
    inertia = R @ np.diag(0.1 * (moments.sum() - moments)) @ R.T
    com, inertia = (0.3 * rng.normal(size=3)).tolist(), {"matrix": ((inertia + inertia.T) / 2).tolist()}
    return {"mass": 0.5 + 2 * rng.random(), "com": com, "inertia": inertia}


def random_pose(rng) -> Data:
    return {"position": rng.normal(size=3).tolist(), "rotation": quaternion(random_quaternion(rng))}


def random_joint(rng, kind: str, parent: str, child: str) -> Data:
    """A joint in a random state with springs, dampers and actuators."""
    joint = {**joint_kinds()[kind], "parent": parent, "child": child, "origin": random_pose(rng)}
    joint["child_origin"] = random_pose(rng)
    n = n_dofs(joint)
    if n == 0:
        return joint
    if joint["type"] == "spherical":
        joint["q"] = quaternion(random_quaternion(rng))
    elif joint["type"] == "free":
        joint["q"] = random_pose(rng)
    else:
        joint["q"] = rng.uniform(-1.2, 1.2, n).tolist()
    if kind != "spherical_exponential":
        if rng.random() < 0.5:
            joint["damping"] = rng.random(n).tolist()
        if rng.random() < 0.5:
            joint["force"] = rng.normal(size=n).tolist()
        if kind not in (*WHOLE, "spherical_xzx") and rng.random() < 0.5:
            joint["stiffness"], joint["rest"] = (20 * rng.random(n)).tolist(), rng.normal(size=n).tolist()
    return joint


def n_dofs(joint: Data) -> int:
    plain = {key: value for key, value in joint.items() if key != "parametrization"}
    spec = JOINTS[joint["type"]].spec.model_validate({"child": "b", **plain})
    return sum(part.nv for part in JOINTS[joint["type"]].parts(spec))


def drive(rng, name: str, joint: Data, drivers: dict[tuple[str, int], Driver]) -> None:
    """Prescribe some of the coordinates."""
    n = n_dofs(joint)
    if n == 0 or joint.get("parametrization"):
        return
    choices = ["velocity", "acceleration"] + ["position"] * (joint["type"] not in ("spherical", "free"))
    given = str(rng.choice(choices))
    chosen = rng.random(n) < 0.6
    chosen[rng.integers(n)] = True
    for k in np.flatnonzero(chosen):
        drivers[name, int(k)] = Driver(given, tuple(float(x) for x in rng.uniform(0.2, 0.9, 4)))
    texts = [drivers[name, k].text() if chosen[k] else None for k in range(n)]
    joint["motion"] = {given: texts if n > 1 else texts[0]}
    if "force" in joint:
        joint["force"] = np.where(chosen, 0.0, joint["force"]).tolist()
    if given == "position":
        joint["q"] = [float(drivers[name, k](0.0)[0]) if chosen[k] else joint["q"][k] for k in range(n)]


def start_of(joint: Data, spec) -> np.ndarray:
    """Numbers of the parts at the start; those that are prescribed are kept under `q` until the end."""
    return np.array(JOINTS[joint["type"]].start(spec).q)


def close_loops(scene: Data) -> None:
    """Put the frames of the joints that close loops where the bodies are."""
    specs = validated(scene)
    inboard = inboard_joints_of(specs)
    q = {name: start_of(scene["joints"][name], joint) for name, joint in specs.joints.items()}
    poses = all_poses(specs, q, inboard)
    for name, joint in specs.joints.items():
        if inboard.get(joint.child) == name:
            continue
        x, R = pose_of_joint(placement(joint.origin), JOINTS[joint.type].parts(joint), q[name])
        y, P = poses[joint.parent]
        z, C = poses[joint.child]
        scene["joints"][name]["child_origin"] = {
            "position": (C.T @ (y + P @ x - z)).tolist(),
            "rotation": quaternion_of(C.T @ P @ R),
        }


def all_poses(specs: SceneSpec, q, inboard) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Poses of all bodies from their inboard joints."""
    roots = {name: placement(body) for name, body in specs.bodies.items() if name not in inboard}
    return forward(specs, q, inboard, roots)


def set_rates(rng, scene: Data, drivers: Mapping[tuple[str, int], Driver], extra=(), scale: float = 1.0) -> None:
    """Rates that all joints and the rows of `extra` allow, next to random ones of a scale."""
    specs = validated(scene)
    inboard = inboard_joints_of(specs)
    q = {name: start_of(scene["joints"][name], joint) for name, joint in specs.joints.items()}
    for (name, k), driver in drivers.items():
        if driver.given == "position":
            q[name][k] = driver(0.0)[0]
    poses = all_poses(specs, q, inboard)
    loops = Loops(specs, masses_of(specs), poses, q, extra=extra)
    assert np.abs(loops.rows(np.zeros(loops.size))[0]).max(initial=0.0) < 1e-12
    place = {"position": 1, "velocity": 0}
    moving = {key: driver(0.0)[place[driver.given]] for key, driver in drivers.items() if driver.given in place}
    v, left = loops.consistent(scale * rng.normal(size=loops.size), moving)
    if left >= 1e-10:
        raise UnsatisfiedAssumption("prescribed rates that no motion of the loops has")
    for name, joint in scene["joints"].items():
        rates = v[loops.hinges[name].columns]
        driven = [key for key in drivers if key[0] == name]
        everything = len(driven) == len(rates)
        closes = inboard.get(joint["child"]) != name
        given = drivers[driven[0]].given if driven else None
        if len(rates) == 0:
            continue
        if not (everything and given in place) and (not closes or given == "acceleration"):
            joint["v"] = rates_as_written(joint, loops.hinges[name], rates)
        if everything and given == "position":
            joint.pop("q", None)
    for name, body in scene["bodies"].items():
        if name not in inboard:
            rates = v[loops.body_columns(name)].tolist()
            body["velocity"] = {"linear": rates[:3], "angular": rates[3:]}


def rates_as_written(joint: Data, hinge, rates: np.ndarray) -> Any:
    """Rates in the format of a scene."""
    if joint["type"] == "free":
        return {"linear": rates[:3].tolist(), "angular": rates[3:].tolist()}
    if joint["type"] != "spherical":
        return rates.tolist()
    R, iq, iv = None, 0, 0
    for part in hinge.parts:
        turn, _ = across(part, hinge.q[iq : iq + part.nq], rates[None, iv : iv + part.nv])
        R = turn if R is None else R @ turn
        iq, iv = iq + part.nq, iv + part.nv
    return vee(R.value.T @ R.first[0]).tolist()


def masses_of(specs: SceneSpec):
    return {name: mass_properties_of(body, None) for name, body in specs.bodies.items()}
