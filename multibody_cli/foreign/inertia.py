"""Inertias that no body has, and bodies without any: the nearest possible inertia, and masses from shapes."""

from __future__ import annotations

import numpy as np

from multibody_cli.foreign.draft import Body, Draft
from multibody_cli.foreign.frames import FramePose
from multibody_cli.immutable import replace
from multibody_cli.mass import Floats, MassProperties, objection_to

FROM_SECOND_MOMENTS = np.ones((3, 3)) - np.eye(3)
"""Matrix from the second moments of mass along three axes to the moments of inertia about them."""


def give_inertia(body: Body, mass: float, inertia: Floats, pose: FramePose) -> None:
    """Give a body a mass, kg, and an inertia (3, 3), kg m^2, about and in the axes of a frame at the center of mass.

    `pose` is that of this frame in the body.  The scene has the numbers of the source where it can express them.
    """
    body.mass = MassProperties(mass, np.zeros(3), inertia).moved(pose.position, pose.rotation)
    if not pose.turns:
        body.mass = MassProperties(mass, pose.position, inertia)
    elif pose.written and not (inertia - np.diag(inertia.diagonal())).any():
        body.inertia = {"principal": inertia.diagonal().tolist(), "rotation": dict(pose.rotation_data)}


def nearest_physical(inertia: Floats) -> Floats:
    """Return the inertia (3, 3) of a body that is nearest to a symmetric matrix, in the Frobenius norm.

    It has the same principal axes.  Its second moments of mass c >= 0 minimize the distance of the principal moments
    c2 + c3, c3 + c1, c1 + c2 from those of the matrix.
    """
    from scipy.optimize import nnls

    moments, axes = np.linalg.eigh(inertia)
    nearest: Floats = (axes * (FROM_SECOND_MOMENTS @ nnls(FROM_SECOND_MOMENTS, moments)[0])) @ axes.T
    return nearest


def repair(draft: Draft) -> None:
    """Replace inertias that no body has by the nearest possible ones, and state the change in the ledger."""
    for body in draft.bodies.values():
        if body.mass is None or body.mass.mass == 0.0 or not objection_to(body.mass):
            continue
        nearest = nearest_physical(body.mass.inertia)
        change = np.linalg.norm(nearest - body.mass.inertia) / np.linalg.norm(body.mass.inertia)
        body.mass, body.inertia = replace(body.mass, inertia=nearest), {}
        body.origin = body.origin.with_remark("nearest inertia of a body")
        remark = f"inertia of `{body.name}` replaced by the nearest possible one, which differs by {100 * change:.2g} %"
        draft.ledger.note(body.origin.mark, remark)


def give_density(draft: Draft, density: float) -> None:
    """Give shapes of bodies without mass a density, kg/m^3: those with contacts, or all if none has contacts."""
    for body in draft.bodies.values():
        if not body.is_massless or not body.shapes:
            continue
        touching = [shape for shape in body.shapes if shape.fields.get("contact", True)]
        solid = touching or body.shapes
        for shape in body.shapes:
            shape.fields["density"] = density if any(shape is one for one in solid) else 0.0
        body.mass, body.inertia = None, {}
        which = "shapes with contacts" if touching else "shapes"
        draft.ledger.note(body.origin.mark, f"mass of `{body.name}` from its {which} with {density:g} kg/m^3")
