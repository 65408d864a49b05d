"""Branches of a motion that starts at a singular position.

With the rows E of the constraints and of the given coordinates, rates satisfy E v = f, accelerations E a = -h(v).
Where E has fewer independent rows than at positions nearby, rates v = v_0 + N u, with the null space N of E, have
accelerations only if L^T h(v) = 0, with the null space L of E^T: one quadratic equation for each row that is lost.  Its
roots are the rates of the branches that meet there.

Source: Müller, Higher derivatives of the kinematic mapping and some applications, Mech. Mach. Theory 76 (2014).
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Floats, Integers
from multibody_cli.model import State
from multibody_cli.studies.inverse.equality_rows import EqualityRows

LOST = 1e-5
"""Singular value of E, relative to the largest, below which a row is lost; an error of assembly has its root here."""

BENT = 1e-6
"""Second derivative of h, relative to sizes of rows, that is round-off."""

CONVERGED, MOST_STEPS = 1e-9, 100

DIFFERENT = 1e-4
"""Least difference of the rates of two branches, relative to the rates."""

FAR = 10.0
"""Distance of the starts of Newton's method from the nearest rates, relative to these."""


class Branches(NamedTuple):
    """Rates (n,) of branches, the nearest first, and a basis (n, k) of rates beside them that nothing determines."""

    rates: list[Floats]
    loose: Floats


def branches_at(
    rows: EqualityRows, sizes: Floats, state: State, given: Integers, v: Floats, a: Floats, near: Floats
) -> Branches | None:
    """Return the branches that meet at a position; None at a regular one.

    Parameters
    ----------
    rows, sizes
        The equality rows at the state with zero rates of the free coordinates, and the sizes (m,) of all rows.
    state
        The state; its rates are changed.
    given
        (g,) indices in v of the given coordinates.
    v, a
        (g,) their rates and accelerations.
    near
        (n,) rates near to which those of the branches are ordered.
    """
    free, scales, sizes = rows.free, rows.scales[rows.free], sizes[rows.equalities()]
    if not len(sizes):
        return None
    own = rows.scales[given]
    E = np.vstack([rows.G * scales / sizes[:, None], free == given[:, None]])
    U, S, Vt = np.linalg.svd(E)
    rank = int(np.count_nonzero(LOST * S.max(initial=0.0) < S))
    N, L = Vt[rank:].T, U[:, rank:]
    f = np.concatenate([-rows.velocities(state) / sizes, v / own])
    least = Vt[:rank].T @ (U[:, :rank].T @ f / S[:rank])
    start = least + N @ (N.T @ (near[free] / scales))
    size = 1.0

    def bend(u: Floats) -> Floats:
        state.v[free] = scales * (start + size * (N @ u))
        h, _ = rows.accelerations(state)
        return np.asarray(L.T @ np.concatenate([h / sizes, -a / own]) / size**2)

    of_accelerations = np.sqrt(np.abs(bend(np.zeros(N.shape[1]))).max(initial=0.0))
    size = max(float(np.abs(start).max(initial=0.0)), float(of_accelerations)) or 1.0
    axes = [*np.eye(N.shape[1])]
    probes = [*axes, *(one + other for one, other in combinations(axes, 2))]
    middle = bend(np.zeros(N.shape[1]))
    if not any(np.abs(bend(u) + bend(-u) - 2.0 * middle).max(initial=0.0) > BENT for u in probes):
        return None

    def slopes(u: Floats) -> Floats:  # exact, since h is quadratic
        return np.array([0.5 * (bend(u + axis) - bend(u - axis)) for axis in axes]).T

    found = list[Floats]()
    for u in (np.zeros(N.shape[1]), *(sign * FAR * axis for axis in axes for sign in (1.0, -1.0))):
        for _ in range(MOST_STEPS):
            step = np.linalg.lstsq(slopes(u), -bend(u), 1e-12)[0]
            u = u + step
            if np.abs(step).max() < CONVERGED:
                break
        is_root = np.abs(bend(u)).max() < CONVERGED * max(1.0, float(u @ u))
        if is_root and not any(np.abs(u - other).max() < DIFFERENT for other in found):
            found.append(u)
    found.sort(key=lambda u: float(np.linalg.norm(u)))
    generic = slopes(np.full(N.shape[1], np.pi))
    _, values, directions = np.linalg.svd(generic)
    loose = np.zeros((rows.n, N.shape[1]))
    loose[free] = scales[:, None] * (N @ directions.T)
    rates = np.zeros((len(found), rows.n))
    rates[:, free] = [scales * (start + size * (N @ u)) for u in found]
    return Branches([*rates], loose[:, np.count_nonzero(values > BENT) :])
