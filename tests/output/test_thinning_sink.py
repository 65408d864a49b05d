"""Thinning: every n-th instant and the last, independent of the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import RICH, part_of, record, samples_of

from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.sink import MemorySink, Outcome, ThinningSink
from multibody_cli.output.trajectory import read_trajectory

DONE = Outcome("complete")


@pytest.mark.parametrize("blocks", [1, 3, 10, 24])
@pytest.mark.parametrize(
    ("every", "kept"),
    [(1, list(range(24))), (5, [0, 5, 10, 15, 20, 23]), (23, [0, 23]), (100, [0, 23])],
)
def test_every_nth_instant_and_the_last(tmp_path, blocks, every, kept):
    samples = samples_of(RICH, np.arange(24.0))
    memory = MemorySink()
    record(ThinningSink(memory, every, 23), RICH, samples, DONE, blocks=blocks)
    record(ThinningSink(Hdf5Sink(tmp_path / "a.h5", compact=True), every, 23), RICH, samples, DONE, blocks=blocks)
    for run in (memory.trajectory(), read_trajectory(tmp_path / "a.h5")):
        assert run.time.tolist() == kept
        np.testing.assert_array_equal(run.channel("bodies/position").values, samples.position[kept])


def test_a_run_that_ends_early_keeps_what_it_reached():
    samples = samples_of(RICH, np.arange(24.0))
    memory = MemorySink()
    record(ThinningSink(memory, 5, 23), RICH, part_of(samples, 0, 13), Outcome("diverged"))
    assert memory.trajectory().time.tolist() == [0.0, 5.0, 10.0]
