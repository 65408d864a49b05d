"""The catalogue of joints.  To add one: a file with its `KIND`, an import and an entry here."""

from multibody_cli.joints import (
    composite,
    cylindrical,
    fixed,
    free,
    free2d,
    planar,
    prismatic,
    revolute,
    screw,
    spherical,
    translational,
    universal,
)
from multibody_cli.joints.contract import JointKind

JOINTS: dict[str, JointKind] = {
    module.KIND.name: module.KIND
    for module in (
        fixed,
        revolute,
        prismatic,
        screw,
        cylindrical,
        universal,
        planar,
        translational,
        spherical,
        free2d,
        free,
        composite,
    )
}
"""Every joint by the word of the scene file."""

JOINTS_LATER = frozenset({"spline_curve", "spline_surface", "surface_surface", "curve", "symbolic"})
"""Joints that the format knows and this version does not support."""
