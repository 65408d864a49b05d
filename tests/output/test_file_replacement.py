"""Files are replaced by whole ones: a failure leaves neither a part of a file nor a changed one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from multibody_cli.errors import ArgumentError, OutputError
from multibody_cli.output.file_replacement import replacement, without_links, write_text


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("old", ["old", None])
def test_a_failure_leaves_the_older_file_and_no_other(tmp_path, monkeypatch, error, old):
    path = tmp_path / "report.md"
    if old is not None:
        path.write_text(old)

    def fail(self, *_words, **_settings):
        self.write_bytes(b"a part")
        raise error

    monkeypatch.setattr(Path, "write_text", fail)
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else OutputError
    with pytest.raises(expected) as caught:
        write_text(path, "new")
    monkeypatch.undo()
    if expected is OutputError:
        assert str(caught.value) == f"cannot write {path}: No space left on device; choose another place"
    assert [one.name for one in tmp_path.iterdir()] == ([] if old is None else ["report.md"])
    assert old is None or path.read_text() == old


def test_the_target_of_a_link_is_replaced_and_keeps_its_mode(tmp_path):
    target, link, new = tmp_path / "target", tmp_path / "link", tmp_path / "target.new"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    (tmp_path / "victim").write_text("precious")
    new.symlink_to(tmp_path / "victim")
    write_text(link, "new")
    assert (target.read_text(), link.is_symlink(), new.exists()) == ("new", True, False)
    assert (tmp_path / "victim").read_text() == "precious"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_of_the_process(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new" / "report.md", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / "report.md").stat().st_mode) == 0o640


def test_what_is_no_regular_file_is_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


def test_a_loop_of_links_and_a_missing_permission_are_one_line(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ArgumentError, match="leads to itself"):
        without_links(tmp_path / "loop")
    with (
        pytest.raises(OutputError, match=r"^cannot write .*: Not a directory; choose another place$"),
        replacement(tmp_path / "file" / "report.md") as new,
    ):
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", new)
