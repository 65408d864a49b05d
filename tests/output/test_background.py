"""Blocks that are written in a thread of their own: the same bytes, errors at the next call, and no waiting."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest
from fakes import RICH, NullSink, header_of, part_of, record, samples_of

from multibody_cli.errors import OutputError
from multibody_cli.output.hdf5 import BackgroundSink, Hdf5Sink
from multibody_cli.output.sink import Outcome
from multibody_cli.output.trajectory import read_trajectory

TIME = np.linspace(0.0, 2.0, 25)
DONE = Outcome("complete", "", 24)


@pytest.mark.parametrize("size", [25, 10, 7, 1])
def test_bytes_are_those_of_the_sink_alone(tmp_path, size):
    alone, background = tmp_path / "alone.h5", tmp_path / "background.h5"
    record(Hdf5Sink(alone), RICH, samples_of(RICH, TIME), DONE, blocks=size, block_rows=10)
    record(BackgroundSink(Hdf5Sink(background)), RICH, samples_of(RICH, TIME), DONE, blocks=size, block_rows=10)
    assert background.read_bytes() == alone.read_bytes()


class Slow(NullSink):
    """Does not write before it is allowed to."""

    def __init__(self):
        self.allowed, self.sums = Event(), []

    def write(self, samples, count):
        assert self.allowed.wait(10.0)
        self.sums.append(float(samples.time[:count].sum()))

    def checkpoint(self, values):
        self.sums.append("checkpoint")


def test_the_caller_goes_on_while_a_block_is_written_and_waits_before_the_next_call():
    slow, samples = Slow(), samples_of(RICH, TIME)
    sink = BackgroundSink(slow)
    sink.open(header_of(RICH))
    sink.write(part_of(samples, 0, 10), 10)  # returns, although the block is not written
    assert slow.sums == []
    slow.allowed.set()
    sink.checkpoint({})
    sink.write(part_of(samples, 10, 25), 15)
    sink.close(DONE)
    assert slow.sums == [TIME[:10].sum(), "checkpoint", TIME[10:].sum()]


@pytest.mark.parametrize("call", ["write", "checkpoint", "close"])
def test_an_error_is_raised_by_the_next_call_and_the_older_file_is_kept(tmp_path, monkeypatch, call):
    (tmp_path / "run.h5").write_text("old")
    samples, file = samples_of(RICH, TIME), Hdf5Sink(tmp_path / "run.h5", force=True)
    sink = BackgroundSink(file)
    sink.open(header_of(RICH, block_rows=10))
    sink.write(part_of(samples, 0, 10), 10)
    sink._wait()

    def fail():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file._storage, "commit", fail)
    sink.write(part_of(samples, 10, 20), 10)
    calls = {
        "write": lambda: sink.write(part_of(samples, 20, 25), 5),
        "checkpoint": lambda: sink.checkpoint({}),
        "close": lambda: sink.close(DONE),
    }
    with pytest.raises(OutputError, match="the disk is full: free some space"):
        calls[call]()
    sink.close(None)
    assert (tmp_path / "run.h5").read_text() == "old"
    assert read_trajectory(tmp_path / "run.h5.part").time.size == 10


def test_numbers_that_are_not_finite_are_written_without_a_warning(tmp_path):
    samples = samples_of(RICH, TIME)
    samples.quaternion[3] = np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        record(BackgroundSink(Hdf5Sink(tmp_path / "run.h5")), RICH, samples, DONE)
    assert read_trajectory(tmp_path / "run.h5").time.size == len(TIME)
