"""Replacement of existing files: only on request, never through a link, and by complete files only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from multibody_cli.errors import ArgumentError, OutputError


def require_replaceable(path: Path, force: bool, option: str = "-o") -> None:
    """Refuse to replace an existing file unless `force` is given.

    Parameters
    ----------
    path
        Path of the file to be written.
    force
        Whether an existing file may be replaced.
    option
        The option that names the file.

    Raises
    ------
    ArgumentError
        The file exists and `force` is not given, or the path is not a regular file.
    """
    if path.is_dir():
        raise ArgumentError(f"{path} is a folder: give the name of a file with {option}")
    if path.exists() and not path.is_file():
        raise ArgumentError(f"{path} is not a file that can be replaced: give the name of one with {option}")
    if path.exists() and not force:
        raise ArgumentError(f"{path} exists: use --force to replace it, or {option} to choose another name")


HDF5_ENDINGS = (".h5", ".hdf5")
"""Suffixes of the files that this program writes as HDF5."""


def require_hdf5_name(path: Path) -> None:
    """Refuse a name that announces another format than HDF5.

    Raises
    ------
    ArgumentError
        The name does not end in one of `HDF5_ENDINGS`.
    """
    if path.suffix not in HDF5_ENDINGS:
        named = path.with_suffix(".h5")
        raise ArgumentError(
            f"{path}: results are written as HDF5, in files *.h5 or *.hdf5: write {named}, and make other files from "
            f"it, as with `mbsim export {named} -o {named.with_suffix('.csv')}`"
        )


def without_links(path: Path) -> Path:
    """Return the target of a symbolic link, which is replaced instead of the link; another path is returned as it is.

    Raises
    ------
    ArgumentError
        The link leads to itself.
    """
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise ArgumentError(f"{path} is a symbolic link that leads to itself: choose another name")
    return target


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file that replaces `path` when the block ends; missing parent folders are created.

    If the block raises an error, the file is removed, and `path` is unchanged.  The target of a link is replaced, and
    not the link.  A path that is no regular file, such as /dev/stdout, is yielded itself.

    Raises
    ------
    ArgumentError
        `path` is a symbolic link that leads to itself.
    OutputError
        The file cannot be written; errors of the system in the block are translated as well.
    """
    target = without_links(path)
    try:
        if target.exists() and not target.is_file():
            yield path
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(target.name + ".new")
        with suppress(FileNotFoundError):
            os.unlink(new)  # of a command that was killed, or a link
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
        try:
            yield new
            synchronize(new)
            if target.exists():
                os.chmod(new, target.stat().st_mode)
            os.replace(new, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(new)
            raise
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another place") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8, or replace it by the whole text.

    Parameters
    ----------
    path
        Path of the file; missing parent folders are created.
    text
        Its content; file names in it may contain bytes that are no valid text.

    Raises
    ------
    OutputError
        The file cannot be written; an older file is unchanged.
    """
    with replacement(path) as new:
        new.write_text(text, encoding="utf-8", errors="backslashreplace")


def synchronize(path: Path) -> None:
    """Write a file or folder to the disk (fsync).

    Raises
    ------
    OSError
        It cannot be written.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
