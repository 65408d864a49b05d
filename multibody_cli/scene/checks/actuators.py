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
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.timing import integer_multiple, is_adaptive
from multibody_cli.spec import units
from multibody_cli.spec.quantities import read_quantity


def check_actuators(draft: Draft) -> None:
    """Check all actuators."""
    for name, actuator in draft.scene.actuators.items():
        path: NodePath = ("actuators", name)
        if isinstance(actuator, ComputedTorqueSpec):
            _check_computed_torque(draft, path, actuator)
        elif isinstance(actuator, ActuatorSpec):
            if actuator.combination is not None:
                _check_combination(draft, path, actuator)
            elif actuator.path is not None:
                _check_on_path(draft, path, actuator)
            else:
                _check_on_joint(draft, path, actuator)
            _check_sampling(draft, path, actuator)
            for field, message in actuator.problems(find(draft.tree, path).mark.resolve_path):
                draft.report((*path, *field), message)


def _check_combination(draft: Draft, path: NodePath, actuator: ActuatorSpec) -> None:
    known = draft.names("combinations")
    if actuator.combination not in known:
        draft.report((*path, "combination"), f"unknown combination; {nearest(str(actuator.combination), known)}")
    if actuator.reflected_inertia > 0.0:
        message = "acts on one coordinate: write `joint`, or give the inertia as `armature` of the joints"
        draft.report((*path, "rotor_inertia"), message)


def _check_on_joint(draft: Draft, path: NodePath, actuator: ActuatorSpec) -> None:
    coordinate = find_coordinate(draft, (*path, "joint"), actuator.axis)
    if coordinate is not None:
        joint, place = coordinate
        _check_drivable(draft, (*path, "joint"), joint, place)
        _check_units(draft, path, actuator.DIMENSIONS, draft.scene.joints[joint].coordinates[place])


def _check_on_path(draft: Draft, path: NodePath, actuator: ActuatorSpec) -> None:
    if actuator.path not in draft.names("paths"):
        names = draft.names("paths")
        draft.report((*path, "path"), f"unknown path `{actuator.path}`; {nearest(str(actuator.path), names)}")
    _check_units(draft, path, actuator.DIMENSIONS, Coordinate.LENGTH)
    if actuator.reflected_inertia > 0.0:
        draft.report((*path, "rotor_inertia"), "a path has no coordinate that could have the inertia: use a `joint`")


def _check_drivable(draft: Draft, path: NodePath, joint: str, place: int) -> None:
    if draft.scene.joints[joint].driven[place]:
        draft.report(path, "has no effect: the `motion` of this coordinate is prescribed")


def _check_units(draft: Draft, path: NodePath, dimensions: Mapping[str, str], coordinate: Coordinate) -> None:
    """Check the fields whose unit depends on the coordinate, as they are written."""
    written = draft.data["actuators"][path[1]]
    for field, dimension in dimensions.items():
        if field in written:
            _check_unit(draft, (*path, field), written[field], CONTROL_KINDS[dimension][coordinate])


def _check_unit(draft: Draft, path: NodePath, value: Any, kind: units.QuantityKind) -> None:
    """Check a number, each of a list, or the values of a table; expressions have no units."""
    if isinstance(value, dict):
        _check_unit(draft, (*path, "values"), value.get("values"), kind)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            _check_unit(draft, (*path, index), entry, kind)
    elif isinstance(value, str) and units.split_quantity(value) is not None:
        try:
            read_quantity(value, kind)
        except QuantityError as error:
            draft.report(path, str(error))


def _check_sampling(draft: Draft, path: NodePath, actuator: ActuatorSpec) -> None:
    """Check that samples and delays are whole numbers of steps, unless the integrator is adaptive."""
    simulation = draft.scene.simulation
    if "simulation" in draft.broken:
        return
    if actuator.sampling_period is None or is_adaptive(simulation):
        if actuator.filter and actuator.sampling_period is None and is_adaptive(simulation):
            steps = f"`{simulation.integrator}` has no constant steps at which the input would be sampled"
            draft.report((*path, "filter"), f"{steps}: write `rate` or `period`")
        return
    times = {"rate" if actuator.rate is not None else "period": actuator.sampling_period}
    if actuator.delay > 0.0:
        times["delay"] = actuator.delay
    for field, time in times.items():
        name = "1/rate" if field == "rate" else field
        try:
            integer_multiple(time, simulation.step, name, "step")
        except QuantityError as error:
            draft.report((*path, field), str(error))


def _check_computed_torque(draft: Draft, path: NodePath, actuator: ComputedTorqueSpec) -> None:
    """Check that the coordinates are those of a tree of joints, and all of its free coordinates."""
    scene, commanded = draft.scene, set()
    for word in actuator.joints:
        coordinate = find_coordinate(draft, (*path, "joints", word), word)
        if coordinate is None:
            return
        _check_drivable(draft, (*path, "joints", word), *coordinate)
        _check_units_of_target(draft, (*path, "joints", word), *coordinate)
        commanded.add(coordinate)
    if "joints" in draft.broken or "bodies" in draft.broken:
        return
    every = [name for name, one in scene.actuators.items() if isinstance(one, ComputedTorqueSpec)]
    if len(every) > 1:
        draft.report(path, f"a mechanism has one actuator of this type, found {' and '.join(map(repr, every))}")
    if draft.closing or scene.couplings or scene.constraints:
        draft.report(path, "the mechanism has closed loops or constraints, which inverse dynamics does not include")
    free = [body for body in scene.bodies if body not in draft.inboard]
    if free:
        draft.report((*path, "joints"), f"body `{free[0]}` is held by no joint: its motion cannot be commanded")
    for name, joint in scene.joints.items():
        for k in range(len(joint.coordinates)):
            if (name, k) not in commanded and not joint.driven[k]:
                word = name if len(joint.coordinates) == 1 else f"{name}/{k}"
                draft.report((*path, "joints"), f"expected all free coordinates of the mechanism: `{word}` is missing")
                return


def _check_units_of_target(draft: Draft, path: NodePath, joint: str, place: int) -> None:
    kind = CONTROL_KINDS["position"][draft.scene.joints[joint].coordinates[place]]
    _check_unit(draft, path, draft.data["actuators"][path[1]]["joints"][path[3]], kind)
