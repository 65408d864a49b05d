"""Contacts that are closed during a motion, with forces within the friction cones.

A contact of two bodies is closed if its gap is below a bound.  Its force on the second body has a normal component that
is not negative.  Where the bodies slide faster than a bound, the force follows Coulomb's law,

    f = N (n - mu(|v_t|) v_t / |v_t|),    N >= 0,

else it is within the cone |f_t| <= mu N.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.contact_solver.stribeck import coefficient_at
from multibody_cli.contacts.detect import detect
from multibody_cli.contacts.work import detection_workspace_for, grown
from multibody_cli.errors import ArgumentError
from multibody_cli.joints.spec import WORLD
from multibody_cli.kernel import Floats, Records
from multibody_cli.model import Model
from multibody_cli.studies.inverse.least_forces import Part, least_forces
from multibody_cli.tree.inverse_dynamics import fill_point_jacobian
from multibody_cli.tree.workspace import Work

SLIP = 1e-3
"""Speed above which a contact slides, m/s, by default."""

_COEFFICIENTS = ("friction", "kinetic_friction", "stribeck_speed")


class ClosedContact(NamedTuple):
    """A closed contact.

    Parameters
    ----------
    rows
        The rows of its bodies A and B; 0 is the world.
    point, normal
        Point (3,) in the world, m, and unit normal (3,) from A to B.
    axes
        (1 or 3, 3) forces on B of unit components; the first is that with a unit normal component.
    friction
        The coefficient of friction.
    """

    rows: tuple[int, int]
    point: Floats
    normal: Floats
    axes: Floats
    friction: float

    def part(self, first: int) -> Part:
        """Return its force among those of `least_forces`, with its first place there."""
        return Part(first, low=0.0) if len(self.axes) == 1 else Part(first, self.friction)


class ContactForce(NamedTuple):
    """The force of a contact: its bodies, point (3,), m, normal (3,) from A to B, and force (3,) on B, N."""

    body_a: str
    body_b: str
    point: Floats
    normal: Floats
    force: Floats


class Balance(NamedTuple):
    """Forces of a motion.

    Parameters
    ----------
    drives
        (c,) forces of the drives, in their units.
    residual
        (k,) the part of the motion that they do not cause.
    contacts
        The forces of the contacts.
    wrenches
        (b, 6) their resultants [force; torque] on the bodies `ClosedContacts.rows`, about the origins of joint frames.
    resultants
        `contact_force` and `contact_torque` (bodies, 3) of the samples, about the origins of body frames.
    """

    drives: Floats
    residual: Floats
    contacts: tuple[ContactForce, ...]
    wrenches: Floats
    resultants: dict[str, Floats]


class ClosedContacts:
    """The closed contacts of a model.

    Parameters
    ----------
    model
        The model, in joint coordinates.
    gap
        Largest gap of a closed contact, m.
    slip
        Speed above which bodies slide, m/s.

    Attributes
    ----------
    rows
        The rows of the bodies that can touch, without the world.

    Raises
    ------
    ArgumentError
        The scene has no contacts, or those of affine bodies.
    """

    def __init__(self, model: Model, gap: float, slip: float) -> None:
        contacts = model.system.contacts
        if not contacts or not contacts.max_contacts:
            raise ArgumentError("--contacts: the scene has no contacts")
        if not gap >= 0.0 or not slip >= 0.0:
            raise ArgumentError(f"--contacts {gap:g}, --slip {slip:g}: expected numbers that are not negative")
        self._tree, self._geometry, self._gap, self._slip = model.system.tree, contacts.geometry, gap, slip
        if (self._geometry.geoms["body"] >= len(self._tree.links)).any():
            raise ArgumentError("--contacts: contacts of affine bodies are not supported")
        self._work = detection_workspace_for(self._geometry)
        self.rows = sorted({row for row in self._geometry.geoms["body"].tolist() if row})
        self._numbers = {row: k for k, row in enumerate(model.names.body_rows.tolist())}
        self._names = {0: WORLD} | dict(zip(model.names.body_rows.tolist(), model.names.bodies, strict=True))

    def at(self, bodies: Records) -> list[ClosedContact]:
        """Return the closed contacts of bodies with poses and twists."""
        while True:
            count, overflow = detect(self._geometry, bodies, self._gap, self._work)
            if not overflow:
                return list(self._closed(self._work.contacts[:count], bodies))
            self._work = grown(self._geometry, self._work, count, overflow)

    def _closed(self, contacts: Records, bodies: Records) -> Iterator[ClosedContact]:
        for contact in contacts:
            rows, point, normal = (int(contact["body_a"]), int(contact["body_b"])), contact["point"], contact["normal"]
            a, b = (body["v"] + np.cross(body["w"], point - body["x"]) for body in (bodies[row] for row in rows))
            sliding = b - a - normal * (normal @ (b - a))
            speed = float(np.linalg.norm(sliding))
            if speed > self._slip:
                static, kinetic, scale = (float(contact[name]) for name in _COEFFICIENTS)
                friction = float(coefficient_at(static, kinetic, scale, speed, 0.0))
                axes = (normal - friction * sliding / speed)[None]
            else:
                friction = float(contact["friction"])
                tangent = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
                tangent /= np.linalg.norm(tangent)
                axes = np.array([normal, tangent, np.cross(normal, tangent)])
            yield ClosedContact(rows, point.copy(), normal.copy(), axes, friction)

    def balance(
        self,
        work: Work,
        onto: Floats,
        needed: Floats,
        drives: Floats,
        limits: Sequence[tuple[float, float]],
        unit: float,
    ) -> Balance:
        """Return the forces of drives and closed contacts with the least sum of squares that cause a motion.

        Parameters
        ----------
        work
            The work arrays at the state of the motion.
        onto
            (k, n) the motions that the mechanism can make, as rows.
        needed
            (n,) required generalized forces.
        drives
            (n, c) generalized forces of the drives for one of their units.
        limits
            The least and the largest force of each drive, in its unit.
        unit
            Unit of the forces of contacts, N.
        """
        closed, count = self.at(work.bodies), drives.shape[1]
        columns = [unit * self.columns(one, work, len(needed)) for one in closed]
        ends = count + np.cumsum([own.shape[1] for own in columns], dtype=np.int64)
        places = [slice(end - own.shape[1], end) for end, own in zip(ends.tolist(), columns, strict=True)]
        parts = [Part(k, low=low, high=high) for k, (low, high) in enumerate(limits)]
        parts += [one.part(place.start) for place, one in zip(places, closed, strict=True)]
        found = least_forces(onto @ np.column_stack([drives, *columns]), onto @ needed, parts)
        forces = [unit * found.x[place] @ one.axes for place, one in zip(places, closed, strict=True)]
        wrenches = np.zeros((len(self.rows), 6))
        for one, force in zip(closed, forces, strict=True):
            for row, own in zip(one.rows, (-force, force), strict=True):
                if row:
                    arm = one.point - work.bodies[row]["x"]
                    wrenches[self.rows.index(row)] += np.concatenate([own, np.cross(arm, own)])
        named = (
            ContactForce(self._names[one.rows[0]], self._names[one.rows[1]], one.point, one.normal, force)
            for one, force in zip(closed, forces, strict=True)
        )
        forces_of_bodies, torques_of_bodies = np.zeros((2, len(self._names) - 1, 3))
        for row, wrench in zip(self.rows, wrenches, strict=True):
            k, frame = self._numbers[row], self._tree.frames[row]
            origin = np.asarray(work.bodies[row]["R"]).reshape(3, 3).T @ frame["origin"]
            forces_of_bodies[k] += wrench[:3]
            torques_of_bodies[k] += wrench[3:] - np.cross(origin, wrench[:3])
        resultants = {"contact_force": forces_of_bodies, "contact_torque": torques_of_bodies}
        return Balance(found.x[:count], found.residual, tuple(named), wrenches, resultants)

    def columns(self, contact: ClosedContact, work: Work, n: int) -> Floats:
        """Return the generalized forces (n, 1 or 3) of the forces of unit components of a contact."""
        J, own, sign = np.zeros((3, n)), np.zeros((6, n)), -1.0
        for row in contact.rows:
            if row:
                body = work.bodies[row]
                local = np.asarray(body["R"]).reshape(3, 3) @ (contact.point - body["x"])  # stored by columns
                fill_point_jacobian(self._tree, work, row, local, own)
                J += sign * own[3:]
            sign = 1.0
        return np.asarray((contact.axes @ J).T)
