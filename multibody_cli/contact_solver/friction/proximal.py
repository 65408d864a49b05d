"""Many rows at once: a proximal method, each step of it solved by Newton's method for the velocities.

With a guess x of the impulses and a compliance R = eps w, impulses that give way a little to velocities,

    gamma = P(x - u / R),   u = B xi + b,   xi = xi0 + B^T gamma,

are one equation for xi, as large as there are velocities, not rows, and sparse as bodies touch each other.  Its
solution is the next guess: as gamma comes near x the velocities come to what P asks exactly, redundant rows or not, and
of all impulses that do the same x stays the nearest to the first guess.  A tenth of eps each time lets this end in a
few steps.

Newton's method for it may fail from afar.  Then the path of `central_path` is followed, and Coulomb's law is tried
again from its end: in rounds, with less compliance where the path led to its end, and with more where it did not.  A
heap at rest is one round, and the impulses of the step before are nearly those of the next.

Sources: Rockafellar, SIAM J. Control Optim. 14 (1976) (proximal points); Castro, Permenter and Han, An unconstrained
convex formulation of compliant contact, IEEE Trans. Robot. 39 (2023) (velocities as unknowns).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.contact_solver.friction.central_path import follow_path, go
from multibody_cli.contact_solver.friction.envelope import (
    Envelope,
    add_rows,
    clear,
    eliminate,
    envelope_for,
    order_blocks,
    substitute,
)
from multibody_cli.contact_solver.friction.factored import (
    PER_CONTACT,
    find_constants,
    find_velocities,
    let_free,
    pull,
    weigh,
)
from multibody_cli.contact_solver.friction.maps import project
from multibody_cli.contact_solver.friction.problem import Report
from multibody_cli.contact_solver.friction.smoothed_law import RoundedScratch, rounded_for
from multibody_cli.kernel import kernel
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED

Floats = NDArray[np.float64]

COMPLIANCE, LEAST_COMPLIANCE, STIFFENING = 1e-4, 1e-6, 0.1
"""Compliance of a row relative to its own W: of the first step of a try, of any, and from one step to the next."""

POLISHING = 1e-3
"""Compliance of the last steps: round-off in u counts 1 / eps times in impulses."""

STEPS, TRIES = 12, 15
"""Steps of Newton's method of one proximal step, and proximal steps of one try, at most."""

FIRST_PATH, LEAST_PATH, CLOSER, FARTHER = 1e-4, 1e-9, 0.01, 3.0
"""Compliance of a path relative to a row's own W: of the first and the least; from one that leads to its end to the
next, and from one that does not."""

ROUNDEST, SHARPEST, OVERLAP = 0.1, 0.1, 10.0
"""sigma with which paths begin; with which they end, relative to their compliance; and with which one begins that goes
on where another has ended, relative to the sigma there."""

ROUNDS = 8
"""How many paths are followed, at most."""

EXACT, EXTRA = 1e-12, 1
"""Residual at which a round more is not tried, and rounds that are, to come there, once the tolerance is met."""

ROUND_OFF = 1e-14
"""Residual that is as good as any."""

EQUAL, NEARLY_EQUAL = 1e-13, 1e-9
"""What may be left of the equation for xi, relative to its terms: wanted, and where steps no longer halve it."""


class ProximalScratch(NamedTuple):
    """Work arrays for m rows and n velocities."""

    free: Floats  # (n,) normal velocities without impulses
    xi: Floats  # (n,) of a round
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
    envelope: Envelope
    rounded: RoundedScratch


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
        envelope=envelope_for(n, blocks, contacts),
        rounded=rounded_for(m, n, contacts),
    )


@kernel
def solve_many(F, options, x, S) -> Report:
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
def iterate(F, options, x, S, n) -> Report:
    """Try Coulomb's law, and follow paths in turn."""
    xi = S.xi[:n]
    project(F, x, S.best, S.D)
    steps, least = attempt(F, x, n, residual_of(F, S.best, S), S)
    rounds, met, eps, first = 0, 0, FIRST_PATH, ROUNDEST
    while least > EXACT and met <= EXTRA and rounds < min(ROUNDS, options.sweeps):
        set_velocities(F, x, xi, S)
        made, reached = follow_path(F, S.free, eps, first, SHARPEST * eps, x, xi, S.rounded, S.envelope)
        steps += made
        least = keep_better(F, x, least, S)
        made, least = attempt(F, x, n, least, S)
        steps += made
        keep(S.best, x, len(x))
        if reached:
            first, eps = OVERLAP * SHARPEST * eps, max(CLOSER * eps, LEAST_PATH)
        else:
            first, eps = ROUNDEST, FARTHER * eps
        rounds += 1
        met += least <= options.tolerance
    keep(S.best, x, len(x))
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


# --- tries ----------------------------------------------------------------------------------------------------------
@kernel
def attempt(F, x, n, least, S) -> tuple[int, float]:
    """Proximal steps with Coulomb's law from x, which stays: the steps of Newton's method, and the least residual."""
    tried = S.tried[:n]
    set_velocities(F, x, tried, S)
    keep(x, S.centre, len(x))
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
    """Keep what Coulomb's law makes of impulses, if that is better than the best: the least residual."""
    residual_of(F, x, S)
    keep(S.gamma, S.centre, len(x))
    residual = residual_of(F, S.centre, S)
    if residual < least:
        keep(S.centre, S.best, len(x))
        return residual
    return least


@kernel
def defect(F, eps, centre, xi, S) -> tuple[float, float]:
    """gamma and its derivatives, and xi - xi0 - B^T gamma into `S.pulled`: its norm, and that of B^T gamma."""
    pulled = S.pulled[: len(xi)]
    find_velocities(F, xi, S.u)
    for k in range(len(F.r)):
        S.y[k] = centre[k] - S.u[k] / (eps * F.w[k])
    project(F, S.y, S.gamma, S.D)
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
        if S.D[k, 0] != 0.0 and (c >= F.journals or S.D[k + 1, 1] != 0.0 or S.D[k + 2, 2] != 0.0):
            add_rows(F, k, PER_CONTACT, S.D, 1.0 / (eps * F.w[k]), E)
    eliminate(n, E)
    step = S.step[:n]
    for i in range(n):
        step[i] = -S.pulled[i]
    substitute(n, E, step)


@kernel
def follow_coulomb(F, eps, centre, xi, S) -> tuple[int, bool]:
    """Solve for xi, in place, with Coulomb's law: the steps made, and whether it is solved; gamma goes with it."""
    n, failed = len(xi), 0
    left, whole = defect(F, eps, centre, xi, S)
    for steps in range(STEPS):
        if left <= EQUAL * whole:
            return steps, True
        find_step(F, eps, n, S)
        share = 1.0
        go(xi, share, S.step, S.ahead[:n])
        now, whole = defect(F, eps, centre, S.ahead[:n], S)
        if now <= NEARLY_EQUAL * whole and now > 0.5 * left:
            go(xi, share, S.step, xi)
            return steps + 1, True
        while not now < (1.0 - 0.1 * share) * left and share > 0.1:
            share *= 0.5
            go(xi, share, S.step, S.ahead[:n])
            now, whole = defect(F, eps, centre, S.ahead[:n], S)
        if not now < left:
            failed += 1
            if failed == 2 or not now < math.inf:
                return steps + 1, left <= NEARLY_EQUAL * whole
        for i in range(n):
            xi[i] = S.ahead[i]
        left = now
    return STEPS, left <= NEARLY_EQUAL * whole


# --- the end ----------------------------------------------------------------------------------------------------------
@kernel
def residual_of(F, x, S) -> float:
    """The worst condition of `conditions`, relative to the size of the problem; gamma becomes P(x - u / w)."""
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
    for c in range(F.journals):  # what is pressed at rest has a size as well
        k = F.equalities + F.limits + PER_CONTACT * c
        size = max(size, x[k] * math.sqrt(F.w[k]))
    project(F, S.y, S.gamma, S.D)
    nothing = 0.0
    for k in range(len(F.r)):
        worst = max(worst, abs(x[k] - S.gamma[k]) * math.sqrt(F.w[k]))
        nothing += 0.0 * S.gamma[k]
    if nothing != 0.0:  # the largest of some numbers may pass over one that is none
        return math.inf
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
