"""Names, widths and units of the channels of a scene, before it is compiled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from multibody_cli.actuators.computed_torque import ComputedTorqueSpec
from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.constraints.distance import DistanceSpec
from multibody_cli.constraints.relation import CouplingSpec
from multibody_cli.constraints.rope import BeltSpec, RopeSpec
from multibody_cli.escaping import path_component
from multibody_cli.forces.elastic_rope import ElasticRopeSpec
from multibody_cli.forces.elements import element_of, elements_of_joint
from multibody_cli.forces.spring import SpringSpec
from multibody_cli.forces.tension import TensionSpec
from multibody_cli.joints.friction_spec import has_friction
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.methods import METHODS
from multibody_cli.methods.options import STABILIZATION, ends_at_corrected_velocities
from multibody_cli.model import Account, ActuationEntry, ConstraintEntry, JointEntry, SceneNames
from multibody_cli.output.bodies import BODY_CHANNELS, body_paths
from multibody_cli.output.channel import INSTANT
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.series import series_of
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import coordinates_crossed
from multibody_cli.scene.wrenches import bushings_of, wrenches_of
from multibody_cli.spec import units
from multibody_cli.spec.units import QuantityKind

KINDS = {kind.unit.replace("*", " "): kind for kind in units.KINDS if kind is not units.ANY} | {
    "1": units.NUMBER,
    "1/s^2": units.ANGULAR_ACCELERATION,
}
"""Kind of a number by its unit in `output.channels`."""


class ChannelUnits(NamedTuple):
    """A channel of the result: the unit of each of its components."""

    kinds: tuple[QuantityKind, ...]

    @property
    def width(self) -> int:
        """Number of components at one instant."""
        return len(self.kinds)


OF_EACH_CONTACT = tuple(channel.path for channel in CHANNELS if channel.per != INSTANT)
"""Channels with one row for each contact, which `expect` does not accept."""


OF_PAIR = ChannelUnits((units.FORCE,) * 3)
"""The force of a pair of bodies, `contacts/A:B/force`."""


def channels(scene: SceneSpec) -> dict[str, ChannelUnits]:
    """Return every channel of a scene by its name."""
    return {name: ChannelUnits(kinds) for name, kinds in _all(scene)}


def _all(scene: SceneSpec) -> Iterator[tuple[str, tuple[QuantityKind, ...]]]:
    every = [series for series in series_of(names_of(scene)) if series.channel.per == INSTANT]
    of_all_bodies = {series.path: series for series in every if "body" in series.channel.dimensions}
    for path in body_paths(list(scene.bodies), of_all_bodies):
        stored = of_all_bodies[BODY_CHANNELS[path.rpartition("/")[2]].paths[0]]
        yield path, _kinds_of(stored.units, stored.shape[1])
    for series in every:
        if series.path not in of_all_bodies:  # an array of all bodies is not a channel of an assertion
            yield series.path, _kinds_of(series.units, math.prod(series.shape))


def _kinds_of(unit: str, width: int) -> tuple[QuantityKind, ...]:
    """Kind of each component of a channel, from its unit or those of its components."""
    names = unit.split(", ")
    return tuple(units.ANY if " or " in name else KINDS[name] for name in (names * width if len(names) == 1 else names))


def names_of(scene: SceneSpec) -> SceneNames:
    """Return the names of the model of a scene, as far as they are known before its arrays."""
    joints = tuple(
        JointEntry(name, joint.type, joint.coordinates, slice(len(joint.coordinates)), slice(0), 0)
        for name, joint in scene.joints.items()
    )
    muscles = ((name, coordinates_crossed(scene, name)) for name in scene.muscles)
    constraint_entries, actuators = tuple(_constraint_entries(scene)), tuple(_actuator_entries(scene))
    springs = tuple(name for name, spring in scene.springs.items() if isinstance(spring, SpringSpec))
    tensions = tuple(name for name, force in scene.forces.items() if isinstance(force, TensionSpec))
    along = [
        *(("spring_force", k, 1.0, scene.springs[name]) for k, name in enumerate(springs)),
        *(("muscle_force", k, 1.0, muscle) for k, muscle in enumerate(scene.muscles.values())),
        *(("tension_force", k, 1.0, scene.forces[name]) for k, name in enumerate(tensions)),
        *_distances(scene, constraint_entries),
    ]
    method = METHODS.get(scene.simulation.method)
    return SceneNames(
        bodies=tuple(scene.bodies),
        body_rows=np.zeros(0, np.int64),
        joints=joints,
        accounts=tuple(dict.fromkeys(_accounts(scene))),  # elements of a joint may share one
        coordinates=(),
        rows=(),
        constraint_entries=constraint_entries,
        inputs=tuple(scene.inputs),
        events=tuple(scene.events),
        paths=tuple(scene.paths),
        parts_of_paths=tuple(
            (
                *(
                    (field, column, sign)
                    for field, column, sign, one in along
                    if getattr(one, "path", None) == path.path
                ),
                *(
                    ("actuator_force", entry.columns.start, -1.0)
                    for entry in actuators
                    if _is_along(scene, entry, name)
                ),
                *(("brake_force", k, 1.0) for k, brake in enumerate(scene.brakes) if brake == ("paths", name)),
            )
            for name, path in scene.paths.items()
        ),
        tensions=tensions,
        springs=springs,
        muscles=tuple(ActuationEntry(name, slice(len(crossed)), crossed) for name, crossed in muscles),
        actuators=actuators,
        filtered=tuple(name for name, one in scene.actuators.items() if isinstance(one, ActuatorSpec) and one.filter),
        sensors=tuple(scene.sensors),
        combinations=tuple(scene.combinations),
        points=tuple(
            (name, point) for name, body in scene.bodies.items() if body.kind != "affine" for point in body.points
        ),
        affine=tuple(name for name, body in scene.bodies.items() if body.kind == "affine"),
        contacts=int(scene.contacts is not None),
        friction_joints=scene.friction_joints,
        brakes=scene.brakes,
        ropes=tuple(_pieces((name, len(rope.over) - rope.one_sided) for name, rope in _ropes(scene))),
        elastic_ropes=tuple(
            _pieces(
                (name, len(spring.sections))
                for name, spring in scene.springs.items()
                if isinstance(spring, ElasticRopeSpec)
            )
        ),
        friction_ropes=tuple(
            _pieces((name, sum(one.friction > 0.0 for one in rope.over)) for name, rope in _ropes(scene))
        ),
        wrenches=tuple(wrenches_of(scene)),
        bushings=tuple(bushings_of(scene)),
        resists_rolling=scene.resists_rolling,
        variational=method is not None and method.own_integrator is not None,
    )


def _ropes(scene: SceneSpec) -> Iterator[tuple[str, RopeSpec | BeltSpec]]:
    for name, rope in scene.constraints.items():
        if isinstance(rope, RopeSpec | BeltSpec):
            yield name, rope


def _pieces(counts: Iterable[tuple[str, int]]) -> Iterator[ActuationEntry]:
    """Yield the elements that have pieces, with the numbers of these."""
    first = 0
    for name, number in counts:
        if number:
            yield ActuationEntry(name, slice(first, first + number), ())
            first += number


def _is_along(scene: SceneSpec, entry: ActuationEntry, path: str) -> bool:
    """Whether an actuator acts on the length of a path; its force is against the tension."""
    return getattr(scene.actuators[entry.name], "path", None) == path


def _distances(scene: SceneSpec, entries: Iterable[ConstraintEntry]) -> Iterator[tuple[str, int, float, DistanceSpec]]:
    """Yield the rows of constraints on distances; the multiplier of a greatest one is a tension, others press."""
    for entry in entries:
        spec = scene.constraints.get(entry.name) if entry.section == "constraints" else None
        if isinstance(spec, DistanceSpec):
            signs = (
                [-1.0] if spec.limits is None else [s for s, end in zip((-1.0, 1.0), spec.limits, strict=True) if end]
            )
            yield from (("multiplier", entry.rows.start + k, sign, spec) for k, sign in enumerate(signs))


def _actuator_entries(scene: SceneSpec) -> Iterator[ActuationEntry]:
    """Yield the actuators of a scene; their forces are in its order."""
    count = 0
    for name, actuator in scene.actuators.items():
        assert isinstance(actuator, ActuatorSpec | ComputedTorqueSpec)
        yield ActuationEntry(name, slice(count, count + len(actuator.coordinates)), actuator.coordinates)
        count += len(actuator.coordinates)


def _constraint_entries(scene: SceneSpec) -> Iterator[ConstraintEntry]:
    """Yield the elements with rows; these follow those of loop joints, in this order."""
    first = 0
    for section, name, count, one_sided in _rows(scene):
        yield ConstraintEntry(section, name, slice(first, first + count), one_sided)
        first += count


def _rows(scene: SceneSpec) -> Iterator[tuple[str, str, int, bool]]:
    for name, joint in scene.joints.items():
        if isinstance(joint, MovingJointSpec) and joint.bounds is not None:
            yield "joints", name, sum(math.isfinite(bound) for pair in joint.bounds if pair for bound in pair), True
    for name, coupling in scene.couplings.items():
        if not (isinstance(coupling, CouplingSpec) and coupling.reduce):  # a reduced coupling has no multiplier
            yield "couplings", name, coupling.row_count, coupling.one_sided
    for name, constraint in scene.constraints.items():
        yield "constraints", name, constraint.row_count, constraint.one_sided
    for name, combination in scene.combinations.items():
        yield "combinations", name, len(combination.bounds), True


def _accounts(scene: SceneSpec) -> Iterator[Account]:
    if ends_at_corrected_velocities(scene.simulation.options):
        yield STABILIZATION
    if scene.contacts is not None:
        yield Account("dissipation", "contacts/friction")
        yield Account("dissipation", "contacts/impact")
        if scene.resists_rolling:
            yield Account("dissipation", "contacts/rolling")
    for section, entries in (("springs", scene.springs), ("muscles", scene.muscles), ("forces", scene.forces)):
        for name, entry in entries.items():
            yield Account(element_of(entry).account, f"{section}/{path_component(name)}")
    for name in scene.actuators:
        yield Account("work", f"actuators/{path_component(name)}")
    for name, combination in scene.combinations.items():
        if combination.is_sprung:
            yield Account("dissipation", f"combinations/{path_component(name)}/damping")
        if combination.bounds:
            yield Account("dissipation", f"combinations/{path_component(name)}/limits")
    for section, name in scene.brakes:
        yield Account("dissipation", f"{section}/{path_component(name)}/friction")
    for section, constraints in (("couplings", scene.couplings), ("constraints", scene.constraints)):
        for name, constraint in constraints.items():
            if constraint.account:
                yield Account(constraint.account, f"{section}/{path_component(name)}")
            if constraint.is_driven:
                yield Account("work", f"{section}/{path_component(name)}")
            if constraint.has_friction:
                yield Account("dissipation", f"{section}/{path_component(name)}")
    for name, joint in scene.joints.items():
        if has_friction(joint):
            yield Account("dissipation", f"joints/{path_component(name)}/friction")
        if isinstance(joint, MovingJointSpec):
            if joint.motion is not None:
                yield Account("work", f"joints/{path_component(name)}/motion")
            if joint.bounds is not None:
                yield Account("dissipation", f"joints/{path_component(name)}/limits")
        for element, fields in elements_of_joint(joint):
            yield Account(element.account, f"joints/{path_component(name)}/{fields.cause}")
    for name, event in scene.events.items():
        if event.changes:
            yield Account("work", f"events/{path_component(name)}")
