"""Carried state of a run: all changing data are read and written, and checkpoints are read as they were written."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from multibody_cli.immutable import Immutable
from multibody_cli.output.carried_state import LayoutError, Values, collect, restore
from multibody_cli.output.checkpoint import Checkpoint, checkpoint_path, read_checkpoint, write_checkpoint

PAIR = np.dtype([("force", "f8", 3), ("row", "i8")])


class Color(Enum):
    RED = 1
    BLUE = 2


class Arrays(NamedTuple):
    numbers: np.ndarray
    records: np.ndarray
    constants: np.ndarray
    tolerance: float


class Report(NamedTuple):
    color: Color
    size: tuple[float, float]


class Settings(Immutable):
    table: np.ndarray


class Holder:
    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        constants = generator.standard_normal(2)
        constants.flags.writeable = False
        records = np.zeros(3, PAIR)
        records["force"] = generator.standard_normal((3, 3))
        self.arrays = Arrays(generator.standard_normal((2, 3)), records, constants, 0.5)
        self.shared = self.arrays.numbers
        self.report = Report(list(Color)[seed % 2], (float(seed), float("inf")))
        self.count = seed
        self.last: float | np.ndarray | None = None if seed == 0 else generator.standard_normal(4)
        self.jumps = {"a": (0.1 * seed, 2.0)} if seed else {}
        self.settings = Settings(generator.standard_normal(1))
        self.kernel = len


def as_bytes(values: Values) -> dict[str, object]:
    return {path: value.tobytes() if isinstance(value, np.ndarray) else value for path, value in values.items()}


def test_everything_that_changes_is_restored_in_place() -> None:
    mine, other = Holder(0), Holder(1)
    numbers, constants, table = mine.arrays.numbers, mine.arrays.constants.copy(), mine.settings.table.copy()
    restore({"run": mine}, collect({"run": other}))
    assert mine.arrays.numbers is mine.shared is numbers
    np.testing.assert_array_equal(numbers, other.shared)
    np.testing.assert_array_equal(mine.arrays.records, other.arrays.records)
    np.testing.assert_array_equal(mine.last, other.last)
    assert (mine.report, mine.count) == (other.report, 1)
    assert tuple(mine.jumps["a"]) == (0.1, 2.0)
    np.testing.assert_array_equal(mine.arrays.constants, constants)
    np.testing.assert_array_equal(mine.settings.table, table)


def test_values_of_another_layout_are_refused_before_any_change() -> None:
    mine, values = Holder(0), collect({"run": Holder(1)})
    before = mine.shared.copy()
    with pytest.raises(LayoutError, match="run/arrays/numbers"):
        restore({"run": mine}, values | {"run/arrays/numbers": np.zeros((3, 2))})
    with pytest.raises(LayoutError, match="run/count"):
        restore({"run": mine}, {path: value for path, value in values.items() if path != "run/count"})
    with pytest.raises(LayoutError, match="run/count"):
        restore({"run": mine}, values | {"run/count": "1"})
    np.testing.assert_array_equal(mine.shared, before)


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    values = collect({"run": Holder(1)})
    written = Checkpoint("name: Pöndel\n", "0" * 64, "1.0", "any", 7, {"time": 2**32 - 1}, values, {"k": None})
    write_checkpoint(tmp_path / "run.h5", written)
    read = read_checkpoint(tmp_path / "run.h5")
    assert read is not None
    assert as_bytes(read.values) == as_bytes(values)
    assert (read.scene_yaml, read.instants, read.checksums, read.history) == (
        "name: Pöndel\n",
        7,
        written.checksums,
        {"k": None},
    )
    assert [path.name for path in tmp_path.iterdir()] == [checkpoint_path(tmp_path / "run.h5").name]
    assert read_checkpoint(tmp_path / "other.h5") is None
