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


def without_ropes(system: System) -> System:
    """Return the system in which ropes and belts do not act."""
    number, tables = TABLES.index(rope.TABLE), list(system.constraints.tables)
    tables[number] = tables[number][:0]
    return system._replace(constraints=system.constraints._replace(tables=tuple(tables)))


def mark_ropes(system: System, q: Floats, v: Floats) -> None:
    """Write the lengths of ropes and the references of their angles at the start, in place, once.

    Parameters
    ----------
    system
        The system, without them.
    q, v
        (nq,) and (nv,) the start, in which all else is assembled.
    """
    work, placed = workspace_for(system), q.copy()
    update_kinematics(system, 0.0, placed, v.copy(), np.zeros_like(v), work)
    rope.mark(ropes_of(system), work.bodies, placed)


def copy_marks(system: System, marked: System) -> None:
    """Copy the lengths and references of ropes from the same scene in another layout, in place."""
    spans, others = ropes_of(system), ropes_of(marked)
    spans["made"] = others["made"]
    for end in "ab":
        spans[end]["reference"] = others[end]["reference"]
