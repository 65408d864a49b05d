"""The DEL residual by sums over all bodies that a coordinate moves: O(n^2), for comparison with DRNEA.

Source: Johnson and Murphey, Scalable variational integrators for constrained mechanical systems in generalized
coordinates, IEEE Trans. Robotics 25 (2009), with whom Lee, Liu, Park and Srinivasa 2016, 4.3, compare.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel, template
from multibody_cli.linalg.vectors import copy
from multibody_cli.method_kernels import impulse_response
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import no_force, power, shift_force
from multibody_cli.tree.jacobian import column_of
from multibody_cli.variational.constrained import transfer_impulses_to_bodies


@kernel
def svi_residual(tree, work, residual):
    """Compute the residual (n,), body by body for each coordinate.

    The body residuals are in `work.wrenches`, impulses on the coordinates in `work.impulse`.
    """
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    for j in range(len(residual)):
        residual[j] = 0.0 if tree.driven[j] else work.impulse[j]
    for i in range(1, len(links)):
        carrier = i
        while carrier > 0:
            link = links[carrier]
            F = shift_force(load_force(wrenches[i]), load(bodies[i].x) - load(bodies[carrier].x))
            for j in range(link.iv, link.iv + link.nv):
                if not tree.driven[j]:
                    residual[j] += power(column_of(work.columns[j]), F)
            carrier = link.parent


@template(impulse_response)
def riqn_svi_response(system, work, step, h):
    """Like `riqn_response`, with the residual by `svi_residual`."""
    transfer_impulses_to_bodies(system.tree, work)
    svi_residual(system.tree, work, step.solver.dense.residual)
    for i in range(len(work.child_inertias)):
        store_force(work.wrenches[i], no_force())
    copy(step.solver.dense.residual, work.impulse)
    impulse_response(system, work)
