"""Bodies that overlap although contacts are disabled, and bodies that nothing connects to the world."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.contacts.forms import geometry_of
from multibody_cli.errors import Refused
from multibody_cli.forces.spec import BodyForceSpec
from multibody_cli.initial.overlap import overlap_depths
from multibody_cli.joints.spec import WORLD
from multibody_cli.packing.contacts import colliders_of, excluded_pairs
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.links import Placement
from multibody_cli.scene.schema import Scene, between_bodies
from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.subject import Subject

MAX_PAIRS = 3
"""Largest number of overlapping pairs, or of bodies, that a finding lists."""


def find_overlaps(subject: Subject) -> Iterator[Finding]:
    """Report bodies that overlap at the start in a scene without contacts; those with contacts are refused."""
    if (
        subject.scene.contacts is not None
        or subject.start is None
        or not any(body.shapes for body in subject.scene.bodies.values())
    ):
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
    order = sorted(depths, key=lambda pair: -depths[pair])
    words = [f"`{names[a]}` and `{names[b]}` by {depths[a, b]:.3g} m" for a, b in order[:MAX_PAIRS]]
    more = f" and {len(order) - MAX_PAIRS} more pairs" if len(order) > MAX_PAIRS else ""
    cause = f"overlap at the start without a joint between them: {', '.join(words)}{more}; contacts are disabled"
    advice = "move them apart if they are solid, and write `contacts: {}`; otherwise nothing is wrong"
    yield subject.finding("overlap", Weight.REMARK, ("bodies",), cause, advice)


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
        words = ", ".join(f"`{name}`" for name in floating[:MAX_PAIRS])
        more = f" and {len(floating) - MAX_PAIRS} more" if len(floating) > MAX_PAIRS else ""
        bodies, it = (f"bodies {words}{more} fall", "them") if len(floating) > 1 else (f"body {words} falls", "it")
        fall = 0.5 * float(np.linalg.norm(scene.gravity)) * scene.simulation.duration**2
        cause = f"{bodies} freely, by {fall:.3g} m in this run, since no joint, force or constraint holds {it}"
        advice = f"connect {it} to the world to prevent this, or write `gravity: [0, 0, 0]`"
        yield subject.finding("floating bodies", Weight.REMARK, ("bodies", floating[0]), cause, advice)


def _connected(scene: Scene) -> set[str]:
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
