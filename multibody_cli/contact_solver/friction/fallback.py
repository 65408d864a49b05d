"""Energy-safe fallback: admissible impulses for problems whose passes did not converge.

The last step is a normal pass, so that there is no penetration, no negative normal impulse, and equalities hold.  The
pass may lower normal impulses below those that the friction requires.  Friction is then clipped to its limit and the
pass repeated; a contact that is clipped too often loses its friction, so that the iteration ends.  With friction within
its limits, and

    1/2 x.W x + r.x = 1/2 beta.u_t + 1/2 r.x = beta.u_t - 1/2 x.W x

after a normal pass, halving all friction lowers the energy until it does not exceed the initial value.
"""

from __future__ import annotations

from multibody_cli.contact_solver.friction.conditions import (
    compute_row_velocities,
    energy_change,
    limit_friction,
    problem_size,
)
from multibody_cli.contact_solver.friction.friction_pass import EXACT
from multibody_cli.contact_solver.friction.normal_pass import project_normals
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.contact_solver.friction.tangent_frames import clip_friction
from multibody_cli.kernel import kernel

MAX_CLIPS, MAX_HALVINGS = 50, 50
"""Largest number of times that friction is clipped, and halved, before it is dropped."""


@kernel
def energy_safe_fallback(P, tolerance, x, S):
    """Make the impulses x (m,) admissible and dissipative; return the status of the normal pass."""
    clips = halvings = 0
    while True:
        status = project_normals(P, x, S)
        for i in range(len(x)):
            S.last[i] = x[i]
        limit_friction(P, x, S.radius)
        if clip_friction(P, S.radius, x) > tolerance:
            clips += 1
            if clips > MAX_CLIPS:
                drop_clipped_friction(P, x, S.last)
            continue
        compute_row_velocities(P, x, S.u)
        if energy_change(P, x, S.u) <= EXACT * problem_size(P, x, S.u) ** 2:
            return status
        halvings += 1
        scale_friction(P, x, 0.5 if halvings < MAX_HALVINGS else 0.0)


@kernel
def drop_clipped_friction(P, x, last):
    """Drop the friction of the contacts whose friction was clipped."""
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
