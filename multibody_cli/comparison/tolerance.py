"""Tolerances of a comparison: the command line takes precedence over a policy file, and that over the result file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from multibody_cli.document.document import read_document
from multibody_cli.errors import nearest
from multibody_cli.immutable import Immutable
from multibody_cli.limits import Usage
from multibody_cli.nodes import Node, Problems
from multibody_cli.output.channel import matches
from multibody_cli.output.result_file import Dataset

FALLBACK_TOLERANCE = 1e-9
"""Relative and absolute tolerance of a dataset without tolerance attributes."""

COMMAND_LINE = "command line"
RESULT_FILE = "reference file"
DEFAULT = "default"


class Tolerance(Immutable):
    """Tolerance `atol + rtol * |reference|` of a difference, with the source of both numbers."""

    rtol: float
    atol: float
    rtol_source: str
    atol_source: str

    @property
    def source(self) -> str:
        """Source of both numbers, for reports."""
        return " and ".join(dict.fromkeys((self.rtol_source, self.atol_source)))


class Rule(NamedTuple):
    """An entry of a policy file: pattern, settings, and position in the file."""

    pattern: str
    rtol: float | None
    atol: float | None
    ignore: bool
    where: str


class Policy(Immutable):
    """Tolerances that the user requests.

    Parameters
    ----------
    rtol, atol
        Tolerances of the command line, for all datasets; None if not given.
    rules
        Rules of the policy file; for each of `rtol` and `atol`, the last matching rule applies.
    """

    rtol: float | None = None
    atol: float | None = None
    rules: tuple[Rule, ...] = ()

    def tolerance_of(self, dataset: Dataset) -> Tolerance:
        """Return the tolerance of a dataset of the reference."""
        rtol, rtol_source = self._number("rtol", dataset.path, dataset.rtol)
        atol, atol_source = self._number("atol", dataset.path, dataset.atol)
        return Tolerance(rtol, atol, rtol_source, atol_source)

    def ignores(self, path: str) -> str:
        """Return the position of the rule that ignores a dataset; empty if there is none."""
        matching = [rule for rule in self.rules if matches(path, rule.pattern)]
        return matching[-1].where if matching and matching[-1].ignore else ""

    def unused_rules(self, paths: Iterable[str]) -> list[Rule]:
        """Return the rules that match none of these datasets."""
        known = list(paths)
        return [rule for rule in self.rules if not any(matches(path, rule.pattern) for path in known)]

    def _number(self, name: str, path: str, in_file: float | None) -> tuple[float, str]:
        asked: float | None = getattr(self, name)
        if asked is not None:
            return asked, COMMAND_LINE
        matching = [rule for rule in self.rules if matches(path, rule.pattern) and getattr(rule, name) is not None]
        if matching:
            return getattr(matching[-1], name), f"policy {matching[-1].where}"
        return (in_file, RESULT_FILE) if in_file is not None else (FALLBACK_TOLERANCE, DEFAULT)


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Read a policy file: a mapping from datasets, groups or patterns to `rtol`, `atol` or `ignore: true`.

    Raises
    ------
    SceneError
        The file has errors; the message lists all of them with their positions.
    """
    problems = Problems()
    document = read_document(path, str(path), problems, Usage())
    rules = []
    if type(document.value) is not dict:
        problems.add(document.mark, (), "expected a mapping such as `energy/*: {rtol: 1e-6, atol: 1e-9}`")
    else:
        for pattern, node in document.value.items():
            rules.append(_rule(pattern, node, problems))
    problems.raise_any()
    return tuple(rules)


def _rule(pattern: str, node: Node, problems: Problems) -> Rule:
    entries = node.value if type(node.value) is dict else {}
    if not entries:
        problems.add(node.mark, (pattern,), "expected `{rtol: ..., atol: ...}` or `{ignore: true}`")
    for key in entries:
        if key not in _READ:
            assert node.keys is not None
            problems.add(node.keys[key], (pattern, key), f"unknown key: {nearest(key, _READ)}")
    found = {key: _READ[key](entries[key].value) if key in entries else None for key in _READ}
    for key, value in found.items():
        if key in entries and value is None:
            problems.add(entries[key].mark, (pattern, key), f"expected {_EXPECTED[key]}")
    return Rule(pattern, found["rtol"], found["atol"], bool(found["ignore"]), str(node.mark))


def _tolerable(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0.0 <= value < float("inf") else None


_READ: dict[str, Callable[[Any], Any]] = {
    "rtol": _tolerable,
    "atol": _tolerable,
    "ignore": lambda value: value if isinstance(value, bool) else None,
}
_EXPECTED = {
    "rtol": "a number of at least 0",
    "atol": "a number of at least 0, in the units of the dataset",
    "ignore": "true or false",
}
