"""Runs of one model from many initial states: by lanes where they are supported, else one by one.

The result of a run does not depend on other runs, on its lane, or on the number of threads, bit by bit.  It equals that
of a single run to round-off.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.solver import ACTIVATION_TOLERANCE
from multibody_cli.joints.contract import PartCode
from multibody_cli.kernel import LANES, is_interpreted, kernel
from multibody_cli.lanes.program import Program, compile_program, limits_of
from multibody_cli.lanes.schemes import SCHEMES
from multibody_cli.methods.contract import Method, Status
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.signals import evaluate

WORTHWHILE = 2
"""Number of runs from which lanes are used."""


class Batch(NamedTuple):
    """Results of N runs at K instants.

    Parameters
    ----------
    q, v
        (N, K, nq) and (N, K, nv); NaN at instants that a run did not reach.
    steps
        (N,) how many steps ended valid; -1 if the accelerations at the start are not finite.
    in_lanes
        (N,) whether the run was made in a lane.
    """

    q: Floats
    v: Floats
    steps: Integers
    in_lanes: np.ndarray[tuple[int], np.dtype[np.bool_]]


def supported(model: Model, integrator: str) -> str | None:
    """Return why lanes do not support a model with an integrator; None if they do."""
    return next((reason for is_given, reason in _obstacles(model, integrator) if is_given), None)


def _obstacles(model: Model, integrator: str) -> Iterable[tuple[bool, str]]:
    system, tree = model.system, model.system.tree
    yield is_interpreted(), "kernels are interpreted"
    yield integrator not in SCHEMES, f"the integrator {integrator or 'of the method'} is none of {', '.join(SCHEMES)}"
    yield model.names.variational, "the method is variational"
    yield len(tree.closures) > 0, "closed loops"
    yield bool(system.contacts), "contacts or dry friction of joints"
    yield system.implicit, "implicit forces"
    yield system.forces.acts_on_bodies, "forces on bodies"
    yield len(system.motions.rows) > 0, "prescribed motions"
    yield len(tree.markers) > 0 or bool(tree.links["ignores_gravity"].any()), "affine bodies"
    yield len(system.rows) > len(limits_of(model)), "constraints or couplings"
    yield bool((tree.parts["code"] == PartCode.EXPONENTIAL).any()), "rotation vectors as coordinates"
    yield any(any(one.pieces) for one in model.joint_maps.values()), "joints with splines"
    yield any(domain != (-math.inf, math.inf) for one in model.names.joints for domain in one.domains), "joint domains"


def run_batch(
    models: Sequence[Model],
    integrator: str,
    step: float,
    q: Floats,
    v: Floats,
    steps: Sequence[int],
    method_for: Callable[[int, State], Method],
    *,
    start: float = 0.0,
    jobs: int | None = None,
) -> Batch:
    """Run a model from many initial states.

    Parameters
    ----------
    models
        One model for all runs, or one for each; they may differ in the values of masses, lengths, springs, limits.
    integrator
        Name of the integrator, and its step, s.
    step
        Time step, s.
    q, v
        (N, nq) and (N, nv) initial states.
    steps
        (K,) increasing numbers of steps after which q and v are returned; 0 is the start.
    method_for
        Makes the method of a run, by its number and a state, for runs that lanes do not support.
    start
        Time of the initial states, s.
    jobs
        Number of threads; by default one for each core.
    """
    counts, instants = len(q), np.array(steps, np.int64)
    if len(instants) == 0 or instants[0] < 0 or (np.diff(instants) <= 0).any():
        raise ValueError("the numbers of steps must increase from 0 or more")
    found = Batch(
        np.full((counts, len(instants), models[0].nq), np.nan),
        np.full((counts, len(instants), models[0].nv), np.nan),
        np.full(counts, -1),
        np.zeros(counts, np.bool_),
    )
    if counts >= WORTHWHILE and supported(models[0], integrator) is None:
        _run_lanes(models, integrator, step, q, v, instants, start, jobs or os.cpu_count() or 1, found)
    for k in np.flatnonzero(~found.in_lanes):
        _run_single(models[k % len(models)], step, q[k], v[k], instants, start, lambda state, k=k: method_for(k, state), k, found)
    return found


# --- lanes --------------------------------------------------------------------------------------------------------
@kernel
def tabulate(signals, numbers, times, values):
    """Store the values of signals (n,) at times (m,), s, in `values` (m, n)."""
    for i in range(len(times)):
        for k in range(len(numbers)):
            values[i, k], _, _ = evaluate(signals, numbers[k], times[i])


def _run_lanes(
    models: Sequence[Model],
    integrator: str,
    step: float,
    q: Floats,
    v: Floats,
    instants: Integers,
    start: float,
    jobs: int,
    found: Batch,
) -> None:
    """Run all groups of `LANES` runs; runs that reach a limit are left to single runs."""
    scheme, model = SCHEMES[integrator], models[0]
    program = compile_program(models, scheme)
    count = int(instants[-1]) + 1
    times = start + (np.arange(count)[:, None] + np.array(scheme.offsets)).ravel() * step
    signals = np.zeros((len(times) if program.signals else 0, len(program.signals)))
    tabulate(model.system.forces.signals, np.array(program.signals, np.int64), times[: len(signals)], signals)
    shared = {
        "settings": np.array([step, *(step * x for x in scheme.reaches), *scheme.weights]),
        "signals": signals,
        "runs": program.runs,
        "steps": np.array([count, *instants, -1]),
    }
    native = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(program.arguments))(program.address)

    def run_group(first: int) -> None:
        lanes = np.minimum(np.arange(first, first + LANES), len(q) - 1)
        arrays = shared | _vectors(program, model, len(instants), lanes)
        arrays["q"][:], arrays["v"][:] = q[lanes].T, v[lanes].T
        arrays["clearance"][:] = np.inf
        native(*(arrays[word].ctypes.data if word in arrays else None for word in program.arguments))
        own = slice(first, min(first + LANES, len(q)))
        used = own.stop - own.start
        done = arrays["done"][0, :used].astype(np.int64) - 1
        found.steps[own] = done
        found.in_lanes[own] = arrays["clearance"][0, :used] > ACTIVATION_TOLERANCE
        reached = instants <= done[:, None]
        for results, word in ((found.q, "q_out"), (found.v, "v_out")):
            rows = arrays[word].reshape(len(instants), -1, LANES).transpose(2, 0, 1)[:used]
            results[own][reached] = rows[reached]

    groups = range(0, len(q), LANES)
    with ThreadPoolExecutor(max(1, min(jobs, len(groups)))) as pool:
        for _ in pool.map(run_group, groups):
            pass


def _vectors(program: Program, model: Model, instants: int, lanes: Integers) -> dict[str, Floats]:
    """Allocate the arrays of vectors of one group, with the constants of its runs."""
    nq, nv = model.nq, model.nv
    sizes = {"q": nq, "v": nv, "a": nv, "tau": nv, "q_start": nq, "v_start": nv, "q_slope": nq, "v_slope": nv,
             "q_out": instants * nq, "v_out": instants * nv, "done": 1, "clearance": 1}  # fmt: skip
    arrays = {word: aligned((size, LANES)) for word, size in sizes.items()}
    numbers = {"memory": np.broadcast_to(program.memory, (len(lanes), len(program.memory)))}
    if program.tables.ndim == 2:
        numbers |= {"table": program.tables[lanes], "parameters": program.parameters[lanes]}
    else:
        arrays["table"] = program.tables
    for word, values in numbers.items():
        arrays[word] = aligned((values.shape[1], LANES))
        arrays[word][:] = values.T
    return arrays


def aligned(shape: tuple[int, int]) -> Floats:
    """Allocate zeros whose rows of `LANES` numbers do not cross lines of the cache."""
    line = 8 * LANES
    size = line + 8 * shape[0] * shape[1]
    raw = np.zeros(size, np.uint8)
    first = -raw.ctypes.data % line
    return raw[first : first + size - line].view(np.float64).reshape(shape)


# --- single runs --------------------------------------------------------------------------------------------------
def _run_single(
    model: Model,
    step: float,
    q: Floats,
    v: Floats,
    instants: Integers,
    start: float,
    method_for: Callable[[State], Method],
    k: int,
    found: Batch,
) -> None:
    """Make run k by its method."""
    state = State(
        np.array([start]), q.copy(), v.copy(), np.zeros(model.nv), np.zeros(len(model.names.accounts))
    )
    method = method_for(state)
    report = method.start(state)
    found.steps[k] = report.steps if report.status is Status.OK else -1
    for i, count in enumerate(instants):
        if report.status is not Status.OK:
            return
        report = method.advance(state, start + int(count) * step).after(report)
        found.steps[k] = report.steps
        if report.status is Status.OK:
            found.q[k, i], found.v[k, i] = state.q, state.v
