"""Rows of loops and constraints that depend on others in the initial state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from multibody_cli.model import Model
from multibody_cli.scene.load import LoadedScene


def redundant_rows(loaded: LoadedScene, model: Model, dependent: Sequence[int]) -> Iterator[str]:
    """Report the dependent rows of each element; elements with the same rows share a message."""
    names, by_message = model.names.rows, defaultdict[str, list[tuple[str, str]]](list)
    affected = (
        "their loads, and the dry friction that depends on them, are one of many distributions"
        if loaded.scene.friction_joints
        else "the motion is right, but their loads are one of many distributions"
    )
    for (section, element), rows in groupby(dependent, key=lambda r: (names[r].section, names[r].element)):
        which = list(rows)
        total = sum(
            name.section == section and name.element == element and not row["one_sided"]
            for name, row in zip(names, model.system.rows, strict=True)
        )
        words = ", ".join(names[r].direction for r in which)
        message = (
            f"{len(which)} of its {total} constraint rows ({words}) depend on the others in the initial state; "
            f"{affected}, of which only the sum is certain; see `mbsim doctor`"
        )
        by_message[message].append((section, element))
    for message, elements in by_message.items():
        section, element = elements[0]
        more = f" (and {len(elements) - 1} similar)" if len(elements) > 1 else ""
        yield f"{loaded.where(section, element)}: {section}.{element}: {message}{more}"
