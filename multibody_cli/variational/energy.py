"""Modified energy: the conserved quantity of a variational integrator with constant step.

Steps of length h follow the exact flow of a modified Hamiltonian H~ = H + h^p H_p + ..., where p is the order.  The
discrete Lagrangian is the action of H~: L_d(h) = S(h; H~_h).  The discrete energy E_d = -dL_d/dh differs from H~
because H~ depends on h:

    E_d = H~ + p h^p H_p + ... ,    and so    H~ = (p H + E_d) / (p + 1) + higher orders,

where H is the mean of the energies at both ends.  The remaining error oscillates and decreases as h^4 for p = 2.
Composed steps of higher order have no such formula: for them the modified energy is H.

Sources: Kane, Marsden and Ortiz, J. Math. Phys. 40 (1999), for the discrete energy; Hairer, Lubich and Wanner, IX.3,
for the modified Hamiltonian.
"""

from __future__ import annotations

from multibody_cli.forces.elements import elastic_energy
from multibody_cli.kernel import formula, kernel, lazy_template, template
from multibody_cli.linalg.vectors import add_scaled
from multibody_cli.method_kernels import evaluate
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import dot
from multibody_cli.tree.energy import armature_energy, gravity_energy, kinetic_energy
from multibody_cli.variational.discrete_motion import (
    coupling_of,
    end_center_of_mass,
    relative_quaternion,
    rotation_factor,
)
from multibody_cli.variational.se3 import coupling_energy


@kernel
def store_energy(system, work, step, q, v):
    """Compute the energy at the current state, J; it is the modified energy at the start of a run."""
    elastic = elastic_energy(system.forces, q, work.bodies)
    gravity = gravity_energy(system.tree, work.bodies)
    step.energy[1] = gravity if len(step.forces.at_start) > 0 else gravity + elastic
    step.energy[0] = step.energy[2] = (
        gravity + elastic + kinetic_energy(system.tree, work.bodies) + armature_energy(system.tree, v)
    )


@kernel
def discrete_kinetic_energy(tree, step, h) -> float:
    """Return the kinetic part of the discrete energy -dL_d/dh of a step, J.

    Call it before `discrete_legendre_transform`.
    """
    links, energy = tree.links, 0.0
    for i in range(1, len(links)):
        link, discrete_motion = links[i], step.discrete_motions[i]
        d = end_center_of_mass(link, discrete_motion) - load(discrete_motion.c)
        s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
        a, _, _ = rotation_factor(s, u)
        energy += 0.5 * link.mass * dot(d, d) + 0.5 * a * a * dot(u, load(discrete_motion.J) @ u)
        if discrete_motion.coupled_mass > 0.0:
            D, _, u, factor = coupling_of(link, discrete_motion)
            energy += coupling_energy(discrete_motion.coupled_mass, D, u, factor)
    return energy / (h * h) + armature_energy(tree, step.rate)


@kernel
def update_modified_energy(system, work, step, kinetic, q, v):
    """Compute the modified energy of the last step; `kinetic` is the kinetic part of its discrete energy, J."""
    share, start, potential = step.settings.first_kick, step.energy[0], step.energy[1]
    store_energy(system, work, step, q, v)
    discrete = kinetic + share * potential + (1.0 - share) * step.energy[1] + step.forces.energy[0]
    order = 1.0 / share
    modified = (0.5 * order * (start + step.energy[0]) + discrete) / (order + 1.0)
    step.energy[2] = modified if len(step.settings.stages) == 1 else step.energy[0]


@template(evaluate)
def account_powers(system, work, step, t, h, q, v, powers, ledger):
    """Compute the powers of all forces and drives at the state (t, q, v), and add their work over h to the ledger."""
    evaluate(step.forces.nodes, work, t, q, v, step.scratch, powers)
    add_drive_powers(system, work, step, t, q, v, powers)
    add_scaled(ledger, h, powers)


@template(evaluate)
def add_drive_powers(system, work, step, t, q, v, powers):
    """Compute the powers of prescribed motions and of rows at a node of the step, if there are any."""
    if step.settings.has_drives:
        compute_drive_powers(system, work, step, t, q, v, powers)


@lazy_template(evaluate)
def compute_drive_powers(system, work, step, t, q, v, powers):
    """Compute the powers of prescribed motions and of rows at a node, with its velocities from the momenta.

    They are functions of the state, so that the ledger has the order of the motion, also in composed steps; the forces
    that act at the end of a step are evaluated with velocities of second order.  The one-sided rows that act are those
    of these forces: one that has arrived since then has an impulse in the next step, in place of a multiplier.
    """
    exchange_activity(work, step.constrained.row_states)
    evaluate(system, work, t, q, v, step.scratch, step.powers)
    exchange_activity(work, step.constrained.row_states)
    copy_drive_powers(system.motions, work.rows, step.powers, powers)


@formula
def exchange_activity(work, row_states):
    """Exchange the one-sided rows that act with those that acted in the forces at this node."""
    for k in range(len(work.special_rows)):
        row, row_state = work.rows[work.special_rows[k]], row_states[work.special_rows[k]]
        if row.one_sided:
            row.active, row_state.acted = row_state.acted, row.active


@kernel
def copy_drive_powers(motions, rows, source, target):
    """Copy the powers (na,) of prescribed motions and of rows."""
    for k in range(len(motions.rows)):
        target[motions.rows[k].account] = source[motions.rows[k].account]
    for r in range(len(rows)):
        account = rows[r].drive if rows[r].one_sided else rows[r].account
        if account >= 0:
            target[account] = source[account]
