"""Muscles of OpenSim, with the curves and parameters of their type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_model import Osim
from multibody_cli.foreign.osim_paths import read_path

LEAST_ACTIVATION = 0.01

DAMPED = 0.001
"""Damping of fibers below which there is none."""

Parameters = dict[str, tuple[str, float]]
"""Parameters of a scene and their defaults in OpenSim, by properties of OpenSim."""

OF_ALL: Parameters = {
    "max_isometric_force": ("max_isometric_force", 1000.0),
    "optimal_fiber_length": ("optimal_length", 0.1),
    "tendon_slack_length": ("tendon_slack_length", 0.2),
    "pennation_angle_at_optimal": ("pennation_angle", 0.0),
    "max_contraction_velocity": ("max_velocity", 10.0),
}

THELEN: Parameters = {
    "FmaxTendonStrain": ("tendon_strain", 0.04),
    "FmaxMuscleStrain": ("passive_strain", 0.6),
    "KshapeActive": ("active_width", 0.45),
    "KshapePassive": ("passive_shape", 5.0),
    "Af": ("velocity_shape", 0.25),
    "Flen": ("lengthening_force", 1.4),
    "fv_linear_extrap_threshold": ("velocity_limit", 0.95),
}

MILLARD: dict[str, Parameters] = {
    "ActiveForceLengthCurve": {
        "min_norm_active_fiber_length": ("shortest_length", 0.4441),
        "transition_norm_fiber_length": ("transition_length", 0.73),
        "max_norm_active_fiber_length": ("longest_length", 1.8123),
        "shallow_ascending_slope": ("shallow_slope", 0.8616),
        "minimum_value": ("least_active_force", 0.1),
    },
    "ForceVelocityCurve": {
        "concentric_slope_at_vmax": ("shortening_slope", 0.0),
        "concentric_slope_near_vmax": ("shortening_slope_near", 0.25),
        "isometric_slope": ("isometric_slope", 5.0),
        "eccentric_slope_at_vmax": ("lengthening_slope", 0.0),
        "eccentric_slope_near_vmax": ("lengthening_slope_near", 0.15),
        "max_eccentric_velocity_force_multiplier": ("lengthening_force", 1.4),
        "concentric_curviness": ("shortening_curviness", 0.6),
        "eccentric_curviness": ("lengthening_curviness", 0.9),
    },
    "FiberForceLengthCurve": {
        "strain_at_zero_force": ("passive_start", 0.0),
        "strain_at_one_norm_force": ("passive_strain", 0.7),
        "stiffness_at_low_force": ("passive_low_stiffness", 0.2),
        "stiffness_at_one_norm_force": ("passive_stiffness", 0.0),
        "curviness": ("passive_curviness", 0.75),
    },
    "TendonForceLengthCurve": {
        "strain_at_one_norm_force": ("tendon_strain", 0.049),
        "stiffness_at_one_norm_force": ("tendon_stiffness", 0.0),
        "norm_force_at_toe_end": ("tendon_toe_force", 2.0 / 3.0),
        "curviness": ("tendon_curviness", 0.5),
    },
}
"""Parameters by curve; with a stiffness of 0, the scene computes it from the strain."""

LEAST_ACTIVE_FORCE, LEAST_SLOPE = 0.1, 0.5
"""Least values with an elastic tendon and no damping; the slope is relative to that near the end of the curve."""

DEGROOTE: Parameters = {
    "active_force_width_scale": ("active_width", 1.0),
    "passive_fiber_strain_at_one_norm_force": ("passive_strain", 0.6),
    "tendon_strain_at_one_norm_force": ("tendon_strain", 0.049),
}

NOT_OF_THE_MOTION = {
    "optimal_force": "of muscles that are actuators without curves",
    "min_control": "a bound of controllers",
    "max_control": "a bound of controllers",
    "default_fiber_length": "the fibers start in equilibrium with the tendon",
    "default_normalized_tendon_force": "the fibers start in equilibrium with the tendon",
    "tendon_compliance_dynamics_mode": "a choice of the solver",
    "maximum_pennation_angle": "fibers whose pennation reaches 90 degrees are reported",
}
"""Properties of muscles that have no effect here, and why."""


class Kind(NamedTuple):
    """A type of muscles: its curves in a scene, its activation dynamics with both time constants, and its damping.

    Then its activation at the start, and the least one.
    """

    curves: str
    dynamics: str
    activation_time: float
    deactivation_time: float
    damping: float
    activation: float
    least_activation: float
    read: Callable[[Osim, Element, float], dict[str, Any]]


def _given(model: Osim, element: Element, parameters: Parameters) -> dict[str, float]:
    return {field: model.number(element, tag, default) for tag, (field, default) in parameters.items()}


def _thelen(model: Osim, element: Element, _damping: float) -> dict[str, Any]:
    return _given(model, element, THELEN)


def _millard(model: Osim, element: Element, damping: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for tag, parameters in MILLARD.items():
        curve = model.property(element, tag) or Element(tag, {}, element.mark)
        for one in (curve, *element.all(tag)):  # one without parameters is that of the default object
            model.reading.ledger.keep(one, "name")
        found |= _given(model, curve, parameters)
    is_singular = damping < DAMPED and not _is_rigid(model, element)
    found["least_active_force"] = max(found["least_active_force"], LEAST_ACTIVE_FORCE) if is_singular else 0.0
    for slope in ("shortening_slope", "lengthening_slope"):
        found[slope] = max(found[slope], LEAST_SLOPE * found[f"{slope}_near"]) if is_singular else 0.0
    return {key: value for key, value in found.items() if value or not key.endswith("_stiffness")}


def _degroote(model: Osim, element: Element, _damping: float) -> dict[str, Any]:
    without_passive = model.flag(element, "ignore_passive_fiber_force", False)
    return _given(model, element, DEGROOTE) | ({"passive": "0*x"} if without_passive else {})


KINDS = {
    "Thelen2003Muscle": Kind("thelen2003", "thelen2003", 0.015, 0.05, 0.0, 0.05, LEAST_ACTIVATION, _thelen),
    "Millard2012EquilibriumMuscle": Kind(
        "millard2012", "thelen2003", 0.01, 0.04, 0.1, 0.05, LEAST_ACTIVATION, _millard
    ),
    "DeGrooteFregly2016Muscle": Kind("degroote2016", "degroote2016", 0.015, 0.06, 0.0, 0.5, 0.0, _degroote),
}
"""Types of muscles whose curves a scene has."""

APPROXIMATED = (
    "Millard2012AccelerationMuscle",
    "RigidTendonMuscle",
    "Schutte1993Muscle_Deprecated",
    "Delp1990Muscle_Deprecated",
)
"""Other types, which have the curves of Thelen (2003) in a scene."""

OF_OTHER_TYPES = ("time_scale", "activation1", "activation2", "damping")
"""Numbers of these types alone."""


def read_muscle(model: Osim, element: Element) -> None:
    """Read a muscle, whose excitation is 0 without a controller."""
    path = read_path(model, element)
    if path is None:
        return
    kind = KINDS.get(element.tag, KINDS["Thelen2003Muscle"])
    if element.tag in APPROXIMATED:
        model.reading.ledger.approximate(element, "by the curves of Thelen (2003) in place of its own")
        own = {one.tag for one in element.children if one.children or one.tag in OF_OTHER_TYPES}
        model.drop(element, dict.fromkeys(own, "curves and states of its type"))
    model.drop(element, NOT_OF_THE_MOTION)
    fields: dict[str, Any] = {"path": path} | _given(model, element, OF_ALL)
    damping = model.number(element, "fiber_damping", kind.damping)
    fields["curves"] = {"type": kind.curves} | kind.read(model, element, damping)
    fields["fiber_damping"] = damping if damping >= DAMPED else 0.0
    least = model.number(element, "minimum_activation", kind.least_activation)
    if not _is_rigid(model, element) and fields["fiber_damping"] == least == 0.0:
        model.reading.ledger.approximate(
            element, f"its activation is at least {LEAST_ACTIVATION}", "fibers of an elastic tendon without damping"
        )
        least = LEAST_ACTIVATION
    fields["minimum_activation"] = least
    activation = model.number(element, "default_activation", kind.activation)
    if model.flag(element, "ignore_activation_dynamics", False):
        fields["activation"] = model.controls.get(path, activation)
    else:
        fields["excitation"] = model.controls.get(path, 0.0)
        fields["initial_activation"] = activation
        fields["activation_dynamics"] = kind.dynamics
        fields["activation_time"] = model.number(element, "activation_time_constant", kind.activation_time)
        fields["deactivation_time"] = model.number(element, "deactivation_time_constant", kind.deactivation_time)
    if not _is_rigid(model, element) and fields["tendon_slack_length"] > 0.0:
        fields["tendon"] = "elastic"
    model.draft.add("muscles", path, element, **fields)


def _is_rigid(model: Osim, element: Element) -> bool:
    """Whether the tendon is rigid."""
    return model.flag(element, "ignore_tendon_compliance", False)
