"""Plain staggered projections: friction of joints with every point of a surface as a contact, in maximal coordinates.

Algorithm 7 of Sueda's notes.  Bodies are free in space, and the reaction of a joint is the sum of bilateral normal
impulses alpha at its points.  A hinge has 8 points with a radial normal, an axial normal and a tangent each: 24 rows.
With the rows N and T of all normals and tangents, M the masses, and v the velocities of the bodies,

    N v = 0,   v = v_free + M^-1 (N^T alpha + T^T beta),   |beta_k| <= mu sum |alpha| over the normals of the point k,

and beta_k opposes the slip (T v)_k.  With J at the start of the step, v = J q' and v_free = v_0 + h (M^-1 f - J' q').

Masses, forces and Jacobians are those of `loop_oracle`.  The alternation is that of the measure of `mbsim reproduce`,
whose masses, forces and Jacobians are those of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from loop_oracle import attach
from loops import Run, oracle_of

from multibody_cli.studies.papers.measures.point_friction import NORMALS
from multibody_cli.studies.papers.measures.point_friction import solve as solve_points

Point = tuple[np.ndarray, list[np.ndarray], np.ndarray]
"""Position, normals and tangent in the axes of a joint."""


# --- points -----------------------------------------------------------------------------------------------------------
def points_of_hinge(joint) -> Iterator[Point]:
    """Four points around each end of a cylinder, that may press outward and against the end."""
    surface, z = joint.friction.surface, np.array(joint.axis)
    x = np.eye(3)[np.argmin(np.abs(z))]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    for end in (-1.0, 1.0):
        for outward in (x, y, -x, -y):
            point = surface.radius * outward + 0.5 * end * surface.length * z
            yield point, [outward, end * z], np.cross(z, outward)


def points_of_slider(joint) -> Iterator[Point]:
    """The corners of a box, that may press across the axis."""
    z = np.array(joint.axis)
    for signs in np.ndindex(2, 2, 2):
        point = (np.array(signs) - 0.5) * joint.friction.surface.size
        yield point, [e for e in np.eye(3) if abs(e @ z) < 0.5], z


POINTS = {"revolute": points_of_hinge, "prismatic": points_of_slider}


@dataclass
class PointContacts:
    """Contacts at all points of all joints, joint by joint; row k of T belongs to rows 2 k and 2 k + 1 of N."""

    inverse_mass: np.ndarray
    free: np.ndarray  # velocities of the bodies without impulses
    N: np.ndarray
    T: np.ndarray
    joint: np.ndarray  # number of the joint of each point
    mu: np.ndarray  # coefficient of friction of each point

    @property
    def rows(self) -> np.ndarray:
        return np.vstack([self.N, self.T])

    def problem(self) -> tuple[np.ndarray, np.ndarray]:
        """W and r of the rows N, then T."""
        return self.rows @ self.inverse_mass @ self.rows.T, self.rows @ self.free

    def velocity(self, x: np.ndarray) -> np.ndarray:
        """Velocities of the bodies after the impulses x = (alpha, beta)."""
        return self.free + self.inverse_mass @ (self.rows.T @ x)

    def loads(self, x: np.ndarray) -> np.ndarray:
        """Normal load of each point."""
        return np.abs(x[: len(self.N)]).reshape(-1, NORMALS).sum(axis=1)

    def friction(self, x: np.ndarray) -> np.ndarray:
        """Sum of the friction at the points of each joint."""
        return np.bincount(self.joint, x[len(self.N) :])


def point_contacts(run: Run, h: float) -> PointContacts:
    """Contacts at the present state of a tree, for a step of h."""
    loops, v = oracle_of(run)
    n = 6 * len(loops.bodies)
    (_, G, bias), (M, Q) = loops.rows(v), loops.mass_and_force(v)
    inverse_mass, drift = np.linalg.inv(M[:n, :n]), np.linalg.solve(G[:, :n], -bias)
    N, T, joints, mu = [], [], [], []
    for j, (name, hinge) in enumerate(loops.hinges.items()):
        C, _ = attach(loops.frame(hinge.child, np.zeros((1, loops.size))), hinge.child_origin, 1)
        spin, slide = G[6 * j : 6 * j + 3, :n], C.value.T @ G[6 * j + 3 : 6 * j + 6, :n]
        joint = loops.scene.joints[name]
        for point, normals, tangent in POINTS[joint.type](joint):
            N += [np.cross(point, e) @ spin + e @ slide for e in normals]
            T.append(np.cross(point, tangent) @ spin + tangent @ slide)
            joints.append(j)
            mu.append(joint.friction.coefficient.static)
    free = v[:n] + h * (inverse_mass @ Q[:n] - drift)
    return PointContacts(inverse_mass, free, np.array(N), np.array(T), np.array(joints), np.array(mu))


# --- algorithm 7 ------------------------------------------------------------------------------------------------------
def solve(contacts: PointContacts, tolerance=1e-12, sweeps=20_000) -> np.ndarray:
    """Impulses (alpha, beta) of all points."""
    W, r = contacts.problem()
    x = np.zeros(len(r))
    assert solve_points(W, r, contacts.mu, tolerance, x, sweeps) < sweeps
    return x
