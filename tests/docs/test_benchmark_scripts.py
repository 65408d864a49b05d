"""The scripts that compute published tables print the tables of the pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PARAMETERS = {"", "method", "segments", "step, ms", "links", "DoF", "root finder", "from", "bodies", "integrator"}
"""Heads of columns that say what is measured; the other columns are results."""
EXPERIMENTS = re.findall(r'^    "(\w+)": \1,$', (DOCS / "benchmarks/variational.py").read_text(encoding="utf-8"), re.M)

Table = list[list[str]]


def tables_of(text: str) -> list[Table]:
    """The tables of a text, as rows of cells, the head first."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    return [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines() if "|---" not in row]
        for block in blocks
    ]


def outline_of(table: Table) -> Table:
    """A table without its results: its head, and the cells of each row that say what is measured."""
    head, *rows = table
    parameters = [k for k, word in enumerate(head) if word in PARAMETERS or word.endswith("until")]
    return [head, *([row[k] for k in parameters] for row in rows)]


def printed_by(*command: str) -> str:
    words = [sys.executable, str(DOCS / "benchmarks" / command[0]), *command[1:]]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def published() -> list[Table]:
    pages = ("variational.md", "performance.md", "python.md")
    return [table for page in pages for table in tables_of((DOCS / page).read_text(encoding="utf-8"))]


@pytest.mark.nightly
@pytest.mark.parametrize("command", [*(("variational.py", name) for name in EXPERIMENTS), ("python.py",)], ids="_".join)
def test_a_page_has_the_table_that_a_script_prints(command: tuple[str, ...]) -> None:
    [table] = tables_of(printed_by(*command))
    assert outline_of(table) in [outline_of(other) for other in published() if other[0] == table[0]]


@pytest.mark.nightly
def test_the_script_of_baraff_prints_its_tables() -> None:
    """Sparse multipliers are cheaper than dense ones, the more so the more there are."""
    parts, dense, auxiliary = tables_of(printed_by("baraff.py"))
    assert len(parts) == 1 + 2 * 5
    gains = [float(row[-1].strip("*")) for row in dense[1:]]
    assert 1.0 < gains[0] < gains[1] < gains[2]
    assert [row[0] for row in auxiliary[1:]] == ["0", "1", "2", "4", "8", "12", "16"]


@pytest.mark.nightly
def test_the_table_of_convergence_has_the_published_corrections() -> None:
    """Corrections above round-off are the same digits."""

    def corrections(table: Table) -> list[list[float]]:
        return [[float(cell) for cell in row[2:] if cell and float(cell) > 1e-9] for row in table[1:]]

    [printed] = tables_of(printed_by("variational.py", "convergence"))
    [page] = [table for table in published() if table[0] == printed[0]]
    assert corrections(printed) == corrections(page)
