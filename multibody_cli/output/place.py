"""Where a file shall be written: nothing that is there is lost unless its user says so."""

from __future__ import annotations

from pathlib import Path

from multibody_cli.errors import ArgumentError


def require_replaceable(path: Path, force: bool) -> None:
    """Refuse to write where something is already.

    Parameters
    ----------
    path
        Where the file shall be.
    force
        Whether an existing file may be replaced.

    Raises
    ------
    ArgumentError
        There is a file and `force` is not given, or something that is no file.
    """
    if path.is_dir():
        raise ArgumentError(f"{path} is a folder: give the name of a file with -o")
    if path.exists() and not path.is_file():
        raise ArgumentError(f"{path} is not a file that can be replaced: give the name of one with -o")
    if path.exists() and not force:
        raise ArgumentError(f"{path} exists: give --force to replace it, or another name with -o")
