"""Channels of runs against time: panels one below the other, several runs on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from multibody_cli.errors import ResultError
from multibody_cli.pictures.panels import Panel, arrange
from multibody_cli.pictures.style import COLORS, new_figure
from multibody_cli.pictures.thinning import LARGEST, Curve, read_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

    from multibody_cli.output.selection import Scalar
    from multibody_cli.output.trajectory import Trajectory

DASHES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 2)), (0, (9, 3)))
"""Strokes that tell runs apart, and lines of one run that have the same color."""

MOST_RUNS = len(DASHES)
MOST_LINES = 3 * len(COLORS)
"""How many lines a panel has room for; where strokes tell runs apart, a line for each color."""

_HEAD, _PANEL, _LEGEND_LINE = 0.9, 2.1, 0.2  # inches


@dataclass(frozen=True)
class Run:
    """What is drawn of one run.

    Parameters
    ----------
    label
        What it is called beside others.
    trajectory
        The run.
    scalars
        The numbers to draw.
    """

    label: str
    trajectory: Trajectory
    scalars: Sequence[Scalar]

    @property
    def settings(self) -> str:
        """Method, integrator and step, and how the run ended if that was too early."""
        about, end = self.trajectory.attributes, self.trajectory.time[-1]
        ending = {"complete": "", "running": "cut off"}.get(about["status"], about["status"])
        parts = (about["method"], about["integrator"], f"step {about['step']:g} s", ending and f"{ending} at {end:g} s")
        return ", ".join(filter(None, parts))


def draw(runs: Sequence[Run]) -> tuple[Figure, list[str]]:
    """Draw numbers of runs against time.

    Parameters
    ----------
    runs
        From one to `MOST_RUNS`.

    Returns
    -------
    (Figure, list of str)
        The picture, and what it does not show, in words for the user.

    Raises
    ------
    ResultError
        A run holds no output instant.
    """
    for run in runs:
        if not run.trajectory.time.size:
            raise ResultError(f"{run.trajectory.source} holds no output instant")
    several = len(runs) > 1
    panels = arrange((scalar for run in runs for scalar in run.scalars), len(COLORS) if several else MOST_LINES)
    pens = Pens(several, alone=all(len(panel.labels) == 1 for panel in panels))
    figure, all_axes = _lay_out(panels, runs, pens)
    places = {
        scalar: (axes, place)
        for axes, panel in zip(all_axes, panels, strict=True)
        for place, scalar in enumerate(panel.labels)
    }
    remarks = [_about_room(panel) for panel in panels if panel.left_out]
    for number, run in enumerate(runs):
        curves = read_curves(run.trajectory, [scalar for scalar in run.scalars if scalar in places])
        for curve in curves:
            axes, place = places[curve.scalar]
            # a single instant is a point, which a line does not show
            marker = "." if len(curve.time) == 1 else ""
            axes.plot(curve.time, curve.values, marker=marker, **pens.of_line(number, place))
        remarks += [_about_gaps(run, curve) for curve in curves if curve.gaps]
    return figure, remarks


@dataclass(frozen=True)
class Pens:
    """Colors and strokes of lines.

    Parameters
    ----------
    several
        Whether several runs are drawn: strokes then tell these apart.
    alone
        Whether each panel shows a single number: colors then tell runs apart as well.
    """

    several: bool
    alone: bool

    def of_line(self, run: int, place: int) -> dict[str, Any]:
        """Choose for a run, by its number, the pen of a line, by its place in the panel."""
        color = run if self.several and self.alone else place
        stroke = run if self.several else place // len(COLORS)
        # where runs agree, the others are seen on top of the first
        broad = {"linewidth": 3.5, "alpha": 0.4} if self.several and run == 0 else {}
        return {"color": COLORS[color % len(COLORS)], "linestyle": DASHES[stroke], **broad}

    def of_run(self, run: int) -> dict[str, Any]:
        """Choose the pen that stands for all lines of a run."""
        return self.of_line(run, 0) | ({} if self.alone else {"color": "dimgray"})

    def of_number(self, place: int) -> dict[str, Any]:
        """Choose the pen that stands for the lines of a number, by its place in the panel."""
        return {"color": COLORS[place]} if self.several else self.of_line(0, place)


def _lay_out(panels: Sequence[Panel], runs: Sequence[Run], pens: Pens) -> tuple[Figure, Sequence[Axes]]:
    """Make the panels with everything but lines."""
    heights = [max(_PANEL, _LEGEND_LINE * (len(panel.labels) + 2)) for panel in panels]
    figure = new_figure(9.0, _HEAD + _LEGEND_LINE * len(runs) + max(3.0, sum(heights)))
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)
    names = dict.fromkeys(str(run.trajectory.attributes["name"]) for run in runs)
    title = _fitting(", ".join(names), 48)
    if pens.several:
        labels = [f"{_fitting(run.label, 40)}: {run.settings}" for run in runs]
        styles = [pens.of_run(number) for number in range(len(runs))]
        legend = _add_legend(figure, styles, labels, loc="outside upper center", title="?")
        legend.get_title().set(text=title, parse_math=False)
    else:
        figure.suptitle(f"{title}: {runs[0].settings}", fontsize="medium", parse_math=False)
    all_axes = list(grid[:, 0])
    for axes, panel in zip(all_axes, panels, strict=True):
        axes.set_title(_fitting(panel.title, 80), loc="left", fontsize="small", parse_math=False)
        axes.set_ylabel(panel.units)
        axes.margins(x=0.0)
        if len(panel.labels) > 1:
            styles = [pens.of_number(place) for place in range(len(panel.labels))]
            labels = [_fitting(label, 36) for label in panel.labels.values()]
            _add_legend(axes, styles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    all_axes[-1].set_xlabel("time, s")
    return figure, all_axes


def _add_legend(owner: Axes | Figure, styles: Sequence[dict[str, Any]], labels: Sequence[str], **where: Any) -> Legend:
    """Add a legend beside the data; labels are text as it is, whatever letters it holds."""
    from matplotlib.lines import Line2D

    legend = owner.legend(
        [Line2D([], [], **style) for style in styles],
        ["?"] * len(styles),  # as labels, texts with a leading underscore would be left out
        fontsize="small",
        handlelength=2.6,
        **where,
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set(text=label, parse_math=False)
    return legend


def _fitting(text: str, most: int) -> str:
    """Shorten a text that is too long in the middle, since names differ at their ends."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - most // 2 + 1 :]}"


def _about_room(panel: Panel) -> str:
    return (
        f"{panel.title or panel.units}: {panel.left_out} of {panel.left_out + len(panel.labels)} lines are left out, "
        "for which a panel has no room: name fewer channels, or a component as in `channel[x]`"
    )


def _about_gaps(run: Run, curve: Curve) -> str:
    return (
        f"{run.trajectory.source}: {curve.scalar} at {curve.gaps} of {run.trajectory.time.size} instants is not finite "
        f"or beyond {LARGEST:g}, and not drawn there"
    )
