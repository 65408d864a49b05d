"""Comparison of differences with the error bars of certified runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multibody_cli.comparison.finding import Finding
    from multibody_cli.comparison.instants import Instants
    from multibody_cli.comparison.recording import Recording


def notes_on_error_bars(
    reference: Recording, result: Recording, common: Instants, findings: Sequence[Finding]
) -> Iterator[str]:
    """Yield notes about the certificates of two runs, and about the largest differences beyond their error bars.

    Differences are compared with the sum of the error bars of both runs, if both have the same bodies.
    """
    runs = reference, result
    for name, run in zip(("reference", "result"), runs, strict=True):
        if run.certificate is not None:
            yield f"the {name} is {run.certificate.verdict}"
    one, other = reference.certificate, result.certificate
    if one is None or other is None or reference.bodies != result.bodies:
        return
    for finding in findings:
        bars, others = one.bar(finding.path, reference.bodies), other.bar(finding.path, result.bodies)
        if finding.largest is None or bars is None or others is None:
            continue
        place = finding.largest.place
        row, other_row = common.pair(place.row)
        both = float(bars[row][place.index]) + float(others[other_row][place.index])
        if place.difference > both:
            yield (
                f"{finding.path} differs by up to {place.difference:.3g} {finding.units}, more than the error bars of "
                f"both runs there, {both:.3g}"
            )
