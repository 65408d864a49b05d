"""A run and its derivatives along directions, by the generated run with dual numbers.

The text of the run is that of lanes: its entries are dual numbers, a number with `LANES` derivatives, in place of
vectors.  The derivatives of the time steps are therefore exact to round-off.  Constants and initial states of a model
are functions of a parameter that only packing can evaluate: their derivatives are differences of packed models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.active_rows import ACTIVATION_TOLERANCE
from multibody_cli.kernel import LANES
from multibody_cli.lanes.batch import LaneRuns, supported
from multibody_cli.lanes.execution import execute, initial_numbers, result_sizes, shared_arrays
from multibody_cli.lanes.program import DUAL, Program, compile_program
from multibody_cli.lanes.schemes import SCHEMES
from multibody_cli.model import Floats

WIDTH = 1 + LANES
"""Numbers of an entry in memory: its value, then its derivatives."""


class Unsupported(Exception):
    """A run that the generated code cannot differentiate; the message names the unsupported feature."""


class Derivatives(NamedTuple):
    """A run at K instants, and its derivatives along p directions.

    Parameters
    ----------
    q, v, ledger
        (K, nq), (K, nv) and (K, na) coordinates, velocities and energies of the accounts.
    dq, dv, dledger
        (p, K, nq), (p, K, nv) and (p, K, na) their derivatives.
    """

    q: Floats
    v: Floats
    ledger: Floats
    dq: Floats
    dv: Floats
    dledger: Floats


def differentiate_run(runs: LaneRuns, directions: Floats) -> Derivatives:
    """Make the first run, and differentiate it along combinations of all runs.

    Parameters
    ----------
    runs
        N runs with a model and an initial state each, which differ in the values of constants only.
    directions
        (p, N) weights: along a direction, each constant and each initial coordinate changes by the sum of the weights
        times its values in all runs.  The weights of a direction add up to 0.

    Raises
    ------
    Unsupported
        The generated code does not support the models or the integrator, a limit of a joint acts, points of a
        spring coincide, or a derivative is not finite.
    """
    if (reason := supported(runs.models, runs.integrator, runs.end)) is not None:
        raise Unsupported(reason)
    scheme, model = SCHEMES[runs.integrator], runs.models[0]
    program = compile_program(runs.models, scheme, DUAL)
    shared = shared_arrays(program, scheme, model, runs.start, runs.step, runs.instants)
    parts = []
    for first in range(0, len(directions), LANES):
        arrays = shared | _dual_arrays(program, runs, directions[first : first + LANES])
        execute(program, arrays)
        if arrays["done"][0, 0] - 1 < runs.instants[-1]:
            raise Unsupported("runs that diverge")
        if arrays["clearance"][0, 0] <= ACTIVATION_TOLERANCE:
            raise Unsupported("limits of joints that act, or points of a spring that coincide")
        shape = len(runs.instants), -1, WIDTH
        parts.append([arrays[word].reshape(shape) for word in ("q_out", "v_out", "ledger_out")])
    values = [one[..., 0] for one in parts[0]]
    tangents = [_joined([one[..., 1:] for one in own], len(directions)) for own in zip(*parts, strict=True)]
    if not all(np.isfinite(one).all() for one in tangents):
        raise Unsupported("derivatives that are not finite")
    return Derivatives(*values, *tangents)


def _joined(parts: Sequence[Floats], count: int) -> Floats:
    """Return the derivatives of all directions, (p, K, n)."""
    return np.moveaxis(np.concatenate(parts, axis=-1)[..., :count], -1, 0)


def _dual_arrays(program: Program, runs: LaneRuns, directions: Floats) -> dict[str, Floats]:
    """Return the arrays of dual numbers: the initial ones with their derivatives along at most `LANES` directions."""
    arrays = {word: np.zeros((size, WIDTH)) for word, size in result_sizes(runs.models[0], len(runs.instants)).items()}
    every = np.arange(len(runs.q))
    for word, values in initial_numbers(program, len(runs.models), runs.q, runs.v, every).items():
        arrays[word] = np.zeros((values.shape[1], WIDTH))
        arrays[word][:, 0] = values[0]
        if np.isfinite(values[0]).all():
            arrays[word][:, 1 : 1 + len(directions)] = (directions @ (values - values[0])).T
    return arrays
