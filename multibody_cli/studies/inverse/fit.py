"""Inverse kinematics: configurations in which points and bodies are where they were measured.

At each instant, with the measured places x_i and the places p_i of the points, and the rotation vectors e_j between
measured and actual orientations,

    minimize    sum w_i |x_i - p_i(q)|^2 + sum w_j L^2 |e_j(q)|^2 + sum w_k (q_measured - q)_k^2
    subject to  equality constraints = 0,    limits >= 0,

with the length L of the mechanism, also for measured angles.  Gauss-Newton steps in the null space of the constraints
converge to round-off where the residuals are small; each step is the least-squares solution with the linear limits
(Lawson and Hanson's LDP).  The first instant begins at the start of the scene, and each other one where the two before
it lead.

Directions in which the measured quantities do not change to first order are not determined: they keep their start.

Sources: Lu and O'Connor, Bone position estimation from skin marker co-ordinates using global optimisation with joint
constraints, J. Biomech. 32 (1999); Lawson and Hanson, Solving Least Squares Problems (1974), ch. 23; SciPy's `nnls`.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from multibody_cli.errors import RunFailed
from multibody_cli.immutable import Immutable
from multibody_cli.implicit.linearization import compute_frame_jacobians
from multibody_cli.initial.assemble import Assembler
from multibody_cli.kernel import Flags, Floats
from multibody_cli.model import Model, State
from multibody_cli.studies.inverse.equality_rows import EqualityRows
from multibody_cli.studies.inverse.measured_frames import MeasuredFrames, rotation_between
from multibody_cli.studies.prescribed_motion import PrescribedMotion
from multibody_cli.tree.configuration import displace, displacement_between, normalize

UNDETERMINED = 1e-6
"""Effect of a direction on the measured quantities, relative to the largest effect of any, that does not count.

Directions are those of unit displacements, in rad and in lengths of the mechanism.
"""

LARGEST_STEP = 0.5
"""Largest displacement of a step, rad or lengths of the mechanism."""

CONVERGED = 1e-13
NEARLY = 1e-7
"""Displacement of a step that is round-off, and below which steps that no longer become smaller are."""

MOST_STEPS, MOST_SHORTER_STEPS = 200, 10

MISFIT = 1e-6
"""Residual relative to the length of the mechanism above which other starts are tried.

They are tried at the first instant, and where less is determined than at others.
"""

OFFSETS = (0.01, 0.1, 0.3, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0)
"""Largest displacements of the other starts, rad or lengths of the mechanism."""

BETTER = 0.9
"""Largest ratio of the costs of two solutions, of which the second one counts as better."""


class Fit(Immutable, eq=False):
    """Configurations that fit measured quantities.

    Parameters
    ----------
    q
        (T, nq) configurations.
    distances, angles
        (T, f) distances and angles between measured and actual frames, m and rad; NaN where not measured.
    differences
        (T, g) measured less actual coordinates.
    undetermined
        (n,) at how many instants the measured quantities do not determine each coordinate.
    first_undetermined
        The first of these instants, s; NaN without.
    """

    q: Floats
    distances: Floats
    angles: Floats
    differences: Floats
    undetermined: Floats
    first_undetermined: float


class Fitting:
    """Fits the configurations of a model to measured quantities.

    Parameters
    ----------
    model, state
        The model in joint coordinates, and its state at the start, which is changed.
    measured
        The measured quantities.
    """

    def __init__(self, model: Model, state: State, measured: MeasuredFrames) -> None:
        self._model, self._system, self._state, self._measured = model, model.system, state, measured
        self._rows, self._assembler = EqualityRows(model, of_positions=True), Assembler(model, state)
        self._prescribed = PrescribedMotion(model, state)
        tree = model.system.tree
        places = np.full(model.nv, -1)
        places[tree.plain["iv"]] = tree.plain["iq"]
        self._places = places[measured.coordinates]
        self._length = float(tree.length)
        count = len(measured.names)
        self._fewest = model.nv  # coordinates that were not determined, at the instant with the fewest
        weights = np.sqrt(measured.weights)
        self._of_frames = weights[:count]
        self._of_coordinates = weights[count:] * self._length * tree.weights[measured.coordinates]

    def solve(self) -> Fit:
        """Fit all instants.

        Raises
        ------
        RunFailed
            The constraints cannot be satisfied.
        """
        state, times = self._state, self._measured.times
        n = self._rows.n
        found, residuals = list[Floats](), list[tuple[Floats, Floats, Floats]]()
        undetermined, first = np.zeros(n), float("nan")
        for k, time in enumerate(times):
            state.time[0], state.v[:] = time, 0.0
            if k > 1:
                change = self._difference(found[k - 2], found[k - 1])
                displace(self._system.tree, state.q, change, (time - times[k - 1]) / (times[k - 1] - times[k - 2]))
                normalize(self._system.tree, state.q)
            self._prescribed.place(state, float(time))
            loose = self._fit(k)
            if loose.any():
                undetermined += loose
                first = float(time) if np.isnan(first) else first
            found.append(state.q.copy())
            residuals.append(self._errors(k))
        distances, angles, differences = (np.array(part) for part in zip(*residuals, strict=True))
        return Fit(np.array(found), distances, angles, differences, undetermined, first)

    def _fit(self, k: int) -> Flags:
        """Fit instant k; return which coordinates (n,) are not determined."""
        cost, loose = self._descend(k)
        usual, count = self._fewest, int(np.count_nonzero(loose))
        self._fewest = min(usual, count)
        if cost <= (MISFIT * self._length) ** 2 or (k > 0 and count <= usual):
            return loose
        start, best = self._state.q.copy(), self._state.q.copy()
        for number, size in enumerate(OFFSETS):
            self._state.q[:] = start
            offset = np.zeros(self._model.nv)
            change = np.random.default_rng(number).uniform(-size, size, self._rows.n) * self._rows.scales
            offset[self._rows.free] = change[self._rows.free]
            displace(self._system.tree, self._state.q, offset, 1.0)
            normalize(self._system.tree, self._state.q)
            try:
                other, own = self._descend(k)
            except RunFailed:
                continue
            if other < BETTER * cost:
                cost, loose, best = other, own, self._state.q.copy()
        self._state.q[:] = best
        self._assemble()
        return loose

    def _descend(self, k: int) -> tuple[float, Flags]:
        """Step to a minimum; return its cost, and which coordinates (n,) are not determined."""
        state, tree, last = self._state, self._system.tree, np.inf
        self._assemble()
        r, J = self._residuals(k)
        loose: Floats = np.zeros((0, self._rows.n))
        for _ in range(MOST_STEPS):
            step, loose = self._step(r, J)
            size = float(np.abs(step[: self._rows.n] / self._rows.scales).max(initial=0.0))
            if size < CONVERGED or (size < NEARLY and size >= 0.5 * last):
                break
            last, here, cost = size, state.q.copy(), float(r @ r)
            fraction = min(1.0, LARGEST_STEP / size)
            for _ in range(MOST_SHORTER_STEPS):
                state.q[:] = here
                displace(tree, state.q, step, fraction)
                normalize(tree, state.q)
                self._assemble()
                r, J = self._residuals(k)
                if size < NEARLY or r @ r < cost:
                    break
                fraction *= 0.5
            else:
                state.q[:] = here
                r, J = self._residuals(k)
                break
        return float(r @ r), np.asarray((np.abs(loose / self._rows.scales) > UNDETERMINED).any(axis=0))

    def _step(self, r: Floats, J: Floats) -> tuple[Floats, Floats]:
        """Return the step (nv,) from residuals (m,) with the Jacobian J (m, n), and undetermined directions (p, n)."""
        rows = self._rows
        particular, N = rows.particular(rows.errors()), rows.N
        A = np.zeros((max(len(r), N.shape[1]), N.shape[1]))  # rows of 0 complete its null space
        A[: len(r)] = J @ N
        U, S, Vt = np.linalg.svd(A, full_matrices=False)
        count = int(np.count_nonzero(UNDETERMINED * max(S.max(initial=0.0), 1e-300) < S))
        onto = N @ Vt[:count].T / S[:count]
        z = U[: len(r), :count].T @ (r - J @ particular)
        C, values = rows.limits()
        z = z + least_correction(C @ onto, -values - C @ (particular + onto @ z))
        step = np.zeros(self._model.nv)
        step[: rows.n] = particular + onto @ z
        return step, (N @ Vt[count:].T).T

    def _residuals(self, k: int) -> tuple[Floats, Floats]:
        """Return the weighted residuals (m,) of instant k, and the Jacobian (m, n) of the measured quantities."""
        measured, rows = self._measured, self._rows
        rows.update(self._state)
        n, count = rows.n, len(measured.names)
        J = np.zeros((count, 6, n))
        compute_frame_jacobians(self._system, rows.work, measured.frames, J)
        places, turns, differences = self._between(k)
        of_turns = (self._length * self._of_frames)[:, None, None]
        parts = [
            (self._of_frames[:, None] * places, self._of_frames[:, None, None] * J[:, 3:]),
            (of_turns[:, 0] * turns, of_turns * J[:, :3]),
            (self._of_coordinates * differences, self._of_coordinates[:, None] * np.eye(n)[measured.coordinates]),
        ]
        r = np.concatenate([values.ravel() for values, _ in parts])
        whole = np.concatenate([matrix.reshape(-1, n) for _, matrix in parts])
        known = np.isfinite(r)
        whole[:, ~np.isin(np.arange(n), rows.free)] = 0.0
        return r[known], whole[known]

    def _between(self, k: int) -> tuple[Floats, Floats, Floats]:
        """Return measured less actual places (f, 3), rotation vectors (f, 3) and coordinates (g,).

        The rows have been updated.
        """
        measured, bodies = self._measured, self._rows.work.bodies
        count = len(measured.names)
        places, turns = np.full((count, 3), np.nan), np.full((count, 3), np.nan)
        for i, frame in enumerate(measured.frames):
            body = bodies[int(frame["row"])]
            R = np.asarray(body["R"]).reshape(3, 3).T  # stored by columns
            places[i] = measured.positions[k, i] - (body["x"] + R @ frame["origin"])
            if np.isfinite(measured.rotations[k, i]).all():
                turns[i] = rotation_between(measured.rotations[k, i], R @ np.asarray(frame["frame"]).reshape(3, 3).T)
        return places, turns, measured.values[k] - self._state.q[self._places]

    def _errors(self, k: int) -> tuple[Floats, Floats, Floats]:
        """Return distances (f,), of the components that were measured, angles (f,), and differences (g,)."""
        self._rows.update(self._state)
        places, turns, differences = self._between(k)
        known = np.isfinite(places)
        distances = np.sqrt(np.where(known, places, 0.0) ** 2 @ np.ones(3))
        return np.where(known.any(axis=1), distances, np.nan), np.linalg.norm(turns, axis=1), differences

    def _assemble(self) -> None:
        if not self._system.is_constrained:
            return
        found = self._assembler.assemble_positions(np.zeros(self._model.nv, np.bool_))
        if not found.closed:
            row = self._model.names.rows[found.row]
            raise RunFailed(
                f"at t = {self._state.time[0]:.9g} s, {row.section}.{row.element} cannot be satisfied near the "
                f"measured motion: an error of {found.after.value:.3g} m or rad {row.direction} remains"
            )

    def _difference(self, first: Floats, last: Floats) -> Floats:
        """Return the displacement (nv,) from one configuration (nq,) to another; 0 for loop joints."""
        found = displacement_between(self._system.tree, first, last)
        found[self._rows.n :] = 0.0
        return found


def least_correction(G: Floats, h: Floats) -> Floats:
    """Return the least vector u (k,) with G u >= h; 0 if there is none.

    Source: Lawson and Hanson, Solving Least Squares Problems (1974), problem LDP.
    """
    count = G.shape[1]
    if not (h > 0.0).any():
        return np.zeros(count)
    sizes = np.linalg.norm(G, axis=1)
    known = sizes > 1e-12 * max(sizes.max(initial=0.0), 1e-300)
    E = np.vstack([(G[known] / sizes[known, None]).T, h[known] / sizes[known]])
    target = np.zeros(count + 1)
    target[-1] = 1.0
    residual = E @ nnls(E, target)[0] - target
    return -residual[:-1] / residual[-1] if abs(residual[-1]) > 1e-12 else np.zeros(count)
