"""Checks of actuators: units, coordinates that they can act on, and sampling instants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multibody_cli.actuators.computed_torque import ComputedTorqueSpec
from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.errors import QuantityError, nearest
from multibody_cli.joints.coordinate_fields import CONTROL_KINDS, Coordinate
from multibody_cli.nodes import NodePath, find
from multibody_cli.scene.checks.constraints import find_coordinate
from multibody_cli.scene.checks.partial_scene import PartialScene
from multibody_cli.scene.timing import integer_multiple, is_adaptive
from multibody_cli.spec import units
from multibody_cli.spec.quantities import read_quantity


def check_actuators(partial: PartialScene) -> None:
    """Check all actuators."""
    above: dict[str, ActuatorSpec] = {}
    for name, actuator in partial.scene.actuators.items():
        path: NodePath = ("actuators", name)
        if isinstance(actuator, ComputedTorqueSpec):
            _check_computed_torque(partial, path, actuator)
        elif isinstance(actuator, ActuatorSpec):
            if actuator.combination is not None:
                _check_combination(partial, path, actuator)
            elif actuator.path is not None:
                _check_on_path(partial, path, actuator)
            else:
                _check_on_joint(partial, path, actuator)
            _check_sampling(partial, path, actuator)
            for field, message in actuator.problems(find(partial.tree, path).mark.resolve_path, above):
                partial.report((*path, *field), message)
            above[name] = actuator


def _check_combination(partial: PartialScene, path: NodePath, actuator: ActuatorSpec) -> None:
    known = partial.names("combinations")
    if actuator.combination not in known:
        partial.report((*path, "combination"), f"unknown combination; {nearest(str(actuator.combination), known)}")
    if actuator.reflected_inertia > 0.0:
        message = "acts on one coordinate: write `joint`, or give the inertia as `armature` of the joints"
        partial.report((*path, "rotor_inertia"), message)


def _check_on_joint(partial: PartialScene, path: NodePath, actuator: ActuatorSpec) -> None:
    coordinate = find_coordinate(partial, (*path, "joint"), actuator.axis)
    if coordinate is not None:
        joint, place = coordinate
        _check_drivable(partial, (*path, "joint"), joint, place)
        _check_units(partial, path, actuator.DIMENSIONS, partial.scene.joints[joint].coordinates[place])


def _check_on_path(partial: PartialScene, path: NodePath, actuator: ActuatorSpec) -> None:
    if actuator.path not in partial.names("paths"):
        names = partial.names("paths")
        partial.report((*path, "path"), f"unknown path `{actuator.path}`; {nearest(str(actuator.path), names)}")
    _check_units(partial, path, actuator.DIMENSIONS, Coordinate.LENGTH)
    if actuator.reflected_inertia > 0.0:
        partial.report((*path, "rotor_inertia"), "a path has no coordinate that could have the inertia: use a `joint`")


def _check_drivable(partial: PartialScene, path: NodePath, joint: str, place: int) -> None:
    if partial.scene.joints[joint].driven[place]:
        partial.report(path, "has no effect: the `motion` of this coordinate is prescribed")


def _check_units(partial: PartialScene, path: NodePath, dimensions: Mapping[str, str], coordinate: Coordinate) -> None:
    """Check the fields whose unit depends on the coordinate, as they are written."""
    written = partial.data["actuators"][path[1]]
    for field, dimension in dimensions.items():
        if field in written:
            _check_unit(partial, (*path, field), written[field], CONTROL_KINDS[dimension][coordinate])


def _check_unit(partial: PartialScene, path: NodePath, value: Any, kind: units.QuantityKind) -> None:
    """Check a number, each of a list, or the values of a table; expressions have no units."""
    if isinstance(value, dict):
        _check_unit(partial, (*path, "values"), value.get("values"), kind)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            _check_unit(partial, (*path, index), entry, kind)
    elif isinstance(value, str) and units.split_quantity(value) is not None:
        try:
            read_quantity(value, kind)
        except QuantityError as error:
            partial.report(path, str(error))


def _check_sampling(partial: PartialScene, path: NodePath, actuator: ActuatorSpec) -> None:
    """Check that samples and delays are whole numbers of steps, unless the integrator is adaptive."""
    simulation = partial.scene.simulation
    if "simulation" in partial.broken:
        return
    if actuator.sampling_period is None or is_adaptive(simulation):
        if actuator.filter and actuator.sampling_period is None and is_adaptive(simulation):
            steps = f"`{simulation.integrator}` has no constant steps at which the input would be sampled"
            partial.report((*path, "filter"), f"{steps}: write `rate` or `period`")
        return
    times = {"rate" if actuator.rate is not None else "period": actuator.sampling_period}
    if actuator.delay > 0.0:
        times["delay"] = actuator.delay
    for field, time in times.items():
        name = "1/rate" if field == "rate" else field
        try:
            integer_multiple(time, simulation.step, name, "step")
        except QuantityError as error:
            partial.report((*path, field), str(error))


def _check_computed_torque(partial: PartialScene, path: NodePath, actuator: ComputedTorqueSpec) -> None:
    """Check that the coordinates are those of a tree of joints, and all of its free coordinates."""
    scene, commanded = partial.scene, set()
    for word in actuator.joints:
        coordinate = find_coordinate(partial, (*path, "joints", word), word)
        if coordinate is None:
            return
        _check_drivable(partial, (*path, "joints", word), *coordinate)
        _check_units_of_target(partial, (*path, "joints", word), *coordinate)
        commanded.add(coordinate)
    if "joints" in partial.broken or "bodies" in partial.broken:
        return
    every = [name for name, one in scene.actuators.items() if isinstance(one, ComputedTorqueSpec)]
    if len(every) > 1:
        partial.report(path, f"a mechanism has one actuator of this type, found {' and '.join(map(repr, every))}")
    if partial.closing or scene.couplings or scene.constraints:
        partial.report(path, "the mechanism has closed loops or constraints, which inverse dynamics does not include")
    free = [body for body in scene.bodies if body not in partial.inboard]
    if free:
        partial.report((*path, "joints"), f"body `{free[0]}` is held by no joint: its motion cannot be commanded")
    for name, joint in scene.joints.items():
        for k in range(len(joint.coordinates)):
            if (name, k) not in commanded and not joint.driven[k]:
                word = name if len(joint.coordinates) == 1 else f"{name}/{k}"
                partial.report(
                    (*path, "joints"), f"expected all free coordinates of the mechanism: `{word}` is missing"
                )
                return


def _check_units_of_target(partial: PartialScene, path: NodePath, joint: str, place: int) -> None:
    kind = CONTROL_KINDS["position"][partial.scene.joints[joint].coordinates[place]]
    _check_unit(partial, path, partial.data["actuators"][path[1]]["joints"][path[3]], kind)
