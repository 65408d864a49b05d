"""The player: one HTML file with the data of a run, the program of the page, and three.js."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats
from multibody_cli.output.selection import ScalarChannel
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.render.binary import Binary
from multibody_cli.render.camera import FIELD_OF_VIEW, MARGIN, View, fitted_camera, level_axes
from multibody_cli.render.motion import Integers
from multibody_cli.render.page_data import Event, Shown, colors, plot_data, run_data

MODULES = {
    "three": "vendor/three.min.js",
    "mbsim/data": "data.js",
    "mbsim/mechanism": "mechanism.js",
    "mbsim/plots": "plots.js",
    "mbsim/player": "player.js",
}
"""Modules of the page by the names under which they import each other."""


class Page(Immutable, eq=False):
    """The contents of a page.

    Parameters
    ----------
    title, about
        Name of the scene, and lines about the run.
    runs
        The run, and ghosts.
    trajectory, rows, scalars
        The run, its output instants in the page, and the quantities that are plotted.
    events
        Marks of the time line.
    points, up, view
        Points (n, 3) that the camera shows, m, the direction up, and the direction of view.
    speed
        Initial speed of the playback, simulated seconds per second.
    traces
        Indices of bodies whose path is shown from the start.
    is_translucent
        Whether bodies are translucent.
    """

    title: str
    about: str
    runs: Sequence[Shown]
    trajectory: Trajectory
    rows: Integers
    scalars: Sequence[ScalarChannel]
    events: Sequence[Event]
    points: Floats
    up: Floats
    view: View
    speed: float
    traces: Sequence[int]
    is_translucent: bool


def player_html(page: Page, on_progress: Callable[[int, int], None] = lambda _done, _total: None) -> bytes:
    """Return the file of the player; `on_progress` is called with the number of finished parts of the work, and all."""
    binary, parts = Binary(), len(page.runs) + 2
    runs = []
    for done, shown in enumerate(page.runs, 1):
        runs.append(run_data(shown, binary))
        on_progress(done, parts)
    header = {
        "about": page.about,
        "runs": runs,
        "colors": colors(),
        "plots": plot_data(page.trajectory, page.scalars, page.rows, binary),
        "events": [event._asdict() for event in page.events],
        "camera": _camera(page),
        "centre": page.points.mean(axis=0).tolist(),
        "radius": 0.5 * float(np.linalg.norm(np.ptp(page.points, axis=0))) or 1.0,
        "speed": page.speed,
        "traces": list(page.traces),
        "translucent": page.is_translucent,
    }
    data = base64.b64encode(binary.compressed()).decode()
    on_progress(parts - 1, parts)
    sources = files(__package__) / "page"
    encoded = {name: base64.b64encode((sources / path).read_bytes()).decode() for name, path in MODULES.items()}
    imports = {name: f"data:text/javascript;base64,{source}" for name, source in encoded.items()}
    filled = (sources / "index.html").read_text(encoding="utf-8")
    for word, text in (
        ("{title}", html.escape(page.title)),
        ("{style}", (sources / "style.css").read_text(encoding="utf-8").strip()),
        ("{importmap}", json.dumps({"imports": imports})),
        ("{data}", data),
        ("{header}", _json(header)),
    ):
        filled = filled.replace(word, text)
    return filled.encode()


def _camera(page: Page) -> dict[str, Any]:
    return {
        "points": page.points.tolist(),
        "axes": fitted_camera(page.points, page.view, page.up, 1.0).axes.tolist(),
        "up": page.up.tolist(),
        "level": level_axes(page.up).tolist(),
        "fov": float(np.degrees(FIELD_OF_VIEW)),
        "margin": MARGIN,
        "zoom": page.view.zoom,
    }


def _json(data: Any) -> str:
    """Return JSON that may stand inside of a script element; a number that is not finite is refused by `json`."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
