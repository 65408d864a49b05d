"""Packing of collision shapes and contact settings into the arrays of `Contacts`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.contacts.forms import Collider, Form, OwnSurface, geometry_of, sphere
from multibody_cli.escaping import path_component
from multibody_cli.joints import JOINTS
from multibody_cli.joints.friction import BRAKE, BRAKE_TERM, FRICTION_PATCH, FRICTION_POINT
from multibody_cli.joints.friction_spec import coefficient_of
from multibody_cli.kernel import frozen, records
from multibody_cli.limits import LimitError, require_within
from multibody_cli.model import CONSTRAINT_AXIS, Contacts, Floats, JointFriction, Tree
from multibody_cli.packing.layout import Layout
from multibody_cli.packing.markers import Markers
from multibody_cli.packing.ropes import PackedGuides
from multibody_cli.scene.body_kinds import IN_PLACE, Placement
from multibody_cli.scene.contact_filters import excluded_pairs, group_bits, welds
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.scene.shapes.contract import ShapeSpec
from multibody_cli.spec.combination import CombinationSpec
from multibody_cli.spec.entries import split_coordinate
from multibody_cli.spec.path import PathSpec

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
    markers: Markers,
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
    markers
        Points of affine bodies.
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
    if not touches and len(joint_friction.moved) == 0:
        return ()
    from multibody_cli.contact_solver.friction.problem import Options
    from multibody_cli.contact_solver.impacts import LAWS
    from multibody_cli.contact_solver.laws import law_of_contacts

    settings = scene.contacts or ContactsSpec()
    colliders = list(colliders_of(loaded, settings, rows, frames, markers)) if touches else []
    rows_of = {name: markers.rows_of(name) or [row] for name, row in rows.items()}
    excluded = [pair for a, b in excluded_pairs(scene, settings) for pair in product(rows_of[a], rows_of[b])]
    capacity = settings.max_contacts or max(MIN_CAPACITY, CONTACTS_PER_SHAPE * len(colliders))
    try:
        require_within("contacts", capacity)
    except LimitError as error:
        raise loaded.error(str(error), "contacts", "max_contacts") from None
    sizes = [collider.form.bounding_radius for collider in colliders if np.isfinite(collider.form.bounding_radius)]
    return Contacts(
        geometry=geometry_of(
            colliders,
            excluded,
            {pair: surface for (a, b), surface in _own_surfaces(settings) for pair in product(rows_of[a], rows_of[b])},
            (settings.combine.friction, settings.combine.restitution),
        ),
        margin=RELATIVE_MARGIN * min(sizes, default=1.0),
        friction_account=account("dissipation", "contacts/friction") if touches else 0,
        impact_account=account("dissipation", "contacts/impact") if touches else 0,
        rolling_account=account("dissipation", "contacts/rolling") if scene.resists_rolling else 0,
        options=Options(
            tolerance=settings.tolerance,
            sweeps=settings.max_iterations,
            staggered=settings.method == "staggered_projections",
            law=law_of_contacts(settings.method),
            sleeping=touches and settings.sleeping,
            impacts=LAWS.index(settings.impacts),
        ),
        max_contacts=capacity if touches else 0,
        joint_friction=joint_friction,
    )


def colliders_of(
    loaded: LoadedScene,
    settings: ContactsSpec,
    rows: Mapping[str, int],
    frames: Mapping[int, Placement],
    markers: Markers | None = None,
) -> Iterator[Collider]:
    """Yield all shapes that take part in contacts, those of the world first.

    Affine bodies have beads at `markers`; without these they are left out.
    """
    owners: list[tuple[tuple[str, ...], int, list[ShapeSpec], Placement]]
    owners = [(("world",), 0, loaded.scene.world.shapes, IN_PLACE)]
    for name, body in loaded.scene.bodies.items():
        if body.kind == "affine" and markers is None:
            continue
        owners.append((("bodies", name), rows[name], body.shapes, frames[rows[name]]))
    bits, weld = group_bits(loaded.scene), welds(loaded.scene)
    for path, row, shapes, frame in owners:
        for k, shape in enumerate(shapes):
            file = loaded.resolve_path(getattr(shape, "file", ""), *path, "shapes", k)
            friction = settings.friction if shape.friction is None else shape.friction
            for form, attached, place, axes in _forms(path[-1], shape, file, row, frame, markers):
                yield Collider(
                    form,
                    attached,
                    place,
                    axes,
                    friction.coefficients[0],
                    settings.restitution if shape.restitution is None else shape.restitution,
                    *friction.coefficients[1:],
                    sum(bits[name] for name in set(shape.groups)),
                    sum(bits[name] for name in set(shape.collides_with)),
                    rows[weld[path[-1]]],
                    shape.priority,
                )


def _forms(
    body: str, shape: ShapeSpec, file: Path, row: int, frame: Placement, markers: Markers | None
) -> Iterator[tuple[Form, int, Floats, Floats]]:
    """Yield the forms of a shape in contacts, each with its row, and its position and rotation there."""
    kind = SHAPES[shape.type]
    if not shape.contact:
        return
    if markers is None or not markers.takes(body):
        for form in kind.forms(shape, file):
            yield form, row, frame.position + frame.rotation @ np.array(shape.position), frame.rotation @ shape.axes
    elif kind.beads is not None:
        for point, radius in kind.beads(shape):
            x, y, z = (np.array(shape.position) + shape.axes @ point).tolist()
            yield sphere(radius), markers.row(body, (x, y, z)), np.zeros(3), np.eye(3)


def _own_surfaces(settings: ContactsSpec) -> Iterator[tuple[tuple[str, str], OwnSurface]]:
    """Yield the pairs of bodies with coefficients of their own."""
    for pair in settings.listed.values():
        if pair.friction is not None or pair.restitution is not None:
            yield pair.bodies, OwnSurface(pair.friction.coefficients if pair.friction else None, pair.restitution)


# --- packing of dry friction into the arrays of `JointFriction` -------------------------------------------------------
def pack_joint_friction(
    scene: SceneSpec,
    layout: Layout,
    tree: Tree,
    paths: Mapping[str, tuple[int, int]],
    guides: PackedGuides,
    account: Callable[[Any, str], int],
) -> JointFriction:
    """Pack the friction patches of all joints, and the brakes of combinations and of paths, beside guides of ropes.

    `paths` are the points of each path, and `account` opens an account of the ledger for each element.
    """
    patches: list[tuple[Any, ...]] = []
    points: list[tuple[Any, ...]] = []
    loads: list[tuple[Any, Any]] = []
    numbers = {name: k for k, name in enumerate(scene.joints)}
    for place, name in enumerate(scene.friction_joints):
        joint: Any = scene.joints[name]
        row = layout.row_of_joint(name, joint)
        number = account("dissipation", f"joints/{path_component(name)}/friction")
        of_joint, coefficient = JOINTS[joint.type].friction_patches(joint), coefficient_of(joint.friction)
        parent, child, frame, iv = _joint_at(row, tree)
        group = (len(patches), len(patches) + len(of_joint))
        for patch in of_joint:
            patches.append(
                (
                    row,
                    parent if patch.on_parent else row,
                    parent,
                    child,
                    numbers[name],
                    place,
                    *group,
                    number,
                    coefficient.static,
                    coefficient.kinetic,
                    coefficient.stribeck_speed,
                    patch.brake,
                    frame if patch.on_parent else np.eye(3).ravel(),
                    patch.coordinate,
                    iv + patch.coordinate if patch.dual else -1,
                    len(patch.slip_wrenches),
                    *_wrenches(patch.slip_wrenches),
                    len(points),
                    len(points) + len(patch.points),
                )
            )
            for point in patch.points:
                points.append((*_wrenches(point.friction_wrenches), len(loads), len(loads) + len(point.loads)))
                loads += [(load[:3], load[3:]) for load in point.loads]
    table = np.array(patches, FRICTION_PATCH)
    brakes: list[tuple[Any, ...]] = []
    terms: list[tuple[Any, ...]] = []
    for section, name in scene.brakes:
        spec: CombinationSpec | PathSpec = getattr(scene, section)[name]
        first, span = len(terms), paths[name] if section == "paths" else (0, 0)
        if isinstance(spec, CombinationSpec):
            terms += _brake_terms(scene, layout, tree, numbers, spec.terms)
        brakes.append((spec.friction, first, len(terms), *span))
    opened = [account("dissipation", f"{section}/{path_component(name)}/friction") for section, name in scene.brakes]
    opened += [account("dissipation", f"constraints/{path_component(name)}") for name in guides.names]
    moved = [_moved_body(scene, layout, *brake) for brake in scene.brakes] + list(guides.moved)
    return JointFriction(
        records(table),
        records(np.array(points, FRICTION_POINT)),
        records(np.array(loads, CONSTRAINT_AXIS)),
        records(np.array(brakes, BRAKE)),
        records(np.array(terms, BRAKE_TERM)),
        guides.table,
        moved=frozen(np.r_[table["child"], moved].astype(int)),
        accounts=frozen(np.r_[table["account"], opened].astype(int)),
    )


def _brake_terms(
    scene: SceneSpec, layout: Layout, tree: Tree, numbers: Mapping[str, int], terms: Mapping[str, float]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of BRAKE_TERM of a combination of coordinates."""
    for word, coefficient in terms.items():
        name, index = split_coordinate(word)
        if coefficient:
            row = layout.row_of_joint(name, scene.joints[name])
            parent, child, _, iv = _joint_at(row, tree)
            yield coefficient, row, parent, child, iv + int(index or 0), numbers[name]


def _moved_body(scene: SceneSpec, layout: Layout, section: str, name: str) -> int:
    """Return the row of a body that the friction of a combination or of a path acts on."""
    if section == "paths":
        return max(layout.rows[end.body] for _, end in scene.paths[name].points)
    joint, _ = split_coordinate(next(word for word, factor in scene.combinations[name].terms.items() if factor))
    return layout.rows[scene.joints[joint].child]


def _wrenches(one_or_two: Any) -> tuple[Any, ...]:
    """Return moments and forces of two wrenches; a missing second one is 0."""
    both = [*one_or_two, np.zeros(6)][:2]
    return tuple(part for wrench in both for part in (wrench[:3], wrench[3:]))


def _joint_at(row: int, tree: Tree) -> tuple[int, int, Any, int]:
    """Return the rows of parent and child of a joint, its frame in the parent, by columns (9,), and its first rate."""
    n = len(tree.links)
    joint = tree.links[row] if row < n else tree.closures[row - n]
    return int(joint["parent"]), row if row < n else int(joint["child"]), joint["frame"], int(joint["iv"])
