"""The residual of a step by sums over all bodies that a coordinate moves: O(n^2), for comparison with the recursion.

Source: Johnson and Murphey, Scalable variational integrators for constrained mechanical systems in generalized
coordinates, IEEE Trans. Robotics 25 (2009), with whom Lee, Liu, Park and Srinivasa 2016, 4.3, compare.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.solver import answer
from multibody_cli.kernel import kernel
from multibody_cli.kkt.assembly import column_of
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import no_force, power, shift_force
from multibody_cli.variational.newton import hand_on_all


@kernel
def sum_lacks(tree, work, lacks):
    """What the coordinates lack, for impulses in `work.wrenches` and `work.impulse`: each body for each coordinate."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    hand_on_all(tree, work)
    for j in range(len(lacks)):
        lacks[j] = 0.0 if tree.driven[j] else work.impulse[j]
    for i in range(1, len(links)):
        carrier = i
        while carrier > 0:
            link = links[carrier]
            F = shift_force(load_force(wrenches[i]), load(bodies[i].x) - load(bodies[carrier].x))
            for j in range(link.iv, link.iv + link.nv):
                if not tree.driven[j]:
                    lacks[j] += power(column_of(work.columns[j]), F)
            carrier = link.parent


def answer_by_start_to_sums(system, work, ahead, h):
    """`answer_by_start`, with the residual by sums."""
    sum_lacks(system.tree, work, ahead.solver.dense.lacks)
    for i in range(len(work.inboxes)):
        store_force(work.wrenches[i], no_force())
    for j in range(len(work.impulse)):
        work.impulse[j] = ahead.solver.dense.lacks[j]
    answer(system, work)
