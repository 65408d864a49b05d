"""Pictures of a muscle: its curves, with the operating points along a run.

Forces are relative to the largest isometric force, lengths of the fibers to their optimal length, velocities to the
largest one, and the length of the tendon to its slack length.

Source: Sueda, notes 1.9.4, figure 1, for the curves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.forces.muscle_models.contract import MuscleCurves
from multibody_cli.pictures.style import STYLES, Style, escape_mathtext, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from multibody_cli.forces.muscle import MuscleSpec
    from multibody_cli.model import Floats
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.symbolic.tables import Piecewise

POINTS = 400
"""Points of a curve."""

CHANNELS = ("length", "fiber_length", "fiber_velocity", "pennation", "force", "activation")


class OperatingPoints:
    """Lengths, velocities, forces and activations of a muscle at the output instants of a run.

    Parameters
    ----------
    spec, curves
        The muscle, and its curves.
    trajectory, name
        The run, and the name of the muscle.

    Raises
    ------
    ResultError
        A channel of the muscle was not recorded.
    """

    def __init__(self, spec: MuscleSpec, curves: MuscleCurves, trajectory: Trajectory, name: str) -> None:
        path, fibers, velocity, angle, force, activation = (
            trajectory.channel(f"muscles/{path_component(name)}/{word}").values for word in CHANNELS
        )
        factor = 1.0 - curves.slowing + curves.slowing * activation
        self.time: Floats = trajectory.time
        self.activation: Floats = activation
        self.tension: Floats = force / spec.max_isometric_force
        self.fibers: Floats = fibers / spec.optimal_length
        self.velocity: Floats = velocity / (spec.optimal_length * spec.max_velocity * factor)
        self.force: Floats = np.divide(self.tension, np.cos(angle), out=np.zeros_like(angle), where=self.tension != 0.0)
        self.tendon: Floats = (path - fibers * np.cos(angle)) / (spec.tendon_slack_length or 1.0)


def draw_muscle(spec: MuscleSpec, trajectory: Trajectory, name: str, style: Style = STYLES["screen"]) -> Figure:
    """Draw the curves of a muscle with the operating points along a run, and activation and tension by time.

    Parameters
    ----------
    spec
        The muscle.
    trajectory, name
        The run, and the name of the muscle.
    style
        Look of the picture.

    Raises
    ------
    ResultError
        A channel of the muscle was not recorded.
    """
    curves = spec.curves.curves
    points = OperatingPoints(spec, curves, trajectory, name)
    elastic = curves.tendon is not None and spec.tendon == "elastic"
    figure = new_figure(9.0, 6.4, style)
    figure.suptitle(escape_mathtext(f"muscle {name}: {spec.curves.type}, {spec.tendon} tendon"))
    (by_length, by_velocity), (by_tendon, by_time) = figure.subplots(2, 2)
    low, high = _span(points.fibers, 0.4, 1.8)
    _curve(by_length, curves.active, low, high, "active, at activation 1", 0)
    _curve(by_length, curves.passive, low, high, "passive", 1)
    marks = _trace(by_length, points.fibers, points.force)
    by_length.set(xlabel="length of the fibers / optimal_length", ylabel="force / max_isometric_force")
    by_length.set_ylim(top=min(by_length.get_ylim()[1], 1.2 * max(1.5, float(points.force.max()))))
    _curve(by_velocity, curves.velocity, *_span(points.velocity, -1.0, 1.0), "factor of the active force", 0)
    _trace(by_velocity, points.velocity, curves.velocity.value(points.velocity))
    by_velocity.set(xlabel="velocity of the fibers / max_velocity, lengthening > 0", ylabel="factor")
    if elastic and curves.tendon is not None:
        end = 1.0 + 1.1 * max(float(points.tendon.max()) - 1.0, 0.01)
        _curve(by_tendon, curves.tendon, min(float(points.tendon.min()), 0.99), end, "tendon", 2)
        _trace(by_tendon, points.tendon, points.tension)
        by_tendon.set(xlabel="length of the tendon / tendon_slack_length", ylabel="force / max_isometric_force")
    else:
        by_tendon.set_axis_off()
        by_tendon.text(0.5, 0.5, "the tendon is rigid", ha="center")
    by_time.plot(points.time, points.activation, label="activation")
    by_time.plot(points.time, points.tension, label="tension / max_isometric_force")
    by_time.set(xlabel="time, s")
    for axes in (by_length, by_velocity, by_time, *[by_tendon] * elastic):
        axes.locator_params(axis="x", nbins=6)
        axes.legend(handles=[line for line in axes.get_lines() if line.get_linestyle() == "-"], fontsize="small")
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks))
    return figure


def _span(values: Floats, low: float, high: float) -> tuple[float, float]:
    return min(low, float(values.min())), max(high, float(values.max()))


def _curve(axes: Axes, curve: Piecewise, low: float, high: float, label: str, color: int) -> None:
    x = np.linspace(low, high, POINTS)
    axes.plot(x, curve.value(x), color=f"C{color}", label=label)


def _trace(axes: Axes, x: Floats, y: Floats) -> list[Line2D]:
    """Draw the operating points at the output instants, the first and the last one with marks; return the three."""
    given = ((x, y, ".", 2.5), (x[:1], y[:1], "o", 6.0), (x[-1:], y[-1:], "s", 6.0))
    marks = [axes.plot(a, b, mark, color="C6", markersize=size)[0] for a, b, mark, size in given]
    for line, words in zip(marks, ("run", "start", "end"), strict=True):
        line.set_label(words)
    return marks
