"""Pictures of the channels with the largest differences: both runs, and the difference with its tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.comparison.compare import Comparison
from multibody_cli.comparison.differences import DatasetDifference, Location, nearest_equivalent
from multibody_cli.comparison.recording import Recording, common_instants
from multibody_cli.pictures.style import escape_mathtext, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from multibody_cli.model import Floats
    from multibody_cli.output.channel import Array

CHANNELS = 3

POINTS = 4000
"""Approximate number of instants that are drawn."""


def draw_worst(comparison: Comparison) -> Figure:
    """Draw the time-dependent channels with the largest ratio of difference to tolerance."""
    with Recording(comparison.reference) as reference, Recording(comparison.result) as result:
        return _draw_worst(comparison, reference, result)


def _draw_worst(comparison: Comparison, reference: Recording, result: Recording) -> Figure:
    worst = sorted(
        (finding for finding in comparison.findings if finding.worst and finding.path in reference.datasets),
        key=lambda finding: -finding.excess,
    )[:CHANNELS]
    figure = new_figure(width=4.2 * max(1, len(worst)) + 0.6, height=4.8)
    word = "the runs are the same" if comparison.same else "the runs differ"
    figure.suptitle(escape_mathtext(f"{comparison.result} against {comparison.reference}: {word}"), wrap=True)
    if not worst:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, "all numbers are equal", ha="center")
        return figure
    grid = figure.subplots(2, len(worst), sharex="col", squeeze=False, height_ratios=(2, 1))
    for column, finding in enumerate(worst):
        _draw(finding, reference, result, grid[0, column], grid[1, column])
    lines = [*grid[0, 0].get_lines(), *grid[1, 0].get_lines()]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines))
    return figure


def _draw(finding: DatasetDifference, reference: Recording, result: Recording, above: Axes, below: Axes) -> None:
    assert finding.worst is not None
    time, one, other = _curves(finding, reference, result)
    component = _component(finding.worst)
    units = finding.units.split(", ")
    unit = units[component % len(units)]
    above.set_title(
        escape_mathtext(" ".join(filter(None, (finding.path, finding.worst.body, finding.worst.component))))
    )
    above.plot(time, one, label="reference", linewidth=2.4, alpha=0.6)
    above.plot(time, other, label="result", linestyle="--")
    above.set_ylabel(unit)

    difference = np.abs(other - one)
    allowed = finding.tolerance.atol + finding.tolerance.rtol * np.abs(one)
    below.plot(time, difference, color="black", label="difference")
    below.plot(time, allowed, color="gray", linestyle=":", label="allowed")
    if np.any(difference > 0.0) and np.any(allowed > 0.0):
        below.set_yscale("log")
    below.set_xlabel("time, s")
    below.set_ylabel(f"difference, {unit}")


def _curves(finding: DatasetDifference, reference: Recording, result: Recording) -> tuple[Floats, Floats, Floats]:
    """Read time and the worst component of a channel in both runs, thinned for the picture."""
    assert finding.worst is not None
    common, dataset = common_instants(reference, result), reference.datasets[finding.path]
    every = max(1, common.number // POINTS)
    curves = []
    for rows, others in common.slabs(dataset.rows_of_a_slab):
        one = _vectors(reference.take(finding.path, rows), finding.worst.body, reference)
        other = _vectors(result.take(finding.path, others), finding.worst.body, result)
        component = _component(finding.worst)
        other = nearest_equivalent(other, one, dataset.same)[:, component]
        one = one[:, component]
        # keep the instant with the largest difference of each group
        apart = np.nan_to_num(np.abs(other - one), nan=np.inf)
        kept = [start + int(np.argmax(apart[start : start + every])) for start in range(0, len(apart), every)]
        curves.append(np.stack([reference.take("time", rows), one, other])[:, kept])
    time, one, other = np.concatenate(curves, axis=1)
    return time, one, other


def _component(location: Location) -> int:
    return location.place.index[-1] if location.place.index else 0


def _vectors(values: Array, body: str, run: Recording) -> Floats:
    """Return the values (T, n) of a channel, of one body if it is an array of bodies."""
    values = values[:, run.bodies.index(body)] if body else values
    vectors: Floats = values.reshape(len(values), -1).astype(np.float64)
    return vectors
