"""Forces within a step, for the option `implicit_forces`: at its middle, or at its end with order 1.

The motion of a step from (c, R, q) to (c', R', q') is uniform: the center of mass of a body has the velocity
(c' - c) / h, its rotation vector phi grows at phi / h, and coordinates change at their mean rates.  All forces are
evaluated once, at the part theta of the step; q' is the iterate, so that they are implicit.

With theta = 1/2 they belong to the discrete Lagrangian -h V(middle).  A small rotation d' at the end turns the middle
by (d' - T x d') / 2, and a small rotation d at the start by (d + T x d) / 2, where T = u / (1 + s) for the quaternion
(s, u) of the rotation phi.  A moment t about the center of mass and a force f at the middle are therefore the impulses

    start    h/2 (t - T x t, f)                end    h/2 (t + T x t, f)

about the center of mass there.  Their sum is that of h (t, f) at the mean position, so that forces between bodies
conserve momenta.  A joint force is h/2 tau at both ends.  Linear oscillators and dampers take steps of the implicit
midpoint rule.  With theta = 1 the impulse h (t, f) acts at the start, about the center of mass of the end: the implicit
Euler method.

All other forces, weight and reactions, act at both ends of the step (`step`), as without the option; they are those of
`nodes`, a system without force elements.

The quasi-Newton matrix of RIQN is M - theta h D - (theta h)^2 K of the start (`implicit.implicit_forces`), and Newton's
method adds the exact derivatives of the impulses at the start.

Sources: Marsden and West, Discrete mechanics and variational integrators, Acta Numerica 10 (2001), 2.1 and 2.3; Kane,
Marsden, Ortiz and West, Variational integrators and the Newmark algorithm, IJNME 49 (2000).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.constraint_solver.loop_frames import update_loop_frames
from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses
from multibody_cli.constraint_solver.projection import compute_velocity_residuals
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.forces.elements import apply_forces, elastic_energy
from multibody_cli.implicit.implicit_forces import set_implicit_coefficients
from multibody_cli.kernel import allocate, formula, kernel, lazy_kernel, lazy_template
from multibody_cli.linalg.vectors import add_scaled, copy
from multibody_cli.method_kernels import evaluate
from multibody_cli.model import Floats, Records, System
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import cross, no_force
from multibody_cli.spatial.rotations import (
    quaternion_of_vector,
    quaternion_product,
    rotation_of_quaternion,
    vector_of_quaternion,
)
from multibody_cli.spatial.values import Force
from multibody_cli.tree.configuration import displace, read_quaternion
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.kinematics import forward_kinematics
from multibody_cli.tree.markers import transfer_marker_wrenches, update_markers
from multibody_cli.tree.workspace import WRENCH, Work, workspace_for
from multibody_cli.variational.constrained import clear_loop_coordinates
from multibody_cli.variational.discrete_motion import (
    add_impulses,
    end_center_of_mass,
    relative_quaternion,
    rotation_factor,
)


class StepForces(NamedTuple):
    """The forces within a step, for n velocities.

    Without the option, arrays are empty, `nodes` is the system, and `work` has its work arrays.
    """

    nodes: System  # of the evaluations at both ends of a step
    work: Work  # bodies and coordinates at the part theta of the step
    time: Annotated[Floats, 1]  # there, s
    energy: Annotated[Floats, 1]  # elastic energy there, J
    powers: Annotated[Floats, "na"]  # of each energy account
    q_start: Annotated[Floats, "nq"]
    q_end: Annotated[Floats, "nq"]
    q: Annotated[Floats, "nq"]
    rates: Annotated[Floats, "n"]  # mean rates, those of loop joints included
    tau: Annotated[Floats, "n"]  # generalized forces
    at_start: Annotated[Records, "l", WRENCH]  # wrenches about the origins at the start
    at_end: Annotated[Records, "l", WRENCH]
    kept: Annotated[Records, "l", WRENCH]  # scratch of `newton_forces`, like the following
    unit: Annotated[Floats, "n"]
    scaled: Annotated[Floats, "n"]
    change: Annotated[Floats, "n"]
    coefficients: Annotated[Floats, 3]


def explicit_forces(system: System, work: Work) -> StepForces:
    """Return empty arrays: all forces act at both ends of a step."""
    return allocate(StepForces, nodes=system, work=work, na=0, nq=0, n=0, l=0)


def implicit_forces_for(system: System, nq: int, accounts: int) -> StepForces:
    """Allocate the arrays of forces within a step; nq is the length of q."""
    tables = tuple(table[:0] for table in system.forces.tables)
    nodes = system._replace(forces=system.forces._replace(tables=tables))
    work, n, bodies = workspace_for(system), len(system.tree.driven), len(system.tree.links)
    work.implicit_coefficients[1] = -1.0  # iterates raise no warnings
    return allocate(StepForces, nodes=nodes, work=work, na=accounts, nq=nq, n=n, l=bodies)


@formula
def act_within_step(forces):
    """Return whether forces act within the step, not at its ends."""
    return len(forces.at_start) > 0


# --- start of a step ----------------------------------------------------------------------------------------------
@lazy_template(evaluate)
def begin_forces(system, work, step, t, h, q, v):
    """Factor the quasi-Newton matrix of a step, and compute the accelerations of a linearly implicit one."""
    part = step.settings.first_kick * h
    copy(q, step.forces.q_start)
    set_implicit_coefficients(system.tree, work, part, part, 0.0)
    copy(v, work.implicit_rates)
    evaluate(system, work, t, q, v, step.a, step.powers)
    write_ball_columns(system.tree, work)
    compute_velocity_residuals(work, v)


# --- evaluation ---------------------------------------------------------------------------------------------------
@lazy_kernel
def evaluate_forces(system, step, t, h):
    """Evaluate all forces of a step that ends at t with the poses of the iterate, and their impulses at both ends."""
    tree, forces, theta = system.tree, step.forces, step.settings.first_kick
    work, bodies, discrete_motions = forces.work, forces.work.bodies, step.discrete_motions
    write_mean_rates(tree, step, h)
    copy(forces.q_start, forces.q)
    displace(tree, forces.q, forces.rates, theta * h)
    if len(system.forces.points.motions) > 0:  # which read the motion subspaces
        forward_kinematics(tree, forces.q, forces.rates, step.scratch, work)
        write_ball_columns(tree, work)
    for i in range(1, len(discrete_motions)):
        place_within(tree.links[i], discrete_motions[i], bodies[i], theta, h)
    for i in range(len(bodies)):
        store_force(bodies[i], no_force())
    update_markers(tree, bodies)
    if len(system.forces.points.motions) > 0 and len(tree.closures) > 0:
        copy(forces.q, forces.q_end)
        update_loop_frames(tree, forces.q_end, forces.rates, work)
    forces.time[0] = t - (1.0 - theta) * h
    apply_forces(system.forces, forces.time[0], forces.q, forces.rates, work, forces.powers)
    forces.energy[0] = elastic_energy(system.forces, forces.q, bodies)
    transfer_marker_wrenches(tree, bodies, bodies)
    copy(work.tau, forces.tau)
    for i in range(1, len(discrete_motions)):
        write_impulses(tree.links[i], discrete_motions[i], bodies[i], forces.at_start[i], forces.at_end[i], theta)


@kernel
def write_mean_rates(tree, step, h):
    """Compute the mean rates of all coordinates over the step; those of loop joints are fitted to the poses."""
    forces, discrete_motions, bodies = step.forces, step.discrete_motions, step.forces.work.bodies
    q, q_end, rates = forces.q_start, forces.q_end, forces.rates
    copy(step.q, q_end)
    if len(tree.closures) > 0:
        for i in range(1, len(discrete_motions)):
            store(bodies[i].x, load(discrete_motions[i].x))
            store(bodies[i].R, load(discrete_motions[i].R))
        update_markers(tree, bodies)
        update_loop_frames(tree, q_end, rates, forces.work)
    for k in range(len(tree.plain)):
        rates[tree.plain[k].iv] = (q_end[tree.plain[k].iq] - q[tree.plain[k].iq]) / h
    for k in range(len(tree.quaternions)):
        quaternion, iv = tree.quaternions[k], tree.quaternions[k].iv
        s, u = read_quaternion(q, quaternion.iq)
        s_end, u_end = read_quaternion(q_end, quaternion.iq)
        if quaternion.outer:
            s, u = quaternion_product(s, -u, s_end, u_end)
        else:
            s, u = quaternion_product(s_end, u_end, s, -u)
        w = vector_of_quaternion(s, u)
        rates[iv], rates[iv + 1], rates[iv + 2] = w.x / h, w.y / h, w.z / h


@formula
def place_within(link, discrete_motion, body, theta, h):
    """Write pose and twist of a body at the part `theta` of the step."""
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    phi, moved = rotation_factor(s, u)[0] * u, end_center_of_mass(link, discrete_motion) - load(discrete_motion.c)
    cosine, p = quaternion_of_vector(theta * phi)
    R = rotation_of_quaternion(cosine, p.x, p.y, p.z) @ load(discrete_motion.R_start)
    r, w = R @ load(link.com), (1.0 / h) * phi
    store(body.R, R)
    store(body.x, load(discrete_motion.c) + theta * moved - r)
    store(body.w, w)
    store(body.v, (1.0 / h) * moved - cross(w, r))


@formula
def write_impulses(link, discrete_motion, body, at_start, at_end, theta):
    """Write the wrench on a body for both ends of the step, about the origins there."""
    W, com = -load_force(body), load(link.com)
    moment = W.t - cross(load(body.R) @ com, W.f)
    store_force(at_start, wrench_at_start(link, discrete_motion, Force(moment, W.f), theta))
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    twisted = moment + (1.0 / (1.0 + s)) * cross(u, moment)
    store_force(at_end, Force(twisted + cross(load(discrete_motion.R) @ com, W.f), W.f))


@formula
def wrench_at_start(link, discrete_motion, W, theta):
    """Return a wrench about the center of mass at the part `theta` of the step as a wrench about the start origin."""
    r = load(discrete_motion.R_start) @ load(link.com)
    if theta == 1.0:
        moved = end_center_of_mass(link, discrete_motion) - load(discrete_motion.c)
        return Force(W.t + cross(r + moved, W.f), W.f)
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    return Force(W.t - (1.0 / (1.0 + s)) * cross(u, W.t) + cross(r, W.f), W.f)


@formula
def add_force_impulses(forces, share, work):
    """Add the impulses of the forces within the step over a time `share`, as they act at the start."""
    for i in range(1, len(forces.at_start)):
        store_force(work.wrenches[i], load_force(work.wrenches[i]) + share * load_force(forces.at_start[i]))
    for j in range(len(forces.tau)):
        work.impulse[j] += share * forces.tau[j]


# --- end of a step ------------------------------------------------------------------------------------------------
@lazy_kernel
def end_forces(system, work, step, h):
    """Apply the impulses at the end of a step to its momenta; the kinematics there are in `work`.

    `at_end` then holds those of the wrenches.
    """
    forces, share = step.forces, (1.0 - step.settings.first_kick) * h
    clear_impulses(work)
    add_scaled(work.impulse, share, forces.tau)
    apply_loop_impulses(system.tree, work.impulse, work)
    add_impulses(step.discrete_motions, work.wrenches)
    for i in range(1, len(forces.at_end)):
        store_force(forces.at_end[i], share * load_force(forces.at_end[i]))
    add_impulses(step.discrete_motions, forces.at_end)
    clear_loop_coordinates(system.tree, work.impulse)
    for j in range(len(work.impulse)):
        step.residual_carry_over[j] += work.impulse[j]


@kernel
def evaluate_explicitly(system, work):
    """Make further evaluations explicit."""
    set_implicit_coefficients(system.tree, work, 0.0, 0.0, 0.0)
