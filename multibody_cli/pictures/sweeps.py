"""Pictures of sweeps: curves with bands, maps of two keys, and parallel coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.errors import ArgumentError, ResultError, nearest
from multibody_cli.output.rows import Column
from multibody_cli.output.sweep_table import SweepTable
from multibody_cli.pictures.responses import draw_effects, draw_indices, draw_surface
from multibody_cli.pictures.style import Style, escape_mathtext, new_figure
from multibody_cli.pictures.sweep_panels import Codes, axes_of, finite, is_grid, set_ticks, shown
from multibody_cli.studies.sweep.indices import base_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from multibody_cli.model import Floats

BINS = 20
"""Number of groups of runs whose values of the horizontal key all differ."""

LINES = 2000
"""Largest number of runs in a picture of parallel coordinates, evenly chosen."""

BANDS = ((5.0, 95.0, 0.15), (25.0, 75.0, 0.3))
"""Percentiles of the bands, and their opacity."""


def draw_sweep(
    table: SweepTable, words: Sequence[str], style: Style, form: str | None = None, across: str | None = None
) -> tuple[Figure, list[str]]:
    """Draw columns of a table.

    Parameters
    ----------
    table
        The table.
    words
        Names of columns, with optional wildcards `*`; without any, all kept numbers that differ between runs.
    style
        The look of the picture.
    form
        A key of `FORMS`; None chooses indices for a design of Saltelli, curves for one key, a map for a grid of two
        keys, else parallel coordinates.
    across
        Key on the horizontal axis of curves and maps; None for the first.

    Returns
    -------
    figure, remarks
        The figure, and remarks about columns or runs that it does not show.

    Raises
    ------
    ResultError
        The table has no such column, or no run is complete.
    ArgumentError
        A map is not possible.
    """
    keys = [column for column in table.keys if across in (None, column.name)]
    if not keys:
        raise ResultError(f"{table.path} has no key `{across}`: {nearest(str(across), [k.name for k in table.keys])}")
    ordered = [keys[0], *(column for column in table.keys if column != keys[0])]
    columns = _chosen(table, words)
    if form is None:
        form = "indices" if base_of(table) else _form_of_values(table, ordered)
    return FORMS[form](table, ordered, columns, style)


def _form_of_values(table: SweepTable, keys: Sequence[Column]) -> str:
    return "curves" if len(keys) == 1 else "map" if is_grid(table, keys) else "parallel"


def _chosen(table: SweepTable, words: Sequence[str]) -> list[Column]:
    known = [column for column in table.columns if table.read(column.name, slice(0, 1)).dtype != object]
    if not words:
        found = [column for column in table.of_role("result") if np.nanstd(finite(table.read(column.name))) > 0.0]
        if not found:
            raise ResultError(f"{table.path} has no kept number that differs between runs: name columns")
        return found
    chosen: dict[Column, None] = {}
    for word in words:
        # brackets are part of names
        matching = [one for one in known if one.name == word or fnmatchcase(one.name, word.replace("[", "[[]"))]
        if not matching:
            raise ResultError(f"{table.path} has no column `{word}`: {nearest(word, [one.name for one in known])}")
        chosen.update(dict.fromkeys(matching))
    return list(chosen)


# --- curves -------------------------------------------------------------------------------------------------------
def _draw_curves(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    remarks: list[str] = []
    x = Codes(table, keys[0])
    # a key of texts, such as the method, has a curve for each text
    kinds = next((codes for key in keys[1:] if (codes := Codes(table, key)).texts), None)
    figure, panels = axes_of(columns, style, remarks)
    for column, axes in panels:
        y = Codes(table, column)
        for k, text in enumerate(kinds.texts if kinds else [""]):
            own = np.isfinite(y.values) & (kinds.values == k if kinds else True)
            _draw_curve(axes, x.values[own], y.values[own], style.colors[k % len(style.colors)], text)
        axes.set(xlabel=x.label, ylabel=y.label)
        set_ticks(axes.xaxis, x)
        if kinds:
            axes.legend()
    return figure, remarks


def _draw_curve(axes: Axes, x: Floats, y: Floats, color: str, label: str) -> None:
    """Draw the medians of groups of runs of equal x as a line, with bands of percentiles."""
    if not len(x):
        return
    places, groups = np.unique(x, return_inverse=True)
    if len(places) == len(x) > 2 * BINS:
        groups = np.argsort(np.argsort(x)) * BINS // len(x)
        places = np.array([np.median(x[groups == k]) for k in range(BINS)])
        axes.plot(x, y, ".", color=color, markersize=2, alpha=0.4)
    several = [y[groups == k] for k in range(len(places))]
    marker = "o" if len(places) <= BINS else ""
    axes.plot(places, [np.median(some) for some in several], color=color, marker=marker, markersize=3, label=label)
    if max(map(len, several)) > 1:
        for low, high, opacity in BANDS:
            edges = np.array([np.percentile(some, (low, high)) for some in several])
            axes.fill_between(places, edges[:, 0], edges[:, 1], color=color, alpha=opacity, linewidth=0.0)


# --- maps ---------------------------------------------------------------------------------------------------------
def _draw_map(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    if not is_grid(table, keys):
        raise ArgumentError("a map requires a grid of two keys: use another form with --as")
    remarks: list[str] = []
    x, y = (Codes(table, key) for key in keys)
    (xs, i), (ys, j) = (np.unique(codes.values, return_inverse=True) for codes in (x, y))
    figure, panels = axes_of(columns, style, remarks)
    for column, axes in panels:
        z = Codes(table, column)
        grid = np.full((len(ys), len(xs)), np.nan)
        grid[j, i] = z.values
        image = axes.pcolormesh(xs, ys, grid, shading="nearest", cmap="viridis")
        axes.grid(False)
        axes.set(xlabel=x.label, ylabel=y.label)
        for axis, codes in ((axes.xaxis, x), (axes.yaxis, y)):
            set_ticks(axis, codes)
        axes.figure.colorbar(image, ax=axes, label=z.label)
    return figure, remarks


# --- parallel coordinates -----------------------------------------------------------------------------------------
def _draw_parallel(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    remarks: list[str] = []
    drawn = [*keys, *shown(columns, remarks)]
    codes = [Codes(table, column) for column in drawn]
    heights = np.array([_between_0_and_1(one.values) for one in codes]).T
    complete = np.flatnonzero(np.isfinite(heights).all(axis=1))
    if not len(complete):
        raise ResultError(f"{table.path}: no run has numbers in all of these columns")
    runs = complete[np.unique(np.linspace(0, len(complete) - 1, min(LINES, len(complete))).round().astype(int))]
    if len(runs) < table.count:
        remarks.append(f"{table.count - len(runs)} of {table.count} runs are left out")
    figure = new_figure(1.7 * len(drawn) + 1.0, 4.8, style)
    axes = figure.subplots()
    places = range(len(drawn))
    lines = [np.column_stack((places, heights[run])) for run in runs]
    colors = colormaps["viridis"](heights[runs, -1])
    opacity = min(1.0, max(0.08, 60.0 / len(runs)))
    axes.add_collection(LineCollection(lines, colors=colors, linewidths=0.9, alpha=opacity))
    for place, one in zip(places, codes, strict=True):
        axes.axvline(place, color="0.4", linewidth=0.8)
        low, high = finite(one.values).min(), finite(one.values).max()
        ends = ((0.0, low, "top", -4), (1.0, high, "bottom", 4))
        if one.texts:
            ends = tuple((h, t, "center", 0) for h, t in zip(_heights_of_texts(one), one.texts, strict=True))  # type: ignore[assignment]
        for height, value, align, shift in ends:
            text = value if isinstance(value, str) else f"{value:.4g}"
            axes.annotate(
                escape_mathtext(text), (place, height), (3 if one.texts else 0, shift), textcoords="offset points",
                ha="left" if one.texts else "center", va=align, fontsize="small",
            )  # fmt: skip
    axes.set_xticks(places, [one.label.replace(" ", "\n").replace("/", "/\n") for one in codes], fontsize="small")
    axes.set_yticks([])
    axes.set(xlim=(-0.3, len(drawn) - 0.7), ylim=(-0.08, 1.08))
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=14)
    axes.grid(False)
    return figure, remarks


def _heights_of_texts(codes: Codes) -> list[float]:
    most = max(1, len(codes.texts) - 1)
    return [k / most for k in range(len(codes.texts))]


def _between_0_and_1(values: Floats) -> Floats:
    known = finite(values)
    extent = known.max() - known.min()
    return np.asarray((values - known.min()) / extent if extent > 0.0 else values * 0.0 + 0.5)


FORMS: dict[str, Callable[..., tuple[Figure, list[str]]]] = {
    "curves": _draw_curves,
    "map": _draw_map,
    "parallel": _draw_parallel,
    "surface": draw_surface,
    "effects": draw_effects,
    "indices": draw_indices,
}
"""Forms of pictures of a sweep."""
