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
from multibody_cli.kernel import kernel
from multibody_cli.tree.energy import gravity_energy, kinetic_energy


@kernel
def store_energy(system, work, step, q):
    """Compute the energy at the current state, J; it is the modified energy at the start of a run."""
    step.energy[1] = gravity_energy(system.tree, work.bodies) + elastic_energy(system.forces, q, work.bodies)
    step.energy[0] = step.energy[2] = step.energy[1] + kinetic_energy(system.tree, work.bodies)


@kernel
def update_modified_energy(system, work, step, kinetic, q):
    """Compute the modified energy of the last step; `kinetic` is the kinetic part of its discrete energy, J."""
    share, start, potential = step.settings.first_kick, step.energy[0], step.energy[1]
    store_energy(system, work, step, q)
    discrete = kinetic + share * potential + (1.0 - share) * step.energy[1]
    order = 1.0 / share
    modified = (0.5 * order * (start + step.energy[0]) + discrete) / (order + 1.0)
    step.energy[2] = modified if len(step.settings.stages) == 1 else step.energy[0]
