"""The path of solutions of Coulomb's law with rounded corners, followed while these sharpen: a way to it from afar.

Coulomb's law itself has corners, around which Newton's method may run forever where many contacts slide and press each
other.  Rounded off by sigma (`rounded_law`) it has none, and the solutions for all sigma are a path.  Each step aims at
a tenth of sigma, and is shortened where that leaves the path: where what is left of the equations exceeds sigma.

Source: Qi, Sun and Zhou, A new look at smoothing Newton methods, Math. Program. 87 (2000).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.factored import PER_CONTACT
from multibody_cli.contact_solver.friction.smoothed_law import begin, find_left, find_step
from multibody_cli.kernel import kernel

SHARPENING = 0.1
"""sigma of a step relative to that of the one before, at least."""

STEPS = 60
"""Steps of Newton's method, at most."""

SHORT, SHORTEST, PATIENCE = 0.1, 1e-3, 10
"""Share of a step that is short, and that is the last to be tried; short steps after which a path is given up."""


@kernel
def follow_path(F, free, eps, first, last, x, xi, S, E) -> tuple[int, bool]:
    """Follow the path from one sigma to another, relative to the velocities of the problem.

    The guess x (m,) becomes the impulses at the end, and xi, its velocities, goes with it: the steps made, and whether
    the end was reached.
    """
    n, m, steps, short = len(xi), len(x), 0, 0
    size = begin(F, free, x, xi, S)
    sigma, least, near = first * size, last * size, math.sqrt(m / PER_CONTACT)
    left = find_left(F, eps, sigma, free, S.y[:m], xi, S)
    while steps < STEPS and short < PATIENCE and left < math.inf and (sigma > least or left > near * sigma):
        aim = max(SHARPENING * sigma, 0.9 * least) if left <= near * sigma else sigma
        find_step(F, eps, sigma, aim, n, S, E)
        share, then, then_left, taken = 2.0, sigma, math.inf, False
        while not taken and share > SHORTEST:
            share *= 0.5
            then = math.sqrt(sigma * sigma + share * (aim * aim - sigma * sigma))
            go(S.y[:m], share, S.y_step, S.y_ahead)
            go(xi, share, S.xi_step, S.xi_ahead)
            then_left = find_left(F, eps, then, free, S.y_ahead[:m], S.xi_ahead[:n], S)
            taken = then_left < (1.0 - 0.1 * share) * left or (aim < sigma and then_left <= near * then)
        go(S.y[:m], share, S.y_step, S.y)
        go(xi, share, S.xi_step, xi)
        sigma, left = then, then_left
        short = short + 1 if share < SHORT else 0
        steps += 1
    if not left < math.inf:
        return steps, False
    for k in range(m):
        x[k] = S.x[k] / S.unit[k]
    return steps, sigma <= least and left <= near * sigma


@kernel
def go(start, share, step, ahead):
    """ahead = start + share step."""
    for i in range(len(start)):
        ahead[i] = start[i] + share * step[i]
