"""Discs, friction patches that slip in two directions, beside contacts and limits: laws like those of edges (`edges`).

The friction x of a disc is the projection of x - u / w onto the disc of radius `limit`, with the slip velocity u and
the response w if its body were free from others.  With the derivative D of this projection by its argument, n = -(x - u
/ w) / |x - u / w|, and the compliance eps, a step of Newton's method from the last x0, u0 and limit is

    x = -n limit + (1 - K) x0 + K D u0 / w - K D u / w,   K = (1 - D + eps D)^-1.

A disc that sticks has D = 1, and x = x0 - u / (eps w).  One that slides has D = limit / |x - u / w| along the tangent t
across n, and 0 along n.  The limit is that of the load in the same pass.  Both are the drag and the friction that
`two_directional_friction` eliminates, so that joints with discs are eliminated as if all of them slid.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.tree_friction_workspace import STICKS, clear_share
from multibody_cli.contact_solver.two_directional_friction import (
    add_drag,
    clear_drag,
    cofactors,
    diagonal,
    joint_columns,
    joint_values,
    products,
    slip_rows,
)
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import dot
from multibody_cli.spatial.values import Mat3
from multibody_cli.tree.articulated_body import rigid_body_inertia


@formula
def projected(p, passes):
    """Return x - u / w of a disc, which the law projects onto the disc of radius `limit`, and its length."""
    x = passes.friction[p, 0] - passes.slip[p, 0] / passes.w[p]
    y = passes.friction[p, 1] - passes.slip[p, 1] / passes.w[p]
    return x, y, math.hypot(x, y)


@kernel
def project_disc(p, limit, passes):
    """Let a disc slide against x - u / w, or stick if that is within its limit."""
    x, y, size = projected(p, passes)
    passes.state[p] = STICKS
    if size > limit:
        passes.state[p], passes.direction[p, 0], passes.direction[p, 1] = 1, -x / size, -y / size


@kernel
def distance_to_projection(p, limit, passes) -> float:
    """Return |x - P(x - u / w)| of a disc."""
    x, y, size = projected(p, passes)
    share = limit / size if size > limit else 1.0
    return math.hypot(passes.friction[p, 0] - share * x, passes.friction[p, 1] - share * y)


@kernel
def linearize_projection(p, limit, passes):
    """Write x = a + n limit - K u of a disc, Newton's step for x = P(x - u / w) with the compliance of edges (`edges`).

    The derivative of P of a disc that slides is that along the tangent t, limit / |x - u / w|, and its direction.
    """
    clear_drag(p, passes)
    if passes.state[p] == STICKS:
        Z = 1.0 / (passes.edges.compliance[0] * passes.w[p])
        clear_share(p, passes)
        passes.applied[p, 0], passes.applied[p, 1] = passes.friction[p, 0], passes.friction[p, 1]
        passes.drag[p, 0, 0] = passes.drag[p, 1, 1] = Z
        return
    _, _, size = projected(p, passes)
    a, b, D = -passes.direction[p, 1], passes.direction[p, 0], limit / size
    K = 1.0 / (1.0 - (1.0 - passes.edges.compliance[0]) * D)
    Z = K * D / passes.w[p]
    x, u = a * passes.friction[p, 0] + b * passes.friction[p, 1], a * passes.slip[p, 0] + b * passes.slip[p, 1]
    applied = (1.0 - K) * x + Z * u
    passes.applied[p, 0], passes.applied[p, 1] = applied * a, applied * b
    add_drag(p, Z * a, Z * b, a, b, passes)


@kernel
def response_of_disc(patch, joint, links, work) -> float:
    """Return the largest response of a disc if its body were free from others; 0 if that is infinite."""
    x, y, z = joint_columns(work.columns, joint)
    A, armature = rigid_body_inertia(links[patch.child], work.bodies[patch.child]), work.armature
    E, determinant = cofactors(
        diagonal(joint_values(armature, joint, 1.0))
        + Mat3(products(x, y, z, A @ x), products(x, y, z, A @ y), products(x, y, z, A @ z))
    )
    along, across = slip_rows(patch, work.columns, joint, work.bodies)
    if not determinant > 0.0:
        return 0.0
    return max(dot(along, E @ along), dot(across, E @ across)) / determinant
