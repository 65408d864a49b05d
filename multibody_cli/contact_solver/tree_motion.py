"""Motion of a tree with joint friction and implicit forces on bodies (`implicit.implicit_forces`), for given states.

The matrix of implicit forces is P - R, where P has the inertias of the bodies and the diagonal blocks B of the forces.
P keeps the structure of the tree: one pass (`friction_elimination`) computes the motion V of the bodies under the
impulses r on the bodies.  R couples bodies.  The motion is that with

    r = R V = w + B V,

where w are the impulses that the implicit forces add within the step.  r is computed by a fixed-point iteration with
Anderson acceleration, which for a linear problem is GMRES.  Forces between one body and the ground need one pass.
"""

from __future__ import annotations

import math

from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.contact_solver.friction.anderson import extrapolate_unweighted, store_iteration
from multibody_cli.contact_solver.friction_elimination import solve_motion_once
from multibody_cli.forces.element_products import add_stiffness_blocks
from multibody_cli.implicit.implicit_forces import add_implicit_impulses
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force, no_inertia
from multibody_cli.spatial.values import Force
from multibody_cli.tree.articulated_body import load_inertia, load_motion_change, rigid_body_inertia, store_inertia

MAX_PASSES = 100
"""Largest number of passes for one motion."""

TOLERANCE = 1e-13
"""Largest change of an impulse in the last pass, relative to the largest motion in any, both in units of energy."""


@kernel
def solve_motion(system, work, joint_friction, passes, h, v) -> bool:
    """Compute the change `work.response` (nv,) of v (nv,), and of the motion of the bodies, for the states of `passes`.

    Return False if a joint cannot be eliminated, or if the iteration for implicit forces does not converge.
    """
    if system.implicit:
        return solve_motion_implicitly(system, work, joint_friction, passes, h, v)
    return solve_motion_once(system, work, joint_friction, passes, h, v)


@lazy_kernel
def solve_motion_implicitly(system, work, joint_friction, passes, h, v) -> bool:
    """`solve_motion` with implicit forces on bodies."""
    coupling, bodies, motion = passes.coupling, work.bodies, 0.0
    write_blocks(system, work, coupling)
    for iteration in range(MAX_PASSES):
        if not solve_motion_once(system, work, joint_friction, passes, h, v):
            return False
        clear_impulses(work)
        add_implicit_impulses(system, work)
        error = 0.0
        for i in range(1, len(coupling.blocks)):
            V, moment, force = load_motion_change(bodies[i]), coupling.moment[i], coupling.force[i]
            r = load_force(work.wrenches[i]) + load_inertia(coupling.blocks[i]) @ V
            store_force(coupling.x.wrenches[i], scaled(r, 1.0 / moment, 1.0 / force))
            store_force(
                coupling.gap.wrenches[i], scaled(r - load_force(coupling.impulses[i]), 1.0 / moment, 1.0 / force)
            )
            error = max(error, largest(load_force(coupling.gap.wrenches[i])))
            motion = max(motion, largest(scaled(Force(V.w, V.v), moment, force)))
        if not math.isfinite(error) or error <= TOLERANCE * motion:
            return error <= TOLERANCE * motion
        store_iteration(coupling.iterations, coupling.gap.numbers, coupling.x.numbers, iteration == 0)
        extrapolate_unweighted(coupling.iterations, coupling.x.numbers)
        for i in range(1, len(coupling.blocks)):
            store_force(
                coupling.impulses[i], scaled(load_force(coupling.x.wrenches[i]), coupling.moment[i], coupling.force[i])
            )
    return False


@kernel
def write_blocks(system, work, coupling):
    """Compute the diagonal blocks of all bodies, and the scales of moments and forces on them."""
    h, links, bodies = work.implicit_coefficients[0], system.tree.links, work.bodies
    for i in range(len(coupling.blocks)):
        store_inertia(coupling.blocks[i], no_inertia())
        store_force(coupling.x.wrenches[i], no_force())
    add_stiffness_blocks(system.forces, work.implicit_solve.time[0], bodies, h * h, h, coupling.blocks)
    for i in range(1, len(coupling.blocks)):
        A = rigid_body_inertia(links[i], bodies[i]) + load_inertia(coupling.blocks[i])
        coupling.moment[i], coupling.force[i] = scale_of(A.J), scale_of(A.M)


@formula
def scale_of(A):
    """Return the square root of the trace of an inertia; 1 if there is none."""
    trace = A.xx + A.yy + A.zz
    return math.sqrt(trace) if trace > 0.0 else 1.0


@formula
def scaled(w, moment, force):
    """Return a wrench, or the numbers of a motion, with moment and force times two factors."""
    return Force(moment * w.t, force * w.f)


@formula
def largest(w):
    """Return the largest absolute value of the six numbers of a wrench."""
    moment = max(abs(w.t.x), abs(w.t.y), abs(w.t.z))
    return max(moment, abs(w.f.x), abs(w.f.y), abs(w.f.z))
