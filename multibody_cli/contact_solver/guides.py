"""Capstan friction of ropes (`constraints.capstan`): rows of the slip, and limits in proportion to the tensions.

The row of a guide has the terms of the row of its section, which is made length less length: those of the spans before
the guide with the factor -1 for a rope, as wrenches on bodies (`brakes`).  The sum of the rates of the section is 0
while it is taut.

The tensions on both sides of a guide follow from the impulses of the step: at the end of a section that of its row, and
from there back with the friction of each guide.  They determine the limits, which are iterated as those of joints are.
A section that is slack has neither tension nor friction.
"""

from __future__ import annotations

import math

from multibody_cli.constraints.capstan import grip_of
from multibody_cli.constraints.elements import ROPES
from multibody_cli.constraints.rows import write_wrench
from multibody_cli.contact_solver.brakes import write_dual_wrench
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.joint_friction import next_limit
from multibody_cli.contact_solver.results import AT_LIMIT, LIMITS
from multibody_cli.kernel import kernel, lazy_kernel
from multibody_cli.model import JointFriction
from multibody_cli.spatial.memory import load_force


def most_terms(table: JointFriction) -> int:
    """Return the largest number of terms of the rows of all guides: two for each of a coordinate."""
    return 2 * int((table.guides["last_term"] - table.guides["first_term"]).sum())


@lazy_kernel
def write_guide_rows(system, work, step, joint_friction, term) -> int:
    """Write three rows for each guide, of which the second one has terms if the rope is taut; return the next term."""
    table, spans = system.contacts.joint_friction, system.constraints.tables[ROPES]
    row = step.sizes[0].constraint_rows + PER_CONTACT * (len(table.moved) - len(table.guides))
    for g in range(len(table.guides)):
        guide, first = table.guides[g], term
        section = work.rows[guide.row]
        joint_friction.grip[g] = 0.0
        joint_friction.tension[g] = step.sizes[0].h * section.multiplier + joint_friction.tension_changes[g]
        if section.active == 1 and not math.isnan(section.error):
            joint_friction.grip[g] = grip_of(spans, system.forces.states, guide, work.bodies)
            for k in range(guide.first_term, guide.last_term):
                share = guide.share if k >= guide.middle_term else guide.share - 1.0
                if share != 0.0:
                    term = write_share(work.terms[k], share, system.constraints.points, work.bodies, step.terms, term)
        for j in range(PER_CONTACT):
            rows = step.rows[row + j]
            rows.first_term, rows.last_term = first, term if j == 1 else first
            rows.rate = rows.bias = 0.0
        row += PER_CONTACT
    return term


@kernel
def write_share(of, share, points, bodies, terms, k) -> int:
    """Write a share of a term of a section as term k; return the number of the next term.

    That of a coordinate with which a point moves is its dual wrench, on child and parent of the joint.
    """
    if of.iv < 0:
        W = share * load_force(of)
        write_wrench(terms[k], of.body, W.t, W.f)
        return k + 1
    m = 0
    while points.motions[m].iv != of.iv:
        m += 1
    return write_dual_wrench(points.motions[m], share * of.coefficient, bodies, terms, k)


@kernel
def tension_at_end(work, step, x, joint_friction, guide, g) -> float:
    """Return the impulse of the tension at the end of the section of guide g, without its friction there.

    x are the impulses of the constraint rows.
    """
    impulse = joint_friction.tension[g] + step.sizes[0].h * guide.pretension
    for k in range(step.sizes[0].constraint_rows):
        if step.active_rows[k] == guide.row:
            return impulse + x[k]
    return impulse + work.rows[guide.row].multiplier if work.rows[guide.row].primary else 0.0


@lazy_kernel
def update_guide_limits(system, work, joint_friction, groups, step, reports) -> bool:
    """Compare the limits of all guides with those due to the impulses; return whether to solve again."""
    guides, sizes, x = system.contacts.joint_friction.guides, step.sizes[0], step.x
    frictions, first, again = len(system.contacts.joint_friction.moved) - len(guides), 0, False
    while first < len(guides):
        last, total = first, 0.0
        while last < len(guides) and guides[last].row == guides[first].row:
            total += x[sizes.constraint_rows + PER_CONTACT * (frictions + last) + 1]
            last += 1
        behind = tension_at_end(work, step, x, joint_friction, guides[first], first) + guides[first].share * total
        for g in range(last - 1, first - 1, -1):
            k = sizes.constraint_rows + PER_CONTACT * (frictions + g)
            before, used = behind - x[k + 1], x[k]
            sum_of_tensions = max(before + behind, 0.0)
            limit, friction = joint_friction.grip[g] * sum_of_tensions, abs(x[k + 1])
            error = abs(limit - used) if friction >= (1.0 - AT_LIMIT) * used else friction - limit
            if error > system.contacts.options.tolerance * sum_of_tensions:
                again = True
                x[k] = next_limit(used, limit, joint_friction.guide_secant[g], math.inf)
                island = groups.row_island[k]
                if island >= 0:
                    reports.converged[island], reports.failed[island] = 0, LIMITS
            behind = before
        first = last
    return again
