"""Shapes of bodies, for contacts, for display and, if no mass is given, for mass properties.

A new shape is a module of its name with its `KIND`, and its name here.
"""

from importlib import import_module
from typing import Annotated

from multibody_cli.registry import Registry
from multibody_cli.scene.shapes.contract import ShapeKind, ShapeSpec
from multibody_cli.spec import Catalogue


def _kind(name: str) -> ShapeKind:
    kind: ShapeKind = import_module(f"{__name__}.{name}").KIND
    return kind


SHAPES = Registry(("plane", "sphere", "box", "capsule", "cylinder", "ellipsoid", "torus", "mesh"), _kind)
"""Every shape by its word in the scene file."""

Shape = Annotated[ShapeSpec, Catalogue("a shape", Registry(SHAPES, lambda name: SHAPES[name].spec))]
