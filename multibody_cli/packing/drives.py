"""Drives: prescribed coordinates whose positions, rates and accelerations at an instant are written by a caller."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multibody_cli.joints.motion import POSITION, prescribe
from multibody_cli.kernel import records
from multibody_cli.model import Integers, Records, State, System
from multibody_cli.signals import Operation, with_signals

_AGE = (Operation.TIME, Operation.CONSTANT, Operation.SUBTRACT)

PROGRAM = (
    Operation.CONSTANT, *_AGE, Operation.CONSTANT, *_AGE, Operation.CONSTANT,
    Operation.MULTIPLY, Operation.ADD, Operation.MULTIPLY, Operation.ADD,
)  # fmt: skip
"""q + T (v + T a/2) at the age T = t - t0."""

PLACES, INSTANTS, DEPTH = (0, 4, 8), (2, 6), 5
"""Places of q, v and a/2 in the program, those of t0, and the depth of its stack."""


def with_drives(system: System, state: State, motions: Records, columns: Sequence[int]) -> tuple[System, Integers]:
    """Return a system with drives, and the places (d, 3) of q, v and a/2 of each among the operands of its signals.

    Parameters
    ----------
    system, state
        The system, and the state at whose instant the numbers hold.  They are at first those of the state.
    motions
        Rows of the prescribed motions of the scene, also of those that the system holds.
    columns
        (d,) coordinates in v, each a number with dq/dt = v.
    """
    t, q, v, a = float(state.time[0]), state.q.copy(), state.v.copy(), np.zeros_like(state.v)
    prescribe(system.motions, t, q, v, a)
    chosen = np.array([motions[motions["iv"] == iv][0] for iv in columns], motions.dtype)
    signals, size = system.forces.signals, len(PROGRAM)
    operand = np.zeros((len(chosen), size))
    operand[:, INSTANTS] = t
    operand[:, PLACES] = np.column_stack([q[chosen["iq"]], v[chosen["iv"]], 0.5 * a[chosen["iv"]]])
    first = len(signals.code) + size * np.arange(len(chosen))
    chosen["given"], chosen["signal"] = POSITION, len(signals.first) + np.arange(len(chosen))
    further = signals._replace(
        is_table=np.append(signals.is_table, np.zeros(len(chosen), np.bool_)),
        first=np.append(signals.first, first),
        last=np.append(signals.last, first + size),
        code=np.append(signals.code, np.tile(np.array(PROGRAM, np.int64), len(chosen))),
        operand=np.append(signals.operand, operand),
        stack=np.zeros((max(DEPTH, len(signals.stack)), signals.stack.shape[1])),
    )
    others = system.motions.rows[~np.isin(system.motions.rows["iv"], chosen["iv"])]
    changed = system._replace(motions=system.motions._replace(rows=records(np.concatenate([others, chosen]))))
    return with_signals(changed, further), first[:, None] + np.array(PLACES)
