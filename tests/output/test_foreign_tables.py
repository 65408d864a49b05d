"""Tables of sweeps of unknown origin: a table that `mbsim sweep` cannot have written is refused with the cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from multibody_cli.errors import ResultError
from multibody_cli.output import hdf5_checks
from multibody_cli.output.rows import Column, Row, in_blocks
from multibody_cli.output.sweep_table import KeyValues, SweepTable, write_sweep_table

FINAL = Column("a final", "m", "A.")
COUNT = 6
Change = Callable[[h5py.File], None]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [Row(run, "complete", columns=(FINAL,), values=(run / 7.0,)) for run in range(COUNT)]
    keys = [KeyValues(Column("k", "s"), lambda runs: np.array(runs) * 0.5)]
    lengths = {"status": 8, "reason": 1, "alarms": 1}
    write_sweep_table(
        tmp_path / "t.h5", {"name": "x"}, keys, [FINAL], lengths, np.arange(COUNT), lambda _: in_blocks(rows)
    )
    return tmp_path / "t.h5"


def values(name: str, *found: float) -> Change:
    return lambda file: file[name].write_direct(np.array(found, file[name].dtype))


def another(name: str, **options: Any) -> Change:
    """Replace the dataset of a column."""

    def change(file: h5py.File) -> None:
        about = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, **options).attrs.update(about)

    return change


def attribute(name: str, value: Any, of: str = "/") -> Change:
    return lambda file: file[of].attrs.__setitem__(name, value)


DAMAGES: dict[str, tuple[Change, str]] = {
    "another version": (attribute("format_version", 2), "has format version 2; this mbsim reads 1"),
    "a run twice": (values("run", 0, 1, 1, 3, 4, 5), "run: two rows have the same number"),
    "no order": (values("run", 5, 4, 3, 2, 1, 0), "run: its values decrease"),
    "a negative run": (values("run", -1, 1, 2, 3, 4, 5), "run: its values decrease"),
    "numbers of runs with fractions": (another("run", data=np.arange(6.0)), "run: expected"),
    "no runs": (lambda file: file.pop("run"), "run: is missing"),
    "no status": (lambda file: file.pop("status"), "status: is missing"),
    "a status that is a number": (another("status", data=np.zeros(6)), "status: expected texts of a fixed length"),
    "texts as results": (another("a final", data=[b"x"] * 6, dtype="S1"), "a final: expected"),
    "a result of whole numbers": (another("a final", data=np.arange(6)), "a final: expected"),
    "fewer results": (another("a final", data=np.zeros(5)), "a final: has another number of rows than `run`"),
    "two axes": (another("a final", data=np.zeros((6, 2))), "a final: expected one axis"),
    "a role of another column": (attribute("role", "run", "a final"), "a final: cannot have the role `run`"),
    "an unknown role": (attribute("role", "spare", "a final"), "a final: cannot have the role `spare`"),
    "an outcome without its role": (attribute("role", "key", "status"), "status: cannot have the role `key`"),
    "nothing that is stored": (another("a final", shape=(6,), chunks=(6,), dtype="f8"), "but the file stores only 0"),
    "a list of accepted misses": (attribute("accepted_misses", "[1]"), "`accepted_misses`: expected a JSON list"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_table_is_refused_with_the_cause(table: Path, name: str) -> None:
    assert SweepTable(table).read("a final").tolist() == [run / 7.0 for run in range(COUNT)]
    change, message = DAMAGES[name]
    with h5py.File(table, "r+") as file:
        change(file)
    with pytest.raises(ResultError) as refusal:
        SweepTable(table)
    assert message in str(refusal.value)


def test_runs_are_compared_across_the_parts_that_are_read(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5_checks, "ROWS_AT_ONCE", 2)
    assert SweepTable(table).count == COUNT
    with h5py.File(table, "r+") as file:
        file["run"][:] = [0, 1, 1, 3, 4, 5]
    with pytest.raises(ResultError, match="two rows have the same number"):
        SweepTable(table)


def test_a_column_that_fills_the_memory_is_read_in_parts_only(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(table, "r+") as file:
        another("a final", data=np.zeros(COUNT), chunks=(COUNT,), compression="gzip")(file)
    found = SweepTable(table)
    monkeypatch.setattr(hdf5_checks, "MAX_INFLATION", 8)
    assert found.read("a final", slice(0, 2)).tolist() == [0.0, 0.0]
    with pytest.raises(ResultError, match="read fewer rows"):
        found.read("a final")
