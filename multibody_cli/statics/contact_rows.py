"""Unbalanced forces with contacts and held coordinates: six rows for each contact, and one for each coordinate.

The rows of a contact are its normal force, the two forces of friction, and the moments about the same three axes: n, t
and b, on body B, opposite on A.  A displacement moves the point and turns the axes: the contact is detected again, with
the features of the shapes that touch, so that derivatives at constant multipliers contain the curvature of both
surfaces.  Two bodies that roll on each other move along the motions that all six rows, or some of them, allow.

Source: Montana, The kinematics of contact and grasp, Int. J. Robotics Research 7 (1988), for the motion of the point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.contact_solver.rows import tangent_of
from multibody_cli.contacts.contract import Floats, Integers, Records
from multibody_cli.contacts.detect import detect
from multibody_cli.contacts.work import detection_workspace_for, grown
from multibody_cli.errors import RunFailed
from multibody_cli.kernel import kernel
from multibody_cli.linalg.vectors import clear
from multibody_cli.model import Model, State
from multibody_cli.spatial.values import Vec3
from multibody_cli.statics.dual_evaluation import NoDerivatives
from multibody_cli.statics.unbalanced_forces import UnbalancedForces
from multibody_cli.tree.jacobian import add_jacobian_transposed_times
from multibody_cli.tree.markers import transfer_marker_wrenches

OF_CONTACT = 6
"""Rows of a contact: forces along n, t and b, and moments about them."""

MARGIN = 0.05
"""Gap, in lengths of the mechanism, up to which contacts of displaced bodies are detected."""


class Changed(RunFailed):
    """Displaced bodies touch at other features of their shapes."""


class ContactForces(UnbalancedForces):
    """Evaluates L(q, x) with the multipliers x of the rows, of contacts (6 each), and of held coordinates.

    Parameters
    ----------
    model, state
        As for `UnbalancedForces`.
    contacts
        Contacts of the state.
    held
        Coordinates that dry friction of joints holds.
    """

    def __init__(self, model: Model, state: State, contacts: Records, held: Integers) -> None:
        super().__init__(model, state)
        self._keys = [(one["geom_a"], one["geom_b"], one["feature"]) for one in contacts]
        self._pairs = [(int(one["body_a"]), int(one["body_b"])) for one in contacts]
        self._tangents = [np.array(tangent_of(Vec3(*one["normal"]))) for one in contacts]
        self._held = held
        self._detection = detection_workspace_for(model.system.contacts.geometry)
        geoms = model.system.contacts.geometry.geoms
        extents = geoms["extent"][[geom for a, b, _ in self._keys for geom in (a, b)]]
        smallest = float(extents[extents > 0.0].min(initial=np.inf))
        self.fineness = min(1.0, smallest / model.system.tree.length)

    def at(self, q: Floats, x: Floats) -> Floats:
        """Return L (n,) at the coordinates q (nq,) and the multipliers x of all rows."""
        m = len(self.work.rows)
        found = super().at(q, x[:m])
        forces = x[m : m + OF_CONTACT * len(self._keys)].reshape(len(self._keys), OF_CONTACT)
        if forces.any():
            found += self._generalized(self._frames()[0], forces)
        found[self._held] += x[len(x) - len(self._held) :]
        return found

    def jacobian(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the Jacobian (m, n) of all rows at q, and their errors (m,): gaps of contacts, and 0 of friction."""
        G, errors = super().jacobian(q)
        super().at(q, np.zeros(len(errors)))
        frames, gaps = self._frames()
        count = OF_CONTACT * len(gaps)
        units = np.eye(count).reshape(count, len(gaps), OF_CONTACT)
        own = np.reshape([self._generalized(frames, unit) for unit in units], (count, self.n))
        of_contacts = np.zeros((len(gaps), OF_CONTACT))
        of_contacts[:, 0] = gaps
        errors = np.concatenate([errors, of_contacts.ravel(), np.zeros(len(self._held))])
        return np.vstack([G, own, np.eye(self.n)[self._held]]), errors

    def _frames(self) -> tuple[Floats, Floats]:
        """Return the point and the axes (c, 4, 3) of each contact of the bodies in `work`, and the gaps (c,)."""
        geometry, margin = self.model.system.contacts.geometry, MARGIN * self.model.system.tree.length
        while True:
            count, overflow = detect(geometry, self.work.bodies, margin, self._detection)
            if not overflow:
                break
            self._detection = grown(geometry, self._detection, count, overflow)
        table = {(one["geom_a"], one["geom_b"], one["feature"]): one for one in self._detection.contacts[:count]}
        if any(key not in table for key in self._keys):
            raise Changed("displaced bodies touch at other features of their shapes")
        frames, gaps = np.zeros((len(self._keys), 4, 3)), np.zeros(len(self._keys))
        for k, (key, tangent) in enumerate(zip(self._keys, self._tangents, strict=True)):
            n = table[key]["normal"]
            t = tangent - (tangent @ n) * n
            t = t / np.linalg.norm(t)
            frames[k], gaps[k] = (table[key]["point"], n, t, np.cross(n, t)), table[key]["gap"]
        return frames, gaps

    def _generalized(self, frames: Floats, x: Floats) -> Floats:
        """Return the generalized forces (n,) of forces and moments x (c, 6) in the frames of the contacts."""
        wrenches, bodies = self.work.wrenches, self.work.bodies
        for name in ("t", "f"):
            wrenches[name] = 0.0
        for (a, b), (point, *axes), one in zip(self._pairs, frames, x, strict=True):
            force, moment = one[:3] @ np.array(axes), one[3:] @ np.array(axes)
            for body, sign in ((a, -1.0), (b, 1.0)):
                if body > 0:
                    wrenches[body]["f"] += sign * force
                    wrenches[body]["t"] += sign * (moment + np.cross(point - bodies[body]["x"], force))
        found = np.zeros(self.n)
        compute_generalized_forces(self.model.system, self.work, found)
        return found

    def nearby(self, q: Floats, x: Floats, directions: Floats, offset: float, count: int) -> Floats:
        """Return L (2 K + 1, n, k) at multiples of an offset, for the smallest shape, along displacements (nv, k)."""
        found = np.zeros((2 * count + 1, directions.shape[1], self.n))
        found[count] = self.at(q, x)
        self._evaluate(q, x, directions, self.fineness * offset, found)
        return found.swapaxes(1, 2) / self.fineness

    def _exact(self, q: Floats, x: Floats, directions: Floats) -> Floats:
        """Raise: the detection of contacts has no rules for dual numbers."""
        raise NoDerivatives("the detection of contacts has no rules for dual numbers")


@kernel
def compute_generalized_forces(system: Any, work: Any, found: Any) -> None:
    """Compute the generalized forces (n,) of `work.wrenches`, with the kinematics in `work`; wrenches are lost."""
    clear(found)
    transfer_marker_wrenches(system.tree, work.bodies, work.wrenches)
    add_jacobian_transposed_times(system.tree, work, found)
