"""Reader of outlines: a key on each line, indented by two spaces under that which it belongs to, and its value."""

from __future__ import annotations

from multibody_cli.nodes import DEEPEST, Mark, Node, Problems, mapping, refusal
from multibody_cli.yaml_values import scalar


def read(text: str, shown: str, problems: Problems) -> Node:
    """Read an outline; see `formats.Reader`."""
    lines = [(Mark(shown, k), line) for k, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        raise refusal(Mark(shown, 1), "the file is empty")
    return _section(lines, 0, Mark(shown, 1), problems)


def _section(lines: list[tuple[Mark, str]], depth: int, mark: Mark, problems: Problems) -> Node:
    """Read the lines of a depth, which are removed, up to one of a smaller depth."""
    fields: dict[str, Node] = {}
    keys: dict[str, Mark] = {}
    while lines and (indent := len(lines[0][1]) - len(lines[0][1].lstrip())) >= 2 * depth:
        place, line = lines.pop(0)
        place = place._replace(column=indent + 1)
        if indent > 2 * depth or depth >= DEEPEST:
            raise refusal(place, f"expected {2 * depth} spaces before the key")
        key, _, value = line.strip().partition(" ")
        if key in fields:
            problems.add(place, (key,), f"duplicate key, first defined in line {keys[key].line}")
        at_value = place._replace(column=indent + len(key) + 2)
        fields[key], keys[key] = (
            (
                Node(scalar(value), at_value, template="${" in value)
                if value
                else _section(lines, depth + 1, place, problems)
            ),
            place,
        )
    return mapping(fields, mark, keys)
