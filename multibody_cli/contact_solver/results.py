"""Results of a contact step: energy accounts, contact modes, diagnostics of the solver, and forces for output.

Forces for output are the impulses of the last step divided by its length.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.constraint_solver.corrected_velocities import (
    account_contact_impulses,
    ends_at_corrected_velocities,
)
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.rows import apply_row_impulse, jacobian_product_of_row
from multibody_cli.contact_solver.brakes import store_brake_forces
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.resistance import moment_of_row
from multibody_cli.contact_solver.rows import patch_axes, slip_wrench
from multibody_cli.contact_solver.sleeping import contact_sleeps
from multibody_cli.kernel import kernel, lazy_kernel
from multibody_cli.model import Floats, Integers
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import no_force, transposed_times
from multibody_cli.spatial.values import Force
from multibody_cli.tree.markers import transfer_marker_wrenches

AT_LIMIT = 1e-9
"""Relative distance to the friction limit within which a contact may slip."""

SLIP_SPEED = 1e-10
"""Tangential speed above which a contact at its friction limit slips, relative to `speed` of its rows."""

OPEN, STICK, SLIP = range(3)

LAW, LIMITS, DISPLACEMENT, MEAN_SLIP, PATH = range(1, 6)
"""Causes of an unsolved step: impulses miss Coulomb's law; limits of joint friction differ from those due to the loads;
penetration is not removed; the mean slip or the loads of a variational step differ from those of its impulses; paths of
geoms within the step are not followed to their end.
"""


ROUND_OFF = 1e-9
"""Energy that impulses add in a step, relative to the sum of their absolute works, that counts as round-off beside ten
times the tolerance of the solver.
"""


IMPACT, FRICTION, ROLLING, OTHERS, TO_FREE, SIZE = range(6)
"""Energies of an island in a step, J: dissipated by normals, tangents, resistances of contacts, and limits and friction
patches; by contacts relative to the motion without impulses; and the sum of absolute works of contacts and patches.
"""


class Diagnostics(NamedTuple):
    """Diagnostics of all steps since the last report, for l bodies."""

    unsolved_steps: Annotated[Integers, PATH]  # unsolved steps, by cause
    newton_steps: Annotated[Integers, 1]  # largest number of Newton steps in one solve
    max_residual: Annotated[Floats, 1]  # largest residual
    jammed_steps: Annotated[Integers, 1]  # steps in which a contact stops without a collision
    energizing_steps: Annotated[Integers, 1]  # steps whose impulses added energy
    added_energy: Annotated[Floats, 1]  # that energy, J
    energies: Annotated[Floats, "l", SIZE + 1]  # energies of each island in the last step, J


@kernel
def account_contacts(settings, contacts, groups, sleep, step, bodies, response, diagnostics, ledger):
    """Add the energy dissipated by contacts to the ledger; store impulse, mode and velocity after the step of each.

    The division between normals and tangents depends on the changes of slip within the step.  A part that would be
    negative is set off against the other, against that of moments, and against that of the friction of joints, which
    may multiply the impulse of a contact.  If all together are, the impulses may have added energy (`impacts`), and the
    step is counted.
    """
    sizes, energies, velocity_after = step.sizes[0], diagnostics.energies, step.velocity_after
    for island in range(groups.islands[0]):
        for i in range(SIZE + 1):
            energies[island, i] = 0.0
    if groups.islands[0] > 0:
        account_other_rows(groups, step, bodies, response, energies, ledger)
    for c in range(sizes.contacts):
        contact, first = contacts[c], sizes.first_contact + PER_CONTACT * c
        own, asleep = energies[groups.row_island[first]], contact_sleeps(first, groups, sleep)
        for j in range(PER_CONTACT):
            contact.impulse[j] = step.x[first + j]
            account_row(first + j, FRICTION if j > 0 else IMPACT, asleep, step, bodies, response, own)
        own[IMPACT] -= step.turned_work[first]
        own[FRICTION] += step.turned_work[first]
        contact.mode = contact_mode(
            contact, velocity_after[first + 1], velocity_after[first + 2], step.rows[first].speed
        )
    for i in range(sizes.resistances):
        resistance, first = step.resistances[i], sizes.first_resistance + PER_CONTACT * i
        own, moment = energies[groups.row_island[first]], contacts[resistance.contact].moment
        asleep = contact_sleeps(first, groups, sleep)
        for j in range(1, PER_CONTACT):
            account_row(first + j, ROLLING, asleep, step, bodies, response, own)
        if resistance.spins:
            moment[0] = step.x[first + 1]
        else:
            moment[1], moment[2] = step.x[first + 1], step.x[first + 2]
    added = 0.0
    for island in range(groups.islands[0]):
        own = energies[island]
        rolling = max(own[ROLLING], 0.0)
        own[FRICTION] += own[ROLLING] - rolling
        both = own[IMPACT] + own[FRICTION]
        gain = -max(both + rolling, own[TO_FREE]) - own[OTHERS]
        noise = (ROUND_OFF + 10.0 * settings.options.tolerance) * own[SIZE]
        if min(own[IMPACT], own[FRICTION]) < 0.0 and both >= -noise:
            own[IMPACT], own[FRICTION] = (0.0, both) if own[IMPACT] < 0.0 else (both, 0.0)
        elif both < 0.0 and both + rolling >= -noise:
            own[IMPACT], own[FRICTION], rolling = 0.0, 0.0, both + rolling
        elif both + rolling < 0.0 and sizes.first_contact > sizes.constraint_rows:
            rest = set_off_against_joints(island, -both - rolling, settings.joint_friction, groups, step, ledger)
            own[IMPACT], own[FRICTION], rolling = 0.0, -rest, 0.0
        ledger[settings.impact_account] += own[IMPACT]
        ledger[settings.friction_account] += own[FRICTION]
        ledger[settings.rolling_account] += rolling
        if gain > noise:
            added += gain
    diagnostics.energizing_steps[0] += added > 0.0
    diagnostics.added_energy[0] += added


@lazy_kernel
def set_off_against_joints(island, deficit, table, groups, step, ledger) -> float:
    """Take the negative energy of the contacts of an island from the losses of its joints; return the rest, J."""
    first, total = step.sizes[0].constraint_rows + 1, 0.0
    for p in range(len(table.accounts)):
        if groups.row_island[first + PER_CONTACT * p] == island:
            total += max(-gain_of_joint(p, step), 0.0)
    share = min(deficit / total, 1.0) if total > 0.0 else 0.0
    for p in range(len(table.accounts)):
        if groups.row_island[first + PER_CONTACT * p] == island:
            ledger[table.accounts[p]] -= share * max(-gain_of_joint(p, step), 0.0)
    return deficit - share * total


@kernel
def gain_of_joint(p, step) -> float:
    """Return the work of the friction of a patch, a brake or a guide in the step, J, after its velocities are known."""
    first, gained = step.sizes[0].constraint_rows + PER_CONTACT * p, 0.0
    for k in range(first + 1, first + PER_CONTACT):
        gained += 0.5 * step.x[k] * (step.velocity_before[k] + step.velocity_after[k])
    return gained


@kernel
def account_row(k, kind, asleep, step, bodies, response, own):
    """Compute the velocity of a row of a contact after the step, and add its energies to those of its island."""
    x, before, free = step.x[k], step.velocity_before[k], step.velocity_after[k]
    if asleep:
        step.velocity_after[k] = 0.0
    else:
        step.velocity_after[k] += jacobian_product_of_row(step.rows[k], step.terms, bodies, response)
    after = step.velocity_after[k]
    own[kind] -= 0.5 * x * (before + after)
    own[TO_FREE] -= 0.5 * x * (free + after)
    own[SIZE] += abs(x) * (abs(before) + abs(free) + abs(after))


@kernel
def account_other_rows(groups, step, bodies, response, energies, ledger):
    """Add the energy that limits and friction patches of joints dissipate to the energies of their islands.

    The losses of limits that bodies in contact have reached in the step before go to the ledger.
    """
    limits = step.sizes[0].constraint_rows
    for k in range(step.sizes[0].equalities, step.sizes[0].first_contact):
        island, patch = groups.row_island[k], (k - limits) % PER_CONTACT if k >= limits else 1
        if island >= 0 and patch > 0:
            x, before, after = step.x[k], step.velocity_before[k], step.velocity_after[k]
            if k < limits:
                change = jacobian_product_of_row(step.rows[k], step.terms, bodies, response)
                step.velocity_after[k] += change
                row = step.rows[k]
                if row.in_contact and row.account >= 0 and not math.isnan(row.start_rate):
                    ledger[row.account] -= 0.5 * x * (row.start_rate + after + change)
                if row.bias != 0.0:  # a limit that curves: the rate at the end of the step
                    after = step.r[k] - max(row.error, 0.0) / step.sizes[0].h
                energies[island, OTHERS] -= x * (after + 0.5 * change)
            else:  # as of contacts, the larger loss of those from either motion
                energies[island, OTHERS] -= 0.5 * x * after + 0.5 * min(x * before, x * step.r[k])
                energies[island, SIZE] += abs(x) * (abs(before) + abs(step.r[k]) + abs(after))


@kernel
def contact_mode(contact, along, across, slowest):
    """Return OPEN, STICK or SLIP; a slipping contact moves and is at its friction limit."""
    n, t, b = contact.impulse
    if n <= 0.0:
        return OPEN
    at_limit = math.sqrt(t * t + b * b) >= (1.0 - AT_LIMIT) * contact.friction * n
    return SLIP if at_limit and math.sqrt(along * along + across * across) > SLIP_SPEED * slowest else STICK


@kernel
def account_row_work(work, step, ledger):
    """Add the work of the impulses of rows that prescribe a velocity to the ledger; they keep that velocity.

    Primary rows have the multipliers of the last response.
    """
    if ends_at_corrected_velocities(work):
        account_contact_impulses(work, step, ledger)
        return
    for k in range(step.sizes[0].equalities):
        row = step.rows[k]
        if row.account >= 0:
            ledger[row.account] -= step.x[k] * row.rate
    for k in range(step.sizes[0].equalities, step.sizes[0].constraint_rows):
        drive = work.rows[step.active_rows[k]].drive
        if drive >= 0:
            ledger[drive] -= step.x[k] * step.rows[k].rate
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.primary and row.account >= 0:
            ledger[row.account] -= row.multiplier * row.rate


@kernel
def record_diagnostics(groups, reports, jams, worst, diagnostics):
    """Record the residual of the step, and count the step as unsolved, with one cause, if an island failed.

    `jams` is whether a contact jams beside them, and `worst` (2,) the patch that disagrees most.
    """
    cause = 0
    for island in range(groups.islands[0]):
        jams = max(jams, reports.jams[island])
        cause = max(cause, reports.failed[island])
        diagnostics.newton_steps[0] = max(diagnostics.newton_steps[0], reports.steps[island])
        diagnostics.max_residual[0] = max(diagnostics.max_residual[0], reports.residual[island])
    diagnostics.jammed_steps[0] += jams
    if cause > 0:
        diagnostics.unsolved_steps[cause - 1] += 1
        worst[1] = worst[0]


# --- forces ---------------------------------------------------------------------------------------------------------
@kernel
def compute_contact_forces(tree, table, work, step, joint_friction, contacts, h):
    """Compute the wrenches of all contact and joint-friction impulses of the last step, divided by h.

    `work.contact_forces` has them as they act on bodies and markers, `work.wrenches` on bodies alone.
    """
    clear_impulses(work)
    sizes, impulses = step.sizes[0], joint_friction.previous_impulses
    for p in range(len(table.moved)):
        row = sizes.constraint_rows + PER_CONTACT * p
        apply_row_impulse(step.rows[row + 1], step.terms, impulses[p, 1] / h, work.wrenches, work.impulse)
        apply_row_impulse(step.rows[row + 2], step.terms, impulses[p, 2] / h, work.wrenches, work.impulse)
    store_brake_forces(table, work, joint_friction, h)
    for g in range(len(table.guides)):
        joint_friction.guide_force[g] = impulses[len(table.moved) - len(table.guides) + g, 1] / h
    for p in range(len(table.patches)):
        patch, along, across = table.patches[p], impulses[p, 1] / h, impulses[p, 2] / h
        R, M = patch_axes(patch, work.bodies), load(work.bodies[patch.row].R)
        W = across * Force(R @ load(patch.across_t), R @ load(patch.across_f)) + along * slip_wrench(patch, work)
        store_force(joint_friction.friction[p], Force(transposed_times(M, W.t), transposed_times(M, W.f)))
    for c in range(sizes.contacts):
        for j in range(PER_CONTACT):
            row = step.rows[sizes.first_contact + PER_CONTACT * c + j]
            apply_row_impulse(row, step.terms, contacts[c].impulse[j] / h, work.wrenches, work.impulse)
    for i in range(sizes.resistances):
        for j in range(1, PER_CONTACT):
            row = step.rows[sizes.first_resistance + PER_CONTACT * i + j]
            moment = moment_of_row(contacts, step.resistances[i], j) / h
            apply_row_impulse(row, step.terms, moment, work.wrenches, work.impulse)
    for i in range(1, len(work.contact_forces)):
        store_force(work.contact_forces[i], load_force(work.wrenches[i]))
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)


@kernel
def clear_contact_forces(work):
    """Set the contact forces for output to 0."""
    for i in range(1, len(work.contact_forces)):
        store_force(work.contact_forces[i], no_force())
