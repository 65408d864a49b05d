"""Exact derivatives of a motion by dual numbers: of positions, rates and accelerations along displacements and inputs.

The kernels of the run are evaluated once as plain Python, with numbers that have their derivatives along all directions
at once.  A direction leaves the constraints to first order where prescribed coordinates or their inputs move: with the
Jacobian G of the equalities and the derivatives of their errors, positions are corrected first, and then rates, as by a
projection onto the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from multibody_cli.constraint_solver.projection import compute_velocity_residuals
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.initial.linearized_motion import Linearization, row_lengths
from multibody_cli.kernel import Floats
from multibody_cli.kernel.dual_numbers import Dual, duals, slopes_of, with_duals
from multibody_cli.methods.contract import Dynamics
from multibody_cli.model import State, System
from multibody_cli.statics.dual_evaluation import NoDerivatives, displaced_duals, with_dual_numbers

RANK = 1e-10
"""Singular value of scaled rows, relative to the largest, below which they are dependent."""


class Numbers(Protocol):
    """An input: operands of the signals of the model, or a part of them, and its places there."""

    @property
    def operands(self) -> Floats:
        """The array."""

    @property
    def places(self) -> tuple[int, ...]:
        """Places of the input in it."""


Outputs = Callable[[Any, Any, Any], Any]
"""The outputs y (r,) of a system, an evaluated state whose numbers may be dual, and its work arrays."""


class Tangents(NamedTuple):
    """Derivatives of positions, rates and accelerations (nv, k), and of outputs (r, k), along k directions.

    Those of outputs are NaN where these have none; `reason` is why, or "".
    """

    q: Floats
    v: Floats
    a: Floats
    y: Floats
    reason: str


def exact_derivatives(
    system: System,
    work: Any,
    dynamics: Dynamics,
    state: State,
    linear: Linearization,
    shifts: Floats,
    changes: Floats,
    inputs: Sequence[Numbers],
    outputs: Outputs,
) -> Tangents:
    """Return the derivatives along displacements (nv, k), changes of rates (nv, k), and unit changes of inputs.

    Raises
    ------
    NoDerivatives
        The motion has no derivatives by dual numbers.
    """
    size = len(state.v) + len(system.rows)
    motion = _DualMotion(system, work, dynamics, state, linear, shifts, changes, inputs)
    found = with_dual_numbers(size, motion.derivatives)
    if not all(np.isfinite(one).all() for one in found):
        raise NoDerivatives("a derivative is not finite")
    try:
        return Tangents(*found, with_dual_numbers(size, lambda: motion.derivatives_of(outputs)), "")
    except NoDerivatives as error:
        return Tangents(*found, np.full((1, found[0].shape[1]), np.nan), str(error))


class _DualMotion:
    """The motion near a state, in dual numbers."""

    def __init__(
        self,
        system: System,
        work: Any,
        dynamics: Dynamics,
        state: State,
        linear: Linearization,
        shifts: Floats,
        changes: Floats,
        inputs: Sequence[Numbers],
    ) -> None:
        count, k = len(inputs), shifts.shape[1]
        self._shifts, self._changes = (np.hstack([one, np.zeros((len(one), count))]) for one in (shifts, changes))
        self._state, self._dynamics, self._linear, self._count = state, dynamics, linear, k + count
        self._system, self._work = with_duals((system, work))
        for j, one in enumerate(inputs):
            numbers = self._system.forces.signals.operand
            first = (_address(one.operands) - _address(system.forces.signals.operand)) // one.operands.itemsize
            for place in one.places:
                numbers[first + place] = Dual(float(one.operands[place]), np.eye(k + count)[k + j])
        rows = system.rows
        self._equality = np.asarray(rows["one_sided"] == 0)
        self._holonomic = self._equality & (rows["holonomic"] == 1)
        self._work.rows["active"][self._equality] = 1
        self._sizes = 1.0 / np.sqrt(np.diag(linear.M))
        self._lengths = row_lengths(linear.G * self._sizes)

    def derivatives(self) -> tuple[Floats, Floats, Floats]:
        """Return the derivatives of q, v and a."""
        system, work, t = self._system, self._work, float(self._state.time[0])
        q, v, a = self._place()
        self._correct(self._shifts, self._holonomic, work.rows["error"])
        q, v, a = self._place()
        compute_velocity_residuals(work, v)
        self._correct(self._changes, self._equality, work.rows["residual"])
        q, v, a = self._start()
        self._dynamics.evaluate(system, work, t, q, v, a, self._state.ledger.astype(object))
        self._evaluated = self._state._replace(q=q, v=v, a=a)
        return self._shifts, slopes_of(v, self._count), slopes_of(a, self._count)

    def derivatives_of(self, outputs: Outputs) -> Floats:
        """Return the derivatives of outputs, after those of the motion."""
        return slopes_of(outputs(self._system, self._evaluated, self._work), self._count)

    def _start(self) -> tuple[Any, Any, Any]:
        """Return q, v and a of the displaced state."""
        v = duals(self._state.v, self._changes)
        q = displaced_duals(self._system.tree, self._state.q, self._shifts)
        return q, v, np.zeros(len(v)).astype(object)

    def _place(self) -> tuple[Any, Any, Any]:
        """Return the same with prescribed coordinates and the kinematics in the work arrays."""
        q, v, a = self._start()
        update_kinematics(self._system, float(self._state.time[0]), q, v, a, self._work)
        return q, v, a

    def _correct(self, changed: Floats, chosen: Any, errors: Any) -> None:
        """Subtract from the free coordinates of directions (nv, k) the part that changes the errors of rows (m,)."""
        if chosen.any():
            G, lengths = self._linear.G[chosen] * self._sizes, self._lengths[chosen, None]
            own = slopes_of(np.asarray(errors)[chosen], self._count) / lengths
            changed[self._linear.free] -= self._sizes[:, None] * np.linalg.lstsq(G / lengths, own, rcond=RANK)[0]


def _address(array: Floats) -> int:
    return int(array.__array_interface__["data"][0])
