"""Independent poses of general joints: matrix exponentials, formulas of the papers."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation
from shapes import CAM, CONTROLS, FRAMES, SPHERE, TORUS

BASIS = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6


def matrix_of(frame) -> np.ndarray:
    """A frame of a scene as a 4 x 4 matrix."""
    X = np.eye(4)
    X[:3, 3] = frame["position"]
    rotation = frame.get("rotation", {"rotvec": [0, 0, 0]})
    if "axis" in rotation:
        axis = np.array(rotation["axis"], float)
        X[:3, :3] = Rotation.from_rotvec(rotation["angle"] * axis / np.linalg.norm(axis)).as_matrix()
    else:
        X[:3, :3] = Rotation.from_rotvec(rotation["rotvec"]).as_matrix()
    return X


def spline_frame(frames, q) -> np.ndarray:
    """Sueda, notes (2.67), of a closed spline, with exponentials and logarithms of matrices."""
    C = [matrix_of(frame) for frame in frames]
    k = math.floor(q)
    basis = BASIS @ (q - k) ** np.arange(4)
    X = C[k % len(C)]
    for j in (1, 2, 3):
        one, other = (C[(k + i) % len(C)] for i in (j - 1, j))
        X = X @ expm(np.real(logm(np.linalg.inv(one) @ other)) * basis[j:].sum())
    return X


def spline_surface(q) -> np.ndarray:
    """Sueda, notes (2.71), on the patch that is nearest to the coordinates."""
    places = [min(max(math.floor(one), 0), most) for one, most in zip(q, (1, 0), strict=True)]
    weights = [BASIS @ (one - k) ** np.arange(4) for one, k in zip(q, places, strict=True)]
    i, j = places
    X = np.eye(4)
    for axis, grid in CONTROLS.items():
        value = weights[0] @ np.array(grid)[i : i + 4, j : j + 4] @ weights[1]
        generator = np.zeros((4, 4))
        k = "xyz".index(axis[-1])
        if len(axis) == 1:
            generator[k, 3] = 1.0
        else:
            generator[(k + 2) % 3, (k + 1) % 3], generator[(k + 1) % 3, (k + 2) % 3] = 1.0, -1.0
        X = X @ expm(value * generator)
    return X


def surface_frame(position, u, v) -> np.ndarray:
    """The frame [e1 e2 n p] of a surface, its derivatives by differences in the complex plane."""
    h = 1e-30
    along, across = (np.imag(position(u + du, v + dv)) / h for du, dv in ((1j * h, 0), (0, 1j * h)))
    e = along / np.linalg.norm(along)
    n = np.cross(along, across)
    n /= np.linalg.norm(n)
    X = np.eye(4)
    X[:3] = np.column_stack([e, np.cross(n, e), n, np.real(position(u, v))])
    return X


def torus(u, v):
    """A point of the torus."""
    R, r = TORUS["major_radius"], TORUS["minor_radius"]
    return np.array([(R + r * np.cos(v)) * np.cos(u), (R + r * np.cos(v)) * np.sin(u), r * np.sin(v)])


def sphere(u, v):
    """A point of the sphere."""
    return SPHERE["radius"] * np.array([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)])


def touching(q) -> np.ndarray:
    """A sphere on a torus: F_1 R_z(spin) diag(1, -1, -1, 1) F_2^-1."""
    spin = np.eye(4)
    spin[:3, :3] = Rotation.from_rotvec([0, 0, q[4]]).as_matrix()
    back = np.linalg.inv(surface_frame(sphere, q[2], q[3]))
    return surface_frame(torus, q[0], q[1]) @ spin @ np.diag([1, -1, -1, 1]) @ back


def cam(q) -> np.ndarray:
    """The expressions of the symbolic joint, in Python."""
    theta, s = q
    e, h = CAM["parameters"]["e"], CAM["parameters"]["h"]
    X = np.eye(4)
    X[:3, 3] = (
        e * math.cos(theta) + s,
        h * s**3 / (1 + theta**2),
        math.exp(-s) * math.sqrt(2 + math.sin(theta)),
    )
    turns = ([0, theta / 2 + math.atan2(s, 1 + theta**2), 0], np.array([1, 1, 0]) / math.sqrt(2) * s * math.tanh(theta))
    for turn in turns:
        X[:3, :3] = X[:3, :3] @ Rotation.from_rotvec(turn).as_matrix()
    return X


def helix(q) -> np.ndarray:
    """A helix that rises by 0.3 m a turn."""
    X = np.eye(4)
    X[:3, 3] = 0.5 * math.cos(q[0]), 0.5 * math.sin(q[0]), 0.3 * q[0] / math.tau
    return X


def circle_frame(radius, s) -> np.ndarray:
    """Tangent, normal towards the center and z at a point of a circle."""
    X = np.eye(4)
    X[:2, :2] = [[-math.sin(s), -math.cos(s)], [math.cos(s), -math.sin(s)]]
    X[:2, 3] = radius * math.cos(s), radius * math.sin(s)
    return X


def touching_circles(q) -> np.ndarray:
    """A circle that touches another one with the opposite tangent."""
    turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    turn[:3, :3] = turn[:3, :3] @ Rotation.from_rotvec([q[1], 0, 0]).as_matrix()
    return circle_frame(0.5, q[0]) @ turn @ np.linalg.inv(circle_frame(0.3, q[2]))


def split(pose):
    """Rotation and position."""
    return lambda q: (pose(q)[:3, :3], pose(q)[:3, 3])


FIELDS_OF_SHAPES = {
    "curve": {"curve": {"type": "helix", "radius": 0.5, "pitch": 0.3}},
    "curve_curve": {
        "parent_curve": {"type": "circle", "radius": 0.5},
        "child_curve": {"type": "circle", "radius": 0.3},
        "tangents": "opposite",
    },
    "spline_curve": {"frames": FRAMES, "closed": True},
    "spline_surface": {"controls": CONTROLS, "ends": "extend"},
    "surface_surface": {"parent_surface": TORUS, "child_surface": SPHERE, "fixed": {}},
    "symbolic": CAM,
}
"""The entry of a scene for one joint of each type."""

POSES_OF_SHAPES = {
    "curve": split(helix),
    "curve_curve": split(touching_circles),
    "spline_curve": split(lambda q: spline_frame(FRAMES, q[0])),
    "spline_surface": split(spline_surface),
    "surface_surface": split(touching),
    "symbolic": split(cam),
}
"""And its pose by its coordinates."""
