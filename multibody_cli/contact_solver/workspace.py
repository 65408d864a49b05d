"""Work arrays of the contact step."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.contact_solver.factors import Factors, factors_for
from multibody_cli.contact_solver.friction.problem import PER_CONTACT, FactoredScratch
from multibody_cli.contact_solver.friction.proximal import ProximalScratch
from multibody_cli.contact_solver.friction.staggered_projections import MAX_STAGGERED_ROWS, staggered_scratch_for
from multibody_cli.contact_solver.impact_problem import ImpactWorkspace
from multibody_cli.contact_solver.islands import Groups, groups_for
from multibody_cli.contact_solver.joint_friction import JointFrictionWorkspace, joint_friction_workspace_for
from multibody_cli.contact_solver.results import PATH, SIZE
from multibody_cli.contact_solver.rows import TERMS
from multibody_cli.contact_solver.sleeping import Sleep
from multibody_cli.contact_solver.tree_friction_workspace import TreeFriction, tree_friction_for
from multibody_cli.contact_solver.warm_start import POINT
from multibody_cli.contacts.work import DetectionWorkspace, detection_workspace_for
from multibody_cli.kernel import allocate, records
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.tree.workspace import BODY


class IslandWorkspace(NamedTuple):
    """Work arrays of the solution of one island at a time."""

    articulation_of_block: Annotated[Integers, "l"]  # articulation of each block number
    impulses: Annotated[Floats, "m"]  # impulses of the island
    factored: FactoredScratch
    proximal: ProximalScratch
    impact: ImpactWorkspace
    staggered: Any  # work arrays of staggered projections; empty if they are not used


class ContactWorkspace(NamedTuple):
    """Work arrays for l bodies, c contacts, p friction patches and e constraint rows; m = e + 3 (p + c)."""

    detection: DetectionWorkspace
    joint_friction: JointFrictionWorkspace
    tree_friction: TreeFriction
    step: Annotated[Floats, 1]  # length of this step, s
    contact_count: Annotated[Integers, 1]  # contacts of this step
    overflow: Annotated[Integers, 1]  # whether a capacity is exceeded
    impact_times: Annotated[Floats, "l"]  # time of the first contact of an island, then of that on an articulation, s
    converged: Annotated[Integers, "l"]  # whether the impulses of an island have converged
    island_failed: Annotated[Integers, "l"]  # cause for which an island is unsolved (`results`), or 0
    island_jams: Annotated[Integers, "l"]  # whether a contact stops without a collision (`solution.jams`)
    jammed_steps: Annotated[Integers, 1]  # steps with such an island since the last report
    island_energies: Annotated[Floats, "l", SIZE + 1]  # energies of an island in a step (`results`), J
    energizing_steps: Annotated[Integers, 1]  # steps whose impulses added energy since the last report
    added_energy: Annotated[Floats, 1]  # that energy, J
    island_residual: Annotated[Floats, "l"]  # residual of an island
    unsolved_steps: Annotated[Integers, PATH]  # unsolved steps since the last report, by cause
    island_steps: Annotated[Integers, "l"]  # number of Newton steps of an island
    newton_steps: Annotated[Integers, 1]  # largest number of Newton steps in one solve since the last report
    max_residual: Annotated[Floats, 1]  # largest residual since the last report
    constraint_row_count: Annotated[Integers, 1]  # active constraint rows
    rows: Records  # (m,) constraint rows, then rows of friction patches, then rows of contacts
    terms: Records  # (m terms,) terms of these rows
    start: Annotated[Records, "l", BODY]  # twists of the bodies at the start of the step, in the fields w and v
    velocity_before: Annotated[Floats, "m"]  # velocities of the rows of patches and contacts before the step
    velocity_after: Annotated[Floats, "m"]  # velocities of all rows after the step
    active_rows: Annotated[Integers, "e"]  # numbers of the active constraint rows
    diagonal_bound: Annotated[Floats, "e"]  # diagonal Delassus entry below which a constraint row is ineffective
    r: Annotated[Floats, "m"]  # velocities of all rows without impulses of rows
    r_without_coupled: Floats  # (m,) the same without impulses of coupled forces; (0,) if there are none
    closing: Annotated[Floats, "m"]  # gap of a contact over the step, m/s, at its normal
    rebound: Annotated[Floats, "m"]  # what restitution adds to r, at the normal
    own_gap: Annotated[Floats, "contacts"]  # gap and time of a contact that is held (`impact_order`); others have 0
    own_delay: Annotated[Floats, "contacts"]
    passed_at: Annotated[Floats, "contacts"]  # time at which an impact passes on to a contact that was open; 0 else
    turned_work: Annotated[Floats, "m"]  # what friction dissipates beyond its mean because slip turns, at the normal
    x: Annotated[Floats, "m"]  # impulses of all rows
    warm_start: Annotated[Records, "contacts", POINT]  # impulses of the previous step
    warm_start_count: Annotated[Integers, 1]  # number of contacts in `warm_start`
    sleep: Sleep
    groups: Groups
    factors: Factors
    block_of_articulation: Annotated[Integers, "l"]  # block number of each articulation in its island
    gathered_rows: Annotated[Integers, "m"]  # rows of the step that are rows of a problem of displacements
    island: IslandWorkspace
    free_acceleration: Annotated[Floats, "nv"]  # accelerations without contacts between steps; scratch during a step


def most_rows(system: System) -> tuple[int, int]:
    """Return the largest numbers of constraint rows and of discs of friction, at contacts and in joints."""
    contacts = system.contacts
    others = int(np.count_nonzero(system.rows["primary"] == 0))
    return others, len(contacts.joint_friction.patches) + contacts.max_contacts


def island_workspace_for(system: System) -> IslandWorkspace:
    """Allocate the work arrays of the solution of one island, which may have all rows of a system."""
    others, discs = most_rows(system)
    m, bodies = others + PER_CONTACT * discs, len(system.tree.links)
    staggered = staggered_scratch_for(min(m, MAX_STAGGERED_ROWS)) if system.contacts.options.staggered else ()
    return allocate(IslandWorkspace, m=m, l=bodies, nodes=bodies, blocks=bodies, contacts=discs, staggered=staggered)


def contact_workspace_for(system: System) -> ContactWorkspace:
    """Allocate the work arrays of a system with contacts or joint friction."""
    contacts, tree, bodies = system.contacts, system.tree, len(system.tree.links)
    max_contacts, (others, discs) = contacts.max_contacts, most_rows(system)
    m = others + PER_CONTACT * discs
    rows = np.zeros(m, ROW)
    rows["weight"], rows["speed"] = 1.0 / tree.length, tree.rate * tree.length
    step_rows = records(rows)
    terms = records(np.zeros(len(system.terms) + PER_CONTACT * TERMS * discs, TERM))
    return allocate(
        ContactWorkspace,
        l=bodies,
        m=m,
        e=others,
        contacts=max_contacts,
        nq=len(tree.driven) + len(tree.quaternions),
        nv=len(tree.driven),
        detection=detection_workspace_for(contacts.geometry, max(16, 2 * max_contacts), max_contacts),
        joint_friction=joint_friction_workspace_for(contacts.joint_friction, bodies),
        tree_friction=tree_friction_for(system, step_rows, terms, others + max_contacts),
        rows=step_rows,
        terms=terms,
        r_without_coupled=np.zeros(m if system.coupled else 0),
        groups=groups_for(tree, m),
        factors=factors_for(bodies, m),
        island=island_workspace_for(system),
    )
