"""Rows that have no effect where the system is: idle rows.

The diagonal W_kk of the Delassus matrix tells how a row answers to its own multiplier.  Where other joints hold already
what a row restrains, or in a singular position, they leave it no answer; then W_kk is round-off, and nothing within W
says so.  What the impulse of the row would do to its bodies if no joint held them does: a row is idle where

    W_kk <= sum_i  s_f |f_i|^2 / m_i  +  s_t |t_i|^2 / tr I_i

over the impulses f_i and t_i on the bodies, at their centres of mass; s_f and s_t are the shares that count as nothing.
Near a singular position W_kk goes as the square of the angle x to it, and what projection leaves open, c, puts the
mechanism c / x beside its branch: s_f lets a row go long before that reaches x.  Moments of inertia differ by many more
orders of magnitude than masses, so that s_t is round-off.  In the stages of an integrator a mechanism stands off its
manifold by some error e, and an idle row seems to move by an angle of that size: both shares grow with e^2.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import cross, dot

SHARE_OF_FORCES, SHARE_OF_MOMENTS, LARGEST_SHARE = 1e-9, 1e-13, 1e-8

LEVERAGE = 10.0
"""Angle that an error of position may make, rad/m."""


@kernel
def idle_bound(links, work, error) -> float:
    """W_kk up to which the row is idle whose impulses lie in `work.wrenches`; `error` is that of positions."""
    seeming = min((LEVERAGE * error) ** 2, LARGEST_SHARE)
    s_f, s_t = max(SHARE_OF_FORCES, seeming), max(SHARE_OF_MOMENTS, seeming)
    total = 0.0
    for i in range(1, len(links)):
        m, central, wrench = links[i].mass, links[i].central, load_force(work.wrenches[i])
        t, trace = wrench.t, central[0] + central[3] + central[5]
        if m > 0.0:
            total += s_f * dot(wrench.f, wrench.f) / m
            t = t - (1.0 / m) * cross(load(work.bodies[i].h), wrench.f)
        if trace > 0.0:
            total += s_t * dot(t, t) / trace
    return total


@kernel
def silence(W, k, count):
    """Take a row out of the dual problem: it neither pushes nor answers."""
    for j in range(k + 1):
        W[k, j] = 0.0
    for i in range(k, count):
        W[i, k] = 0.0
