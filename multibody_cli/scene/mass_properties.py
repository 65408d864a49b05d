"""Mass properties of a body from its scene entry."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from multibody_cli.errors import Refused
from multibody_cli.mass import Floats, MassProperties, summed
from multibody_cli.scene.bodies import CENTRED, BodySpec, InertiaSpec
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.spec.rotations import rotation_matrix

_CENTRED = 1e-6
"""Largest distance of the centre of mass from the origin, relative to the radius of gyration, for a centred body."""

_FLAT = 1e-9
"""Smallest second moment, relative to the largest, of a body with volume."""


def mass_properties_of(body: BodySpec, file_of: Callable[[str, int], Path]) -> MassProperties:
    """Compute the mass properties of a body.

    Parameters
    ----------
    body
        Its scene entry. A given inertia overrides the shapes; otherwise the shapes are summed, with their densities or
        with the given mass in proportion to their volumes.
    file_of
        Path of the file named by shape k.

    Returns
    -------
    MassProperties
        In the body frame.

    Raises
    ------
    Refused
        A mesh cannot be used, a body of a kind other than `rigid` is not centred, or a number is too large or too small
        for the mass properties to be computed.
    """
    too_large = Refused("a size or density is too large: mass and inertia are not finite numbers")
    try:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = _mass_properties(body, file_of)
    except OverflowError:  # of a power in Python
        raise too_large from None
    numbers = np.array([found.mass, *found.com, *found.inertia.ravel()])
    if not np.isfinite(numbers).all():
        raise too_large
    return found


def _mass_properties(body: BodySpec, file_of: Callable[[str, int], Path]) -> MassProperties:
    if body.kind == "point" and body.mass is not None:
        return MassProperties(body.mass, np.zeros(3), np.zeros((3, 3)))
    found = _rigid_mass_properties(body, file_of)
    if body.kind in CENTRED:
        _require_centred(body, found)
        found = MassProperties(found.mass, np.zeros(3), np.zeros((3, 3)) if body.kind == "point" else found.inertia)
    if body.kind == "affine":
        _require_moments(found)
    return found


def second_moments(mass: MassProperties) -> tuple[Floats, Floats]:
    """Return the second moments of mass about the centre, (3,) kg m^2, and their axes as columns, (3, 3).

    These are the integrals of x_k^2 dm along the principal axes: P = (tr J / 2) 1 - J for the inertia J.
    """
    J = mass.inertia
    moments, axes = np.linalg.eigh(np.trace(J) / 2.0 * np.eye(3) - J)
    return moments, axes * np.sign(np.linalg.det(axes))


def _require_centred(body: BodySpec, found: MassProperties) -> None:
    size = math.sqrt(np.trace(found.inertia) / found.mass)
    if np.abs(found.com).max() > _CENTRED * size:
        x, y, z = found.com
        raise Refused(
            f"the centre of mass is at [{x:.6g}, {y:.6g}, {z:.6g}]: the frame of a body of kind `{body.kind}` has "
            "its origin there, so place the shapes about the origin"
        )


def _require_moments(found: MassProperties) -> None:
    moments, axes = second_moments(found)
    if moments[0] <= _FLAT * moments[2]:
        axis = axes[:, 0]
        x, y, z = axis * np.sign(axis[np.argmax(np.abs(axis))]) + 0.0
        raise Refused(
            f"an affine body needs a positive second moment of mass along every axis, and has no extent along "
            f"[{x:.3g}, {y:.3g}, {z:.3g}]"
        )


def _rigid_mass_properties(body: BodySpec, file_of: Callable[[str, int], Path]) -> MassProperties:
    """Compute the mass properties of a rigid body."""
    if body.inertia is not None:
        com = np.zeros(3) if body.com is None else np.array(body.com)
        return MassProperties(body.mass or 0.0, com, inertia_matrix(body.inertia))
    if body.mass == 0.0:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    solids = [
        (shape, volume_of(shape, file_of(getattr(shape, "file", ""), k)))
        for k, shape in enumerate(body.shapes)
        if (volume_of := SHAPES[shape.type].volume) is not None and getattr(shape, "density", None) != 0.0
    ]
    volume = sum(solid.volume for _, solid in solids)
    if solids and volume == 0.0:
        raise Refused("the sizes are too small: the volume is zero")
    pieces = []
    for shape, solid in solids:
        density = body.mass / volume if body.mass is not None else getattr(shape, "density", None)
        mass = solid.volume * ((body.density if density is None else density) or 0.0)
        pieces.append(solid.of_mass(mass).moved(np.array(shape.position), rotation_matrix(shape.rotation)))
    return summed(pieces)


def inertia_matrix(inertia: InertiaSpec) -> Floats:
    """Return the inertia (3, 3) about the centre of mass in the axes of the body frame, kg m^2."""
    if inertia.principal is None:
        return np.array(inertia.matrix)
    R = rotation_matrix(inertia.rotation)
    return R @ np.diag(inertia.principal) @ R.T
