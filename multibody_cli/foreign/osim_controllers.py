"""Controllers of OpenSim: those that prescribe the controls of actuators and muscles as functions of time."""

from __future__ import annotations

from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_functions import property_named, read_signal
from multibody_cli.foreign.osim_model import Osim

OF_CONTROLLERS = {
    "controls_file": "write each control of the table as `{file: NAME, times: time, values: COLUMN}`",
    "interpolation_method": "of the table of controls",
}
"""Properties of controllers that are dropped, and why."""


def read_controller(model: Osim, element: Element) -> None:
    """Read the controls that a controller prescribes, before the actuators."""
    if element.tag != "PrescribedController":
        model.reading.ledger.drop(element, "controllers of this type are not read")
        return
    if not model.is_enforced(element, "enabled"):
        return
    model.drop(element, OF_CONTROLLERS)
    listed = (model.text(element, "socket_actuators") or model.text(element, "actuator_list")).split()
    found = property_named(model, element, "ControlFunctions")
    if found is None:
        return
    model.drop(found, {})
    functions = [one for holder in model.reading.children(found, "objects") for one in holder.children]
    if len(listed) != len(functions):  # all actuators, by the names of their functions
        listed = [one.attributes.get("name", "") for one in functions]
    for name, function in zip(listed, functions, strict=True):
        model.controls[name.rsplit("/", 1)[-1]] = read_signal(model, function)
