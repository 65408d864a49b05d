"""Figures of papers, with the axes and the series of the paper."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

from multibody_cli.pictures.style import COLORS, new_figure, save
from multibody_cli.studies.papers.contract import Plot

MARKERS_UP_TO = 40
"""Largest number of points of a curve that are marked."""


def draw(plot: Plot, title: str, path: Path) -> None:
    """Draw a figure.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    figure = new_figure()
    axes = figure.add_subplot()
    colors = cycle(COLORS)
    for curve in plot.curves:
        if curve.published:
            axes.plot(curve.x, curve.y, label=curve.label, color="#777777", marker="x", linestyle="none")
        else:
            marker = "o" if len(curve.x) <= MARKERS_UP_TO else ""
            axes.plot(curve.x, curve.y, label=curve.label, color=next(colors), marker=marker, markersize=3.5)
    axes.set(xlabel=plot.x, ylabel=plot.y, title=title)
    axes.set_xscale("log" if plot.log_x else "linear")
    axes.set_yscale("log" if plot.log_y else "linear")
    axes.legend(fontsize="small")
    save(figure, path)
