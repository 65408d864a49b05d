"""Many rows at once: a proximal method, each step of it solved by Newton's method for the velocities.

With a guess x of the impulses and a compliance R = eps w, impulses that give way a little to velocities,

    gamma = P(x - u / R),   u = B xi + b,   xi = xi0 + B^T gamma,

are one equation for xi, as large as there are velocities, not rows, and sparse as bodies touch each other.  Its
solution is the next guess: as gamma comes near x the velocities come to what P asks exactly, redundant rows or not, and
of all impulses that do the same x stays the nearest to the first guess.  A tenth of eps each time lets this end in a
few steps.

    P by Coulomb's law     Newton's method may fail from afar; what it reaches is the solution
    P onto the cone, with u_n + s for u_n     convex: a search along its steps always ends

For s = mu |u_t| both say the same (de Saxce).  So Coulomb's law is tried first, from the guess that is given; where
that fails the cone is asked, with s from its last answer, and Coulomb's law is tried again from there.  What sticks has
s = 0, so that a heap at rest is one convex problem, and the impulses of the step before are nearly those of the next.

Sources: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact, IEEE Trans. Robot. 39
(2023); Rockafellar, SIAM J. Control Optim. 14 (1976) (proximal points); de Saxce and Feng, Math. Comput. Model. 28
(1998); Acary, Cadoux, Lemarechal and Malick, ZAMM 91 (2011) (the fixed point in s).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.dynamics.friction.envelope import (
    Envelope,
    add_rows,
    clear,
    eliminate,
    envelope_for,
    order_blocks,
    substitute,
)
from multibody_cli.dynamics.friction.factored import PER_CONTACT, find_constants, find_velocities, let_free, pull, weigh
from multibody_cli.dynamics.friction.maps import CONE, COULOMB, project
from multibody_cli.dynamics.friction.problem import Report
from multibody_cli.dynamics.multipliers import NOT_FINITE, SOLVED, UNFINISHED
from multibody_cli.kernel import kernel

Floats = NDArray[np.float64]

COMPLIANCE, LEAST_COMPLIANCE, STIFFENING = 1e-4, 1e-6, 0.1
"""Compliance of a row relative to its own W: of the first step of a try, of any, and from one step to the next."""

POLISHING = 1e-3
"""Compliance of the last steps: round-off in u counts 1 / eps times in impulses."""

STEPS, CONVEX_STEPS = 12, 40
"""Steps of Newton's method for Coulomb's law, and onto the cone, at most."""

TRIES = 15
"""Proximal steps of one try of Coulomb's law, at most."""

ROUNDS = 30
"""How often the cone is asked, at most."""

EXACT, EXTRA = 1e-12, 2
"""Residual at which a round more is not tried, and rounds that are, to come there, once the tolerance is met."""

ROUND_OFF = 1e-14
"""Residual that is as good as any."""

EQUAL, NEARLY_EQUAL = 1e-13, 1e-9
"""What may be left of an equation for xi, relative to its terms: of Coulomb's law, and of the cone."""


class ProximalScratch(NamedTuple):
    """Work arrays for m rows and n velocities."""

    free: Floats  # (n,) normal velocities without impulses
    xi: Floats  # (n,) of the rounds
    tried: Floats  # (n,) of a try
    ahead: Floats  # (n,) at the end of a step
    step: Floats  # (n,)
    pulled: Floats  # (n,)
    u: Floats  # (m,)
    y: Floats  # (m,)
    gamma: Floats  # (m,)
    D: Floats  # (m, 3)
    centre: Floats  # (m,) the guess of a try
    best: Floats  # (m,)
    s: Floats  # (contacts,) what the cone adds to normal velocities
    envelope: Envelope


def proximal_for(statics: int, contacts: int, n: int, blocks: int) -> ProximalScratch:
    """Allocate the work arrays for problems of up to that size."""
    m = statics + PER_CONTACT * contacts
    return ProximalScratch(
        free=np.zeros(n),
        xi=np.zeros(n),
        tried=np.zeros(n),
        ahead=np.zeros(n),
        step=np.zeros(n),
        pulled=np.zeros(n),
        u=np.zeros(m),
        y=np.zeros(m),
        gamma=np.zeros(m),
        D=np.zeros((m, PER_CONTACT)),
        centre=np.zeros(m),
        best=np.zeros(m),
        s=np.zeros(contacts),
        envelope=envelope_for(n, blocks, contacts),
    )


@kernel
def solve_many(F, options, x, S):
    """Impulses of one problem into x (m,), which comes in as a guess, or NaN; a `Report`.

    `F` is a `Factored` without places of its blocks and without scales of its rows: they are found here.
    """
    weigh(F)
    n = order_blocks(F, S.envelope)
    let_free(F, S.free)
    find_constants(F, S.free)
    total = 0.0
    for k in range(len(x)):
        total += 0.0 * F.r[k] + 0.0 * F.w[k]
        if not abs(x[k]) < math.inf:
            x[k] = 0.0
    if total != 0.0:
        for k in range(len(x)):
            x[k] = math.nan
        return Report(NOT_FINITE, 0, 0, math.nan, math.nan)
    return iterate(F, options, x, S, n)


@kernel
def iterate(F, options, x, S, n):
    """Try Coulomb's law and ask the cone in turn."""
    xi = S.xi[:n]
    set_velocities(F, x, xi, S)
    keep(x, S.best, len(x))
    for c in range(len(F.mu)):
        S.s[c] = 0.0
    least, steps, rounds, met = math.inf, 0, 0, 0
    while True:
        made, least = attempt(F, x, xi, least, S)
        steps += made
        met += least <= options.tolerance
        if least <= EXACT or met > EXTRA or rounds == min(ROUNDS, options.sweeps):
            break
        if rounds > 0:
            lag(F, xi, S)
        steps += settle(F, x, xi, S)
        least = keep_better(F, x, least, S)
        rounds += 1
    for k in range(len(x)):
        x[k] = S.best[k]
    if least <= options.tolerance:
        return Report(SOLVED, rounds + 1, steps, least, 0.0)
    weaken(F, x, S, n)
    return Report(UNFINISHED, rounds + 1, steps, least, 0.0)


@kernel
def set_velocities(F, x, xi, S):
    """xi = xi0 + B^T x."""
    for i in range(len(xi)):
        xi[i] = S.free[i]
    pull(F, x, xi)


@kernel
def lag(F, xi, S):
    """s = mu |u_t| of the last velocities."""
    find_velocities(F, xi, S.u)
    for c in range(len(F.mu)):
        k = F.equalities + F.limits + PER_CONTACT * c
        S.s[c] = F.mu[c] * math.hypot(S.u[k + 1], S.u[k + 2])


# --- tries ----------------------------------------------------------------------------------------------------------
@kernel
def attempt(F, x, xi, least, S):
    """Proximal steps with Coulomb's law from x and xi, which stay: steps of Newton's method, and the least residual."""
    tried = S.tried[: len(xi)]
    for i in range(len(xi)):
        tried[i] = xi[i]
    for k in range(len(x)):
        S.centre[k] = x[k]
    steps, eps, last, polishes = 0, COMPLIANCE, math.inf, False
    for _ in range(TRIES):
        made, met = follow_coulomb(F, eps, S.centre, tried, S)
        steps += made
        if not met:
            break
        for k in range(len(x)):
            S.centre[k] = S.gamma[k]
        residual = residual_of(F, S.centre, S)
        if residual < least:
            least = residual
            keep(S.centre, S.best, len(x))
        if residual <= ROUND_OFF or (polishes and not residual < 0.9 * last):
            break
        if residual < 0.9 * last and not polishes:
            eps = max(STIFFENING * eps, LEAST_COMPLIANCE)
        else:
            polishes, eps = True, POLISHING
        last = residual
    return steps, least


@kernel
def keep(x, best, m):
    """Keep impulses."""
    for k in range(m):
        best[k] = x[k]


@kernel
def keep_better(F, x, least, S):
    """Keep impulses that are better than the best: the least residual."""
    residual = residual_of(F, x, S)
    if residual < least:
        keep(x, S.best, len(x))
        return residual
    return least


@kernel
def defect(F, law, eps, centre, xi, S):
    """gamma and its derivatives, and xi - xi0 - B^T gamma into `S.pulled`: its norm, and that of B^T gamma."""
    pulled = S.pulled[: len(xi)]
    find_velocities(F, xi, S.u)
    for k in range(len(F.r)):
        S.y[k] = centre[k] - S.u[k] / (eps * F.w[k])
    if law == CONE:
        for c in range(len(F.mu)):
            k = F.equalities + F.limits + PER_CONTACT * c
            S.y[k] -= S.s[c] / (eps * F.w[k])
    project(F, law, S.y, S.gamma, S.D)
    left = whole = 0.0
    for i in range(len(xi)):
        pulled[i] = 0.0
    pull(F, S.gamma, pulled)
    for i in range(len(xi)):
        whole += pulled[i] * pulled[i]
        pulled[i] = xi[i] - S.free[i] - pulled[i]
        left += pulled[i] * pulled[i]
    return math.sqrt(left), math.sqrt(whole)


@kernel
def find_step(F, eps, n, S):
    """The step of Newton's method from what `defect` has found, into `S.step`."""
    E = S.envelope
    clear(n, E)
    statics = F.equalities + F.limits
    for k in range(statics):
        if S.D[k, 0] != 0.0:
            add_rows(F, k, 1, S.D, 1.0 / (eps * F.w[k]), E)
    for c in range(len(F.mu)):
        k = statics + PER_CONTACT * c
        if S.D[k, 0] != 0.0:
            add_rows(F, k, PER_CONTACT, S.D, 1.0 / (eps * F.w[k]), E)
    eliminate(n, E)
    step = S.step[:n]
    for i in range(n):
        step[i] = -S.pulled[i]
    substitute(n, E, step)


@kernel
def go(xi, share, step, ahead):
    """ahead = xi + share step."""
    for i in range(len(xi)):
        ahead[i] = xi[i] + share * step[i]


@kernel
def follow_coulomb(F, eps, centre, xi, S):
    """Solve for xi, in place, with Coulomb's law: the steps made, and whether it is solved; gamma goes with it."""
    n, failed = len(xi), 0
    left, whole = defect(F, COULOMB, eps, centre, xi, S)
    for steps in range(STEPS):
        if left <= EQUAL * whole:
            return steps, True
        find_step(F, eps, n, S)
        share = 1.0
        go(xi, share, S.step, S.ahead[:n])
        now, whole = defect(F, COULOMB, eps, centre, S.ahead[:n], S)
        while not now < (1.0 - 0.1 * share) * left and share > 0.1:
            share *= 0.5
            go(xi, share, S.step, S.ahead[:n])
            now, whole = defect(F, COULOMB, eps, centre, S.ahead[:n], S)
        if not now < left:
            failed += 1
            if failed == 2 or not now < math.inf:
                return steps + 1, left <= NEARLY_EQUAL * whole
        for i in range(n):
            xi[i] = S.ahead[i]
        left = now
    return STEPS, left <= NEARLY_EQUAL * whole


# --- the cone -------------------------------------------------------------------------------------------------------
@kernel
def settle(F, x, xi, S):
    """Solve for xi with the cone, in place, and let x be its impulses; the steps made."""
    n, eps = len(xi), COMPLIANCE
    left, whole = defect(F, CONE, eps, x, xi, S)
    steps = 0
    while steps < CONVEX_STEPS and left > NEARLY_EQUAL * whole:
        objective, slope = objective_of(F, eps, xi, S), 0.0
        find_step(F, eps, n, S)
        for i in range(n):
            slope += S.pulled[i] * S.step[i]
        share = 1.0
        go(xi, share, S.step, S.ahead[:n])
        left, whole = defect(F, CONE, eps, x, S.ahead[:n], S)
        while (
            share > 1e-6
            and not objective_of(F, eps, S.ahead[:n], S) <= objective * (1.0 + 1e-14) + 1e-4 * share * slope
        ):
            share *= 0.5
            go(xi, share, S.step, S.ahead[:n])
            left, whole = defect(F, CONE, eps, x, S.ahead[:n], S)
        for i in range(n):
            xi[i] = S.ahead[i]
        steps += 1
    for k in range(len(x)):
        x[k] = S.gamma[k]
    return steps


@kernel
def objective_of(F, eps, xi, S):
    """1/2 |xi - xi0|^2 + 1/2 gamma.R gamma, of which xi - xi0 - B^T gamma is the gradient."""
    total = 0.0
    for i in range(len(xi)):
        total += (xi[i] - S.free[i]) ** 2
    for k in range(len(F.r)):
        total += eps * F.w[k] * S.gamma[k] * S.gamma[k]
    return 0.5 * total


# --- the end ----------------------------------------------------------------------------------------------------------
@kernel
def residual_of(F, x, S):
    """The worst condition of `conditions`, relative to the size of the problem; gamma and `pulled` are lost."""
    n = 0
    for b in range(len(F.width)):
        n += F.width[b]
    after = S.pulled[:n]
    set_velocities(F, x, after, S)
    find_velocities(F, after, S.u)
    size = worst = 0.0
    for i in range(n):
        size += (after[i] - S.free[i]) ** 2
    size = math.sqrt(size)
    for k in range(len(F.r)):
        size = max(size, abs(F.r[k]) / math.sqrt(F.w[k]))
        S.y[k] = x[k] - S.u[k] / F.w[k]
    project(F, COULOMB, S.y, S.gamma, S.D)
    for k in range(len(F.r)):
        worst = max(worst, abs(x[k] - S.gamma[k]) * math.sqrt(F.w[k]))
    return worst / size if size > 0.0 else worst


@kernel
def weaken(F, x, S, n):
    """Scale impulses that would feed energy until they do not: 1/2 x.W x + r.x <= 0."""
    after = S.pulled[:n]
    set_velocities(F, x, after, S)
    work = squared = 0.0
    for i in range(n):
        squared += (after[i] - S.free[i]) ** 2
    for k in range(len(x)):
        work += F.r[k] * x[k]
    if work + 0.5 * squared > 0.0:
        share = max(-work / squared, 0.0)
        for k in range(len(x)):
            x[k] *= share
