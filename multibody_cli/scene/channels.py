"""Names, widths and units of the channels of a scene, for the checks of `expect`.

`output.channels` declares the channels with their units; this module lists the elements of a scene that have them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.forces.elements import element_of
from multibody_cli.forces.spring_spec import SpringSpec
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.friction import has_friction
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.methods import METHODS
from multibody_cli.output.bodies import BODY_CHANNELS
from multibody_cli.output.channel import AXES, INSTANT
from multibody_cli.output.channel import Channel as Declaration
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.contact_channels import GROUP, IMPULSES
from multibody_cli.output.variational_channels import VARIATIONAL_STEPS
from multibody_cli.scene.muscle_paths import coordinates_crossed
from multibody_cli.scene.schema import Scene
from multibody_cli.spec import units
from multibody_cli.spec.units import Kind

KINDS = {
    kind.unit.replace("*", " "): kind
    for kind in (
        units.TIME,
        units.LENGTH,
        units.SPEED,
        units.ACCELERATION,
        units.ANGLE,
        units.ANGULAR_SPEED,
        units.ANGULAR_ACCELERATION,
        units.RATE,
        units.FORCE,
        units.TORQUE,
        units.ENERGY,
        units.MOMENTUM,
        units.ANGULAR_MOMENTUM,
    )
} | {"1": units.NUMBER, "1/s^2": units.ANGULAR_ACCELERATION}
"""Kind of a number by its unit in `output.channels`."""


class Channel(NamedTuple):
    """A channel of the result: the unit of each of its components."""

    kinds: tuple[Kind, ...]

    @property
    def width(self) -> int:
        """Number of components at one instant."""
        return len(self.kinds)


class Element(NamedTuple):
    """An element of a scene with channels: its name, the coordinates of a joint, the length of an axis of its own."""

    name: str = ""
    coordinates: tuple[Coordinate, ...] = ()
    length: int = 0


OF_EACH_CONTACT = tuple(channel.path for channel in CHANNELS if channel.per != INSTANT)
"""Channels with one row for each contact, which `expect` does not accept."""


def channels(scene: Scene) -> dict[str, Channel]:
    """Return every channel of a scene by its name."""
    return {name: Channel(kinds) for name, kinds in _all(scene)}


def _all(scene: Scene) -> Iterator[tuple[str, tuple[Kind, ...]]]:
    declared = {channel.path: channel for channel in CHANNELS if channel.per == INSTANT}
    for quantity, body_channel in BODY_CHANNELS.items():
        kinds = _kinds_of(declared[body_channel.paths[0]], Element())
        for name in scene.bodies:
            yield f"bodies/{name}/{quantity}", kinds
    for path, channel in declared.items():
        if "body" not in channel.dimensions:  # an array of all bodies is not a channel of an assertion
            for element in ELEMENTS[channel.expansion](scene):
                yield path.format(**{channel.expansion: element.name}), _kinds_of(channel, element)


def _kinds_of(channel: Declaration, element: Element) -> tuple[Kind, ...]:
    """Kind of each component of a channel of an element."""
    if "{q}" in channel.units:
        names = [channel.units.format(q=kind.value) for kind in element.coordinates]
    else:
        names = channel.units.split(", ")
    if len(names) == 1 and channel.dimensions and "coordinate" not in channel.dimensions:
        names *= len(AXES.get(channel.dimensions[-1], range(element.length)))
    return tuple(units.ANY if " or " in name else KINDS[name] for name in names)


def _limited(scene: Scene) -> list[Element]:
    return [
        Element(name, length=sum(math.isfinite(bound) for pair in joint.bounds if pair for bound in pair))
        for name, joint in scene.joints.items()
        if isinstance(joint, MovingJointSpec) and joint.bounds is not None
    ]


def _couplings(scene: Scene) -> list[Element]:
    return [
        Element(name, length=coupling.row_count)
        for name, coupling in scene.couplings.items()
        if not (isinstance(coupling, CouplingSpec) and coupling.reduce)  # a reduced coupling has no multiplier
    ]


def _crossing(scene: Scene) -> list[Element]:
    crossed = {name: len(coordinates_crossed(scene, name)) for name in scene.muscles}
    return [Element(name, length=length) for name, length in crossed.items() if length]


def _accounts(kind: str) -> Callable[[Scene], list[Element]]:
    """List the energy accounts of a kind, `work` or `dissipation`."""
    return lambda scene: [Element(cause) for account, cause in _all_accounts(scene) if account == kind]


def _all_accounts(scene: Scene) -> Iterator[tuple[str, str]]:
    if scene.contacts is not None:
        yield "dissipation", "contacts/friction"
        yield "dissipation", "contacts/impact"
    for section, entries in (("springs", scene.springs), ("muscles", scene.muscles), ("forces", scene.forces)):
        for name, entry in entries.items():
            yield element_of(entry).account, f"{section}/{name}"
    for name, joint in scene.joints.items():
        if not isinstance(joint, MovingJointSpec):
            continue
        for kind, field, given in (
            ("dissipation", "friction", has_friction(joint) or None),
            ("work", "force", joint.force),
            ("work", "motion", joint.motion),
            ("dissipation", "damping", joint.stiffness or joint.damping),
            ("dissipation", "limits", joint.bounds),
        ):
            if given is not None:
                yield kind, f"joints/{name}/{field}"


def _friction_joints(scene: Scene) -> list[Element]:
    return [Element(name) for name, joint in scene.joints.items() if has_friction(joint)]


def _is_variational(scene: Scene) -> bool:
    method = METHODS.get(scene.simulation.method)
    return method is not None and method.own_integrator is not None


ELEMENTS: dict[str, Callable[[Scene], list[Element]]] = {
    "": lambda scene: [Element()],
    "affine": lambda scene: [Element(name) for name, body in scene.bodies.items() if body.kind == "affine"],
    "joint": lambda scene: [Element(name, joint.coordinates) for name, joint in scene.joints.items()],
    "friction_joint": _friction_joints,
    "limited": _limited,
    "coupling": _couplings,
    "constraint": lambda scene: [Element(name, length=entry.row_count) for name, entry in scene.constraints.items()],
    "spring": lambda scene: [Element(name) for name, spring in scene.springs.items() if isinstance(spring, SpringSpec)],
    "muscle": lambda scene: [Element(name) for name in scene.muscles],
    "crossing": _crossing,
    "work": _accounts("work"),
    "dissipation": _accounts("dissipation"),
    GROUP: lambda scene: [Element()] if scene.contacts is not None else [],
    IMPULSES: lambda scene: [Element()] if scene.contacts is not None or _friction_joints(scene) else [],
    VARIATIONAL_STEPS: lambda scene: [Element()] if _is_variational(scene) else [],
}
"""Elements of a scene by `Channel.expansion`, like `output.series.EXPANSIONS` for a model."""
