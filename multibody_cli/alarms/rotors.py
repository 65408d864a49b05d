"""Bodies that turn freely, and the errors of the rotation that steps cause.

A rotor is a body, or several that fixed joints join, which a free or ball joint connects to the ground and nothing to
other bodies.  Without a torque its kinetic energy of rotation and its angular momentum L are constant.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.kernel import Flags, Floats, Integers, formula, kernel
from multibody_cli.model import KERNEL_BALL, Model
from multibody_cli.spatial.products import cross, dot, transposed_times
from multibody_cli.spatial.rotations import quaternion_product, rotation_of_quaternion
from multibody_cli.spatial.values import Sym3, Vec3

CENTRAL = 1e-12
"""Distance of a center of mass from the pivot, in radii of gyration, up to which gravity does not turn a rotor."""

MOST_SLENDER = 1e4
"""Ratio of the moments of inertia up to which a rotor is turned: the bound of its speed is too large by its root."""

LARGEST_TURN = 0.1
"""Angle, rad, of a step in which a rotor turns without a torque; its error is below 1e-12 of the angle turned."""


class Rotors(NamedTuple):
    """The m rotors of a model.

    Parameters
    ----------
    bodies
        (m,) number of the body with the free or ball joint, in scene order.
    inertia
        (m, 3, 3) inertia about the center of mass, or about the ball joint, in the axes of this body, kg m^2.
    inverse, largest
        (m, 6) upper triangle of its inverse, and (m,) the largest eigenvalue of this, 1/(kg m^2).
    alone
        (m,) whether nothing but gravity acts on the rotor, without a torque about the pivot, and it is not too slender.
    """

    bodies: Integers
    inertia: Floats
    inverse: Floats
    largest: Floats
    alone: Flags


def rotors_of(model: Model) -> Rotors:
    """Return the rotors of a model."""
    system = model.system
    tree, links = system.tree, system.tree.links
    root = np.arange(len(links))  # of the bodies that fixed joints join
    others = np.zeros(len(links), np.bool_)  # roots that are no rotors
    for r in range(1, len(links)):
        link, base = links[r], root[links["parent"][r]]
        if link["nv"] == 0:
            root[r] = base
            continue
        others[base] = True
        is_free = base == 0 and (link["nv"] == 6 or link["joint_kernel"] == KERNEL_BALL)
        columns = slice(link["iv"], link["iv"] + link["nv"])
        others[r] = not is_free or tree.driven[columns].any() or tree.armature[columns].any()
    others[root[links["is_director"] == 1]] = True  # directors of affine bodies
    pivots: dict[int, Floats] = {}  # of bodies on ball joints that are constraints
    rows = 0
    for closure in tree.closures:
        ends = [k if k < len(links) else 0 for k in (closure["parent"], closure["child"])]  # not a marker
        base, r = root[ends]
        driven = tree.driven[closure["iv"] : closure["iv"] + closure["nv"]].any()
        if base == 0 and closure["joint_kernel"] == KERNEL_BALL and r == ends[1] and r not in pivots and not driven:
            pivots[r] = closure["child_origin"]
            rows += closure["last_row"] - closure["first_row"]
        else:
            others[[base, r]] = True
    numbers = {int(row): i for i, row in enumerate(model.names.body_rows)}
    roots = [r for r in numbers if root[r] == r and not others[r] and r > 0]
    nothing_acts = not (system.contacts or len(system.rows) > rows or any(map(len, system.forces.tables)))
    masses = [_mass_of(tree, root, r, pivots.get(r)) for r in roots]
    inertia = np.array([about_pivot for about_pivot, _ in masses]).reshape(-1, 3, 3)
    inverse = np.linalg.pinv(inertia)
    moments = np.linalg.eigvalsh(inertia).reshape(-1, 3)
    compact = moments[:, 2] <= MOST_SLENDER * moments[:, 0]
    central = [is_central or not tree.gravity.any() for _, is_central in masses]
    fields = (
        np.array([numbers[r] for r in roots], np.int64),
        inertia,
        np.ascontiguousarray(inverse[:, *np.triu_indices(3)]),
        np.linalg.eigvalsh(inverse).max(axis=1, initial=0.0),
        np.array(central, np.bool_) & compact & nothing_acts,
    )
    for field in fields:
        field.setflags(write=False)  # checkpoints hold the data that a run changes
    return Rotors(*fields)


def _mass_of(tree: Any, root: Integers, r: int, pivot: Floats | None) -> tuple[Floats, bool]:
    """Return the inertia of a rotor about its pivot, in the axes of the body of row `r`, and whether this is central.

    The pivot, by default, is the ball joint, or the center of mass of a free body.
    """
    links, poses = tree.links, {r: (np.eye(3), np.zeros(3))}
    parts = []  # mass, center of mass and central inertia of each body, in the joint frame of the root
    for k in np.flatnonzero(root == r):
        link = links[k]
        if k != r:
            R, x = poses[int(link["parent"])]
            poses[int(k)] = R @ _matrix(link["frame"]), x + R @ link["origin"]
        R, x = poses[int(k)]
        central = np.zeros((3, 3))
        central[np.triu_indices(3)] = link["central"]
        central += np.triu(central, 1).T
        parts.append((link["mass"], x + R @ link["com"], R @ central @ R.T))
    masses = np.array([mass for mass, _, _ in parts])
    centers = np.array([center for _, center, _ in parts])
    total = masses.sum()
    center = masses @ centers / total if total > 0.0 else np.zeros(3)
    if pivot is None:
        pivot = center if links["nv"][r] == 6 else np.zeros(3)
    inertia = sum(part[2] for part in parts)
    for mass, arm in zip(masses, centers - pivot, strict=True):
        inertia = inertia + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    E = _matrix(tree.frames[r]["frame"])
    is_central = total * np.linalg.norm(center - pivot) ** 2 <= CENTRAL**2 * np.trace(inertia)
    return np.asarray(E.T @ inertia @ E), bool(is_central)


def _matrix(numbers: Floats) -> Floats:
    """Return a matrix that is stored as its columns."""
    return numbers.reshape(3, 3).T


def rotated_by(u: Floats, vectors: Floats) -> Floats:
    """Return vectors (..., 3) that unit quaternions (..., 4) rotate."""
    axis = u[..., 1:]
    found: Floats = vectors + 2.0 * np.cross(axis, np.cross(axis, vectors) + u[..., :1] * vectors)
    return found


@kernel
def turn_freely(rotors: Any, momenta: Any, steps: Any, quaternions: Any, turned: Any, errors: Any) -> None:
    """Turn the rotors that are alone without a torque from instant to instant, and store the angles to those of a run.

    The angular momentum L is constant, and du/dt = u (0, I^-1 R^T L)/2 of the quaternion u is integrated in steps of at
    most `LARGEST_TURN`, with an order at which the energy stays that of its polhode, also beside a separatrix.

    Parameters
    ----------
    rotors
        `Rotors`.
    momenta
        (m, 3) angular momenta, kg m^2/s.
    steps
        (K,) time since the instant before, s.
    quaternions
        (K, n, 4) quaternions of the bodies in the run.
    turned
        (m, 4) quaternions of the rotors, which are updated.
    errors
        (K, m) angles, rad.
    """
    for j in range(len(rotors.bodies)):
        if not rotors.alone[j]:
            continue
        u, L = turned[j], Vec3(momenta[j, 0], momenta[j, 1], momenta[j, 2])
        s = rotors.inverse[j]
        J = Sym3(s[0], s[1], s[2], s[3], s[4], s[5])
        w: Any = u[0]
        v: Any = Vec3(u[1], u[2], u[3])
        body_L = transposed_times(rotation_of_quaternion(w, v.x, v.y, v.z), L)
        fastest = math.sqrt(dot(body_L, J @ body_L) * rotors.largest[j])  # the energy bounds |w|
        for k in range(len(steps)):
            count = 1 + int(steps[k] * fastest / LARGEST_TURN)
            h = steps[k] / count
            for _ in range(count):
                w, v = extrapolated_midpoint(w, v, L, J, h)
                scale = 1.0 / math.sqrt(w * w + dot(v, v))
                w, v = scale * w, scale * v
            run = quaternions[k, rotors.bodies[j]]
            real, vector = quaternion_product(w, -1.0 * v, run[0], Vec3(run[1], run[2], run[3]))
            errors[k, j] = 2.0 * math.atan2(math.sqrt(dot(vector, vector)), abs(real))
        u[0], u[1], u[2], u[3] = w, v.x, v.y, v.z


@formula
def extrapolated_midpoint(w: Any, v: Any, L: Any, J: Any, h: Any) -> Any:
    """The quaternion (w, v) after h s, of order 8: midpoint rules of 2, 4, 6 and 8 substeps, extrapolated (Gragg)."""
    end_w, end_v = 0.0 * w, 0.0 * v
    for n, weight in ((2, -1.0 / 360.0), (4, 16.0 / 45.0), (6, -729.0 / 280.0), (8, 1024.0 / 315.0)):
        part = h / n
        rate_w, rate_v = free_rate(w, v, L, J)
        before_w, before_v, now_w, now_v = w, v, w + part * rate_w, v + part * rate_v
        for _ in range(n - 1):
            rate_w, rate_v = free_rate(now_w, now_v, L, J)
            next_w, next_v = before_w + 2.0 * part * rate_w, before_v + 2.0 * part * rate_v
            before_w, before_v, now_w, now_v = now_w, now_v, next_w, next_v
        end_w, end_v = end_w + weight * now_w, end_v + weight * now_v
    return end_w, end_v


@formula
def free_rate(w: Any, v: Any, L: Any, J: Any) -> Any:
    """Rate of the quaternion (w, v) of a body with the angular momentum L and the inverse inertia J in its axes."""
    rate = J @ transposed_times(rotation_of_quaternion(w, v.x, v.y, v.z), L)
    return -0.5 * dot(v, rate), 0.5 * (w * rate + cross(v, rate))


class Drift:
    """Errors of the rotation of rotors with variational steps.

    The steps follow the Hamiltonian T - h^2/24 e . I^-1 e with e = L x w to the order h^4 (backward error analysis,
    Hairer, Lubich and Wanner 2006, chapter IX): the angular velocity differs by its derivative with respect to L.  The
    part across L moves the rotor along its polhode, whose extent bounds this part of the error; the part along L adds
    up.  For a ball joint off the center of mass, whose steps have other terms too, this is the order of the error.

    Parameters
    ----------
    rotors
        The rotors.
    step
        The step h, s.
    """

    def __init__(self, rotors: Rotors, step: float) -> None:
        m = len(rotors.bodies)
        self._rotors, self._inverse, self._factor = rotors, np.linalg.pinv(rotors.inertia), step**2 / 12.0
        self._inverse.setflags(write=False)
        self._rates, self._errors = np.zeros((2, 2, m))  # across and along L
        self._start, self._polhode = np.zeros((m, 3)), np.zeros(m)

    def add(self, steps: Floats, w: Floats) -> Floats:
        """Add K instants, and return the errors of each (K, m), rad.

        Parameters
        ----------
        steps
            (K,) time since the instant before, s.
        w
            (K, m, 3) angular velocities in the axes of the rotors, rad/s.
        """
        L = np.einsum("mij,kmj->kmi", self._rotors.inertia, w)
        size = np.linalg.norm(L, axis=-1, keepdims=True)
        direction = np.divide(L, size, out=np.zeros_like(L), where=size > 0.0)
        u = self._factor * np.einsum("mij,kmj->kmi", self._inverse, np.cross(L, w))
        rate = np.cross(w, u) + np.einsum("mij,kmj->kmi", self._inverse, np.cross(u, L))
        along = (rate * direction).sum(axis=-1, keepdims=True)
        across = np.linalg.norm(rate - along * direction, axis=-1)
        rates = np.stack((across, np.abs(along[..., 0])), axis=1)
        before = np.concatenate((self._rates[None], rates[:-1]))
        errors = self._errors + np.cumsum(0.5 * steps[:, None, None] * (before + rates), axis=0)
        self._rates, self._errors = rates[-1].copy(), errors[-1].copy()
        if not self._start.any():
            self._start = direction[0].copy()
        sine = np.linalg.norm(np.cross(self._start, direction), axis=-1)
        angles = np.arctan2(sine, (self._start * direction).sum(axis=-1))
        polhodes = np.maximum.accumulate(np.concatenate((self._polhode[None], angles)))[1:]
        self._polhode = polhodes[-1].copy()
        return np.asarray(np.minimum(errors[:, 0], polhodes) + errors[:, 1])
