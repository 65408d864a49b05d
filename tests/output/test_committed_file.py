"""Files of runs at every system call that changes them: readable, with all blocks, and never through a link."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from fakes import RICH, TOUCHING, header_of, part_of, samples_of

from multibody_cli.errors import ArgumentError, OutputError
from multibody_cli.output import committed_file
from multibody_cli.output.channel import BOUND, CONTACT, INSTANT
from multibody_cli.output.committed_file import CommittedFile
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.sink import Outcome
from multibody_cli.output.trajectory import read_trajectory

TIME = np.linspace(0.0, 2.0, 25)
CHANGES = ("pwrite", "ftruncate", "replace", "link", "unlink")
"""Calls by which a file or a folder changes."""


class Watch:
    """Counts the calls that change a file, and calls a function before each of them."""

    def __init__(self, monkeypatch, before):
        self.calls = 0
        for name in CHANGES:
            monkeypatch.setattr(committed_file.os, name, self._watched(getattr(os, name), before))

    def _watched(self, call, before):
        def watched(*words, **settings):
            self.calls += 1
            before()
            return call(*words, **settings)

        return watched


def require_rows(path, samples, rows):
    """Read a file by h5py, by xarray and as a trajectory: it holds the first rows of all datasets, and no others."""
    contacts = int(samples.contact_count[:rows].sum())
    expected = {INSTANT: rows, BOUND: rows + 1, CONTACT: contacts}
    with h5py.File(path) as file:

        def check(name, node):
            if isinstance(node, h5py.Dataset) and "rtol" in node.attrs:
                assert node.shape[0] == expected[node.attrs.get("per", INSTANT)], name

        file.visititems(check)
    with xarray.open_dataset(path, engine="h5netcdf", group="energy") as energy:
        np.testing.assert_array_equal(energy.kinetic, samples.kinetic[:rows])
    run = read_trajectory(path)
    np.testing.assert_array_equal(run.time, samples.time[:rows])
    np.testing.assert_array_equal(run.channel("bodies/position").values, samples.position[:rows])


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("names", [RICH, TOUCHING], ids=["no contacts", "contacts"])
def test_at_every_call_the_part_holds_every_complete_block(tmp_path, monkeypatch, names, compression):
    samples, part = samples_of(names, TIME, seed=4), tmp_path / "run.h5.part"
    size, complete, seen = 5, [0], {}

    def look():
        """Check the file as a kill would leave it; the same bytes once only."""
        if not part.exists():
            assert complete[0] in (0, 25)  # not begun, or renamed
            return
        data = part.read_bytes()
        rows = seen.setdefault(data, None)
        if rows is None:
            shutil.copyfile(part, tmp_path / "copy.h5")  # without the lock
            rows = seen[data] = read_trajectory(tmp_path / "copy.h5").time.size
            require_rows(tmp_path / "copy.h5", samples, rows)
        assert rows in (complete[0], complete[0] + size)

    watch = Watch(monkeypatch, look)
    sink = Hdf5Sink(tmp_path / "run.h5", compression=compression)
    sink.open(header_of(names, block_rows=10))
    for start in range(0, 25, size):
        complete[0] = start
        sink.write(part_of(samples, start, start + size), size)
    complete[0] = 25
    sink.close(Outcome("complete"))
    assert watch.calls > 500
    assert sorted(rows for rows in seen.values()) == [0, 5, 10, 15, 20, 25, 25]  # the last one with the outcome
    require_rows(tmp_path / "run.h5", samples, 25)
    assert [one.name for one in tmp_path.iterdir() if one.name != "copy.h5"] == ["run.h5"]
