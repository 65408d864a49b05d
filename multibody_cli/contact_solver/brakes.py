"""Brakes of combinations of coordinates and of paths: constant dry friction on a row that is not of one joint.

The row is the rate of a combination, or of the length of a path,

    u = sum_k c_k D_k . V_k         D_k: dual of a coordinate, V_k: twist of its child relative to its parent
    u = sum_k f_k n_k . d_k'        d_k = |d_k| n_k: line between two points, f_k: its factor (`cables.lines`)

and its friction impulse x has the law of a friction patch with one slip direction and a given limit:

    |x| <= h limit,   u = 0 inside,   x = -h limit sign(u) on the boundary.

A point that moves in its body with a coordinate (`cables.moving`) adds f_k n_k . R p' dq/dt, with dq/dt = D . V.

Terms are wrenches on bodies, so that accelerations for output and variational steps contain them as they are.  Passes
over trees do not have these rows: an island with a brake is solved by rows.  An elimination would have to carry each
row to the last common ancestor of its bodies, as `constraint_solver.row_elimination` does for equalities, and its state
with it.
"""

from __future__ import annotations

from multibody_cli.cables.lines import is_passed, line_to, moves, trace
from multibody_cli.cables.moving import slope_of
from multibody_cli.constraints.rows import write_point_force, write_wrench
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.kernel import kernel, lazy_kernel
from multibody_cli.model import JointFriction
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, shift_force, transposed_times
from multibody_cli.spatial.values import Force


def most_terms(table: JointFriction) -> int:
    """Return the largest number of terms of all brakes: two for a coordinate, and three for an end of a line."""
    points = table.brakes["last_point"] - table.brakes["first_point"]
    return 2 * len(table.brake_terms) + 6 * int(points.sum())


@lazy_kernel
def write_brake_rows(system, work, step, row, term) -> int:
    """Write three rows for each brake, from `row` on, of which the second one has terms; return the next term."""
    table, rows, terms = system.contacts.joint_friction, step.rows, step.terms
    for b in range(len(table.brakes)):
        brake, first = table.brakes[b], term
        for k in range(brake.first_term, brake.last_term):
            of = table.brake_terms[k]
            W, at = of.coefficient * load_force(work.dual_basis[of.dual]), load(work.bodies[of.row].x)
            term = write_wrench_at(of.parent, -W, at, work.bodies, terms, term)
            term = write_wrench_at(of.child, W, at, work.bodies, terms, term)
        points, i = system.forces.points, brake.first_point
        trace(points, brake.first_point, brake.last_point, work.bodies)
        for k in range(brake.first_point + 1, brake.last_point):
            if is_passed(points, k):
                factor = points.entries[k].factor
                if factor > 0.0:
                    r, s, n, _ = line_to(points, i, k, work.bodies)
                    term = write_end(points, i, r, -factor * n, work.bodies, terms, term)
                    term = write_end(points, k, s, factor * n, work.bodies, terms, term)
                i = k
        for j in range(PER_CONTACT):
            rows[row + j].first_term = first
            rows[row + j].last_term = term if j == 1 else first
            rows[row + j].rate = rows[row + j].bias = 0.0
        row += PER_CONTACT
    return term


@kernel
def write_end(points, k, lever, force, bodies, terms, term) -> int:
    """Write a force on entry k as terms of bodies, with that on the coordinate with which the point moves."""
    entry = points.entries[k]
    term = write_point_force(terms, term, entry.row, lever, force)
    if moves(points, entry):
        motion = points.motions[entry.motion]
        term = write_dual_wrench(motion, dot(force, slope_of(motion, bodies[entry.row])), bodies, terms, term)
    return term


@kernel
def write_dual_wrench(motion, force, bodies, terms, k) -> int:
    """Write a force on the coordinate with which a point moves as terms of the bodies of its joint."""
    W, at = force * load_force(motion), load(bodies[motion.frame].x)
    k = write_wrench_at(motion.parent, -W, at, bodies, terms, k)
    return write_wrench_at(motion.child, W, at, bodies, terms, k)


@kernel
def write_wrench_at(body, W, at, bodies, terms, k) -> int:
    """Write the wrench W about a point of the world as a term of a body, unless it is the ground."""
    if body > 0:
        own = shift_force(W, at - load(bodies[body].x))
        write_wrench(terms[k], body, own.t, own.f)
        k += 1
    return k


@kernel
def store_brake_forces(table, work, joint_friction, h):
    """Store the forces of all brakes for output, the impulses of the last step over h, and their wrenches at joints."""
    patches = len(table.patches)
    for b in range(len(table.brakes)):
        brake, x = table.brakes[b], joint_friction.previous_impulses[patches + b, 1] / h
        joint_friction.brake_force[b] = -x if brake.last_point > brake.first_point else x
        for k in range(brake.first_term, brake.last_term):
            of = table.brake_terms[k]
            M, W = load(work.bodies[of.row].R), (x * of.coefficient) * load_force(work.dual_basis[of.dual])
            store_force(joint_friction.brake_wrench[k], Force(transposed_times(M, W.t), transposed_times(M, W.f)))
