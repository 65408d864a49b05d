"""Campbell diagram: frequencies over the rate of a rotor, with the multiples of the rate that may excite them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.pictures.charts import Chart
from multibody_cli.pictures.style import STYLES, Style, escape_mathtext, new_figure
from multibody_cli.studies.vibration.campbell import Campbell, write_campbell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDERS = {1: "--", 2: ":"}
"""Multiples of the rate, with the style of their lines."""


def draw_campbell(found: Campbell, style: Style = STYLES["screen"]) -> Figure:
    """Draw a curve for each mode, crosses where one grows, and of rotations a line for each order.

    A mode that grows without oscillation has its crosses at frequency 0.
    """
    figure = new_figure(8.0, 5.0, style)
    axes = figure.subplots()
    rates, frequencies = found.rates.values, found.frequencies
    for k, own in enumerate(frequencies.T, start=1):
        label = f"mode {k}" if frequencies.shape[1] <= len(style.colors) else None
        axes.plot(rates, own, marker=".", label=label)
    if found.grows.any():
        rows, columns = np.nonzero(found.grows)
        heights = np.nan_to_num(frequencies[rows, columns])
        axes.plot(rates[rows], heights, "x", color="black", clip_on=False, label="grows")
    highest = 1.1 * float(np.nan_to_num(frequencies).max(initial=0.0)) or 1.0
    if found.rates.unit == "rad/s":
        for order, line in ORDERS.items():
            own = order * np.abs(rates) / (2.0 * math.pi)
            axes.plot(rates, own, line, color="gray", linewidth=0.8, label=f"order {order}")
    label = escape_mathtext(f"rate of {found.rates.coordinate}, {found.rates.unit}")
    axes.set(xlabel=label, ylabel="frequency, Hz", ylim=(0, highest))
    if axes.lines:
        axes.legend()
    return figure


CHART = Chart(write_campbell, draw_campbell)
