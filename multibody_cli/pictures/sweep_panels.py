"""Panels of pictures of sweeps: numbers and labels of columns, one panel for each column, ticks of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.output.rows import Column
from multibody_cli.output.sweep_table import SweepTable
from multibody_cli.pictures.style import Style, escape_mathtext, new_figure
from multibody_cli.pictures.thinning import LARGEST

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from multibody_cli.model import Floats

PANELS = 6
"""Largest number of columns in a picture with a panel for each."""


class Codes:
    """Numbers of a column: its values, NaN for those beyond `LARGEST`, or the indices of its texts."""

    def __init__(self, table: SweepTable, column: Column) -> None:
        values = table.read(column.name)
        self.texts: list[str] = []
        if values.dtype == object:
            texts, codes = np.unique(values.astype(str), return_inverse=True)
            self.texts, values = texts.tolist(), codes
        self.values: Floats = np.where(np.abs(values) <= LARGEST, values, np.nan)
        self.label = escape_mathtext(f"{column.name}, {column.units}" if column.units else column.name)


def finite(values: Floats) -> Floats:
    """Return the values that can be drawn; 0 if there are none."""
    known = values[np.abs(values) <= LARGEST]
    return known if len(known) else np.zeros(1)


def axes_of(columns: Sequence[Column], style: Style, remarks: list[str]) -> tuple[Figure, list[tuple[Column, Any]]]:
    """Create a figure with a panel for each column."""
    drawn = shown(columns, remarks)
    wide = min(2, len(drawn))
    high = -(-len(drawn) // wide)
    figure = new_figure(5.0 * wide + 1.0, 3.4 * high, style)
    panels = figure.subplots(high, wide, squeeze=False).ravel()
    for empty in panels[len(drawn) :]:
        empty.set_visible(False)
    return figure, list(zip(drawn, panels, strict=False))


def shown(columns: Sequence[Column], remarks: list[str]) -> Sequence[Column]:
    """Return the columns that are drawn; remark those that are left out."""
    if len(columns) > PANELS:
        remarks.append(f"{len(columns) - PANELS} of {len(columns)} columns are left out: name those to be drawn")
    return columns[:PANELS]


def set_ticks(axis: Any, codes: Codes) -> None:
    """Label the ticks of an axis with texts."""
    if codes.texts:
        axis.set_ticks(range(len(codes.texts)), [escape_mathtext(text) for text in codes.texts])


def is_grid(table: SweepTable, keys: Sequence[Column]) -> bool:
    """Whether there are two keys, and one run for each combination of their values."""
    if len(keys) != 2:
        return False
    values = [Codes(table, key).values for key in keys]
    sizes = [len(np.unique(some)) for some in values]
    return sizes[0] * sizes[1] == table.count and min(sizes) > 1 and bool(np.isfinite(values).all())
