"""What the joints transmit: the wrench of each joint from parent to child, by one inward pass (Newton and Euler).

The wrench of a joint carries everything outside of it, W_i = I_i a_i + bias_i - pushes_i + the children's, and so
it contains the joint's own actuator, spring and damper, as a force sensor there would read.
"""

from __future__ import annotations

from multibody_cli.dynamics.articulated import own_inertia, own_wrench
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import no_force, power, shift_force
from multibody_cli.spatial.values import Force, Motion


@kernel
def transmit_all(tree, work):
    """Wrench of every joint about its origin, world axes, into `work.wrenches`, from the bodies' accelerations."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    for i in range(len(links)):
        write_wrench(wrenches[i], no_force())
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        taken = own_inertia(link, body) @ Motion(load(body.dw), load(body.dv)) + own_wrench(body)
        W = taken + read_wrench(wrenches[i])
        write_wrench(wrenches[i], W)
        write_wrench(wrenches[link.parent], read_wrench(wrenches[link.parent]) + shift_force(W, load(body.r)))


@kernel
def book_motions(motions, tau, v, work, powers):
    """Book the power of each prescribed coordinate: (S . W - tau) v, what its drive adds to the other forces."""
    rows, columns, wrenches = motions.rows, work.columns, work.wrenches
    for k in range(len(rows)):
        iv = rows[k].iv
        S = Motion(load(columns[iv].angular), load(columns[iv].linear))
        powers[rows[k].account] += (power(S, read_wrench(wrenches[rows[k].row])) - tau[iv]) * v[iv]


@formula
def read_wrench(record):
    """The wrench that lies there."""
    return Force(load(record.t), load(record.f))


@formula
def write_wrench(record, W):
    """Keep a wrench."""
    store(record.t, W.t)
    store(record.f, W.f)
