"""Finding of a check: place, cause and remedy, with a weight that orders the advice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Weight(IntEnum):
    """Consequence of a finding; the advice begins with the largest."""

    REMARK = 1
    """The model may differ from the intention."""
    ACCURACY = 2
    """Some results are inaccurate, or not unique."""
    WRONG = 3
    """The run fails, or its results are wrong."""


@dataclass(frozen=True)
class Finding:
    """A finding about a scene.

    Parameters
    ----------
    check
        Keyword of the check.
    weight
        Its consequence.
    where, path
        `file:line:column`, and the path of the element, as in `joints.hinge`.
    cause
        The problem, with a number.
    advice
        The change that removes it.
    settings
        The same change as values `KEY=VALUE` of `--set`, tried on the scene; empty if it has no such form.
    """

    check: str
    weight: Weight
    where: str
    path: str
    cause: str
    advice: str
    settings: tuple[str, ...] = ()
