"""Warnings of force elements about a run, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multibody_cli.forces.elements import ELEMENTS
from multibody_cli.model import Model


def force_warnings(model: Model, warnings: Sequence[NDArray[np.int64]]) -> Iterator[str]:
    """Return the warnings that were raised, element by element."""
    for element, table, raised in zip(ELEMENTS, model.system.forces.tables, warnings, strict=True):
        for record, bits in zip(table, raised, strict=False):
            for bit, words in element.warnings.items():
                if bits & bit and element.entry is not None:
                    _, _, name = model.names.accounts[record["account"]].cause.partition("/")
                    yield f"{element.entry.kind} `{name}`: {words}"
