"""The store of compiled code reads only files that this user, or somebody who is trusted anyway, has written, and only
whole ones."""

from __future__ import annotations

import os
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from multibody_cli.kernel import cache_root, ownership, store
from multibody_cli.kernel.store import CacheWarning, Code

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and permissions of POSIX")

SYMBOL = "k" + 31 * "0"
CODE = Code(SYMBOL, b"\x7fELF" + bytes(range(256)), ("k1",), ("recipe",), ("k1",), ("f1",), ("sin",), "result", "title")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of the store with code."""
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "_warned", set())
    assert store.keep(CODE)
    yield store.path_of(SYMBOL)
    store._memory.clear()


def found_with_warning() -> tuple[Code | None, str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CacheWarning)
        return store.find(SYMBOL), "".join(str(one.message) for one in caught)


def test_code_is_read_as_it_was_kept(place: Path) -> None:
    assert found_with_warning() == (CODE, "")
    assert stat.S_IMODE(place.stat().st_mode) & 0o022 == 0


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_is_not_read(place: Path, mode: int) -> None:
    place.chmod(mode)
    code, warning = found_with_warning()
    assert code is None
    assert "compiled code is of another user, or others may write to it" in warning
    assert not place.exists()
    assert store.keep(CODE)
    assert store.find(SYMBOL) == CODE


@pytest.mark.skipif(os.name == "posix" and os.getuid() != 0, reason="only root changes the owner of files")
def test_a_file_of_another_user_is_not_read(place: Path) -> None:
    os.chown(place, 54321, 54321)
    code, warning = found_with_warning()
    assert (code, "of another user" in warning) == (None, True)


def test_owners_are_this_user_root_and_the_owner_of_the_package(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = place.stat()
    for owners, is_trusted in (({status.st_uid}, True), ({status.st_uid + 1}, False)):
        monkeypatch.setattr(ownership, "trusted_owners", lambda owners=owners: owners)
        assert ownership.is_trusted(status) == is_trusted
    monkeypatch.undo()
    assert ownership.trusted_owners() == {os.getuid(), 0, Path(ownership.__file__).stat().st_uid}


def test_links_pipes_and_folders_in_place_of_a_file_are_not_read(place: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(place.read_bytes())
    place.unlink()
    place.symlink_to(tmp_path / "other")
    assert store.find(SYMBOL) is None
    place.unlink()
    os.mkfifo(place)
    assert store.find(SYMBOL) is None  # without waiting for a writer
    place.unlink()
    place.mkdir()
    assert store.find(SYMBOL) is None
    with pytest.warns(CacheWarning, match="compiled code cannot be kept"):
        assert not store.keep(CODE)
    assert store.find(SYMBOL) == CODE


def test_a_file_system_without_owners_keeps_code_in_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.unlink()
    monkeypatch.setattr(store, "is_trusted", lambda status: False)
    with pytest.warns(CacheWarning, match="the file system does not keep owners and permissions"):
        assert not store.keep(CODE)
    assert list(place.parent.iterdir()) == []
    assert store.find(SYMBOL) == CODE


def test_waiting_for_another_process_follows_no_link(place: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    with store.lock("other"):
        pass
    (store.folder() / "locks" / SYMBOL).symlink_to(tmp_path / "victim")
    with store.lock(SYMBOL):
        pass
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_use_renews_the_day_of_the_last_use(place: Path) -> None:
    for days, renewed in ((2, True), (0.5, False)):
        old = time.time() - 86400.0 * days
        os.utime(place, (old, old))
        store._memory.clear()
        assert store.find(SYMBOL) == CODE
        assert (place.stat().st_mtime > old + 1.0) == renewed


def test_code_that_a_worker_could_not_write_is_kept_in_memory(place: Path) -> None:
    place.unlink()
    with pytest.warns(CacheWarning, match="compiled code cannot be kept \\(disk full\\)"):
        store.keep_in_memory(CODE, "disk full")
    assert store.find(SYMBOL) == CODE
    assert store.trouble[-1] == "disk full"
    store.trouble.clear()


def test_a_process_that_holds_a_symbol_is_not_waited_for_longer_than_the_limit(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.02)
    with store.lock(SYMBOL):
        start = time.monotonic()
        with store.lock(SYMBOL):
            assert time.monotonic() - start >= 0.02
    assert not list((store.folder() / "locks").glob("*"))


def test_least_recently_used_code_is_removed_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = store.path_of("k" + 31 * "1")
    assert store.write(newer, b"12345")
    old = time.time() - 1000.0
    os.utime(place, (old, old))
    assert store.remove_old(max_bytes=5, max_seconds=1e9) == (1, "")
    assert (place.exists(), newer.exists()) == (False, True)
    assert store.remove_old(max_bytes=5, max_seconds=1e9) == (0, "")

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert store.remove_old(max_bytes=4, max_seconds=1e9) == (0, f"{newer}: Permission denied")


def test_clearing_the_cache_follows_no_links(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "folder"
    other.mkdir(parents=True)
    (other / "precious").write_text("")
    (cache_root() / "x-llvmlite-y").symlink_to(other.parent)
    (store.folder() / "links").symlink_to(other)
    (place.parent / "link").symlink_to(other / "precious")
    store.remove_old(-1)
    assert not place.exists()
    assert (other / "precious").exists()


# --- the folder -----------------------------------------------------------------------------------------------------
@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's cache folder, and a temporary folder."""
    monkeypatch.delenv("MBSIM_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    ownership.own_folder.cache_clear()
    yield tmp_path
    ownership.own_folder.cache_clear()


def test_the_cache_folder_is_private(home: Path) -> None:
    assert cache_root() == home / "user" / "mbsim"
    assert stat.S_IMODE(cache_root().stat().st_mode) == 0o700


def test_a_folder_of_the_user_that_others_may_write_is_closed(home: Path) -> None:
    (home / "user" / "mbsim").mkdir(parents=True)
    (home / "user" / "mbsim").chmod(0o777)
    assert stat.S_IMODE(cache_root().stat().st_mode) == 0o755


def test_a_link_of_the_user_to_another_folder_is_followed(home: Path) -> None:
    (home / "user").mkdir()
    (home / "elsewhere").mkdir()
    (home / "user" / "mbsim").symlink_to(home / "elsewhere")
    assert cache_root() == home / "user" / "mbsim"


@pytest.mark.parametrize("obstacle", ["file", "owner"])
def test_a_folder_that_the_user_does_not_have_alone_is_replaced_by_a_new_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    folder = home / "user" / "mbsim"
    folder.parent.mkdir()
    if obstacle == "file":
        folder.write_text("")
    else:
        folder.mkdir()
        monkeypatch.setattr(os, "getuid", lambda: 54321)
    found = cache_root()
    assert found.parent == home / "tmp"
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    ownership.own_folder.cache_clear()
    again = cache_root()
    assert (again == found) == (obstacle != "owner")  # the new folder is not of the other user either


def test_a_temporary_folder_prepared_by_another_user_is_not_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "user").write_text("no folder")
    planted = home / "tmp" / f"mbsim-{os.getuid()}-0"
    (home / "elsewhere").mkdir()
    planted.symlink_to(home / "elsewhere")
    found = cache_root()
    assert found.parent == home / "tmp"
    assert not found.is_symlink()
    assert found != planted
