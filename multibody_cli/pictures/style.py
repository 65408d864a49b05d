"""Common settings of all pictures: size, colors and reproducible files."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multibody_cli.errors import ArgumentError, series
from multibody_cli.escaping import escaped
from multibody_cli.immutable import Immutable
from multibody_cli.output.file_replacement import replacement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Colors that remain distinct with color vision deficiency (Okabe and Ito)."""

_SETTINGS: dict[str, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.dpi": 120,
    # an SVG file names all families, of which a viewer takes the first that it has
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica", "sans-serif"],
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    # text stays text, which can be searched and edited
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "mbsim",  # otherwise identifiers in the file are random
}

_ANONYMOUS = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata of a file by its suffix: neither the date nor the version of the program that drew it."""

_DARK = "#16191d"
_LIGHT = "#e6e6e6"


class Style(Immutable):
    """The look of a picture.

    Parameters
    ----------
    description
        Purpose of the style.
    scale
        Factor of widths and heights in inches; with the same size of text, a larger factor leaves more space.
    text
        Height of a line of text, relative to that of the default style.
    settings
        Settings of matplotlib.
    colors
        Colors of lines.
    """

    description: str
    scale: float = 1.0
    text: float = 1.0
    settings: Mapping[str, Any] = {}
    colors: tuple[str, ...] = COLORS


STYLES = {
    "screen": Style("for screens"),
    "paper": Style(
        "for a page of 6.3 inches between margins, text of 8 points",
        0.7,
        1.1,
        {"font.size": 8.0, "lines.linewidth": 1.0, "axes.linewidth": 0.6, "savefig.dpi": 300},
    ),
    "talk": Style(
        "for slides, with large text and broad lines",
        1.25,
        1.5,
        {"font.size": 18.0, "lines.linewidth": 2.8, "axes.linewidth": 1.4, "grid.linewidth": 1.2},
    ),
    "dark": Style(
        "light lines on a dark background",
        settings={
            **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), _DARK),
            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _LIGHT),
            "grid.color": "#8a8f98",
        },
        colors=("#56b4e9", "#ff9e4a", "#2fc79a", "#e39ac4", "#f0e442", "#b3a2f5", "#ffffff"),
    ),
}
"""The styles of pictures; all have colors that remain distinct with color vision deficiency."""


def require_format(path: Path) -> None:
    """Check that a picture can be written, before anything is computed for it.

    Raises
    ------
    ArgumentError
        The suffix is not in `FORMATS`, or matplotlib is not installed or misconfigured.
    """
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError(f"{path}: a picture is named {series([f'*{one}' for one in FORMATS], 'or')}")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # suppress messages about fonts
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ArgumentError("pictures need matplotlib: pip install 'multibody-cli[plot]'") from None
    except ValueError as error:  # of a variable of the environment
        raise ArgumentError(f"matplotlib is misconfigured: {error}") from None


def escape_mathtext(text: str) -> str:
    """Escape a text, such as a name in a scene, so that matplotlib does not interpret it as mathtext."""
    return text.replace("$", r"\$")


def new_figure(width: float = 8.0, height: float = 4.5, style: Style = STYLES["screen"]) -> Figure:
    """Create an empty figure, width and height in inches, that needs no display."""
    import matplotlib
    from cycler import cycler
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    matplotlib.rcdefaults()  # ignore user settings, so that pictures are reproducible
    settings: Any = matplotlib.rcParams  # typed by the names of all settings
    settings.update(_SETTINGS | {"axes.prop_cycle": cycler(color=style.colors)} | dict(style.settings))
    figure = Figure(figsize=(style.scale * width, style.scale * height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file atomically, without date and version metadata, and without control characters.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_text(escaped(text.get_text()))
    ending = path.suffix.lower().removeprefix(".")
    with replacement(path) as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as missing glyphs, which are drawn as boxes
        figure.savefig(new, format=ending, metadata=_ANONYMOUS[ending])
