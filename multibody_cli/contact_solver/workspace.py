"""Work arrays of the contact step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.contact_solver.factors import AXES, Factors, factors_for
from multibody_cli.contact_solver.friction.problem import PER_CONTACT, FactoredScratch, factored_scratch_for
from multibody_cli.contact_solver.friction.proximal import ProximalScratch, proximal_scratch_for
from multibody_cli.contact_solver.friction.staggered_projections import MAX_STAGGERED_ROWS, staggered_scratch_for
from multibody_cli.contact_solver.impact_problem import ImpactWorkspace, impact_workspace_for
from multibody_cli.contact_solver.islands import Groups, groups_for
from multibody_cli.contact_solver.joint_friction import JointFrictionWorkspace, joint_friction_workspace_for
from multibody_cli.contact_solver.results import PATH, SIZE
from multibody_cli.contact_solver.rows import TERMS
from multibody_cli.contact_solver.sleeping import Sleep, sleep_for
from multibody_cli.contact_solver.tree_friction_workspace import TreeFriction, tree_friction_for
from multibody_cli.contact_solver.warm_start import warm_start_for
from multibody_cli.contacts.work import DetectionWorkspace, detection_workspace_for
from multibody_cli.kernel import records
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.tree.workspace import BODY


class IslandWorkspace(NamedTuple):
    """Work arrays of the solution of one island at a time."""

    articulation_of_block: Integers  # (bodies,) articulation of each block number
    impulses: Floats  # (m,) impulses of the island
    factored: FactoredScratch
    proximal: ProximalScratch
    impact: ImpactWorkspace
    staggered: Any  # work arrays of staggered projections; empty if they are not used


class ContactWorkspace(NamedTuple):
    """Work arrays for c contacts, p friction patches and e constraint rows; m = e + 3 (p + c)."""

    detection: DetectionWorkspace
    joint_friction: JointFrictionWorkspace
    tree_friction: TreeFriction
    step: Floats  # (1,) length of this step, s
    contact_count: Integers  # (1,) contacts of this step
    overflow: Integers  # (1,) whether a capacity is exceeded
    impact_times: Floats  # (bodies,) time of the first contact of each island, then of that on each articulation, s
    converged: Integers  # (bodies,) whether the impulses of an island have converged
    island_failed: Integers  # (bodies,) cause for which an island is unsolved (`results`), or 0
    island_jams: Integers  # (bodies,) whether a contact stops without a collision (`solution.jams`)
    jammed_steps: Integers  # (1,) steps with such an island since the last report
    island_energies: Floats  # (bodies, 5) energies of an island in a step (`results`), J
    energizing_steps: Integers  # (1,) steps whose impulses added energy since the last report
    added_energy: Floats  # (1,) that energy, J
    island_residual: Floats  # (bodies,) residual of an island
    unsolved_steps: Integers  # (5,) unsolved steps since the last report, by cause
    island_steps: Integers  # (bodies,) number of Newton steps of an island
    newton_steps: Integers  # (1,) largest number of Newton steps in one solve since the last report
    max_residual: Floats  # (1,) largest residual since the last report
    constraint_row_count: Integers  # (1,) active constraint rows
    rows: Records  # (m,) constraint rows, then rows of friction patches, then rows of contacts
    terms: Records  # (m terms,) terms of these rows
    start: Records  # (bodies,) twists of the bodies at the start of the step, in the fields w and v
    velocity_before: Floats  # (m,) velocities of the rows of patches and contacts before the step
    velocity_after: Floats  # (m,) velocities of all rows after the step
    active_rows: Integers  # (e,) numbers of the active constraint rows
    diagonal_bound: Floats  # (e,) diagonal Delassus entry below which a constraint row is ineffective
    r: Floats  # (m,) velocities of all rows without impulses of rows
    r_without_coupled: Floats  # (m,) the same without impulses of coupled forces; (0,) if there are none
    closing: Floats  # (m,) gap of a contact over the step, m/s, at its normal
    rebound: Floats  # (m,) what restitution adds to r, at the normal
    own_gap: Floats  # (c,) gap and time of a contact that is held (`impact_order`); the time of others is 0
    own_delay: Floats  # (c,)
    passed_at: Floats  # (c,) time in the step at which an impact passes on to a contact whose bodies were apart; 0 else
    turned_work: Floats  # (m,) what friction dissipates beyond its mean over the step because slip turns, at the normal
    x: Floats  # (m,) impulses of all rows
    warm_start: Records  # (c,) impulses of the previous step
    warm_start_count: Integers  # (1,) number of contacts in `warm_start`
    sleep: Sleep
    groups: Groups
    factors: Factors
    block_of_articulation: Integers  # (bodies,) block number of each articulation in its island
    gathered_rows: Integers  # (m,) rows of the step that are rows of a problem of displacements
    island: IslandWorkspace
    free_acceleration: Floats  # (nv,) accelerations without contacts between steps; scratch during a step


def most_rows(system: System) -> tuple[int, int]:
    """Return the largest numbers of constraint rows and of discs of friction, at contacts and in joints."""
    contacts = system.contacts
    others = int(np.count_nonzero(system.rows["primary"] == 0))
    return others, len(contacts.joint_friction.patches) + contacts.max_contacts


def island_workspace_for(system: System) -> IslandWorkspace:
    """Allocate the work arrays of the solution of one island, which may have all rows of a system."""
    bodies, (others, discs) = len(system.tree.links), most_rows(system)
    m, size = others + PER_CONTACT * discs, (others, discs, AXES * bodies, bodies)
    return IslandWorkspace(
        articulation_of_block=np.zeros(bodies, np.int64),
        impulses=np.zeros(m),
        factored=factored_scratch_for(*size),
        proximal=proximal_scratch_for(*size),
        impact=impact_workspace_for(m, AXES * bodies),
        staggered=staggered_scratch_for(min(m, MAX_STAGGERED_ROWS)) if system.contacts.options.staggered else (),
    )


def contact_workspace_for(system: System) -> ContactWorkspace:
    """Allocate the work arrays of a system with contacts or joint friction."""
    contacts, bodies = system.contacts, len(system.tree.links)
    max_contacts, (others, discs) = contacts.max_contacts, most_rows(system)
    m = others + PER_CONTACT * discs
    rows = np.zeros(m, ROW)
    rows["weight"], rows["speed"] = 1.0 / system.tree.length, system.tree.rate * system.tree.length
    return ContactWorkspace(
        detection=detection_workspace_for(contacts.geometry, max(16, 2 * max_contacts), max_contacts),
        joint_friction=joint_friction_workspace_for(contacts.joint_friction, bodies),
        tree_friction=tree_friction_for(system),
        step=np.zeros(1),
        contact_count=np.zeros(1, np.int64),
        overflow=np.zeros(1, np.int64),
        impact_times=np.zeros(bodies),
        converged=np.zeros(bodies, np.int64),
        island_failed=np.zeros(bodies, np.int64),
        island_jams=np.zeros(bodies, np.int64),
        jammed_steps=np.zeros(1, np.int64),
        island_energies=np.zeros((bodies, SIZE + 1)),
        energizing_steps=np.zeros(1, np.int64),
        added_energy=np.zeros(1),
        island_residual=np.zeros(bodies),
        unsolved_steps=np.zeros(PATH, np.int64),
        island_steps=np.zeros(bodies, np.int64),
        newton_steps=np.zeros(1, np.int64),
        max_residual=np.zeros(1),
        constraint_row_count=np.zeros(1, np.int64),
        rows=records(rows),
        terms=records(np.zeros(len(system.terms) + PER_CONTACT * TERMS * discs, TERM)),
        start=records(np.zeros(bodies, BODY)),
        velocity_before=np.zeros(m),
        velocity_after=np.zeros(m),
        active_rows=np.zeros(others, np.int64),
        diagonal_bound=np.zeros(others),
        r=np.zeros(m),
        r_without_coupled=np.zeros(m if system.coupled else 0),
        closing=np.zeros(m),
        rebound=np.zeros(m),
        own_gap=np.zeros(max_contacts),
        own_delay=np.zeros(max_contacts),
        passed_at=np.zeros(max_contacts),
        turned_work=np.zeros(m),
        x=np.zeros(m),
        warm_start=warm_start_for(max_contacts),
        warm_start_count=np.zeros(1, np.int64),
        sleep=sleep_for(system),
        groups=groups_for(system.tree, m),
        factors=factors_for(bodies, m),
        block_of_articulation=np.zeros(bodies, np.int64),
        gathered_rows=np.zeros(m, np.int64),
        island=island_workspace_for(system),
        free_acceleration=np.zeros(len(system.tree.driven)),
    )
