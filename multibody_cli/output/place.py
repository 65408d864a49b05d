"""Protection of existing files against being overwritten."""

from __future__ import annotations

from pathlib import Path

from multibody_cli.errors import ArgumentError


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
