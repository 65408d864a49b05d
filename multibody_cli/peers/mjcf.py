"""A mechanism as MJCF, the model format of MuJoCo: one body per link, one joint per primitive.

A closure is the soft constraint `connect` of one point, or of two on the axis of a hinge whose axes it keeps parallel.
Contacts have the default softness.  Without closures and contacts, the constraint solver is disabled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.model import Floats
from multibody_cli.peers.contract import Closure, Kind, Link, Mechanism, Solid
from multibody_cli.peers.motion import pairs_of_points

INTEGRATORS = {"semi_implicit_euler": "Euler", "rk4": "RK4"}
CONTACT_MODELS = {"elliptic": 'cone="elliptic" impratio="100"', "pyramidal": 'cone="pyramidal" impratio="1"'}
"""Friction cones: elliptic, with stiff friction against creep, and the default, which is the fastest."""
_JOINTS = {Kind.HINGE: "hinge", Kind.SLIDE: "slide", Kind.BALL: "ball", Kind.FREE: "free"}
_SHAPES = {GeomKind.PLANE: "plane", GeomKind.SPHERE: "sphere", GeomKind.CAPSULE: "capsule", GeomKind.BOX: "box"}
_UNCONSTRAINED = 'constraint="disable" warmstart="disable"'
_MEMORY = '<size memory="1G"/>'
"""Upper limit of the memory of the solver; pages are used as needed."""


def mjcf(mechanism: Mechanism) -> str:
    """Return a mechanism as MJCF; link k is the body `k`, and its primitives are the joints `k.0`, `k.1`, ..."""
    children: dict[int, list[int]] = defaultdict(list)
    for k, link in enumerate(mechanism.links, start=1):
        children[link.parent].append(k)
    shapes: dict[int, str] = defaultdict(str)
    for solid in mechanism.solids:
        shapes[solid.link] += _geom(solid, mechanism.friction)
    texts = [shapes[0]]
    # a stack instead of recursion, since a chain may be thousands of links deep
    waiting: list[int | None] = list(reversed(children[0]))
    while waiting:
        number = waiting.pop()
        if number is None:
            texts.append("</body>")
            continue
        texts += [_body(number, mechanism.links[number - 1]), shapes[number]]
        waiting += [None, *reversed(children[number])]
    closures = "".join(_connects(closure) for closure in mechanism.closures)
    excluded = "".join(f'<exclude body1="{_name(a)}" body2="{_name(b)}"/>' for a, b in mechanism.excluded)
    return (
        f"<mujoco>{_options(mechanism)}<worldbody>{''.join(texts)}</worldbody>"
        f"<equality>{closures}</equality><contact>{excluded}</contact></mujoco>"
    )


def _options(mechanism: Mechanism) -> str:
    """Return integrator, gravity, friction cone and enabled features; implicit damping is not needed."""
    flags = 'eulerdamp="disable" filterparent="disable"'
    flags += "" if mechanism.solids else ' contact="disable"'
    flags += "" if mechanism.is_constrained else f" {_UNCONSTRAINED}"
    cone = CONTACT_MODELS[mechanism.contact_model] if mechanism.solids else ""
    integrator = INTEGRATORS.get(mechanism.integrator, "Euler")
    return (
        f'<option timestep="{mechanism.step!r}" integrator="{integrator}" gravity="{_row(mechanism.gravity)}" {cone}>'
        f"<flag {flags}/></option>{_MEMORY if mechanism.is_constrained else ''}"
    )


def _body(number: int, link: Link) -> str:
    J = link.mass.inertia
    inertia = _row([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
    joints = "".join(
        f'<joint name="{number}.{k}" type="{_JOINTS[piece.kind]}"'
        + (f' axis="{_row(piece.axis)}"/>' if piece.kind in (Kind.HINGE, Kind.SLIDE) else "/>")
        for k, piece in enumerate(link.pieces)
    )
    return (
        f'<body name="{number}" pos="{_row(link.position)}" xyaxes="{_axes(link.rotation)}">{joints}'
        f'<inertial pos="{_row(link.mass.com)}" mass="{link.mass.mass!r}" fullinertia="{inertia}"/>'
    )


def _row(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def _geom(solid: Solid, friction: float) -> str:
    size: tuple[float, ...] = (0.0, 0.0, 1.0) if solid.kind is GeomKind.PLANE else solid.size
    return (
        f'<geom type="{_SHAPES[solid.kind]}" size="{_row(size)}" pos="{_row(solid.position)}" '
        f'xyaxes="{_axes(solid.rotation)}" condim="{3 if friction > 0.0 else 1}" friction="{friction!r} 0 0"/>'
    )


def _connects(closure: Closure) -> str:
    """Return the soft constraints of a closure; the point of the second body is that of the compiled model."""
    bodies = f'body1="{_name(closure.parent)}" body2="{_name(closure.child)}"'
    return "".join(f'<connect {bodies} anchor="{_row(point)}"/>' for point, _ in pairs_of_points(closure))


def _name(link: int) -> str:
    return str(link) if link else "world"


def _axes(rotation: Floats) -> str:
    return _row(np.concatenate([rotation[:, 0], rotation[:, 1]]))
