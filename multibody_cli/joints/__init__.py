"""Catalogue of joints. A new joint is a module of its name with its `KIND`, and its name here."""

from importlib import import_module

from multibody_cli.joints.contract import JointKind
from multibody_cli.registry import Registry


def _kind(name: str) -> JointKind:
    module = import_module(f"{__name__}.{_MODULES[name]}")
    kind: JointKind = module.KIND if _MODULES[name] == name else next(one for one in module.KINDS if one.name == name)
    return kind


_MODULES = {
    "fixed": "screws",
    "revolute": "screws",
    "prismatic": "screws",
    "screw": "screws",
    "cylindrical": "screws",
    "universal": "screws",
    "planar": "screws",
    "translational": "screws",
    "spherical": "spherical",
    "free2d": "screws",
    "free": "free",
    "composite": "composite",
    "spline_curve": "spline_curve",
    "spline_surface": "spline_surface",
    "curve": "curve",
    "curve_curve": "curve_curve",
    "surface_surface": "surface_surface",
    "symbolic": "symbolic",
}
"""The module of each joint, with its `KIND`, or with the `KINDS` of several."""

JOINTS = Registry(_MODULES, _kind)
"""Every joint by its word in the scene file."""
