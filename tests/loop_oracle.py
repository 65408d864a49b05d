"""Dense formulation of closed loops from poses alone: maximal coordinates, the same equations for every joint.

Unknowns are the rates of all bodies (velocity of the body frame's origin, angular velocity; world axes) and of all
joint coordinates, which have no mass.  A joint demands that the frame M of its child lies where its coordinates put
it: the displacement between the two frames, and the skew part of the rotation between them, are 0.  Poses are carried
as `oracle.Jet`s; their first derivatives along unit directions are the Jacobian G, and the second along the motion is
the bias g:

    [ M  -G^T ] [ a      ]   [ Q ]
    [ G    0  ] [ lambda ] = [ -g ]        solved by singular values, in the least-norm sense

Springs, dampers and actuators are entries of Q at the coordinates themselves, and so lambda of a joint is its whole
wrench from parent to child, [moment in the axes of M; force in the world].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from oracle import Jet, across, hat, rotation_of_quaternion, vee

from multibody_cli.joints import JOINTS  # the description of joints, none of their mathematics
from multibody_cli.joints.contract import Part
from multibody_cli.mass import MassProperties
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec import Pose

Signal = Callable[[float], tuple[float, float, float]]
"""A function of time: value, first and second derivative."""


@dataclass
class Hinge:
    """A joint: its bodies, parts and frames, the columns of its coordinates, and the forces on them."""

    parent: str
    child: str
    parts: Sequence[Part]
    origin: tuple[np.ndarray, np.ndarray]
    child_origin: tuple[np.ndarray, np.ndarray]
    q: np.ndarray
    columns: slice
    generalized: np.ndarray  # forces of springs and actuators at this position


@dataclass
class Loops:
    """The bodies and joints of a scene at one position."""

    scene: SceneSpec
    masses: Mapping[str, MassProperties]
    poses: Mapping[str, tuple[np.ndarray, np.ndarray]]  # of body frames: x, R
    coordinates: Mapping[str, np.ndarray]  # q of every joint, numbers of its parts
    driven: Mapping[tuple[str, int], float] = field(default_factory=dict)  # prescribed rates
    extra: Sequence[Callable[[Loops, np.ndarray], tuple[np.ndarray, np.ndarray]]] = ()

    def __post_init__(self):
        self.bodies = list(self.scene.bodies)
        first = 6 * len(self.bodies)
        self.hinges: dict[str, Hinge] = {}
        for name, joint in self.scene.joints.items():
            kind = JOINTS[joint.type]
            parts = kind.parts(joint)
            n = sum(part.nv for part in parts)
            q = np.asarray(self.coordinates[name], float)
            generalized = generalized_force(joint, parts, q, np.asarray(kind.start(joint).rest))
            frames = placement(joint.origin), placement(joint.child_origin)
            self.hinges[name] = Hinge(
                joint.parent, joint.child, parts, *frames, q, slice(first, first + n), generalized
            )
            first += n
        self.size = first

    def body_columns(self, body: str) -> slice:
        k = 6 * self.bodies.index(body)
        return slice(k, k + 6)

    def frame(self, body: str, along: np.ndarray) -> tuple[Jet, Jet]:
        """Rotation and position of a body frame along motions of constant rates (directions, size)."""
        n = len(along)
        if body == "world":
            return constant(np.eye(3), n), constant(np.zeros((3, 1)), n)
        x, R = self.poses[body]
        rates = along[:, self.body_columns(body)]
        spin = hat(rates[:, 3:])
        still = np.zeros((n, 3, 1))
        return Jet(R, spin @ R, spin @ spin @ R), Jet(x[:, None], rates[:, :3, None], still)

    def gap(self, hinge: Hinge, along: np.ndarray) -> Jet:
        """The constraint functions of a joint: skew part of the rotation, displacement; (6, 1)."""
        n = len(along)
        R, x = attach(self.frame(hinge.parent, along), hinge.origin, n)
        iq = iv = 0
        rates = along[:, hinge.columns]
        for part in hinge.parts:
            turn, d = across(part, hinge.q[iq : iq + part.nq], rates[:, iv : iv + part.nv])
            x, R = x + R @ d, R @ turn
            iq, iv = iq + part.nq, iv + part.nv
        C, y = attach(self.frame(hinge.child, along), hinge.child_origin, n)
        turned = transposed(R) @ C
        skew = Jet(*(vee(level)[..., None] for level in (turned.value, turned.first, turned.second)))
        apart = y + x.times(-np.eye(1))
        levels = zip((skew.value, skew.first, skew.second), (apart.value, apart.first, apart.second), strict=True)
        return Jet(*(np.concatenate(pair, axis=-2) for pair in levels))

    def rows(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Error of all joints, their Jacobian, and the bias for the rates v; prescribed coordinates not counted."""
        along = np.vstack([np.eye(self.size), v])
        jets = [self.gap(hinge, along) for hinge in self.hinges.values()]
        error = np.concatenate([jet.value[:, 0] for jet in jets]) if jets else np.zeros(0)
        G = np.vstack([jet.first[:-1, :, 0].T for jet in jets]) if jets else np.zeros((0, self.size))
        bias = np.concatenate([jet.second[-1, :, 0] for jet in jets]) if jets else np.zeros(0)
        return error, G, bias

    def demands(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian and bias of joints and of `extra`."""
        _, G, bias = self.rows(v)
        more = [rows(self, v) for rows in self.extra]
        return np.vstack([G, *(m[0] for m in more)]), np.concatenate([bias, *(m[1] for m in more)])

    def index(self, joint: str, k: int) -> int:
        return self.hinges[joint].columns.start + k

    def consistent(self, v: np.ndarray, moving: Mapping[tuple[str, int], float]) -> tuple[np.ndarray, float]:
        """The rates next to v that all joints allow, with prescribed ones; and the error that is left."""
        G, _ = self.demands(np.zeros(self.size))
        chosen = np.zeros((len(moving), self.size))
        for r, key in enumerate(moving):
            chosen[r, self.index(*key)] = 1.0
        A, b = np.vstack([G, chosen]), np.concatenate([np.zeros(len(G)), list(moving.values())])
        v = v + np.linalg.lstsq(A, b - A @ v, rcond=1e-9)[0]
        v = v + np.linalg.lstsq(A, b - A @ v, rcond=1e-9)[0]
        return v, float(np.abs(A @ v - b).max(initial=0.0))

    def mass_and_force(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M and Q, with Q from gravity, gyroscopic terms and forces on coordinates."""
        M, Q = np.zeros((self.size, self.size)), np.zeros(self.size)
        for name in self.bodies:
            columns, (_, R), m = self.body_columns(name), self.poses[name], self.masses[name]
            r, w = R @ m.com, v[columns][3:]
            inertia = R @ m.inertia @ R.T
            J = np.hstack([np.eye(3), -hat(r)])
            turn = np.hstack([np.zeros((3, 3)), np.eye(3)])
            M[columns, columns] += m.mass * J.T @ J + turn.T @ inertia @ turn
            Q[columns] += m.mass * J.T @ (np.array(self.scene.gravity) - np.cross(w, np.cross(w, r)))
            Q[columns] -= turn.T @ np.cross(w, inertia @ w)
        for name, hinge in self.hinges.items():
            damping = np.array(getattr(self.scene.joints[name], "damping", None) or 0.0)
            Q[hinge.columns] += hinge.generalized - damping * v[hinge.columns]
        return M, Q

    def solve(self, v: np.ndarray, given: Mapping[tuple[str, int], float]) -> Solution:
        """Accelerations and multipliers, where the accelerations of some coordinates are given."""
        G, bias = self.demands(v)
        M, Q = self.mass_and_force(v)
        chosen = np.zeros((len(given), self.size))
        for r, key in enumerate(given):
            chosen[r, self.index(*key)] = 1.0
        A, b = np.vstack([G, chosen]), np.concatenate([-bias, list(given.values())])
        n, m = self.size, len(A)
        K = np.block([[M, -A.T], [A, np.zeros((m, m))]])
        right = np.concatenate([Q, b])
        U, s, Vt = np.linalg.svd(K)
        real = s > 1e-9 * s[0]
        x = Vt[real].T @ ((U[:, real].T @ right) / s[real])
        x = x + Vt[real].T @ ((U[:, real].T @ (right - K @ x)) / s[real])
        kept = s[real]
        return Solution(self, x[:n], x[n:], Vt[~real], float(np.abs(K @ x - right).max()), kept[-1] / s[0],
                        s[~real].max(initial=0.0) / s[0])  # fmt: skip


@dataclass
class Solution:
    """Accelerations (size,) and multipliers; `free` (k, size + m) spans the free directions."""

    loops: Loops
    a: np.ndarray
    multipliers: np.ndarray
    free: np.ndarray
    residual: float
    smallest: float  # singular values that are kept, and that are left out, relative to the largest
    left_out: float

    @property
    def is_sharp(self) -> bool:
        """Whether prescribed motions are consistent and the rank is well determined."""
        undetermined = np.abs(self.free[:, : self.loops.size]).max(initial=0.0)
        clear = self.smallest > 1e-5 and self.left_out < 1e-13
        return bool(self.residual < 1e-8 and clear and undetermined < 1e-9)

    def reaction(self, joint: str) -> tuple[np.ndarray, np.ndarray]:
        """[moment; force] in the axes of M (6,), and which of them the equations determine."""
        k = 6 * list(self.loops.hinges).index(joint)
        hinge = self.loops.hinges[joint]
        C, _ = attach(self.loops.frame(hinge.child, np.zeros((1, self.loops.size))), hinge.child_origin, 1)
        force = np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), C.value.T]])
        open_ = np.abs(force @ self.free[:, self.loops.size + k :][:, :6].T).max(axis=1, initial=0.0)
        return force @ self.multipliers[k : k + 6], open_ < 1e-9


# --- parts --------------------------------------------------------------------------------------------------------
def placement(pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    """Position and rotation matrix."""
    return np.array(pose.position), rotation_of_quaternion(np.array(pose.rotation))


def constant(value: np.ndarray, n: int) -> Jet:
    return Jet(value, np.zeros((n, *value.shape)), np.zeros((n, *value.shape)))


def transposed(A: Jet) -> Jet:
    return Jet(A.value.T, np.swapaxes(A.first, -1, -2), np.swapaxes(A.second, -1, -2))


def attach(frame: tuple[Jet, Jet], place: tuple[np.ndarray, np.ndarray], n: int) -> tuple[Jet, Jet]:
    """A frame that is fixed in another."""
    R, x = frame
    position, rotation = place
    return R.times(rotation), x + R.times(position[:, None])


def generalized_force(joint, parts: Sequence[Part], q: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Springs on plain coordinates, and actuators that are constant."""
    n = sum(part.nv for part in parts)
    force = np.zeros(n)
    stiffness = getattr(joint, "stiffness", None)
    if stiffness:
        assert all(part.nq == part.nv for part in parts)
        force -= np.array(stiffness) * (q - rest)
    if getattr(joint, "force", None):
        force += [signal.constant for signal in joint.force]
    return force


def forward(
    scene: SceneSpec, coordinates: Mapping[str, np.ndarray], inboard: Mapping[str, str], roots: Mapping
) -> dict:
    """Poses of all bodies of a tree; `held` names the joint that holds a body, `roots` are poses of the others."""
    poses = {"world": (np.zeros(3), np.eye(3)), **roots}
    while len(poses) <= len(scene.bodies):
        for body, joint in ((body, scene.joints[name]) for body, name in inboard.items()):
            if joint.parent in poses and body not in poses:
                y, P = poses[joint.parent]
                x, R = pose_of_joint(
                    placement(joint.origin), JOINTS[joint.type].parts(joint), coordinates[inboard[body]]
                )
                p, C = placement(joint.child_origin)
                B = P @ R @ C.T
                poses[body] = y + P @ x - B @ p, B
    return poses


def pose_of_joint(origin, parts, q) -> tuple[np.ndarray, np.ndarray]:
    """M in the parent's frame."""
    x, R = origin
    iq, q = 0, np.asarray(q, float)
    for part in parts:
        turn, d = across(part, q[iq : iq + part.nq], np.zeros((1, part.nv)))
        x, R, iq = x + R @ d.value[:, 0], R @ turn.value, iq + part.nq
    return x, R
