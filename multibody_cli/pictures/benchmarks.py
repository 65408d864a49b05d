"""Pictures of a benchmark: cost versus size, and cost versus accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multibody_cli.pictures.style import COLORS, new_figure, save
from multibody_cli.studies.bench.accuracy import RESOLVED, Accuracy, Study, displayed_error
from multibody_cli.studies.bench.campaign import Findings
from multibody_cli.studies.bench.measurement import SizeSeries, series_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH, HEIGHT = 8.0, 4.6
"""Size of one panel with its legend, inches."""

TINIEST = 1e-16
"""Smallest error on the logarithmic axis, m."""


def draw_findings(found: Findings, path: Path) -> bool:
    """Draw the growth of cost of every scene and every accuracy study, one panel below the other.

    Parameters
    ----------
    found
        The measurements.
    path
        The file, `*.png` or `*.svg`.

    Returns
    -------
    bool
        False if there was nothing to draw; no file is written then.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    panels = list(_panels(found))
    if not panels:
        return False
    figure = new_figure(WIDTH, HEIGHT * len(panels))
    for axes, draw in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        draw(axes)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", borderaxespad=0.0)
    save(figure, path)
    return True


def _panels(found: Findings) -> Iterator[Callable[[Any], None]]:
    """Yield a drawing function for each panel: growth of each scene, then each study."""
    fitted = [series for series in series_of(found.measurements) if series.growth]
    for scene in dict.fromkeys(series.measurements[0].scene for series in fitted):
        of_scene = [series for series in fitted if series.measurements[0].scene == scene]
        yield partial(_draw_growth, scene, of_scene)
    for study in found.studies:
        if any(run.error is not None for run in study.runs):
            yield partial(_draw_study, study)


def _draw_growth(scene: str, several: Sequence[SizeSeries], axes: Axes) -> None:
    for k, series in enumerate(several):
        runs = sorted(series.measurements, key=lambda one: one.size or 0.0)
        sizes = [one.size or 0.0 for one in runs]
        costs = [one.step.median * 1e6 for one in runs]
        below = [(one.step.median - one.step.fastest) * 1e6 for one in runs]
        above = [(one.step.slowest - one.step.median) * 1e6 for one in runs]
        name = series.name.removeprefix(f"{scene} ").replace(" ", ", ")
        axes.errorbar(
            sizes,
            costs,
            yerr=[below, above],
            color=COLORS[k % len(COLORS)],
            marker=MARKERS[k % len(MARKERS)],
            markersize=5,
            capsize=2,
            label=f"{name}\nsize^({series.growth['step']})".replace("+-", "±"),
        )
    axes.set(
        title=f"Cost of a step: {scene}",
        xlabel=several[0].measurements[0].size_key,
        ylabel="time for a step, µs",
        xscale="log",
        yscale="log",
    )


def _draw_study(study: Study, axes: Axes) -> None:
    points = [(run, flag) for run, flag in zip(study.runs, study.front, strict=True) if run.error is not None]
    floor = study.reference.error
    ways = list(dict.fromkeys((run.method, run.integrator) for run, _ in points))
    methods = list(dict.fromkeys(method for method, _ in ways))
    integrators = list(dict.fromkeys(integrator for _, integrator in ways))
    steps = sorted(_place(run, floor) for run, flag in points if flag)
    axes.plot(*zip(*steps, strict=True), color="0.7", linewidth=3, zorder=1, drawstyle="steps-post", label="front")
    for method, integrator in ways:
        of_way = sorted(_place(run, floor) for run, _ in points if (run.method, run.integrator) == (method, integrator))
        axes.plot(
            *zip(*of_way, strict=True),
            color=COLORS[methods.index(method) % len(COLORS)],
            marker=MARKERS[integrators.index(integrator) % len(MARKERS)],
            markersize=5,
            linewidth=0.4,
            zorder=2,
            label=f"{method}, {integrator}",
        )
    for run, flag in points:
        if flag:  # the area below and left of the front is empty
            axes.annotate(
                run.stepping,
                _place(run, floor),
                (-4, -4),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize="x-small",
                color="0.3",
            )
    chosen = study.recommendation.index
    if chosen is not None:
        x, y = _place(study.runs[chosen], floor)
        axes.scatter([x], [y], s=150, facecolors="none", edgecolors="black", zorder=3, label="recommended")
    axes.axvline(study.wanted, color="black", linestyle="--", linewidth=1, label=f"asked: {study.wanted:.3g} m")
    if floor > 0.0:
        axes.axvspan(axes.get_xlim()[0], RESOLVED * floor, color="0.93", zorder=0, label="below the reference")
    size = "" if study.size is None else f" of size {study.size:g}"
    axes.set(
        title=f"Cost against accuracy: {study.scene}{size}, {study.duration:g} s",
        xlabel="error: largest displacement of a body, m",
        ylabel="time for a simulated second, s",
        xscale="log",
        yscale="log",
    )


def _place(run: Accuracy, floor: float) -> tuple[float, float]:
    """Position of a run: error (at least the resolution of the reference), m, and time per simulated second, s."""
    return max(displayed_error(run.error or 0.0, floor), TINIEST), run.seconds or math.nan
