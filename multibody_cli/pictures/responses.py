"""Responses of kept numbers to the keys of a sweep: response surfaces, main effects, and sensitivity indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.output.rows import Column
from multibody_cli.output.sweep_table import SweepTable
from multibody_cli.pictures.style import Style, new_figure
from multibody_cli.pictures.sweep_panels import Codes, axes_of, is_grid, set_ticks, shown
from multibody_cli.studies.sweep.indices import base_of, sobol_indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from multibody_cli.model import Floats

LEVELS = 12
"""About the number of contours of a response surface."""

LABEL_DISTANCE = 1.0
"""Distance around labels of contours, pixels."""

POINTS = 400
"""Largest number of runs that are marked on a response surface."""

GROUPS = 8
"""Number of groups of equal size of a key whose values all differ, in main effects."""

KEYS = 6
"""Largest number of keys in a picture of main effects."""

LABELS = {"first": "alone (first order)", "total": "with others (total)"}
"""Fields of `Indices` and their labels."""


def _remark(known: NDArray[np.bool_], remarks: list[str]) -> None:
    """Remark once how many runs have no number."""
    text = f"{(~known).sum()} of {len(known)} runs have no number and are left out"
    if not known.all() and text not in remarks:
        remarks.append(text)


# --- response surfaces ------------------------------------------------------------------------------------------------
def draw_surface(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    """Draw contours over two keys: between the runs of a grid, or on the triangles between runs anywhere.

    Raises
    ------
    ArgumentError
        There are not two keys of numbers, or the runs are on one line.
    """
    x, y = _two_numbers(table, keys)
    remarks: list[str] = []
    figure, panels = axes_of(columns, style, remarks)
    contours = []
    for column, axes in panels:
        z = Codes(table, column)
        known = np.isfinite(x.values) & np.isfinite(y.values) & np.isfinite(z.values)
        _remark(known, remarks)
        if is_grid(table, keys):
            filled, lines = _contours_of_grid(axes, x.values, y.values, z.values)
        else:
            filled, lines = _contours_of_points(axes, x.values[known], y.values[known], z.values[known], table)
        if known.sum() <= POINTS:
            axes.plot(x.values[known], y.values[known], ".", color="0.25", markersize=3)
        if not known.all():
            missing = ~known & np.isfinite(x.values) & np.isfinite(y.values)
            axes.plot(x.values[missing], y.values[missing], "x", color="0.25", markersize=4)
        axes.grid(False)
        axes.set(xlabel=x.label, ylabel=y.label)
        axes.figure.colorbar(filled, ax=axes, label=z.label)
        contours.append((axes, lines))
    figure.draw_without_rendering()  # the layout determines which labels overlap
    for axes, lines in contours:
        _label(axes, lines)
    return figure, remarks


def _label(axes: Axes, lines: Any) -> None:
    """Label contours where no label overlaps another one."""
    boxes: list[Any] = []
    for text in list(axes.clabel(lines, fontsize="x-small", inline=False, colors="0.15")):
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "pad": 0.6})
        box = text.get_window_extent().padded(LABEL_DISTANCE)
        if any(box.overlaps(other) for other in boxes):
            text.remove()
        else:
            boxes.append(box)


def _two_numbers(table: SweepTable, keys: Sequence[Column]) -> tuple[Codes, Codes]:
    """Return the two keys of numbers."""
    codes = [Codes(table, key) for key in keys]
    if len(keys) != 2 or any(one.texts for one in codes):
        raise ArgumentError(
            f"--as surface requires a sweep of two keys of numbers, found {', '.join(key.name for key in keys)}: use "
            "--as effects, or another sweep"
        )
    return codes[0], codes[1]


def _contours_of_grid(axes: Axes, x: Floats, y: Floats, z: Floats) -> tuple[Any, Any]:
    """Draw filled contours and lines of a grid; a cell with a corner without a number stays empty."""
    (xs, i), (ys, j) = (np.unique(values, return_inverse=True) for values in (x, y))
    values = np.full((len(ys), len(xs)), np.nan)
    values[j, i] = z
    masked = np.ma.masked_invalid(values)
    filled = axes.contourf(xs, ys, masked, LEVELS, cmap="viridis")
    return filled, axes.contour(xs, ys, masked, filled.levels, colors="0.15", linewidths=0.6)


def _contours_of_points(axes: Axes, x: Floats, y: Floats, z: Floats, table: SweepTable) -> tuple[Any, Any]:
    """Draw filled contours and lines on the Delaunay triangles of points, whose coordinates are scaled to one size."""
    from matplotlib.tri import Triangulation
    from scipy.spatial import Delaunay, QhullError

    scaled = [(values - values.min(initial=np.inf)) / (np.ptp(values) or 1.0) for values in (x, y) if len(values)]
    try:
        triangles = Delaunay(np.column_stack(scaled)).simplices
    except (QhullError, ValueError):
        raise ResultError(
            f"{table.path}: the runs with numbers are too few, or on one line, for a surface: use --as curves"
        ) from None
    mesh = Triangulation(x, y, triangles)
    filled: Any = axes.tricontourf(mesh, z, levels=LEVELS, cmap="viridis")
    return filled, axes.tricontour(mesh, z, levels=filled.levels, colors="0.15", linewidths=0.6)


# --- main effects -----------------------------------------------------------------------------------------------------
def draw_effects(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    """Draw the mean of each column over the values of each key, with the mean of all runs."""
    remarks: list[str] = []
    if len(keys) > KEYS:
        remarks.append(f"{len(keys) - KEYS} of {len(keys)} keys are left out: --x names the first one to be drawn")
    drawn, factors = shown(columns, remarks), [Codes(table, key) for key in keys[:KEYS]]
    figure = new_figure(2.6 * len(factors) + 1.5, 2.6 * len(drawn) + 0.4, style)
    rows = figure.subplots(len(drawn), len(factors), squeeze=False, sharey="row", sharex="col")
    for column, row in zip(drawn, rows, strict=True):
        z = Codes(table, column)
        known = np.isfinite(z.values)
        if not known.any():
            raise ResultError(f"{table.path}: no run has a number of {column.name}")
        _remark(known, remarks)
        for k, (factor, axes) in enumerate(zip(factors, row, strict=True)):
            places, means = effects_of(factor.values[known], z.values[known])
            axes.axhline(z.values[known].mean(), color="0.5", linewidth=0.8, linestyle="--")
            axes.plot(places, means, "o-", color=style.colors[k % len(style.colors)], markersize=3.5)
            axes.margins(x=0.12)
            set_ticks(axes.xaxis, factor)
            axes.tick_params(axis="x", rotation=20.0 if factor.texts else 0.0)
        row[0].set_ylabel(f"mean of {z.label}")
    for factor, axes in zip(factors, rows[-1], strict=True):
        axes.set_xlabel(factor.label)
    return figure, remarks


def effects_of(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return values of a key and the means of y there.

    Runs with one value of the key are a group.  If there are more than 2 `GROUPS` values, neighboring values form
    `GROUPS` groups of one size, at the means of the values.
    """
    places, groups = np.unique(x, return_inverse=True)
    if len(places) > 2 * GROUPS:
        groups = groups * GROUPS // len(places)
    means = np.array([[own[groups == k].mean() for own in (x, y)] for k in range(groups.max() + 1)])
    return means[:, 0], means[:, 1]


# --- sensitivity indices ----------------------------------------------------------------------------------------------
def draw_indices(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    """Draw the first-order and total indices of Sobol of each column, with their confidence intervals.

    Raises
    ------
    ArgumentError
        The table has no design of Saltelli, or is not complete.
    """
    if not base_of(table):
        raise ArgumentError("--as indices requires a complete sweep with --sampling saltelli")
    found, remarks = sobol_indices(table), list[str]()
    chosen = [column for column in columns if column.name in {one.column for one in found}]
    if not chosen:
        raise ResultError(f"{table.path}: none of the columns has a number of every run that differs between runs")
    if len(chosen) < len(columns):
        names = ", ".join(column.name for column in columns if column not in chosen)
        remarks.append(f"no indices of {names}: a run has no number, or all have the same one")
    figure, panels = axes_of(chosen, style, remarks)
    places = np.arange(len(keys))
    for column, axes in panels:
        own = {one.key: one for one in found if one.column == column.name}
        for k, word in enumerate(LABELS):
            heights = [getattr(own[key.name], word) for key in keys]
            errors = [getattr(own[key.name], f"{word}_error") for key in keys]
            label = ("alone (first order)", "with others (total)")[k]
            axes.bar(
                places + 0.4 * (k - 0.5), heights, 0.38, yerr=errors, capsize=3, color=style.colors[k], label=label
            )
        axes.set_xticks(places, [Codes(table, key).label for key in keys])
        axes.set(ylabel="share of the variance", title=Codes(table, column).label)
        axes.grid(axis="x", visible=False)
        axes.legend()
    return figure, remarks
