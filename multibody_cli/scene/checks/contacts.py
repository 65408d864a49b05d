"""Checks of contacts: shapes, pairs, and the integrator."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.errors import Refused, nearest
from multibody_cli.foreign import is_foreign
from multibody_cli.joints.spec import WORLD
from multibody_cli.limits import LimitError, require_within
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.nodes import NodePath, find
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.checks.partial_scene import PartialScene
from multibody_cli.scene.contact_filters import ANY, count_excluded_pairs, matching, welds
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.scene.shapes.contract import DEFAULT_GROUP, ShapeSpec
from multibody_cli.scene.shapes.mesh import MeshSpec, convex_parts, excess_volume
from multibody_cli.scene.shapes.simple import PlaneSpec

SURFACE_FIELDS = ("friction", "restitution", "groups", "collides_with")
"""Fields of a shape that describe its contacts."""

CONTACT_FIELDS = (*SURFACE_FIELDS, "hull", "decompose")
"""These, and those of a mesh in contacts, which a model may have that other scenes with contacts include."""

MOST_GROUPS = 62
"""Number of groups of a scene: bits of a mask."""


def check_contacts(partial: PartialScene) -> None:
    """Check shapes and pairs against the section `contacts`, and the integrator."""
    settings = partial.scene.contacts
    _check_steps(partial)
    if settings is None:
        if "contacts" not in partial.broken:
            _check_unused_fields(partial)
        return
    _check_floor(partial, settings)
    _check_shapes(partial)
    _check_groups(partial)
    _check_pairs(partial, settings)
    _check_excluded(partial, settings)
    try:
        require_within("excluded_pairs", count_excluded_pairs(partial.scene, settings))
    except LimitError as error:
        partial.report(("contacts", "exclude" if settings.exclude else "pairs"), str(error))
    if settings.method == "single_qp" and partial.scene.resists_rolling:
        message = "`single_qp` has no resistance to rolling: use `proximal`, or omit `rolling` and `torsional`"
        partial.report(("contacts", "method"), message)


def _check_floor(partial: PartialScene, settings: ContactsSpec) -> None:
    """Check that a floor has a direction, and that a shape can touch it."""
    if settings.floor is None:
        return
    path = ("contacts", "floor")
    if not any(partial.scene.gravity):
        partial.report(path, "a floor lies across gravity, but `gravity` is 0")
    can_touch = any(shape.contact and not isinstance(shape, PlaneSpec) for _, shape in _shapes(partial.scene))
    if not can_touch and not {"bodies", "world"} & partial.broken:
        partial.report(
            path,
            "no shape takes part in contacts, so that nothing can touch a floor: add shapes; of a model of another "
            "program, `mbsim import` reports the shapes that are dropped, such as meshes whose files are not found",
        )


def _check_unused_fields(partial: PartialScene) -> None:
    if "contacts" in partial.data:
        partial.report(
            ("contacts",), "is empty: write `contacts: {}` for the defaults, or omit the section to disable contacts"
        )
        return
    for path, shape in _shapes(partial.scene):
        for field in (*SURFACE_FIELDS, "contact"):
            if field in shape.model_fields_set and getattr(shape, field) not in (None, False):
                partial.report((*path, field), "has no effect: contacts are disabled without a section `contacts: {}`")


def _check_shapes(partial: PartialScene) -> None:
    for path, shape in _shapes(partial.scene):
        if shape.contact and not SHAPES[shape.type].touches:
            partial.report((*path, "type"), f"contacts of a {shape.type} are not supported: set `contact: false`")
        elif shape.contact and isinstance(shape, MeshSpec):
            _check_mesh(partial, path, shape)
        for field in CONTACT_FIELDS:
            if not shape.contact and field in shape.model_fields_set and getattr(shape, field) is not None:
                partial.report(
                    (*path, field), "has no effect: the contacts of this shape are disabled (`contact: false`)"
                )
    for name, body in partial.scene.bodies.items():
        if body.kind == "affine":
            _check_beads(partial, name, body)


def _check_beads(partial: PartialScene, name: str, body: BodySpec) -> None:
    """An affine body has contacts at points, which do not turn."""
    for k, shape in enumerate(body.shapes):
        path = ("bodies", name, "shapes", k)
        if shape.contact and SHAPES[shape.type].beads is None:
            able = ", ".join(f"`{kind.name}`" for kind in SHAPES.values() if kind.beads is not None)
            message = f"contacts of an affine body are those of points of {able}: use these, or set `contact: false`"
            partial.report((*path, "type"), message)
        if shape.contact and shape.friction is not None and any(shape.friction.coefficients[3:]):
            message = "points of an affine body do not turn: `rolling` and `torsional` must be 0"
            partial.report((*path, "friction"), message)


def _check_groups(partial: PartialScene) -> None:
    scene, shapes = partial.scene, [shape for _, shape in _shapes(partial.scene)]
    known = {DEFAULT_GROUP, *(name for shape in shapes for name in shape.groups)}
    if len(known) > MOST_GROUPS:
        partial.report(("contacts",), f"the shapes have {len(known)} groups, but at most {MOST_GROUPS} are supported")
    for path, shape in _shapes(scene):
        for k, name in enumerate(shape.collides_with):
            if name not in known and not {"bodies", "world"} & partial.broken:
                partial.report(
                    (*path, "collides_with", k), f"no shape is in the group `{name}`; {nearest(name, known)}"
                )


def _check_pairs(partial: PartialScene, settings: ContactsSpec) -> None:
    scene, seen = partial.scene, set[frozenset[str]]()
    able = {name for name, body in scene.bodies.items() if any(shape.contact for shape in body.shapes)}
    able |= {WORLD} if any(shape.contact for shape in scene.world.shapes) else set()
    weld = welds(scene)
    for k, entry in settings.listed.items():
        pair, path = entry.bodies, ("contacts", "pairs", k)
        within = ("bodies",) if isinstance(partial.data["contacts"]["pairs"][k], dict) else ()
        for place, name in enumerate(pair):
            end = (*path, *within, place)
            whole = name in scene.bodies or (
                name == WORLD and WORLD not in partial.broken
            )  # others are reported already
            if partial.require_body(name, end) and whole and name not in able:
                partial.report(end, f"`{name}` has no shapes with contacts")
        if pair[0] == pair[1]:
            partial.report(path, f"expected two different bodies, found `{pair[0]}` twice")
        elif frozenset(pair) in seen:
            partial.report(path, "duplicate pair: list each pair once, in any order")
        elif weld.get(pair[0], pair[0]) == weld.get(pair[1], pair[1]):
            partial.report(path, "has no effect: fixed joints hold these bodies together, so that they never touch")
        seen.add(frozenset(pair))


def _check_excluded(partial: PartialScene, settings: ContactsSpec) -> None:
    listed = {frozenset(pair.bodies) for pair in settings.listed.values()}
    for k, pair in enumerate(settings.exclude):
        for place, name in enumerate(pair):
            path = ("contacts", "exclude", k, place)
            if ANY not in name:
                partial.require_body(name, path)
            elif not matching(name, partial.bodies):
                partial.report(path, f"no body has a name of the form `{name}`")
        if pair[0] == pair[1] and ANY not in pair[0]:
            partial.report(("contacts", "exclude", k), f"expected two different bodies, found `{pair[0]}` twice")
        if frozenset(pair) in listed:
            partial.report(("contacts", "exclude", k), "`pairs` lists this pair as well: remove one of them")


def _check_steps(partial: PartialScene) -> None:
    """Impacts and static friction require steps of constant length."""
    settings = partial.scene.simulation
    if partial.scene.contacts is None and not partial.scene.has_dry_friction:
        return
    _check_affine_bodies(partial)
    known = settings.method in METHODS and settings.integrator in INTEGRATORS
    own = known and METHODS[settings.method].own_integrator  # the features of such a method are checked elsewhere
    if known and not own and not INTEGRATORS[settings.integrator].supports_contacts:
        able = " or ".join(f"`{name}`" for name, one in INTEGRATORS.items() if one.supports_contacts)
        message = f"integrator `{settings.integrator}` supports neither impacts nor dry friction: use {able}"
        partial.report(("simulation", "integrator"), message)


def _check_affine_bodies(partial: PartialScene) -> None:
    """The passes and the loads of joint friction do not reach affine bodies."""
    if not partial.scene.has_dry_friction:
        return
    scene, joints, constraints = partial.scene, partial.scene.joints.items(), partial.scene.constraints.items()
    named = [("joints", name, body) for name, joint in joints for body in (joint.parent, joint.child)]
    named += [(*one, end.body) for one in scene.brakes if one[0] == "paths" for _, end in scene.paths[one[1]].points]
    named += [("constraints", name, body) for name, constraint in constraints for _, body in constraint.bodies]
    for section, name, body in named:
        if body in scene.bodies and scene.bodies[body].kind == "affine":
            message = f"`{body}` is affine: with dry friction in the scene, connect rigid bodies only"
            partial.report((section, name), message)


def _check_mesh(partial: PartialScene, path: NodePath, shape: MeshSpec) -> None:
    mark = find(partial.tree, path).mark
    file = mark.resolve_path(shape.file)
    if shape.file and file.is_file():
        try:
            convex_parts(shape, file)
            # the report of an import has the meshes whose hull its reader chose
            if not is_foreign(mark.file) and (message := excess_volume(shape, file)):
                partial.warn(path, message)
        except Refused as error:
            partial.report((*path, "file"), str(error))


def _shapes(scene: SceneSpec) -> Iterator[tuple[NodePath, ShapeSpec]]:
    for k, shape in enumerate(scene.world.shapes):
        yield ("world", "shapes", k), shape
    for name, body in scene.bodies.items():
        for k, shape in enumerate(body.shapes):
            yield ("bodies", name, "shapes", k), shape
