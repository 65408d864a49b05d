"""Common settings of all pictures: size, colors and reproducible files."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multibody_cli.errors import ArgumentError
from multibody_cli.output.place import replacement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg")

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Colors that remain distinct with color vision deficiency (Okabe and Ito)."""

_SETTINGS: dict[str, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.dpi": 120,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "svg.hashsalt": "mbsim",  # otherwise identifiers in the file are random
}


def require_format(path: Path) -> None:
    """Check that a picture can be written, before anything is computed for it.

    Raises
    ------
    ArgumentError
        The suffix is not in `FORMATS`, or matplotlib is not installed or misconfigured.
    """
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError(f"{path}: a picture is named *{' or *'.join(FORMATS)}")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # suppress messages about fonts
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ArgumentError("pictures need matplotlib: pip install 'multibody-cli[plot]'") from None
    except ValueError as error:  # of a variable of the environment
        raise ArgumentError(f"matplotlib is misconfigured: {error}") from None


def escape_mathtext(text: str) -> str:
    """Escape a text, such as a name in a scene, so that matplotlib does not interpret it as mathtext."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text).replace("$", r"\$")


def new_figure(width: float = 8.0, height: float = 4.5) -> Figure:
    """Create an empty figure, width and height in inches, that needs no display."""
    import matplotlib
    from cycler import cycler
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    matplotlib.rcdefaults()  # ignore user settings, so that pictures are reproducible
    settings: Any = matplotlib.rcParams  # typed by the names of all settings
    settings.update(_SETTINGS | {"axes.prop_cycle": cycler(color=COLORS)})
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file atomically, without date and version metadata.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    ending = path.suffix.lower().removeprefix(".")
    # neither the date nor the version of the program that drew it
    nothing = {"Date": None, "Creator": None} if ending == "svg" else {"Software": None}
    with replacement(path) as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as missing glyphs, which are drawn as boxes
        figure.savefig(new, format=ending, metadata=nothing)
