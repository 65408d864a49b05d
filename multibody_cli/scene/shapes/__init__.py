"""Shapes of bodies, for contacts, for display and, if no mass is given, for mass properties.

A new shape is a module with its `KIND`, and its entry here.
"""

from typing import Annotated

from multibody_cli.scene.shapes import mesh, simple
from multibody_cli.scene.shapes.contract import ShapeSpec
from multibody_cli.spec import Catalogue

KINDS = (
    *simple.KINDS,
    mesh.KIND,
)
SHAPES = {kind.name: kind for kind in KINDS}
"""Every shape by its word in the scene file."""

Shape = Annotated[ShapeSpec, Catalogue("a shape", {name: kind.spec for name, kind in SHAPES.items()})]
