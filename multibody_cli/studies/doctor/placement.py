"""Bodies that overlap without contacts or that nothing holds, inertias, mass ratios, and units that look wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from multibody_cli.alarms.catalogue import OVERLAP
from multibody_cli.contacts.forms import geometry_of
from multibody_cli.errors import Refused, listed
from multibody_cli.initial.overlap import overlap_depths
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.spec import WORLD
from multibody_cli.mass import objection_to
from multibody_cli.nodes import NodePath
from multibody_cli.packing.contacts import colliders_of
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.scene.contact_filters import excluded_pairs
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.schema import SceneSpec, between_bodies
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.spec.entries import BodyForceSpec
from multibody_cli.studies.doctor.subject import Finding, Severity, Subject

MAX_PAIRS = 3
"""Largest number of overlapping pairs, or of bodies, that a finding lists."""


def find_overlaps(subject: Subject) -> Iterator[Finding]:
    """Report bodies that overlap at the start, with contacts those that are excluded for it."""
    for alarm in subject.simulation.compiled.alarms:
        if alarm.name == OVERLAP:
            yield subject.finding("overlap", Severity.REMARK, ("contacts", "overlap"), alarm.message, str(alarm.remedy))
    if subject.scene.contacts is not None or not any(body.shapes for body in subject.scene.bodies.values()):
        return
    model, state = subject.start
    names, tree, settings = (WORLD, *model.names.bodies), model.system.tree, ContactsSpec()
    rows = {WORLD: 0} | dict(zip(model.names.bodies, model.names.body_rows.tolist(), strict=True))
    frames = {
        row: Placement(frame["origin"], np.array(frame["frame"]).reshape(3, 3).T)
        for row, frame in enumerate(tree.frames)
    }
    excluded = [(rows[a], rows[b]) for a, b in excluded_pairs(subject.scene, settings)]
    try:
        colliders = list(colliders_of(subject.simulation.loaded, settings, rows, frames))
    except Refused:  # contacts with a mesh that is not convex are not supported
        return
    depths = overlap_depths(geometry_of(colliders, excluded), model, state)
    if not depths:
        return
    order = sorted(depths, key=lambda pair: -depths[pair][0])
    words = [f"`{names[a]}` and `{names[b]}` by {depths[a, b][0]:.3g} m" for a, b in order]
    cause = (
        f"overlap at the start without a joint between them: {listed(words, MAX_PAIRS, 'pairs')}; contacts are disabled"
    )
    advice = "move them apart if they are solid, and write `contacts: {}`; otherwise nothing is wrong"
    yield subject.finding("overlap", Severity.REMARK, ("bodies",), cause, advice)


def find_floating(subject: Subject) -> Iterator[Finding]:
    """Report bodies that nothing connects to the world, in a scene with gravity and without contacts.

    A body with an initial velocity is meant to fly.
    """
    scene = subject.scene
    if scene.contacts is not None or not any(scene.gravity):
        return
    connected = _connected(scene)
    floating = [
        name for name, body in scene.bodies.items() if name not in connected and "velocity" not in body.model_fields_set
    ]
    if floating:
        words = listed([f"`{name}`" for name in floating], MAX_PAIRS)
        bodies, it = (f"bodies {words} fall", "them") if len(floating) > 1 else (f"body {words} falls", "it")
        fall = 0.5 * float(np.linalg.norm(scene.gravity)) * scene.simulation.duration**2
        cause = f"{bodies} freely, by {fall:.3g} m in this run, since no joint, force or constraint holds {it}"
        advice = f"connect {it} to the world to prevent this, or write `gravity: [0, 0, 0]`"
        yield subject.finding("floating bodies", Severity.REMARK, ("bodies", floating[0]), cause, advice)


def _connected(scene: SceneSpec) -> set[str]:
    """Return the world and the bodies that joints, constraints or forces connect to it, or that carry a load."""
    groups = [{joint.parent, joint.child} for joint in scene.joints.values()]
    elements = [entry for _, entries in between_bodies(scene) for entry in entries.values()]
    groups += [{body for _, body in entry.bodies} for entry in elements]
    groups += [
        {WORLD, *(body for _, body in spec.bodies)} if len(spec.bodies) == 1 else {body for _, body in spec.bodies}
        for spec in scene.constraints.values()
    ]
    groups += [{WORLD, force.body} for force in scene.forces.values() if isinstance(force, BodyForceSpec)]
    found, before = {WORLD}, 0
    while len(found) > before:
        before = len(found)
        found |= {name for group in groups if group & found for name in group}
    return found


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
        yield subject.finding("mass ratios", Severity.REMARK, ("bodies", light), cause, advice)


def find_inertias(subject: Subject) -> Iterator[Finding]:
    """Report inertias that no body has; those that make the mass matrix singular or indefinite are refused."""
    for name, mass in subject.simulation.compiled.masses.items():
        if objection := objection_to(mass):
            cause = f"is one that no body has: {objection}"
            advice = "check that the moments are about the center of mass, and the signs of products of inertia"
            yield subject.finding("inertias", Severity.WRONG, ("bodies", name, "inertia"), cause, advice)


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


def _odd(subject: Subject, place: NodePath, cause: str, form: str) -> Finding:
    return subject.finding("units", Severity.WRONG, place, cause, f"write {form}")
