"""Forces of MJCF on bodies: those of a fluid, and the compensation of gravity."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.forces.fluid_on_ellipsoid import DragCoefficients, LiftCoefficients, added_mass
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.mjcf_model import CAPSULE, CYLINDER, SPHERE, MjcfModel, pose_of
from multibody_cli.foreign.renaming import unused

ADDED_MASS = "its added mass is exact, whereas MuJoCo's has the error of a quadrature"

LEAST_EDGE_SQUARED = 1e-15
"""Least sum of two moments less the third one of a box, kg m^2 (`mjMINVAL`)."""


def read_body_forces(model: MjcfModel) -> None:
    """Read the fluid around the bodies that move, and the weights that forces compensate.

    MuJoCo has none of them where both springs and dampers are disabled.
    """
    arrays = model.arrays
    if model.is_disabled("spring") and model.is_disabled("damper"):
        return
    gravity = np.zeros(3) if model.is_disabled("gravity") else np.array(arrays.option["gravity"])
    for body in np.flatnonzero((arrays.body_weldid != 0) & (arrays.body_mass > 0.0)).tolist():
        _add_fluid(model, body)
        lift = -arrays.body_gravcomp[body] * arrays.body_mass[body] * gravity
        if lift.any():
            _add(model, body, "lift", force=lift.tolist(), point=arrays.body_ipos[body].tolist())


def _add_fluid(model: MjcfModel, body: int) -> None:
    """Add the forces on the ellipsoids of a body, or else on the box with its inertia: MuJoCo's two models."""
    arrays, option = model.arrays, model.arrays.option
    properties = {name: option[name] for name in ("density", "viscosity") if option[name] > 0.0}
    if not properties:
        return
    properties |= {"wind": option["wind"]} if any(option["wind"]) else {}
    geoms = np.flatnonzero(arrays.geom_bodyid == body)
    is_ellipsoid = arrays.geom_fluid[geoms, 0] > 0.0
    if is_ellipsoid.any():
        elements = model.of_body(body, len(geoms), "geom")
        for geom in np.flatnonzero(is_ellipsoid).tolist():
            _add_ellipsoid(model, body, int(geoms[geom]), elements[geom], properties)
        return
    moments = arrays.body_inertia[body]
    edges = np.sqrt(np.maximum(moments.sum() - 2.0 * moments, LEAST_EDGE_SQUARED) * 6.0 / arrays.body_mass[body])
    pose = pose_of(np.zeros(3), arrays.body_iquat[body])
    _add(model, body, "fluid", fluid=properties, box=edges.tolist(), **pose.data())


def _add_ellipsoid(model: MjcfModel, body: int, geom: int, element: Element, properties: dict[str, Any]) -> None:
    """Add the forces on the ellipsoid of a geom, with the coefficients that differ from those of most scenes."""
    arrays = model.arrays
    semiaxes = _semiaxes(int(arrays.geom_type[geom]), *arrays.geom_size[geom].tolist())
    _, blunt, slender, angular, kutta, magnus, *added = arrays.geom_fluid[geom].tolist()
    own = {}
    for part, usual, values in (
        ("drag", DragCoefficients(), {"blunt": blunt, "slender": slender, "angular": angular}),
        ("lift", LiftCoefficients(), {"kutta": kutta, "magnus": magnus}),
    ):
        if changed := {name: value for name, value in values.items() if value != getattr(usual, name)}:
            own[part] = changed
    pose = pose_of(arrays.geom_pos[geom], arrays.geom_quat[geom], element).data()
    place = {"point": pose.pop("position", [0.0, 0.0, 0.0])} | pose
    _add(model, body, "fluid", fluid=properties, ellipsoid=semiaxes, **place, **own)
    exact = np.concatenate(added_mass((semiaxes[0], semiaxes[1], semiaxes[2])))
    difference = np.abs(exact - added)[exact > 0.0] / exact[exact > 0.0]
    attribute = "fluidshape" if "fluidshape" in element.attributes else ""
    model.reading.ledger.approximate(element, ADDED_MASS, f"{difference.max():.0e} of it", attribute)


def _semiaxes(kind: int, a: float, b: float, c: float) -> list[float]:
    """Return the semi-axes that MuJoCo takes for a geom of a kind with the sizes a, b, c."""
    if kind == SPHERE:
        return [a, a, a]
    if kind in (CAPSULE, CYLINDER):
        return [a, a, a + b if kind == CAPSULE else b]
    return [a, b, c]


def _add(model: MjcfModel, body: int, word: str, **fields: object) -> None:
    name = unused(f"{model.names[body]}_{word}", model.draft.elements.get("forces", {}))
    model.draft.add("forces", name, model.bodies[body], body=model.names[body], **fields)
