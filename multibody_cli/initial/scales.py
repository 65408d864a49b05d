"""Scales of an initial state, which make its tolerances independent of the size and the speed of a mechanism."""

from __future__ import annotations

import numpy as np

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats, Model, State
from multibody_cli.tree.workspace import Work


class Scales(Immutable):
    """Sizes that errors and changes are relative to.

    Parameters
    ----------
    length
        Length of the mechanism, m.
    coordinates
        (nv,) the displacement of each coordinate that turns a body by 1 rad or moves it by the length.
    rows
        (m,) the error of each row by such displacements: 1 rad or the length.
    rate
        Rate of the motion, 1/s: the largest of all rates, relative to their coordinates, and of prescribed velocities,
        relative to their rows, but at least one that displaces nothing noticeably during a run; 1 at rest.
    """

    length: float
    coordinates: Floats
    rows: Floats
    rate: float

    def largest(self, change: Floats) -> float:
        """Return the largest change of coordinates (nv,), relative to them."""
        return float((np.abs(change) / self.coordinates).max(initial=0.0))


def scales_of(model: Model, state: State, work: Work, slowest: float) -> Scales:
    """Compute the scales of a state.

    Parameters
    ----------
    model, state, work
        The model, its state, and work arrays, which receive the kinematics.
    slowest
        Smallest rate, 1/s, that displaces anything noticeably.
    """
    tree, rows = model.system.tree, 1.0 / model.system.rows["weight"]
    update_kinematics(model.system, state.time[0], state.q, state.v, state.a, work)
    prescribed = (np.abs(work.rows["rate"]) / rows).max(initial=0.0)
    rate = float(max((np.abs(state.v) * tree.weights).max(initial=0.0), prescribed, slowest)) or 1.0
    return Scales(tree.length, 1.0 / tree.weights, rows, rate)
