"""Mass properties of a body, from what its scene says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from multibody_cli.mass import Floats, MassProperties, summed
from multibody_cli.scene.bodies import BodySpec, InertiaSpec
from multibody_cli.scene.matter import Matter, matter_of
from multibody_cli.scene.rotation_matrix import rotation_matrix


def mass_of(body: BodySpec, file_of: Callable[[str, int], Path]) -> MassProperties:
    """Weigh a body.

    Parameters
    ----------
    body
        As written.  A given inertia stands for itself; otherwise the shapes are summed, with their densities or with
        the given mass spread evenly over their volumes.
    file_of
        Path of the file named by shape k.

    Returns
    -------
    MassProperties
        In the body frame.
    """
    if body.inertia is not None:
        com = np.zeros(3) if body.com is None else np.array(body.com)
        return MassProperties(body.mass or 0.0, com, inertia_matrix(body.inertia))
    solids = [
        (shape, matter_of(shape, file_of(getattr(shape, "file", ""), k)))
        for k, shape in enumerate(body.shapes)
        if shape.HAS_VOLUME
    ]
    volume = sum(matter.volume for _, matter in solids)
    pieces = []
    for shape, matter in solids:
        density = body.mass / volume if body.mass is not None else getattr(shape, "density", None)
        mass = _mass(matter, body.density if density is None else density)
        pieces.append(matter.of_mass(mass).moved(np.array(shape.position), rotation_matrix(shape.rotation)))
    return summed(pieces)


def inertia_matrix(inertia: InertiaSpec) -> Floats:
    """Inertia (3, 3) about the centre of mass in the axes of the body frame, kg m^2."""
    if inertia.principal is None:
        return np.array(inertia.matrix)
    R = rotation_matrix(inertia.rotation)
    return R @ np.diag(inertia.principal) @ R.T


def _mass(matter: Matter, density: float | None) -> float:
    return matter.volume * (density or 0.0)
