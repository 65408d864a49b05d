"""Reports of comparisons: text and Markdown for people, JSON and JUnit for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import click

from multibody_cli.cli import messages
from multibody_cli.cli.markdown import markdown_table
from multibody_cli.cli.render import counted, show_json, table_lines
from multibody_cli.comparison.cases import Case, Verdict, worst
from multibody_cli.errors import OutputError

if TYPE_CHECKING:
    from multibody_cli.comparison.compare import Comparison, Parting
    from multibody_cli.comparison.differences import Place
    from multibody_cli.comparison.finding import Finding, Location

WORDS = {Verdict.SAME: "same", Verdict.DIFFERENT: "DIFFERENT", Verdict.TROUBLE: "TROUBLE"}
COLORS = {Verdict.SAME: "green", Verdict.DIFFERENT: "red", Verdict.TROUBLE: "red"}
SETTINGS_SHOWN = 12
"""Maximum number of differing settings in a text report; JSON lists all."""
DATASETS_SHOWN = 60
"""Maximum number of datasets within tolerance in a text report, unless `-v` is given."""


def write(
    cases: Sequence[Case],
    as_json: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    remarks: Sequence[str] = (),
) -> None:
    """Write the report to stdout and to the requested files.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    if junit is not None:
        _save(junit, _junit(cases))
    if markdown is not None:
        _save(markdown, "\n".join(_markdown(cases, remarks)) + "\n")
    # last, because the reader of a pipe may exit early
    if as_json:
        show_json(_as_data(cases, remarks))
    else:
        for line in _lines(cases, remarks):
            click.echo(line)


def _save(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # file names may contain bytes that are not valid text
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


# --- text ---------------------------------------------------------------------------------------------------
def _lines(cases: Sequence[Case], remarks: Sequence[str]) -> Iterator[str]:
    if len(cases) == 1 and cases[0].comparison is not None:
        yield from _one(cases[0], cases[0].comparison, remarks)
        return
    width = max((len(case.name) for case in cases), default=0)
    for case in cases:
        gap = " " * (max(map(len, WORDS.values())) - len(WORDS[case.verdict]))
        yield f"{_word(case)}{gap}  {case.name.ljust(width)}  {' '.join(brief(case).split())}".rstrip()
    yield _counts(cases)
    yield from remarks


def _one(case: Case, comparison: Comparison, remarks: Sequence[str]) -> Iterator[str]:
    yield f"reference  {comparison.reference}"
    yield f"result     {comparison.result}"
    shown = [str(setting) for setting in comparison.settings[:SETTINGS_SHOWN]]
    rest = len(comparison.settings) - len(shown)
    yield from _titled("settings", [*shown, *([f"and {rest} more (--json lists all)"] if rest else [])])
    yield from _titled("note", comparison.notes)
    both, one, other = comparison.instants
    yield f"instants   {both} compared, of {one} and {other}"
    yield f"verdict    {_word(case)}: {'; '.join(filter(None, (case.trouble, _sum(comparison))))}"
    yield from (f"           {text}" for text in comparison.mismatches)
    if comparison.parting is not None:
        yield f"parting    {_first_difference(comparison.parting)}"
        yield from _others(comparison.parting)
    yield from remarks
    yield ""
    yield from _table(comparison.findings)


def _word(case: Case) -> str:
    return click.style(WORDS[case.verdict], fg=COLORS[case.verdict])


def _titled(title: str, texts: Sequence[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        yield f"{'' if place else title:<11}{text}"


def _sum(comparison: Comparison) -> str:
    beyond = sum(finding.differs for finding in comparison.findings)
    numbers = f"{beyond} of {counted(len(comparison.findings), 'dataset')} beyond tolerance"
    others = f", {counted(len(comparison.mismatches), 'other difference')}" if comparison.mismatches else ""
    return numbers + others


def _counts(cases: Sequence[Case]) -> str:
    counts = [sum(case.verdict is verdict for case in cases) for verdict in Verdict]
    parts = [f"{count} {WORDS[verdict].lower()}" for verdict, count in zip(Verdict, counts, strict=True) if count]
    return f"{counted(len(cases), 'comparison')}: {', '.join(parts)}"


def brief(case: Case) -> str:
    """Summarize the outcome of a case in one line."""
    if case.comparison is None:
        return case.trouble
    if case.comparison.same:
        return " ".join(filter(None, (case.trouble, _closest(case.comparison))))
    parts = [case.trouble, *case.comparison.mismatches[:1]]
    if case.comparison.parting is not None:
        parts.append(f"parts {_first_difference(case.comparison.parting)}")
    return "; ".join(filter(None, parts))


def _closest(comparison: Comparison) -> str:
    """Name the dataset that comes closest to its tolerance."""
    worst_of = [(finding.worst.place.excess, finding.path) for finding in comparison.findings if finding.worst]
    if not worst_of:
        return "equal in every digit"
    excess, path = max(worst_of)
    return f"at most {excess:.2g} of the tolerance ({path})"


def _first_difference(parting: Parting) -> str:
    first = parting.findings[0]
    assert first.parted is not None
    place = first.parted.place
    where = "" if str(first.parted) == "-" else f" {first.parted}"
    return (
        f"at t = {parting.time:.9g} s, {first.role or 'dataset'} {first.path}{where} is "
        f"{_instead(place)} {_unit(first, place)} ({place.excess:.3g} x the tolerance)"
    )


def _instead(place: Place) -> str:
    """Format both numbers with enough digits to distinguish them."""
    for digits in range(6, 18):
        result, reference = (f"{number:.{digits}g}" for number in (place.result, place.reference))
        if result != reference:
            break
    return f"{result} instead of {reference}"


def _unit(finding: Finding, place: Place) -> str:
    """Return the units of the dataset, or of the component if the components have different units."""
    units = finding.units.split(", ")
    return units[place.index[-1] % len(units)] if place.index else finding.units


def _others(parting: Parting) -> Iterator[str]:
    others = [finding.path for finding in parting.findings[1:]]
    if others:
        more = f" and {len(others) - 8} more" if len(others) > 8 else ""
        yield f"           at the same instant: {', '.join(others[:8])}{more}"


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    beyond = [finding for finding in findings if finding.differs]
    within = sorted(
        (finding for finding in findings if not finding.differs),
        key=lambda finding: -(finding.worst.place.excess if finding.worst else 0.0),
    )
    shown = within if messages.is_verbose() else within[:DATASETS_SHOWN]
    yield from table_lines([_row(finding) for finding in (*beyond, *shown)])
    if len(shown) < len(within):
        yield f"and {len(within) - len(shown)} more datasets within tolerance, all closer than these (-v shows all)"


def _row(finding: Finding) -> dict[str, Any]:
    worst_place, largest = finding.worst, finding.largest
    return {
        "dataset": finding.path,
        "largest": largest.place.difference if largest else 0.0,
        "units": finding.units if len(finding.units) < 12 else "mixed",
        "worst": worst_place.place.difference if worst_place else 0.0,
        "x tolerance": worst_place.place.excess if worst_place else 0.0,
        "at s": worst_place.time if worst_place else None,
        "where": str(worst_place) if worst_place else "",
        "rtol": finding.tolerance.rtol,
        "atol": finding.tolerance.atol,
        "from": finding.tolerance.source,
    }


# --- Markdown -----------------------------------------------------------------------------------------------
def _markdown(cases: Sequence[Case], remarks: Sequence[str]) -> Iterator[str]:
    yield f"### {WORDS[worst(list(cases))].capitalize()}: {_counts(cases)}"
    yield ""
    yield from markdown_table(
        [{"run": f"`{case.name}`", "verdict": WORDS[case.verdict].lower(), "": brief(case)} for case in cases]
    )
    for remark in remarks:
        yield from ("", remark)
    for case in cases:
        comparison = case.comparison
        if comparison is None or (case.verdict is Verdict.SAME and len(cases) > 1):
            continue
        yield from ("", f"#### `{case.name}`", "")
        yield from (f"- {setting}" for setting in comparison.settings[:SETTINGS_SHOWN])
        yield from (f"- {text}" for text in (*comparison.notes, *comparison.mismatches))
        yield ""
        beyond = [finding for finding in comparison.findings if finding.differs]
        yield from markdown_table([_cells(finding) for finding in beyond])
        yield from ("", "<details><summary>datasets within tolerance</summary>", "")
        yield from markdown_table([_cells(finding) for finding in comparison.findings if not finding.differs])
        yield from ("", "</details>")


def _cells(finding: Finding) -> dict[str, Any]:
    return {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in _row(finding).items()} | {
        "dataset": f"`{finding.path}`"
    }


# --- JSON ---------------------------------------------------------------------------------------------------
def _as_data(cases: Sequence[Case], remarks: Sequence[str]) -> dict[str, Any]:
    return {
        "format": "mbsim-compare",
        "format_version": 1,
        "exit_code": int(worst(list(cases))),
        "remarks": list(remarks),
        "cases": [
            {
                "name": case.name,
                "verdict": case.verdict.name.lower(),
                "trouble": case.trouble,
                **(_data_of(case.comparison) if case.comparison else {}),
            }
            for case in cases
        ],
    }


def _data_of(comparison: Comparison) -> dict[str, Any]:
    parting = comparison.parting
    both, one, other = comparison.instants
    return {
        "reference": str(comparison.reference),
        "result": str(comparison.result),
        "settings": [setting._asdict() for setting in comparison.settings],
        "mismatches": comparison.mismatches,
        "notes": comparison.notes,
        "instants": {"compared": both, "reference": one, "result": other},
        "parting": None
        if parting is None
        else {
            "time": parting.time,
            "first": parting.findings[0].path,
            "role": parting.findings[0].role,
            "datasets": [finding.path for finding in parting.findings],
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
                **{name: _data_at(getattr(finding, name)) for name in ("largest", "worst", "parted")},
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


# --- JUnit --------------------------------------------------------------------------------------------------
_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _junit(cases: Sequence[Case]) -> str:
    """Return a test suite per case: one test per dataset, and one test for all other differences."""
    root = ElementTree.Element("testsuites", name="mbsim compare")
    for case in cases:
        findings = case.comparison.findings if case.comparison else ()
        mismatches = case.comparison.mismatches if case.comparison else ()
        fails = case.verdict is not Verdict.SAME  # an accepted case does not fail
        failing = [finding.path for finding in findings if fails and finding.differs]
        failures = [text for text in (case.trouble, *mismatches) if fails and text]
        in_trouble = case.verdict is Verdict.TROUBLE
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=case.name,
            tests=str(len(findings) + 1),
            failures=str(len(failing) + (bool(failures) and not in_trouble)),
            errors=str(int(in_trouble)),
        )
        run = ElementTree.SubElement(suite, "testcase", classname=case.name, name="run")
        if failures:
            ElementTree.SubElement(run, "error" if in_trouble else "failure", message="; ".join(failures))
        for finding in findings:
            test = ElementTree.SubElement(suite, "testcase", classname=case.name, name=finding.path)
            if finding.path in failing and finding.worst is not None:
                ElementTree.SubElement(test, "failure", message=_failure(finding))
    ElementTree.indent(root)
    for element in root.iter():
        element.attrib.update({name: _NOT_XML.sub("\ufffd", value) for name, value in element.attrib.items()})
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _failure(finding: Finding) -> str:
    assert finding.worst is not None
    place, where = finding.worst.place, str(finding.worst)
    instant = "" if finding.worst.time is None else f" at t = {finding.worst.time:.9g} s"
    return (
        f"{finding.exceeding} of {finding.compared} numbers beyond tolerance; worst{instant}"
        f"{'' if where == '-' else ', ' + where}: {_instead(place)} {_unit(finding, place)}, "
        f"{place.excess:.3g} x the tolerance (rtol {finding.tolerance.rtol:g}, atol {finding.tolerance.atol:g} from "
        f"{finding.tolerance.source})"
    )
