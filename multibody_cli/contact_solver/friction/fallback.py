"""What is left when the passes have not met: impulses that are safe, if not those of Coulomb's law.

The last word is a normal pass, so that nothing penetrates, nothing pulls, and equalities hold.  It may lower normal
impulses below what their friction needs; then friction is shortened to its limit and the pass repeated, and a contact
that offends again and again loses its friction for good, so that this ends.  As friction is then within its limits and

    1/2 x.W x + r.x = 1/2 beta.u_t + 1/2 r.x = beta.u_t - 1/2 x.W x

after a normal pass, halving all friction lowers the energy until it has not grown.
"""

from __future__ import annotations

from multibody_cli.contact_solver.friction.conditions import find_velocities, gain, limit_friction, size_of
from multibody_cli.contact_solver.friction.friction_pass import EXACT
from multibody_cli.contact_solver.friction.normal_pass import project_normals
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.contact_solver.friction.tangent_frames import pull_inside
from multibody_cli.kernel import kernel

SHORTENED, HALVED = 50, 50
"""How often all friction is shortened before it is dropped where it is too large, and halved before it is dropped."""


@kernel
def retreat(P, tolerance, x, S):
    """Make x safe; the status of the normal pass."""
    shortened = halved = 0
    while True:
        status = project_normals(P, x, S)
        for i in range(len(x)):
            S.last[i] = x[i]
        limit_friction(P, x, S.radius)
        if pull_inside(P, S.radius, x) > tolerance:
            shortened += 1
            if shortened > SHORTENED:
                drop_where_it_changed(P, x, S.last)
            continue
        find_velocities(P, x, S.u)
        if gain(P, x, S.u) <= EXACT * size_of(P, x, S.u) ** 2:
            return status
        halved += 1
        scale_friction(P, x, 0.5 if halved < HALVED else 0.0)


@kernel
def drop_where_it_changed(P, x, last):
    """Take all friction from the contacts where it is not what it was."""
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        if x[n + 1] != last[n + 1] or x[n + 2] != last[n + 2]:
            x[n + 1] = x[n + 2] = 0.0


@kernel
def scale_friction(P, x, share):
    """Scale the friction of all contacts."""
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        x[n + 1] *= share
        x[n + 2] *= share
