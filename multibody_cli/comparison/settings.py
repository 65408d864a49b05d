"""Differences between the settings of two runs: method, options, version and scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from multibody_cli.comparison.recording import Recording
from multibody_cli.document.formats import yaml
from multibody_cli.document.nodes import Problems, format_path, plain
from multibody_cli.errors import ResultError, SceneError

ABSENT = "(absent)"

COMPARED = ("mbsim_version", "format_version", "name", "method", "integrator", "options", "step", "duration")
"""Attributes of the file whose differences are reported."""

_NOT_REPORTED = {("simulation", word) for word in ("method", "integrator", "step", "duration", "options")} | {
    ("name",),
    ("description",),
}
"""Paths in the scene that are attributes as well, or have no effect on the result."""


class Setting(NamedTuple):
    """One setting that differs between two runs.

    `kind` is the same for corresponding fields of the elements of a section, as `bodies.mass`.
    """

    what: str
    reference: str
    result: str
    kind: str

    def __str__(self) -> str:
        return f"{self.what}: {self.reference} -> {self.result}"


def differing_settings(reference: Recording, result: Recording) -> list[Setting]:
    """List the differences between the attributes and the scenes of two files."""
    pairs = ((name, reference.attributes.get(name), result.attributes.get(name)) for name in COMPARED)
    settings = [Setting(name, _shortened(one), _shortened(other), name) for name, one, other in pairs if one != other]
    if reference.attributes.get("scene_sha256") != result.attributes.get("scene_sha256"):
        scenes = _read(reference), _read(result)
        settings += [
            Setting(format_path(path), _shortened(one), _shortened(other), _kind(path))
            for path, one, other in _leaves(*scenes, ())
            if path[:2] not in _NOT_REPORTED
        ]
    return settings


def merged(settings: Sequence[Setting]) -> list[str]:
    """Describe settings with one line for each kind, since one edit of a variable may change many elements."""
    kinds: dict[str, list[Setting]] = {}
    for setting in settings:
        kinds.setdefault(setting.kind, []).append(setting)
    return [str(first) + (f" (and {len(rest)} similar)" if rest else "") for first, *rest in kinds.values()]


def _kind(path: tuple[str | int, ...]) -> str:
    """Return the path without the name of the element and without indices."""
    return format_path([step for place, step in enumerate(path) if place != 1 and isinstance(step, str)])


def _read(run: Recording) -> Any:
    problems = Problems()
    try:
        # the parser of scenes bounds the number of values, those of aliases included, and their depth
        tree = yaml.read(run.scene_yaml, "scene/yaml", problems)
        problems.raise_any()
    except SceneError as error:
        first = error.problems[0]
        raise ResultError(f"{run.path} is damaged at {first.where} ({first.message}); run the scene again") from error
    return plain(tree)


def _leaves(one: Any, other: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    """Yield the deepest paths at which two trees of plain data differ."""
    steps = _steps(one, other)
    if steps is None:
        if one != other:
            yield path, one, other
        return
    for step in steps:
        yield from _leaves(_child(one, step), _child(other, step), (*path, step))


def _steps(one: Any, other: Any) -> list[str | int] | None:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [*one, *(key for key in other if key not in one)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return list(range(len(one)))
    return None


def _child(tree: Any, step: Any) -> Any:
    return tree.get(step, ABSENT) if isinstance(tree, Mapping) else tree[step]


def _shortened(value: Any) -> str:
    text = " ".join(str(value).split()) or "none"
    return text if len(text) <= 60 else text[:57] + "..."
