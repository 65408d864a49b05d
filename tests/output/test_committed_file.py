"""Files of runs at every system call that changes them: readable, with all blocks, and never through a link."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import time

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
CHANGES = ("pwrite", "copy_file_range", "ftruncate", "replace", "link", "unlink")
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


def test_the_part_is_never_written_through_a_link(tmp_path):
    victim = tmp_path / "victim"
    for ending in ("part", "part.new", "part.old", "ckpt.new"):
        victim.write_text("precious")
        link = tmp_path / f"run.h5.{ending}"
        link.symlink_to(victim)
        sink = Hdf5Sink(tmp_path / "run.h5", force=True)
        sink.open(header_of(RICH))
        sink.write(samples_of(RICH, TIME), 25)
        sink.checkpoint({})
        sink.close(Outcome("complete"))
        assert victim.read_text() == "precious"
        assert not (tmp_path / "run.h5").is_symlink()
        assert read_trajectory(tmp_path / "run.h5").time.size == 25
        assert not link.is_symlink()


def test_a_link_that_appears_before_the_file_is_created_is_not_followed(tmp_path, monkeypatch):
    victim, new = tmp_path / "victim", tmp_path / "run.h5.part.new"
    victim.write_text("precious")

    def unlink(_path):
        if not new.is_symlink():
            new.symlink_to(victim)

    monkeypatch.setattr(committed_file.os, "unlink", unlink)
    with pytest.raises(BlockingIOError):
        CommittedFile(tmp_path / "run.h5.part")
    assert victim.read_text() == "precious"


def test_the_part_of_a_killed_run_is_replaced_on_request_only(tmp_path):
    part = tmp_path / "run.h5.part"
    part.write_text("rows of a killed run")
    with pytest.raises(ArgumentError, match=r"exists, from a run that was killed: `mbsim run --resume .*run\.h5` cont"):
        Hdf5Sink(tmp_path / "run.h5")
    assert part.read_text() == "rows of a killed run"
    sink = Hdf5Sink(tmp_path / "run.h5", force=True)
    sink.open(header_of(RICH))
    sink.close(Outcome("complete"))
    assert not part.exists()


def test_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "loop.h5").symlink_to("loop.h5")
    (tmp_path / "folder").symlink_to("folder")
    with pytest.raises(ArgumentError, match=r"loop\.h5 is a symbolic link that leads to itself"):
        Hdf5Sink(tmp_path / "loop.h5")
    with pytest.raises(OutputError, match="a broken link, not a folder: choose another place with -o"):
        Hdf5Sink(tmp_path / "folder" / "run.h5").open(header_of(RICH))


def test_a_new_run_replaces_what_a_killed_one_left(tmp_path):
    for ending in ("part.new", "part.old"):
        (tmp_path / f"run.h5.{ending}").write_text("rest")
    sink = Hdf5Sink(tmp_path / "run.h5")
    sink.open(header_of(RICH))
    sink.write(samples_of(RICH, TIME), 25)
    sink.close(Outcome("complete"))
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


def test_of_two_writers_the_second_is_refused_at_every_call_of_the_first(tmp_path, monkeypatch):
    path, attempts = tmp_path / "run.h5.part", []

    def try_to_write():
        attempts.append(path.exists())
        with pytest.raises(BlockingIOError):
            CommittedFile(path)

    first = CommittedFile(path)
    for name in ("pwrite", "replace", "link"):
        real = getattr(os, name)
        monkeypatch.setattr(committed_file.os, name, lambda *w, c=real, **s: (try_to_write(), c(*w, **s))[1])
    for _ in range(4):
        first.write(b"rows")
        first.commit()
        try_to_write()
    assert attempts.count(False) == 2  # before the first commit
    assert path.read_bytes() == b"rows" * 4


def test_a_system_without_hard_links_is_written_all_the_same(tmp_path, monkeypatch):
    def refuse(*_words, **_settings):
        raise PermissionError

    monkeypatch.setattr(committed_file.os, "link", refuse)
    sink = Hdf5Sink(tmp_path / "run.h5")
    sink.open(header_of(RICH))
    for start in range(0, 25, 5):
        sink.write(part_of(samples_of(RICH, TIME), start, start + 5), 5)
        assert (tmp_path / "run.h5.part").exists()
    sink.close(Outcome("complete"))
    assert read_trajectory(tmp_path / "run.h5").time.size == 25


def test_writes_that_wait_are_seen_by_every_other_call(tmp_path, monkeypatch):
    """Random calls, with writes that continue the last one or are longer than waiting data may be, and an array."""
    monkeypatch.setattr(committed_file, "PIECE", 64)
    rng, file, model, committed = random.Random(1), CommittedFile(tmp_path / "run.h5.part"), bytearray(), b""
    for _ in range(3000):
        kind = rng.choice(["continue", "continue", "continue", "write", "read", "truncate", "end", "commit"])
        if kind in ("continue", "write"):
            if kind == "write":
                file.seek(rng.randrange(len(model) + 1))
            start, data = file.seek(0, os.SEEK_CUR), rng.randbytes(rng.choice([0, 1, 7, 30, 64, 65, 200]))
            assert file.write(data) == len(data)
            model[start : start + len(data)] = data
        elif kind == "read":
            start, data = rng.randrange(len(model) + 1), bytearray(rng.randrange(100))
            file.seek(start)
            file.readinto(data)
            assert data == model[start : start + len(data)].ljust(len(data), b"\0")
            file.seek(len(model))
        elif kind == "truncate":
            size = rng.randrange(max(0, len(model) - 20), len(model) + 1)
            file.truncate(size)
            del model[size:]
            file.seek(size)
        elif kind == "end":
            assert file.seek(0, os.SEEK_END) == len(model)
        else:
            file.commit()
            committed = bytes(model)
        if committed:
            assert (tmp_path / "run.h5.part").read_bytes() == committed
    file.finish(tmp_path / "run.h5")
    assert (tmp_path / "run.h5").read_bytes() == model


@pytest.mark.parametrize("refusal", [OSError(errno.EXDEV, "not here"), None], ids=["refused", "missing"])
def test_a_system_that_does_not_copy_ranges_is_written_all_the_same(tmp_path, monkeypatch, refusal):
    def refuse(*_words, **_settings):
        raise refusal

    if refusal:
        monkeypatch.setattr(committed_file.os, "copy_file_range", refuse)
    else:
        monkeypatch.delattr(committed_file.os, "copy_file_range")
    monkeypatch.setattr(committed_file, "PIECE", 3)
    file = CommittedFile(tmp_path / "run.h5.part")
    for number in range(4):
        file.seek(5 * number)
        file.write(b"rows ")
        file.commit()
        assert (tmp_path / "run.h5.part").read_bytes() == b"rows " * (number + 1)
    file.close()


def test_a_committed_copy_that_is_shorter_than_its_size_ends_the_run(tmp_path, monkeypatch):
    """A file that something else has shortened: its missing bytes are not waited for."""
    file = CommittedFile(tmp_path / "run.h5.part")
    monkeypatch.setattr(committed_file.os, "copy_file_range", lambda *_words: 0)
    monkeypatch.setattr(committed_file.os, "pread", lambda *_words: b"")
    file.write(b"rows")
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        file.commit()
    file.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", [0, 1, 50, 400, 500, 600, 700])
def test_a_failed_call_ends_the_run_in_one_line_with_all_earlier_blocks(tmp_path, monkeypatch, number, call):
    """The system refuses every call from the given one on."""
    calls, complete = [0], [0]

    def fail():
        calls[0] += 1
        if calls[0] > call:
            raise OSError(number, os.strerror(number))

    for name in ("pwrite", "copy_file_range", "ftruncate"):
        real = getattr(os, name)
        monkeypatch.setattr(committed_file.os, name, lambda *w, c=real: (fail(), c(*w))[1])
    samples = samples_of(TOUCHING, TIME)
    sink = Hdf5Sink(tmp_path / "run.h5")

    def run():
        sink.open(header_of(TOUCHING, block_rows=10))
        for start in range(0, 25, 5):
            complete[0] = start
            sink.write(part_of(samples, start, start + 5), 5)
        complete[0] = 25
        sink.close(Outcome("complete"))

    with pytest.raises(OutputError, match=r"cannot write .*run\.h5\.part: ") as caught:
        run()
    assert "\n" not in str(caught.value)
    assert {errno.ENOSPC: "the disk is full", errno.EDQUOT: "quota", errno.EIO: "Input/output error"}[number] in str(
        caught.value
    )
    assert not (tmp_path / "run.h5").exists()
    left = [one.name for one in tmp_path.iterdir()]
    assert left == (["run.h5.part"] if call >= 400 else [])
    if left:
        rows = read_trajectory(tmp_path / "run.h5.part").time.size
        assert rows in (complete[0], complete[0] + 5)
        require_rows(tmp_path / "run.h5.part", samples, rows)


@pytest.mark.parametrize("kills", [20, pytest.param(500, marks=pytest.mark.nightly)])
def test_a_process_that_is_killed_at_any_instant_leaves_every_complete_block(tmp_path, kills):
    generator, found = random.Random(kills), []
    for number in range(kills):
        folder, names = tmp_path / str(number), (RICH, TOUCHING)[number % 2]
        folder.mkdir()
        samples = samples_of(names, TIME)
        wait = generator.randrange(6), generator.uniform(0.0, 0.02)
        blocks = killed_after(*wait, folder / "run.h5", names, samples)
        part = folder / "run.h5.part"
        if part.exists():
            rows = read_trajectory(part).time.size
            require_rows(part, samples, rows)
            found.append(rows)
            assert rows in (5 * blocks, 5 * blocks + 5)
        else:
            assert blocks in (0, 5)
            assert (folder / "run.h5").exists() == (blocks == 5)
    assert len(set(found)) > 1  # runs were killed at various blocks; on a busy machine the later ones finish


def killed_after(blocks, seconds, path, names, samples):
    """Kill a process that writes a run, after some blocks and some time; return the number of blocks that it wrote."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        sink = Hdf5Sink(path, compression="gzip")
        sink.open(header_of(names, block_rows=10))
        for start in range(0, 25, 5):
            sink.write(part_of(samples, start, start + 5), 5)
            os.write(send, b"b")
        sink.close(Outcome("complete"))
        os._exit(0)
    os.close(send)
    with open(receive, "rb") as pipe:
        written = pipe.read(blocks)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return len(written + pipe.read())
