"""Reports of comparisons as plain data, for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from multibody_cli.comparison.cases import Case, worst

if TYPE_CHECKING:
    from multibody_cli.comparison.compare import Comparison
    from multibody_cli.comparison.differences import Location


def as_data(cases: Sequence[Case], remarks: Sequence[str]) -> dict[str, Any]:
    """Return the report as data for JSON."""
    return {
        "format": "mbsim-compare",
        "format_version": 1,
        "exit_code": worst(cases).exit_code,
        "remarks": list(remarks),
        "cases": [
            {
                "name": case.name,
                "verdict": case.verdict.name.lower(),
                "trouble": case.trouble,
                "missed": case.missed,
                "accepted_misses": case.accepted_misses,
                **(_data_of(case.comparison) if case.comparison else {}),
            }
            for case in cases
        ],
    }


def _data_of(comparison: Comparison) -> dict[str, Any]:
    difference = comparison.first_difference
    both, one, other = comparison.instants
    return {
        "reference": str(comparison.reference),
        "result": str(comparison.result),
        "settings": [setting._asdict() for setting in comparison.settings],
        "mismatches": comparison.mismatches,
        "notes": comparison.notes,
        comparison.rows: {"compared": both, "reference": one, "result": other},
        "first_difference": None
        if difference is None
        else {
            "time": difference.time,
            "first": difference.findings[0].path,
            "role": difference.findings[0].role,
            "datasets": [finding.path for finding in difference.findings],
        },
        "datasets": [
            {
                "path": finding.path,
                "units": finding.units,
                "role": finding.role,
                "same": not finding.differs,
                "compared": finding.compared,
                "exceeding": finding.exceeding,
                "tolerance": asdict(finding.tolerance),
                **{name: _data_at(getattr(finding, name)) for name in ("largest", "worst", "first")},
            }
            for finding in comparison.findings
        ],
    }


def _data_at(location: Location | None) -> dict[str, Any] | None:
    if location is None:
        return None
    place = location.place
    return {
        "time": location.time,
        "body": location.body,
        "component": location.component,
        "index": list(place.index),
        "reference": place.reference,
        "result": place.result,
        "difference": place.difference,
        "excess": place.excess,
    }
