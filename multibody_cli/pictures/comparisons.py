"""The channels in which two runs differ most: both runs, and below them the difference beside what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.comparison.compare import Comparison
from multibody_cli.comparison.equivalence import nearest_equivalent
from multibody_cli.comparison.finding import Finding
from multibody_cli.output.channel import INSTANT
from multibody_cli.output.trajectory import Record, Trajectory, read_trajectory
from multibody_cli.pictures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from multibody_cli.model import Floats

CHANNELS = 3


def draw_worst(comparison: Comparison) -> Figure:
    """Draw the channels, of those that change in time, with the largest difference by their tolerance."""
    reference = read_trajectory(comparison.reference)
    worst = sorted(
        (
            finding
            for finding in comparison.findings
            if finding.worst and finding.worst.time is not None and _is_of_instants(finding, reference)
        ),
        key=lambda finding: -(finding.worst.place.excess if finding.worst else 0.0),
    )[:CHANNELS]
    figure = new_figure(width=4.2 * max(1, len(worst)) + 0.6, height=4.8)
    word = "the runs are the same" if comparison.same else "the runs differ"
    figure.suptitle(f"{comparison.result} against {comparison.reference}: {word}")
    if not worst:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, "all numbers are equal", ha="center")
        return figure
    grid = figure.subplots(2, len(worst), sharex="col", squeeze=False, height_ratios=(2, 1))
    for column, finding in enumerate(worst):
        _draw(finding, comparison, grid[0, column], grid[1, column])
    lines = [*grid[0, 0].get_lines(), *grid[1, 0].get_lines()]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines))
    return figure


def _is_of_instants(finding: Finding, reference: Trajectory) -> bool:
    return reference.channel(finding.path, slice(0)).per == INSTANT


def _draw(finding: Finding, comparison: Comparison, above: Axes, below: Axes) -> None:
    assert finding.worst is not None
    reference, result = (read_trajectory(path) for path in (comparison.reference, comparison.result))
    # instants are sums of steps, and differ in their last digits
    time, rows, others = np.intersect1d(np.round(reference.time, 9), np.round(result.time, 9), return_indices=True)
    record = reference.channel(finding.path)
    one = _vectors(record, finding, reference.bodies)[rows]
    other = _vectors(result.channel(finding.path), finding, result.bodies)[others]
    component = finding.worst.place.index[-1] if finding.worst.place.index else 0
    one, other = one[:, component], nearest_equivalent(other, one, record.same)[:, component]

    units = finding.units.split(", ")
    unit = units[component % len(units)]
    above.set_title(" ".join(filter(None, (finding.path, str(finding.worst).strip("-")))))
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


def _vectors(record: Record, finding: Finding, bodies: tuple[str, ...]) -> Floats:
    """Take the (T, n) numbers of the channel, of one body where it holds several."""
    assert finding.worst is not None
    values = record.values
    if finding.worst.body:
        values = values[:, bodies.index(finding.worst.body)]
    vectors: Floats = values.reshape(len(values), -1)
    return vectors
