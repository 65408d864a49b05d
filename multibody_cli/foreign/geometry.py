"""Files of meshes that a model names: packages, folders, and formats."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from multibody_cli.foreign.reading import Reading

PACKAGE = "package://"
MANIFEST = "package.xml"
"""File in the folder of a ROS package."""

MOST_FOLDERS = 20
"""Largest number of folders above a model that are searched for its packages."""


class Found(NamedTuple):
    """The file of a mesh; None with the places that were searched if there is none."""

    file: Path | None
    searched: str


def find_mesh(reading: Reading, name: str) -> Found:
    """Return the file of a mesh.

    Parameters
    ----------
    reading
        The source and the options with the folders of packages.
    name
        `package://NAME/path`, `file://path`, `model://NAME/path`, or a path relative to the source.
    """
    scheme, separator, rest = name.partition("://")
    if separator and scheme in ("package", "model"):
        package, _, inner = rest.partition("/")
        places = [folder / inner for folder in _package_folders(reading, package)]
    else:
        places = [reading.path.parent / (rest if separator else name)]
    for place in places:
        try:
            if place.is_file():
                return Found(place, "")
        except (OSError, ValueError):  # a name that no file can have
            continue
    hint = f"; --package {package}=FOLDER names its folder" if separator and scheme in ("package", "model") else ""
    return Found(None, "searched: " + (", ".join(str(place) for place in places[:3]) or "no folder") + hint)


def _package_folders(reading: Reading, package: str) -> list[Path]:
    """Return the folders that may be those of a package: that of the option, or those near the source."""
    if package in reading.options.packages:
        return [Path(reading.options.packages[package])]
    found = []
    start = reading.path.parent.absolute()
    for folder in (start, *start.parents)[:MOST_FOLDERS]:
        if folder.name == package:
            found.append(folder)
        found.append(folder / package)
    return found
