"""Work arrays of a step with contacts, and what does not change about them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.contacts.work import ContactWork, contact_work_for
from multibody_cli.dynamics.contact_rows import PER_CONTACT, TERMS
from multibody_cli.dynamics.free_rows import scratch_for as solver_for
from multibody_cli.dynamics.friction.problem import scratch_for
from multibody_cli.kernel import records
from multibody_cli.model import Contacts, Floats, Integers, Records


class Touch(NamedTuple):
    """Work arrays for c contacts and e other rows; m = e + 3 c."""

    found: ContactWork
    number: Integers  # (1,) contacts of this step
    overflows: Integers  # (1,) steps in which there were more than fit
    unsolved: Integers  # (1,) steps whose impulses did not converge
    sweeps: Integers  # (1,) most sweeps of any step since this was last asked for
    residual: Floats  # (1,) largest residual of these
    weight: Floats  # (1,) 1 / h while contacts push as the last step says, for output; else 0
    rows: Records  # (3 c,)
    terms: Records
    before: Floats  # (3 c,) velocities of the rows before the step
    after: Floats  # (3 c,) and after it
    called: Integers  # (e,) other rows that take part
    W: Floats  # (m, m)
    r: Floats  # (m,)
    x: Floats  # (m,) impulses
    mu: Floats  # (c,)
    lower: Floats  # (m,)
    upper: Floats
    free: Floats  # (n,) accelerations without contacts between calls; scratch in a step
    solver: Any  # of penetrations
    friction: Any  # of impulses


def touch_for(contacts: Contacts, others: int, n: int) -> Touch:
    """Allocate the work arrays of a model with n velocities and `others` rows that may take part."""
    room = contacts.room
    m = others + PER_CONTACT * room
    return Touch(
        found=contact_work_for(contacts.geometry, max(16, 2 * room), room),
        number=np.zeros(1, np.int64),
        overflows=np.zeros(1, np.int64),
        unsolved=np.zeros(1, np.int64),
        sweeps=np.zeros(1, np.int64),
        residual=np.zeros(1),
        weight=np.zeros(1),
        rows=records(np.zeros(PER_CONTACT * room, ROW)),
        terms=records(np.zeros(PER_CONTACT * TERMS * room, TERM)),
        before=np.zeros(PER_CONTACT * room),
        after=np.zeros(PER_CONTACT * room),
        called=np.zeros(others, np.int64),
        W=np.zeros((m, m)),
        r=np.zeros(m),
        x=np.zeros(m),
        mu=np.zeros(room),
        lower=np.zeros(m),
        upper=np.zeros(m),
        free=np.zeros(n),
        solver=solver_for(m),
        friction=scratch_for(others, 0, room, contacts.options),
    )
