"""Frequency response of a linear system, G(s) = C (s I - A)^-1 B + D at s = i w."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import Immutable
from multibody_cli.initial.linearized_motion import Complex
from multibody_cli.kernel import Floats
from multibody_cli.output.table_formats import FORMATS, ColumnTable
from multibody_cli.studies.vibration.system import LinearSystem

PER_DECADE = 100
"""Number of frequencies, to which those of the oscillations are added."""

DECADES = 8
"""Largest width of the default range, from its lower end."""

DAMPED = 1e-6
"""Damping ratio from which the frequency of an oscillation is one of those of the response."""

BESIDE = 1e-9
"""Growth of the oscillations whose phase is computed, relative to their rate: it passes poles without damping by -180
degrees, and such zeros by 180 degrees."""


class Response(Immutable, eq=False):
    """A frequency response.

    Parameters
    ----------
    frequencies
        (f,), Hz.
    values
        (f, r, m) complex amplitudes of the r outputs for each of the m inputs of amplitude 1, SI units.
    phases
        (f, r, m) continuous phases, degrees.
    inputs, outputs
        Their names.
    """

    frequencies: Floats
    values: Complex
    phases: Floats
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def response_of(system: LinearSystem, low: float | None = None, high: float | None = None) -> Response:
    """Compute the frequency response.

    Parameters
    ----------
    system
        The linear system.
    low, high
        Range of frequencies, Hz; None for a decade beyond the exponents of the system.

    Raises
    ------
    ArgumentError
        The range is empty or not above 0.
    """
    sizes = np.abs(system.exponents[system.exponents != 0.0]) / (2.0 * math.pi)
    if len(sizes) == 0:
        sizes = np.ones(1)
    low = 10.0 ** math.floor(math.log10(sizes.min()) - 1.0) if low is None else low
    high = min(10.0 ** math.ceil(math.log10(sizes.max()) + 1.0), low * 10.0**DECADES) if high is None else high
    if not 0.0 < low < high < math.inf:
        raise ArgumentError(f"--frequencies {low:g},{high:g}: expected two frequencies above 0, the lower one first")
    count = max(2, math.ceil(PER_DECADE * math.log10(high / low)) + 1)
    damped = np.abs(system.exponents.real) > DAMPED * np.abs(system.exponents)
    own = np.abs(system.exponents.imag[damped]) / (2.0 * math.pi)
    frequencies = np.unique(np.append(np.geomspace(low, high, count), own[(own > low) & (own < high)]))
    w = 2.0 * math.pi * frequencies
    beside = system.response(w * complex(BESIDE, 1.0))
    phases = np.degrees(np.unwrap(np.arctan2(beside.imag, beside.real), axis=0))
    return Response(frequencies, system.response(w * 1j), phases, system.inputs, system.outputs)


def write_response(found: Response, path: Path) -> None:
    """Write a frequency response as comma-separated values: magnitudes in SI units, and phases in degrees."""
    columns = [("frequency", "Hz", "", found.frequencies)]
    for k, one in enumerate(found.inputs):
        for i, output in enumerate(found.outputs):
            name = f"{output} by {one}"
            columns.append((f"magnitude of {name}", "SI", "", np.abs(found.values[:, i, k])))
            columns.append((f"phase of {name}", "deg", "", found.phases[:, i, k]))
    FORMATS["csv"].replace(ColumnTable(tuple(columns)), path)


def read_frequencies(text: str | None) -> tuple[float | None, float | None]:
    """Return the range of frequencies LOW,HIGH, Hz; None for the default.

    Raises
    ------
    ArgumentError
        They are no two frequencies.
    """
    if text is None:
        return None, None
    try:
        low, high = (float(part.strip().removesuffix("Hz")) for part in text.split(","))
    except ValueError:
        raise ArgumentError(f"--frequencies {text}: expected two frequencies, as in 0.1,100 in Hz") from None
    return low, high
