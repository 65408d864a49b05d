"""Assembly: satisfy all loops and constraints in the initial state.

Coordinates and rates that the scene states are kept.  The other coordinates change as little as possible in the metric
of the mass matrix.  The other rates are those of an impulsive start from rest: among all rates that satisfy the rows,
the prescribed motions and the given rates, those of least kinetic energy.  They do not depend on the choice of the
joint that closes a loop.  An articulation that no motion drives keeps its rates if they satisfy its rows as written.
Given coordinates and rates of joints that close loops are satisfied by the least impulse along these coordinates.

If this does not suffice, the given coordinates or rates change as well, as little as possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from multibody_cli.constraint_solver.active_rows import activate_unilateral_rows
from multibody_cli.constraint_solver.constrained_bodies import accelerate, apply_inverse_mass
from multibody_cli.constraint_solver.projection import add_response_to_residuals, compute_velocity_residuals, project
from multibody_cli.constraint_solver.solver import (
    ACCELERATION,
    POSITION,
    VELOCITY,
    build_delassus,
    clear_impulses,
    impulse_response,
    select_active_rows,
    update_kinematics,
    zero_rhs,
)
from multibody_cli.constraints import TABLES
from multibody_cli.constraints.rotor import TABLE as ROTORS
from multibody_cli.immutable import replace
from multibody_cli.initial.articulations import Articulations
from multibody_cli.initial.assembly_result import ASSEMBLED, AssemblyResult, RowError
from multibody_cli.initial.loop_coordinates import LoopCoordinates, rates_of_uncarried_bodies
from multibody_cli.initial.scales import scales_of
from multibody_cli.kernel import Flags, bound_kernel, frozen
from multibody_cli.linalg.free_rows import rank_of
from multibody_cli.model import (
    KERNEL_BALL,
    KERNEL_GENERAL,
    KERNEL_SCREW,
    Floats,
    Model,
    State,
    System,
)
from multibody_cli.tree.configuration import displace, displacement_between, normalize
from multibody_cli.tree.energy import subtract_momenta
from multibody_cli.tree.workspace import workspace_for

MAX_ITERATIONS = 100

MAX_DISPLACEMENT = 0.3
"""Largest displacement of one iteration; Newton's method diverges from far off."""

OFFSETS = (0.01, 0.1, 0.3, 1.0, 3.0)
"""Distances of other configurations from which the projection is repeated if it fails.

Where rods are collinear, no displacement changes their length to first order, and the projection ends there.
"""

FARTHEST = 30.0
"""Largest change by these, relative to the root of the error that it removes; farther off is another branch.

At a singular configuration an error e is removed by a change of the order of sqrt(e).
"""

AGREES = 0.01
"""Largest difference, relative, of coordinates that a scene states to a few digits and that others determine."""


class Assembler:
    """Corrects the state of one model, in place, by articulated-body solves."""

    def __init__(self, model: Model, state: State, duration: float = math.inf) -> None:
        self.model, self._state, self._slowest = model, state, ASSEMBLED / duration
        self._work = workspace_for(model.system)
        self._build_delassus = bound_kernel(build_delassus, apply_inverse_mass=apply_inverse_mass)
        self._impulse_response = bound_kernel(impulse_response, apply_inverse_mass=apply_inverse_mass)
        self._project = bound_kernel(project, apply_inverse_mass=apply_inverse_mass)
        self.scales = scales_of(model, state, self._work, self._slowest)
        self._free_end = int(model.system.tree.links["nv"].sum())
        self._uncarried = rates_of_uncarried_bodies(model)

    def assemble_positions(self, kept: Flags, written: Floats | None = None) -> AssemblyResult:
        """Satisfy all rows at the level of positions; `kept` (nv,) are the given coordinates.

        `written` (nq,) are those of the scene, from which given coordinates of loop joints are taken.
        """
        tree, start = self.model.system.tree, self._state.q.copy()
        found = self._close(kept)
        closing = self._loop_coordinates(kept & ~tree.driven)
        if written is not None and found.closed and len(closing.numbers):
            self._displace_loop_joints(closing, written, kept)
            found.moved[: self._free_end] = displacement_between(tree, start, self._state.q)[: self._free_end]
        return found

    def _close(self, kept: Flags) -> AssemblyResult:
        before = self._error(self.model.system, POSITION)
        if before.small:
            return self._unchanged(before)
        attempts = self._project_positions, self._project_positions
        found = self._first_that_succeeds(attempts, before, kept, POSITION)
        for number in range(len(OFFSETS)):
            if found.closed:
                return found
            nearby, here = partial(self._project_from_nearby, number), self._state.q.copy()
            again = self._first_that_succeeds((nearby, nearby), before, kept, POSITION)
            if again.closed and again.change <= FARTHEST * math.sqrt(before.relative):
                found = again
            else:
                self._state.q[:] = here
        return found

    def complete_rates(self, kept: Flags, written: Floats) -> AssemblyResult:
        """Satisfy all rows and motions at the level of velocities.

        `kept` (nv,) are the given rates; `written` (nv,) those of the scene, which the state has lost for loop joints.
        """
        self._start_uncarried_bodies(kept, written)
        self.scales = scales_of(self.model, self._state, self._work, self._slowest)
        contradicted = self._contradicted_rates(kept, written)
        before = self._error(self.model.system, VELOCITY)
        started = self._started(contradicted)
        if not started.any():
            return self._unchanged(before)
        closing = self._loop_coordinates(kept & ~self.model.system.tree.driven)
        attempts = partial(self._start_impulsively, closing, written), self._project_rates
        held = kept | ~started
        held[self._free_end :] = False
        return self._first_that_succeeds(attempts, before, held, VELOCITY)

    def dependent_rows(self) -> dict[int, bool]:
        """Return the equality rows that depend on others in the current configuration, and whether any motion has one.

        No motion that joints permit changes the others.
        """
        system, work = self.model.system, self._work
        self._place(system)
        accelerate(system, work, work.response)
        count = select_active_rows(work, ACCELERATION)
        self._build_delassus(system, work, count)
        moves = np.diag(work.dual.W)[:count] > 0.0
        rank_of(work.dual.W[:count, :count], work.dual.solver)
        found = np.flatnonzero(work.dual.solver.dependent[:count])
        return {int(work.dual.active_rows[k]): bool(moves[k]) for k in found}

    def _first_that_succeeds(
        self, attempts: Sequence[Callable[[System], Floats]], before: RowError, kept: Flags, level: int
    ) -> AssemblyResult:
        """Change the state by the first attempt with the given values kept, and, if an error remains, without."""
        state, system = self._state, self.model.system
        start, driven = (state.q.copy(), state.v.copy()), system.tree.driven
        for change, held in zip(attempts, (driven | kept, driven), strict=True):
            state.q[:], state.v[:] = start
            moved = change(_with_fixed_coordinates(system, held))
            moved[self._free_end :] = 0.0  # coordinates of closures follow from the others
            after = self._error(system, level)
            if after.small:
                break
        size = self.scales.largest(moved) / (self.scales.rate if level == VELOCITY else 1.0)
        return AssemblyResult(before, after, moved, size, held is driven)

    def _unchanged(self, error: RowError) -> AssemblyResult:
        return AssemblyResult(error, error, np.zeros_like(self._state.v), 0.0, False)

    def _project_positions(self, system: System) -> Floats:
        """Project the configuration onto the constraint manifold; return the displacements (nv,)."""
        state, work = self._state, self._work
        moved = np.zeros_like(state.v)
        for _ in range(MAX_ITERATIONS):
            if not self._error(system, POSITION).relative > 0.1 * ASSEMBLED:
                break
            accelerate(system, work, work.response)
            self._project(system, work, POSITION)
            scale = min(1.0, MAX_DISPLACEMENT / max(self.scales.largest(work.response), 1e-300))
            displace(system.tree, state.q, work.response, scale)
            normalize(system.tree, state.q)
            moved += scale * work.response
        return moved

    def _project_from_nearby(self, number: int, system: System) -> Floats:
        """Project a configuration nearby, whose free coordinates differ by up to the offset with a number."""
        tree, size = system.tree, OFFSETS[number]
        offset = np.random.default_rng(number).uniform(-size, size, len(self._state.v)) * self.scales.coordinates
        offset[tree.driven] = 0.0
        offset[self._free_end :] = 0.0
        displace(tree, self._state.q, offset, 1.0)
        normalize(tree, self._state.q)
        return offset + self._project_positions(system)

    def _displace_loop_joints(self, closing: LoopCoordinates, written: Floats, kept: Flags) -> None:
        """Displace the mechanism until coordinates of loop joints are as written; those of the tree are kept.

        From a dead centre, and from a branch that does not reach them, it starts in configurations nearby.  If none
        leads there, all coordinates remain.
        """
        state, system = self._state, self._with_only(~kept)
        start = state.q.copy()
        uncarried = self._uncarried & ~kept
        if uncarried.any() and not self._follow_loop_joints(closing, written, self._with_only(uncarried)):
            state.q[:] = start
        if self._follow_loop_joints(closing, written, system):
            return
        for number in range(len(OFFSETS)):
            state.q[:] = start
            self._project_from_nearby(number, system)
            if self._follow_loop_joints(closing, written, system):
                return
        state.q[:] = start
        self._place(system)

    def _follow_loop_joints(self, closing: LoopCoordinates, written: Floats, system: System) -> bool:
        """Displace the mechanism by Newton's method; return whether loop joints have the written coordinates."""
        state = self._state
        for _ in range(MAX_ITERATIONS):
            if not self._error(system, POSITION).small:
                return False
            change = closing.distance(state.q, written)
            moved = closing.response(change, system)
            size = self.scales.largest(moved)
            if size <= ASSEMBLED:
                closing.copy_turns(state.q, written)
                self._place(system)
                return bool((np.abs(change) <= AGREES * closing.sizes).all())
            displace(system.tree, state.q, moved, min(1.0, MAX_DISPLACEMENT / size))
            normalize(system.tree, state.q)
            self._project_positions(system)
        return False

    def _start_impulsively(self, closing: LoopCoordinates, written: Floats, system: System) -> Floats:
        """Minimize the kinetic energy over the free rates, subject to all rows; return their changes (nv,).

        The free rates first take the values without rows, for which the free momenta vanish.  The projection in the
        metric of M then yields the constrained minimum.  It uses the residuals of these rates, before the rates of
        reduced couplings are computed from the others.
        """
        state, work = self._state, self._work
        start = state.v.copy()
        self._place(system)
        activate_unilateral_rows(work)
        compute_velocity_residuals(work, state.v)
        accelerate(system, work, work.response)
        clear_impulses(work)
        subtract_momenta(system.tree, work.bodies, work.wrenches)
        zero_rhs(work)
        self._impulse_response(system, work)
        add_response_to_residuals(work)
        state.v[:] += work.response
        self._project(system, work, VELOCITY)
        state.v[:] += work.response
        if self._error(system, VELOCITY).relative > 0.1 * ASSEMBLED:  # round-off of the first projection
            self._correct_rates(system)
        if len(closing.numbers):
            self._start_loop_joints(closing, written, system)
        self._release_limits()
        return state.v - start

    def _start_uncarried_bodies(self, kept: Flags, written: Floats) -> None:
        """Start bodies without a joint that carries them, where all joints then have their written rates.

        Another order of the joints would carry them, and their articulation would be consistent as written.
        """
        free, state = self._uncarried & ~kept, self._state
        if not free.any():
            return
        self.scales = scales_of(self.model, state, self._work, self._slowest)
        start, everything = state.v.copy(), np.ones_like(kept)
        if self._contradicted_rates(everything, written).any():
            closing = self._loop_coordinates(everything & ~self.model.system.tree.driven)
            self._start_impulsively(closing, written, self._with_only(free))
            self._error(self.model.system, VELOCITY)
            undone = self._started(self._contradicted_rates(kept, written))
            state.v[undone] = start[undone]

    def _contradicted_rates(self, kept: Flags, written: Floats) -> Flags:
        """Return which given rates (nv,) of loop joints differ from those of the bodies.

        They count in the scale of rates.
        """
        first, sizes = self._free_end, self.scales.coordinates
        rate = max(self.scales.rate, float((np.abs(written) / sizes)[first:][kept[first:]].max(initial=0.0)))
        differ = np.abs(written - self._state.v) > ASSEMBLED * rate * sizes
        found = kept & ~self.model.system.tree.driven & differ
        found[:first] = False
        if found.any():
            self.scales = replace(self.scales, rate=rate)
        return found

    def _loop_coordinates(self, chosen: Flags) -> LoopCoordinates:
        """Return the coordinates of loop joints among some (nv,)."""
        numbers = self._free_end + np.flatnonzero(chosen[self._free_end :])
        sizes = self.scales.coordinates[numbers]
        return LoopCoordinates(self.model, self._work, numbers, sizes, self._impulse_response, self._project)

    def _start_loop_joints(self, closing: LoopCoordinates, written: Floats, system: System) -> None:
        """Add the response to impulses along coordinates of loop joints after which these have the written rates.

        Rates that no impulse changes, since others determine them, remain.
        """
        work, v = self._work, self._state.v
        self._place(system)
        v += closing.response((written - v)[closing.numbers], system)
        self._place(system)
        compute_velocity_residuals(work, v)
        self._correct_rates(system)
        self._place(system)

    def _project_rates(self, system: System) -> Floats:
        """Change the rates as little as possible, in the metric of the mass matrix; return the change (nv,)."""
        start = self._state.v.copy()
        self._place(system)
        activate_unilateral_rows(self._work)
        for _ in range(2):  # the second one removes the round-off of the first
            compute_velocity_residuals(self._work, self._state.v)
            self._correct_rates(system)
            self._place(system)
        self._release_limits()
        return self._state.v - start

    def _correct_rates(self, system: System) -> None:
        """Correct the rates by the residuals of the rows."""
        work = self._work
        accelerate(system, work, work.response)
        self._project(system, work, VELOCITY)
        self._state.v[:] += work.response

    def _release_limits(self) -> None:
        """Deactivate the one-sided rows: the first step resolves their impacts."""
        rows = self._work.rows
        rows["active"][rows["one_sided"] == 1] = 0

    def _started(self, contradicted: Flags) -> Flags:
        """Return which rates (nv,) belong to an articulation with a violated row or with a motion that drives it.

        Or with a given rate of a loop joint that is contradicted (nv,).

        One-sided rows do not count: the first step resolves their impacts.
        """
        tree, rows, v = self.model.system.tree, self._work.rows, self._state.v
        articulations = Articulations(tree, rows, self._work.terms)
        violated = (rows["one_sided"] == 0) & (self._errors(VELOCITY)[1] > ASSEMBLED)
        moved = contradicted | (tree.driven & (v != 0.0))
        started = {articulations.of_body(int(i)) for i in articulations.body_of_rate[moved]}
        for row in rows[violated]:
            started |= {articulations.of_body(i) for i in articulations.bodies_of_row(row)}
        return np.array([articulations.of_body(int(i)) in started for i in articulations.body_of_rate], np.bool_)

    def _with_only(self, free: Flags) -> System:
        """Return the system in which only some coordinates (nv,) of the tree, and no driven ones, are free."""
        held = ~free
        held[self._free_end :] = False
        return _with_fixed_coordinates(self.model.system, self.model.system.tree.driven | held)

    def _place(self, system: System) -> None:
        state = self._state
        update_kinematics(system, state.time[0], state.q, state.v, state.a, self._work)
        rotors = system.constraints.tables[TABLES.index(ROTORS)]
        if len(rotors):
            state.q[rotors["rotor_iq"]], state.v[rotors["rotor_iv"]] = state.q[rotors["iq"]], state.v[rotors["iv"]]
            update_kinematics(system, state.time[0], state.q, state.v, state.a, self._work)

    def _error(self, system: System, level: int) -> RowError:
        """Return the largest error at a level."""
        self._place(system)
        compute_velocity_residuals(self._work, self._state.v)
        errors, relative = self._errors(level)
        if not len(relative):
            return RowError(0.0, 0.0, -1, 0.0)
        row = int(np.argmax(relative))
        return RowError(float(errors[row]), float(relative[row]), row, float(errors.max()))

    def _errors(self, level: int) -> tuple[Floats, Floats]:
        """Return the errors of all rows (m,), and relative ones; the first step resolves impacts of limits."""
        rows, scales = self._work.rows, self.scales
        one_sided = rows["one_sided"] == 1
        if level == POSITION:
            errors = np.where(one_sided, np.maximum(-rows["error"], 0.0), np.abs(rows["error"]))
            return errors, errors / scales.rows
        errors = np.where(one_sided, 0.0, np.abs(rows["residual"]))
        return errors, errors / (scales.rows * scales.rate)


def _with_fixed_coordinates(system: System, held: Flags) -> System:
    """Return the same system with additional fixed coordinates."""
    tree = system.tree
    links = np.array(tree.links)
    fast = np.isin(links["joint_kernel"], (KERNEL_SCREW, KERNEL_BALL))
    for row in np.flatnonzero(fast):
        link = links[row]
        if held[link["iv"] : link["iv"] + link["nv"]].any():
            links["joint_kernel"][row] = KERNEL_GENERAL
            links["has_side_children"][link["parent"]] = 1
    return system._replace(tree=tree._replace(links=frozen(links), driven=frozen(held)))
