"""MATLAB files, version 5: a variable for each column, and structs `units` and `channels` with the same fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from multibody_cli.output.tables.contract import Format, Table

LONGEST = 63
"""Maximum length of a name in MATLAB (`namelengthmax`)."""


def write(table: Table, path: Path) -> None:
    """Write a table, a variable at a time."""
    from scipy.io import savemat

    names = variable_names(table.names)
    with path.open("wb") as file:
        for name, values in zip(names, table.whole_columns(), strict=True):
            savemat(file, {name: values}, oned_as="column")
        about = {"units": table.units, "channels": table.names}
        for name, texts in about.items():
            savemat(file, {name: dict(zip(names, texts, strict=True))}, long_field_names=True)


def variable_names(channels: Iterable[str]) -> list[str]:
    """Return a different MATLAB name for each channel: `joints_hinge_force_fz` for `joints/hinge/force[fz]`."""
    taken: dict[str, None] = {}
    for channel in channels:
        plain = re.sub(r"[^0-9A-Za-z]+", "_", channel).strip("_")
        name, number = plain[:LONGEST], 1
        while name in taken:
            number += 1
            name = f"{plain[: LONGEST - len(f'_{number}')]}_{number}"
        taken[name] = None
    return list(taken)


FORMAT = Format(write)
