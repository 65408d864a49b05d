"""What touches must be something that can, in steps that know of it."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.document.nodes import Path, find
from multibody_cli.errors import Refused
from multibody_cli.joints.friction import has_friction
from multibody_cli.joints.spec import WORLD
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.contacts import ContactsSpec
from multibody_cli.scene.mesh import convex_vertices
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.shapes import TOUCHING, MeshSpec, ShapeSpec

OF_SURFACE = ("friction", "restitution")
"""Fields of a shape that say what it is like to touch."""


def check_contacts(draft: Draft) -> None:
    """Check shapes and pairs against the section `contacts`, and the steps of the run."""
    settings = draft.scene.contacts
    _check_steps(draft)
    _check_rubbing(draft)
    if settings is None:
        if "contacts" not in draft.broken:
            _check_silent_shapes(draft)
        return
    _check_shapes(draft)
    _check_pairs(draft, settings)
    if settings.sides is not None and settings.method == "proximal":
        message = "the proximal method knows circles alone: polygons need `method: staggered_projections`"
        draft.tell(("contacts", "sides"), message)


def _check_silent_shapes(draft: Draft) -> None:
    if "contacts" in draft.data:
        draft.tell(("contacts",), "is empty: write `contacts: {}` for the defaults, or leave it out if nothing touches")
        return
    for path, shape in _shapes(draft.scene):
        for field in (*OF_SURFACE, "contact"):
            if field in shape.model_fields_set and getattr(shape, field) not in (None, False):
                draft.tell((*path, field), "has no effect: nothing touches in a scene without `contacts: {}`")


def _check_shapes(draft: Draft) -> None:
    for path, shape in _shapes(draft.scene):
        if shape.contact and shape.type not in TOUCHING:
            draft.tell((*path, "type"), f"a {shape.type} cannot touch others yet: give it `contact: false`")
        elif shape.contact and isinstance(shape, MeshSpec):
            _check_mesh(draft, path, shape)
        for field in OF_SURFACE:
            if not shape.contact and getattr(shape, field) is not None:
                draft.tell((*path, field), "has no effect: this shape touches nothing (`contact: false`)")
    for name, body in draft.scene.bodies.items():
        if body.kind == "affine" and any(shape.contact for shape in body.shapes):
            message = "an affine body cannot touch others yet: give its shapes `contact: false`"
            draft.tell(("bodies", name, "kind"), message)


def _check_pairs(draft: Draft, settings: ContactsSpec) -> None:
    if settings.pairs == "auto":
        return
    scene, seen = draft.scene, set[frozenset[str]]()
    able = {name for name, body in scene.bodies.items() if any(shape.contact for shape in body.shapes)}
    able |= {WORLD} if any(shape.contact for shape in scene.world.shapes) else set()
    for k, pair in enumerate(settings.pairs):
        for place, name in enumerate(pair):
            path = ("contacts", "pairs", k, place)
            whole = name in scene.bodies or name == WORLD  # what is wrong with others was told
            if draft.require_body(name, path) and whole and name not in able:
                draft.tell(path, f"`{name}` has no shape that touches")
        if pair[0] == pair[1]:
            draft.tell(("contacts", "pairs", k), f"`{pair[0]}` does not touch itself: expected two bodies")
        elif frozenset(pair) in seen:
            draft.tell(("contacts", "pairs", k), "is there already: each pair is written once, in any order")
        seen.add(frozenset(pair))


def _check_steps(draft: Draft) -> None:
    """Impacts, and friction that sticks, need steps of constant length."""
    settings = draft.scene.simulation
    if draft.scene.contacts is None and not any(has_friction(joint) for joint in draft.scene.joints.values()):
        return
    known = settings.method in METHODS and settings.integrator in INTEGRATORS
    own = known and METHODS[settings.method].own_integrator  # such a method says for itself what it takes
    if known and not own and not INTEGRATORS[settings.integrator].collides:
        able = " or ".join(f"`{name}`" for name, one in INTEGRATORS.items() if one.collides)
        message = f"integrator `{settings.integrator}` takes neither impacts nor dry friction: use {able}"
        draft.tell(("simulation", "integrator"), message)


def _check_rubbing(draft: Draft) -> None:
    for name, joint in draft.scene.joints.items():
        for body in (joint.parent, joint.child):
            if has_friction(joint) and body in draft.scene.bodies and draft.scene.bodies[body].kind == "affine":
                message = f"`{body}` is affine: friction of joints is for rigid bodies"
                draft.tell(("joints", name, "friction"), message)


def _check_mesh(draft: Draft, path: Path, shape: MeshSpec) -> None:
    file = find(draft.tree, path).mark.beside(shape.file)
    if file.is_file():
        try:
            convex_vertices(shape, file)
        except Refused as error:
            draft.tell((*path, "file"), str(error))


def _shapes(scene: Scene) -> Iterator[tuple[Path, ShapeSpec]]:
    for k, shape in enumerate(scene.world.shapes):
        yield ("world", "shapes", k), shape
    for name, body in scene.bodies.items():
        for k, shape in enumerate(body.shapes):
            yield ("bodies", name, "shapes", k), shape
