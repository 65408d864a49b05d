"""Names, widths and units of the numbers that a run reports: what an assertion may speak of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.forces.spring_spec import SpringSpec
from multibody_cli.joints.coordinate_fields import COORDINATE_KINDS
from multibody_cli.joints.friction import has_friction
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.methods import METHODS
from multibody_cli.scene.muscle_paths import coordinates_crossed
from multibody_cli.scene.schema import Scene
from multibody_cli.spec import units
from multibody_cli.spec.units import Kind


class Channel(NamedTuple):
    """A channel of the result: the kind of each of its numbers."""

    kinds: tuple[Kind, ...]

    @property
    def width(self) -> int:
        """How many numbers it has at an instant."""
        return len(self.kinds)


_BODY = {
    "position": (units.LENGTH,) * 3,
    "quaternion": (units.NUMBER,) * 4,
    "linear_velocity": (units.SPEED,) * 3,
    "angular_velocity": (units.ANGULAR_SPEED,) * 3,
    "angular_velocity_body": (units.ANGULAR_SPEED,) * 3,
    "com": (units.LENGTH,) * 3,
}
_MUSCLE = {
    "length": units.LENGTH,
    "velocity": units.SPEED,
    "force": units.FORCE,
    "activation": units.NUMBER,
}
_GLOBAL = {
    "time": (units.TIME,),
    "energy/kinetic": (units.ENERGY,),
    "energy/potential": (units.ENERGY,),
    "energy/elastic": (units.ENERGY,),
    "energy/total": (units.ENERGY,),
    "energy/ledger_residual": (units.ENERGY,),
    "momentum/linear": (units.MOMENTUM,) * 3,
    "momentum/angular": (units.ANGULAR_MOMENTUM,) * 3,
    "solver/iterations": (units.NUMBER,),
    "solver/residual": (units.NUMBER,),
}
_CONTACTS = {
    "contacts/count": (units.NUMBER,),
    "contacts/creep": (units.SPEED,),
    "energy/dissipation/contacts/friction": (units.ENERGY,),
    "energy/dissipation/contacts/impact": (units.ENERGY,),
}
"""In scenes with contacts."""

_IMPULSES = {"contacts/residual": (units.NUMBER,), "contacts/unsolved": (units.NUMBER,)}
"""In scenes with contacts or with friction in joints."""

_STRIDES = {
    "energy/modified": (units.ENERGY,),
    "momentum/discrete_linear": (units.MOMENTUM,) * 3,
    "momentum/discrete_angular": (units.ANGULAR_MOMENTUM,) * 3,
    "solver/imbalance": (units.ANY,),
    "solver/fallbacks": (units.NUMBER,),
    "solver/halvings": (units.NUMBER,),
}
"""Of methods that step variationally."""

OF_EACH_CONTACT = tuple(
    f"contacts/{name}"
    for name in (
        "offset",
        "instant",
        "body_a",
        "body_b",
        "mode",
        "point",
        "normal",
        "gap",
        "normal_impulse",
        "tangential_impulse",
    )
)
"""Channels without a number for each instant: an assertion cannot speak of them."""


def channels(scene: Scene) -> dict[str, Channel]:
    """Give every channel of a scene by its name."""
    return {name: Channel(kinds) for name, kinds in _all(scene)}


def _all(scene: Scene) -> Iterator[tuple[str, tuple[Kind, ...]]]:
    yield from _GLOBAL.items()
    for name, body in scene.bodies.items():
        for quantity, kinds in _BODY.items():
            yield f"bodies/{name}/{quantity}", kinds
        if body.kind == "affine":
            yield f"bodies/{name}/deformation", (units.NUMBER,) * 9
    for name, joint in scene.joints.items():
        yield from _of_joint(name, joint)
    for section, entries in (("couplings", scene.couplings), ("constraints", scene.constraints)):
        for name, entry in entries.items():
            if isinstance(entry, CouplingSpec) and entry.reduce:
                continue  # a change of coordinates has no multiplier
            yield f"{section}/{name}/multiplier", (units.ANY,) * entry.row_count
            yield f"{section}/{name}/error", (units.ANY,) * entry.row_count
    if scene.contacts is not None:
        yield from _CONTACTS.items()
    if scene.contacts is not None or any(has_friction(joint) for joint in scene.joints.values()):
        yield from _IMPULSES.items()
    method = METHODS.get(scene.simulation.method)
    if method is not None and method.own_integrator is not None:
        yield from _STRIDES.items()
    for name, spring in scene.springs.items():
        yield f"energy/dissipation/springs/{name}", (units.ENERGY,)
        if isinstance(spring, SpringSpec):
            yield f"springs/{name}/length", (units.LENGTH,)
            yield f"springs/{name}/force", (units.FORCE,)
    for name in scene.muscles:
        yield f"energy/work/muscles/{name}", (units.ENERGY,)
        for quantity, kind in _MUSCLE.items():
            yield f"muscles/{name}/{quantity}", (kind,)
        crossed = coordinates_crossed(scene, name)
        if crossed:
            yield f"muscles/{name}/moment_arm", (units.ANY,) * len(crossed)
    for name, force in scene.forces.items():
        yield f"energy/{force.ACCOUNT}/forces/{name}", (units.ENERGY,)


def _of_joint(name: str, joint: JointSpec) -> Iterator[tuple[str, tuple[Kind, ...]]]:
    for quantity, kinds in COORDINATE_KINDS.items():
        yield f"joints/{name}/{quantity}", tuple(kinds[kind] for kind in joint.coordinates)
    yield f"joints/{name}/force", (units.TORQUE,) * 3 + (units.FORCE,) * 3
    yield f"joints/{name}/constraint_error", (units.LENGTH,)
    if isinstance(joint, MovingJointSpec):
        if has_friction(joint):
            yield f"joints/{name}/friction", (units.TORQUE,) * 3 + (units.FORCE,) * 3
            yield f"energy/dissipation/joints/{name}/friction", (units.ENERGY,)
        if joint.bounds is not None:
            sides = sum(math.isfinite(bound) for pair in joint.bounds if pair for bound in pair)
            yield f"joints/{name}/limit_force", (units.ANY,) * sides
        for cause, field, given in (
            ("work", "force", joint.force),
            ("work", "motion", joint.motion),
            ("dissipation", "damping", joint.stiffness or joint.damping),
            ("dissipation", "limits", joint.bounds),
        ):
            if given is not None:
                yield f"energy/{cause}/joints/{name}/{field}", (units.ENERGY,)
