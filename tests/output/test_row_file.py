"""Rows of a sweep in progress, and the table that is made from them."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.output.row_file import RowFile
from multibody_cli.output.rows import Column, Row, in_blocks
from multibody_cli.output.sweep_table import KeyValues, SweepTable, is_sweep_table, write_sweep_table

A, B = Column("a final", "m", "A."), Column("b max", "", "B.")


def row(run: int) -> Row:
    """Return a row whose columns depend on the run."""
    if run % 5 == 4:
        return Row(run, "refused", f"reason {run}\u00e4")
    if run % 3 == 0:
        return Row(run, "complete", columns=(A, B), values=(run / 7.0, math.nan))
    return Row(run, "untrusted", "torn", "drift (failed)", (A,), (-run / 3.0,))


def add(file: RowFile, *runs: int) -> None:
    file.add(in_blocks(map(row, runs)))


def rows_in(file: RowFile) -> list[Row]:
    """Return the rows of a file in the order of the runs."""
    found = [
        Row(run, *ending, block.columns, tuple(values))
        for block in file.rows(file.runs)
        for run, ending, values in zip(block.runs.tolist(), block.endings, block.values.tolist(), strict=True)
    ]
    return sorted(found, key=lambda one: one.run)


def has_rows(file: RowFile, *runs: int) -> bool:
    """Whether a file has the rows of these runs alone, also where numbers are NaN."""
    return repr(rows_in(file)) == repr([*map(row, runs)])


def table_of(rows: RowFile, path: Path) -> bytes:
    keys = [KeyValues(Column("k", "s"), lambda runs: np.array(runs) * 0.5), KeyValues(Column("w"), _words, 8)]
    write_sweep_table(path, {"name": "x"}, keys, rows.columns(), rows.lengths, rows.runs, rows.rows)
    return path.read_bytes()


def _words(runs: list[int]) -> list[bytes]:
    return [f"w{run}".encode() for run in runs]


def test_rows_come_back_in_the_order_of_the_runs(tmp_path: Path) -> None:
    with RowFile(tmp_path / "t.rows", "d", 12) as rows:
        add(rows, 7, 3)
        add(rows, 0, 7)
        assert rows.runs.tolist() == [0, 3, 7]
        assert rows.missing.tolist() == [1, 2, 4, 5, 6, 8, 9, 10, 11]
    with RowFile(tmp_path / "t.rows", "d", 12) as again:
        assert has_rows(again, 0, 3, 7)
        assert [block.runs.tolist() for block in again.rows(np.array([0, 7]))] == [[7], [0]]


def test_a_file_that_is_cut_anywhere_keeps_its_complete_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.rows"
    with RowFile(path, "d", 30) as rows:
        for first in (20, 0, 10):
            add(rows, *range(first, first + 10))
        whole = table_of(rows, tmp_path / "whole.h5")
    content = path.read_bytes()
    places = random.Random(0).sample(range(len(content)), 40)
    kept = set()
    for place in (0, 1, len(content) - 1, *places):
        path.write_bytes(content[:place])
        lines = [json.loads(line.partition(b" ")[2]) for line in content[:place].split(b"\n")[:-1]]
        complete = sorted(run for line in lines for run in line.get("runs", ()))
        with RowFile(path, "d", 30) as rows:
            assert has_rows(rows, *complete)
            add(rows, *rows.missing.tolist())
            assert table_of(rows, tmp_path / "again.h5") == whole
        kept.add(len(complete))
    assert len(kept) > 5


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.rows"
    with RowFile(path, "d", 4) as rows:
        for run in (0, 1, 3, 2):
            add(rows, run)
    content = bytearray(path.read_bytes())
    content[content.index(b'"runs":[3]') + 8] ^= 1
    path.write_bytes(content)
    with RowFile(path, "d", 4) as rows:
        assert has_rows(rows, 0, 1)


def test_rows_of_another_sweep_are_refused_unless_they_are_discarded(tmp_path: Path) -> None:
    with RowFile(tmp_path / "t.rows", "one", 3) as rows:
        add(rows, 0)
    with pytest.raises(ArgumentError, match="rows of another sweep"):
        RowFile(tmp_path / "t.rows", "two", 3)
    with RowFile(tmp_path / "t.rows", "two", 3, discard=True) as rows:
        assert rows.missing.tolist() == [0, 1, 2]


def test_rows_of_the_same_sweep_are_never_discarded(tmp_path: Path) -> None:
    with RowFile(tmp_path / "t.rows", "one", 2) as rows:
        add(rows, 1)
    with RowFile(tmp_path / "t.rows", "one", 2, discard=True) as rows:
        assert rows.missing.tolist() == [0]


def test_a_first_line_that_is_cut_is_written_again(tmp_path: Path) -> None:
    place = tmp_path / "t.rows"
    place.write_bytes(b'12345678 {"dig')
    with RowFile(place, "one", 2) as rows:
        add(rows, 0)
    with RowFile(place, "one", 2) as rows:
        assert rows.missing.tolist() == [1]


def test_the_table_does_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    tables = set()
    for seed in range(4):
        order = list(range(30))
        random.Random(seed).shuffle(order)
        with RowFile(tmp_path / f"{seed}.rows", "d", 30) as rows:
            for run in order:
                add(rows, run)
            tables.add(table_of(rows, tmp_path / f"{seed}.h5"))
    assert len(tables) == 1


def test_a_table_has_nan_where_a_row_lacks_a_column(tmp_path: Path) -> None:
    with RowFile(tmp_path / "t.rows", "d", 6) as rows:
        add(rows, *range(6))
        table_of(rows, tmp_path / "t.h5")
    table = SweepTable(tmp_path / "t.h5")
    assert is_sweep_table(tmp_path / "t.h5")
    assert table.names == ["run", "k", "w", "status", "reason", "alarms", "a final", "b max"]
    assert table.read("k").tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert table.read("w").tolist() == [f"w{run}" for run in range(6)]
    assert table.read("reason")[4] == "reason 4\u00e4"
    np.testing.assert_equal(table.read("a final"), [0.0, -1 / 3, -2 / 3, 3 / 7, math.nan, -5 / 3])
    assert np.isnan(table.read("b max")).all()
    with pytest.raises(ResultError, match="did you mean `a final`"):
        table.read("a finall")


def test_other_files_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "x.h5").write_text("no HDF5")
    assert not is_sweep_table(tmp_path / "x.h5")
    assert not is_sweep_table(tmp_path / "missing.h5")
    with pytest.raises(ResultError, match="is damaged"):
        SweepTable(tmp_path / "x.h5")
