"""Packing of collision shapes and contact settings into the arrays of `Contacts`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from multibody_cli.contact_solver.friction.problem import Options
from multibody_cli.contact_solver.impacts import LAWS
from multibody_cli.contacts.forms import Collider, geometry_of
from multibody_cli.joints.spec import WORLD
from multibody_cli.limits import LimitError, require_within
from multibody_cli.model import Contacts, JointFriction
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.links import IN_PLACE, Placement
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.scene.shapes.contract import ShapeSpec

CONTACTS_PER_SHAPE = 24
"""Default contact capacity for each shape."""

MIN_CAPACITY = 32
"""Smallest default contact capacity."""

RELATIVE_MARGIN = 1e-3
"""Contact margin relative to the size of the smallest shape."""


def pack_contacts(
    loaded: LoadedScene,
    rows: Mapping[str, int],
    frames: Mapping[int, Placement],
    joint_friction: JointFriction,
    account: Callable[[Any, str], int],
) -> Contacts | tuple[()]:
    """Pack contacts and joint friction; return an empty tuple in scenes without both.

    Parameters
    ----------
    loaded
        The scene.
    rows, frames
        Row of each body, and its body frame in the joint frame, by row.
    joint_friction
        Joints with friction.
    account
        Opens an account of the ledger.

    Raises
    ------
    SceneError
        The contact capacity exceeds its limit.
    """
    scene, touches = loaded.scene, loaded.scene.contacts is not None
    if not touches and len(joint_friction.patches) == 0:
        return ()
    settings = scene.contacts or ContactsSpec()
    colliders = list(colliders_of(loaded, settings, rows, frames)) if touches else []
    excluded = [(rows[a], rows[b]) for a, b in excluded_pairs(scene, settings)]
    capacity = settings.max_contacts or default_capacity(len(colliders))
    try:
        require_within("contacts", capacity)
    except LimitError as error:
        raise loaded.error(str(error), "contacts", "max_contacts") from None
    sizes = [collider.form.bounding_radius for collider in colliders if np.isfinite(collider.form.bounding_radius)]
    return Contacts(
        geometry=geometry_of(colliders, excluded),
        margin=RELATIVE_MARGIN * min(sizes, default=1.0),
        friction_account=account("dissipation", "contacts/friction") if touches else 0,
        impact_account=account("dissipation", "contacts/impact") if touches else 0,
        options=Options(
            tolerance=settings.tolerance,
            sweeps=settings.max_iterations,
            staggered=settings.method == "staggered_projections",
            convex=settings.method == "single_qp",
            sleeping=touches and settings.sleeping,
            impacts=LAWS.index(settings.impacts),
        ),
        max_contacts=capacity if touches else 0,
        joint_friction=joint_friction,
    )


def default_capacity(shapes: int) -> int:
    """Return the default contact capacity."""
    return max(MIN_CAPACITY, CONTACTS_PER_SHAPE * shapes)


def colliders_of(
    loaded: LoadedScene, settings: ContactsSpec, rows: Mapping[str, int], frames: Mapping[int, Placement]
) -> Iterator[Collider]:
    """Yield all shapes that take part in contacts, those of the world first."""
    owners: list[tuple[tuple[str, ...], int, list[ShapeSpec], Placement]]
    owners = [(("world",), 0, loaded.scene.world.shapes, IN_PLACE)]
    for name, body in loaded.scene.bodies.items():
        owners.append((("bodies", name), rows[name], body.shapes, frames[rows[name]]))
    for path, row, shapes, frame in owners:
        for k, shape in enumerate(shapes):
            form_of = SHAPES[shape.type].form
            if shape.contact and form_of is not None:
                friction = settings.friction if shape.friction is None else shape.friction
                yield Collider(
                    form_of(shape, loaded.resolve_path(getattr(shape, "file", ""), *path, "shapes", k)),
                    row,
                    frame.position + frame.rotation @ np.array(shape.position),
                    frame.rotation @ shape.axes,
                    friction.static,
                    settings.restitution if shape.restitution is None else shape.restitution,
                    friction.kinetic,
                    friction.stribeck_speed if friction.differ else 0.0,
                )


def excluded_pairs(scene: SceneSpec, settings: ContactsSpec) -> Iterator[tuple[str, str]]:
    """Yield the pairs of bodies without contacts."""
    if settings.pairs == "auto":
        for joint in scene.joints.values():
            if joint.parent != WORLD:
                yield joint.parent, joint.child
        return
    asked = {frozenset(pair) for pair in settings.pairs}
    for pair in combinations([WORLD, *scene.bodies], 2):
        if frozenset(pair) not in asked:
            yield pair
