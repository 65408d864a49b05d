"""Scenes as text for tests."""

from pathlib import Path

from multibody_cli.errors import SceneError
from multibody_cli.scene.load import LoadedScene, load_scene

BALL = "{mass: 1, shapes: [{type: sphere, radius: 0.1}]}"
HEAD = f"mbsim: 1\nbodies: {{ball: {BALL}}}\nsimulation: {{duration: 1}}\n"
ARM = f"mbsim: 1\nbodies: {{arm: {BALL}}}\nsimulation: {{duration: 1}}\njoints:\n  hinge: "


def load(folder: Path, text: str, *overrides: str) -> LoadedScene:
    path = folder / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return load_scene(path, overrides)


def problems(folder: Path, text: str, *overrides: str) -> list[str]:
    """Messages of a refusal, each without the folder."""
    try:
        load(folder, text, *overrides)
    except SceneError as error:
        return [str(problem).removeprefix(f"{folder}/") for problem in error.problems]
    return []
