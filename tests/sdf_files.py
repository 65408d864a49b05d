"""Texts of SDF files."""

from __future__ import annotations

from pathlib import Path

from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems


def link(name: str, pose: str = "", mass: float = 1.0, inside: str = "") -> str:
    """A link with an inertia in an oblique frame."""
    inertia = "<ixx>0.02</ixx><iyy>0.03</iyy><izz>0.025</izz><ixy>0.001</ixy><ixz>0.002</ixz><iyz>-0.003</iyz>"
    inertial = f"<pose>0.1 -0.05 0.2 0.3 0 0.5</pose><mass>{mass}</mass><inertia>{inertia}</inertia>"
    return f'<link name="{name}"><pose>{pose}</pose><inertial>{inertial}</inertial>{inside}</link>'


def joint(name: str, kind: str, parent: str, child: str, *axes: str, pose: str = "", inside: str = "") -> str:
    """A joint with up to two axes."""
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    shown = "".join(f"<{tag}>{axis}</{tag}>" for tag, axis in zip(("axis", "axis2"), axes, strict=False))
    return f'<joint name="{name}" type="{kind}"><pose>{pose}</pose>{ends}{shown}{inside}</joint>'


def axis(xyz: str, inside: str = "") -> str:
    """The inside of an axis."""
    return f"<xyz>{xyz}</xyz>{inside}"


def model(*inside: str, name: str = "m") -> str:
    """A model."""
    return "\n".join([f'<model name="{name}">', *inside, "</model>"])


def write(folder: Path, *inside: str, name: str = "model.sdf", version: str = "1.10") -> Path:
    """Write a file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f'<sdf version="{version}" xmlns:drake="http://drake.mit.edu">', *inside, "</sdf>"]))
    return path


def read(path: Path, options: Options | None = None) -> Draft:
    """Read a file."""
    return read_model(path, options or Options(), Problems())
