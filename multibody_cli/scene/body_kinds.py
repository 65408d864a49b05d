"""Kinds of bodies that no joint of the tree carries: each moves by its own freedoms, from the world.

    rigid    a position and a quaternion, where no joint holds it
    point    three displacements; its frame keeps the axes of the world
    planar   two displacements along x and y of its frame at the start, and the angle about z
    affine   the place of its centre of mass, and three directors: the images of its principal axes

An affine body takes four rows, those of one point with weight and three without: with m the mass and P_k the second
moments of the matter about the principal axes e_k, its energy is that of the points

    m |dp/dt|^2 / 2 + sum_k P_k |da_k/dt|^2 / 2,    x(X) = p + sum_k (e_k . X) a_k.

Joints that hold any of them, but a rigid one, close loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from multibody_cli.joints.contract import Part, Start, floating, sliding, turning
from multibody_cli.mass import Floats, MassProperties
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.links import IN_PLACE, Link, Placement
from multibody_cli.scene.mass_properties import second_moments
from multibody_cli.spec.rotation_matrix import rotation_matrix

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class BodyKind:
    """How a body moves by itself.

    Parameters
    ----------
    parts
        What carries each of its rows from the world.
    rows
        How many rows it takes in the table of links.
    has_axes
        Whether it has an orientation, so that torques may act on it.
    """

    parts: tuple[Part, ...]
    rows: int = 1
    has_axes: bool = True

    @property
    def freedoms(self) -> int:
        """How many it has."""
        return self.rows * sum(part.nv for part in self.parts)


_TRANSLATION = (sliding(_X), sliding(_Y), sliding(_Z))

KINDS: Mapping[str, BodyKind] = {
    "rigid": BodyKind((floating(),)),
    "point": BodyKind(_TRANSLATION, has_axes=False),
    "planar": BodyKind((sliding(_X), sliding(_Y), turning(_Z))),
    "affine": BodyKind(_TRANSLATION, rows=4, has_axes=False),
}
"""Every kind by its word."""


def start_of(body: BodySpec, mass: MassProperties) -> Start:
    """Where a body starts, in the numbers of its parts."""
    linear, angular = body.velocity.linear, body.velocity.angular
    if body.kind == "rigid":
        return _resting((*body.position, *body.rotation), (*linear, *angular))
    if body.kind == "point":
        return _resting(body.position, linear)
    R = rotation_matrix(body.rotation)
    if body.kind == "planar":
        x, y, _ = (R.T @ linear).tolist()
        return _resting((0.0, 0.0, 0.0), (x, y, float(R[:, 2] @ angular)))
    _, axes = second_moments(mass)
    directors = R @ axes
    rates = np.cross(angular, directors, axisb=0, axisc=0)
    return _resting((*body.position, *directors.T.ravel()), (*linear, *rates.T.ravel()))


def limbs_of(body: BodySpec, row: int, mass: MassProperties, start: Start) -> list[Link]:
    """Give the rows of a body that moves by itself, from `row` on."""
    kind = KINDS[body.kind]
    still = [False] * sum(part.nv for part in kind.parts)
    if body.kind != "affine":
        return [Link(row, 0, mass, kind.parts, start, still, _origin(body))]
    moments, axes = second_moments(mass)
    turned = Placement(np.zeros(3), axes)  # so that points are known by their coordinates along the principal axes
    masses = [MassProperties(m, np.zeros(3), np.zeros((3, 3))) for m in (mass.mass, *moments)]
    return [
        Link(row + k, 0, own, kind.parts, _third(start, k), still, child_origin=turned, weightless=k > 0)
        for k, own in enumerate(masses)
    ]


def written_freedoms(body: BodySpec, linear: bool, angular: bool) -> list[bool]:
    """Tell which freedoms a scene gives that gives the place of a body, or its rotation, or both."""
    return {
        "rigid": [linear] * 3 + [angular] * 3,
        "point": [linear] * 3,
        "planar": [linear] * 2 + [angular],
        "affine": [linear] * 3 + [angular] * 9,
    }[body.kind]


def normal_of(body: BodySpec) -> Floats:
    """Give the normal of the plane of a planar body, (3,), in world axes."""
    return rotation_matrix(body.rotation)[:, 2]


def _origin(body: BodySpec) -> Placement:
    if body.kind != "planar":
        return IN_PLACE
    return Placement(np.array(body.position), rotation_matrix(body.rotation))


def _third(start: Start, k: int) -> Start:
    return Start(*(numbers[3 * k : 3 * k + 3] for numbers in (start.q, start.v, start.rest)))


def _resting(q: tuple[float, ...], v: tuple[float, ...]) -> Start:
    return Start(q, v, q)
