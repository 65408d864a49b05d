"""General joints for tests: every kind of curve, surface and expression, in the format of a scene."""

from __future__ import annotations

import math

import numpy as np
from jets import Jet

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part
from multibody_cli.joints.joint_map import find_piece, own_map_coordinates, pose_and_subspace
from multibody_cli.packing.constraint_bases import configuration_at
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import topological_order

BEZIER = {"type": "bezier", "points": [[0, 0, 1], [0.5, 0.3, 0], [1, -0.4, 0.6], [1.4, 0.5, 1.2]]}
SPLINE = {
    "type": "bspline",
    "points": [[-1, 0, 0.3], [0, 0.6, 0.2], [1, 0, 1.2], [2, 0.4, 0.4], [3, -0.9, 0.9], [4, 0.1, 0.1], [5, 0, -1]],
}
RING = {"type": "bspline", "points": [[1, 0, 0.2], [0, 1, -0.2], [-1, 0, 0.3], [0, -1, 0]], "closed": True}
HELIX = {"type": "helix", "radius": 0.5, "pitch": -0.7}
CYCLOID = {"type": "cycloid", "radius": 0.8}
KNOT = {
    "type": "expression",
    "parameters": {"a": 0.3, "e": 0.4},
    "position": ["(1 + a*cos(3*s))*cos(2*s)", "(1 + a*cos(3*s))*sin(2*s)", "e*sin(3*s)"],
    "domain": [0, math.tau],
    "closed": True,
}
QUINTIC = {
    "type": "expression",
    "position": ["15*s**2*(1 - s)**2", "20*s**5 - 50*s**4 + 100/3*s**3 - 10/3*s", 0],
    "domain": [0, 1],
    "closed": True,
}
"""Polynomials of Bernoulli: they and their first two derivatives are the same at 0 and 1, but they are not periodic."""
CURVES = {
    "bezier": (BEZIER, 0.4),
    "bspline": (SPLINE, 2.6),
    "closed bspline": (RING, 3.8),
    "helix": (HELIX, 1.2),
    "circle": ({"type": "circle", "radius": 0.7}, 1.2),
    "cycloid": (CYCLOID, 1.9),
    "expression": (KNOT, 0.7),
}
"""With a parameter at which each is regular, some way into it."""

ORIENTED = [
    (name, orientation)
    for name, (curve, _) in CURVES.items()
    for orientation in ("fixed", "rotation_minimizing", "frenet")
    if (orientation, curve["type"]) != ("frenet", "bspline")
]
"""Curves with orientations along them; the third derivative of a cubic spline jumps, so no frame of Frenet."""

SPHERE = {"type": "sphere", "radius": 0.4}
ELLIPSOID = {"type": "ellipsoid", "radii": [0.3, 0.5, 0.2]}
TORUS = {"type": "torus", "major_radius": 1.0, "minor_radius": 0.3}
CYLINDER = {"type": "cylinder", "radius": 0.6}
PATCH = {
    "type": "bezier",
    "points": [
        [[0, 0, 0.1], [0, 1, 0.3], [0.1, 2, 0]],
        [[1, 0, 0.4], [1.2, 1, 0.9], [1, 2, 0.2]],
        [[2, 0.1, 0], [2, 1, 0.5], [2, 2.2, -0.3]],
        [[3, 0, 0.2], [3.1, 1, 0], [3, 2, 0.4]],
    ],
}
SADDLE = {
    "type": "expression",
    "parameters": {"k": 0.4},
    "coordinates": ["x", "y"],
    "position": ["x", "y", "k*x*y + 0.1*sinh(x)"],
}
SURFACES = {
    "plane": ({"type": "plane"}, (0.3, -0.2)),
    "sphere": (SPHERE, (0.3, -0.2)),
    "ellipsoid": (ELLIPSOID, (0.7, 0.4)),
    "torus": (TORUS, (0.4, 2.2)),
    "cylinder": (CYLINDER, (0.4, 0.3)),
    "bezier": (PATCH, (0.4, 0.6)),
    "expression": (SADDLE, (0.4, 0.6)),
}
"""With parameters at which each is regular."""

FRAMES = [
    {"position": [-1, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": 2.0}},
    {"position": [0, 0.4, -0.2], "rotation": {"rotvec": [0.3, 1.2, -0.4]}},
    {"position": [1, 0.2, 0]},
    {"position": [1.5, 0.2, 0.3]},
    {"position": [0, 0, 0.4], "rotation": {"axis": [1, 1, 0], "angle": -1.0}},
]
CONTROLS = {
    axis: [[math.sin(7 * k + 3 * i + i * j) for j in range(4)] for i in range(5)]
    for k, axis in enumerate(("x", "y", "z", "rx", "ry", "rz"))
}
CAM = {
    "coordinates": ["theta", "s"],
    "parameters": {"e": 0.2, "h": 0.5},
    "translation": ["e*cos(theta) + s", "h*s**3/(1 + theta**2)", "exp(-s)*sqrt(2 + sin(theta))"],
    "rotation": [
        {"axis": [0, 1, 0], "angle": "theta/2 + atan2(s, 1 + theta**2)"},
        {"axis": [1, 1, 0], "angle": "s*tanh(theta)"},
    ],
}


POWER = {"coordinates": ["s"], "parameters": {"n": 2, "m": 1}, "translation": ["s", "s**n", "s**m + s**(n + m)"]}


def joint(kind, **fields):
    """A joint of a scene file."""
    return JOINTS[kind].spec.model_validate({"type": kind, "child": "b", **fields})


def curve_joint(name, orientation, **fields):
    """A joint along one of the curves."""
    curve, s = CURVES[name]
    return joint("curve", curve=curve, orientation=orientation, **{"q": s, **fields})


def touching(first, second, **fields):
    """A joint between two of the surfaces."""
    (one, at), (other, there) = SURFACES[first], SURFACES[second]
    given = {"parent_surface": one, "child_surface": other, "q": [*at, *there], **fields}
    return joint("surface_surface", **given)


def specs():
    """Every kind of joint of general shape, by a name."""
    for name, orientation in ORIENTED:
        yield f"{name} {orientation}", curve_joint(name, orientation)
    yield "bezier free", curve_joint("bezier", "free", q=[0.4, 0.3, -0.2, 0.5])
    for name in SURFACES:
        yield f"sphere on {name}", touching(name, "sphere")
    yield "torus on ellipsoid", touching("ellipsoid", "torus")
    yield "patch on saddle, spinning", touching("expression", "bezier", q=[0.4, 0.6, 0.3, 0.5, 0.8])
    yield "ball in a bowl", touching("sphere", "sphere", parent_surface={**SPHERE, "radius": 2.0, "inside": True})
    yield "board on a patch", touching("bezier", "plane", q=[0.4, 0.6, 0.2], fixed={"u2": 0.1, "v2": -0.2})
    yield (
        "patch that slides on a patch",
        touching("bezier", "bezier", q=[0.4, 0.3], fixed={"v1": 0.6, "v2": 0.2, "spin": 0.3}),
    )
    yield (
        "ball along a line of a saddle",
        touching("expression", "sphere", q=[0.4, 0.3, 0.2], fixed={"v1": 0.6, "spin": 0}),
    )
    yield (
        "ball on an ellipsoid at rest",
        touching("ellipsoid", "sphere", q=[0.4, 0.3], fixed={"u1": 0.6, "v1": 0.3, "spin": 0}),
    )
    yield "past the end of a closed curve", joint("curve", curve=QUINTIC, q=2.7, orientation="rotation_minimizing")
    for name in CURVES:
        curve, s = CURVES[name]
        other = {"type": "circle", "radius": 0.4}
        yield f"circle on {name}", joint("curve_curve", parent_curve=curve, child_curve=other, q=[s, 0.3, 0.7])
        given = {"parent_curve": other, "child_curve": curve, "tangents": "opposite", "turn": 0.3, "q": [0.7, s]}
        yield f"{name} on circle, not turning", joint("curve_curve", **given)
    yield "power with a named exponent", joint("symbolic", **POWER)
    yield "spline curve", joint("spline_curve", frames=FRAMES, q=1.3)
    yield "closed spline curve", joint("spline_curve", frames=FRAMES, closed=True, q=4.6)
    yield "spline surface", joint("spline_surface", controls=CONTROLS, q=[1.3, 0.6])
    yield "symbolic", joint("symbolic", **CAM, q=[0.3, 0.4])


def parts_of(spec):
    """Its run of parts."""
    return tuple(JOINTS[spec.type].parts(spec))


RUNS = {name: parts_of(spec) for name, spec in specs()}
"""The runs of parts of them all."""


IN_TREES = ("torus on ellipsoid", "symbolic", "closed spline curve", "bezier rotation_minimizing")
"""Those of which random trees are built."""


def pose_of_shape(part: Part, q: np.ndarray, rates: np.ndarray) -> tuple[Jet, Jet]:
    """Rotation and displacement (3, 1) across a part, by its formulas for the pose alone, differentiated twice."""
    joint_map = part.joint_map
    R, p, _ = pose_and_subspace(joint_map)
    values = [*R.x, *R.y, *R.z, *p]
    place = {"q": q, "c": part.constants, "floor": math.floor, "min": min, "max": max}
    words = ([word.format(k) for k in range(part.nv)] for word in ("q[{}]", "u{}"))
    exec("\n".join(find_piece(joint_map, *words, "at", "c[{}]".format)), place)
    found = []
    for v in rates:
        along = {
            one: rate * v[k] for k, at in enumerate(own_map_coordinates(joint_map)) for one, rate in at.along.items()
        }
        first = differentiate(values, along)
        second = differentiate(first, along)
        wanted = [*values, *first, *second]
        names = {node.text: eval(node.text, place) for node in topological_order(wanted) if node.operation == "name"}
        found.append(np.array(evaluate(wanted, names), q.dtype).reshape(3, 12))
    value, first, second = np.moveaxis(np.array(found), 1, 0)
    turns = [one[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1) for one in (value, first, second)]
    shifts = [one[:, 9:, None] for one in (value, first, second)]
    return Jet(turns[0][0], *turns[1:]), Jet(shifts[0][0], *shifts[1:])


def pose_at(parts, q):
    """Rotation (3, 3) and position (3,) of M in F."""
    configuration = configuration_at(parts, q)
    return configuration.rotation, configuration.rotation @ configuration.translation


def columns_at(parts, q):
    """Columns of S, [angular; linear], (6, nv)."""
    return configuration_at(parts, q).columns
