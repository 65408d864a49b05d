"""Campbell diagram: frequencies over the rate of a rotor, with the multiples of the rate that may excite them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.pictures.style import STYLES, Style, escape_mathtext, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from multibody_cli.studies.vibration.campbell import Campbell

ORDERS = {1: "--", 2: ":"}
"""Multiples of the rate, with the style of their lines."""


def draw_campbell(found: Campbell, style: Style = STYLES["screen"]) -> Figure:
    """Draw a curve for each frequency, and a dashed line for each order."""
    figure = new_figure(8.0, 5.0, style)
    axes = figure.subplots()
    for own in found.frequencies.T:
        axes.plot(found.rates, own, marker=".")
    highest = 1.1 * float(np.nanmax(found.frequencies, initial=0.0)) or 1.0
    for order, line in ORDERS.items():
        own = order * np.abs(found.rates) / (2.0 * math.pi)
        axes.plot(found.rates, own, line, color="black", linewidth=0.8, label=f"order {order}")
    axes.set(xlabel=escape_mathtext(f"rate of {found.coordinate}, SI units"), ylabel="frequency, Hz", ylim=(0, highest))
    axes.legend()
    return figure
