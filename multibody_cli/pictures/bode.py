"""Bode plot: magnitude and phase of outputs over the frequency of each input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.pictures.charts import Chart
from multibody_cli.pictures.style import STYLES, Style, escape_mathtext, new_figure
from multibody_cli.studies.vibration.response import Response, write_response

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_INPUTS, MOST_OUTPUTS = 4, 7
"""Numbers of panels and of curves that can be read."""


def draw_response(found: Response, style: Style = STYLES["screen"]) -> Figure:
    """Draw a frequency response: a column for each input, a curve for each output.

    Raises
    ------
    ArgumentError
        There are too many inputs or outputs.
    """
    columns, curves = len(found.inputs), len(found.outputs)
    if columns > MOST_INPUTS or curves > MOST_OUTPUTS:
        raise ArgumentError(
            f"--bode: {columns} inputs and {curves} outputs are more than {MOST_INPUTS} and {MOST_OUTPUTS}, which can "
            "be read: select some by --input and --output"
        )
    figure = new_figure(max(8.0, 4.5 * columns), 6.0, style)
    axes = figure.subplots(2, columns, sharex=True, squeeze=False)
    for k, name in enumerate(found.inputs):
        magnitude, phase = axes[0, k], axes[1, k]
        for i, output in enumerate(found.outputs):
            sizes = np.abs(found.values[:, i, k])
            if sizes.any():
                magnitude.loglog(found.frequencies, sizes, label=escape_mathtext(output))
                phase.semilogx(found.frequencies, found.phases[:, i, k])
            else:
                magnitude.plot([], [], label=escape_mathtext(f"{output}: none"))
                phase.plot([], [])
        magnitude.set(title=escape_mathtext(name), ylabel="magnitude, SI units" if k == 0 else "")
        phase.set(xlabel="frequency, Hz", ylabel="phase, deg" if k == 0 else "")
        phase.yaxis.set_major_locator(_every_quarter(phase.get_ylim()))
        magnitude.legend()
    return figure


def _every_quarter(limits: tuple[float, float]) -> object:
    """Return ticks every 45, 90 or 180 degrees."""
    from matplotlib.ticker import MultipleLocator

    width = limits[1] - limits[0]
    return MultipleLocator(45.0 if width <= 300.0 else 90.0 if width <= 800.0 else 180.0)


CHART = Chart(write_response, draw_response)
