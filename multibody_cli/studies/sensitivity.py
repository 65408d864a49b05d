"""Sensitivity of a run to round-off: whether the growth of perturbations explains the difference of two runs.

A stable computation is, up to round-off, the exact one for slightly perturbed data (Wilkinson's backward error). The
scene of the reference is therefore run again with initial state, masses and frames perturbed by a few units in the last
place. The largest difference between these runs and an unperturbed one, up to each instant, bounds the growth of
round-off. A difference that is many times larger at any instant, even within its tolerance, has another cause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.comparison.compare import Comparison
from multibody_cli.comparison.differences import nearest_equivalent
from multibody_cli.comparison.recording import common_rows
from multibody_cli.errors import ResultError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.output.trajectory import Trajectory, read_trajectory
from multibody_cli.studies.simulation import PreparedSimulation

COPIES = 4
"""Number of perturbed runs."""

SIZE = 1e-15
"""Relative size of the perturbations: a few units in the last place."""

FACTOR = 1000.0
"""Largest ratio of the difference to the growth of perturbations that counts as explained; round-off accumulates over
the steps, while data are perturbed once.
"""

COORDINATES = ("bodies/position", "bodies/quaternion", "bodies/linear_velocity", "bodies/angular_velocity")
"""Datasets that are examined; all others depend on these, unless they differ earlier."""


class Explanation(Immutable):
    """Comparison of a difference with the growth of perturbations.

    Parameters
    ----------
    explained
        Whether round-off explains the difference.
    path, time
        Dataset and time, s, of the largest ratio.
    difference, grown
        Difference and growth there, in the units of the dataset.
    """

    explained: bool
    path: str
    time: float
    difference: float
    grown: float

    def __str__(self) -> str:
        ratio = self.difference / self.grown
        text = (
            f"perturbations of {SIZE:g} grow to {self.grown:.2g} in {self.path} at t = {self.time:.6g} s, where the "
            f"runs differ by {self.difference:.2g}, {ratio:.2g} times as much"
        )
        if self.explained:
            return f"sensitivity: round-off explains the difference: {text} at most"
        return f"sensitivity: round-off does not explain the difference: {text}"


def explain(
    comparison: Comparison, simulation: PreparedSimulation, on_run: Callable[[int], None] = lambda _done: None
) -> Explanation:
    """Repeat the reference run with and without perturbations, and compare the difference with their growth.

    Parameters
    ----------
    comparison
        Two runs.
    simulation
        The scene of the reference.
    on_run
        Called with the number of finished runs, after each.

    Raises
    ------
    ResultError
        The runs have different bodies, or do not record their motion.
    """
    runs = [read_trajectory(path) for path in (comparison.reference, comparison.result)]
    paths = [path for path in COORDINATES if all(path in run.paths for run in runs)]
    paths += [path for path in _differing_before(comparison, paths) if all(path in run.paths for run in runs)]
    if not paths or runs[0].bodies != runs[1].bodies:
        raise ResultError("--sensitivity needs the motion of the same bodies in both files: record `bodies`")
    generator = np.random.default_rng(0)
    _, base = simulation.run_in_memory(paths)
    on_run(1)
    copies = []
    for copy in range(COPIES):
        copies.append(perturbed(simulation, generator).run_in_memory(paths)[1])
        on_run(copy + 2)
    rows = common_rows(*(run.time for run in (*runs, base, *copies)))
    worst = max((_ratio(path, rows, runs, base, copies) for path in paths), key=lambda one: one.difference / one.grown)
    return replace(worst, explained=worst.difference <= FACTOR * worst.grown)


def _differing_before(comparison: Comparison, motion: list[str]) -> list[str]:
    """Return the datasets that exceed their tolerance earlier than the motion, which therefore cannot explain them."""
    times = {finding.path: finding.first.time for finding in comparison.findings if finding.first}
    first = min((time for path in motion if (time := times.get(path)) is not None), default=np.inf)
    return [path for path, time in times.items() if path not in motion and time is not None and time < first]


def perturbed(simulation: PreparedSimulation, generator: np.random.Generator) -> PreparedSimulation:
    """Return a scene with initial state, masses and frames perturbed by round-off."""
    compiled = simulation.compiled
    tree = compiled.model.system.tree
    links = tree.links.copy()
    for name in ("origin", "com", "mass", "central"):
        links[name] = _perturbed_array(links[name], generator)
    links.flags.writeable = False
    system = compiled.model.system._replace(tree=tree._replace(links=links))
    model: Model = replace(compiled.model, system=system)
    state: State = compiled.state._replace(
        q=_perturbed_array(compiled.state.q, generator, SIZE), v=_perturbed_array(compiled.state.v, generator, SIZE)
    )
    return simulation.with_compiled(model=model, state=state)


def _perturbed_array(numbers: Any, generator: np.random.Generator, least: float = 0.0) -> Floats:
    """Perturb numbers by up to `SIZE` relatively, and zeros by up to `least`."""
    size = np.where(numbers == 0.0, least, SIZE * np.abs(numbers))
    perturbed_copies: Floats = numbers + size * generator.uniform(-1.0, 1.0, np.shape(numbers))
    return perturbed_copies


def _ratio(
    path: str, rows: list[Integers], runs: list[Trajectory], base: Trajectory, copies: list[Trajectory]
) -> Explanation:
    """Return the instant with the largest ratio of the difference of a dataset to the growth of perturbations."""
    same = base.channel(path).same
    values = [run.channel(path).values[own] for run, own in zip([*runs, base, *copies], rows, strict=True)]
    reference, result, unperturbed, *perturbed_copies = values
    difference = _distance(result, reference, same)
    spread = np.max([_distance(copy, unperturbed, same) for copy in perturbed_copies], axis=0)
    # the running maximum, because runs may approach again by chance; the floor is the round-off of the numbers;
    # datasets other than the motion may be small differences of numbers of order one
    floor = SIZE * float(np.max(np.abs(unperturbed), initial=0.0 if path in COORDINATES else 1.0))
    grown = np.maximum(np.maximum.accumulate(spread), floor or SIZE)
    row = int(np.argmax(difference / grown))
    return Explanation(False, path, float(runs[0].time[rows[0][row]]), float(difference[row]), float(grown[row]))


def _distance(values: Floats, others: Floats, same: str) -> Floats:
    """Largest absolute difference at each instant, (T,); infinite if a number is NaN."""
    apart = np.abs(nearest_equivalent(values, others, same) - others).reshape(len(values), -1)
    largest: Floats = np.nan_to_num(apart, nan=np.inf).max(axis=1, initial=0.0)
    return largest
