"""The verdict on one expectation of a scene: what was found beside what was wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multibody_cli.output.channel import Array

Numbers = float | tuple[float, ...]


@dataclass(frozen=True)
class Verdict:
    """Whether a run met one expectation.

    Parameters
    ----------
    passed
        Whether it did.
    entry
        What was expected, in the words of the scene; filled in by `evaluate`.
    found
        The numbers found; None where nothing could be measured, and `note` says why.
    wanted
        The numbers that they were held against, and how: `at most`, `at least` or `equal to`.
    tolerance
        Largest difference accepted of numbers that should be equal.
    units
        Of all these numbers.
    note
        A remark: when an extreme was reached, or why nothing was found.
    """

    passed: bool = False
    entry: str = ""
    found: Numbers | None = None
    relation: str = ""
    wanted: Numbers | None = None
    tolerance: float | None = None
    units: str = ""
    note: str = ""

    def __str__(self) -> str:
        text = f"{'pass' if self.passed else 'MISS'}  {self.entry}"
        if self.found is not None:
            text += f": found {_text(self.found)}, wanted {self.relation} {_text(self.wanted)} {self.units}"
        if self.tolerance is not None:
            text += f" within {self.tolerance:.3g}"
        return f"{text} ({self.note})" if self.note else text


def as_numbers(values: Array) -> Numbers:
    """Turn an array (n,) into plain numbers: one, or a tuple."""
    return float(values[0]) if len(values) == 1 else tuple(map(float, values))


def _text(numbers: Numbers | None) -> str:
    if isinstance(numbers, tuple):
        return f"[{', '.join(map(_text, numbers))}]"
    return "nothing" if numbers is None else f"{numbers:.12g}"
