"""Catalogue of joints. A new joint is a module of its name with its `KIND`, and its name here."""

from importlib import import_module

from multibody_cli.joints.contract import JointKind
from multibody_cli.registry import Registry


def _kind(name: str) -> JointKind:
    kind: JointKind = import_module(f"{__name__}.{name}").KIND
    return kind


JOINTS = Registry(
    (
        "fixed",
        "revolute",
        "prismatic",
        "screw",
        "cylindrical",
        "universal",
        "planar",
        "translational",
        "spherical",
        "free2d",
        "free",
        "composite",
        "spline_curve",
        "spline_surface",
        "curve",
        "surface_surface",
        "symbolic",
    ),
    _kind,
)
"""Every joint by its word in the scene file."""
