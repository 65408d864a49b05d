"""Meshes that a model names: their files in packages and folders, and their convex shapes in contacts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from multibody_cli.foreign.draft import Shape
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.meshes import FORMATS
from multibody_cli.nodes import Mark, refusal

MANIFEST = "package.xml"
"""File in the folder of a ROS package."""

_NAME = re.compile(r"<name>\s*([\w-]+)\s*</name>")

MOST_OF_A_MANIFEST = 100_000
"""Number of characters of a manifest that are read."""
MOST_FOLDERS = 20
"""Largest number of folders above a model that are searched for its packages."""


class FoundFile(NamedTuple):
    """A file or folder; None with the reason if there is none."""

    file: Path | None
    reason: str = ""


def refuse_mesh(path: Path) -> None:
    """Raise a `SceneError` if a file that should be a model is a mesh, by its suffix."""
    if path.suffix.lower() in FORMATS:
        part = f"bodies: {{part: {{density: 1000, shapes: [{{type: mesh, file: {path.name}}}]}}}}"
        raise refusal(Mark(str(path)), f"a mesh is no model, but a shape of a body: a scene has it as `{part}`")


def find_mesh(reading: Reading, element: Element, *names: str) -> Path | None:
    """Return the first file of a mesh with one of the names; without one, the element is dropped, and None is returned.

    Parameters
    ----------
    reading
        The source and the options with the folders of packages.
    element
        The element that names the mesh.
    names
        Each `package://NAME/path`, `file://path`, `model://NAME/path`, or a path relative to the source.
    """
    if Path(names[0]).suffix.lower() not in FORMATS:
        reading.ledger.drop(element, f"`{names[0]}` is no file {', '.join(FORMATS)}")
        return None
    for name in names:
        found = find_path(reading, name, Path.is_file)
        if found.file is not None:
            return found.file
    reading.ledger.drop(element, found.reason)
    reading.ledger.missing.append(names[0])
    return None


def find_path(reading: Reading, name: str, accepts: Callable[[Path], bool]) -> FoundFile:
    """Return the first place that a name may mean, see `find_mesh`, and that is accepted."""
    scheme, separator, rest = name.partition("://")
    if separator and scheme in ("package", "model"):
        package, _, inner = rest.partition("/")
        searched = _package_folders(reading, package)
        given = package in reading.options.packages
        places = [folder / inner for folder in searched] + ([] if given else _moved(reading, inner))
        hint = f" in the folder of --package {package}" if given else f"; --package {package}=FOLDER names its folder"
    else:
        places, hint = [reading.path.parent / (rest if separator else name)], ""
        searched = places
    for place in places:
        try:
            if accepts(place):
                return FoundFile(place)
        except (OSError, ValueError):  # a name that no file can have
            continue
    return FoundFile(None, f"no such file; searched: {', '.join(map(str, searched[:3]))}{hint}")


def scale_of(x: float, y: float, z: float) -> dict[str, Any]:
    """Return the `scale` of a mesh with units x, y, z; empty if it is 1."""
    if x == y == z and x > 0.0:
        return {} if x == 1.0 else {"scale": x}
    return {"scale": [x, y, z]}


def contact_by_convex_shapes(reading: Reading, element: Element, shape: Shape) -> None:
    """Let a mesh have contacts by its convex hull, or by convex parts, and note it in the ledger."""
    shape.element = element
    if reading.options.decompose:
        shape.fields["decompose"] = True
        reading.ledger.approximate(element, "in contacts, by convex parts of it")
    else:
        shape.fields["hull"] = True
        reading.ledger.approximate(element, "in contacts, by its convex hull")


def _package_folders(reading: Reading, package: str) -> list[Path]:
    """Return the folders that may be those of a package: that of the option, or those near the source."""
    if package in reading.options.packages:
        return [Path(reading.options.packages[package])]
    found = []
    for folder in _folders_above(reading):
        if folder.name == package or _package_in(folder) == package:
            found.append(folder)
        found.append(folder / package)
    return found


def _folders_above(reading: Reading) -> Sequence[Path]:
    """Return the folder of the source, and those above it."""
    start = reading.path.parent.absolute()
    return (start, *start.parents)[:MOST_FOLDERS]


def _moved(reading: Reading, inner: str) -> list[Path]:
    """Return places of a file of a package of which a part was copied: in a folder above the source that it names."""
    parts = PurePosixPath(inner).parts
    return [
        folder.joinpath(*parts[parts.index(folder.name) + 1 :])
        for folder in _folders_above(reading)
        if folder.name in parts[:-1]
    ]


def _package_in(folder: Path) -> str:
    """Return the name that the manifest of a ROS package in a folder has; empty without one."""
    try:
        with (folder / MANIFEST).open(encoding="utf-8", errors="replace") as file:
            name = _NAME.search(file.read(MOST_OF_A_MANIFEST))
    except OSError:
        return ""
    return name[1] if name else ""
