"""What the joints transmit: the wrench of each joint from parent to child, by one inward pass (Newton and Euler).

The wrench of a joint carries everything outside of it, W_i = I_i a_i + bias_i - pushes_i + the children's, and so
it contains the joint's own actuator, spring and damper, as a force sensor there would read.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import no_force, power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import change_of, own_inertia
from multibody_cli.tree.jacobian import gather_wrenches


@kernel
def transmit_all(tree, work):
    """Wrench of every joint about its origin, world axes, into `work.wrenches`, from the bodies' accelerations."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    store_force(wrenches[0], no_force())
    for i in range(1, len(links)):
        body = bodies[i]
        store_force(wrenches[i], own_inertia(links[i], body) @ change_of(body) + load_force(body))
    gather_wrenches(tree, work)


@kernel
def book_motions(motions, tau, v, work, powers):
    """Book the power of each prescribed coordinate: (S . W - tau) v, what its drive adds to the other forces."""
    rows, columns, wrenches = motions.rows, work.columns, work.wrenches
    for k in range(len(rows)):
        iv = rows[k].iv
        S = Motion(load(columns[iv].angular), load(columns[iv].linear))
        powers[rows[k].account] += (power(S, load_force(wrenches[rows[k].row])) - tau[iv]) * v[iv]
