"""Record of a run for its alarms: largest values of samples and counts of reports, independent of recorded channels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.alarms.contract import RunSettings
from multibody_cli.alarms.phases import Phases, find_largest
from multibody_cli.escaping import path_component
from multibody_cli.methods.contract import Causes, Report
from multibody_cli.model import ConstraintEntry, Floats, Integers, Model, SceneNames

GROWTH = 1.5
"""Factor between the values whose times a `Peak` keeps."""

SMALLEST_LIFT = 1e-3
"""Energy scale of a scene at rest: its weight is lifted by this part of its length."""


class Peak:
    """Largest absolute value of a quantity over a run, with its element, and the times at which the value grew."""

    def __init__(self) -> None:
        self.largest = 0.0
        self.element = 0
        self._growth: list[tuple[float, float]] = []

    def add(self, times: Floats, values: Floats) -> None:
        """Add K instants of n elements: times (K,), values (K, n)."""
        if not values.size:
            return
        sizes = np.abs(values)
        sizes[np.isnan(sizes)] = math.inf
        self.add_largest(times, sizes.max(axis=1), sizes.argmax(axis=1))

    def add_largest(self, times: Floats, sizes: Floats, elements: Integers) -> None:
        """Add the largest value of each instant (K,), and its element."""
        for k in np.flatnonzero(sizes > np.maximum.accumulate(np.concatenate(([self.largest], sizes[:-1])))):
            self.largest, self.element = float(sizes[k]), int(elements[k])
            if not self._growth or self.largest > GROWTH * self._growth[-1][0]:
                self._growth.append((self.largest, float(times[k])))

    def time_above(self, bound: float) -> float:
        """Return when the value first exceeded a bound, to a factor of `GROWTH`, s."""
        return next((time for value, time in self._growth if value * GROWTH > bound), math.nan)


class Count:
    """Number of events, and the time of the first, s."""

    def __init__(self) -> None:
        self.number = 0
        self.first = math.nan

    def add(self, events: int, time: float) -> None:
        """Add the events up to an output instant."""
        if events and not self.number:
            self.first = time
        self.number += events


class RecordScales(NamedTuple):
    """Constants of a model that its record depends on.

    Parameters
    ----------
    reach
        Length of the mechanism, m; of a single body, the distance of its center of mass from its origin.
    weight
        Weight of all bodies, N.
    mass
        Their mass, kg.
    signs
        (na,) sign of each account in the energy balance.
    rows
        The rows of couplings and constraints, and the entry of each.
    is_prescribed
        Whether motions or constraints do work of any sign.
    """

    reach: float
    weight: float
    mass: float
    signs: Floats
    rows: dict[int, ConstraintEntry]
    is_prescribed: bool


def scales_of(model: Model) -> RecordScales:
    """Return the constants of a model."""
    tree, names = model.system.tree, model.names
    working = {account.cause for account in names.accounts if account.kind == "work"}
    constrained = {f"{entry.section}/{path_component(entry.name)}" for entry in names.constraint_entries}
    offset = float(np.linalg.norm(model.com, axis=1).max(initial=0.0))
    return RecordScales(
        float(tree.length) if len(names.bodies) > 1 and tree.links["central"].any() else offset,
        float(tree.links["mass"].sum() * np.linalg.norm(tree.gravity)),
        float(tree.links["mass"].sum()),
        np.array([-1.0 if account.kind == "work" else 1.0 for account in names.accounts]),
        rows_of(names),
        bool(tree.driven.any() or working & constrained),
    )


def rows_of(names: SceneNames) -> dict[int, ConstraintEntry]:
    """Return the rows of couplings and constraints, and the entry of each."""
    entries = (entry for entry in names.constraint_entries if entry.section in ("couplings", "constraints"))
    return {row: entry for entry in entries for row in range(entry.rows.start, entry.rows.stop)}


def open_rows(errors: Floats, rows: Mapping[int, ConstraintEntry]) -> Floats:
    """Return the errors of rows (K, m) that count: of one-sided rows the negative ones, and NaN."""
    one_sided = [entry.one_sided for entry in rows.values()]
    return np.where(one_sided, np.minimum(errors[:, [*rows]], 0.0), errors[:, [*rows]])


class RunRecord:
    """Largest values of a run.

    Parameters
    ----------
    model
        The compiled scene; its names give the elements, its masses and lengths the scales.
    settings
        The settings of its alarms.

    Attributes
    ----------
    loop_error, row_error
        Errors of loop joints (nj,), and of rows of couplings and constraints, m and rad.
    residual
        Residual of the energy ledger, J.
    gain, loss
        Its positive and negative part: energy without a source, and energy lost, J.
    spin
        Angular velocities of the bodies, rad/s.
    loop_spin
        Angular velocities of the bodies in closed loops, rad/s; its elements are numbers in `Names.looped`.
    phase
        Errors of the angles that the bodies have turned, rad, by `phases`.
    penetration
        Depths of contacts, m.
    unsolved, step_subdivisions, implicit_unsolved
        Counts of `methods.contract.Report`.
    jams
        Steps in which a sliding contact stops without a collision.
    energizing, added_energy
        Steps whose impulses of contacts add energy, and this energy, J.
    causes
        Numbers of unsolved steps and accelerations by cause.
    law_residual
        Largest residual of Coulomb's law in advances with unsolved steps, relative to the impulses.
    iterations_remedy
        The change of the largest number of iterations that may solve Coulomb's law; empty if it has no effect.
    friction_cause
        The joint whose friction disagreed with its loads, as `joints/<name>/friction`; empty if there is none.
    steps
        Number of steps.
    """

    def __init__(self, model: Model, settings: RunSettings) -> None:
        self.names = model.names
        self.loop_error, self.row_error, self.residual, self.gain, self.loss = (Peak() for _ in range(5))
        self.spin, self.loop_spin, self.phase, self.penetration = (Peak() for _ in range(4))
        self.unsolved, self.step_subdivisions, self.implicit_unsolved = Count(), Count(), Count()
        self.jams, self.energizing, self.added_energy = Count(), Count(), 0.0
        self.causes, self.law_residual, self.friction_cause = Causes(), 0.0, ""
        more_may_help = bool(model.system.contacts) and _more_iterations_may_help(model.system.contacts.options)
        self.iterations_remedy = "increase `contacts.max_iterations`" if more_may_help else ""
        self.steps = 0
        self.length = 1.0
        scales = scales_of(model)
        self._reach, self._weight, self.mass, self._signs, self._rows, is_prescribed = scales
        self.phases = Phases(model, settings, is_prescribed)
        self._work = self._signs < 0.0
        self._first: tuple[float, float] | None = None  # kinetic energy and energy balance at the start
        self._highest = np.full(2, -math.inf)  # potential and elastic energy at the start
        self._lowest = np.full(2, math.inf)
        self._work_range = np.zeros((2, int(self._work.sum())))
        self._highest_kinetic = 0.0

    @property
    def energy(self) -> float:
        """Energy that the run had available, J.

        It is the sum of the kinetic energy at the start, the potential and elastic energy released and the work done,
        at least a small part of the energy of lifting the scene by its own length.  Springs whose energy only grows
        have available their energy at the start, up to the largest kinetic energy.
        """
        kinetic = self._first[0] if self._first else 0.0
        released = float((self._highest - self._lowest).sum()) if self._first else 0.0
        work = float((self._work_range[1] - self._work_range[0]).sum())
        stored = min(float(self._highest[1]), self._highest_kinetic) if self._first else 0.0
        return max(kinetic + released + work, stored, SMALLEST_LIFT * self._weight * self.length)

    def add_samples(self, samples: Any, count: int) -> None:
        """Add the first `count` rows of samples."""
        if not count:
            return
        times = samples.time[:count].reshape(-1)
        if self._first is None:
            self.length = float(lengths_of(samples.position[:1], self._reach)[0])
        with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges may overflow
            residual = self._add_energies(times, samples, count)
            if self.phases.estimates:
                self.phase.add_largest(times, *self.phases.add(times, residual, samples, count))
            spins = samples.angular_velocity[:count]
            looped = spins[:, list(self.names.looped)]
            for peak, vectors in ((self.spin, spins), (self.loop_spin, looped)):
                sizes, elements = np.empty(count), np.empty(count, np.int64)
                find_largest(vectors, sizes, elements)
                peak.add_largest(times, sizes, elements)
        self.loop_error.add(times, samples.constraint_error[:count])
        self.row_error.add(times, open_rows(samples.row_error[:count], self._rows))
        if self.names.contacts:
            present = np.arange(self.names.contacts) < samples.contact_count[:count].reshape(-1, 1)
            self.penetration.add(times, np.where(present, np.minimum(samples.contact_gap[:count], 0.0), 0.0))

    def _add_energies(self, times: Floats, samples: Any, count: int) -> Floats:
        """Add the energies, and return the residuals (K,), J."""
        kinetic, potential, elastic = (
            field[:count].reshape(-1) for field in (samples.kinetic, samples.potential, samples.elastic)
        )
        accounts = samples.accounts[:count]
        # row by row: a product of matrices rounds a row by its place in the block
        balance = kinetic + potential + elastic + (accounts * self._signs).sum(axis=1)
        if self._first is None:
            self._first = (float(kinetic[0]), float(balance[0]))
            self._highest = np.array([potential[0], elastic[0]])
        self._lowest = np.minimum(self._lowest, [potential.min(), elastic.min()])
        self._highest_kinetic = max(self._highest_kinetic, float(kinetic.max()))
        work = accounts[:, self._work]
        self._work_range = np.stack(
            [np.minimum(self._work_range[0], work.min(axis=0)), np.maximum(self._work_range[1], work.max(axis=0))]
        )
        residual: Floats = balance - self._first[1]
        for peak, part in (
            (self.residual, residual),
            (self.gain, np.maximum(residual, 0.0)),
            (self.loss, np.minimum(residual, 0.0)),
        ):
            peak.add(times, part[:, None])
        return residual

    def add_energy(self, energy: float) -> None:
        """Count an energy, J, that a change of the scene adds, as present from the start."""
        assert self._first is not None, "a run has recorded its start"
        self._first = (self._first[0], self._first[1] + energy)
        self.phases.restart()

    def add_report(self, report: Report, time: float) -> None:
        """Add the report of an advance to an output instant."""
        self.steps = report.steps
        self.unsolved.add(report.unsolved, time)
        self.implicit_unsolved.add(report.implicit_unsolved, time)
        self.causes = self.causes.plus(report.causes)
        self.jams.add(report.jams, time)
        self.energizing.add(report.energizing, time)
        self.added_energy += report.added_energy
        if report.unsolved:
            self.law_residual = max(self.law_residual, report.contact_residual)
        if report.friction_account >= 0:
            self.friction_cause = self.names.accounts[report.friction_account].cause
        if report.diagnostics is not None:
            self.step_subdivisions.add(report.diagnostics.step_subdivisions, time)


def lengths_of(positions: Floats, reach: float) -> Floats:
    """Return the length of the scene of each of R runs (R,) from positions (R, B, 3), m.

    It is the extent of the origins of the bodies plus the reach, since these may coincide to round-off; of a single
    point, the distance from the origin of the world, or 1 m.
    """
    extent = positions.max(axis=1, initial=-math.inf) - positions.min(axis=1, initial=math.inf)
    length = extent.max(axis=1, initial=0.0) + reach
    farthest = np.linalg.norm(positions, axis=2).max(axis=1, initial=0.0)
    return np.where(length > 0.0, length, np.where(farthest > 0.0, farthest, 1.0))


def _more_iterations_may_help(options: Any) -> bool:
    """Whether a contact solver with these options does more if `max_iterations` is larger."""
    from multibody_cli.contact_solver.friction.rescue.rescue import MAX_PATHS

    return bool(options.staggered or options.sweeps < MAX_PATHS)
