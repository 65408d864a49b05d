"""Messages about constraint rows that are redundant at the start: they depend on others, or have no effect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby

from multibody_cli.model import Model
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.topology import second_joint_of_child


class OfRates(str):
    """A warning about the start that concerns its rates alone."""


class OfLoads(str):
    """A warning about the start that concerns the loads of its rows alone."""


def redundant_rows(loaded: LoadedScene, model: Model, dependent: Mapping[int, bool]) -> Iterator[str]:
    """Report the dependent rows of each element; elements with the same rows share a message.

    A row of a constraint has no effect if no motion changes it.  That of a joint repeats the rows of the joints before.
    """
    names, by_message = model.names.rows, defaultdict[str, list[tuple[str, str]]](list)
    affected = (
        "of their loads, and of the dry friction that depends on them,"
        if loaded.scene.friction_joints
        else "the motion is right, but of their loads"
    )

    def key(r: int) -> tuple[str, str, bool]:
        return names[r].section, names[r].element, dependent[r] or names[r].section == "joints"

    for (section, element, has_effect), rows in groupby(dependent, key=key):
        which = list(rows)
        total = sum(
            name.section == section and name.element == element and not row["one_sided"]
            for name, row in zip(names, model.system.rows, strict=True)
        )
        words = ", ".join(names[r].direction for r in which)
        share = f"{len(which)} of its {total} constraint rows ({words})"
        have = "has" if len(which) == 1 else "have"
        message = (
            f"{share} depend on the others: {affected} only the sum is certain; see `mbsim doctor`"
            if has_effect
            else f"{share} {have} no effect in the initial state: no motion that joints permit changes it"
        )
        if len(which) == total:
            message += second_joint_of_child(loaded.scene, section, element)
        by_message[message].append((section, element))
    for message, elements in by_message.items():
        section, element = elements[0]
        more = f" (and {len(elements) - 1} similar)" if len(elements) > 1 else ""
        yield OfLoads(f"{loaded.where(section, element)}: {section}.{element}: {message}{more}")
