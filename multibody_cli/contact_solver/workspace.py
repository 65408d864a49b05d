"""Work arrays of a step with contacts, and what does not change about them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.contact_solver.factors import AXES, Factors, factors_for
from multibody_cli.contact_solver.friction.dense import dense_contacts
from multibody_cli.contact_solver.friction.factored import FactoredScratch, factored_for
from multibody_cli.contact_solver.friction.problem import scratch_for
from multibody_cli.contact_solver.friction.proximal import ProximalScratch, proximal_for
from multibody_cli.contact_solver.islands import Groups, groups_for
from multibody_cli.contact_solver.joint_friction import JournalWork, journal_work_for
from multibody_cli.contact_solver.rows import PER_CONTACT, TERMS
from multibody_cli.contact_solver.warm_start import points_for
from multibody_cli.contacts.work import ContactWork, contact_work_for
from multibody_cli.kernel import records
from multibody_cli.model import Floats, Integers, Records, System


class Touch(NamedTuple):
    """Work arrays for c contacts, p pads of joints and e other rows; m = e + 3 (p + c)."""

    found: ContactWork
    journals: JournalWork
    number: Integers  # (1,) contacts of this step
    full: Integers  # (1,) whether there were more of anything than there is room for
    settled: Integers  # (bodies,) whether the impulses of an island need no more work
    failed: Integers  # (bodies,) whether those of an island do not meet the tolerance
    left: Floats  # (bodies,) residual of an island
    unsolved_steps: Integers  # (1,) steps with islands that failed, since this was last asked for
    steps: Integers  # (1,) most steps of Newton's method in any step since then
    residual: Floats  # (1,) largest residual of these
    static: Integers  # (1,) other rows that take part
    rows: Records  # (m,) the other rows, then those of pads, then those of contacts
    terms: Records  # likewise
    before: Floats  # (m,) velocities of the rows of pads and contacts before the step
    after: Floats  # (m,) and after it
    called: Integers  # (e,) other rows that take part
    least: Floats  # (e,) what they must answer to themselves at least
    r: Floats  # (m,) velocities of all rows without impulses
    x: Floats  # (m,) their impulses
    points: Records  # (c,) of the last step
    remembered: Integers  # (1,) how many
    groups: Groups
    factors: Factors
    block: Integers  # (bodies,) number of each mechanism on its island
    mechanism: Integers  # (bodies,) mechanism of each number
    own: Floats  # (m,) impulses of one island
    factored: FactoredScratch
    proximal: ProximalScratch
    dense: Any  # for passes over whole matrices; empty where there are none
    dense_room: Integers  # (1,) rows that it has room for
    free: Floats  # (n,) accelerations without contacts between calls; scratch in a step


def touch_for(system: System) -> Touch:
    """Allocate the work arrays of a system in which bodies touch."""
    contacts, bodies = system.contacts, len(system.tree.links)
    room, others = contacts.room, int(np.count_nonzero(system.rows["primary"] == 0))
    pads = len(contacts.journals.pads)
    discs = pads + room
    m = others + PER_CONTACT * discs
    dense = dense_contacts(contacts.options, others, room)
    return Touch(
        found=contact_work_for(contacts.geometry, max(16, 2 * room), room),
        journals=journal_work_for(contacts.journals, bodies),
        number=np.zeros(1, np.int64),
        full=np.zeros(1, np.int64),
        settled=np.zeros(bodies, np.int64),
        failed=np.zeros(bodies, np.int64),
        left=np.zeros(bodies),
        unsolved_steps=np.zeros(1, np.int64),
        steps=np.zeros(1, np.int64),
        residual=np.zeros(1),
        static=np.zeros(1, np.int64),
        rows=records(np.zeros(m, ROW)),
        terms=records(np.zeros(len(system.terms) + PER_CONTACT * TERMS * discs, TERM)),
        before=np.zeros(m),
        after=np.zeros(m),
        called=np.zeros(others, np.int64),
        least=np.zeros(others),
        r=np.zeros(m),
        x=np.zeros(m),
        points=points_for(room),
        remembered=np.zeros(1, np.int64),
        groups=groups_for(system.tree, m),
        factors=factors_for(bodies, m),
        block=np.zeros(bodies, np.int64),
        mechanism=np.zeros(bodies, np.int64),
        own=np.zeros(m),
        factored=factored_for(others, discs, AXES * bodies, bodies),
        proximal=proximal_for(others, discs, AXES * bodies, bodies),
        dense=scratch_for(others, 0, dense, contacts.options) if contacts.options.dense else (),
        dense_room=np.array([others + PER_CONTACT * dense]),
        free=np.zeros(len(system.tree.driven)),
    )
