"""Friction of hinges by plain staggered projections (Alg. 7 of Sueda's notes), beside the bilateral ones (Alg. 8).

In Algorithm 7 every point of a joint is a contact, and bodies are free in space.  A hinge has 8 points with a radial
normal, an axial normal and a tangent each: 24 rows.  With the rows N and T of all normals and tangents, M the masses,
and v the velocities of the bodies,

    N v = 0,   v = v_free + M^-1 (N^T alpha + T^T beta),   |beta_k| <= mu sum |alpha| over the normals of the point k,

and beta_k opposes the slip (T v)_k.  With J at the start of the step, v = J q' and v_free = v_0 + h (M^-1 f - J' q').
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from multibody_cli.errors import Refused
from multibody_cli.kernel import Floats, allocate, kernel
from multibody_cli.linalg.free_rows import Scratch
from multibody_cli.linalg.multipliers import SOLVED, solve_multipliers
from multibody_cli.spec.rotations import frame_about
from multibody_cli.studies.bench.measurement import take_steps
from multibody_cli.studies.bench.options import OUTPUT_DISABLED
from multibody_cli.studies.papers.contract import Curve, MeasureResult, Plot, Prepare, SizedSpec
from multibody_cli.studies.papers.measures.least_times import CLOCK, least_times
from multibody_cli.studies.papers.measures.multipliers import mass_of
from multibody_cli.studies.papers.measures.stepping import RunSpec, Steps

NORMALS = 2
"""Normals of a point."""

SWEEPS = 1000
"""Iterations after which a problem counts as not solved."""


class Measure(SizedSpec):
    """Times of a step of a tree of hinges with friction, us, by both algorithms and by the recursion over the tree.

    Plain staggered projections have the time of their two programs alone, without that of their matrix; the others have
    that of whole steps.  Values at the last size: `plain`, `bilateral` and `tree`, s, and `ratio`, of plain to
    bilateral; `unsolved`, the number of problems that plain staggered projections do not solve; `error`, the
    largest relative difference of rates after a step of the others.
    """

    type: Literal["point_friction"]
    before: int = Field(100, ge=0, description="Steps before the measured ones.")
    steps: int = Field(10, ge=1, description="Successive steps that are measured.")
    tolerance: float = Field(1e-10, gt=0.0, description="Relative tolerance of both algorithms.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Time all sizes."""
        rows: list[dict[str, Any]] = []
        blocks: dict[tuple[str, int], Callable[[], float]] = {}
        error, unsolved = 0.0, 0
        for size in self.sizes:
            sized = [*self.set, f"{self.size}={size}"]
            bilateral = [*sized, f"contacts={{method: staggered_projections, tolerance: {self.tolerance}}}"]
            run = RunSpec(label="", scene=self.scene, set=bilateral)
            problems = list(self._problems(Steps(prepare, run), Steps(prepare, run)))
            solved = [one.error for one in problems if one.iterations < SWEEPS]
            error, unsolved = max([error, *solved]), unsolved + len(problems) - len(solved)
            blocks["plain", size] = partial(_mean_time, problems, self.tolerance)
            for name, settings in (("bilateral", bilateral), ("tree", sized)):
                whole = prepare(self.scene, [*OUTPUT_DISABLED, *settings])
                blocks[name, size] = partial(_step_time, whole, self.before + self.steps)
            iterations = float(np.median([one.iterations for one in problems]))
            rows.append({"hinges": size, "rows": len(problems[0].r), "iterations": iterations})
        seconds, disturbance = least_times(blocks, self.rounds)
        for row in rows:
            times = {name: seconds[name, row["hinges"]] for name in ("plain", "bilateral", "tree")}
            row |= {f"{name}, us": 1e6 * time for name, time in times.items()}
            row["plain / bilateral"] = times["plain"] / times["bilateral"]
        values: dict[str, Any] = {name: seconds[name, self.sizes[-1]] for name in ("plain", "bilateral", "tree")}
        values |= {"ratio": rows[-1]["plain / bilateral"], "error": error, "unsolved": unsolved}
        curves = [
            Curve(name, self.sizes, [row[f"{name}, us"] for row in rows]) for name in ("plain", "bilateral", "tree")
        ]
        return MeasureResult(rows, values, Plot("hinges", "time of a step, us", curves, True, True), disturbance)

    def _problems(self, steps: Steps, still: Steps) -> Iterator[Problem]:
        """Yield the problems of successive steps, each from the impulses of the one before.

        `still` never takes a step, so that the forces on its bodies have no friction.
        """
        list(steps.take(self.before))
        last, guess = self.before, np.zeros(0)
        for k in range(last, last + self.steps):
            for kept, present in ((still.state.q, steps.state.q), (still.state.v, steps.state.v)):
                kept[:] = present
            still.method.start(still.state)
            contacts = point_contacts(still)
            W, r = contacts.problem()
            guess = np.zeros(len(r)) if k == last else guess
            x = guess.copy()
            count = solve(W, r, contacts.mu, self.tolerance, x)
            steps.method.advance(steps.state, (k + 1) * steps.step)
            found = contacts.rates(x)
            error = float(np.abs(found - steps.state.v).max() / max(1e-3, np.abs(found).max()))
            yield Problem(W, r, contacts.mu, guess, count, error)
            guess = x


class Problem(NamedTuple):
    """A step by plain staggered projections: W, r, mu and the first guess, iterations, and the error of the rates."""

    W: Floats
    r: Floats
    mu: Floats
    guess: Floats
    iterations: int
    error: float


class PointContacts(NamedTuple):
    """Contacts at all points of all hinges; row k of T belongs to rows 2 k and 2 k + 1 of N."""

    inverse_mass: Floats
    free: Floats  # velocities of the bodies without impulses
    N: Floats
    T: Floats
    mu: Floats  # coefficient of friction of each point
    spins: Floats  # (nv, 6 n) rates of the hinges by the velocities of the bodies

    def problem(self) -> tuple[Floats, Floats]:
        """W and r of the rows N, then T."""
        rows = np.vstack([self.N, self.T])
        return rows @ self.inverse_mass @ rows.T, rows @ self.free

    def rates(self, x: Floats) -> Floats:
        """Rates of the hinges after the impulses x = (alpha, beta)."""
        found: Floats = self.spins @ (self.free + self.inverse_mass @ (np.vstack([self.N, self.T]).T @ x))
        return found


def point_contacts(steps: Steps) -> PointContacts:
    """Contacts at the present state of a tree of hinges.

    Raises
    ------
    Refused
        A joint is not a hinge with friction.
    """
    system, bodies, joints = steps.system, steps.work.bodies, list(steps.joints.values())
    links, patches = system.tree.links, system.contacts.joint_friction.patches
    n = len(links) - 1
    if len(system.tree.closures) or len(patches) != n or any(joint.type != "revolute" for joint in joints):
        raise Refused("plain staggered projections are those of trees of hinges with friction")
    inverse, free = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
    for i in range(1, n + 1):
        own, body = slice(6 * i - 6, 6 * i), bodies[i]
        inverse[own, own] = np.linalg.inv(mass_of(links[i]["mass"], body))
        impulse = steps.step * np.array([*body["t"], *body["f"]])  # of inertia, less that of forces
        free[own] = [*body["w"], *body["v"]] - inverse[own, own] @ impulse
    N, T, mu, spins = [], [], [], np.zeros((n, 6 * n))
    for patch in patches:
        child, parent, joint = int(patch["child"]), int(patch["parent"]), joints[patch["joint"]]
        for point, normals, tangent in _points(np.array(joint.axis), joint.friction.surface):
            N += [_relative_velocity(bodies, child, parent, point, normal) for normal in normals]
            T.append(_relative_velocity(bodies, child, parent, point, tangent))
            mu.append(patch["static_friction"])
        axis = bodies[child]["R"].reshape(3, 3).T @ np.array(joint.axis)
        for body, sign in ((child, 1.0), (parent, -1.0)):
            if body:
                spins[links[child]["iv"], 6 * body - 6 : 6 * body - 3] = sign * axis
    return PointContacts(inverse, free, np.array(N), np.array(T), np.array(mu), spins)


def _relative_velocity(bodies: Any, child: int, parent: int, point: Floats, direction: Floats) -> Floats:
    """Row (6 n,) of the velocity of a child relative to its parent at a point along a direction in its axes."""
    R, x = bodies[child]["R"].reshape(3, 3).T, bodies[child]["x"]
    row, e = np.zeros(6 * len(bodies)), R @ direction
    for body, sign in ((child, 1.0), (parent, -1.0)):
        row[6 * body : 6 * body + 6] = [*(sign * np.cross(x + R @ point - bodies[body]["x"], e)), *(sign * e)]
    return row[6:]


def _points(axis: Floats, surface: Any) -> Iterator[tuple[Floats, list[Floats], Floats]]:
    """Four points around each end of a cylinder: position, outward and axial normal, and tangent."""
    x, y, _ = frame_about(axis).T
    for end in (-1.0, 1.0):
        for outward in (x, y, -x, -y):
            point = surface.radius * outward + 0.5 * end * surface.length * axis
            yield point, [outward, end * axis], np.cross(axis, outward)


def _mean_time(problems: list[Problem], tolerance: float) -> float:
    guesses = [one.guess.copy() for one in problems]
    began = CLOCK()
    for one, x in zip(problems, guesses, strict=True):
        solve(one.W, one.r, one.mu, tolerance, x)
    return (CLOCK() - began) / len(problems)


def _step_time(simulation: Any, count: int) -> float:
    timed = take_steps(simulation, count, clock=CLOCK)
    return timed.seconds / timed.done


# --- algorithm 7 ------------------------------------------------------------------------------------------------------
def solve(W: Floats, r: Floats, mu: Floats, tolerance: float, x: Floats, sweeps: int = SWEEPS) -> int:
    """Solve for the impulses x (m,), whose guess of beta they hold; return the number of iterations."""
    work, scratch = np.zeros((4, len(r))), allocate(Scratch, m=len(r))
    count: int = alternate(W, r, mu, tolerance, sweeps, x, work, scratch)
    return count


@kernel
def alternate(W: Any, r: Any, mu: Any, tolerance: float, sweeps: int, x: Any, work: Any, scratch: Any) -> int:
    """Solve the normal program (2.113) and the friction program (2.114) in turn; return the number of iterations.

    The iteration ends when the change of the friction, in the norm of M^-1, is at most the tolerance relative to the
    friction.  x (m,) is the guess of beta and the result, `work` (4, m).
    """
    m, n = len(r), NORMALS * len(mu)
    right, lower, upper, before = work[0], work[1], work[2], work[3]
    for sweep in range(sweeps):
        for i in range(m):
            before[i], right[i] = x[i], r[i]
        for i in range(n):
            lower[i], upper[i], x[i] = -math.inf, math.inf, math.nan  # no guess: loads of least norm
            for j in range(n, m):
                right[i] += W[i, j] * x[j]
        status = solve_multipliers(W[:n, :n], right[:n], lower[:n], upper[:n], x[:n], scratch)
        for k in range(len(mu)):
            i, limit = n + k, 0.0
            for j in range(NORMALS * k, NORMALS * k + NORMALS):
                limit += mu[k] * abs(x[j])
            lower[i], upper[i], x[i] = -limit, limit, min(max(x[i], -limit), limit)
            for j in range(n):
                right[i] += W[i, j] * x[j]
        status = max(status, solve_multipliers(W[n:, n:], right[n:], lower[n:], upper[n:], x[n:], scratch))
        if status != SOLVED:
            return sweeps
        change = size = 0.0
        for i in range(n, m):
            for j in range(n, m):
                change += (x[i] - before[i]) * W[i, j] * (x[j] - before[j])
                size += x[i] * W[i, j] * x[j]
        if change <= tolerance * tolerance * size:
            return sweep + 1
    return sweeps
