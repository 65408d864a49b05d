"""The Euler steps of Sueda's notes as an independent program: body coordinates, dense matrices, staggered friction.

Each step solves for velocities v1, with v0 and all else at the start of the step, save drives at its end:

    minimize  v1 . (M + h D - h^2 K) v1/2 - v1 . (M v0 + h f)    subject to    G v1 = -b g - dg/dt,    C v1 <= -b c

in reduced coordinates (1.30), (1.80), (1.82), (2.79), and with friction by staggered projections (2.11, Alg. 7 and 8).
Twists and wrenches are in the axes of each body, at its centre of mass.  Units: cm, g, s.  It reproduces the
program of the notes, its slips too, as far as these are options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

Array = np.ndarray

SMALLEST_NORMAL, MAX_ROUNDS = 1e-10, 100


IDENTITY, HERE = np.eye(3), np.eye(4)
"""No rotation, and no displacement."""


# --- motions ----------------------------------------------------------------------------------------------------------
def brac(w: Array) -> Array:
    """The matrix of a cross product."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def exp(w: Array) -> Array:
    """The rotation by the vector w."""
    angle = np.sqrt(w @ w)
    if angle == 0.0:
        return np.eye(3)
    K = brac(w / angle)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def pose(R: Any = IDENTITY, p: Sequence[float] = (0, 0, 0)) -> Array:
    """A pose of rotation and position."""
    E = np.eye(4)
    E[:3, :3], E[:3, 3] = R, p
    return E


def inverse(E: Array) -> Array:
    """The inverse of a pose."""
    return pose(E[:3, :3].T, -E[:3, :3].T @ E[:3, 3])


def Ad(E: Array) -> Array:
    """(1.14)."""
    R, p = E[:3, :3], E[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [brac(p) @ R, R]])


def ad(V: Array) -> Array:
    """(1.19)."""
    return np.block([[brac(V[:3]), np.zeros((3, 3))], [brac(V[3:]), brac(V[:3])]])


def gamma(x: Any) -> Array:
    """(1.12)."""
    return np.hstack([brac(np.asarray(x, float)).T, np.eye(3)])


def box(x: float, y: float, z: float, density: float = 1.0) -> Array:
    """(1.24)."""
    m = density * x * y * z
    return np.array([m / 12 * (y * y + z * z), m / 12 * (z * z + x * x), m / 12 * (x * x + y * y), m, m, m])


def ball(radius: float) -> Array:
    """Inertia of a ball."""
    m = 4 / 3 * np.pi * radius**3
    return np.array([*[0.4 * m * radius**2] * 3, m, m, m])


# --- joints -----------------------------------------------------------------------------------------------------------
class Joint:
    """A body with its joint; `place` is its pose in the joint of the parent, `body` that of the body in it."""

    def __init__(
        self,
        kind: str,
        inertia: Array,
        parent: int = -1,
        place: Array = HERE,
        body: Array = HERE,
        axis: Sequence[float] = (0, 1, 0),
        q: Sequence[float] | None = None,
        shape: Any = None,
        damping: float = 0.0,
    ) -> None:
        self.kind, self.inertia, self.parent, self.place, self.body = kind, inertia, parent, place, body
        self.axis, self.shape, self.damping = np.array(axis, float), shape, damping
        self.count = {"fixed": 0, "revolute": 1, "prismatic": 1, "translational": 3, "spherical": 3, "free": 6}[kind]
        self.q = np.array(q if q is not None else [0.0] * self.count, float)
        self.v = np.zeros(self.count)
        self.contacts = self._contacts()

    def move(self) -> tuple[Array, Array, Array]:
        """Pose, S and (dS/dt) v, all in the joint frame."""
        S, bias = np.zeros((6, self.count)), np.zeros(6)
        if self.kind == "revolute":
            S[:3, 0] = self.axis
            return pose(exp(self.axis * self.q[0])), S, bias
        if self.kind == "prismatic":
            S[3:, 0] = self.axis
            return pose(p=self.axis * self.q[0]), S, bias
        if self.kind == "translational":
            S[3:] = np.eye(3)
            return pose(p=self.q), S, bias
        if self.kind in ("spherical", "free"):
            r, v, step = self.q[:3], self.v[:3], 1e-20
            turn, change = right_jacobian(r), right_jacobian(r + 1j * step * v).imag / step
            S[:3, :3], bias[:3] = turn, change @ v
            if self.kind == "spherical":
                return pose(exp(r)), S, bias
            p, u = self.q[3:], self.v[3:]
            S[3:, :3], S[3:, 3:] = -brac(p) @ turn, np.eye(3)
            bias[3:] = -(brac(u) @ turn + brac(p) @ change) @ v
            return pose(exp(r)) @ pose(p=p), S, bias
        return pose(), S, bias

    def _contacts(self) -> list[tuple[Array, Array, Array]]:
        """Points of the joint with a normal, and tangents (k, 3), in the axes of the body."""
        if self.shape is None:
            return []
        to_body = inverse(self.body)
        if self.kind == "revolute":
            return revolute_contacts(to_body @ pose(along(self.axis)), *self.shape)
        if self.kind == "spherical":
            return [
                contact(
                    to_body,
                    -s * self.shape * np.eye(3)[k],
                    s * np.eye(3)[k],
                    [s * np.eye(3)[(k + 1) % 3], s * np.eye(3)[(k + 2) % 3]],
                )
                for k in range(3)
                for s in (-1.0, 1.0)
            ]
        to_body = to_body @ np.diag([*self.shape, 1.0]) @ pose(along(self.axis))
        corners = [(x, y, z) for z in (-0.5, 0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
        pairs = [
            contact(to_body, (x, y, z), n, [(0, 0, 1)]) for x, y, z in corners for n in ((-2 * x, 0, 0), (0, -2 * y, 0))
        ]
        return [(p, n / np.linalg.norm(n), t / np.linalg.norm(t)) for p, n, t in pairs]


def right_jacobian(r: Array) -> Array:
    """Body-fixed angular velocity by rates of the rotation vector."""
    square, K = (
        r @ r,
        brac(r).astype(r.dtype)
        if np.isrealobj(r)
        else np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]]),
    )
    if abs(square) < 1e-9:
        return np.eye(3) + 0 * K
    angle = np.sqrt(square)
    return np.eye(3) - (1 - np.cos(angle)) / square * K + (angle - np.sin(angle)) / (square * angle) * K @ K


def along(axis: Array) -> Array:
    """The rotation that the program applies to geometry along z."""
    turn = np.cross(axis, (0, 0, 1))
    return exp(turn / np.linalg.norm(turn) * np.arccos(axis[2])) if turn @ turn > 0 else np.eye(3)


def contact(E: Array, point: Any, normal: Any, tangents: Any) -> tuple[Array, Array, Array]:
    """A contact in the axes of the body."""
    return E[:3, :3] @ point + E[:3, 3], E[:3, :3] @ normal, (E[:3, :3] @ np.transpose(tangents)).T


def revolute_contacts(E: Array, radius: float, height: float) -> list[tuple[Array, Array, Array]]:
    """Eight points of a cylinder along z, each with its radial normal, and with its axial one."""
    found = []
    for k in range(4):
        n = np.round([np.cos(k * np.pi / 2), np.sin(k * np.pi / 2), 0.0])
        t = np.array([-n[1], n[0], 0.0])
        for z in (-0.5, 0.5):
            point = radius * n + [0, 0, z * height]
            found += [contact(E, point, -n, [t]), contact(E, point, (0, 0, 1.0), [t])]
    return found


# --- constraints: rows of twists and their values ---------------------------------------------------------------------
class Loop:
    """Two points coincide, but for `free` directions; the error is in world axes, or in those of the body `frame`."""

    def __init__(
        self, a: int, xa: Any, b: int, xb: Any, shape: Any = None, frame: int | None = None, free: Any = (1,)
    ) -> None:
        self.a, self.xa, self.b, self.xb, self.shape, self.frame = (
            a,
            np.array(xa, float),
            b,
            np.array(xb, float),
            shape,
            frame,
        )
        self.directions = np.eye(3)[[k for k in range(3) if k not in free]]

    def rows(self, scene: Scene, t: float) -> tuple[Array, Array, Array]:
        """G, g and dg/dt."""
        D, dx = self.directions, scene.point(self.a, self.xa) - scene.point(self.b, self.xb)
        G = np.zeros((len(D), scene.size))
        if self.frame is not None:
            R = scene.E[self.frame][:3, :3]
            D = D @ R.T
            G[:, scene.rows(self.frame)[:3]] += D @ brac(dx) @ R
        for sign, i, x in ((1, self.a, self.xa), (-1, self.b, self.xb)):
            if i >= 0:
                G[:, scene.rows(i)] += sign * D @ scene.E[i][:3, :3] @ gamma(x)
        return G, D @ dx, np.zeros(len(D))


class Rate:
    """A hinge along y has a rate relative to its parent."""

    def __init__(self, body: int, rate: float) -> None:
        self.body, self.rate = body, rate

    def rows(self, scene: Scene, t: float) -> tuple[Array, Array, Array]:
        """G, g and dg/dt."""
        G, parent, axis = np.zeros((1, scene.size)), scene.joints[self.body].parent, scene.axis_of(self.body)
        G[0, scene.rows(self.body)[:3]] = scene.E[self.body][:3, :3].T @ axis
        G[0, scene.rows(parent)[:3]] = -scene.E[parent][:3, :3].T @ axis
        return G, np.zeros(1), np.array([-self.rate])


class Twist:
    """Components of the twist of a body are given, by angular velocity and by velocity of the centre in world axes."""

    def __init__(self, body: int, components: Sequence[int], value: Callable[[float], tuple[Any, Any]]) -> None:
        self.body, self.components, self.value = body, list(components), value

    def rows(self, scene: Scene, t: float) -> tuple[Array, Array, Array]:
        """G, g and dg/dt."""
        G, (angular, linear) = np.zeros((len(self.components), scene.size)), self.value(t)
        G[:, scene.rows(self.body)] = np.eye(6)[self.components]
        value = np.concatenate([angular, scene.E[self.body][:3, :3].T @ linear])
        return G, np.zeros(len(G)), -value[self.components]


class Drive:
    """A coordinate follows a function of time, with feedback; rows are on coordinates."""

    def __init__(self, joint: int, function: Callable[[float], tuple[float, float]]) -> None:
        self.joint, self.function = joint, function

    def reduced_rows(self, scene: Scene, t: float) -> tuple[Array, Array, Array]:
        """G, g and dg/dt."""
        G, (value, rate) = np.zeros((1, scene.count)), self.function(t)
        G[0, scene.columns(self.joint)] = 1.0
        return G, scene.joints[self.joint].q - value, np.array([-rate])


# --- forces: f, K and D of bodies -------------------------------------------------------------------------------------
class PointForce:
    """A constant force of the world at a point of a body; with its K (1.33) or without."""

    def __init__(self, body: int, point: Any, force: Any, stiff: bool) -> None:
        self.body, self.point, self.force, self.stiff = body, np.array(point, float), np.array(force, float), stiff

    def add(self, scene: Scene, f: Array, K: Array, D: Array) -> None:
        """(1.31), (1.33)."""
        rows, force = scene.rows(self.body), scene.E[self.body][:3, :3].T @ self.force
        f[rows] += gamma(self.point).T @ force
        if self.stiff:
            turned = np.hstack([np.vstack([brac(self.point) @ brac(force), brac(force)]), np.zeros((6, 3))])
            K[np.ix_(rows, rows)] += (turned + turned.T) / 2

    def energy(self, scene: Scene) -> float:
        """0: the program leaves it out."""
        return 0.0


class Spring:
    """A force k (x2 - x1) between points of two bodies."""

    def __init__(self, a: int, xa: Any, b: int, xb: Any, k: float) -> None:
        self.ends, self.k = ((a, np.array(xa, float)), (b, np.array(xb, float))), k

    def add(self, scene: Scene, f: Array, K: Array, D: Array) -> None:
        """(1.35), and (1.37) with the sign of a derivative."""
        dx = scene.point(*self.ends[1]) - scene.point(*self.ends[0])
        both, blocks = np.concatenate([scene.rows(i) for i, _ in self.ends]), []
        for sign, (i, x) in zip((1, -1), self.ends, strict=True):
            force = sign * self.k * scene.E[i][:3, :3].T @ dx
            f[scene.rows(i)] += gamma(x).T @ force
            blocks.append((scene.E[i][:3, :3] @ gamma(x), sign, gamma(x).T @ brac(force)))
        step = np.hstack([-sign * block for block, sign, _ in blocks])
        K_ = np.vstack([sign * self.k * block.T @ step for block, sign, _ in blocks])
        for place, (_, _, turned) in enumerate(blocks):
            K_[6 * place : 6 * place + 6, 6 * place : 6 * place + 3] += turned
        K[np.ix_(both, both)] += (K_ + K_.T) / 2

    def energy(self, scene: Scene) -> float:
        """(1.36)."""
        dx = scene.point(*self.ends[1]) - scene.point(*self.ends[0])
        return 0.5 * self.k * dx @ dx


class StrainSpring:
    """Tension k (l - L)/L + d (dl/dt)/L between points of two bodies: explicit, or with K and D along its line.

    The program adds the damper with the wrong sign to f, and with the right one to D.
    """

    def __init__(
        self, a: int, xa: Any, b: int, xb: Any, k: float, d: float, rest: float, implicit: bool = True
    ) -> None:
        self.ends, self.k, self.d, self.rest, self.implicit = (
            ((a, np.array(xa, float)), (b, np.array(xb, float))),
            k,
            d,
            rest,
            implicit,
        )

    def add(self, scene: Scene, f: Array, K: Array, D: Array) -> None:
        """(1.61) to (1.68)."""
        dx = scene.point(*self.ends[1]) - scene.point(*self.ends[0])
        length, along_line = np.linalg.norm(dx), np.zeros(scene.size)
        for sign, (i, x) in zip((-1, 1), self.ends, strict=True):
            if i >= 0:
                along_line[scene.rows(i)] += sign * gamma(x).T @ scene.E[i][:3, :3].T @ dx / length
        rate = along_line @ np.concatenate(scene.twists)
        f -= (self.k * (length - self.rest) - self.d * rate) / self.rest * along_line
        if self.implicit:
            K -= self.k / self.rest * np.outer(along_line, along_line)
            D += self.d / self.rest * np.outer(along_line, along_line)

    def energy(self, scene: Scene) -> float:
        """The energy of the force; of implicit springs the program has it times 1/L."""
        length = np.linalg.norm(scene.point(*self.ends[1]) - scene.point(*self.ends[0]))
        return 0.5 * self.k * (length - self.rest) ** 2 / self.rest ** (2 if self.implicit else 1)


# --- scenes -----------------------------------------------------------------------------------------------------------
class Scene:
    """Joints with all that acts on them."""

    def __init__(
        self,
        joints: Sequence[Joint],
        h: float = 0.01,
        end: float = 2.0,
        gravity: Any = (0, 0, -980),
        feedback: float = 5.0,
        constraints: Sequence[Any] = (),
        drives: Sequence[Drive] = (),
        forces: Sequence[Any] = (),
        limits: Sequence[tuple[int, float, float]] = (),
        sign_at_upper_limit: float = 1.0,
        floor: float | None = None,
        balls: Sequence[tuple[int, float]] = (),
        mu: tuple[float, float] | None = None,
        reactions_of_previous: bool = False,
        ratio_of_rounds: float = 1e-3,
        has_whole_loads: bool = False,
        regularization: float = 1e-6,
        bias_twice: bool = True,
        floor_before_overlap: bool = False,
    ) -> None:
        self.joints, self.h, self.end, self.gravity, self.feedback = (
            list(joints),
            h,
            end,
            np.array(gravity, float),
            feedback,
        )
        self.constraints, self.drives, self.forces, self.limits = constraints, drives, forces, limits
        self.sign_at_upper_limit, self.floor, self.balls, self.mu = sign_at_upper_limit, floor, balls, mu
        self.reactions_of_previous, self.ratio_of_rounds = reactions_of_previous, ratio_of_rounds
        self.has_whole_loads = has_whole_loads
        self.regularization, self.bias_twice = regularization, bias_twice
        self.floor_before_overlap = floor_before_overlap
        self.size, self.count = 6 * len(joints), sum(joint.count for joint in joints)
        starts = np.cumsum([0, *(joint.count for joint in joints)])
        self._columns = [slice(starts[i], starts[i + 1]) for i in range(len(joints))]
        self.mass = np.concatenate([joint.inertia for joint in joints])
        self.friction = np.zeros(self.size)
        self.update()

    def rows(self, i: int) -> Array:
        """Rows of a body."""
        return np.arange(6 * i, 6 * i + 6)

    def columns(self, i: int) -> slice:
        """Columns of a joint."""
        return self._columns[i]

    def axis_of(self, i: int) -> Array:
        """Axis of a joint, world axes."""
        return self.world_of_joints[i][:3, :3] @ self.joints[i].axis

    def point(self, i: int, x: Array) -> Array:
        """A point of a body in the world; of the world itself for -1."""
        return self.E[i][:3, :3] @ x + self.E[i][:3, 3] if i >= 0 else x

    def update(self) -> None:
        """Poses, twists, J and (dJ/dt) v (2.8) to (2.12)."""
        self.world_of_joints, self.E = [], []
        self.J, self.bias, self.twists = np.zeros((self.size, self.count)), np.zeros(self.size), []
        for i, joint in enumerate(self.joints):
            Q, S, change = joint.move()
            above = self.world_of_joints[joint.parent] if joint.parent >= 0 else np.eye(4)
            self.world_of_joints.append(above @ joint.place @ Q)
            self.E.append(self.world_of_joints[i] @ joint.body)
            rows, to_body = self.rows(i), Ad(inverse(joint.body))
            self.J[rows, self.columns(i)] = to_body @ S
            self.bias[rows] = to_body @ change
            V = to_body @ S @ joint.v
            if joint.parent >= 0:
                from_parent, up = Ad(inverse(self.E[i]) @ self.E[joint.parent]), self.rows(joint.parent)
                self.J[rows] += from_parent @ self.J[up]
                carried = from_parent @ self.twists[joint.parent]
                V = V + carried
                self.bias[rows] += from_parent @ self.bias[up] - ad(V) @ carried
            self.twists.append(V)

    @property
    def v(self) -> Array:
        """Rates of all coordinates."""
        return np.concatenate([joint.v for joint in self.joints])

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy."""
        V = np.concatenate(self.twists)
        potential = -sum(
            joint.inertia[5] * self.gravity @ E[:3, 3] for joint, E in zip(self.joints, self.E, strict=True)
        )
        return 0.5 * V @ (self.mass * V), potential + sum(force.energy(self) for force in self.forces)

    def run(self) -> float:
        """Take all steps; T + V at the end, minus V at the start."""
        start = self.energy()[1]
        for k in range(round(self.end / self.h)):
            self.step((k + 1) * self.h)
        return sum(self.energy()) - start

    # --- steps --------------------------------------------------------------------------------------------------------
    def step(self, t: float) -> None:
        """Take the step that ends at t."""
        h, J, M = self.h, self.J, self.mass
        f, D, K = np.zeros(self.size), np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        for i, joint in enumerate(self.joints):
            rows, V = self.rows(i), self.twists[i]
            f[rows] = ad(V).T @ (joint.inertia * V)
            f[rows[3:]] += joint.inertia[5] * self.E[i][:3, :3].T @ self.gravity
            D[rows, rows] += joint.damping
        for force in self.forces:
            force.add(self, f, K, D)
        momentum = M * (J @ self.v) + h * f
        reduced = J.T @ (momentum - h * M * self.bias)
        A = J.T @ (np.diag(M) + h * D - h * h * K) @ J
        G, value = self._stack(self.constraints, "rows", t)
        Gr, reduced_value = self._stack(self.drives, "reduced_rows", t)
        if self.mu is not None:
            C, c, contacts = self._floor_contacts()
            v = self._with_friction(A, reduced, momentum, G, value, C, c, contacts)
        else:
            C, c = self._limits()
            v, *_ = minimize(A, reduced, np.vstack([G @ J, Gr]), np.concatenate([value, reduced_value]), C, c)
        for i, joint in enumerate(self.joints):
            joint.v = v[self.columns(i)]
            joint.q = joint.q + h * joint.v
        self.update()

    def _stack(self, constraints: Sequence[Any], name: str, t: float) -> tuple[Array, Array]:
        """Rows of constraints, and their velocities (1.82)."""
        found = [getattr(constraint, name)(self, t) for constraint in constraints]
        width = self.count if name == "reduced_rows" else self.size
        G = np.vstack([np.zeros((0, width)), *(row[0] for row in found)])
        return G, np.concatenate([np.zeros(0), *(-row[2] - self.feedback * row[1] for row in found)])

    def _limits(self) -> tuple[Array, Array]:
        """Rows C and bounds c of the limits that are reached."""
        C, c = np.zeros((0, self.count)), []
        for i, lower, upper in self.limits:
            q, row = self.joints[i].q[0], np.zeros((1, self.count))
            if q <= lower or q >= upper:
                row[0, self.columns(i)] = -1.0 if q <= lower else 1.0
                error = lower - q if q <= lower else self.sign_at_upper_limit * (q - upper)
                C, c = np.vstack([C, row]), [*c, -self.feedback * error]
        return C, np.array(c)

    def _floor_contacts(self) -> tuple[Array, Array, list[tuple[int, Array]]]:
        """Rows and bounds of balls in the floor, with their bodies and rows of tangents."""
        C, c, contacts = np.zeros((0, self.size)), [], []
        for i, radius in self.balls:
            depth = radius - (self.E[i][2, 3] - self.floor)
            if depth > 0 or self.floor_before_overlap:
                R, rows, row = self.E[i][:3, :3], self.rows(i), np.zeros((3, self.size))
                row[:, rows] = R @ gamma(-radius * R[2])
                C, c = np.vstack([C, -row[2:]]), [*c, -(self.feedback if depth > 0 else 1 / self.h) * depth]
                contacts.append((i, row[:2]))
        return C, np.array(c), contacts

    # --- friction -----------------------------------------------------------------------------------------------------
    def _with_friction(
        self, A: Array, reduced: Array, momentum: Array, G: Array, value: Array, C: Array, c: Array, contacts: Any
    ) -> Array:
        """Velocities with friction, by rounds of reactions and friction (Alg. 8)."""
        h, J, M, mu = self.h, self.J, self.mass, self.mu
        assert mu is not None
        internal = [(i, joint.parent, joint.contacts) for i, joint in enumerate(self.joints)]
        loops = [loop for loop in self.constraints if isinstance(loop, Loop)]
        last = np.zeros(self.size)
        for _ in range(MAX_ROUNDS):
            free, *_ = minimize(np.diag(M), momentum + h * self.friction, G, value, C, c)
            v, multipliers, impulses = minimize(A, reduced + h * J.T @ self.friction, G @ J, value, C @ J, c)
            reaction = M * (J @ v - free) / h
            change = reaction - last
            ratio = change @ (change / M) / (reaction @ (reaction / M))
            if ratio < self.ratio_of_rounds:
                break
            last = reaction
            tangents, bounds = (
                [row for _, rows in contacts for row in rows],
                [mu[1] * p for p in impulses for _ in range(2)],
            )
            rest = reaction.copy()
            if self.has_whole_loads:
                rest = (M * (J @ v) - momentum - h * self.friction + C.T @ impulses + G.T @ multipliers) / h
            wrenches = {}
            for i in reversed(range(len(self.joints))):
                wrenches[i] = rest[self.rows(i)]
                parent = self.joints[i].parent
                if parent >= 0:
                    receiver = i - 1 if self.reactions_of_previous else parent
                    rest[self.rows(receiver)] += Ad(inverse(self.E[i]) @ self.E[parent]).T @ wrenches[i]
            for i, parent, points in internal:
                self._add_friction(i, parent, points, wrenches[i], mu[0], tangents, bounds)
            for k, loop in enumerate(loops):
                points = revolute_contacts(pose(along(self.joints[loop.a].axis), loop.xa), *loop.shape)
                both = np.concatenate([self.rows(loop.a), self.rows(loop.b)])
                wrench = -(G[2 * k : 2 * k + 2].T @ multipliers[2 * k : 2 * k + 2])[both] / h
                self._add_friction(loop.a, loop.b, points, wrench, mu[0], tangents, bounds)
            kept = np.array(bounds) > SMALLEST_NORMAL
            T, bound = np.array(tangents).reshape(-1, self.size)[kept], np.array(bounds)[kept]
            impulse = project(T, bound, momentum + h * reaction, M)
            self.friction = -T.T @ impulse / h
        whole = reaction if self.bias_twice else reaction + M * self.bias  # (2.119)
        v, *_ = minimize(A, reduced + h * J.T @ (whole + self.friction), G @ J, value, C @ J, c)
        return v

    def _add_friction(
        self, i: int, other: int, points: Any, wrench: Array, mu: float, tangents: list[Array], bounds: list[float]
    ) -> None:
        """Add rows of tangents of a joint of body i with another, and bounds of their impulses."""
        if not points:
            return
        across = inverse(self.E[other]) @ self.E[i] if other >= 0 else None

        def row(direction: Array, point: Array) -> Array:
            found = direction @ gamma(point)
            if across is None:
                return found
            return np.concatenate(
                [found, -(across[:3, :3] @ direction) @ gamma(across[:3, :3] @ point + across[:3, 3])]
            )

        bodies = self.rows(i) if across is None else np.concatenate([self.rows(i), self.rows(other)])
        if across is not None and len(wrench) == 6:
            wrench = np.concatenate([wrench, -Ad(inverse(across)).T @ wrench])
        N = np.array([row(normal, point) for point, normal, _ in points])
        W = N / self.mass[bodies]
        normal_impulses = np.abs(np.linalg.solve(W @ N.T + self.regularization * np.eye(len(N)), W @ wrench * self.h))
        paired = len(points[0][2]) == 1  # radial and axial normals share a tangent
        for k in range(0, len(points), 2 if paired else 1):
            point, _, directions = points[k]
            limit = mu * normal_impulses[k : k + (2 if paired else 1)].sum()
            for direction in directions:
                full = np.zeros(self.size)
                full[bodies] = row(direction, point)
                tangents.append(full)
                bounds.append(limit)


def minimize(A: Array, b: Array, G: Array, value: Array, C: Array, c: Array) -> tuple[Array, Array, Array]:
    """Minimize v.A v/2 - v.b subject to G v = value and C v <= c: v and both multipliers; by trying all active sets."""
    for size in range(len(C) + 1):
        for active in combinations(range(len(C)), size):
            rows, values = np.vstack([G, C[list(active)]]), np.concatenate([value, c[list(active)]])
            n, m = len(A), len(rows)
            solution = np.linalg.solve(np.block([[A, rows.T], [rows, np.zeros((m, m))]]), np.concatenate([b, values]))
            v, impulses = solution[:n], np.zeros(len(C))
            impulses[list(active)] = solution[n + len(G) :]
            if np.all(impulses >= 0.0) and np.all(C @ v <= c + 1e-9):
                return v, solution[n : n + len(G)], impulses
    raise AssertionError("no active set is a solution")


def project(T: Array, bound: Array, momentum: Array, M: Array) -> Array:
    """Impulses b, |b| <= bound, that minimize the energy of (momentum - T' b)."""
    scale = 1.0 / np.sqrt(M)
    return (
        lsq_linear((T * scale).T * bound, momentum * scale, (-1.0, 1.0), method="bvls", tol=1e-14, max_iter=1000).x
        * bound
    )
