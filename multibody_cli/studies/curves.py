"""Curves of states through a state: the linear system by their differences, and whether an exact one agrees with them.

The derivatives of states x and of their rates along curves are X and Y: A = Y X^-1.  Curves of inputs have the rates
A x + B.  An exact system agrees if for each curve it has the rates of one of its differences, within their errors: a
kink beside the state changes those of large offsets, and those to its side.

Source: Fornberg, Generation of finite difference formulas on arbitrarily spaced grids, Math. Comp. 51 (1988), table 1,
for the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Floats
from multibody_cli.statics.slopes import JUMP, Slope, Slopes, Stencil, allowed_difference, slopes_along

OFFSETS = (1e-1, 1e-2, 1e-3, 1e-4)
"""Offsets of the differences, relative to the motion of the mechanism by its length or by 1 rad, to its rates, and
to inputs, or 1."""

FINER = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
"""Offsets beside kinks as well."""

CENTRAL = Stencil(
    np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0,
    np.array([[-1.0, 4.0, -5.0, 0.0, 5.0, -4.0, 1.0], [0.1, -0.6, 1.5, -2.0, 1.5, -0.6, 0.1]]) / 60.0,
    0,
)
"""Of sixth order.  Samples: less the difference of fourth order; the sixth difference, of which `CERTAIN` times are a
jump of slopes at 0."""

FORWARD = Stencil(
    np.array([0.0, 0.0, 0.0, -11.0, 18.0, -9.0, 2.0]) / 6.0,
    np.array([[0.0, 0.0, 0.0, -1.0, 3.0, -3.0, 1.0]]) / 3.0,
    1,
)
"""Of third order.  The sample is less the difference of second order."""

BACKWARD = Stencil(-FORWARD.slope[::-1], -FORWARD.samples[:, ::-1], -1)


def along(values: Callable[[float], Floats], size: float, nv: int, scale: float, square: float = 0.0) -> Slopes:
    """Return the slopes of a curve, of q, v, accelerations and outputs, (3 nv + r,).

    Parameters
    ----------
    values
        The values at an offset.
    size
        The unit of the offsets.
    nv, scale
        Number of rates, and the size of accelerations along the curve that counts.
    square
        Factor of the errors of positions, 1/s^2, beside those of accelerations.
    """

    def largest(rows: Floats) -> float:
        positions, _, accelerations, _ = np.split(np.abs(rows), np.cumsum(3 * [nv]), axis=1)
        return float(max(accelerations.max(initial=0.0), square * positions.max(initial=0.0)))

    return slopes_along(
        lambda offset: np.array([values(k * offset) for k in range(-3, 4)]),
        (CENTRAL, FORWARD, BACKWARD), [size * one for one in OFFSETS], [size * one for one in FINER],
        largest, scale,
    )  # fmt: skip


class Curves(NamedTuple):
    """Curves of states, and of inputs.

    `of_states` and `of_inputs` have derivatives of q, v, accelerations and outputs, (3 nv + r,).  The rows Q (p, nv)
    and V (k, nv) map deviations of q and v to the states x, and `turning` (nv, nv) the deviation of q to a part of its
    rate.
    """

    of_states: tuple[Slopes, ...]
    of_inputs: tuple[Slopes, ...]
    Q: Floats
    V: Floats
    turning: Floats

    def states(self, slopes: Floats) -> Floats:
        """Return the derivatives (p + k, ...) of the states x from those of curves (3 nv + r, ...)."""
        nv = len(self.turning)
        return np.concatenate([self.Q @ slopes[:nv], self.V @ slopes[nv : 2 * nv]])

    def rates(self, slopes: Floats) -> Floats:
        """Return the derivatives (p + k, ...) of dx/dt."""
        dq, dv, da = np.split(slopes[: 3 * len(self.turning)], 3)
        return np.concatenate([self.Q @ (dv + self.turning @ dq), self.V @ da])

    def errors(self, errors: Floats) -> Floats:
        """Return the errors (p + k, ...) of dx/dt from those of curves."""
        _, ev, ea = np.split(errors[: 3 * len(self.turning)], 3)
        return np.concatenate([np.abs(self.Q) @ ev, np.abs(self.V) @ ea])

    def system(self, size: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return A, B, C, D by the best differences, of `size` derivatives each, and the errors of A."""
        moved, driven = (
            np.reshape([one.best.value for one in own], (len(own), size)).T for own in (self.of_states, self.of_inputs)
        )
        errors = np.reshape([one.best.error for one in self.of_states], (len(self.of_states), size)).T
        X, outputs = self.states(moved), slice(3 * len(self.turning), None)
        A, C = (np.linalg.solve(X.T, one.T).T for one in (self.rates(moved), moved[outputs]))
        x = self.states(driven)  # a drive moves constraints
        errors = self.errors(errors) @ np.abs(np.linalg.inv(X))
        return A, self.rates(driven) - A @ x, C, driven[outputs] - C @ x, errors

    def has_kink(self, one: Slopes, scale: Floats) -> bool:
        """Return whether the rates of the states (p + k,), of sizes `scale` that count, differ to both sides.

        Accelerations that a closed limit prevents are round-off to both sides, and no rates of states.
        """
        right, left = (self.rates(side.value) for side in one.sides)
        return one.has_kink and bool((np.abs(right - left) > JUMP * (np.abs(right) + np.abs(left) + scale)).any())

    def agreeing(self, A: Floats, B: Floats, scale: Floats) -> list[Slope] | None:
        """Return the differences of each curve with which a system agrees; None if there is one without.

        `scale` (p + k,) are the sizes of rates that count.
        """
        largest = np.abs(A).max(axis=1, initial=0.0) + scale
        cases = [(one, np.zeros(len(A)), largest) for one in self.of_states]
        cases += [
            (one, b, np.full(len(A), np.abs(b).max(initial=0.0))) for one, b in zip(self.of_inputs, B.T, strict=True)
        ]
        found = [
            next((one for one in (own.best, *own.all) if self._has_rates(one, A, b, row)), None)
            for own, b, row in cases
        ]
        return [one for one in found if one is not None] if all(found) else None

    def agree_in_outputs(self, C: Floats, D: Floats, scale: Floats) -> bool:
        """Return whether each output has, for each curve, the derivative of one of its differences.

        `scale` (r,) are the sizes of the outputs.
        """
        if not (np.isfinite(C).all() and np.isfinite(D).all()):
            return False
        of_outputs = slice(3 * len(self.turning), None)
        row = np.maximum(np.abs(C).max(axis=1, initial=0.0), np.abs(D).max(axis=1, initial=0.0)) + scale
        fed = [*(np.zeros(len(C)) for _ in self.of_states), *D.T]
        for own, d in zip(self.of_states + self.of_inputs, fed, strict=True):
            agrees = [
                np.abs(one.value[of_outputs] - C @ self.states(one.value) - d)
                <= allowed_difference(one.error[of_outputs], row)
                for one in (own.best, *own.all)
            ]
            if not np.any(agrees, axis=0).all():
                return False
        return True

    def _has_rates(self, one: Slope, A: Floats, b: Floats, row: Floats) -> bool:
        found = self.rates(one.value) - A @ self.states(one.value) - b
        return bool((np.abs(found) <= allowed_difference(self.errors(one.error), row)).all())
