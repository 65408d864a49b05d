"""Restitution of one-sided rows: rates with which coordinates leave their limits, without gain of energy.

A rebound is a part of the correction of velocities after a step.  docs/theory/constraints.md, section One-sided
rows, derives the rate of the approach and the share of several rebounds.
"""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.constraint_solver.solver import VELOCITY
from multibody_cli.constraints.rows import IMPACT_SPEED, jacobian_product_of_row, velocity_of_row
from multibody_cli.forces.elements import elastic_energy
from multibody_cli.kernel import formula, kernel, kernel_parameter, template
from multibody_cli.tree.energy import armature_energy, gravity_energy, kinetic_energy

ROUND_OFF = 1e-9
"""Energy that the impulses of one-sided rows add, relative to their absolute works, that counts as 0."""

MAX_SHARES = 50
"""Number of shares of rebounds that are tried, where other rows have impulses without them."""


@kernel_parameter
def correct(system: Any, work: Any, level: int) -> None:
    """Compute the smallest response, in the metric of M, that brings the residuals of all rows of a level to 0.

    It follows `place` at the level of positions, and `compute_residuals` at that of velocities.  The rates of the
    response are in `work.response` (nv,), and the motions of the bodies in (dw, dv).
    """


@kernel
def store_depths(work):
    """Store how far one-sided rows are beyond their limits at the end of the step."""
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        row.depth, row.rebound = max(-row.error, 0.0), 0.0


@kernel
def store_start_of_rows(work, v):
    """Store the errors of one-sided rows at the start of the next step, and their values at velocity level."""
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.restitution > 0.0 or row.in_contact:
            row.start_error = max(row.error, 0.0)
            row.start_rate = velocity_of_row(row, work.terms, work.bodies, v)


@kernel
def set_rebounds(work) -> float:
    """Set the rates with which one-sided rows leave their limits; return the largest relative change that they require.

    The rate u of the approach follows from those at both ends of the step, whose accelerations change u^2 evenly along
    the path; at most it is that at the end, so that a rebound adds no kinetic energy.  The rates of an Euler step lag
    behind those of its path by half their change.  A row that does not close at the start does not rebound, and comes
    to rest.  A state that begins a run, or that a program has changed, has no step.
    """
    work.dual.rebound_share[0] = largest = 0.0
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        before = row.residual if math.isnan(row.start_rate) else row.start_rate
        if row.restitution > 0.0 and row.active == 1 and before < -IMPACT_SPEED * row.speed:
            path = row.start_error + row.depth
            share = row.depth / path if path > 0.0 else 0.0
            turned = work.dual.step[0] * row.bias  # by a limit that curves, at constant velocity
            lag = work.dual.lag[0] * (row.residual - before - turned)
            square = (1.0 - share) * (row.residual + lag) ** 2 + share * (before + lag) ** 2
            u = -math.sqrt(min(square, (row.residual + lag) ** 2))
            row.approach, row.rebound = u + lag, max(-row.restitution * u - lag, 0.0)
            work.dual.rebound_share[0] = 1.0
            largest = max(largest, (row.rebound - row.residual) * row.weight)
    return largest


@template(correct)
def limit_rebounds(system, work, dissipated):
    """Diminish the rebounds of a response so that it adds no energy beyond the dissipation of the step, J.

    Without rebounds, rows with impulses have the rate 0 after the impact, so that the energy added is quadratic in the
    share s of the rebounds, E(s) = E(0) + s^2 (E(1) - E(0)), as long as the same rows have impulses.
    """
    if work.dual.rebound_share[0] == 0.0:
        return
    full, size = added_energy(work)
    bound = dissipated + ROUND_OFF * (size + abs(dissipated))
    if full <= bound:
        return
    work.dual.rebound_share[0] = 0.0
    correct(system, work, VELOCITY)
    least, _ = added_energy(work)
    if least >= dissipated:
        return
    share = 1.0
    for _ in range(MAX_SHARES):
        share *= min(math.sqrt((dissipated - least) / (full - least)), 1.0 - ROUND_OFF)
        work.dual.rebound_share[0] = share
        correct(system, work, VELOCITY)
        full, size = added_energy(work)
        if full <= dissipated + ROUND_OFF * (size + abs(dissipated)):
            return


@kernel
def added_energy(work) -> tuple[float, float]:
    """Return the energy that the impulses of all rows add, without the work of drives, and their absolute works."""
    added = size = 0.0
    for r in range(len(work.rows)):
        row = work.rows[r]
        if row.active == 1:
            before = row.approach if row.rebound > 0.0 else row.residual
            after = row.residual + jacobian_product_of_row(row, work.terms, work.bodies, work.response)
            added += 0.5 * row.multiplier * (before + after)
            size += abs(row.multiplier) * (abs(before) + abs(after))
    return added, size


@kernel
def energy_of_arrival(system, q, v, work) -> float:
    """Return the energy of a state that has reached one-sided rows, J; of others, NaN.

    NaN also of Euler steps, whose rates lag behind the path: their energy has errors of the size of a displacement.
    """
    if work.dual.arrivals[0] == 0 or work.dual.lag[0] > 0.0:
        return math.nan
    return energy_at(system, q, v, work.bodies)


@kernel
def energy_at(system, q, v, bodies) -> float:
    """Return the energy of a state, J: kinetic, of gravity, and elastic."""
    energy = kinetic_energy(system.tree, bodies) + armature_energy(system.tree, v)
    return energy + gravity_energy(system.tree, bodies) + elastic_energy(system.forces, q, bodies)


@kernel
def account_displacement(work, gain, ledger):
    """Take the energy that a displacement onto one-sided rows adds from their losses, in proportion to their depths.

    Bodies that went beyond a limit have gained there the energy that is taken.
    """
    total = 0.0
    for k in range(len(work.special_rows) if gain != 0.0 else 0):
        total += relative_depth(work.rows[work.special_rows[k]])
    for k in range(len(work.special_rows) if total > 0.0 else 0):
        row = work.rows[work.special_rows[k]]
        if row.account >= 0:
            ledger[row.account] -= relative_depth(row) / total * gain


@formula
def relative_depth(row):
    """Return how far a step has gone beyond the limit of a one-sided row that has become active, relative; else 0."""
    return row.depth * row.weight if row.one_sided and row.active > 0 else 0.0


@kernel
def account_losses(work, ledger):
    """Add the losses of one-sided rows to the ledger; negative ones are set off against the others."""
    added = dissipated = 0.0
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.one_sided:
            added, dissipated = added + max(-row.loss, 0.0), dissipated + max(row.loss, 0.0)
    share = 1.0 - added / dissipated if 0.0 < added < dissipated else 1.0
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.one_sided and row.account >= 0:
            ledger[row.account] += share * row.loss if row.loss > 0.0 or share == 1.0 else 0.0
            row.loss = 0.0
