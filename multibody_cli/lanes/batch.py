"""Runs of one model from many initial states, by lanes.

The result of a run does not depend on other runs, on its lane, or on the number of threads, bit by bit.  It equals that
of a single run to round-off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraint_solver.active_rows import ACTIVATION_TOLERANCE
from multibody_cli.errors import series
from multibody_cli.forces.bushing import ELEMENT as BUSHINGS
from multibody_cli.joints.contract import PartCode
from multibody_cli.kernel import LANES, is_interpreted
from multibody_cli.knots import knots_of
from multibody_cli.lanes.execution import execute, initial_numbers, result_sizes, shared_arrays
from multibody_cli.lanes.forces import Parameters, write_forces
from multibody_cli.lanes.program import Program, have_equal_structure, limits_of
from multibody_cli.lanes.schemes import SCHEMES
from multibody_cli.model import Floats, Integers, Model

MAX_QUATERNIONS = 50
"""Number of quaternions up to which lanes are supported: each is a text of its own, and 40 take 4 s to compile."""

MAX_POINTS, MAX_BUSHINGS = 200, 10
"""Numbers of points of springs and of bushings up to which lanes are supported, for the same reason."""


class Batch(NamedTuple):
    """Results of N runs at K instants.

    Parameters
    ----------
    q, v
        (N, K, nq) and (N, K, nv); NaN at instants that a run did not reach.
    ledger
        (N, K, na) energies of the accounts, J; NaN at the same instants.
    steps
        (N,) how many steps ended valid; -1 if the accelerations at the start are not finite.
    in_lanes
        (N,) whether the run was made in a lane.
    """

    q: Floats
    v: Floats
    ledger: Floats
    steps: Integers
    in_lanes: NDArray[np.bool_]


class LaneRuns(NamedTuple):
    """Runs of one model.

    Parameters
    ----------
    models
        One model for all runs, or one for each; they may differ in the values of masses, lengths, springs and limits.
    integrator
        Name of the integrator.
    q, v
        (N, nq) and (N, nv) initial states.
    step
        Time step, s.
    instants
        (K,) increasing numbers of steps after which q and v are returned; 0 is the start.
    start
        Time of the initial states, s.
    """

    models: Sequence[Model]
    integrator: str
    q: Floats
    v: Floats
    step: float
    instants: Integers
    start: float = 0.0

    @property
    def end(self) -> float:
        """Time of the last instant, s."""
        return self.start + self.step * float(self.instants[-1])


def supported(models: Sequence[Model], integrator: str, end: float = math.inf) -> str | None:
    """Return why lanes do not support models with an integrator up to the time `end`, s; None if they do."""
    for is_given, reason in _obstacles(models[0], integrator, end):
        if is_given:
            return reason
    try:
        sizes = models[0].nq, models[0].nv, len(models[0].names.accounts)
        write_forces([one.system.forces for one in models], *sizes, Parameters())
    except NotImplementedError as refusal:
        return str(refusal)
    return None if have_equal_structure(models) else "models that differ in more than the values of constants"


def _obstacles(model: Model, integrator: str, end: float) -> Iterable[tuple[bool, str]]:
    system, tree = model.system, model.system.tree
    yield is_interpreted(), "kernels that are interpreted"
    yield integrator not in SCHEMES, f"integrators other than {series(list(SCHEMES), 'and')}"
    yield model.nv == 0, "scenes without coordinates"
    yield bool(model.names.events), "events"
    yield len(tree.closures) > 0, "closed loops"
    yield bool(system.contacts), "contacts or dry friction of joints"
    yield system.implicit, "implicit forces"
    yield len(system.commands) > 0 or len(model.controllers) > 0, "controllers"
    yield len(system.motions.rows) > 0, "prescribed motions"
    yield len(tree.markers) > 0 or bool(tree.links["is_director"].any()), "affine bodies"
    has_rows = len(system.rows) > len(limits_of(model)) or len(system.reductions.dependents) > 0
    yield has_rows, "constraints, couplings or body coordinates"
    yield bool((tree.parts["code"] == PartCode.EXPONENTIAL).any()), "rotation vectors as coordinates"
    yield len(tree.quaternions) > MAX_QUATERNIONS, f"more than {MAX_QUATERNIONS} quaternions"
    yield len(system.forces.points.entries) > MAX_POINTS, f"more than {MAX_POINTS} points of springs"
    yield len(system.forces.points.surfaces) > 0, "paths that wrap over surfaces"
    yield len(system.forces.points.motions) > 0, "points of paths that depend on a coordinate"
    yield len(system.forces.spans) > 0, "elastic ropes"
    yield len(system.forces.table(BUSHINGS)) > MAX_BUSHINGS, f"more than {MAX_BUSHINGS} bushings"
    yield any(any(one.pieces) for one in model.joint_maps.values()), "joints with splines"
    bounds = [bound for joint in model.names.joints for domain in joint.domains for bound in domain]
    yield bool(np.isfinite(bounds).any()), "joints with domains"
    knots = knots_of(system.forces.signals, end).at
    yield bool(((knots > 0.0) & (knots <= end)).any()), "functions of time with knots, which divide steps"


def run_in_lanes(runs: LaneRuns, program: Program, jobs: int = 1) -> Batch:
    """Make runs by a compiled program, in groups of `LANES`; those that reach a limit of a joint are left out.

    Parameters
    ----------
    runs, program
        The runs, and the program of their models and integrator.
    jobs
        Number of threads.

    Raises
    ------
    ValueError
        The numbers of steps do not increase from 0 or more.
    """
    instants, count = np.asarray(runs.instants), len(runs.q)
    if len(instants) == 0 or instants[0] < 0 or (np.diff(instants) <= 0).any():
        raise ValueError("the numbers of steps must increase from 0 or more")
    sizes = runs.q.shape[1], runs.v.shape[1], len(runs.models[0].names.accounts)
    q, v, ledger = (np.full((count, len(instants), size), np.nan) for size in sizes)
    batch = Batch(q, v, ledger, np.full(count, -1), np.zeros(count, np.bool_))
    shared = shared_arrays(program, SCHEMES[runs.integrator], runs.models[0], runs.start, runs.step, instants)

    def run_group(first: int) -> None:
        own = slice(first, min(first + LANES, count))
        lanes = np.minimum(np.arange(first, first + LANES), count - 1)  # the last run fills the last group
        arrays = shared | _vectors(program, runs, lanes)
        execute(program, arrays)
        width = own.stop - own.start
        batch.steps[own] = arrays["done"][0, :width].astype(np.int64) - 1
        batch.in_lanes[own] = arrays["clearance"][0, :width] > ACTIVATION_TOLERANCE
        missed = instants > batch.steps[own, None]
        for results, word in ((batch.q, "q_out"), (batch.v, "v_out"), (batch.ledger, "ledger_out")):
            results[own] = arrays[word].reshape(len(instants), results.shape[2], LANES).transpose(2, 0, 1)[:width]
            results[own][missed] = np.nan

    pool = ThreadPoolExecutor(jobs)
    try:
        list((pool.map if jobs > 1 else map)(run_group, range(0, count, LANES)))
    finally:
        pool.shutdown(cancel_futures=True)  # groups that have not begun, if the user interrupts
    return batch


def _vectors(program: Program, runs: LaneRuns, lanes: Integers) -> dict[str, Any]:
    """Return the arrays of vectors of one group: its states, and the constants in which its runs differ."""
    numbers = initial_numbers(program, len(runs.models), runs.q, runs.v, lanes)
    sizes = result_sizes(runs.models[0], len(runs.instants))
    sizes |= {word: values.shape[1] for word, values in numbers.items()}
    whole, first, arrays = aligned(sum(sizes.values())), 0, {}
    for word, size in sizes.items():
        arrays[word] = whole[first : first + size]
        first += size
    for word, values in numbers.items():
        arrays[word][:] = values.T
    return arrays


def aligned(size: int) -> Floats:
    """Allocate zeros (size, LANES), each row in a line of the cache or few."""
    line = 8 * LANES
    raw = np.zeros(line * (size + 1), np.uint8)
    first = -raw.ctypes.data % line
    return raw[first : first + line * size].view(np.float64).reshape(size, LANES)
