"""Kinds of bodies without inboard joint, which move relative to the world by their own degrees of freedom.

    rigid    position and quaternion, unless it has an inboard joint
    point    three displacements; its frame keeps the axes of the world
    planar   two displacements along x and y of its initial frame, and the angle about z
    affine   position of the centre of mass, and three directors: the images of its principal axes

An affine body has four rows: one point with weight and three without.  With m the mass and P_k the second moments of
mass about the principal axes e_k, its kinetic energy is that of the points

    m |dp/dt|^2 / 2 + sum_k P_k |da_k/dt|^2 / 2,    x(X) = p + sum_k (e_k . X) a_k.

Joints of bodies other than rigid ones are loop joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multibody_cli.immutable import Immutable, replace
from multibody_cli.joints.contract import JointStart, Part, floating, sliding, turning
from multibody_cli.mass import Floats, MassProperties
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.mass_properties import second_moments
from multibody_cli.spec.rotations import rotation_matrix

# --- links: bodies with their inboard joints, and loop joints, as data to be packed -----------------------------------
Vector = tuple[float, float, float]


class Placement(Immutable):
    """A frame relative to another one: position (3,), m, and rotation matrix (3, 3)."""

    position: Floats
    rotation: Floats

    def inverse(self) -> Placement:
        """Return the reference frame relative to this frame."""
        return Placement(-self.rotation.T @ self.position, self.rotation.T)

    def __matmul__(self, inner: Placement) -> Placement:
        return Placement(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)


IN_PLACE = Placement(np.zeros(3), np.eye(3))


class LinkData(Immutable):
    """A body with its inboard joint, ready to be packed.

    Parameters
    ----------
    row, parent
        Rows of the body and of its parent.
    mass
        Mass properties in the body frame.
    parts, start, driven
        The parts of the joint, its initial state, and the flags of coordinates with prescribed motion.
    origin
        Frame F in the parent's body frame.
    child_origin
        Frame M in the body frame.
    has_armature
        Whether drives, springs or dampers of the joint add to the inertia of its coordinates.
    ignores_gravity, is_director
        Whether gravity does not act on the body, and whether it is a director of an affine one.
    normal
        Normal, in world axes, of the plane in which the joint carries a planar body; None for other bodies.
    """

    row: int
    parent: int
    mass: MassProperties
    parts: Sequence[Part]
    start: JointStart
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE
    has_armature: bool = False
    ignores_gravity: bool = False
    is_director: bool = False
    normal: Vector | None = None


class LoopJoint(Immutable):
    """A loop joint, ready to be packed; the fields are as in `LinkData`.

    `normal` is that of the common plane of motion of both bodies, in the axes of M; None without one.  A joint that is
    not `active` has no rows.
    """

    parent: int
    child: int
    parts: Sequence[Part]
    start: JointStart
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE
    normal: Vector | None = None
    active: bool = True


_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class BodyKind(Immutable):
    """Degrees of freedom of a kind of body.

    Parameters
    ----------
    parts
        The parts of the joint from the world to each of its rows.
    rows
        Number of its rows in the table of links.
    has_axes
        Whether it has an orientation and supports torques.
    turns
        Whether it has a rotation, on which joints act.
    """

    parts: tuple[Part, ...]
    rows: int = 1
    has_axes: bool = True
    turns: bool = True

    @property
    def n_dofs(self) -> int:
        """Number of degrees of freedom."""
        return self.rows * sum(part.nv for part in self.parts)


_TRANSLATION = (sliding(_X), sliding(_Y), sliding(_Z))

KINDS: Mapping[str, BodyKind] = {
    "rigid": BodyKind((floating(),)),
    "point": BodyKind(_TRANSLATION, has_axes=False, turns=False),
    "planar": BodyKind((sliding(_X), sliding(_Y), turning(_Z))),
    "affine": BodyKind(_TRANSLATION, rows=4, has_axes=False),
}
"""Every kind by its word in the scene."""


def start_of(body: BodySpec, mass: MassProperties) -> JointStart:
    """Return the initial state of a body, in the coordinates of its parts."""
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


def body_links(body: BodySpec, row: int, mass: MassProperties, start: JointStart) -> list[LinkData]:
    """Return the rows of a body without inboard joint, from `row` on."""
    kind = KINDS[body.kind]
    still = [False] * sum(part.nv for part in kind.parts)
    if body.kind != "affine":
        return [LinkData(row, 0, mass, kind.parts, start, still, _origin(body))]
    moments, axes = second_moments(mass)
    turned = Placement(np.zeros(3), axes)  # material coordinates are along the principal axes
    masses = [MassProperties(m, np.zeros(3), np.zeros((3, 3))) for m in (mass.mass, *moments)]
    first, *directors = (
        LinkData(row + k, 0, own, kind.parts, _third(start, k), still, child_origin=turned)
        for k, own in enumerate(masses)
    )
    return [first, *(replace(one, ignores_gravity=True, is_director=True) for one in directors)]


def specified_dofs(body: BodySpec, linear: bool, angular: bool) -> list[bool]:
    """Return which degrees of freedom are given by the position (or velocity), the rotation, or both."""
    return {
        "rigid": [linear] * 3 + [angular] * 3,
        "point": [linear] * 3,
        "planar": [linear] * 2 + [angular],
        "affine": [linear] * 3 + [angular] * 9,
    }[body.kind]


def normal_of(body: BodySpec) -> Floats:
    """Return the normal of the plane of a planar body, (3,), in world axes."""
    return rotation_matrix(body.rotation)[:, 2]


def _origin(body: BodySpec) -> Placement:
    if body.kind != "planar":
        return IN_PLACE
    return Placement(np.array(body.position), rotation_matrix(body.rotation))


def _third(start: JointStart, k: int) -> JointStart:
    return JointStart(*(numbers[3 * k : 3 * k + 3] for numbers in (start.q, start.v, start.rest)))


def _resting(q: tuple[float, ...], v: tuple[float, ...]) -> JointStart:
    return JointStart(q, v, q)
