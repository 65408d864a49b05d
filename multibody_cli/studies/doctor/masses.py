"""Mass ratios, and values whose unit looks wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from multibody_cli.joints import JOINTS
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.subject import Subject

LARGE_RATIO = 1e4
"""Mass ratio of two connected bodies that is reported."""

PLAUSIBLE_MASS = (1e-6, 1e6)
"""kg"""

PLAUSIBLE_SIZE = (1e-5, 250.0)
"""Radius of a shape, m."""

PLAUSIBLE_DENSITY = (0.1, 1e5)
"""kg/m^3; wrong units differ by factors of 1000 or more."""

STRONG_GRAVITY = 300.0
"""m/s^2: more than on the Sun."""


def largest_mass_ratio(subject: Subject) -> tuple[float, str, str] | None:
    """Return the largest mass ratio of bodies that a joint connects, with the heavy and the light body."""
    masses, found = subject.simulation.compiled.masses, []
    for joint in subject.scene.joints.values():
        if joint.parent == WORLD:
            continue
        heavy, light = sorted((joint.parent, joint.child), key=lambda name: -masses[name].mass)
        if masses[light].mass > 0.0:
            found.append((masses[heavy].mass / masses[light].mass, heavy, light))
    return max(found, default=None)


def find_mass_ratios(subject: Subject) -> Iterator[Finding]:
    """Report a large mass ratio of connected bodies."""
    largest = largest_mass_ratio(subject)
    if largest and largest[0] > LARGE_RATIO:
        ratio, heavy, light = largest
        cause = f"is {ratio:.3g} times lighter than `{heavy}`, to which a joint connects it"
        advice = "check the units of both masses; if they are right, connect the heavy bodies directly or use `aba`"
        yield subject.finding("mass ratios", Weight.REMARK, ("bodies", light), cause, advice)


def find_units(subject: Subject) -> Iterator[Finding]:
    """Report values that look like those of another unit."""
    gravity = math.hypot(*subject.scene.gravity)
    if gravity > STRONG_GRAVITY:
        yield _odd(subject, ("gravity",), f"is {gravity:.4g} m/s^2", f"`{gravity:g} mm/s^2` if that is the unit")
    for name, mass in subject.simulation.compiled.masses.items():
        place = ("bodies", name)
        if mass.mass > 0.0 and not PLAUSIBLE_MASS[0] <= mass.mass <= PLAUSIBLE_MASS[1]:
            yield _odd(subject, place, f"has a mass of {mass.mass:.4g} kg", "the mass with its unit, as in `250 g`")
        yield from _shapes(subject, name, mass.mass)
    yield from _angles(subject)


def _shapes(subject: Subject, name: str, mass: float) -> Iterator[Finding]:
    shapes, volume = subject.scene.bodies[name].shapes, 0.0
    for k, shape in enumerate(shapes):
        file = subject.simulation.loaded.resolve_path(getattr(shape, "file", ""), "bodies", name, "shapes", k)
        kind, radius = SHAPES[shape.type], math.nan
        volume += kind.volume(shape, file).volume if kind.volume else 0.0
        if kind.mesh is not None:  # which need not be convex
            radius = float(np.linalg.norm(kind.mesh(shape, file).vertices, axis=1).max())
        elif kind.form is not None:
            radius = kind.form(shape, file).bounding_radius
        if math.isfinite(radius) and not PLAUSIBLE_SIZE[0] <= radius <= PLAUSIBLE_SIZE[1]:
            cause = f"has a radius of {radius:.4g} m"
            yield _odd(subject, ("bodies", name, "shapes", k), cause, "lengths with their unit, as in `40 mm`")
    if volume > 0.0 and mass > 0.0 and not PLAUSIBLE_DENSITY[0] <= mass / volume <= PLAUSIBLE_DENSITY[1]:
        cause = f"has a mean density of {mass / volume:.4g} kg/m^3: {mass:.4g} kg in {volume:.4g} m^3"
        yield _odd(subject, ("bodies", name), cause, "mass and lengths with their units, as in `250 g` and `40 mm`")


def _angles(subject: Subject) -> Iterator[Finding]:
    for entry in subject.simulation.compiled.model.names.joints:
        joint = subject.scene.joints[entry.name]
        if "q" not in joint.model_fields_set or not all(joint.plain):
            continue
        for kind, value in zip(entry.coordinates, JOINTS[joint.type].start(joint).q, strict=True):
            if kind is Coordinate.ANGLE and abs(value) > 2.0 * math.pi and np.isclose(value, round(value), atol=1e-9):
                cause = f"is {value:g} rad, more than a revolution"
                yield _odd(subject, ("joints", entry.name, "q"), cause, f"`{value:g} deg` if these are degrees")


def _odd(subject: Subject, place: tuple[str | int, ...], cause: str, form: str) -> Finding:
    return subject.finding("units", Weight.WRONG, place, cause, f"write {form}")
