"""Films and players of the scenes of the gallery, kept in `build/gallery` under a digest of all that they depend on.

    python docs/site/gallery.py

A scene whose file and parts, and a package whose sources are as before, are not drawn again.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import av

from multibody_cli import read_trajectory
from multibody_cli.cli.app import main

ROOT = Path(__file__).parents[2]
SCENES = sorted((ROOT / "scenes/gallery").glob("*.yaml"))
STORE = ROOT / "build/gallery"

SHORTEST, LONGEST = 4.0, 8.0
"""Least and greatest duration of a film, s; a run between both is shown in its own time."""

FPS = 15
"""Pictures per second of a film."""

SIZE = "480x300"
FILM, FIRST, PLAYER = "film.mp4", "first.png", "player.html"


def pictures(scenes: Iterable[Path]) -> dict[Path, Path]:
    """Return the folder of each scene with its film, its first picture and its player."""
    with ProcessPoolExecutor() as workers:
        return dict(workers.map(_scene_and_folder, scenes))


def _scene_and_folder(scene: Path) -> tuple[Path, Path]:
    """Return a scene and its folder, and draw the pictures that are not in it."""
    folder = STORE / f"{scene.stem}-{_digest(scene)}"
    if not folder.exists():
        begun, cpu_begun = time.perf_counter(), time.process_time()
        with tempfile.TemporaryDirectory() as place:
            _draw(scene, Path(place))
            for old in STORE.glob(f"{scene.stem}-{'?' * 16}"):
                shutil.rmtree(old)
            partial = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(place, partial, ignore=shutil.ignore_patterns("*.h5"))
            partial.replace(folder)
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu_begun
        print(f"{scene.stem}: {wall:.1f} s, {cpu:.1f} s of processor time", file=sys.stderr)
    return scene, folder


def _draw(scene: Path, folder: Path) -> None:
    result = folder / "run.h5"
    _mbsim("run", scene, "-o", result, "-q")
    instants = read_trajectory(result).time
    duration = float(instants[-1] - instants[0])
    speed = f"{duration / min(max(duration, SHORTEST), LONGEST):.4g}"
    small, own = ("--size", SIZE), ("--scene", scene)
    _mbsim("render", result, "-o", folder / FILM, *small, "--fps", FPS, "--speed", speed, *own)
    with av.open(str(folder / FILM)) as film:
        next(film.decode(video=0)).to_image().save(folder / FIRST)
    _mbsim("render", result, "-o", folder / PLAYER, "--speed", speed, *own)


def _mbsim(*words: object) -> None:
    shown = io.StringIO()
    try:
        with redirect_stdout(shown), redirect_stderr(shown):
            main([str(word) for word in words])
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"mbsim {' '.join(map(str, words))} failed:\n{shown.getvalue()}") from None


def _digest(scene: Path) -> str:
    """Return a digest of a scene, its parts, this script and the sources of the package."""
    parts = sorted((scene.parent / "parts").glob("*"))
    return hashlib.sha256(_sources() + b"".join(path.read_bytes() for path in (scene, *parts))).hexdigest()[:16]


@cache
def _sources() -> bytes:
    package = sorted((ROOT / "multibody_cli").rglob("*.py")) + sorted((ROOT / "multibody_cli/render/page").rglob("*"))
    texts = (path.read_bytes() for path in (Path(__file__), *package) if path.is_file())
    return hashlib.sha256(b"".join(texts)).digest()


if __name__ == "__main__":
    for folder in pictures(SCENES).values():
        print(folder.relative_to(ROOT))
