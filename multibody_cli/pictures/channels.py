"""Pictures of channels versus time, in stacked panels; several runs are overlaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.pictures.panels import Panel, arrange, axis_label
from multibody_cli.pictures.style import COLORS, STYLES, Style, new_figure
from multibody_cli.pictures.thinning import (
    LARGEST,
    PlottedCurve,
    Source,
    at_instants_of,
    difference_of,
    instants_per_point,
    read_curves,
    source_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

    from multibody_cli.model import Integers
    from multibody_cli.output.selection import ScalarChannel
    from multibody_cli.output.trajectory import Trajectory


DASHES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 2)), (0, (9, 3)))
"""Line styles that distinguish runs, or lines of one run where they coincide."""

MOST_RUNS = len(DASHES)
MOST_LINES = 3 * len(COLORS)
"""Largest number of lines in a panel of one run; with several runs it is the number of colors."""

_HEAD, _PANEL, _DIFFERENCE, _LEGEND_LINE = 0.9, 2.1, 1.3, 0.2  # inches


class PicturedRun(Immutable):
    """One run of a picture.

    Parameters
    ----------
    label
        Label of the run in the legend.
    trajectory
        The run.
    scalars
        The scalars to draw.
    x
        The scalar of the horizontal axis; None for the time.
    instants
        Rows of the instants to draw, ascending; None for all.
    frame
        Axes of the wrenches of joints, if they are not those of the joint frame.
    """

    label: str
    trajectory: Trajectory
    scalars: Sequence[ScalarChannel]
    x: ScalarChannel | None = None
    instants: Integers | None = None
    frame: str = ""

    @property
    def settings(self) -> str:
        """Method, integrator and step, and the status of a run that ended early."""
        about, end = self.trajectory.attributes, self.trajectory.time[-1]
        ending = {"complete": "", "running": "cut off"}.get(about["status"], about["status"])
        parts: tuple[str, ...] = (
            about["method"],
            about["integrator"],
            f"step {about['step']:g} s",
            ending and f"{ending} at {end:g} s",
        )
        parts += (self.frame and f"wrenches in axes of the {self.frame}",)
        return ", ".join(filter(None, parts))

    @property
    def source(self) -> Source:
        """The channels of the run at its instants."""
        rows = np.arange(len(self.trajectory.time)) if self.instants is None else self.instants
        return source_of(self.trajectory, rows)


def draw(
    runs: Sequence[PicturedRun], style: Style = STYLES["screen"], differences: bool = False
) -> tuple[Figure, list[str]]:
    """Draw scalars of runs versus time, or versus another scalar.

    Parameters
    ----------
    runs
        One to `MOST_RUNS` runs.
    style
        Look of the picture.
    differences
        Whether to draw, below each panel, the difference of each other run from the first.

    Returns
    -------
    (Figure, list of str)
        The picture, and messages about data that it omits.

    Raises
    ------
    ResultError
        A run has no output instants.
    """
    for run in runs:
        if not run.trajectory.time.size:
            raise ResultError(f"{run.trajectory.source} has no output instants")
    several = len(runs) > 1
    panels = arrange((scalar for run in runs for scalar in run.scalars), len(COLORS) if several else MOST_LINES)
    styles = LineStyles(several, all(len(panel.labels) == 1 for panel in panels), style.colors)
    figure, all_axes = _lay_out(panels, runs, styles, style, differences and several)
    places = {
        scalar: (axes, place)
        for axes, panel in zip(all_axes, panels, strict=True)
        for place, scalar in enumerate(panel.labels)
    }
    remarks = [_left_out_remark(panel) for panel in panels if panel.left_out]
    for number, run in enumerate(runs):
        scalars = [scalar for scalar in run.scalars if scalar in places]
        curves = read_curves(run.source, scalars, run.x)
        for curve in curves:
            axes, place = places[curve.scalar]
            look = styles.of_line(number, place)
            _draw_curve(axes[0], curve, look)
            if run.x is None:
                _draw_error_bars(axes[0], run.trajectory, curve, look["color"])
        remarks += [_gap_remark(run, curve) for curve in curves if curve.gaps]
        if run.x is not None and (every := instants_per_point(run.source)) > 1:
            remarks.append(
                f"{run.trajectory.source}: 1 of {every} instants is drawn: select a range with --from and --to"
            )
        if number and differences:
            remarks += _draw_differences(run, runs[0], number, places, styles)
    return figure, remarks


def _draw_differences(
    run: PicturedRun,
    first: PicturedRun,
    number: int,
    places: Mapping[ScalarChannel, tuple[Sequence[Axes], int]],
    styles: LineStyles,
) -> list[str]:
    """Draw the differences of a run from the first one at shared instants; return a remark if there are none."""
    shared = at_instants_of(run.source, first.source)
    if not shared.time.size:
        return [f"{run.trajectory.source} and {first.trajectory.source} share no instants: no differences are drawn"]
    names = set(first.scalars)
    scalars = [scalar for scalar in run.scalars if scalar in places and scalar in names]
    apart = difference_of(run.source, first.source)
    over = read_curves(shared, scalars, run.x)
    for curve, own in zip(read_curves(apart, scalars, run.x), over, strict=True):
        axes, place = places[curve.scalar]
        # over another scalar, the difference is drawn at the value of the run
        _draw_curve(axes[1], replace(curve, x=own.x if run.x else curve.x), styles.of_line(number, place))
    return []


def _draw_curve(axes: Axes, curve: PlottedCurve, look: dict[str, Any]) -> None:
    # a line does not show a single instant
    axes.plot(curve.x, curve.values, marker="." if len(curve.x) == 1 else "", **look)


def _draw_error_bars(axes: Axes, trajectory: Trajectory, curve: PlottedCurve, color: str) -> None:
    """Draw the error bars of a certified run as a band, at most as wide as the range of the values on either side."""
    certificate = trajectory.certificate
    bars = certificate.bar(curve.scalar.channel, trajectory.bodies) if certificate else None
    if bars is None:
        return
    own = np.interp(curve.time, trajectory.time, bars.reshape(len(bars), -1)[:, curve.scalar.column])
    half = np.fmin(own, np.nanmax(curve.values) - np.nanmin(curve.values))
    axes.fill_between(curve.time, curve.values - half, curve.values + half, color=color, alpha=0.2, linewidth=0)


class LineStyles(Immutable):
    """Colors and line styles.

    Parameters
    ----------
    several
        Whether there are several runs, which line styles then distinguish.
    alone
        Whether each panel shows a single scalar, so that colors distinguish runs as well.
    colors
        The colors.
    """

    several: bool
    alone: bool
    colors: Sequence[str] = COLORS

    def of_line(self, run: int, place: int) -> dict[str, Any]:
        """Return the style of the line with index `place` in its panel, for the run with index `run`."""
        color = run if self.several and self.alone else place
        # dashes over a continuous line show where the lines of a run coincide
        stroke = run if self.several else place % len(DASHES)
        # where runs agree, the others remain visible on top of the first
        broad = {"linewidth": 3.5, "alpha": 0.4} if self.several and run == 0 else {}
        return {"color": self.colors[color % len(self.colors)], "linestyle": DASHES[stroke], **broad}

    def of_run(self, run: int) -> dict[str, Any]:
        """Return the style that represents all lines of a run."""
        return self.of_line(run, 0) | ({} if self.alone else {"color": "gray"})

    def of_number(self, place: int) -> dict[str, Any]:
        """Return the style that represents the lines of a scalar, by its index in the panel."""
        return {"color": self.colors[place]} if self.several else self.of_line(0, place)


def _lay_out(
    panels: Sequence[Panel], runs: Sequence[PicturedRun], styles: LineStyles, style: Style, differences: bool
) -> tuple[Figure, list[list[Axes]]]:
    """Create the panels, each with its differences, with titles, labels and legends, without lines."""
    line = _LEGEND_LINE * style.text
    heights = [max(_PANEL, line * (len(panel.labels) + 2)) for panel in panels]
    rows = [height for one in heights for height in ((one, _DIFFERENCE) if differences else (one,))]
    figure = new_figure(9.0, _HEAD + line * len(runs) + max(3.0, sum(rows)), style)
    grid = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=rows)[:, 0]
    names = dict.fromkeys(str(run.trajectory.attributes["name"]) for run in runs)
    title = _abbreviated(", ".join(names), 48)
    if styles.several:
        labels = [f"{_abbreviated(run.label, 40)}: {run.settings}" for run in runs]
        line_styles = [styles.of_run(number) for number in range(len(runs))]
        legend = _add_legend(figure, line_styles, labels, loc="outside upper center", title="?")
        legend.get_title().set(text=title, parse_math=False)
    else:
        figure.suptitle(f"{title}: {runs[0].settings}", fontsize="medium", parse_math=False)
    each = len(rows) // len(panels)
    all_axes = [list(grid[each * place : each * (place + 1)]) for place in range(len(panels))]
    for (axes, *below), panel in zip(all_axes, panels, strict=True):
        axes.set_title(_abbreviated(panel.title, 80), loc="left", fontsize="small", parse_math=False)
        axes.set_ylabel(panel.axis, parse_math=False)
        for under in below:
            under.set_ylabel(", ".join(["difference", *panel.axis.split(", ")[1:]]), parse_math=False)
        if runs[0].x is None:
            axes.margins(x=0.0)
        if len(panel.labels) > 1:
            line_styles = [styles.of_number(place) for place in range(len(panel.labels))]
            labels = [_abbreviated(label, 36) for label in panel.labels.values()]
            _add_legend(axes, line_styles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    x = runs[0].x
    grid[-1].set_xlabel("time, s" if x is None else f"{x}: {axis_label([x])}", parse_math=False)
    figure.align_ylabels()
    return figure, all_axes


def _add_legend(
    owner: Axes | Figure, line_styles: Sequence[dict[str, Any]], labels: Sequence[str], **where: Any
) -> Legend:
    """Add a legend beside the data, with labels as plain text (no mathtext)."""
    from matplotlib.lines import Line2D

    legend = owner.legend(
        [Line2D([], [], **style) for style in line_styles],
        ["?"] * len(line_styles),  # matplotlib omits labels with a leading underscore
        fontsize="small",
        handlelength=2.6,
        **where,
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set(text=label, parse_math=False)
    return legend


def _abbreviated(text: str, most: int) -> str:
    """Shorten a long text in the middle, since names differ at their ends."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - most // 2 + 1 :]}"


def _left_out_remark(panel: Panel) -> str:
    return (
        f"{panel.title or panel.axis}: {panel.left_out} of {panel.left_out + len(panel.labels)} lines are omitted "
        "because the panel is full: name fewer channels, or a component as in `channel[x]`"
    )


def _gap_remark(run: PicturedRun, curve: PlottedCurve) -> str:
    return (
        f"{run.trajectory.source}: {curve.scalar} is not finite or exceeds {LARGEST:g} at {curve.gaps} of "
        f"{run.trajectory.time.size} instants, which are not drawn"
    )
