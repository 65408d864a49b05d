"""Pictures of sweeps: curves with bands, maps of two keys, and parallel coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.errors import ArgumentError, ResultError, nearest
from multibody_cli.output.rows import Column
from multibody_cli.output.sweep_table import SweepTable
from multibody_cli.pictures.style import Style, escape_mathtext, new_figure
from multibody_cli.pictures.thinning import LARGEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from multibody_cli.model import Floats

PANELS = 6
"""Largest number of columns in a picture of curves or maps."""

BINS = 20
"""Number of groups of runs whose values of the horizontal key all differ."""

LINES = 2000
"""Largest number of runs in a picture of parallel coordinates, evenly chosen."""

BANDS = ((5.0, 95.0, 0.15), (25.0, 75.0, 0.3))
"""Percentiles of the bands, and their opacity."""


class _Codes:
    """Numbers of a column: its values, NaN for those beyond `LARGEST`, or the indices of its texts."""

    def __init__(self, table: SweepTable, column: Column) -> None:
        values = table.read(column.name)
        self.texts: list[str] = []
        if values.dtype == object:
            texts, codes = np.unique(values.astype(str), return_inverse=True)
            self.texts, values = texts.tolist(), codes
        self.values: Floats = np.where(np.abs(values) <= LARGEST, values, np.nan)
        self.label = escape_mathtext(f"{column.name}, {column.units}" if column.units else column.name)


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
        A key of `FORMS`; None chooses curves for one key, a map for a grid of two keys, else parallel coordinates.
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
        form = "curves" if len(ordered) == 1 else "map" if _is_grid(table, ordered) else "parallel"
    return FORMS[form](table, ordered, columns, style)


def _chosen(table: SweepTable, words: Sequence[str]) -> list[Column]:
    known = [column for column in table.columns if table.read(column.name, slice(0, 1)).dtype != object]
    if not words:
        found = [column for column in table.of_role("result") if np.nanstd(_finite(table.read(column.name))) > 0.0]
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


def _finite(values: Floats) -> Floats:
    known = values[np.abs(values) <= LARGEST]
    return known if len(known) else np.zeros(1)


def _is_grid(table: SweepTable, keys: Sequence[Column]) -> bool:
    """Whether there are two keys, and one run for each combination of their values."""
    if len(keys) != 2:
        return False
    values = [_Codes(table, key).values for key in keys]
    sizes = [len(np.unique(some)) for some in values]
    return sizes[0] * sizes[1] == table.count and min(sizes) > 1 and bool(np.isfinite(values).all())


def _axes_of(columns: Sequence[Column], style: Style, remarks: list[str]) -> tuple[Figure, list[tuple[Column, Any]]]:
    """Create a figure with a panel for each column."""
    shown = _shown(columns, remarks)
    wide = min(2, len(shown))
    high = -(-len(shown) // wide)
    figure = new_figure(5.0 * wide + 1.0, 3.4 * high, style)
    panels = figure.subplots(high, wide, squeeze=False).ravel()
    for empty in panels[len(shown) :]:
        empty.set_visible(False)
    return figure, list(zip(shown, panels, strict=False))


def _shown(columns: Sequence[Column], remarks: list[str]) -> Sequence[Column]:
    if len(columns) > PANELS:
        remarks.append(f"{len(columns) - PANELS} of {len(columns)} columns are left out: name those to be drawn")
    return columns[:PANELS]


# --- curves -------------------------------------------------------------------------------------------------------
def _draw_curves(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    remarks: list[str] = []
    x = _Codes(table, keys[0])
    # a key of texts, such as the method, has a curve for each text
    kinds = next((codes for key in keys[1:] if (codes := _Codes(table, key)).texts), None)
    figure, panels = _axes_of(columns, style, remarks)
    for column, axes in panels:
        y = _Codes(table, column)
        for k, text in enumerate(kinds.texts if kinds else [""]):
            own = np.isfinite(y.values) & (kinds.values == k if kinds else True)
            _draw_curve(axes, x.values[own], y.values[own], style.colors[k % len(style.colors)], text)
        axes.set(xlabel=x.label, ylabel=y.label)
        _set_ticks(axes.xaxis, x)
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
    if not _is_grid(table, keys):
        raise ArgumentError("a map requires a grid of two keys: use another form with --as")
    remarks: list[str] = []
    x, y = (_Codes(table, key) for key in keys)
    (xs, i), (ys, j) = (np.unique(codes.values, return_inverse=True) for codes in (x, y))
    figure, panels = _axes_of(columns, style, remarks)
    for column, axes in panels:
        z = _Codes(table, column)
        grid = np.full((len(ys), len(xs)), np.nan)
        grid[j, i] = z.values
        image = axes.pcolormesh(xs, ys, grid, shading="nearest", cmap="viridis")
        axes.grid(False)
        axes.set(xlabel=x.label, ylabel=y.label)
        for axis, codes in ((axes.xaxis, x), (axes.yaxis, y)):
            _set_ticks(axis, codes)
        axes.figure.colorbar(image, ax=axes, label=z.label)
    return figure, remarks


# --- parallel coordinates -----------------------------------------------------------------------------------------
def _draw_parallel(
    table: SweepTable, keys: Sequence[Column], columns: Sequence[Column], style: Style
) -> tuple[Figure, list[str]]:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    remarks: list[str] = []
    shown = [*keys, *_shown(columns, remarks)]
    codes = [_Codes(table, column) for column in shown]
    heights = np.array([_between_0_and_1(one.values) for one in codes]).T
    complete = np.flatnonzero(np.isfinite(heights).all(axis=1))
    if not len(complete):
        raise ResultError(f"{table.path}: no run has numbers in all of these columns")
    runs = complete[np.unique(np.linspace(0, len(complete) - 1, min(LINES, len(complete))).round().astype(int))]
    if len(runs) < table.count:
        remarks.append(f"{table.count - len(runs)} of {table.count} runs are left out")
    figure = new_figure(1.7 * len(shown) + 1.0, 4.8, style)
    axes = figure.subplots()
    places = range(len(shown))
    lines = [np.column_stack((places, heights[run])) for run in runs]
    colors = colormaps["viridis"](heights[runs, -1])
    opacity = min(1.0, max(0.08, 60.0 / len(runs)))
    axes.add_collection(LineCollection(lines, colors=colors, linewidths=0.9, alpha=opacity))
    for place, one in zip(places, codes, strict=True):
        axes.axvline(place, color="0.4", linewidth=0.8)
        low, high = _finite(one.values).min(), _finite(one.values).max()
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
    axes.set(xlim=(-0.3, len(shown) - 0.7), ylim=(-0.08, 1.08))
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=14)
    axes.grid(False)
    return figure, remarks


def _heights_of_texts(codes: _Codes) -> list[float]:
    most = max(1, len(codes.texts) - 1)
    return [k / most for k in range(len(codes.texts))]


def _between_0_and_1(values: Floats) -> Floats:
    known = _finite(values)
    extent = known.max() - known.min()
    return np.asarray((values - known.min()) / extent if extent > 0.0 else values * 0.0 + 0.5)


def _set_ticks(axis: Any, codes: _Codes) -> None:
    if codes.texts:
        axis.set_ticks(range(len(codes.texts)), [escape_mathtext(text) for text in codes.texts])


FORMS: dict[str, Callable[..., tuple[Figure, list[str]]]] = {
    "curves": _draw_curves,
    "map": _draw_map,
    "parallel": _draw_parallel,
}
"""Forms of pictures of a sweep."""
