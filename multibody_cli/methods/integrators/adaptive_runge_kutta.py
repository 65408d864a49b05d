"""Embedded pairs of explicit Runge-Kutta methods: adaptive steps with dense output.

Step sizes are controlled by the error of q, v and the states z of force elements, relative to atol + rtol |y|, and by
that of the ledger, relative to the energies: a power may have a kink where forces balance, as a damper that cancels the
spring of a limit, so that the motion has none.  No step crosses a knot of a function of time, where derivatives are
discontinuous and a short pulse could be missed, the next sample of a controller, or the end of the run: a step ends
with the values before a knot, the next begins with those behind it.
Output is interpolated within steps, and does not shorten them.

Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd ed., II.4-II.6 and II.10.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.projection import forget_factors
from multibody_cli.forces.states import load_states, store_rates
from multibody_cli.kernel import Kernel, allocate, kernel, template
from multibody_cli.knots import knots_of
from multibody_cli.limits import limit_of
from multibody_cli.linalg.vectors import add_scaled, copy
from multibody_cli.method_kernels import evaluate, evaluate_projected, project_onto_constraints
from multibody_cli.methods.contract import (
    SHORTEST_PART,
    Dynamics,
    Integrator,
    Report,
    Status,
    StepControl,
    Stepper,
    time_after,
)
from multibody_cli.methods.integrators.vectors import is_finite
from multibody_cli.methods.tableau import EmbeddedPair
from multibody_cli.model import Floats, State, System, Tree
from multibody_cli.tree.configuration import normalize, rate, recentre
from multibody_cli.tree.energy import armature_energy, kinetic_energy
from multibody_cli.tree.workspace import Work

_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0
_ROUND_OFF = 1e-15  # of accelerations, relative to the largest one
_CUBIC = 3  # terms of the cubic with the values and slopes of both ends

SPAN = 1e3
"""Time up to which the round-off of times is the same, in first steps."""


class Scratch(NamedTuple):
    """The pair, and data of the integrator between outputs; y = [q, v, z, ledger]."""

    pair: EmbeddedPair
    times: Floats  # (5,) start and end of the last step, size of the next, instant that no step crosses, `SPAN`
    atol: Floats  # (nq + nv + nz,) absolute tolerances
    energies: Floats  # (2,) kinetic energy at the end of the last step, and absolute tolerance of the ledger, J
    scales: Annotated[Floats, "n"]  # errors of y that the tolerance allows
    breaks: Floats  # (m,) instants that no step crosses, s, rising: those before knots, and the end of a run
    behind: Floats  # (m,) instants from which the steps after them begin, s
    y0: Annotated[Floats, "n"]  # at the start of the last step
    y1: Annotated[Floats, "n"]  # at its end
    stage: Annotated[Floats, "n"]  # argument of a stage
    slopes: Annotated[Floats, "stages", "n"]
    a: Annotated[Floats, "nv"]
    terms: Annotated[Floats, "m", "n"]  # of the interpolant


@template(evaluate)
def slope(system, work, t, y, dy, a, nq, nv):
    """Compute dy/dt of y = [q, v, z, ledger]; sets prescribed coordinates of y."""
    q, v, states = y[:nq], y[nq : nq + nv], system.forces.states
    motion = nq + nv + len(states)
    load_states(states, y[nq + nv : motion])
    evaluate(system, work, t, q, v, a, dy[motion:])
    rate(system.tree, q, v, dy[:nq])
    copy(a, dy[nq : nq + nv])
    store_rates(states, dy[nq + nv : motion])


@template(evaluate)
def evaluate_stage(system, work, scratch, s, h, nq, nv):
    """Compute argument and slope of stage s from the stages before it."""
    A, c, y, slopes = scratch.pair.A, scratch.pair.c, scratch.stage, scratch.slopes
    copy(scratch.y0, y)
    for j in range(s):
        if A[s, j] != 0.0:
            add_scaled(y, h * A[s, j], slopes[j])
    normalize(system.tree, y[:nq])
    slope(system, work, scratch.times[0] + c[s] * h, y, slopes[s], scratch.a, nq, nv)


@template(evaluate, project_onto_constraints)
def take_step(system, work, scratch, rtol, nq, nv) -> int:
    """Take one step, as large as the tolerance allows; return the attempts, 0 if the step became too small."""
    times, y0, y1, slopes = scratch.times, scratch.y0, scratch.y1, scratch.slopes
    b, exponent = scratch.pair.b, -1.0 / (scratch.pair.error_order + 1.0)
    last, motion = len(b), nq + nv + len(system.forces.states)
    times[0], h, rejected = times[1], times[2], False
    copy(y1, y0)
    passed = count_up_to(scratch.breaks, times[0] + 1e-13 * max(times[4], abs(times[0])))
    is_at_knot = passed > 0 and scratch.behind[passed - 1] > times[0]
    if is_at_knot:
        times[0] = scratch.behind[passed - 1]
    if recentre(system.tree, y0[:nq], y0[nq : nq + nv]) or is_at_knot:
        slope(system, work, times[0], y0, slopes[0], scratch.a, nq, nv)
    else:
        copy(slopes[last], slopes[0])
    attempts, h = 0, min(h, times[3] - times[0])
    if passed < len(scratch.breaks):
        h = min(h, scratch.breaks[passed] - times[0])
    rest = h  # up to a knot, which may be as close as round-off
    while h > 1e-14 * max(times[4], abs(times[0])) or h == rest > 0.0:
        attempts += 1
        for s in range(1, last):
            evaluate_stage(system, work, scratch, s, h, nq, nv)
        copy(y0, y1)
        for j in range(last):
            if b[j] != 0.0:
                add_scaled(y1, h * b[j], slopes[j])
        write_scales(system.tree.weights, scratch, rtol, nq, motion)
        error = error_norm(scratch.pair.E, slopes, h, scratch.scales, 0, motion)
        error = max(error, error_norm(scratch.pair.E, slopes, h, scratch.scales, motion, len(y1)))
        if error < 1.0:
            factor = _GROW if error == 0.0 else min(_GROW, _SAFETY * error**exponent)
            times[1], times[2] = times[0] + h, h * (min(1.0, factor) if rejected else factor)
            normalize(system.tree, y1[:nq])
            project_onto_constraints(system, work, times[1], y1[:nq], y1[nq : nq + nv], scratch.a, y1[motion:])
            slope(system, work, times[1], y1, slopes[last], scratch.a, nq, nv)
            store_kinetic_energy(system.tree, work, scratch, y1[nq : nq + nv])
            return attempts
        rejected = True
        h *= max(_SHRINK, _SAFETY * error**exponent) if error < math.inf else _SHRINK
    return 0


@template(evaluate)
def prepare_interpolant(system, work, scratch, nq, nv):
    """Compute the further stages and the terms of the interpolant over the last step."""
    y0, y1, slopes, terms, D = scratch.y0, scratch.y1, scratch.slopes, scratch.terms, scratch.pair.D
    last, h = len(scratch.pair.b), scratch.times[1] - scratch.times[0]
    for s in range(last + 1, len(slopes)):
        evaluate_stage(system, work, scratch, s, h, nq, nv)
    for i in range(len(y0)):
        change = y1[i] - y0[i]
        terms[0, i] = change
        terms[1, i] = h * slopes[0, i] - change
        terms[2, i] = 2.0 * change - h * (slopes[last, i] + slopes[0, i])
    for k in range(len(D)):
        for i in range(len(y0)):
            terms[_CUBIC + k, i] = 0.0
        for j in range(len(slopes)):
            if D[k, j] != 0.0:
                add_scaled(terms[_CUBIC + k], h * D[k, j], slopes[j])


@template(evaluate, evaluate_projected, project_onto_constraints)
def take_adaptive_steps(system, state, work, scratch, until, rtol, most) -> int:
    """Advance the state to `until`, in at most `most` steps, or until the step becomes too small; return the steps.

    To an instant at a knot, the last step is that which ends before the knot.
    """
    nq, nv, steps, times, reached = len(state.q), len(state.v), 0, scratch.times, True
    motion = nq + nv + len(state.z)
    if times[1] == times[0]:  # the first call
        project_onto_constraints(system, work, state.time[0], state.q, state.v, state.a, state.ledger)
        start(state, scratch)
        slope(system, work, times[1], scratch.y1, scratch.slopes[len(scratch.pair.b)], scratch.a, nq, nv)
        store_kinetic_energy(system.tree, work, scratch, state.v)
        copy(scratch.y1, scratch.y0)
        reached = is_finite(scratch.a)
    passed = count_up_to(scratch.behind, until)
    end = until if passed == len(scratch.breaks) else min(until, scratch.breaks[passed])
    end -= 1e-13 * max(times[4], abs(until))
    while reached and times[1] < end and steps < most:
        reached = take_step(system, work, scratch, rtol, nq, nv) > 0
        if reached:
            steps += 1
            if times[1] >= end:
                prepare_interpolant(system, work, scratch, nq, nv)
    if not reached or times[1] < end:
        state.time[0] = times[0]
        copy(scratch.y0, scratch.stage)
    elif times[1] > times[0]:
        state.time[0] = until
        interpolate(scratch, (until - times[0]) / (times[1] - times[0]), scratch.stage)
    else:
        copy(scratch.y1, scratch.stage)
    copy(scratch.stage[:nq], state.q)
    copy(scratch.stage[nq : nq + nv], state.v)
    copy(scratch.stage[nq + nv : motion], state.z)
    copy(scratch.stage[motion:], state.ledger)
    normalize(system.tree, state.q)
    forget_factors(work)
    project_onto_constraints(system, work, state.time[0], state.q, state.v, state.a, state.ledger)
    load_states(system.forces.states, state.z)
    evaluate_projected(system, work, state.time[0], state.q, state.v, state.a, scratch.stage[motion:])
    return steps


@kernel
def count_up_to(breaks, t):
    """Return how many of the breaks, which rise, are not after t."""
    low, high = 0, len(breaks)
    while low < high:
        middle = (low + high) // 2
        if breaks[middle] <= t:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def start(state, scratch):
    """Copy the state as the end of an empty step."""
    nq, nv = len(state.q), len(state.v)
    scratch.times[0] = scratch.times[1] = state.time[0]
    copy(state.q, scratch.y1[:nq])
    copy(state.v, scratch.y1[nq : nq + nv])
    copy(state.z, scratch.y1[nq + nv : nq + nv + len(state.z)])
    copy(state.ledger, scratch.y1[nq + nv + len(state.z) :])


@kernel
def store_kinetic_energy(tree, work, scratch, v):
    """Store the kinetic energy of the bodies in the work arrays, at the rates v (nv,)."""
    scratch.energies[0] = kinetic_energy(tree, work.bodies) + armature_energy(tree, v)


@kernel
def write_scales(weights, scratch, rtol, nq, n):
    """Write the errors of y that the tolerance allows; the first n entries are q (nq,), v and z.

    Errors of rates below the round-off of the fastest one are allowed: no step is short enough to avoid them.
    """
    y0, y1, scales, energy = scratch.y0, scratch.y1, scratch.scales, scratch.energies[0]
    for i in range(n):
        scales[i] = scratch.atol[i] + rtol * max(abs(y0[i]), abs(y1[i]))
    fastest = 0.0
    for i in range(len(weights)):
        fastest = max(fastest, abs(y1[nq + i]) * weights[i])
    for i in range(len(weights)):
        scales[nq + i] = max(scales[nq + i], _ROUND_OFF * fastest / weights[i])
    for i in range(n, len(y0)):
        energy += max(abs(y0[i]), abs(y1[i]))
    for i in range(n, len(y0)):
        scales[i] = scratch.energies[1] + rtol * energy


@kernel
def error_norm(E, slopes, h, scales, first, last) -> float:
    """Return the error of the entries from first to last of y relative to the tolerance.

    It is computed from the estimate and that of lower order (II.10.17).
    """
    total, lower = 0.0, 0.0
    for i in range(first, last):
        error, lower_error = 0.0, 0.0
        for j in range(E.shape[1]):
            error += E[0, j] * slopes[j, i]
            lower_error += E[1, j] * slopes[j, i]
        total += (error / scales[i]) ** 2
        lower += (lower_error / scales[i]) ** 2
    if total == 0.0 and lower == 0.0:
        return 0.0
    error = h * total / math.sqrt((total + 0.01 * lower) * (last - first))
    return error if error == error else math.inf


@kernel
def interpolate(scratch, theta, y):
    """Compute y at the fraction theta of the last step (II.6.8)."""
    y0, terms = scratch.y0, scratch.terms
    for i in range(len(y)):
        value = 0.0
        for k in range(len(terms) - 1, -1, -1):
            value = (value + terms[k, i]) * (theta if k % 2 == 0 else 1.0 - theta)
        y[i] = y0[i] + value


class AdaptiveStepper:
    """A pair bound to one model."""

    shortest_part = SHORTEST_PART

    def __init__(self, advance: Kernel, system: System, work: Work, scratch: Scratch, control: StepControl) -> None:
        self._advance = advance
        self._system = system
        self._work = work
        self._scratch = scratch
        self._control = control
        self._steps = 0

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to `until`, by as many steps as the tolerance requires."""
        control, most = self._control, limit_of("steps")
        left = most - self._steps
        self._steps += int(self._advance(self._system, state, self._work, self._scratch, until, control.rtol, left))
        if not np.isfinite(state.a).all():
            return Report(steps=self._steps, status=Status.DIVERGED)
        if state.time[0] == until:
            return Report(steps=self._steps)
        status = Status.STEP_TOO_SMALL if self._steps < most else Status.TOO_MANY_STEPS
        return Report(steps=self._steps, status=status)

    def step(self, state: State, count: int) -> Report | None:
        """Advance the state by `count` steps of the step control; return None, or a report if a step failed."""
        report = self.advance(state, time_after(float(state.time[0]), self._control.step, count))
        return None if report.status is Status.OK else report

    def take_part(self, state: State, length: float) -> Report:
        """Advance the state by a part of a step, s: output is interpolated within steps."""
        return self.advance(state, float(state.time[0]) + length)

    def finish_step(self, state: State, end: float) -> None:
        """Set the time to the end of a step, which the sum of its parts misses by round-off."""
        state.time[0] = end

    def follow(self, earlier: AdaptiveStepper) -> None:
        """Count on the steps of another stepper."""
        self._steps = earlier._steps

    def recording(self, state: State, observe: Kernel, rows: Any, samples: Any) -> None:
        """Return None: it has no compiled loop over output instants."""

    def sampling(self, state: State, sampling: Any, update_work: Kernel | None) -> None:
        """Return None: it has no compiled loop over samples."""

    def restart(self, barrier: float = math.inf) -> None:
        """Begin the next step at the state, not at the end of the last step; no step crosses `barrier`, s."""
        times = self._scratch.times
        times[1], times[3] = times[0], barrier


def bind(
    pair: EmbeddedPair,
    dynamics: Dynamics,
    system: System,
    work: Work,
    contact_work: Any,
    state: State,
    control: StepControl,
) -> Stepper:
    """Bind a pair to a method and a model."""
    knots = knots_of(system.forces.signals, control.end)
    index = int(knots.after.searchsorted(control.end))
    is_at_knot = index < len(knots.at) and knots.before[index] < control.end
    end = [] if is_at_knot else [control.end]
    scratch = allocate(
        Scratch,
        pair=pair,
        stages=len(pair.c),
        m=_CUBIC + len(pair.D),
        n=len(state.q) + len(state.v) + len(state.z) + len(state.ledger),
        nv=len(state.v),
        times=np.array([0.0, 0.0, control.step, np.inf, SPAN * control.step]),
        atol=_absolute_tolerances(system.tree, control, len(state.q), np.abs(state.z)),
        energies=np.array([0.0, _tolerance_of_ledger(system.tree, control)]),
        breaks=np.insert(knots.before, index, end),
        behind=np.insert(knots.after, index, end),
    )
    return AdaptiveStepper(dynamics.bind(take_adaptive_steps), system, work, scratch, control)


def _absolute_tolerances(tree: Tree, control: StepControl, nq: int, z: Floats) -> Floats:
    """Return the absolute tolerances of coordinates, velocities and states of the sizes z, weighted by default."""
    if control.atol is not None:
        return np.full(nq + len(tree.weights) + len(z), control.atol)
    of_positions = np.ones(nq)
    of_positions[tree.plain["iq"]] = 1.0 / tree.weights[tree.plain["iv"]]
    return 1e-3 * control.rtol * np.concatenate([of_positions, tree.rate / tree.weights, z])


def _tolerance_of_ledger(tree: Tree, control: StepControl) -> float:
    """Return the absolute tolerance of energies, J: by default, relative to that of the bodies at the slowest rate."""
    if control.atol is not None:
        return control.atol
    return 1e-3 * control.rtol * float(tree.links["mass"].sum()) * (tree.length * tree.rate) ** 2


def adaptive_integrator(name: str, description: str, order: int, pair: EmbeddedPair) -> Integrator:
    """Return the integrator of a pair."""
    return Integrator(name, description, order, True, partial(bind, pair))
