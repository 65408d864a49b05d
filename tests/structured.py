"""Mechanisms in special positions: right angles, parallel and perpendicular axes, equal lengths, coincident points.

Random numbers meet neither such positions nor those next to them, but machines are built of them.  Here each angle and
length is one of a few, exact or off by very little, so that dead centres, aligned axes and singular loops are usual.  A
seed always makes the same mechanism.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption
from loops import (
    KINDS,
    Data,
    Driver,
    RandomLoops,
    close_loops,
    drive,
    inboard_joints_of,
    joint_kinds,
    n_dofs,
    random_loops,
    set_rates,
    validated,
)
from scipy.spatial.transform import Rotation

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Coordinate

AXES = np.vstack([np.eye(3), -np.eye(3)])
ANGLES = (0.0, 0.0, np.pi / 2, np.pi, -np.pi / 2, np.pi / 4)
LENGTHS = (0.0, 1.0, -1.0, 0.5, 2.0)
OFFSETS = (0.0, 0.0, 0.0, 0.0, 1e-9, -1e-9, 1e-5, -1e-5)
CLOSING = (*KINDS, "slot", "pin")
"""Every joint that closes a loop: the catalogue, and composites of a hinge and a slider across it, in both orders."""

PLANAR = ("revolute", "revolute", "prismatic", "slot", "pin", "free2d", "fixed")


class SpecialNumbers:
    """Source of numbers of one mechanism; all its joints move in the plane of a `normal`, unless it is None."""

    def __init__(self, rng: np.random.Generator, normal: np.ndarray | None) -> None:
        self.rng, self.normal = rng, normal

    def one_of(self, values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def angle(self) -> float:
        return float(self.one_of(ANGLES) + self.one_of(OFFSETS))

    def length(self) -> float:
        return float(self.one_of(LENGTHS) + self.one_of(OFFSETS))

    def axis(self) -> list[float]:
        """An axis of rotation."""
        return (self.one_of(AXES) if self.normal is None else self.one_of((1.0, -1.0)) * self.normal).tolist()

    def slide(self) -> list[float]:
        """A direction of translation."""
        return self.one_of([a for a in AXES if self.normal is None or not a @ self.normal]).tolist()

    def position(self) -> list[float]:
        x = np.array([self.length() for _ in range(3)])
        return (x if self.normal is None else x * (1 - self.normal)).tolist()

    def rotation(self) -> Data:
        return {"axis": self.axis(), "angle": self.angle() if self.chance(0.4) else 0.0}

    def pose(self) -> Data:
        return {"position": self.position(), "rotation": self.rotation()}

    def body(self) -> Data:
        com = 0.5 * np.array(self.position()) if self.chance(0.6) else np.zeros(3)
        moments = self.one_of(([0.1, 0.1, 0.1], [0.1, 0.2, 0.15]))
        return {"mass": self.one_of((1.0, 2.0)), "com": com.tolist(), "inertia": {"principal": moments}}

    def joint(self, kind: str, parent: str, child: str) -> Data:
        """A joint in a special state, perhaps with forces and dampers."""
        turn, slide = {"type": "revolute", "axis": self.axis()}, {"type": "prismatic", "axis": self.slide()}
        composites = {"slot": [slide, turn], "pin": [turn, slide]}
        joint = {"type": "composite", "parts": composites[kind]} if kind in composites else joint_kinds()[kind]
        joint = {**joint, "parent": parent, "child": child, "origin": self.pose(), "child_origin": self.pose()}
        if kind in ("revolute", "prismatic", "screw", "cylindrical"):
            joint["axis"] = self.slide() if kind == "prismatic" else self.axis()
        if kind == "free2d" and self.normal is not None:
            joint["origin"]["rotation"] = joint["child_origin"]["rotation"] = rotation_to(self.normal)
        n = n_dofs(joint)
        if n > 0:
            joint["q"] = self.coordinates(kind, joint)
            if kind != "spherical_exponential":
                joint["force"] = self.rng.choice([0.0, 1.0, -2.0], n).tolist() if self.chance(0.4) else [0.0] * n
                joint["damping"] = self.rng.choice([0.0, 1.0], n).tolist() if self.chance(0.3) else [0.0] * n
        return joint

    def coordinates(self, kind: str, joint: Data) -> Any:
        """Coordinates as a scene has them; the middle one of XZX angles is regular."""
        if kind == "spherical_xzx":
            middle = self.one_of((np.pi / 2, np.pi / 4, -np.pi / 2)) + self.one_of(OFFSETS)
            turned = Rotation.from_euler("XZX", [self.angle(), middle, self.angle()])
            return {"rotvec": turned.as_rotvec().tolist()}
        if joint["type"] in ("spherical", "free"):
            return self.rotation() if joint["type"] == "spherical" else self.pose()
        parts = JOINTS[joint["type"]].parts(JOINTS[joint["type"]].spec.model_validate(joint))
        kinds = [coordinate for part in parts for coordinate in part.coordinates]
        return [self.angle() if one is Coordinate.ANGLE else self.length() for one in kinds]


def rotation_to(normal: np.ndarray) -> Data:
    """A rotation that takes z to an axis."""
    axis = np.cross([0, 0, 1], normal)
    return {"axis": axis.tolist() if axis.any() else [1, 0, 0], "angle": float(np.arccos(normal[2]))}


def structured_loops(seed: int, closing: str | None = None, max_bodies: int = 4, driven: bool = True) -> RandomLoops:
    """A mechanism with one or two loops, the first one closed by a joint of a kind; most are plane ones."""
    for attempt in range(100):
        try:
            return _attempt(np.random.default_rng([seed, attempt]), closing, max_bodies, driven)
        except UnsatisfiedAssumption:  # prescribed rates that no motion of the loops has
            continue
    raise AssertionError(f"seed {seed}: no prescribed rates are those of a motion")


def _attempt(rng: np.random.Generator, closing: str | None, max_bodies: int, driven: bool) -> RandomLoops:
    numbers = SpecialNumbers(rng, AXES[rng.integers(3)] if rng.random() < 0.6 else None)
    kinds = CLOSING if numbers.normal is None else PLANAR
    count = int(rng.integers(1, max_bodies + 1))
    names = ["world", *(f"b{k}" for k in range(1, count + 1))]
    joints: dict[str, Data] = {}
    for k in range(count):
        parent = k if numbers.chance(0.7) else int(rng.integers(0, k + 1))
        if numbers.chance(0.93):
            joints[f"j{k + 1}"] = numbers.joint(numbers.one_of(kinds), names[parent], names[k + 1])
    for k in range(1 if numbers.chance(0.7) else 2):
        kind = closing if closing and k == 0 else numbers.one_of(kinds if numbers.chance(0.5) else CLOSING)
        child = count if numbers.chance(0.7) else int(rng.integers(1, count + 1))
        parent = 0 if numbers.chance(0.6) else int(rng.integers(0, count + 1))
        joints[f"loop{k + 1}"] = numbers.joint(kind, names[parent if parent != child else 0], names[child])
    drivers: dict[tuple[str, int], Driver] = {}
    for name, joint in joints.items():
        if driven and numbers.chance(0.35 if name.startswith("loop") else 0.1):
            drive(rng, name, joint, drivers)
    gravity = numbers.one_of((0.0, 9.81)) * numbers.one_of(AXES)
    bodies = {name: numbers.body() for name in names[1:]}
    scene = {"gravity": gravity.tolist(), "bodies": bodies, "joints": joints}
    for name in sorted(set(bodies) - set(inboard_joints_of(validated(scene)))):
        bodies[name] |= numbers.pose()
    close_loops(scene)
    set_rates(rng, scene, drivers, scale=numbers.one_of((0.0, 1.0, 1.0)))
    return RandomLoops(scene, drivers)


@st.composite
def any_loops(draw, closing: str | None = None, max_bodies: int = 5, driven: bool = True) -> RandomLoops:
    """Mechanisms of random numbers, and of special ones."""
    if draw(st.booleans()):
        return draw(random_loops(closing, max_bodies, driven))
    return structured_loops(draw(st.integers(0, 10**6)), closing, max_bodies, driven)
