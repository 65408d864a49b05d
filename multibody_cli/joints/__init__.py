"""The catalogue of joints.  To add one: a file with its `KIND`, an import and an entry here."""

from multibody_cli.joints import (
    composite,
    curve,
    cylindrical,
    fixed,
    free,
    free2d,
    planar,
    prismatic,
    revolute,
    screw,
    spherical,
    spline_curve,
    spline_surface,
    surface_surface,
    symbolic,
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
        spline_curve,
        spline_surface,
        curve,
        surface_surface,
        symbolic,
    )
}
"""Every joint by the word of the scene file."""
