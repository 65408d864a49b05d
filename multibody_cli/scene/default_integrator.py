"""Default integrator of a scene: `simulation.integrator: auto`."""

from __future__ import annotations

from multibody_cli.joints.friction import has_friction
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.simulation import AUTO


def default_integrator(scene: SceneSpec) -> str:
    """Return the default integrator of a scene.

    It is `rk4`, or `semi_implicit_euler` for a scene with contacts or dry friction of joints, whose steps are at the
    level of velocities.
    """
    has_dry_friction = any(
        isinstance(joint, MovingJointSpec) and has_friction(joint) for joint in scene.joints.values()
    )
    return "semi_implicit_euler" if has_dry_friction or scene.contacts is not None else "rk4"


def with_integrator(scene: SceneSpec) -> SceneSpec:
    """Return a scene with its default integrator in place of `auto`."""
    if scene.simulation.integrator != AUTO:
        return scene
    simulation = scene.simulation.model_copy(update={"integrator": default_integrator(scene)})
    return scene.model_copy(update={"simulation": simulation})
