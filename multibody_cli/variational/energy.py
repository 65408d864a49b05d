"""The modified energy: what a variational integrator of constant step keeps in place of the energy.

The steps of h follow the exact flow of a modified Hamiltonian H~ = H + h^p H_p + ..., p being the order, of which the
discrete Lagrangian is the action: L_d(h) = S(h; H~_h).  Its derivative E_d = -dL_d/dh, the discrete energy, differs
from H~ because H~ itself depends on h:

    E_d = H~ + p h^p H_p + ... ,    and so    H~ = (p H + E_d) / (p + 1) + higher orders,

with H the mean of its values at both ends.  What is left of its wavering falls as h^4 for p = 2.  Composed steps of
higher order have no such formula: for these H itself is given.

Sources: Kane, Marsden and Ortiz, J. Math. Phys. 40 (1999), for the discrete energy; Hairer, Lubich and Wanner, IX.3,
for the modified Hamiltonian.
"""

from __future__ import annotations

from multibody_cli.forces.elements import elastic_energy
from multibody_cli.kernel import kernel
from multibody_cli.tree.energy import gravity_energy, kinetic_energy


@kernel
def begin_energy(system, work, ahead, q):
    """Take the energy of the first start, J."""
    ahead.energy[1] = gravity_energy(system.tree, work.bodies) + elastic_energy(system.forces, q, work.bodies)
    ahead.energy[0] = ahead.energy[2] = ahead.energy[1] + kinetic_energy(system.tree, work.bodies)


@kernel
def modify_energy(system, work, ahead, kinetic, q):
    """Work out the modified energy of a step that has just ended, from the kinetic part of its discrete energy, J."""
    share, start, potential = ahead.settings.first_kick, ahead.energy[0], ahead.energy[1]
    begin_energy(system, work, ahead, q)
    discrete = kinetic + share * potential + (1.0 - share) * ahead.energy[1]
    order = 1.0 / share
    modified = (0.5 * order * (start + ahead.energy[0]) + discrete) / (order + 1.0)
    ahead.energy[2] = modified if len(ahead.settings.stages) == 1 else ahead.energy[0]
