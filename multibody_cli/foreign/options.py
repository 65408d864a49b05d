"""Choices of the user for an import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from multibody_cli.immutable import Immutable


class Options(Immutable):
    """Choices of the user; the defaults are those of the verbs that run a model directly.

    Parameters
    ----------
    merge
        Which links that a fixed joint connects become one body: `frames`, those without mass; `all`; `none`.
    density
        Density of the shapes of bodies without inertia, kg/m^3; None leaves them without.
    repair
        Whether an inertia that no body has is replaced by the nearest possible one.
    decompose
        Whether meshes that are not convex are decomposed into convex parts, instead of replaced by their hull.
    angles
        Whether balls and free joints of OpenSim have the angles of the file as coordinates, instead of quaternions.
    packages
        Folders of packages by name, for meshes `package://NAME/...`.
    base
        Whether root bodies are `fixed` to the world or `free`; None follows the file: fixed without mass, else free.
    arguments
        Arguments of macros by name.
    floor
        Distance of a floor from the lowest point at the start, m; None for no floor.
    strict
        Whether losses are errors.
    """

    merge: Literal["frames", "all", "none"] = "frames"
    density: float | None = None
    repair: bool = False
    decompose: bool = False
    angles: bool = False
    packages: Mapping[str, Path] = {}
    arguments: Mapping[str, str] = {}
    base: Literal["fixed", "free"] | None = None
    floor: float | None = None
    strict: bool = False
