"""The contact step: velocities after the impulses of contacts, constraints and dry friction of joints.

The integrator provides v* = v + h a, the velocity without contacts.  At each contact with gap g, u_n and u_t are the
normal and tangential velocities of body B relative to body A before the step, and u_n', u_t' those after it.  The
impulses of the step satisfy

    u_n' + max(g, 0) / h >= 0      the bodies do not penetrate at the end of the step
    u_n' + e u_n >= 0              instead, for an impact at u_n < 0, as far as it adds no energy (`impacts`)

and Coulomb's law in the tangent plane (`contact_solver.friction`).  Active constraint rows (loops, couplings, limits)
are part of the same problem, which separates into islands.  Equality rows keep the velocity v*, which satisfies them at
the end of the step; contacts have the velocities of a v* that satisfies them at its start.  Equality rows that the
method eliminates (*primary* rows) are no rows of the problem: they hold in every response, and have the multipliers of
the response to all impulses.  An impulse x along a row with velocities u before and u' after the step dissipates the
energy -x (u + u') / 2: the ledger has an account for normals (impact) and one for tangents (friction).

Friction patches of joints (`contact_solver.joint_friction`) are rows of the same problem.  Their friction limits depend
on the impulses, so that limits and impulses are computed by a fixed-point iteration that starts from the limits of the
previous step.  A sticking patch satisfies every limit above its impulse.  The law applies
to the mean slip velocity of the step, which differs from u' in variational steps (`slip_changes`).  In trees and
loops, one recursion solves for both, with contacts with the ground and limits as its edges (`contact_solver.edges`); if
it does not, or if other rows connect bodies, the step solves the rows.

Forces that depend on other coordinates or on bodies change with the impulses, in a loop over the whole problem
(`implicit.coupled_impulses`).

Penetration predicted for the end of the step is removed by a displacement of minimal norm in the metric of M.  The
displacement does not change velocities.

Sources: Sueda, notes 1.11 and 2.11 (bilateral staggered projections); Stewart and Trinkle, Int. J. Numer. Methods Eng.
39 (1996).
"""

from __future__ import annotations

from multibody_cli.constraint_solver.active_rows import resume_rows, suspend_one_sided_rows
from multibody_cli.constraint_solver.corrected_velocities import (
    ends_at_corrected_velocities,
    keep_multipliers,
    restore_multipliers,
)
from multibody_cli.constraint_solver.drive_work import account_reaction_impulses
from multibody_cli.constraint_solver.projection import PROJECTION_TOLERANCE, fastest_body, project_velocities
from multibody_cli.constraint_solver.solver import (
    apply_primary_row_impulses,
    impulse_response,
    update_rates,
    zero_rhs,
)
from multibody_cli.constraints.rows import jacobian_product_of_row, velocity_of_row
from multibody_cli.contact_solver.brakes import write_brake_rows
from multibody_cli.contact_solver.detection import detect_contacts, detect_near_geoms, keep_start_velocities
from multibody_cli.contact_solver.edge_list import list_edges
from multibody_cli.contact_solver.factors import factor_rows
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.guides import update_guide_limits, write_guide_rows
from multibody_cli.contact_solver.impact_order import add_biases
from multibody_cli.contact_solver.impact_times import delay_impacts
from multibody_cli.contact_solver.islands import (
    all_solved,
    assign_articulations,
    count_other_rows,
    find_articulations,
    find_islands,
    list_body_blocks,
    mark_limits_in_contact,
    mark_patches_of_passes,
    mark_solved,
    reset_reports,
)
from multibody_cli.contact_solver.joint_friction import (
    account_joint_friction,
    add_slip_changes,
    reset_limit_iteration,
    transmit_impulses,
    update_friction_limits,
    update_joint_reactions,
    write_friction_rows,
)
from multibody_cli.contact_solver.penetration import correct_penetration, displace_trees
from multibody_cli.contact_solver.resistance import (
    list_resistances,
    load_moments,
    start_resistances,
    write_resistances,
)
from multibody_cli.contact_solver.results import (
    PATH,
    account_contacts,
    account_row_work,
    record_diagnostics,
)
from multibody_cli.contact_solver.rows import (
    TERMS,
    add_impulses_to_multipliers,
    apply_row_impulses,
    compute_row_velocities,
    copy_rows,
    list_active_rows,
    update_dual_wrenches,
    write_contacts,
)
from multibody_cli.contact_solver.sleeping import (
    find_sleeping_islands,
    hold_bodies_at_rest,
    keep_impulses,
    stop_islands_at_rest,
    wake_all,
)
from multibody_cli.contact_solver.solution import solve_impulses
from multibody_cli.contact_solver.stribeck import set_coefficients
from multibody_cli.contact_solver.tree_friction import has_passes, solve_tree_friction
from multibody_cli.contact_solver.warm_start import load_initial_guess, store_warm_start
from multibody_cli.implicit.coupled_impulses import (
    add_coupled_impulses,
    start_coupled_impulses,
    update_coupled_impulses,
)
from multibody_cli.implicit.implicit_forces import add_implicit_impulses
from multibody_cli.kernel import kernel, lazy_kernel, template
from multibody_cli.method_kernels import accelerate, apply_inverse_mass
from multibody_cli.tree.configuration import displace, normalize


# --- rows -------------------------------------------------------------------------------------------------------------
@kernel
def write_rows(system, contacts, work, groups, step, joint_friction, start, v):
    """Write the rows of a step, and compute their velocities before it and for v*, both given as (nv,)."""
    sizes, term, table = step.sizes[0], len(work.terms), system.contacts.joint_friction
    patches = table.patches
    write_friction_rows(patches, work, step, term)
    first_brake = sizes.constraint_rows + PER_CONTACT * len(patches)
    term += PER_CONTACT * TERMS * len(patches)
    if len(table.brakes) > 0:
        term = write_brake_rows(system, work, step, first_brake, term)
    if len(table.guides) > 0:
        term = write_guide_rows(system, work, step, joint_friction, term)
    write_contacts(contacts, work.bodies, groups, step, term)
    if sizes.resistances > 0:
        write_resistances(contacts, step, term + PER_CONTACT * TERMS * sizes.contacts)
    copy_rows(work.rows, work.terms, step)
    compute_row_velocities(step, step.start, start, 0, step.velocity_before)
    compute_row_velocities(step, work.bodies, v, 0, step.r)
    for k in range(sizes.rows):
        step.velocity_after[k] = step.r[k]


@template(project_velocities)
def move_contacts_onto_equalities(system, work, contact_work, v):
    """Change the velocities of contacts as if v* (nv,) satisfied the equality rows at the start of the step.

    It satisfies them at the end, J v* = h dJ/dt v at the start.  Where a mechanism leaves a contact less than three
    directions, some impulses move nothing.  No impulse removes a velocity along them: it would let these impulses grow
    without bound.  With the change, equality rows do no work in the step.  Rows that prescribe a velocity keep that of
    v*.
    """
    step, kept, largest = contact_work.step, contact_work.free_multipliers, 0.0
    for r in range(len(work.rows) if step.sizes[0].contacts > 0 else 0):
        row = work.rows[r]
        if row.active and not row.one_sided:
            prescribes = row.account >= 0 or row.drive >= 0
            row.residual = 0.0 if prescribes else velocity_of_row(row, work.terms, work.bodies, v)
            largest = max(largest, abs(row.residual) * row.weight)
    if largest == 0.0 or largest <= PROJECTION_TOLERANCE * fastest_body(system.tree, work):
        return
    keep_multipliers(work, kept)
    suspend_one_sided_rows(work)
    project_velocities(system, work)
    resume_rows(work)
    restore_multipliers(work, kept)
    for k in range(step.sizes[0].first_contact, step.sizes[0].rows):
        step.r[k] += jacobian_product_of_row(step.rows[k], step.terms, work.bodies, work.response)
        step.velocity_after[k] = step.r[k]


@template(apply_inverse_mass)
def apply_impulses(system, work, step):
    """Compute the velocity change of all coordinates due to the impulses of all rows into `work.response`."""
    apply_row_impulses(work, step)
    zero_rhs(work)
    impulse_response(system, work)


@lazy_kernel
def solve_trees(system, work, contact_work, contacts, v):
    """Solve for the islands of trees with joint friction whose other rows are edges.

    If the passes do not end, islands with edges are left to rows, and those of joint friction alone are solved again.
    """
    step, groups, joint_friction = contact_work.step, contact_work.groups, contact_work.joint_friction
    edges, first = contact_work.tree_friction.edges, step.sizes[0].constraint_rows
    list_edges(system, work, contact_work, step.sizes[0].equalities, first, step.sizes[0].contacts, groups.islands[0])
    for _ in range(2):
        if mark_patches_of_passes(joint_friction.solved_by_passes, first, groups) and solve_tree_friction(
            system, work, contact_work, step.sizes[0].h, v, first, system.contacts.options.tolerance
        ):
            mark_solved(joint_friction, step, groups)
            return
        if edges.number[0] == 0:
            break
        for e in range(edges.number[0]):
            groups.has_other_rows[groups.row_island[edges.edges[e].row]] = 1
            step.turned_work[edges.edges[e].row] = 0.0
        edges.number[0] = edges.pair_count[0] = edges.jams[0] = 0
    for p in range(len(joint_friction.solved_by_passes)):
        joint_friction.solved_by_passes[p] = 0
    load_initial_guess(contacts, joint_friction.previous_impulses, contact_work.warm_start, step)
    load_moments(contacts, contact_work.warm_start, step)


@template(accelerate, apply_inverse_mass)
def solve_rows(system, work, contact_work, q, v, has_other_rows) -> bool:
    """Solve for the impulses of all rows and the change `work.response` (nv,) of the velocity v* (nv,).

    `has_other_rows` is whether there are rows beside those of friction patches.  Return False if the capacity of the
    factors is exceeded.
    """
    settings, contacts = system.contacts, contact_work.detection.contacts
    step, groups, joint_friction = contact_work.step, contact_work.groups, contact_work.joint_friction
    impact_times, sleep, factors = contact_work.impact_times, contact_work.sleep, contact_work.factors
    warm_start, reports = contact_work.warm_start, contact_work.reports
    # islands
    assign_articulations(settings.joint_friction.moved, contacts, step, groups)
    find_islands(step, groups)
    # guess
    load_initial_guess(contacts, joint_friction.previous_impulses, warm_start, step)
    load_moments(contacts, warm_start, step)
    for k in range(step.sizes[0].equalities):
        step.r[k] = 0.0
    for k in range(step.sizes[0].equalities, step.sizes[0].constraint_rows):
        row = work.rows[step.active_rows[k]]
        if ends_at_corrected_velocities(work):
            step.r[k] -= row.rebound
        elif row.bias != 0.0:  # v* leaves a limit that curves: the rate at the end of the step counts
            rate = step.velocity_before[k] if step.rows[k].multiplier > 0.0 else step.r[k] + step.sizes[0].h * row.bias
            step.r[k] = rate + max(row.error, 0.0) / step.sizes[0].h
    # gaps
    add_biases(contacts, groups, step, impact_times)
    start_resistances(contacts, step, impact_times)
    add_slip_changes(joint_friction.slip_changes, step)
    # edges
    if has_other_rows and has_passes(system, contact_work.tree_friction):
        solve_trees(system, work, contact_work, contacts, v)
        if all_solved(groups):
            wake_all(sleep)
            reset_reports(groups, reports)
            return True
    # sleep
    accelerate(system, work, work.response)
    if system.coupled:
        start_coupled_impulses(system, work, step, groups, sleep)
    find_sleeping_islands(system, work, step, warm_start, groups, sleep, q, v)
    keep_impulses(warm_start, step, groups, sleep, reports)
    # factors
    list_body_blocks(step, groups, sleep.asleep)
    if not factor_rows(system, work, v, step, groups, factors):
        contact_work.detection.overflow[0] = 1
        return False
    # impulses
    reset_limit_iteration(joint_friction)
    for _ in range(settings.options.sweeps):  # algorithm 8, lines 8 to 25
        solve_impulses(settings.options, contacts, step, groups, factors, impact_times, reports, contact_work.island)
        apply_impulses(system, work, step)
        again = False
        if len(settings.joint_friction.patches) > 0:
            again = update_friction_limits(system, work, joint_friction, groups, step, reports)
        if len(settings.joint_friction.guides) > 0:
            again = update_guide_limits(system, work, joint_friction, groups, step, reports) or again
        if system.coupled:
            again = update_coupled_impulses(system, work, groups, step, reports) or again
        if not again:
            break
    # rest
    stop_islands_at_rest(system, work, step, groups, reports, sleep, q, v)
    return True


# --- step -------------------------------------------------------------------------------------------------------------
@template(accelerate, apply_inverse_mass, project_velocities)
def solve_contact_step(system, work, contact_work, t, h, q, start, v, ledger) -> bool:
    """Replace the velocity v* (nv,) in place by the velocity after contacts and friction of a step of h.

    `start` (nv,) is the velocity at the start of the step.

    Return False if the contact capacity is exceeded; q, v and the ledger are then unchanged.
    """
    settings, table, contacts = system.contacts, system.contacts.joint_friction, contact_work.detection.contacts
    patches, frictions, geoms = table.patches, len(table.moved), len(settings.geometry.geoms)
    detection, step, groups = contact_work.detection, contact_work.step, contact_work.groups
    joint_friction, tree_friction, sleep = contact_work.joint_friction, contact_work.tree_friction, contact_work.sleep
    impact_times, reports, diagnostics = contact_work.impact_times, contact_work.reports, contact_work.diagnostics
    # reactions
    if len(patches) > 0:
        update_joint_reactions(system, work, joint_friction)
    for p in range(len(patches)):
        joint_friction.solved_by_passes[p] = 0
    tree_friction.edges.number[0] = tree_friction.edges.pair_count[0] = tree_friction.edges.jams[0] = 0
    tree_friction.repeats[0] = tree_friction.time[0] == t
    tree_friction.time[0] = t
    # detection
    limits = list_active_rows(work.rows, settings.margin / system.tree.length, step)
    sizes, near, count, detection.overflow[0], groups.islands[0] = step.sizes[0], 0, 0, 0, 0
    for k in range(len(step.row_impulses)):
        step.row_impulses[k] = 0.0
    if geoms > 0:
        near = detect_near_geoms(system, work, detection, h)
    if near + frictions > 0:
        keep_start_velocities(work.bodies, step.start)
        update_rates(system, t, q, v, contact_work.free_acceleration, work)
        if geoms > 0:
            count = detect_contacts(system, work, detection, h)
        diagnostics.unsolved_steps[PATH - 1] += detection.unresolved[0] > 0
    sizes.h, sizes.contacts = h, count
    sizes.first_contact = sizes.constraint_rows + PER_CONTACT * frictions
    sizes.first_resistance = sizes.first_contact + PER_CONTACT * count
    sizes.resistances = list_resistances(contacts, step)
    sizes.rows = sizes.first_resistance + PER_CONTACT * sizes.resistances
    if detection.overflow[0]:
        return False
    if count == 0:
        wake_all(sleep)
    if count + frictions == 0:
        contact_work.warm_start.number[0] = 0
        return True
    # rows
    update_dual_wrenches(system.tree, table, work)
    find_articulations(system, work, groups)
    write_rows(system, contacts, work, groups, step, joint_friction, start, v)
    move_contacts_onto_equalities(system, work, contact_work, v)
    set_coefficients(table, contacts, step, joint_friction, tree_friction.shared)
    if ends_at_corrected_velocities(work):
        keep_multipliers(work, contact_work.free_multipliers)
    # trees
    others = count_other_rows(work.rows, tree_friction.satisfied_by_tree)
    has_other_rows = limits + count + others + frictions - len(patches) > 0
    if (
        has_other_rows
        or not has_passes(system, tree_friction)
        or not solve_tree_friction(system, work, contact_work, h, v, sizes.constraint_rows, settings.options.tolerance)
    ) and not solve_rows(system, work, contact_work, q, v, has_other_rows):
        return False
    # accounts
    if frictions > 0:
        account_joint_friction(table, joint_friction, step, work.bodies, work.response, settings.impact_account, ledger)
    account_contacts(settings, contacts, groups, sleep, step, work.bodies, work.response, diagnostics, ledger)
    account_row_work(work, step, ledger)
    if len(system.motions.rows) > 0:
        apply_row_impulses(work, step)
        apply_primary_row_impulses(system.tree, work)
        add_implicit_impulses(system, work)
        if system.coupled:
            add_coupled_impulses(system, work)
        transmit_impulses(system.tree, step, work)
        account_reaction_impulses(system.motions, work, start, v, ledger)
    if not ends_at_corrected_velocities(work):
        add_impulses_to_multipliers(work, step)
    for k in range(sizes.constraint_rows):
        step.row_impulses[k] = step.x[k]
    # warm start
    store_warm_start(contacts, count, contact_work.warm_start)
    for j in range(len(v)):
        v[j] += work.response[j]
    # positions
    delay_impacts(system.tree, contacts, step, groups, impact_times, q, v, work.response)
    if count > 0 and correct_penetration(
        settings, contacts, step, groups, contact_work.factors, sleep, impact_times, reports, contact_work.island
    ):
        apply_impulses(system, work, step)
        displace(system.tree, q, work.response, 1.0)
        normalize(system.tree, q)
    if len(patches) > 0 and displace_trees(
        system, work, contacts, step, groups, joint_friction, tree_friction, impact_times, reports, v
    ):
        displace(system.tree, q, work.response, 1.0)
        normalize(system.tree, q)
    if ends_at_corrected_velocities(work):
        restore_multipliers(work, contact_work.free_multipliers)
    # diagnostics
    record_diagnostics(groups, reports, tree_friction.edges.jams[0], joint_friction.worst, diagnostics)
    return True


@kernel
def finish_contact_step(system, work, contact_work, q):
    """Restore the q (nq,) of bodies at rest after a displacement, and mark the limits of bodies in contact."""
    hold_bodies_at_rest(system, contact_work.sleep, contact_work.groups, q)
    mark_limits_in_contact(work, contact_work.step, contact_work.groups)
