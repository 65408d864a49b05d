"""Draw the pictures of mechanisms of the README and of the guides.

    python docs/pictures/mechanisms.py

The films of the gallery are not among them: `docs/site/gallery.py` draws those, outside of git.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from multibody_cli.output.sink import MemorySink
from multibody_cli.render.frames import gif, images, png, strip
from multibody_cli.render.image import ImageFormat, Pixels
from multibody_cli.render.motion import choose_rows
from multibody_cli.render.picture import Picture
from multibody_cli.studies.simulation import prepare

ROOT = Path(__file__).parents[2]
FPS = 12.5
START = {"windmill": 1.0, "board_on_surface": 3.6, "leg_muscles": 0.9}
"""Scenes of the gallery side by side in `start.gif`, with the simulated time that it shows, s."""

FRAMES = 36

STRIPS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "tutorial_pendulum.png": ("tutorial", "pendulum.yaml", (0.0, 0.3, 0.6, 0.9)),
    "tutorial_linkage.png": ("tutorial", "fourbar.yaml", (0.0, 0.1, 0.2, 0.3)),
    "rendering_double.png": ("rendering", "double.yaml", (0.0, 0.3, 0.6, 0.9)),
    "first_robot_falls.png": ("first-robot", "walker.urdf", (0.0, 0.2, 0.4, 1.0)),
    "first_robot_stands.png": ("first-robot", "stand.yaml", (0.0, 1.0, 2.0, 3.0)),
}
"""Pictures of instants, s, of scenes that pages show."""

OVERRIDES = {"first_robot_falls.png": ("--floor=10 cm", "contacts.overlap=exclude")}
"""Options of the commands on a page that change the scene."""


def picture_of(scene: Path, instants: tuple[float, ...], overrides: tuple[str, ...] = ()) -> Picture:
    """Run a scene, and return its picture at some instants."""
    simulation = prepare(scene, overrides)
    sink = MemorySink()
    simulation.run(sink)
    trajectory = sink.trajectory()
    return Picture(simulation.loaded, trajectory, choose_rows(trajectory.time, instants))


def start() -> bytes:
    """Return the film of the README."""
    films: list[Iterator[Pixels]] = []
    for name, duration in START.items():
        instants = tuple(np.linspace(0.0, duration, FRAMES))
        films.append(images(picture_of(ROOT / f"scenes/gallery/{name}.yaml", instants), [], ImageFormat(250, 240, 2)))
    return gif((np.concatenate(frames, axis=1) for frames in zip(*films, strict=True)), FPS)


def write_files(page: str, folder: Path) -> None:
    """Write the files that a page shows."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    for title, content in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', text, re.DOTALL | re.MULTILINE):
        (folder / title).write_text(content, encoding="utf-8")


def draw_reach(here: Path) -> None:
    """Draw the pictures of the page on inverse dynamics, by its commands."""
    with tempfile.TemporaryDirectory() as folder:
        write_files("inverse", Path(folder))
        for words in (
            "python reach.py",
            "mbsim inverse arm.osim --motion reach.mot --muscles -o reach.h5",
            f"mbsim render reach.h5 --at 0s --at 0.4s --at 0.8s --size 400x300 -o {here}/reach_arm.png --force",
            f"mbsim plot reach.h5 'muscles/*/activation' -o {here}/reach_activations.png --force",
        ):
            subprocess.run(words, shell=True, cwd=folder, check=True)


if __name__ == "__main__":
    here = Path(__file__).parent
    draw_reach(here)
    (here / "start.gif").write_bytes(start())
    for name, (page, title, instants) in STRIPS.items():
        with tempfile.TemporaryDirectory() as folder:
            write_files(page, Path(folder))
            picture = picture_of(Path(folder) / title, instants, OVERRIDES.get(name, ()))
            (here / name).write_bytes(png(strip(picture, [], ImageFormat(240, 240))))
