"""Condition numbers of the mass matrix and of the constraints, independent of units.

A matrix is scaled to a unit diagonal before its condition number is computed, which makes the number independent of
the units of the coordinates, and nearly the least one that a scaling can attain (van der Sluis, Numer. Math. 14, 1969).
A number of 10^k costs k of 16 digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.studies.doctor.dof_count import dependent_rows
from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.subject import Subject

POOR = 1e9
"""Condition number that is reported: 7 digits remain."""


@dataclass(frozen=True)
class Conditioning:
    """Condition numbers of the scaled mass matrix, and of the Delassus operator of the independent rows."""

    mass_matrix: float
    constraints: float | None


def conditioning_of(subject: Subject) -> Conditioning | None:
    """Compute the condition numbers at the start; None if the scene cannot be linearized."""
    linear = subject.linear
    if linear is None or subject.start is None or not len(linear.free):
        return None
    rows = subject.start[0].system.rows
    equalities = np.setdiff1d(np.flatnonzero(rows["one_sided"] == 0), dependent_rows(subject))
    G = linear.G[equalities]
    delassus = _condition(G @ np.linalg.solve(linear.M, G.T)) if len(G) else None
    return Conditioning(_condition(linear.M), delassus)


def _condition(matrix: Floats) -> float:
    """Condition number of a symmetric matrix, scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return float(np.linalg.cond(scale[:, None] * matrix * scale))


def find_poor_conditioning(subject: Subject) -> Iterator[Finding]:
    """Report condition numbers that cost more than half of the digits."""
    found = conditioning_of(subject)
    if found is None:
        return
    remedies = (
        ("mass matrix", found.mass_matrix, ("bodies",), "avoid light bodies between heavy ones, or give them inertia"),
        (
            "constraints",
            found.constraints,
            ("joints",),
            "start farther from a singular configuration, such as collinear rods; remove nearly redundant constraints",
        ),
    )
    for what, number, place, advice in remedies:
        if number is not None and number > POOR:
            digits = f"{math.log10(number):.0f} of 16 digits"
            cause = f"the condition number of the {what} is {number:.2g}: some {digits} are lost"
            yield subject.finding("conditioning", Weight.ACCURACY, place, cause, advice)
