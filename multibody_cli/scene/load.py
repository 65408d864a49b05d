"""From a scene file to a validated `Scene`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from multibody_cli.document.nodes import Node, find, plain, written
from multibody_cli.document.problems import Problems
from multibody_cli.document.resolve import resolve
from multibody_cli.errors import Problem, SceneError
from multibody_cli.joints.friction import has_friction
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.implicit import ImplicitOptions
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks import check
from multibody_cli.scene.checks.draft import Draft, without
from multibody_cli.scene.dump import dump_resolved
from multibody_cli.scene.explain import explain
from multibody_cli.scene.schema import NAME, Scene
from multibody_cli.scene.strands import with_strands


@dataclass(frozen=True)
class LoadedScene:
    """A scene with what is known of the text it came from.

    Parameters
    ----------
    scene
        The scene.
    data
        The resolved scene as plain data: no `vars`, `include`, `repeat` or `${...}`.
    tree
        The same data with its places in the files.
    warnings
        What the user should know and what does not keep the scene from running.
    """

    scene: Scene
    data: dict[str, Any]
    tree: Node
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The resolved scene as YAML; loaded again, it gives the same scene."""
        return dump_resolved(self.data)

    def where(self, *path: str | int) -> str:
        """Give `file:line:column` of an element, or of the nearest one above it that is written."""
        return str(find(self.tree, path).mark)

    def beside(self, name: str, *path: str | int) -> Path:
        """Give the path of a file whose name stands in the scene: it is relative to the file it stands in."""
        return find(self.tree, path).mark.beside(name)

    def error(self, message: str, *path: str | int) -> SceneError:
        """Make the error that tells a problem of an element."""
        place = find(self.tree, path)
        return SceneError([Problem(str(place.mark), written(path), message, place.origin)])


def load_scene(path: str | Path, overrides: Sequence[str] = ()) -> LoadedScene:
    """Load a scene file.

    Parameters
    ----------
    path
        The file.
    overrides
        Values to replace, each `KEY=VALUE`, as in `vars.n=100` or `simulation.step=2 ms`.

    Raises
    ------
    SceneError
        With every problem that was found.
    """
    problems = Problems()
    tree = resolve(Path(path), overrides, problems)
    data = {"name": _name_of(Path(path)), **plain(tree)}
    draft = _validate(tree, data, problems)
    if draft is not None:
        check(draft)
    problems.raise_any()
    assert draft is not None
    return LoadedScene(draft.scene, data, tree, _warnings(draft.scene, tree))


def _name_of(path: Path) -> str:
    """Make the name of a scene that has none of its own from that of its file, of letters, digits, `_` and `-`."""
    name = re.sub(r"[^\w-]+", "_", path.stem)[:100]
    return name if re.match(NAME, name) else f"_{name}"[:100]


def _validate(tree: Node, data: dict[str, Any], problems: Problems) -> Draft | None:
    """Validate the data; where some of it is wrong, leave that out, so that the rest can be checked."""
    try:
        scene = Scene.model_validate(data)
    except ValidationError as error:
        wrong = list(explain(error))
    else:
        return Draft(with_strands(scene), data, tree, frozenset(), range(len(scene.expect)), problems)
    unresolved = len(problems) > 0
    for path, message in wrong:
        # what is missing may stand in a file or block that could not be read
        if not (unresolved and len(path) == 1 and not data.get(str(path[0]))):
            problems.add_at(tree, path, message)
    left, kept = without(data, [path for path, _ in wrong])
    try:
        scene = Scene.model_validate(left)
    except ValidationError:
        return None  # too little is left
    broken = frozenset(str(path[0]) for path, _ in wrong if path)
    return Draft(with_strands(scene), data, tree, broken, kept, problems)


def _warnings(scene: Scene, tree: Node) -> tuple[str, ...]:
    return (*_warn_of_integrator(scene, tree), *_warn_of_options(scene, tree), *_warn_of_contacts(scene, tree))


def _warn_of_integrator(scene: Scene, tree: Node) -> tuple[str, ...]:
    settings = scene.simulation
    words = {}
    if METHODS[settings.method].own_integrator is not None:
        itself = f"method `{settings.method}` is its own integrator"
        words["integrator"] = f"{itself}, and `{settings.integrator}` has no effect"
        words["tolerance"] = f"has no effect: that of method `{settings.method}` is `simulation.options.tolerance`"
    elif not INTEGRATORS[settings.integrator].adaptive:
        words["tolerance"] = f"has no effect: `{settings.integrator}` takes steps of constant length"
    written = [field for field in words if field in settings.model_fields_set]
    return tuple(f"{find(tree, ('simulation', field)).mark}: simulation.{field}: {words[field]}" for field in written)


def _warn_of_options(scene: Scene, tree: Node) -> tuple[str, ...]:
    """Tell of options that an implicit integrator alone reads."""
    settings = scene.simulation
    if integrator_of(settings.method, settings.integrator).implicit:
        return ()
    written = [name for name in settings.options if name in ImplicitOptions.OF_ITERATION]
    words = f"has no effect: `{settings.integrator}` takes springs, dampers and muscles as they push now"
    places = {name: find(tree, ("simulation", "options", name)).mark for name in written}
    return tuple(f"{place}: simulation.options.{name}: {words}" for name, place in places.items())


def _warn_of_contacts(scene: Scene, tree: Node) -> tuple[str, ...]:
    if scene.contacts is None and scene.world.shapes:
        place = find(tree, ("world", "shapes")).mark
        return (f"{place}: world.shapes: the shapes of the world touch no body: write `contacts: {{}}` if they should",)
    rubbing = [name for name, joint in scene.joints.items() if has_friction(joint)]
    if rubbing and scene.contacts is not None and scene.contacts.method != "proximal":
        place = find(tree, ("contacts", "method")).mark
        what = f"contacts on bodies that touch what joint `{rubbing[0]}` moves"
        words = "are found by the proximal method, with circles, for that joint has friction"
        return (f"{place}: contacts.method: {what} {words}",)
    return ()
