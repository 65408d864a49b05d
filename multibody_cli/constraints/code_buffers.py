"""Input and output of the generated code of constraints."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.kernel import Floats

MAX_SLOTS = 32
"""Largest number of inputs of generated code: slots of three numbers."""


class CodeBuffers(NamedTuple):
    """Three numbers for each slot behind one for the time, their rates, the rates of these, and the results.

    The results are three numbers, or two, before the slopes of each slot.
    """

    x: Annotated[Floats, 1 + 3 * MAX_SLOTS]
    u: Annotated[Floats, 1 + 3 * MAX_SLOTS]
    c: Annotated[Floats, 1 + 3 * MAX_SLOTS]
    out: Annotated[Floats, 3 + 3 * MAX_SLOTS]
