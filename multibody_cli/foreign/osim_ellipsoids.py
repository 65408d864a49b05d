"""Joints of OpenSim whose child slides on an ellipsoid: `EllipsoidJoint`, and `ScapulothoracicJoint`.

The angles a, b, c of an EllipsoidJoint turn its child by R = Rx(a) Ry(b) Rz(c); its origin is the point R z of the unit
sphere, scaled by the radii.  That of a scapula does the same in axes that are turned by 90 degrees about z, and then
turns about an axis in the plane x, y of the child, which does not pass through the origin:

    R = Ry(a) R-x(b) Rz(c),    p = (rx sin a cos b, ry sin b, rz cos a cos b) + R (o - Rd(d) o),

with the winging axis d = (-sin w, cos w, 0) through o = (ox, oy, 0), and (o - Rd(d) o) = e ((1 - cos d) cos w,
(1 - cos d) sin w, sin d) for its distance e = ox cos w + oy sin w from the origin.

Source: Seth et al., PLoS ONE 11(1), e0141028 (2016), with the axes of OpenSim 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_functions import added
from multibody_cli.foreign.osim_model import Osim
from multibody_cli.foreign.rounding import number

ROUND = (1.0, 1.0, 1.0)
"""Radii of a joint that states none, m."""


def _on_ellipsoid(model: Osim, element: Element, names: Sequence[str]) -> dict[str, Any]:
    a, b, c = names
    x, y, z = map(number, model.numbers(element, "radii_x_y_z", ROUND))
    return {
        "translation": [f"{x}*sin({b})", f"-{y}*sin({a})*cos({b})", f"{z}*cos({a})*cos({b})"],
        "rotation": _turns((((1.0, 0.0, 0.0), a), ((0.0, 1.0, 0.0), b), ((0.0, 0.0, 1.0), c))),
    }


def _on_thorax(model: Osim, element: Element, names: Sequence[str]) -> dict[str, Any]:
    a, b, c, d = names
    x, y, z = map(number, model.numbers(element, "thoracic_ellipsoid_radii_x_y_z", ROUND))
    origin = model.numbers(element, "scapula_winging_axis_origin", (0.0, 0.0))
    w = model.number(element, "scapula_winging_axis_direction", 0.0)
    e = origin[0] * math.cos(w) + origin[1] * math.sin(w)
    turned = added([(1.0, c), (w, "")])
    across, along, out = f"(1 - cos({d}))*cos({turned})", f"(1 - cos({d}))*sin({turned})", f"sin({d})"
    up = f"({along}*cos({b}) + {out}*sin({b}))"
    normal = f"({out}*cos({b}) - {along}*sin({b}))"
    return {
        "translation": [
            f"{x}*sin({a})*cos({b})" + _winging(e, f"{across}*cos({a}) + {normal}*sin({a})"),
            f"{y}*sin({b})" + _winging(e, up),
            f"{z}*cos({a})*cos({b})" + _winging(e, f"{normal}*cos({a}) - {across}*sin({a})"),
        ],
        "rotation": _turns(
            (
                ((0.0, 1.0, 0.0), a),
                ((-1.0, 0.0, 0.0), b),
                ((0.0, 0.0, 1.0), c),
                ((0.0 - math.sin(w), math.cos(w), 0.0), d),
            )
        ),
    }


def _winging(e: float, text: str) -> str:
    return f" + {number(e)}*({text})" if e else ""


def _turns(turns: Sequence[tuple[tuple[float, float, float], str]]) -> list[dict[str, Any]]:
    return [{"axis": list(axis), "angle": angle} for axis, angle in turns]


ELLIPSOIDS: dict[str, tuple[int, Callable[[Osim, Element, Sequence[str]], dict[str, Any]]]] = {
    "EllipsoidJoint": (3, _on_ellipsoid),
    "ScapulothoracicJoint": (4, _on_thorax),
}
"""Number of coordinates, all of them angles, and the translation and rotation of a joint `symbolic`."""
