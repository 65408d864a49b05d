"""Evaluation of kernels in dual numbers: as plain Python, in models that are not too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from multibody_cli.kernel import Floats, interpreted
from multibody_cli.kernel.dual_numbers import DUAL_MATHEMATICS, NoRule, duals
from multibody_cli.tree.configuration import displace, normalize

LARGEST = 60
"""Number of coordinates and constraint rows up to which plain Python takes at most seconds."""

DISAGREE = "differences disagree with derivatives by dual numbers"
"""Why a model has differences, although it has derivatives."""

Result = TypeVar("Result")


class NoDerivatives(Exception):
    """Why a model has no derivatives by dual numbers; the caller has differences."""


def with_dual_numbers(size: int, evaluate: Callable[[], Result]) -> Result:
    """Return the result of kernels in dual numbers, for a model of a number of coordinates and rows.

    Raises
    ------
    NoDerivatives
        The model is too large, or the kernels have an operation without a rule, or one that plain Python refuses.
    """
    if size > LARGEST:
        raise NoDerivatives(f"the model has {size} coordinates and constraint rows, more than {LARGEST}")
    try:
        with interpreted(mathematics=DUAL_MATHEMATICS), np.errstate(all="ignore"):
            return evaluate()
    except (NoRule, ArithmeticError) as error:
        raise NoDerivatives(f"dual numbers have no rule for an operation: {error}") from error


def displaced_duals(tree: Any, q: Floats, shifts: Floats) -> Any:
    """Return the coordinates (nq,) as dual numbers, with their derivatives along displacements (nv, k)."""
    moved = duals(q, np.zeros((len(q), shifts.shape[1])))
    displace(tree, moved, duals(np.zeros(len(shifts)), shifts), 1.0)
    normalize(tree, moved)
    return moved
