"""Values that a written scene names once, in `vars`: colors of materials, densities, the folder of meshes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os.path import commonpath, dirname, isabs
from typing import Any

from multibody_cli.expressions import CONSTANTS, FUNCTIONS
from multibody_cli.foreign.draft import MeshFile, Named, Placed
from multibody_cli.yaml_values import flow

FEWEST = 3
"""Smallest number of occurrences of a value that has a variable."""

HEAD = ("mbsim", "gravity")
"""Keys before `vars`."""

RESERVED = frozenset({*CONSTANTS, *FUNCTIONS, "activation", "meshes"})
"""Names that have another meaning in an expression, or in `vars`."""


def with_variables(sections: dict[str, Any]) -> dict[str, Any]:
    """Return a scene in which values that occur often, and are longer than a reference to them, have variables.

    Parameters
    ----------
    sections
        The scene, with named values.
    """
    leaves = list(_leaves(sections))
    uses: dict[str, list[Any]] = {}
    for leaf in leaves:
        if isinstance(leaf, Named):
            uses.setdefault(_variable(leaf), []).append(leaf.value)
    variables = {name: values[0] for name, values in uses.items() if _is_worth_a_variable(name, values)}
    files = [leaf for leaf in leaves if isinstance(leaf, MeshFile) and not isabs(leaf)]
    folder = commonpath([dirname(file) for file in files]) if len(files) >= FEWEST else ""
    if len(folder) > len("${meshes}"):
        variables["meshes"] = folder
    spelled = {key: _spelled(value, variables) for key, value in sections.items()}
    head = {key: value for key, value in spelled.items() if key in HEAD}
    return head | ({"vars": variables} if variables else {}) | spelled


def _is_worth_a_variable(name: str, values: list[Any]) -> bool:
    is_one = len(values) >= FEWEST and all(value == values[0] for value in values)
    is_name = name.isidentifier() and len(name) > 1 and name not in RESERVED
    return is_one and is_name and len(flow(values[0])) > len(flow(f"${{{name}}}"))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for entry in value.values():
            yield from _leaves(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _leaves(entry)
    elif isinstance(value, Placed):
        yield from _leaves(value.value)
    else:
        yield value


def _spelled(value: Any, variables: dict[str, Any]) -> Any:
    """Return a value with references to variables."""
    if isinstance(value, dict):
        return {key: _spelled(entry, variables) for key, entry in value.items()}
    if isinstance(value, list):
        return [_spelled(entry, variables) for entry in value]
    if isinstance(value, Placed):
        return value._replace(value=_spelled(value.value, variables))
    if isinstance(value, Named):
        return f"${{{_variable(value)}}}" if variables.get(_variable(value)) == value.value else value.value
    if isinstance(value, MeshFile):
        folder = variables.get("meshes", "")
        return "${meshes}" + value.removeprefix(folder) if folder and value.startswith(folder) else str(value)
    return value


def _variable(value: Named) -> str:
    return re.sub(r"\W+", "_", value.name)
