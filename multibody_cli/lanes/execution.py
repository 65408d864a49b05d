"""Execution of a generated run: the arrays of its arguments, and the call."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from multibody_cli.codegen.placing import BODY_WIDTH
from multibody_cli.kernel import kernel
from multibody_cli.lanes.forces import TIME
from multibody_cli.lanes.program import Program
from multibody_cli.lanes.schemes import Scheme
from multibody_cli.model import Floats, Integers, Model
from multibody_cli.signals import evaluate


def execute(program: Program, arrays: dict[str, Any]) -> None:
    """Run a generated lane program; `arrays` holds its arguments by name."""
    native = _native(program.address, len(program.arguments))
    native(*(arrays[word].__array_interface__["data"][0] for word in program.arguments))


@lru_cache(maxsize=4)
def _native(address: int, arguments: int) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * arguments)(address)


def shared_arrays(
    program: Program, scheme: Scheme, model: Model, start: float, step: float, instants: Integers
) -> dict[str, Any]:
    """Return the arrays that all runs share: settings, signals at all stages, runs of links, table and steps.

    Parameters
    ----------
    program, scheme, model
        The program of a model, and its scheme.
    start, step
        Time of the initial state, and time step, s.
    instants
        (K,) increasing numbers of steps after which the state is stored.
    """
    steps = int(instants[-1]) + 1
    times = start + (np.arange(steps)[:, None] + np.array(scheme.offsets)).ravel() * step
    scaled = [step * x for x in (*scheme.powers, scheme.closing_power)]
    settings = [step, *(step * x for x in scheme.reaches), *scheme.weights, *scaled]
    shared = {
        "settings": np.array(settings),
        "signals": _tabulated(program, model, times),
        "runs": program.runs,
        "steps": np.array([steps, *instants, -1]),
    }
    return shared if program.tables.ndim == 2 else shared | {"table": program.tables}


def _tabulated(program: Program, model: Model, times: Floats) -> Floats:
    """Return the values of the signals of a program at all times."""
    numbers = np.array(program.signals, np.int64)
    values = np.zeros((len(times) if len(numbers) else 0, len(numbers)))
    own = np.flatnonzero(numbers != TIME)
    found = np.zeros((len(values), len(own)))
    tabulate(model.system.forces.signals, numbers[own], times[: len(values)], found)
    values[:, own] = found
    values[:, numbers == TIME] = times[: len(values), None]
    return values


@kernel
def tabulate(signals: Any, numbers: Any, times: Any, values: Any) -> None:
    """Store the values of signals (n,) at times (m,), s, in `values` (m, n)."""
    for i in range(len(times)):
        for k in range(len(numbers)):
            values[i, k], _, _ = evaluate(signals, numbers[k], times[i])


def initial_numbers(program: Program, models: int, q: Floats, v: Floats, lanes: Integers) -> dict[str, Floats]:
    """Return the initial content (n, size) of the arrays of vectors, for the runs `lanes` (n,).

    Parameters
    ----------
    program
        The program.
    models
        Number of models: 1, or one for each run.
    q, v
        (N, nq) and (N, nv) initial states of all runs.
    lanes
        The runs.
    """
    own = lanes if models > 1 else np.zeros_like(lanes)
    numbers = {
        "q": q[lanes],
        "v": v[lanes],
        "memory": np.atleast_2d(program.memory)[own if program.memory.ndim == 2 else np.zeros_like(lanes)],
        "clearance": np.full((len(lanes), 1), np.inf),
        "parameters": program.parameters[own],
        "armature": program.armature[own],
    }
    return numbers | ({"table": program.tables[own]} if program.tables.ndim == 2 else {})


def result_sizes(model: Model, instants: int) -> dict[str, int]:
    """Return the sizes of the arrays of vectors that begin with zeros."""
    nq, nv, na = model.nq, model.nv, len(model.names.accounts)
    rows = len(model.system.tree.links)
    return {"a": nv, "tau": nv, "q_start": nq, "v_start": nv, "u": nv, "u_slope": nv, "v_slope": nv,
            "powers": na, "ledger": na, "q_out": instants * nq, "v_out": instants * nv, "ledger_out": instants * na,
            "done": 1, "bodies": BODY_WIDTH * rows, "bias": 6 * rows}  # fmt: skip
