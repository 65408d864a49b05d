"""Protection of existing files: none is overwritten unasked, and none is left half written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from multibody_cli.errors import ArgumentError, OutputError


def require_replaceable(path: Path, force: bool) -> None:
    """Refuse to replace an existing file unless `force` is given.

    Parameters
    ----------
    path
        Path of the file to be written.
    force
        Whether an existing file may be replaced.

    Raises
    ------
    ArgumentError
        The file exists and `force` is not given, or the path is not a regular file.
    """
    if path.is_dir():
        raise ArgumentError(f"{path} is a folder: give the name of a file with -o")
    if path.exists() and not path.is_file():
        raise ArgumentError(f"{path} is not a file that can be replaced: give the name of one with -o")
    if path.exists() and not force:
        raise ArgumentError(f"{path} exists: use --force to replace it, or -o to choose another name")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, and rename it when it is whole; its folder is created.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    path = path.resolve()  # replace the target of a link, not the link
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another place") from error
