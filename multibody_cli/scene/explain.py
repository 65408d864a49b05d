"""Error messages of the validation, each with the path of its element."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ValidationError

from multibody_cli.errors import nearest
from multibody_cli.nodes import NodePath
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec import Catalogue, Spec
from multibody_cli.spec.quantities import format_value
from multibody_cli.spec.signal import SignalSpec, TableSpec

Finding = Mapping[str, Any]


def explain(error: ValidationError, root: type[Spec] = SceneSpec) -> Iterator[tuple[NodePath, str]]:
    """Yield the path of each invalid element below `root`, and the expected value."""
    findings = error.errors(include_url=False)
    for finding, following in itertools.zip_longest(findings, findings[1:]):
        if _lacks_entry(finding) and following is not None and _lacks_entry(following, *finding["loc"][:-1]):
            continue  # only the last missing entry of a list is reported, with the expected length
        path, holder = _follow(finding["loc"], root)
        say = _MESSAGES.get(finding["type"])
        yield path, say(finding, holder) if say else finding["msg"]


def _follow(location: tuple[int | str, ...], root: type[Spec]) -> tuple[NodePath, type[Spec]]:
    """Remove names of catalogue entries from a location; return the path and the mapping type of its last key."""
    annotation: Any = root
    holder = root
    path: list[int | str] = []
    for step in location:
        annotation, catalogue = _unwrapped(annotation)
        if catalogue is not None and step in catalogue.specs:
            annotation = catalogue.specs[str(step)]
        elif step != "[key]":
            path.append(step)
            if get_origin(annotation) is tuple and isinstance(step, str):
                annotation, _ = _unwrapped(get_args(annotation)[0])  # one entry that stands for a list
            if isinstance(annotation, type) and issubclass(annotation, Spec):
                holder = annotation
            annotation = _below(annotation, step)
    return tuple(path), holder


def _below(annotation: Any, step: int | str) -> Any:
    """Return the annotation of a key or index."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        field = annotation.model_fields.get(str(step))
        return Any if field is None else (field.annotation, *field.metadata)
    return get_args(annotation)[0 if get_origin(annotation) is tuple else -1] if get_args(annotation) else Any


def _unwrapped(annotation: Any) -> tuple[Any, Catalogue | None]:
    """Return the type without annotations and optional types, and its catalogue if any."""
    catalogue = None
    while True:
        if get_origin(annotation) is Annotated:
            annotation = (annotation.__origin__, *annotation.__metadata__)
        if isinstance(annotation, tuple):
            annotation, *metadata = annotation
            catalogue = next((item for item in metadata if isinstance(item, Catalogue)), catalogue)
        elif get_origin(annotation) in (Union, types.UnionType):
            annotation = get_args(annotation)[0]
        else:
            return (TableSpec if annotation is SignalSpec else annotation), catalogue


def _unknown_key(finding: Finding, holder: type[Spec]) -> str:
    key = str(finding["loc"][-1])
    if key in holder.UNSUPPORTED:
        return f"`{key}` is not supported: {holder.UNSUPPORTED[key]}"
    if key[:1].isdecimal():
        return f"unknown key `{key}`: a comma separates entries; a decimal comma? write a point, as in `1.{key}`"
    for section, kind in _types(holder):
        if key.removesuffix("s") == kind:
            return (
                f"unknown key `{key}`; `{kind}` is a type of `{section}`: `{section}: {{NAME: {{type: {kind}, ...}}}}`"
            )
    return f"unknown key `{key}`; {nearest(key, holder.model_fields.keys() | holder.PREPROCESSED)}"


def _types(holder: type[Spec]) -> Iterator[tuple[str, str]]:
    """Yield the sections whose elements have types, with each type."""
    for section, field in holder.model_fields.items():
        elements, _ = _unwrapped((field.annotation, *field.metadata))
        if get_origin(elements) in (dict, Mapping):
            _, catalogue = _unwrapped(get_args(elements)[-1])
            yield from ((section, kind) for kind in (catalogue.specs if catalogue else ()))


def _lacks_entry(finding: Finding, *within: int | str) -> bool:
    *around, entry = finding["loc"]
    return finding["type"] == "missing" and isinstance(entry, int) and (not within or around == list(within))


def _missing(finding: Finding, holder: type[Spec]) -> str:
    if _lacks_entry(finding):
        return f"expected {_counted(finding['loc'][-1] + 1)}, found {len(finding['input'])}"
    key = str(finding["loc"][-1])
    field = holder.model_fields.get(key)
    purpose = f": {field.description}" if field is not None and field.description else ""
    return f"`{key}` is required{purpose}".removesuffix(".")


def _literal(finding: Finding, holder: type[Spec]) -> str:
    expected = finding["ctx"]["expected"].replace("'", "`") if "ctx" in finding else "another word"
    return f"expected {expected}, found {format_value(finding['input'])}"


def _mapping(finding: Finding, holder: type[Spec]) -> str:
    keys = [step for step in finding["loc"] if isinstance(step, str)]
    field = holder.model_fields.get(keys[-1]) if keys else None
    wanted = _unwrapped((field.annotation, *field.metadata))[0] if field is not None else None
    if isinstance(finding["loc"][-1], int) and get_args(wanted):
        wanted = get_args(wanted)[0]
    example = wanted.EXAMPLE if isinstance(wanted, type) and issubclass(wanted, Spec) else ""
    hint = f" such as `{example}`" if example else ""
    return f"expected a mapping{hint}, found {format_value(finding['input'])}"


def _names_of_entries(finding: Finding) -> str:
    """Return the remedy for a list in place of a section; empty for other values."""
    location = finding["loc"]
    if len(location) > 1 or not isinstance(finding["input"], list):
        return ""
    return f": give each entry a name, as in `{location[0]}: {{NAME: {{...}}}}`"


def without_name(data: Mapping[str, Any], path: NodePath) -> str:
    """Return the message for a section that consists of one entry without a name; empty for others."""
    section = data.get(str(path[0])) if path else None
    if not isinstance(section, dict) or not isinstance(section.get("type"), str):
        return ""
    return f"the entry has no name: write `{path[0]}: {{NAME: {{type: {section['type']}, ...}}}}`"


def _counted(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _expected(noun: str) -> Callable[[Finding, type[Spec]], str]:
    return lambda finding, holder: f"expected {noun}, found {format_value(finding['input'])}"


_MESSAGES: dict[str, Callable[[Finding, type[Spec]], str]] = {
    "value_error": lambda finding, holder: str(finding["ctx"]["error"]),
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _literal,
    "string_type": _expected("a string"),
    "bool_type": _expected("true or false"),
    "bool_parsing": _expected("true or false"),
    "int_type": _expected("a whole number"),
    "int_from_float": _expected("a whole number"),
    "int_parsing": _expected("a whole number"),
    "greater_than_equal": lambda finding, holder: (
        f"expected at least {finding['ctx']['ge']}, found {format_value(finding['input'])}"
    ),
    "less_than_equal": lambda finding, holder: (
        f"expected at most {finding['ctx']['le']}, found {format_value(finding['input'])}"
    ),
    "list_type": _expected("a list"),
    "dict_type": lambda finding, holder: (
        f"expected a mapping, found {format_value(finding['input'])}{_names_of_entries(finding)}"
    ),
    "model_type": _mapping,
    "model_attributes_type": _mapping,
    "string_pattern_mismatch": lambda finding, holder: (
        "expected a name of letters, digits, `_` and `-` that begins with a letter or `_`"
    ),
    "string_too_long": lambda finding, holder: f"expected at most {finding['ctx']['max_length']} characters",
    "string_too_short": lambda finding, holder: "expected a nonempty string",
    "too_short": lambda finding, holder: f"expected at least {_counted(finding['ctx']['min_length'])}",
    "too_long": lambda finding, holder: (
        f"expected at most {_counted(finding['ctx']['max_length'])}, found {finding['ctx']['actual_length']}"
    ),
}
"""Messages by the error type of pydantic; for other types, the message of pydantic is used."""
