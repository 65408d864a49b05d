"""The contact step: velocities after the impulses of contacts, constraints and dry friction of joints.

The integrator provides v* = v + h a, the velocity without contacts.  At each contact with gap g, u_n and u_t are the
normal and tangential velocities of body B relative to body A before the step, and u_n', u_t' those after it.  The
impulses of the step satisfy

    u_n' + max(g, 0) / h >= 0      the bodies do not penetrate at the end of the step
    u_n' + e u_n >= 0              instead, for an impact at u_n < 0, as far as it adds no energy (`impacts`)

and Coulomb's law in the tangent plane (`contact_solver.friction`).  Active constraint rows (loops, couplings, limits)
are part of the same problem, which separates into islands.  Equality rows keep the velocity v*, which satisfies them at
the end of the step.  Those that the method eliminates (*primary* rows) are no rows of the problem: they hold in every
response, and have the multipliers of the response to all impulses.  An impulse x along a row with velocities u before
and u' after the step dissipates the energy -x (u + u') / 2: the ledger has an account for normals (impact) and one for
tangents (friction).

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

from typing import Any

from multibody_cli.constraint_solver.drive_work import account_reaction_impulses
from multibody_cli.constraint_solver.ineffective_rows import ineffective_threshold
from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses
from multibody_cli.constraint_solver.solver import (
    VELOCITY,
    apply_primary_row_impulses,
    clear_impulses,
    impulse_response,
    is_row_active,
    zero_rhs,
)
from multibody_cli.constraints.rows import apply_row_impulse, velocity_of_row
from multibody_cli.contact_solver import joint_friction, solution, tree_friction
from multibody_cli.contact_solver.detection import detect_contacts, detect_near_geoms, keep_start_velocities
from multibody_cli.contact_solver.edge_list import list_edges
from multibody_cli.contact_solver.factors import factor_rows
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.impact_order import add_biases
from multibody_cli.contact_solver.impact_times import delay_impacts
from multibody_cli.contact_solver.islands import (
    assign_articulations,
    count_other_rows,
    find_articulations,
    find_islands,
    island_number,
    list_body_blocks,
    mark_separate_patches,
    mark_solved,
)
from multibody_cli.contact_solver.joint_friction import (
    account_joint_friction,
    add_slip_changes,
    reset_limit_iteration,
    transmit_impulses,
    write_friction_rows,
)
from multibody_cli.contact_solver.parameters import (
    add_coupled_impulses,
    add_implicit_impulses,
    find_contacts,
    find_near_geoms,
    solve_island,
    solve_motion,
    solve_tree_friction,
    start_coupled_impulses,
    update_coupled_impulses,
    update_friction_limits,
    update_joint_reactions,
    update_rates,
)
from multibody_cli.contact_solver.penetration import correct_penetration, displace_trees
from multibody_cli.contact_solver.results import (
    account_contacts,
    account_row_work,
    record_diagnostics,
)
from multibody_cli.contact_solver.rows import TERMS, apply_row_impulses, copy_rows, write_contacts
from multibody_cli.contact_solver.sleeping import (
    all_solved,
    find_sleeping_islands,
    keep_impulses,
    reset_island,
    settle,
    wake_all,
)
from multibody_cli.contact_solver.solution import solve_impulses
from multibody_cli.contact_solver.stribeck import set_coefficients
from multibody_cli.contact_solver.warm_start import load_warm_start, store_warm_start
from multibody_cli.kernel import bound_kernel, kernel, template
from multibody_cli.method_kernels import accelerate, apply_inverse_mass
from multibody_cli.model import System
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.markers import transfer_marker_wrenches


# --- problem ------------------------------------------------------------------------------------------------------
@kernel
def list_active_rows(rows, active_rows) -> tuple[int, int]:
    """List the active constraint rows, equalities first; return the numbers of equalities and of unilateral rows."""
    count = 0
    for r in range(len(rows)):
        if not rows[r].primary and not rows[r].one_sided and is_row_active(rows[r], VELOCITY):
            active_rows[count] = r
            count += 1
    equalities = count
    for r in range(len(rows)):
        if rows[r].one_sided and is_row_active(rows[r], VELOCITY):
            active_rows[count] = r
            count += 1
    return equalities, count - equalities


@kernel
def set_ineffective_bounds(tree, work, contact_work, constraint_rows):
    """Compute for each constraint row the diagonal Delassus entry below which the row is ineffective."""
    for k in range(constraint_rows):
        clear_impulses(work)
        apply_row_impulse(contact_work.rows[k], contact_work.terms, 1.0, work.wrenches, work.impulse)
        apply_loop_impulses(tree, work.impulse, work)
        transfer_marker_wrenches(tree, work.wrenches)
        contact_work.diagonal_bound[k] = ineffective_threshold(tree.links, work, 0.0)


@kernel
def compute_row_velocities(contact_work, bodies, v, first, last, u):
    """Compute the velocities of the rows [first, last) into u."""
    for k in range(first, last):
        u[k] = velocity_of_row(contact_work.rows[k], contact_work.terms, bodies, v)


@kernel
def load_initial_guess(contact_work, constraint_rows, count):
    """Set the initial guess: 0 for constraint rows, the previous impulses for friction patches and contacts."""
    for k in range(constraint_rows):
        contact_work.x[k] = 0.0
    previous_impulses = contact_work.joint_friction.previous_impulses
    first = constraint_rows + PER_CONTACT * len(previous_impulses)
    for k in range(constraint_rows, first):
        contact_work.x[k] = previous_impulses[(k - constraint_rows) // PER_CONTACT, (k - constraint_rows) % PER_CONTACT]
    last = first + PER_CONTACT * count
    load_warm_start(
        contact_work.detection.contacts,
        count,
        contact_work.warm_start,
        contact_work.warm_start_count,
        contact_work.x[first:last],
    )


@template(apply_inverse_mass)
def apply_impulses(system, work, contact_work, size):
    """Compute the velocity change of all coordinates due to the impulses of all rows into `work.response`."""
    apply_row_impulses(work, contact_work, size)
    zero_rhs(work)
    impulse_response(system, work)


@template(solve_tree_friction)
def solve_trees(system, work, contact_work, h, v, equalities, constraint_rows, count, islands):
    """Solve for the islands of trees with joint friction whose other rows are edges.

    If the passes do not end, islands with edges are left to rows, and those of joint friction alone are solved again.
    """
    G, patches, E = contact_work.groups, system.contacts.joint_friction.patches, contact_work.tree_friction.edges
    first, separate = constraint_rows + PER_CONTACT * len(patches), contact_work.joint_friction.separate
    list_edges(system, work, contact_work, equalities, constraint_rows, count, islands)
    for _ in range(2):
        if mark_separate_patches(separate, constraint_rows, G) and solve_tree_friction(
            system, work, contact_work, h, v, constraint_rows, system.contacts.options.tolerance
        ):
            mark_solved(contact_work.joint_friction, contact_work.x, constraint_rows, first + PER_CONTACT * count, G)
            return
        if E.number[0] == 0:
            break
        for e in range(E.number[0]):
            G.has_other_rows[island_number(E.edges[e].row, G)] = 1
        E.number[0] = 0
    for p in range(len(patches)):
        separate[p] = 0
    load_initial_guess(contact_work, constraint_rows, count)


@template(
    accelerate,
    apply_inverse_mass,
    solve_island,
    solve_tree_friction,
    update_friction_limits,
    start_coupled_impulses,
    update_coupled_impulses,
)
def solve_rows(system, work, contact_work, h, q, v, equalities, constraint_rows, count, has_other_rows) -> int:
    """Solve for the impulses of all rows and the change `work.response` (nv,) of the velocity v* (nv,).

    `has_other_rows` is whether there are rows beside those of friction patches.  Return the number of islands, or -1
    if the capacity of the factors is exceeded.
    """
    G, settings, patches = contact_work.groups, system.contacts, system.contacts.joint_friction.patches
    first = constraint_rows + PER_CONTACT * len(patches)
    size = first + PER_CONTACT * count
    articulations = find_articulations(system, work, G)
    assign_articulations(
        constraint_rows,
        contact_work.rows,
        contact_work.terms,
        patches,
        contact_work.detection.contacts,
        count,
        G,
    )
    islands = find_islands(size, articulations, G)
    load_initial_guess(contact_work, constraint_rows, count)
    for k in range(equalities):
        contact_work.r[k] = 0.0
    add_biases(contact_work, h, first, count)
    add_slip_changes(contact_work.joint_friction, contact_work.r, constraint_rows)
    for c in range(articulations):
        G.solved[c] = 0
    if has_other_rows and len(patches) > 0:
        solve_trees(system, work, contact_work, h, v, equalities, constraint_rows, count, islands)
        if all_solved(islands, contact_work):
            wake_all(contact_work.sleep)
            for island in range(islands):
                reset_island(island, contact_work)
            return islands
    accelerate(system, work, work.response)
    start_coupled_impulses(system, work, contact_work, size)
    find_sleeping_islands(system, contact_work, q, v, articulations, islands, first)
    keep_impulses(contact_work, islands, first)
    list_body_blocks(size, articulations, contact_work.rows, contact_work.sleep.asleep, G)
    set_ineffective_bounds(system.tree, work, contact_work, constraint_rows)
    if not factor_rows(system, work, v, articulations, contact_work.rows, contact_work.terms, G, contact_work.factors):
        contact_work.overflow[0] = 1
        return -1
    reset_limit_iteration(contact_work.joint_friction)
    for _ in range(settings.options.sweeps):  # algorithm 8, lines 8 to 25
        solve_impulses(settings.options, contact_work, equalities, constraint_rows, islands)
        apply_impulses(system, work, contact_work, size)
        again = update_friction_limits(system, work, contact_work, h, constraint_rows, size, settings.options.tolerance)
        if not (update_coupled_impulses(system, work, contact_work, islands) or again):
            break
    settle(system, work, contact_work, q, v, articulations, islands, first)
    return islands


# --- step -------------------------------------------------------------------------------------------------------------
@template(
    update_rates,
    accelerate,
    apply_inverse_mass,
    find_near_geoms,
    find_contacts,
    solve_tree_friction,
    solve_island,
    solve_motion,
    update_joint_reactions,
    update_friction_limits,
    start_coupled_impulses,
    add_coupled_impulses,
    update_coupled_impulses,
    add_implicit_impulses,
)
def solve_contact_step(system, work, contact_work, t, h, q, v, ledger) -> bool:
    """Replace the velocity v* (nv,) in place by the velocity after contacts and friction of a step of h.

    Return False if the contact capacity is exceeded; q, v and the ledger are then unchanged.
    """
    settings, patches = system.contacts, system.contacts.joint_friction.patches
    update_joint_reactions(system, work, contact_work.joint_friction)
    contact_work.step[0] = h
    contact_work.tree_friction.edges.number[0] = contact_work.tree_friction.edges.jams[0] = 0
    contact_work.tree_friction.repeats[0] = contact_work.tree_friction.time[0] == t
    contact_work.tree_friction.time[0] = t
    contact_work.contact_count[0] = contact_work.overflow[0] = count = 0
    equalities, limits = list_active_rows(work.rows, contact_work.active_rows)
    pairs = find_near_geoms(system, work, contact_work, h)
    if pairs + len(patches) > 0:
        keep_start_velocities(work.bodies, contact_work.start)
        update_rates(system, t, q, v, contact_work.free_acceleration, work)
        count = find_contacts(system, work, contact_work, h)
    if contact_work.overflow[0]:
        return False
    if count == 0:
        wake_all(contact_work.sleep)
    if count + len(patches) == 0:
        contact_work.warm_start_count[0] = 0
        return True
    contacts = contact_work.detection.contacts
    constraint_rows = contact_work.constraint_row_count[0] = equalities + limits
    first = constraint_rows + PER_CONTACT * len(patches)
    size, term = first + PER_CONTACT * count, len(work.terms)
    write_friction_rows(patches, work.bodies, contact_work.rows, contact_work.terms, constraint_rows, term)
    term += PER_CONTACT * TERMS * len(patches)
    write_contacts(contacts, count, work.bodies, contact_work.rows, contact_work.terms, first, term)
    compute_row_velocities(
        contact_work, contact_work.start, work.response, constraint_rows, size, contact_work.velocity_before
    )
    set_coefficients(patches, contact_work, constraint_rows, count)
    copy_rows(contact_work.active_rows, constraint_rows, work.rows, work.terms, contact_work.rows, contact_work.terms)
    compute_row_velocities(contact_work, work.bodies, v, 0, size, contact_work.r)
    for k in range(size):
        contact_work.velocity_after[k] = contact_work.r[k]
    islands, tolerance = 0, settings.options.tolerance
    has_other_rows = limits + count + count_other_rows(work.rows, contact_work.tree_friction.satisfied) > 0
    if has_other_rows or not solve_tree_friction(system, work, contact_work, h, v, constraint_rows, tolerance):
        islands = solve_rows(system, work, contact_work, h, q, v, equalities, constraint_rows, count, has_other_rows)
        if islands < 0:
            return False
    account_joint_friction(patches, contact_work, work.bodies, work.response, constraint_rows, ledger)
    account_contacts(settings, contact_work, work.bodies, work.response, equalities, islands, first, count, ledger)
    account_row_work(work, contact_work, equalities, ledger)
    if len(system.motions.rows) > 0:
        apply_row_impulses(work, contact_work, size)
        apply_primary_row_impulses(system.tree, work)
        add_implicit_impulses(system, work)
        add_coupled_impulses(system, work)
        transmit_impulses(system.tree, contact_work, constraint_rows, work)
        account_reaction_impulses(system.motions, work, v, ledger)
    store_warm_start(contacts, count, contact_work.warm_start, contact_work.warm_start_count)
    for j in range(len(v)):
        v[j] += work.response[j]
    delay_impacts(system.tree, contact_work, equalities, constraint_rows, first, count, q, v, work.response)
    if count > 0 and correct_penetration(settings, contact_work, h, constraint_rows, islands):
        apply_impulses(system, work, contact_work, size)
        displace(system.tree, q, work.response, 1.0)
        normalize(system.tree, q)
    if len(patches) > 0 and displace_trees(system, work, contact_work, h, v, constraint_rows, islands):
        displace(system.tree, q, work.response, 1.0)
        normalize(system.tree, q)
    record_diagnostics(contact_work, islands)
    return True


def bind(system: System, add_implicit_impulses: Any, **kernels: Any) -> Any:
    """Bind the contact step to the features of a system, and to the kernels of a method and of coupled forces."""
    contacts, impulses = system.contacts, {"add_implicit_impulses": add_implicit_impulses}
    staggered = contacts.options.staggered
    if len(contacts.geometry.geoms) > 0:
        kernels |= {"find_near_geoms": detect_near_geoms, "find_contacts": detect_contacts}
    if len(contacts.joint_friction.patches) > 0:
        kernels["update_joint_reactions"] = bound_kernel(joint_friction.update_joint_reactions, **impulses)
        kernels["update_friction_limits"] = bound_kernel(joint_friction.update_friction_limits, **impulses)
    if passes := None if staggered else tree_friction.passes_for(system, add_implicit_impulses):
        kernels["solve_motion"] = passes.solve_motion
        kernels["solve_tree_friction"] = bound_kernel(tree_friction.solve_tree_friction, **passes._asdict())
    return bound_kernel(solve_contact_step, solve_island=solution.SOLVERS[staggered], **impulses, **kernels)
