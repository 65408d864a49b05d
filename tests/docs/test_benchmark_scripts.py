"""The scripts that compute published tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(text: str) -> list[list[float]]:
    """The corrections of each row of a table, above round-off."""
    rows = [re.findall(r"\de-?\+?\d+", line) for line in text.splitlines() if line.startswith("|")]
    return [[float(word) for word in row if float(word) > 1e-9] for row in rows if row]


@pytest.mark.nightly
def test_the_table_of_convergence_is_that_of_its_script() -> None:
    command = [sys.executable, str(DOCS / "benchmarks/variational.py"), "convergence"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    page = (DOCS / "variational.md").read_text(encoding="utf-8")
    published = page[page.index("### Convergence") : page.index("### Tight tolerances")]
    assert len(rows_of(printed)) == 9
    assert rows_of(printed) == rows_of(published)
