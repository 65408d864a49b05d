"""Joint wrenches from parent to child, by one inward pass (Newton and Euler).

The wrench of a joint is W_i = I_i a_i + bias_i - applied_i + the sum over its children.  It includes the joint's own
actuator, spring and damper, as a force sensor in the joint would report.  A joint of a planar body transmits forces
within the plane and moments about its normal; the plane itself supports the others.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, no_force, power
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia
from multibody_cli.tree.jacobian import accumulate_wrenches_inward


@kernel
def compute_joint_wrenches(tree, work):
    """Write the wrench of every joint about its origin, in world axes, into `work.wrenches`."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    store_force(wrenches[0], no_force())
    for i in range(1, len(links)):
        body = bodies[i]
        store_force(wrenches[i], rigid_body_inertia(links[i], body) @ load_motion_change(body) + load_force(body))
    accumulate_wrenches_inward(tree, work)
    for i in range(len(tree.normals_W) // 3):
        n, W = (
            Vec3(tree.normals_W[3 * i], tree.normals_W[3 * i + 1], tree.normals_W[3 * i + 2]),
            load_force(wrenches[i]),
        )
        if n.x != 0.0 or n.y != 0.0 or n.z != 0.0:
            store_force(wrenches[i], Force(dot(n, W.t) * n, W.f - dot(n, W.f) * n))


@kernel
def accumulate_drive_power(system, v, a, work, powers):
    """Add the power of each prescribed coordinate to its account in `powers` (na,), W.

    The power is (S . W + armature a - tau) v, where W is the joint wrench and tau are the other generalized forces.
    """
    rows, columns, wrenches = system.motions.rows, work.columns, work.wrenches
    for k in range(len(rows)):
        iv = rows[k].iv
        S = Motion(load(columns[iv].angular), load(columns[iv].linear))
        effort = power(S, load_force(wrenches[rows[k].row])) + system.tree.armature[iv] * a[iv] - work.tau[iv]
        powers[rows[k].account] += effort * v[iv]
