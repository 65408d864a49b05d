"""Packing of collision shapes and contact settings into the arrays of `Contacts`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import singledispatch
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.contact_solver.friction.problem import Options
from multibody_cli.contacts import forms
from multibody_cli.contacts.forms import Collider, Form, geometry_of
from multibody_cli.joints.spec import WORLD
from multibody_cli.model import Contacts, JointFriction
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.links import IN_PLACE, Placement
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.mesh import convex_vertices
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.shapes import (
    BoxSpec,
    CapsuleSpec,
    CylinderSpec,
    EllipsoidSpec,
    MeshSpec,
    PlaneSpec,
    ShapeSpec,
    SphereSpec,
)
from multibody_cli.spec.rotation_matrix import rotation_matrix

CONTACTS_PER_SHAPE = 24
"""Default contact capacity for each shape."""

MIN_CAPACITY = 32
"""Smallest default contact capacity."""

RELATIVE_MARGIN = 1e-3
"""Contact margin relative to the size of the smallest shape."""


@singledispatch
def form_of(shape: ShapeSpec, file: Path) -> Form:
    """Return the collision form of a shape; `file` is the file of a mesh, and ignored for other shapes."""
    raise TypeError(f"no contacts of a {shape.type}")


@form_of.register
def _(shape: PlaneSpec, _file: Path) -> Form:
    return forms.plane()


@form_of.register
def _(shape: SphereSpec, _file: Path) -> Form:
    return forms.sphere(shape.radius)


@form_of.register
def _(shape: BoxSpec, _file: Path) -> Form:
    return forms.box(shape.size)


@form_of.register
def _(shape: CapsuleSpec, _file: Path) -> Form:
    return forms.capsule(shape.radius, shape.length)


@form_of.register
def _(shape: CylinderSpec, _file: Path) -> Form:
    return forms.cylinder(shape.radius, shape.length)


@form_of.register
def _(shape: EllipsoidSpec, _file: Path) -> Form:
    return forms.ellipsoid(shape.radii)


@form_of.register
def _(shape: MeshSpec, file: Path) -> Form:
    return forms.hull(convex_vertices(shape, file))


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
    """
    scene, touches = loaded.scene, loaded.scene.contacts is not None
    if not touches and len(joint_friction.patches) == 0:
        return ()
    settings = scene.contacts or ContactsSpec()
    colliders = list(_colliders(loaded, settings, rows, frames)) if touches else []
    excluded = [(rows[a], rows[b]) for a, b in excluded_pairs(scene, settings)]
    sizes = [collider.form.bounding_radius for collider in colliders if np.isfinite(collider.form.bounding_radius)]
    return Contacts(
        geometry=geometry_of(colliders, excluded),
        margin=RELATIVE_MARGIN * min(sizes, default=1.0),
        friction_account=account("dissipation", "contacts/friction") if touches else 0,
        impact_account=account("dissipation", "contacts/impact") if touches else 0,
        options=Options(
            tolerance=settings.tolerance,
            sweeps=settings.max_iterations,
            sides=settings.sides or 0,
            dense=settings.method != "proximal",
            single_qp=settings.method == "single_qp",
        ),
        max_contacts=(settings.max_contacts or max(MIN_CAPACITY, CONTACTS_PER_SHAPE * len(colliders)))
        if touches
        else 0,
        joint_friction=joint_friction,
    )


def _colliders(
    loaded: LoadedScene, settings: ContactsSpec, rows: Mapping[str, int], frames: Mapping[int, Placement]
) -> Iterator[Collider]:
    """Yield all shapes that take part in contacts, those of the world first."""
    owners: list[tuple[tuple[str, ...], int, list[ShapeSpec], Placement]]
    owners = [(("world",), 0, loaded.scene.world.shapes, IN_PLACE)]
    for name, body in loaded.scene.bodies.items():
        owners.append((("bodies", name), rows[name], body.shapes, frames[rows[name]]))
    for path, row, shapes, frame in owners:
        for k, shape in enumerate(shapes):
            if shape.contact:
                yield Collider(
                    form_of(shape, loaded.resolve_path(getattr(shape, "file", ""), *path, "shapes", k)),
                    row,
                    frame.position + frame.rotation @ np.array(shape.position),
                    frame.rotation @ rotation_matrix(shape.rotation) @ _upright(shape),
                    settings.friction if shape.friction is None else shape.friction,
                    settings.restitution if shape.restitution is None else shape.restitution,
                )


def _upright(shape: ShapeSpec) -> Any:
    """Return the rotation that turns z into the normal of a plane; the identity for other shapes."""
    if not isinstance(shape, PlaneSpec):
        return np.eye(3)
    z = np.array(shape.normal)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def excluded_pairs(scene: Scene, settings: ContactsSpec) -> Iterator[tuple[str, str]]:
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
