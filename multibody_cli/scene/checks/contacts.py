"""What touches must be something that can, in steps that know of it."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.errors import Refused, nearest
from multibody_cli.joints.spec import WORLD
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.mesh import convex_vertices
from multibody_cli.scene.nodes import Path, find
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.shapes import TOUCHING, MeshSpec, ShapeSpec

OF_CONTACT = ("friction", "restitution", "contact")
"""Fields of a shape that say how it touches."""


def check_contacts(draft: Draft) -> None:
    """Check shapes and pairs against the section `contacts`, and the steps of the run."""
    scene = draft.scene
    for path, shape in _shapes(scene):
        if scene.contacts is None:
            for field in OF_CONTACT:
                if field in shape.model_fields_set and getattr(shape, field) not in (None, False):
                    draft.tell((*path, field), "has no effect: contacts are not yet supported")
        elif shape.contact and shape.type not in TOUCHING:
            draft.tell((*path, "type"), f"a {shape.type} cannot touch others yet: give it `contact: false`")
        elif shape.contact and isinstance(shape, MeshSpec):
            _check_mesh(draft, path, shape)
    if scene.contacts is None:
        return
    if scene.contacts.pairs != "auto":
        known = [WORLD, *scene.bodies]
        for k, pair in enumerate(scene.contacts.pairs):
            for place, name in enumerate(pair):
                if name not in known:
                    draft.tell(("contacts", "pairs", k, place), f"no body `{name}`: {nearest(name, known)}")
    settings = scene.simulation
    integrator = INTEGRATORS.get(settings.integrator)
    if integrator is not None and not integrator.collides:
        able = " or ".join(f"`{name}`" for name, one in INTEGRATORS.items() if one.collides)
        draft.tell(
            ("simulation", "integrator"),
            f"integrator `{settings.integrator}` takes no impacts: contacts need the steps of {able}",
        )
    if settings.options.get("stabilization") == "baumgarte":
        draft.tell(
            ("simulation", "options", "stabilization"),
            "contacts are held at the level of velocities: they need `stabilization: projection`, the default",
        )


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
