"""Reports of comparisons as Markdown and JUnit, for CI jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from multibody_cli.cli.report_wording import WORDS, brief, counts, failure, row_of, worst_first
from multibody_cli.cli.tables import literal, markdown_table
from multibody_cli.comparison.cases import Case, CaseVerdict, what_changed, worst

if TYPE_CHECKING:
    from multibody_cli.comparison.compare import Comparison

DATASETS_LISTED = 10
"""Maximum number of datasets of one case among several in a report."""


# --- Markdown -----------------------------------------------------------------------------------------------
def as_markdown(cases: Sequence[Case], remarks: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the report: all cases, the changed settings, and tables of the datasets that differ."""
    yield f"### {WORDS[worst(cases)].capitalize()}: {counts(cases)}"
    yield ""
    yield from markdown_table(
        [
            {"run": f"`{_code(case.name)}`", "verdict": WORDS[case.verdict].lower(), "": literal(brief(case))}
            for case in cases
        ]
    )
    changes = what_changed(cases)
    if changes:
        yield from ("", "What changed:", "")
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
    kind, message = WORDS[first.verdict].lower(), f"{first.name}: {brief(first)}{also}"
    element = ElementTree.SubElement(test, tag, type=kind, message=message)
    beyond = worst_first(first.comparison) if first.comparison else []
    rest = len(beyond) - DATASETS_LISTED
    lines = [
        *(f"changed: {change}" for change in what_changed(cases)),
        *(f"{case.name}: {WORDS[case.verdict].lower()}: {brief(case)}" for case in failing),
        *([f"datasets of {first.name}:"] if beyond else []),
        *(f"  {failure(finding)}" for finding in beyond[:DATASETS_LISTED]),
        *([f"  and {rest} more beyond tolerance"] if rest > 0 else []),
    ]
    element.text = "\n".join(lines)
