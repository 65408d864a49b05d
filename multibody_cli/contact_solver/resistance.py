"""Resistance of contacts to rolling and spinning: moments within discs in proportion to the normal impulse.

A contact with the normal impulse alpha and the angular velocity w of B relative to A transmits a moment impulse m,

    |m_t| <= rolling alpha      about the tangents,
    |m_n| <= torsional alpha    about the normal,

with coefficients that are lengths.  Each part obeys Coulomb's law: it keeps its part of w at 0, or is at its limit and
opposite to it, so that it dissipates as much as possible.  A wheel at rest does not creep, and no speed is regularized.

Each part is a *resistance*, a disc of three rows after those of all contacts:

    row 0       the normal of the contact again.  Its impulse is 0; the law takes its load and its derivative from it
    rows 1, 2   w about the two tangents; or w about the normal, and a row without terms

so that Newton's method solves for impulses and moments at once (`friction.cones`).

Sources: Leine and van de Wouw, Stability and Convergence of Mechanical Systems with Unilateral Constraints, Springer
2008, 5.3 (set-valued laws); Tasora and Anitescu, A complementarity-based rolling friction model for rigid contacts,
Meccanica 48 (2013).
"""

from __future__ import annotations

from multibody_cli.constraints.rows import write_wrench
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.rows import TERMS, tangent_of
from multibody_cli.kernel import kernel, lazy_kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO, cross


@kernel
def list_resistances(contacts, step) -> int:
    """List the resistances of the contacts of a step, in their order; return their number."""
    number = 0
    for c in range(step.sizes[0].contacts if len(step.resistances) > 0 else 0):
        for spins in range(2):
            coefficient = contacts[c].torsional if spins else contacts[c].rolling
            if coefficient > 0.0:
                own = step.resistances[number]
                own.contact, own.spins, own.coefficient = c, spins, coefficient
                number += 1
    return number


@lazy_kernel
def write_resistances(contacts, step, term):
    """Write the three rows of each resistance of a step, with terms from `term` on."""
    sizes, rows, terms = step.sizes[0], step.rows, step.terms
    for i in range(sizes.resistances):
        resistance, row = step.resistances[i], sizes.first_resistance + PER_CONTACT * i
        contact, normal = contacts[resistance.contact], rows[normal_of(i, step)]
        n = load(contact.normal)
        t = tangent_of(n)
        for j in range(PER_CONTACT):
            own = rows[row + j]
            own.first_term = own.last_term = term
            own.rate = own.bias = 0.0
            if j == 0:
                for k in range(normal.first_term, normal.last_term):
                    terms[own.last_term] = terms[k]
                    own.last_term += 1
            elif not resistance.spins:
                own.last_term = write_moment(terms, term, contact, t if j == 1 else cross(n, t))
            elif j == 1:
                own.last_term = write_moment(terms, term, contact, n)
            term += TERMS


@kernel
def normal_of(i, step) -> int:
    """Return the row of the normal that loads resistance i."""
    return step.sizes[0].first_contact + PER_CONTACT * step.resistances[i].contact


@kernel
def write_moment(terms, k, contact, d) -> int:
    """Write the terms of the angular velocity of B relative to A about d, from term k on; return the next one."""
    if contact.body_a > 0:
        write_wrench(terms[k], contact.body_a, -d, ZERO)
        k += 1
    if contact.body_b > 0:
        write_wrench(terms[k], contact.body_b, d, ZERO)
        k += 1
    return k


@kernel
def start_resistances(contacts, step, impact_times):
    """Set the velocities of the rows of all resistances as those of their contacts (`impact_order.add_bias`)."""
    sizes, before = step.sizes[0], step.velocity_before
    for i in range(sizes.resistances):
        k, c = sizes.first_resistance + PER_CONTACT * i, step.resistances[i].contact
        step.r[k] = step.r[normal_of(i, step)]
        share = 0.0 if impact_times.own_delay[c] > 0.0 else contacts[c].delay / sizes.h
        for j in range(k, k + PER_CONTACT):
            before[j] += 2.0 * share * (step.velocity_after[j] - before[j])


# --- guess of the next step -------------------------------------------------------------------------------------------
@kernel
def load_moments(contacts, warm_start, step):
    """Load the moments of the previous step into the rows of resistances; 0 for new contacts.

    They are along the axes of the contact, so that those of contacts that sleep do not change.
    """
    sizes = step.sizes[0]
    for k in range(warm_start.number[0] if sizes.resistances > 0 else 0):
        point = warm_start.points[k]
        if point.successor >= 0:
            store(contacts[point.successor].moment, load(point.moment))
    for i in range(sizes.resistances):
        for j in range(PER_CONTACT):
            step.x[sizes.first_resistance + PER_CONTACT * i + j] = moment_of_row(contacts, step.resistances[i], j)


@kernel
def moment_of_row(contacts, resistance, j) -> float:
    """Return the part of the moment of a contact that row j of its resistance has; 0 for row 0."""
    m = load(contacts[resistance.contact].moment)
    if resistance.spins:
        return m.x if j == 1 else 0.0
    return m.y if j == 1 else (m.z if j == 2 else 0.0)
