"""Two bars on journals in a plane, by Newton's and Euler's laws of each bar: an oracle of dry friction in joints.

The plane may lean; across it the bars carry bending moments.  Each journal has eight points, each with a radial and an
axial force and a friction along the circle; nothing here is taken from the program that is tested.
"""

from __future__ import annotations

import numpy as np

LENGTH, MASS, SPIN = 10.0, 10.0, 10.0 * (10.0**2 + 1.0) / 12.0
RADIUS, WIDTH = 0.5, 1.0


def bearing_wrenches():
    """Unit wrenches [moment; force] of the normal forces, two per point, and of the friction forces."""
    normals, frictions = [], []
    for end in (-1, 1):
        for k in range(4):
            out = np.array([np.cos(k * np.pi / 2), np.sin(k * np.pi / 2), 0.0])
            point = RADIUS * out + [0, 0, end * WIDTH / 2]
            around = np.cross([0, 0, 1], out)
            normals += [np.r_[np.cross(point, -out), -out], np.r_[np.cross(point, [0, 0, -end]), [0, 0, -end]]]
            frictions.append(np.r_[np.cross(point, around), around])
    return np.array(normals).T, np.array(frictions).T


def clamp_torques(free, response, limits, torques):
    """Friction torques within limits that stop the motion if possible, by relaxation."""
    for _ in range(10_000):
        before = torques.copy()
        for i in range(2):
            slip = free[i] + response[i] @ torques
            torques[i] = np.clip(torques[i] - slip / response[i, i], -limits[i], limits[i])
        if np.abs(torques - before).max() <= 1e-16 * np.abs(torques).max():
            break
    return torques


def swing(mu, lean, steps, h, g=980.0):
    """Angles (steps, 2) of the two joints from level and rest, by steps of semi-implicit Euler."""
    normals, frictions = bearing_wrenches()
    split = np.linalg.pinv(normals)
    gravity = np.array([0.0, -g * np.sin(lean), -g * np.cos(lean)])
    q, v, torques, path = np.zeros(2), np.zeros(2), np.zeros(2), []
    limits = [np.zeros(8), np.zeros(8)]
    half = LENGTH / 2
    turns = [np.array([1.0, 0.0]), np.array([1.0, 1.0])]
    for _ in range(steps):
        angle, rate = np.cumsum(q), np.cumsum(v)
        along = [np.array([np.cos(a), np.sin(a), 0.0]) for a in angle]
        across = [np.array([-np.sin(a), np.cos(a), 0.0]) for a in angle]
        jacobians = [
            np.array([half * across[0], 0 * across[0]]).T,
            np.array([LENGTH * across[0] + half * across[1], half * across[1]]).T,
        ]
        centripetal = [
            -half * along[0] * rate[0] ** 2,
            -LENGTH * along[0] * rate[0] ** 2 - half * along[1] * rate[1] ** 2,
        ]
        M = sum(MASS * J.T @ J + SPIN * np.outer(w, w) for J, w in zip(jacobians, turns, strict=True))
        f = sum(J.T @ (MASS * (gravity - c)) for J, c in zip(jacobians, centripetal, strict=True))
        response, free = np.linalg.inv(M), v + h * np.linalg.solve(M, f)
        for _ in range(1000):
            torques = clamp_torques(free, response, [RADIUS * one.sum() for one in limits], torques)
            a = (free + response @ torques - v) / h
            forces, moments = [None, None], [None, None]
            beyond_force, beyond_moment = np.zeros(3), np.zeros(3)
            for i in (1, 0):  # of the joint on its bar, over the step
                momentum = MASS * h * (jacobians[i] @ a + centripetal[i] - gravity)
                forces[i] = momentum + beyond_force
                spin = np.array([0.0, 0.0, SPIN * h * (turns[i] @ a)])
                moments[i] = spin + beyond_moment + np.cross(half * along[i], beyond_force)
                moments[i] -= np.cross(-half * along[i], forces[i])
                beyond_force, beyond_moment = forces[i], moments[i]
            found = []
            for i in range(2):
                R, whole = np.array([along[i], across[i], [0, 0, 1]]), RADIUS * limits[i].sum()
                friction = frictions @ (torques[i] / whole * limits[i]) if whole > 0 else np.zeros(6)
                normal_loads = split @ (np.r_[R @ moments[i], R @ forces[i]] - friction)
                found.append(mu * np.abs(normal_loads).reshape(8, 2).sum(axis=1))
            change = max(np.abs(new - old).max() for new, old in zip(found, limits, strict=True))
            limits = found
            if change <= 1e-13 * max(one.max() for one in found):
                break
        v = free + response @ torques
        q = q + h * v
        path.append(q)
    return np.array(path)
