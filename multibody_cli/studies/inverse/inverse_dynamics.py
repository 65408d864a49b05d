"""The result of inverse dynamics: forces on coordinates, activations of muscles, and forces of contacts."""

from __future__ import annotations

import numpy as np

from multibody_cli.errors import listed
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.studies.inverse.closed_contacts import ContactForce
from multibody_cli.studies.inverse.coordinates import CoordinateName
from multibody_cli.studies.inverse.fitted_motion import Misfit

FULL = 1e-6
"""Difference from full activation that is round-off."""

MOST_NAMES = 5
"""Largest number of muscles that a message lists."""


class InverseDynamics(Immutable, eq=False):
    """Forces of a motion.

    Parameters
    ----------
    times
        (T,) instants, s.
    coordinates
        The c coordinates with forces.
    forces
        (T, c) required forces on them, N m or N: with muscles, by muscles and reserve actuators together.
    residuals
        Names of those on which no actuator and no muscle of the scene acts.
    muscles
        Names of the m muscles; empty if they were not asked for.
    activations, tensions
        (T, m) activations, and tensions, N.
    reserves
        (T, c) forces of the reserve actuators.
    changes
        Largest change of each coordinate of the motion by constraints that contradict it, by name; without round-off.
    held
        Coordinates that neither the motion nor the constraints determine; they keep their start.
    ignored
        Columns of the table that are no coordinates, or those of prescribed ones and of joints that close loops.
    left_out
        Actuators of the scene, whose forces are unknown.
    remarks
        Contacts and dry friction of the scene, which do not act, forces whose tables do not reach all instants, missing
        markers, and coordinates that markers do not determine.
    misfits
        Differences of measured points, bodies and coordinates from the motion that fits them; empty without markers.
    contacts
        The forces of the closed contacts at each of the T instants; empty if they were not asked for.
    """

    times: Floats
    coordinates: tuple[CoordinateName, ...]
    forces: Floats
    residuals: tuple[str, ...]
    muscles: tuple[str, ...]
    activations: Floats
    tensions: Floats
    reserves: Floats
    changes: dict[str, float]
    held: tuple[str, ...]
    ignored: tuple[str, ...]
    left_out: tuple[str, ...]
    remarks: tuple[str, ...]
    misfits: tuple[Misfit, ...] = ()
    contacts: tuple[tuple[ContactForce, ...], ...] = ()

    def contact_force(self, body: str) -> Floats:
        """Return the resultant force (T, 3) of the contacts on a body, N, in world axes."""
        found = np.zeros((len(self.times), 3))
        for k, contacts in enumerate(self.contacts):
            for one in contacts:
                found[k] += ((one.body_b == body) - float(one.body_a == body)) * one.force
        return found

    def force(self, coordinate: str) -> Floats:
        """Return the force (T,) on a coordinate."""
        return self.forces[:, [one.name for one in self.coordinates].index(coordinate)]

    def activation(self, muscle: str) -> Floats:
        """Return the activation (T,) of a muscle."""
        return self.activations[:, self.muscles.index(muscle)]

    def weaknesses(self, share: float) -> list[str]:
        """Report the coordinates whose reserve exceeds a share of the largest force, with the time and the muscles."""
        found = []
        for k, one in enumerate(self.coordinates if self.muscles else ()):
            reserve, largest = np.abs(self.reserves[:, k]), float(np.abs(self.forces[:, k]).max())
            if one.name in self.residuals or not reserve.max() > share * largest:
                continue
            worst, count = int(np.argmax(reserve)), int(np.count_nonzero(reserve > share * largest))
            full = [name for name, a in zip(self.muscles, self.activations[worst], strict=True) if a > 1.0 - FULL]
            cause = "where reserves cost less than muscles, as with a smaller --reserve they would not"
            if full:
                cause = f"with full activation of {listed(full, MOST_NAMES, 'muscles')}"
            found.append(
                f"muscles cannot supply {one.name} at {count} of {len(self.times)} instants: a reserve of "
                f"{self.reserves[worst, k]:.3g} of {self.forces[worst, k]:.3g} at t = {self.times[worst]:g} s, {cause}"
            )
        return found
