"""Loading of a scene file into a validated `Scene`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from multibody_cli.document.nodes import Node, find, format_path, plain
from multibody_cli.document.problems import Problems
from multibody_cli.document.resolve import resolve
from multibody_cli.errors import Problem, SceneError
from multibody_cli.joints.friction import has_friction
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.implicit import ImplicitOptions
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks import check
from multibody_cli.scene.checks.draft import Draft, remove_invalid
from multibody_cli.scene.dump import dump_resolved
from multibody_cli.scene.explain import explain
from multibody_cli.scene.schema import NAME, Scene
from multibody_cli.scene.strands import with_strands


@dataclass(frozen=True)
class LoadedScene:
    """A scene and its source text.

    Parameters
    ----------
    scene
        The scene.
    data
        The resolved scene as plain data: no `vars`, `include`, `repeat` or `${...}`.
    tree
        The same data with positions in the files.
    warnings
        Warnings that do not prevent a run.
    """

    scene: Scene
    data: dict[str, Any]
    tree: Node
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The resolved scene as YAML; loading it returns the same scene."""
        return dump_resolved(self.data)

    def where(self, *path: str | int) -> str:
        """Return `file:line:column` of an element, or of its nearest existing ancestor."""
        return str(find(self.tree, path).mark)

    def resolve_path(self, name: str, *path: str | int) -> Path:
        """Return the path of a file that is named in the scene, relative to the file that names it."""
        return find(self.tree, path).mark.resolve_path(name)

    def error(self, message: str, *path: str | int) -> SceneError:
        """Return the error that reports a problem of an element."""
        place = find(self.tree, path)
        return SceneError([Problem(str(place.mark), format_path(path), message, place.origin)])


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
        With all problems of the scene.
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
    """Derive the default name of a scene from its file name, with letters, digits, `_` and `-`."""
    name = re.sub(r"[^\w-]+", "_", path.stem)[:100]
    return name if re.match(NAME, name) else f"_{name}"[:100]


def _validate(tree: Node, data: dict[str, Any], problems: Problems) -> Draft | None:
    """Validate the data; invalid elements are removed, so that the rest can be checked."""
    try:
        scene = Scene.model_validate(data)
    except ValidationError as error:
        wrong = list(explain(error))
    else:
        return Draft(with_strands(scene), data, tree, frozenset(), range(len(scene.expect)), problems)
    unresolved = len(problems) > 0
    for path, message in wrong:
        # a missing section may be in a file or block that could not be read
        if not (unresolved and len(path) == 1 and not data.get(str(path[0]))):
            problems.add_at(tree, path, message)
    left, kept = remove_invalid(data, [path for path, _ in wrong])
    try:
        scene = Scene.model_validate(left)
    except ValidationError:
        return None  # too few valid elements
    broken = frozenset(str(path[0]) for path, _ in wrong if path)
    return Draft(with_strands(scene), data, tree, broken, kept, problems)


def _warnings(scene: Scene, tree: Node) -> tuple[str, ...]:
    return (*_warn_of_integrator(scene, tree), *_warn_of_options(scene, tree), *_warn_of_contacts(scene, tree))


def _warn_of_integrator(scene: Scene, tree: Node) -> tuple[str, ...]:
    settings = scene.simulation
    words = {}
    if METHODS[settings.method].own_integrator is not None:
        itself = f"method `{settings.method}` has its own integrator"
        words["integrator"] = f"{itself}, and `{settings.integrator}` has no effect"
        words["tolerance"] = f"has no effect: method `{settings.method}` uses `simulation.options.tolerance`"
    elif not INTEGRATORS[settings.integrator].adaptive:
        words["tolerance"] = f"has no effect: `{settings.integrator}` has a fixed step size"
    given = [field for field in words if field in settings.model_fields_set]
    return tuple(f"{find(tree, ('simulation', field)).mark}: simulation.{field}: {words[field]}" for field in given)


def _warn_of_options(scene: Scene, tree: Node) -> tuple[str, ...]:
    """Return warnings about options that only implicit integrators use."""
    settings = scene.simulation
    if integrator_of(settings.method, settings.integrator).implicit:
        return ()
    given = [name for name in settings.options if name in ImplicitOptions.OF_ITERATION]
    words = f"has no effect: `{settings.integrator}` treats springs, dampers and muscles explicitly"
    places = {name: find(tree, ("simulation", "options", name)).mark for name in given}
    return tuple(f"{place}: simulation.options.{name}: {words}" for name, place in places.items())


def _warn_of_contacts(scene: Scene, tree: Node) -> tuple[str, ...]:
    if scene.contacts is None and scene.world.shapes:
        place = find(tree, ("world", "shapes")).mark
        return (
            f"{place}: world.shapes: contacts are disabled: write `contacts: {{}}` to enable contacts with the world",
        )
    joints_with_friction = [name for name, joint in scene.joints.items() if has_friction(joint)]
    if joints_with_friction and scene.contacts is not None and scene.contacts.method != "proximal":
        place = find(tree, ("contacts", "method")).mark
        what = f"contacts of bodies connected by joint `{joints_with_friction[0]}`"
        words = "are solved by the proximal method with circular cones, because that joint has friction"
        return (f"{place}: contacts.method: {what} {words}",)
    return ()
