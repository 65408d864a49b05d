"""Checks of the section `states:`: states name entries of the scene, with values that these accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from multibody_cli.document.states import FIELDS, SECTION
from multibody_cli.errors import QuantityError, nearest, series
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.nodes import NodePath
from multibody_cli.scene.checks.partial_scene import PartialScene
from multibody_cli.scene.checks.topology import determined_by, report_start
from multibody_cli.scene.explain import explain
from multibody_cli.spec import Spec, units
from multibody_cli.spec.names import read_name
from multibody_cli.spec.quantities import format_value, read_quantity


def check_states(partial: PartialScene, states: Any) -> None:
    """Check all states, also those that are not chosen; `states` is the section as plain data."""
    for state, sections in _mappings(partial, (SECTION,), states, "states by name"):
        path: NodePath = (SECTION, state)
        try:
            read_name(state)
        except ValueError as error:
            partial.report(path, str(error))
        for section, entries in _mappings(partial, path, sections, series([f"`{name}`" for name in FIELDS], "and")):
            if section not in FIELDS:
                partial.report((*path, section), f"unknown key `{section}`; {nearest(section, FIELDS)}")
                continue
            for name, fields in _mappings(partial, (*path, section), entries, "fields by name"):
                _check_entry(partial, (*path, section, name), fields)


def _mappings(partial: PartialScene, path: NodePath, value: Any, expected: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a mapping; report any other value."""
    if isinstance(value, dict):
        yield from value.items()
    else:
        partial.report(path, f"expected a mapping of {expected}, found {format_value(value)}")


def _check_entry(partial: PartialScene, path: NodePath, fields: Any) -> None:
    _, _, section, name = path
    known, spec = partial.names(str(section)), getattr(partial.scene, str(section)).get(name)
    if name not in known:
        word = str(section).removesuffix("s").replace("bodie", "body")
        partial.report(path, f"unknown {word} `{name}`; {nearest(str(name), known)}")
        return
    if section == "inputs":
        try:
            read_quantity(fields, units.ANY)
        except QuantityError as error:
            partial.report(path, str(error))
        return
    given = dict(_mappings(partial, path, fields, f"{' and '.join(map('`{}`'.format, FIELDS[str(section)]))}"))
    for field in given:
        if field not in FIELDS[str(section)]:
            partial.report((*path, field), f"unknown key `{field}`; {nearest(field, FIELDS[str(section)])}")
        elif section == "bodies" and name in partial.inboard:
            partial.report((*path, field), determined_by(partial.inboard[str(name)], str(name)))
    own = {field: value for field, value in given.items() if field in FIELDS[str(section)]}
    if spec is not None and own:
        _check_values(partial, path, spec, own)


def _check_values(partial: PartialScene, path: NodePath, spec: Spec, own: Mapping[str, Any]) -> None:
    """Read an element with the fields of a state in place of its own."""
    written, points = partial.data[str(path[2])][path[3]], partial.points
    if all(written.get(field) == value for field, value in own.items()):
        return  # as in the chosen state
    try:
        found = type(spec).model_validate({**written, **own}, context=points)
    except ValidationError as error:
        for place, message in explain(error, type(spec)):
            partial.report((*path, *place), message)
        return
    if isinstance(found, MovingJointSpec) and found.bounds is not None and path[3] not in partial.closing:
        report_start(partial, (*path, "q"), found)
