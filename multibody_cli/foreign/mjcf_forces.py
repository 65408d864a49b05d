"""Forces of MJCF on bodies: those of a fluid, and the compensation of gravity."""

from __future__ import annotations

import numpy as np

from multibody_cli.foreign.mjcf_model import Model, pose_of
from multibody_cli.foreign.renaming import unused

ELLIPSOIDS = "a scene has no forces of a fluid on ellipsoids (`fluidshape`)"

LEAST_EDGE_SQUARED = 1e-15
"""Least sum of two moments less the third one of a box, kg m^2 (`mjMINVAL`)."""


def read_body_forces(model: Model) -> None:
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


def _add_fluid(model: Model, body: int) -> None:
    """Add the forces on the box with the inertia of a body: MuJoCo's inertia model."""
    arrays, option = model.arrays, model.arrays.option
    properties = {name: option[name] for name in ("density", "viscosity") if option[name] > 0.0}
    if not properties:
        return
    if (arrays.geom_fluid[arrays.geom_bodyid == body, 0] > 0.0).any():
        model.reading.ledger.note(
            model.bodies[body].mark, f"the fluid does not act on `{model.names[body]}`: {ELLIPSOIDS}"
        )
        return
    properties |= {"wind": option["wind"]} if any(option["wind"]) else {}
    moments = arrays.body_inertia[body]
    edges = np.sqrt(np.maximum(moments.sum() - 2.0 * moments, LEAST_EDGE_SQUARED) * 6.0 / arrays.body_mass[body])
    pose = pose_of(np.zeros(3), arrays.body_iquat[body])
    _add(model, body, "fluid", fluid=properties, box=edges.tolist(), **pose.data())


def _add(model: Model, body: int, word: str, **fields: object) -> None:
    name = unused(f"{model.names[body]}_{word}", model.draft.elements.get("forces", {}))
    model.draft.add("forces", name, model.bodies[body], body=model.names[body], **fields)
