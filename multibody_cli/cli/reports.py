"""Reports of comparisons: text and Markdown for people, JSON and JUnit for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from multibody_cli.cli import messages
from multibody_cli.cli.report_wording import (
    as_data,
    as_junit,
    as_markdown,
    brief,
    colored_word,
    counts,
    described_first,
    expectations,
    row_of,
)
from multibody_cli.cli.tables import Colored, counted, show, show_json, table_lines
from multibody_cli.comparison.cases import Case, CaseVerdict, changes_of
from multibody_cli.comparison.recording import merged
from multibody_cli.errors import listed
from multibody_cli.escaping import escaped
from multibody_cli.output.file_replacement import write_text

if TYPE_CHECKING:
    from multibody_cli.comparison.compare import Comparison, FirstDifference
    from multibody_cli.comparison.differences import DatasetDifference

Line = str | tuple[str | Colored, ...]
"""A line of a report: a text, or pieces of which some are in color."""

SETTINGS_SHOWN = 12
"""Maximum number of lines about differing settings in a text report; `-v` and JSON list all settings."""
DATASETS_SHOWN = 60
"""Maximum number of datasets within tolerance in a text report, unless `-v` is given."""


def write(
    cases: Sequence[Case],
    suite: str,
    remarks: Sequence[str] = (),
    as_json: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    in_detail: bool = True,
) -> None:
    """Write the report to stdout and to the requested files.

    Parameters
    ----------
    cases
        The comparisons.
    suite
        Name of the test suite in JUnit.
    remarks
        Lines at the end.
    as_json
        Whether to write JSON to stdout instead of text.
    junit, markdown
        Files of further reports.
    in_detail
        Whether the text about a single comparison lists its datasets; else it is a line, as that about one of several.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    if junit is not None:
        write_text(junit, escaped(as_junit(cases, suite)))
    if markdown is not None:
        write_text(markdown, escaped("\n".join(as_markdown(cases, remarks)) + "\n"))
    # last, because the reader of a pipe may exit early
    if as_json:
        show_json(as_data(cases, remarks))
    else:
        for line in _lines(cases, remarks, in_detail):
            show(*([line] if isinstance(line, str) else line))


# --- text ---------------------------------------------------------------------------------------------------
def _lines(cases: Sequence[Case], remarks: Sequence[str], in_detail: bool) -> Iterator[Line]:
    if in_detail and len(cases) == 1 and cases[0].comparison is not None:
        yield from _one(cases[0], cases[0].comparison, remarks)
        return
    word_width = max(len(verdict.word) for verdict in CaseVerdict)
    width = max((len(case.name) for case in cases), default=0)
    for case in cases:
        gap = " " * (word_width - len(case.verdict.word))
        yield colored_word(case), f"{gap}  {case.name.ljust(width)}  {brief(case)}".rstrip()
    yield from _titled("changed", _shortened([str(change) for change in changes_of(cases)]))
    yield counts(cases)
    yield from remarks


def _one(case: Case, comparison: Comparison, remarks: Sequence[str]) -> Iterator[Line]:
    yield f"reference  {comparison.reference}"
    yield f"result     {comparison.result}"
    settings = comparison.settings
    yield from _titled(
        "settings", [str(one) for one in settings] if messages.is_verbose() else _shortened(merged(settings))
    )
    yield from _titled("note", comparison.notes)
    both, one, other = comparison.instants
    yield f"{comparison.rows:<11}{both} compared, of {one} and {other}"
    yield "verdict    ", colored_word(case), f": {'; '.join(filter(None, (case.trouble, _sum(comparison))))}"
    yield from (f"           {text}" for text in comparison.mismatches)
    yield from _titled("expect", expectations(case))
    if comparison.first_difference is not None:
        yield f"first      {described_first(comparison.first_difference)}"
        yield from _others(comparison.first_difference)
    yield from remarks
    yield ""
    yield from _table(comparison.findings)


def _shortened(settings: Sequence[str]) -> list[str]:
    """Limit the number of lines, unless `-v` is given."""
    shown = settings if messages.is_verbose() else settings[:SETTINGS_SHOWN]
    rest = len(settings) - len(shown)
    return [*shown, *([f"and {rest} more (-v shows all)"] if rest else [])]


def _titled(title: str, texts: Sequence[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        yield f"{'' if place else title:<11}{text}"


def _sum(comparison: Comparison) -> str:
    beyond = sum(finding.differs for finding in comparison.findings)
    numbers = f"{beyond} of {counted(len(comparison.findings), 'dataset')} beyond tolerance"
    others = f", {counted(len(comparison.mismatches), 'other difference')}" if comparison.mismatches else ""
    return numbers + others


def _others(difference: FirstDifference) -> Iterator[str]:
    others = [finding.path for finding in difference.findings[1:]]
    if others:
        yield f"           at the same instant: {listed(others, 8)}"


def _table(findings: Sequence[DatasetDifference]) -> Iterator[str]:
    beyond = [finding for finding in findings if finding.differs]
    within = sorted((one for one in findings if not one.differs), key=lambda finding: -finding.excess)
    shown = within if messages.is_verbose() else within[:DATASETS_SHOWN]
    yield from table_lines([row_of(finding) for finding in (*beyond, *shown)])
    if len(shown) < len(within):
        yield f"and {len(within) - len(shown)} more datasets within tolerance, all closer than these (-v shows all)"
