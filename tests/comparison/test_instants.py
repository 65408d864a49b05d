"""Common instants: each pair of rows occurs once, and slabs of them are of bounded size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from result_files import write_run

from multibody_cli.comparison.compare import compare_files
from multibody_cli.comparison.recording import Instants, common_instants
from multibody_cli.errors import ResultError
from multibody_cli.output.sink import Outcome


class Times:
    """The part of a recording that provides instants."""

    def __init__(self, time):
        self.time = np.asarray(time, float)
        self.instants = len(self.time)

    def read(self, _path, start, stop):
        return self.time[start:stop]


def common(one, other) -> Instants:
    return common_instants(Times(one), Times(other))


def pairs_of(found: Instants) -> list[tuple[int, int]]:
    return [found.pair(number) for number in range(found.number)]


def test_regular_grids_with_different_intervals():
    found = common(0.1 * np.arange(31), 0.15 * np.arange(21))
    assert pairs_of(found) == [(3 * k, 2 * k) for k in range(11)]


def test_round_off_of_summed_steps_is_ignored():
    sums = np.cumsum(np.full(10_000, 1e-3))
    found = common(1e-3 * np.arange(1, 10_001), sums)
    assert pairs_of(found) == [(row, row) for row in range(10_000)]


def test_an_end_off_the_grid_is_left_out():
    assert pairs_of(common([0.0, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.2431])) == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize(("one", "other"), [([], [0.0]), ([0.0], []), ([0.1, 0.3], [0.2, 0.4])])
def test_no_common_instant(one, other):
    assert common(one, other).number == 0


def test_runs_of_one_instant():
    assert pairs_of(common([0.5], [0.5])) == [(0, 0)]


def test_an_instant_that_a_damaged_file_repeats_has_one_partner():
    assert pairs_of(common([0.0, 0.1, 0.1, 0.2], [0.0, 0.1, 0.2])) == [(0, 0), (1, 1), (3, 2)]


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.integers(1, 9))
def test_any_two_irregular_grids(one, other, most):
    first, second = sorted(one), sorted(other)
    expected = [(first.index(tick), second.index(tick)) for tick in sorted(one & other)]
    found = common(0.25 * np.array(first, float), 0.25 * np.array(second, float))
    assert pairs_of(found) == expected
    read = []
    for rows, others in found.slabs(most):
        spans = [taken.stop - taken.start for taken in (rows, others)]
        # rows of a single pair stand for themselves, for any stride
        assert max(spans) <= most or len(rows.which) == 1
        read += zip(rows.start + rows.which, others.start + others.which, strict=True)
    assert read == expected


def test_scattered_instants_need_few_reads():
    kept = np.flatnonzero(np.random.default_rng(0).random(10_000) < 0.5)
    found = common(np.arange(10_000), kept)
    assert found.number == len(kept)
    assert len(list(found.slabs(5000))) <= 3


def test_a_coarser_run_is_compared_where_it_has_instants(tmp_path: Path) -> None:
    fine, coarse = write_run(tmp_path / "a.h5", np.arange(21) / 10), write_run(tmp_path / "b.h5", np.arange(11) / 5)
    for one, other in ((fine, coarse), (coarse, fine)):
        found = compare_files(one, other)
        assert (found.same, found.instants[0]) == (True, 11)
        assert [note for note in found.notes if note.startswith("instants differ: the 11 that both have")]


def test_a_run_that_ends_earlier_is_not_the_same(tmp_path: Path) -> None:
    whole = write_run(tmp_path / "a.h5", np.arange(21) / 10)
    stopped = write_run(
        tmp_path / "b.h5", [*np.arange(8) / 10, 0.7431], outcome=Outcome("interrupted", "stopped on\nrequest", 7)
    )
    found = compare_files(whole, stopped)
    assert not found.same
    assert found.mismatches == (
        "status: complete -> interrupted (stopped on request)",
        "the last instant: 2 s -> 0.7431 s",
    )
    assert not any(finding.differs for finding in found.findings)


def test_as_many_instants_at_other_times_are_a_difference(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a.h5", [0.0, 0.1, 0.2, 0.4])
    other = write_run(tmp_path / "b.h5", [0.0, 0.1, 0.3, 0.4])
    assert compare_files(one, other).mismatches == ("time: 1 of 4 instants are not those of the reference",)


@pytest.mark.parametrize(
    ("time", "said"),
    [([], "none"), ([0.05, 0.15], "2 from 0.05 s to 0.15 s")],
)
def test_runs_without_a_common_instant_are_refused(tmp_path: Path, time: list[float], said: str) -> None:
    one, other = write_run(tmp_path / "a.h5", [0.0, 0.1, 0.2]), write_run(tmp_path / "b.h5", time)
    with pytest.raises(ResultError) as error:
        compare_files(one, other)
    assert str(error.value) == (
        f"{one} and {other} have no output instant in common: 3 from 0 s to 0.2 s against {said}; "
        "run one of them again with the `output.every` of the other"
    )
