"""Lengths of ropes, from the position at the start."""

from __future__ import annotations

import numpy as np

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.constraints import TABLES, rope
from multibody_cli.model import Floats, Records, System
from multibody_cli.tree.workspace import workspace_for


def ropes_of(system: System) -> Records:
    """Return the spans of all ropes and belts of a system."""
    return system.constraints.tables[TABLES.index(rope.TABLE)]


def mark_ropes(system: System, q: Floats, v: Floats, marked: Records | None) -> None:
    """Write the lengths of ropes and the references of their angles, in place.

    Parameters
    ----------
    system
        The system, without them.
    q, v
        (nq,) and (nv,) the start.
    marked
        The spans of the same scene with them, from which they are copied, or None.
    """
    spans = ropes_of(system)
    if marked is not None:
        spans["made"] = marked["made"]
        for end in "ab":
            spans[end]["reference"] = marked[end]["reference"]
    elif len(spans):
        work, placed = workspace_for(system), q.copy()
        update_kinematics(system, 0.0, placed, v.copy(), np.zeros_like(v), work)
        rope.mark(spans, work.bodies, placed)
