"""The script that measures the Python interface prints the table of its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PARAMETERS = {"bodies", "integrator"}
"""Heads of columns that describe a measurement; the other columns are results."""

Table = list[list[str]]


def tables_of(text: str) -> list[Table]:
    """The tables of a text, as rows of cells, the head first."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    return [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines() if "|---" not in row]
        for block in blocks
    ]


def outline_of(table: Table) -> Table:
    """A table without its results: its head, and the cells of each row that describe a measurement."""
    head, *rows = table
    parameters = [k for k, word in enumerate(head) if word in PARAMETERS]
    return [head, *([row[k] for k in parameters] for row in rows)]


def printed_by(*command: str) -> str:
    words = [sys.executable, str(DOCS / "benchmarks" / command[0]), *command[1:]]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.nightly
def test_the_page_on_python_has_the_table_that_its_script_prints() -> None:
    [table] = tables_of(printed_by("python.py"))
    page = tables_of((DOCS / "python.md").read_text(encoding="utf-8"))
    assert outline_of(table) in [outline_of(other) for other in page if other[0] == table[0]]
