"""Unstable equilibrium at the start."""

from __future__ import annotations

import math
from collections.abc import Iterator

from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.subject import Subject

FROM_ROUND_OFF = 15.0 * math.log(10.0)
"""Number of time constants in which a disturbance of 1e-15 grows to 1."""


def find_instability(subject: Subject) -> Iterator[Finding]:
    """Report an equilibrium at the start from which the scene departs."""
    found = subject.motions
    if found is None or not found.equilibrium:
        return
    growing = [mode for mode in found.modes if mode.kind == "grows"]
    if growing and subject.start is not None and not subject.start[1].v.any():
        fastest = min(growing, key=lambda mode: mode.time or math.inf)
        body, seconds = next(iter(fastest.shares), ""), FROM_ROUND_OFF * (fastest.time or 0.0)
        cause = f"starts in an unstable equilibrium, and round-off determines the motion after {seconds:.3g} s"
        advice = "start beside the equilibrium, or with a small velocity"
        yield subject.finding("stability", Weight.ACCURACY, ("bodies", body), cause, advice)
