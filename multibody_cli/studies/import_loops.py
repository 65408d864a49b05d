"""Accelerations of an imported scene with loops beside those of the engine of its file with hard constraints.

The equalities of the file have the Jacobian J, by the engine, at the assembled start of the scene.  With the mass
matrix M and the bias b of the engine, the accelerations are those nearest to the free ones, -M^-1 b, in the metric of
M, among those that keep the equalities (Gauss's principle):

    M a + b = J^T lambda,    J a = -(dJ/dt) v.

They hold where the equalities are hard; the engine itself may let them give.  The rates are those of a start from
rest, and random ones that the equalities allow.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.initial.linearized_motion import ROUND_OFF
from multibody_cli.model import Floats
from multibody_cli.studies.differentiation import SHIFTS, SIXTH
from multibody_cli.studies.imported_scene import ImportedScene, Values, moved

OFFSET = 1e-3
"""Time between the Jacobians of dJ/dt, s; the error of differences of sixth order is that of round-off."""


def differences_of_loops(scene: ImportedScene, random: np.random.Generator) -> dict[str, float]:
    """Return the differences of the accelerations at rest and in motion; nothing if the file has no equalities.

    They are those of sqrt(M_ii) a_i, relative to the largest one of the free accelerations, and of the accelerations.
    """
    if scene.size == 0:
        return {}
    q = scene.start()
    nothing = np.zeros(scene.size)
    M, _ = scene.equations_of_engine(q, scene.values(nothing))
    J = scene.equality_jacobian(q)
    if len(J) == 0:
        return {}
    L = np.asarray(np.linalg.cholesky(M), np.float64)
    speeds = _nearest(L, J, random.uniform(-1.0, 1.0, scene.size), np.zeros(len(J)))
    return {
        "acceleration_at_rest": _difference(scene, q, nothing, L, J),
        "acceleration": _difference(scene, q, speeds, L, J),
    }


def _difference(scene: ImportedScene, q: Values, speeds: Floats, L: Floats, J: Floats) -> float:
    """Return the relative difference of the accelerations at given rates, with M = L L^T."""
    v = scene.values(speeds)
    _, b = scene.equations_of_engine(q, v)
    free = -np.linalg.solve(L.T, np.linalg.solve(L, b))
    nearby = [scene.equality_jacobian(moved(q, v, scene.joints, shift * OFFSET)) @ speeds for shift in SHIFTS]
    a = _nearest(L, J, free, -SIXTH @ np.array(nearby) / OFFSET)
    weights = np.linalg.norm(L, axis=1)  # sqrt(M_ii)
    size = float(np.abs(weights * np.array([free, a])).max())
    return float(np.abs(weights * (scene.accelerations(q, v) - a)).max() / (size or 1.0))


def _nearest(L: Floats, J: Floats, x: Floats, value: Floats) -> Floats:
    """Return the vector with J y = value that is nearest to x in the metric of M = L L^T."""
    scaled = np.linalg.solve(L, J.T).T
    correction = np.linalg.lstsq(scaled, value - J @ x, rcond=ROUND_OFF)[0]
    return np.asarray(x + np.linalg.solve(L.T, correction), np.float64)
