"""What the joints transmit: the wrench of each joint from parent to child, by one inward pass (Newton and Euler).

The wrench of a joint carries everything outside of it, W_i = I_i a_i + bias_i - pushes_i + the children's, and so
it contains the joint's own actuator, spring and damper, as a force sensor there would read.
"""

from __future__ import annotations

from multibody_cli.dynamics.articulated import change_of, own_inertia
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import no_force, power, shift_force
from multibody_cli.spatial.values import Motion


@kernel
def transmit_all(tree, work):
    """Wrench of every joint about its origin, world axes, into `work.wrenches`, from the bodies' accelerations."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    for i in range(len(links)):
        store_force(wrenches[i], no_force())
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        taken = own_inertia(link, body) @ change_of(body) + load_force(body)
        W = taken + load_force(wrenches[i])
        store_force(wrenches[i], W)
        store_force(wrenches[link.parent], load_force(wrenches[link.parent]) + shift_force(W, load(body.r)))


@kernel
def book_motions(motions, tau, v, work, powers):
    """Book the power of each prescribed coordinate: (S . W - tau) v, what its drive adds to the other forces."""
    rows, columns, wrenches = motions.rows, work.columns, work.wrenches
    for k in range(len(rows)):
        iv = rows[k].iv
        S = Motion(load(columns[iv].angular), load(columns[iv].linear))
        powers[rows[k].account] += (power(S, load_force(wrenches[rows[k].row])) - tau[iv]) * v[iv]
