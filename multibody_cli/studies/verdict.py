"""Verdict on one expectation of a scene: the value found and the value wanted."""

from __future__ import annotations

from multibody_cli.immutable import Immutable
from multibody_cli.output.channel import Array
from multibody_cli.spec.units import behind_number

Numbers = float | tuple[float, ...]


class Verdict(Immutable):
    """Whether a run met one expectation.

    Parameters
    ----------
    passed
        Whether the expectation is met.
    entry
        The expectation in scene notation; set by `evaluate`.
    found
        The numbers found; None if nothing could be measured, with the reason in `note`.
    relation
        Relation to `wanted`: `at most`, `at least` or `equal to`.
    wanted
        The numbers wanted.
    tolerance
        Largest accepted difference of numbers that should be equal.
    units
        Units of all numbers.
    note
        Remark: the time of an extreme, or the reason for a missing value.
    evaluated
        Whether the run has the data of the expectation; one that is not evaluated does not fail.
    """

    passed: bool = False
    entry: str = ""
    found: Numbers | None = None
    relation: str = ""
    wanted: Numbers | None = None
    tolerance: float | None = None
    units: str = ""
    note: str = ""
    evaluated: bool = True

    def __str__(self) -> str:
        word = ("pass" if self.passed else "FAIL") if self.evaluated else "skip"
        return f"{word}  {self.text}"

    @property
    def text(self) -> str:
        """The expectation, with the numbers found and wanted."""
        text = self.entry
        if self.found is not None:
            text += (
                f": found {_text(self.found)}, wanted {self.relation} {_text(self.wanted)}{behind_number(self.units)}"
            )
        if self.tolerance is not None:
            text += f" within {self.tolerance:.3g}"
        return f"{text} ({self.note})" if self.note else text


def as_numbers(values: Array) -> Numbers:
    """Convert an array (n,) to plain numbers: one float, or a tuple."""
    return float(values[0]) if len(values) == 1 else tuple(map(float, values))


def _text(numbers: Numbers | None) -> str:
    if isinstance(numbers, tuple):
        return f"[{', '.join(map(_text, numbers))}]"
    return "nothing" if numbers is None else f"{numbers:.12g}"
