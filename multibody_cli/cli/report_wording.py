"""Sentences and table rows that the reports of comparisons share, and reports as data, Markdown and JUnit for CI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from multibody_cli.cli.tables import Colored, counted, literal, markdown_table
from multibody_cli.comparison.cases import Case, CaseVerdict, changes_of, worst
from multibody_cli.immutable import asdict
from multibody_cli.spec.units import behind_number

if TYPE_CHECKING:
    from multibody_cli.comparison.compare import Comparison, FirstDifference
    from multibody_cli.comparison.differences import ComparedValue, DatasetDifference, Location


def colored_word(case: Case) -> Colored:
    """Return the verdict of a case, in color."""
    return Colored(case.verdict.word, "green" if case.verdict is CaseVerdict.SAME else "red")


def counts(cases: Sequence[Case]) -> str:
    """Count the cases of each verdict."""
    numbers = [sum(case.verdict is verdict for case in cases) for verdict in CaseVerdict]
    parts = [f"{number} {verdict.name.lower()}" for verdict, number in zip(CaseVerdict, numbers, strict=True) if number]
    marked = sum(bool(case.accepted_misses) for case in cases)
    text = f"{counted(len(cases), 'comparison')}: {', '.join(parts)}"
    return f"{text}; {marked} with an accepted miss of an expectation" if marked else text


def brief(case: Case) -> str:
    """Summarize the outcome of a case in one line."""
    parts = [case.trouble, *_first_of(_missed(case))]
    if case.comparison is not None:
        parts += [_closest(case.comparison)] if case.comparison.same else _differing(case.comparison)
    return " ".join("; ".join(filter(None, [*parts, *_first_of(_accepted(case))])).split())


def expectations(case: Case) -> list[str]:
    """Describe the expectations that the result misses."""
    return [*_missed(case), *_accepted(case)]


def _first_of(texts: Sequence[str]) -> list[str]:
    return [f"{texts[0]} (and {len(texts) - 1} more)"] if len(texts) > 1 else list(texts)


def _missed(case: Case) -> list[str]:
    return [f"misses {text}" for text in case.missed]


def _accepted(case: Case) -> list[str]:
    return [f"accepted miss: {text}" for text in case.accepted_misses]


def _closest(comparison: Comparison) -> str:
    """Name the dataset that comes closest to its tolerance."""
    worst_of = [(finding.excess, finding.path) for finding in comparison.findings if finding.worst]
    if not worst_of:
        return "equal in every digit"
    excess, path = max(worst_of)
    return f"at most {excess:.2g} of the tolerance ({path})"


def _differing(comparison: Comparison) -> list[str]:
    """Describe the first difference other than values, and the worst dataset."""
    parts = list(comparison.mismatches[:1])
    parts += [f"worst {_worst(finding)}" for finding in worst_first(comparison)[:1]]
    if comparison.first_difference is not None:
        parts.append(f"differs from t = {comparison.first_difference.time:.9g} s on")
    return parts


def _worst(finding: DatasetDifference) -> str:
    """Describe the worst value of a dataset beyond tolerance."""
    assert finding.worst is not None
    place, where = finding.worst.place, str(finding.worst)
    instant = "" if finding.worst.time is None else f" at t = {finding.worst.time:.9g} s"
    return (
        f"{finding.path}{'' if where == '-' else ' ' + where}{instant}: {_instead(place)}{_unit(finding, place)}, "
        f"{place.excess:.3g} x the tolerance"
    )


def worst_first(comparison: Comparison) -> list[DatasetDifference]:
    """Return the datasets beyond tolerance, the largest excess first."""
    beyond = [finding for finding in comparison.findings if finding.differs]
    return sorted(beyond, key=lambda finding: -finding.excess)


def described_first(difference: FirstDifference) -> str:
    """Describe the likeliest cause at the first instant beyond tolerance."""
    cause = difference.findings[0]
    assert cause.first is not None
    place = cause.first.place
    where = "" if str(cause.first) == "-" else f" {cause.first}"
    return (
        f"at t = {difference.time:.9g} s, {cause.role or 'dataset'} {cause.path}{where} is "
        f"{_instead(place)}{_unit(cause, place)} ({place.excess:.3g} x the tolerance)"
    )


def _instead(place: ComparedValue) -> str:
    """Format both numbers with enough digits to distinguish them."""
    for digits in range(6, 18):
        result, reference = (f"{number:.{digits}g}" for number in (place.result, place.reference))
        if result != reference:
            break
    return f"{result} instead of {reference}"


def _unit(finding: DatasetDifference, place: ComparedValue) -> str:
    """Return the units of the dataset, or of the component if the components have different units, behind a number."""
    units = finding.units.split(", ")
    return behind_number(units[place.index[-1] % len(units)] if place.index else finding.units)


def row_of(finding: DatasetDifference) -> dict[str, Any]:
    """Return the row of a dataset in a table."""
    worst, largest = finding.worst, finding.largest
    return {
        "dataset": finding.path,
        "largest": largest.place.difference if largest else 0.0 if finding.compared else None,
        "units": finding.units if len(finding.units) < 12 else "mixed",
        "worst": worst.place.difference if worst else 0.0 if finding.compared else None,
        "x tolerance": finding.excess if finding.compared else None,
        "at s": worst.time if worst else None,
        "where": str(worst) if worst else "",
        "rtol": finding.tolerance.rtol,
        "atol": finding.tolerance.atol,
        "from": finding.tolerance.source,
    }


def failure(finding: DatasetDifference) -> str:
    """Describe a dataset beyond tolerance: the worst value, the number of values, and the tolerance."""
    tolerance = finding.tolerance
    return (
        f"{_worst(finding)}; {finding.exceeding} of {finding.compared} numbers beyond tolerance "
        f"(rtol {tolerance.rtol:g}, atol {tolerance.atol:g} from {tolerance.source})"
    )


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
    values = asdict(location.place)
    del values["row"]
    return {"time": location.time, "body": location.body, "component": location.component, **values}


DATASETS_LISTED = 10
"""Maximum number of datasets of one case among several in a report."""


# --- Markdown -----------------------------------------------------------------------------------------------
def as_markdown(cases: Sequence[Case], remarks: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the report: all cases, the changed settings, and tables of the datasets that differ."""
    yield f"### {worst(cases).name.capitalize()}: {counts(cases)}"
    yield ""
    yield from markdown_table(
        [
            {"run": f"`{_code(case.name)}`", "verdict": case.verdict.name.lower(), "": literal(brief(case))}
            for case in cases
        ]
    )
    changes = changes_of(cases)
    if changes:
        yield from ("", "Changes:", "")
        yield from (f"- {literal(str(change))}" for change in changes)
    for remark in remarks:
        yield from ("", literal(remark))
    for case in _detailed(cases):
        if case.comparison is not None:
            yield from ("", f"<details><summary>{literal(case.name)}</summary>", "")
            yield from _details(case.comparison, len(cases) == 1)
            yield from ("", "</details>")


def _detailed(cases: Sequence[Case]) -> list[Case]:
    """Return the case with the datasets in detail of each test: the first of the most severe ones that fail."""
    if len(cases) == 1:
        return list(cases)
    firsts = (max(some, key=lambda case: case.verdict) for some in _by_test(cases).values())
    return [case for case in firsts if case.verdict is not CaseVerdict.SAME]


def _details(comparison: Comparison, every: bool) -> Iterator[str]:
    beyond = worst_first(comparison)
    rest = [finding for finding in comparison.findings if not finding.differs]
    shown = [*beyond, *rest] if every else beyond[:DATASETS_LISTED]
    yield from (f"- {literal(text)}" for text in (*comparison.notes, *comparison.mismatches))
    yield ""
    yield from markdown_table([row_of(finding) | {"dataset": f"`{_code(finding.path)}`"} for finding in shown])
    if len(shown) < len(beyond):
        yield from ("", f"and {len(beyond) - len(shown)} more datasets beyond tolerance")


def _code(text: str) -> str:
    """Return a text for a place between backticks."""
    return text.replace("`", "'")


# --- JUnit --------------------------------------------------------------------------------------------------
def as_junit(cases: Sequence[Case], suite_name: str) -> str:
    """Return one test suite with a test for each scene, or for each pair of files."""
    tests = _by_test(cases)
    verdicts = [worst(some) for some in tests.values()]
    errors = verdicts.count(CaseVerdict.TROUBLE)
    numbers = {
        "name": suite_name,
        "tests": str(len(tests)),
        "failures": str(len(tests) - errors - verdicts.count(CaseVerdict.SAME)),
        "errors": str(errors),
        "skipped": "0",
        "time": _seconds(cases),
    }
    root = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(root, "testsuite", numbers)
    for name, some in tests.items():
        test = ElementTree.SubElement(suite, "testcase", classname=suite_name, name=name, time=_seconds(some))
        _add_failure(test, some)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _seconds(cases: Sequence[Case]) -> str:
    return f"{sum(case.seconds for case in cases):.3f}"


def _by_test(cases: Sequence[Case]) -> dict[str, list[Case]]:
    tests: dict[str, list[Case]] = {}
    for case in cases:
        tests.setdefault(case.test, []).append(case)
    return tests


def _add_failure(test: ElementTree.Element, cases: Sequence[Case]) -> None:
    """Add the failure of the most severe case; its text lists the other failing cases and the changed settings."""
    failing = sorted((case for case in cases if case.verdict is not CaseVerdict.SAME), key=lambda case: -case.verdict)
    if not failing:
        return
    first, *others = failing
    also = f"; {len(failing)} of {len(cases)} runs fail" if others else ""
    tag = "error" if first.verdict is CaseVerdict.TROUBLE else "failure"
    kind, message = first.verdict.name.lower(), f"{first.name}: {brief(first)}{also}"
    element = ElementTree.SubElement(test, tag, type=kind, message=message)
    beyond = worst_first(first.comparison) if first.comparison else []
    rest = len(beyond) - DATASETS_LISTED
    lines = [
        *(f"changed: {change}" for change in changes_of(cases)),
        *(f"{case.name}: {case.verdict.name.lower()}: {brief(case)}" for case in failing),
        *([f"datasets of {first.name}:"] if beyond else []),
        *(f"  {failure(finding)}" for finding in beyond[:DATASETS_LISTED]),
        *([f"  and {rest} more beyond tolerance"] if rest > 0 else []),
    ]
    element.text = "\n".join(lines)
