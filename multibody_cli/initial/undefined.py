"""Elements without a finite value where a run failed: forces and constraints outside the domain of an expression.

A failed step leaves finite coordinates more often than rates.  They are moved by the last valid rates, for twice a
step, until something is not finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.initial.largest_force import Start, elements_with_undefined_force
from multibody_cli.kernel import Floats
from multibody_cli.model import Model, State
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.kinematics import update_tree_kinematics
from multibody_cli.tree.workspace import Work, workspace_for

PARTS = (0.0, 0.5, 1.0, 2.0)
"""Times after the failed state, in steps."""

FARTHEST = 1e6
"""Weighted coordinate above which a run has diverged, and forces overflow."""


class Undefined(NamedTuple):
    """The elements without a finite value at a time, s, by section and name."""

    time: float
    elements: tuple[tuple[str, str], ...]


def find_undefined(model: Model, state: State, v: Floats, step: float) -> Undefined | None:
    """Return the elements without a finite value near a failed state; None without any.

    Parameters
    ----------
    model, state
        The model, and the state that the failed step has left.
    v
        (nv,) the last valid rates.
    step
        Length of a step, s.
    """
    if not (np.isfinite(v).all() and (np.abs(state.q) < FARTHEST).all()):
        return None
    system = model.system
    for part in PARTS:
        moved, work = state.copy(), workspace_for(system)
        moved.time[0] += part * step
        moved.v[:], moved.a[:] = v, 0.0
        displace(system.tree, moved.q, moved.v, part * step)
        normalize(system.tree, moved.q)
        update = update_kinematics if system.is_constrained else update_tree_kinematics  # compiled for the run
        update(system, moved.time[0], moved.q, moved.v, moved.a, work)
        found = dict.fromkeys(
            [*_constraints(model, work), *elements_with_undefined_force(model, Start(moved, work.bodies))]
        )
        if found:
            return Undefined(float(moved.time[0]), tuple(found))
    return None


def _constraints(model: Model, work: Work) -> Iterator[tuple[str, str]]:
    """Yield the elements with a row that is not finite."""
    for name, row in zip(model.names.rows, work.rows, strict=True):
        if not np.isfinite([row["error"], row["rate"], row["bias"]]).all():
            yield name.section, name.element
