"""Loading of a scene file into a validated `SceneSpec`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from multibody_cli.document.overrides import is_override
from multibody_cli.document.resolve import resolve
from multibody_cli.document.source import SceneSource, file_of
from multibody_cli.document.states import SECTION
from multibody_cli.errors import Problem, QuantityError, SceneError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.options import ImplicitOptions, has_symmetrized_stiffness
from multibody_cli.nodes import Node, Problems, find, format_path, mapping, plain, sequence
from multibody_cli.scene.checks import check
from multibody_cli.scene.checks.partial_scene import PartialScene, remove_invalid
from multibody_cli.scene.checks.states import check_states
from multibody_cli.scene.dump import dump_resolved
from multibody_cli.scene.explain import explain, without_name
from multibody_cli.scene.likely_mistakes import likely_mistakes
from multibody_cli.scene.points import named_points
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.simulation import AUTO
from multibody_cli.scene.strands import with_strands
from multibody_cli.scene.tables import warn_of_overshoot
from multibody_cli.spec import units
from multibody_cli.spec.names import NAME
from multibody_cli.spec.path import names_path, with_paths
from multibody_cli.spec.quantities import read_quantity


# --- default integrator of a scene: `simulation.integrator: auto` -----------------------------------------------------
def default_integrator(scene: SceneSpec) -> str:
    """Return the default integrator of a scene.

    It is `rk4`, or `semi_implicit_euler` for a scene with contacts or dry friction, whose steps are at the
    level of velocities.
    """
    return "semi_implicit_euler" if scene.has_dry_friction or scene.contacts is not None else "rk4"


def with_integrator(scene: SceneSpec) -> SceneSpec:
    """Return a scene with its default integrator in place of `auto`."""
    if scene.simulation.integrator != AUTO:
        return scene
    simulation = scene.simulation.model_copy(update={"integrator": default_integrator(scene)})
    return scene.model_copy(update={"simulation": simulation})


class LoadedScene(Immutable):
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
    states
        Names of the initial states of the scene; the resolved scene contains the chosen one alone.
    """

    scene: SceneSpec
    data: dict[str, Any]
    tree: Node
    warnings: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The resolved scene as YAML; loading it returns the same scene."""
        return dump_resolved(self.data)

    def where(self, *path: str | int) -> str:
        """Return `file:line:column` of an element, or of its nearest existing ancestor."""
        return str(find(self.tree, path).mark)

    def describe(self, section: str, name: str) -> str:
        """Return place, path and formulas of an element."""
        formulas = ", ".join(dict.fromkeys(f"`{text}`" for text in _formulas_in(self.data[section][name])))
        return f"{self.where(section, name)}: {format_path((section, name))} {formulas}".rstrip()

    def resolve_path(self, name: str, *path: str | int) -> Path:
        """Return the path of a file that is named in the scene, relative to the file that names it."""
        return find(self.tree, path).mark.resolve_path(name)

    def error(self, message: str, *path: str | int) -> SceneError:
        """Return the error that reports a problem of an element."""
        return SceneError([self._problem(path, message)])

    def refuse(self, found: Iterable[tuple[Sequence[str | int], str]]) -> None:
        """Raise a `SceneError` with all problems of elements, each with the path of its element, if there are any."""
        problems = [self._problem(path, message) for path, message in found]
        if problems:
            raise SceneError(problems)

    def _problem(self, path: Sequence[str | int], message: str) -> Problem:
        place = find(self.tree, path)
        return Problem(str(place.mark), format_path(path), message, place.origin)


def load_scene(source: SceneSource, overrides: Sequence[str] = ()) -> LoadedScene:
    """Load a scene.

    Parameters
    ----------
    source
        The scene.
    overrides
        Values to replace, each `KEY=VALUE`, as in `vars.n=100` or `simulation.step=2 ms`. `--KEY=VALUE` is short for
        `simulation.KEY=VALUE`, and `--floor=VALUE` for `contacts.floor=VALUE`; messages then name the option.

    Raises
    ------
    SceneError
        With all problems of the scene.
    """
    problems = Problems()
    tree, written, variables, states = resolve(source, overrides, problems)
    data = {"name": _name_of(file_of(source)), **plain(tree)}
    partial = _validate(tree, data, variables, problems)
    notes: tuple[str, ...] = ()
    if partial is not None:
        partial, notes = _without_later_expectations(partial, _written_duration(written))
        check(partial)
        if states is not None:
            check_states(replace(partial, tree=_with_states(tree, states)), plain(states))
    problems.raise_any()
    assert partial is not None
    if "expect" in data:
        # a result file that holds the scene must be loadable with the duration of the option
        data["expect"] = [data["expect"][index] for index in partial.kept]
        tree = _with_expectations(tree, partial.kept)
    warnings = (*problems.warnings, *notes, *_warnings(partial.scene, data, tree))
    return LoadedScene(partial.scene, data, tree, warnings, tuple(states.value) if states is not None else ())


def _with_states(tree: Node, states: Node) -> Node:
    """Return the tree with the section of the initial states, for messages."""
    assert tree.keys is not None
    return mapping({**tree.value, SECTION: states}, tree.mark, {**tree.keys, SECTION: states.mark})


def _name_of(path: Path) -> str:
    """Derive the default name of a scene from its file name, with letters, digits, `_` and `-`."""
    name = re.sub(r"[^\w-]+", "_", path.stem)[:100]
    return name if re.match(NAME, name) else f"_{name}"[:100]


def _validate(tree: Node, data: dict[str, Any], variables: frozenset[str], problems: Problems) -> PartialScene | None:
    """Validate the data; invalid elements are removed, so that the rest can be checked."""
    points = named_points(data)
    try:
        scene = SceneSpec.model_validate(with_paths(data), context=points)
    except ValidationError as error:
        wrong = [
            (path[:1], message) if (message := without_name(data, path)) else (path, found)
            for path, found in explain(error)
        ]
        wrong = list(dict.fromkeys(wrong))
    else:
        return PartialScene(
            with_integrator(with_strands(scene)), data, tree, frozenset(), range(len(scene.expect)), problems
        )
    unresolved = len(problems) > 0
    for path, message in wrong:
        if (
            len(path) == 1
            and path[0] in variables - SceneSpec.model_fields.keys()
            and is_override(find(tree, path).mark)
        ):
            message = f"unknown key `{path[0]}`; did you mean the variable `vars.{path[0]}`?"
        # a missing section may be in a file or block that could not be read
        if not (unresolved and len(path) == 1 and not data.get(str(path[0]))) and not names_path(data, path):
            problems.add_at(tree, path, message)
    left, kept = remove_invalid(data, [path for path, _ in wrong])
    try:
        scene = SceneSpec.model_validate(with_paths(left), context=points)
    except ValidationError:
        return None  # too few valid elements
    broken = frozenset(str(path[0]) for path, _ in wrong if path)
    return PartialScene(with_integrator(with_strands(scene)), data, tree, broken, kept, problems)


def _written_duration(written: Node) -> float | None:
    """Return the duration that the files write, s; None if there is none or it is invalid."""
    try:
        return read_quantity(written.value["simulation"].value["duration"].value, units.TIME)
    except (KeyError, TypeError, QuantityError):
        return None


def _with_expectations(tree: Node, kept: Sequence[int]) -> Node:
    """Return the tree with these entries of `expect` only."""
    assert tree.keys is not None
    every = tree.value["expect"]
    left = sequence([every.value[index] for index in kept], every.mark)
    return mapping({**tree.value, "expect": left}, tree.mark, tree.keys)


def _without_later_expectations(partial: PartialScene, written: float | None) -> tuple[PartialScene, tuple[str, ...]]:
    """Set aside the expectations that an option invalidates by another duration; return the warnings as well.

    Parameters
    ----------
    partial
        The scene.
    written
        The duration that the files write, s; None if there is none.
    """
    mark = find(partial.tree, ("simulation", "duration")).mark
    duration, total = partial.scene.simulation.duration, len(partial.scene.expect)
    if not is_override(mark) or (written is not None and math.isclose(duration, written)):
        return partial, ()
    # a longer run reaches every instant of the written duration, and an instant beyond that is an error of the scene
    reached = math.inf if written is not None and duration > written else duration
    left = [k for k, entry in enumerate(partial.scene.expect) if not entry.refers_beyond(reached)]
    if len(left) == total:
        return partial, ()
    scene = partial.scene.model_copy(update={"expect": [partial.scene.expect[k] for k in left]})
    remark = f"{total - len(left)} of {total} expectations refer to later times or to the written end"
    warning = f"{mark}: simulation.duration: {remark}, and are set aside"
    return replace(partial, scene=scene, kept=[partial.kept[k] for k in left]), (warning,)


def _formulas_in(value: Any) -> Iterator[str]:
    """Yield the texts within plain data that are formulas with a function, a power or a quotient."""
    if isinstance(value, str) and re.search(r"[a-z]\(|\*\*|/ *[a-z(]", value) and not re.match(r"[\d.]+ ", value):
        yield value
    for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _formulas_in(entry)


def _warnings(scene: SceneSpec, data: dict[str, Any], tree: Node) -> Iterator[str]:
    for path, message in (*_without_effect(scene, data["simulation"]), *likely_mistakes(scene, data)):
        yield f"{find(tree, path).mark}: {format_path(path)}: {message}"
    yield from warn_of_overshoot(scene, tree)


def _without_effect(scene: SceneSpec, written: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield settings without effect, with the reason; `written` are the settings of the simulation in the scene."""
    settings = scene.simulation
    has_own, given = METHODS[settings.method].own_integrator is not None, {"integrator": "auto", **written}
    if has_own and given["integrator"] != "auto":
        itself = f"method `{settings.method}` has its own integrator"
        yield ("simulation", "integrator"), f"{itself}, and `{settings.integrator}` has no effect"
    if "tolerance" in given and has_own:
        words = f"has no effect: method `{settings.method}` uses `simulation.options.tolerance`"
        yield ("simulation", "tolerance"), words
    elif "tolerance" in given and not INTEGRATORS[settings.integrator].adaptive:
        yield ("simulation", "tolerance"), f"has no effect: `{settings.integrator}` has a fixed step size"
    if not integrator_of(settings.method, settings.integrator, settings.options).implicit:
        words = f"has no effect: `{settings.integrator}` treats springs, dampers and muscles explicitly"
        for name in settings.options:
            if name in ImplicitOptions.OF_ITERATION:
                yield ("simulation", "options", name), words
    if has_symmetrized_stiffness(settings.options) and not (scene.springs or scene.muscles):
        yield ("simulation", "options", "implicit_stiffness"), "has no effect: no spring acts between bodies"
    if scene.contacts is None and scene.world.shapes:
        words = "contacts are disabled: write `contacts: {}` to enable contacts with the world"
        yield ("world", "shapes"), words
