"""Work arrays of the contact step."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.contact_solver import brakes, guides
from multibody_cli.contact_solver.factors import Factors, factors_for
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.friction.staggered_projections import MAX_STAGGERED_ROWS, staggered_scratch_for
from multibody_cli.contact_solver.impact_times import ImpactTimes
from multibody_cli.contact_solver.islands import Groups, IslandReports, groups_for
from multibody_cli.contact_solver.joint_friction import JointFrictionWorkspace, joint_friction_workspace_for
from multibody_cli.contact_solver.results import Diagnostics
from multibody_cli.contact_solver.rows import TERMS, StepRows
from multibody_cli.contact_solver.sleeping import Sleep
from multibody_cli.contact_solver.solution import IslandWorkspace
from multibody_cli.contact_solver.tree_friction_workspace import TreeFriction, tree_friction_for
from multibody_cli.contact_solver.warm_start import WarmStart
from multibody_cli.contacts.work import DetectionWorkspace, detection_workspace_for
from multibody_cli.kernel import allocate, records
from multibody_cli.model import Contacts, Floats, System


class ContactWorkspace(NamedTuple):
    """The records of a contact step, one for each stage that writes it; `contact_step` has their order."""

    detection: DetectionWorkspace
    step: StepRows
    joint_friction: JointFrictionWorkspace
    tree_friction: TreeFriction
    groups: Groups
    impact_times: ImpactTimes
    sleep: Sleep
    factors: Factors
    island: IslandWorkspace
    reports: IslandReports
    warm_start: WarmStart
    diagnostics: Diagnostics
    free_acceleration: Annotated[Floats, "nv"]  # accelerations without contacts between steps; scratch during a step
    free_multipliers: Annotated[Floats, "rows"]  # those of all rows without contacts between steps


def most_rows(system: System) -> tuple[int, int]:
    """Return the largest numbers of constraint rows and of discs: of patches, brakes, contacts and resistances."""
    contacts = system.contacts
    others = int(np.count_nonzero(system.rows["primary"] == 0))
    return others, len(contacts.joint_friction.moved) + contacts.max_contacts + most_resistances(contacts)


def most_resistances(contacts: Contacts) -> int:
    """Return the largest number of resistances of contacts."""
    surfaces = (contacts.geometry.geoms, contacts.geometry.own_surfaces)
    kinds = sum(any((surface[name] > 0.0).any() for surface in surfaces) for name in ("rolling", "torsional"))
    return contacts.max_contacts * kinds


def contact_workspace_for(system: System) -> ContactWorkspace:
    """Allocate the work arrays of a system with contacts or joint friction; an island may have all rows."""
    contacts, tree, n = system.contacts, system.tree, len(system.tree.links)
    max_contacts, (others, discs) = contacts.max_contacts, most_rows(system)
    m = others + PER_CONTACT * discs
    rows = np.zeros(m, ROW)
    rows["weight"], rows["speed"] = 1.0 / tree.length, tree.rate * tree.length
    of_brakes = brakes.most_terms(contacts.joint_friction) + guides.most_terms(contacts.joint_friction)
    terms = np.zeros(len(system.terms) + PER_CONTACT * TERMS * discs + of_brakes, TERM)
    r = np.zeros(m if system.coupled else 0)
    moments, tables = most_resistances(contacts), {"rows": records(rows), "terms": records(terms)}
    placed = n + len(tree.closures) + len(tree.markers)
    step = allocate(StepRows, m=m, placed=placed, e=others, moments=moments, r_without_coupled=r, **tables)
    staggered = staggered_scratch_for(min(m, MAX_STAGGERED_ROWS) if contacts.options.staggered else 0)
    return allocate(
        ContactWorkspace,
        l=n,
        contacts=max_contacts,
        nq=len(tree.driven) + len(tree.quaternions),
        nv=len(tree.driven),
        rows=len(system.rows),
        detection=detection_workspace_for(contacts.geometry, max(16, 2 * max_contacts), max_contacts),
        step=step,
        joint_friction=joint_friction_workspace_for(contacts.joint_friction, n),
        tree_friction=tree_friction_for(system, step.rows, step.terms, others + max_contacts + moments),
        groups=groups_for(tree, m),
        factors=factors_for(n, m, others),
        island=allocate(IslandWorkspace, m=m, l=n, nodes=n, blocks=n, contacts=discs, staggered=staggered),
    )
