"""The DEL residual and its derivative by sums over all bodies that a coordinate moves, for comparison with DRNEA.

The residual costs O(n^2).  Its derivative (`newton`) is a sum over bodies for each pair of coordinates, O(n^3):

    N[j, l] = sum_i  S_j . h D_i S_l'

Source: Johnson and Murphey, Scalable variational integrators for constrained mechanical systems in generalized
coordinates, IEEE Trans. Robotics 25 (2009), with whom Lee, Liu, Park and Srinivasa 2016, 4.3, compare.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel, template
from multibody_cli.linalg.vectors import copy
from multibody_cli.method_kernels import impulse_response
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import no_force, power, shift_force, shift_motion
from multibody_cli.tree.jacobian import column_of
from multibody_cli.variational.constrained import transfer_impulses_to_bodies
from multibody_cli.variational.discrete_motion import write_derivative
from multibody_cli.variational.newton import block_times, fill_identity


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


@kernel
def svi_jacobian(tree, work, step):
    """Compute N, pair by pair of the coordinates that move each body: `evaluate_jacobian`."""
    links, driven, dense, N = tree.links, tree.driven, step.solver.dense, step.solver.dense.N
    fill_identity(N)
    for j in range(len(N)):
        N[j, j] = 1.0 if driven[j] else tree.armature[j]
    for i in range(1, len(links)):
        write_derivative(dense.composites.wrenches, 0, links[i], work.bodies[i], step.discrete_motions[i])
        carrier = i
        while carrier > 0:
            link = links[carrier]
            r = load(dense.work.bodies[i].x) - load(dense.work.bodies[carrier].x)
            for k in range(link.iv, link.iv + link.nv):
                if not driven[k]:
                    y = shift_motion(column_of(dense.work.columns[k]), r)
                    add_to_column(tree, work, i, k, block_times(dense.composites.numbers, 0, 6, 1, y), N)
            carrier = link.parent


@kernel
def add_to_column(tree, work, i, k, p, N):
    """Add the change p of the momentum of body i, due to coordinate k, to column k of N."""
    while i > 0:
        link = tree.links[i]
        for j in range(link.iv, link.iv + link.nv):
            if not tree.driven[j]:
                N[j, k] += power(column_of(work.columns[j]), p)
        p = shift_force(p, load(work.bodies[i].r))
        i = link.parent


@template(impulse_response)
def riqn_svi_response(system, work, step, h):
    """Like `riqn_response`, with the residual by `svi_residual`."""
    transfer_impulses_to_bodies(system.tree, work)
    svi_residual(system.tree, work, step.solver.dense.residual)
    for i in range(len(work.child_inertias)):
        store_force(work.wrenches[i], no_force())
    copy(step.solver.dense.residual, work.impulse)
    impulse_response(system, work)
