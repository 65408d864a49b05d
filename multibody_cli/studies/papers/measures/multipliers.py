"""Lagrange multipliers of bodies in a tree: the sparse factor and solution beside other solvers.

`blocks` writes the blocks of the Jacobian and of the masses, `factor` writes and eliminates them, and `solve` solves
with the factors; all three are repeated by compiled code.  `dense` factors A = J M^-1 J^T, which is given, by Cholesky,
`sparse_lu` the system of M and J by SuperLU, and `conjugate_gradients` solves A x = b without the matrix; these are
called from Python.

Source: Baraff 1996, section 9.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sparse
from pydantic import Field
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg, splu

from multibody_cli.constraint_solver.constrained_nodes import solve
from multibody_cli.kernel import kernel
from multibody_cli.methods.baraff import assemble, factor_bodies
from multibody_cli.studies.bench.measurement import growth
from multibody_cli.studies.bench.options import OUTPUT_DISABLED
from multibody_cli.studies.bench.timing import long_enough
from multibody_cli.studies.papers.contract import Curve, MeasureResult, Plot, Prepare, SizedSpec
from multibody_cli.studies.papers.measures.least_times import CLOCK, SHORTEST, least_times
from multibody_cli.studies.simulation import PreparedSimulation

MOST_CALLS = 10**6
"""Largest number of calls that are timed together."""

TOLERANCE = 1e-10
"""Relative tolerance of conjugate gradients."""


class Measure(SizedSpec):
    """Times of the parts of a solution for the multipliers, us, over sizes.

    Values: of each part, `PART`, the time at the last size, s, `PART_times`, those at all sizes, and `PART_growth`, the
    exponent of the number of multipliers; `multipliers`, their number at the last size; `error`, the largest relative
    difference of the sparse and the dense multipliers; `steps`, of conjugate gradients.
    """

    type: Literal["multipliers"]
    others: bool = Field(True, description="Whether the other solvers are timed, too; they need spatial bodies.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Time all sizes."""
        systems = {size: self._system(prepare, size) for size in self.sizes}
        found = least_times(
            {(size, part): _block(times) for size, system in systems.items() for part, times in system.parts.items()},
            self.rounds,
        )
        rows: list[dict[str, Any]] = []
        series: dict[str, list[float]] = {}
        error, steps = 0.0, 0
        for size, system in systems.items():
            times = {part: found.seconds[size, part] for part in system.parts}
            rows.append(
                {"size": size, "multipliers": system.count, **{f"{part}, us": 1e6 * t for part, t in times.items()}}
            )
            for part, seconds in times.items():
                series.setdefault(part, []).append(seconds)
            if self.others:
                error, steps = max(error, system.error()), system.steps
        counts = [row["multipliers"] for row in rows]
        values: dict[str, Any] = {"multipliers": counts[-1], "error": error, "steps": steps}
        for part, costs in series.items():
            values |= {part: costs[-1], f"{part}_times": costs}
            fit = growth(counts, costs)
            if fit is not None:
                values[f"{part}_growth"] = fit.exponent
        curves = [Curve(part, counts, [1e6 * cost for cost in costs]) for part, costs in series.items()]
        plot = Plot("multipliers", "time, us", curves, log_x=True, log_y=True)
        return MeasureResult(rows, values, plot, found.disturbance)

    def _system(self, prepare: Prepare, size: int) -> _System:
        overrides = [*OUTPUT_DISABLED, "simulation.method=baraff", *self.set, f"{self.size}={size}"]
        return _System(prepare(self.scene, overrides), self.others)


class _System:
    """The system of one scene, and its solvers: each part runs a number of times."""

    def __init__(self, simulation: PreparedSimulation, others: bool) -> None:
        self._system = simulation.compiled.model.system
        state = simulation.fresh_state()
        method = simulation.method_for(state)
        method.start(state)
        self._a, self._work = state.a, method.work
        self.count = len(self._work.rows)
        self.steps = 0
        self._b = np.ones(self.count)
        self.parts: dict[str, Callable[[int], object]] = {
            "blocks": partial(_repeat_blocks, self._system, self._work),
            "factor": partial(_repeat_factors, self._system, self._work, self._a),
            "solve": partial(_repeat_solutions, self._work.scratch, self._b),
        }
        if others:
            self._add_others()

    def _add_others(self) -> None:
        J, M = _matrices(self._system, self._work)
        self._J, self._inverse = J, sparse.csc_matrix(sparse.block_diag([np.linalg.inv(block) for block in M]))
        self._whole = sparse.csc_matrix(sparse.bmat([[sparse.block_diag(M), -J.T], [-J, None]]))
        self._A = (J @ self._inverse @ J.T).toarray()
        self.parts |= {
            "dense": partial(_repeat, self._solve_dense),
            "sparse_lu": partial(_repeat, self._solve_by_lu),
            "conjugate_gradients": partial(_repeat, self._solve_by_gradients),
        }

    def _solve_dense(self) -> np.ndarray:
        x: np.ndarray = cho_solve(cho_factor(self._A, check_finite=False), self._b, check_finite=False)
        return x

    def _solve_by_lu(self) -> np.ndarray:
        whole = np.concatenate([np.zeros(self._whole.shape[0] - self.count), -self._b])
        x: np.ndarray = splu(self._whole).solve(whole)
        return x[-self.count :]

    def _solve_by_gradients(self) -> np.ndarray:
        self.steps = 0

        def count(_: np.ndarray) -> None:
            self.steps += 1

        def multiply(x: np.ndarray) -> Any:
            return self._J @ (self._inverse @ (self._J.T @ x))

        A = LinearOperator((self.count, self.count), multiply, dtype=float)
        x: np.ndarray = cg(A, self._b, rtol=TOLERANCE, maxiter=20 * self.count, callback=count)[0]
        return x

    def error(self) -> float:
        """Largest difference of the multipliers by the sparse factors and by the others, relative."""
        exact = self._solve_dense()
        others = (self._solve_by_lu(), self._solve_sparse())
        return float(max(np.abs(other - exact).max() for other in others) / np.abs(exact).max())

    def _solve_sparse(self) -> np.ndarray:
        """Return the multipliers of J M^-1 J^T x = 1 by the factors of the tree."""
        factor_bodies(self._system, self._work, self._a)
        _repeat_solutions(self._work.scratch, self._b, 1)
        return np.array(self._work.scratch.multipliers)


@kernel
def _repeat_blocks(system: Any, work: Any, count: int) -> None:
    for _ in range(count):
        assemble(system, work, False)


@kernel
def _repeat_factors(system: Any, work: Any, a: Any, count: int) -> None:
    for _ in range(count):
        factor_bodies(system, work, a)


@kernel
def _repeat_solutions(scratch: Any, b: Any, count: int) -> None:
    """Solve in place, each time from the right-hand side b."""
    for _ in range(count):
        scratch.x.numbers[:] = 0.0
        for i in range(len(b)):
            scratch.multipliers[i] = b[i]
        solve(scratch.kkt, scratch.x, scratch.multipliers)


def _repeat(call: Callable[[], object], count: int) -> None:
    for _ in range(count):
        call()


def _matrices(system: Any, work: Any) -> tuple[Any, list[np.ndarray]]:
    """Return J (m, 6 n), sparse, and the masses of the bodies (6, 6), in world axes about their frames."""
    links, n = system.tree.links, len(system.tree.links) - 1
    J = sparse.lil_matrix((len(work.rows), 6 * n))
    for closure in system.tree.closures:
        frame = work.bodies[closure["loop_frame"]]
        R = frame["R"].reshape(3, 3).T  # from the axes of the joint, in which its constraint axes are
        for r in range(closure["first_row"], closure["last_row"]):
            moment, force = R @ work.constraint_axes[r]["t"], R @ work.constraint_axes[r]["f"]
            for body, sign in ((closure["child"], 1.0), (closure["parent"], -1.0)):
                if body:
                    about = moment + np.cross(frame["x"] - work.bodies[body]["x"], force)
                    J[r, 6 * body - 6 : 6 * body] = sign * np.array([*about, *force])
    return sparse.csr_matrix(J), [mass_of(links[i + 1]["mass"], work.bodies[i + 1]) for i in range(n)]


def mass_of(mass: float, body: Any) -> np.ndarray:
    """Return the mass matrix (6, 6) of a body in world axes about the origin of its joint frame."""
    x, y, z = body["h"]
    coupling = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotational = np.zeros((3, 3))
    rotational[np.triu_indices(3)] = body["J"]
    rotational += np.triu(rotational, 1).T
    return np.block([[rotational, coupling], [coupling.T, mass * np.eye(3)]])


def _block(times: Callable[[int], object]) -> Callable[[], float]:
    """Return a function that repeats a part, and returns the mean time of it, s."""
    times(1)
    count = long_enough(partial(_seconds, times), 1, MOST_CALLS, SHORTEST)
    return lambda: _seconds(times, count) / count


def _seconds(times: Callable[[int], object], count: int) -> float:
    began = CLOCK()
    times(count)
    return CLOCK() - began
