"""Accuracy at the end of a run, by the same formulas for this program and for peers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multibody_cli.contacts.contract import Geometry
from multibody_cli.initial.overlap import touching
from multibody_cli.kernel import records
from multibody_cli.peers.contract import Mechanism, Motion
from multibody_cli.peers.motion import energy_of, largest_speed, loop_error, motion_of
from multibody_cli.tree.workspace import BODY


@dataclass(frozen=True)
class Quality:
    """Accuracy at the end of a run.

    Parameters
    ----------
    loop_error
        Largest distance of two points that a loop joint holds together, m; None without loops.
    energy_change
        Mechanical energy less that of the start, J; None with contacts, which dissipate.
    penetration
        Largest depth of a contact, m; None without contacts.
    speed
        Largest speed of a center of mass, m/s; None without contacts.
    """

    loop_error: float | None
    energy_change: float | None
    penetration: float | None
    speed: float | None


def quality_of(mechanism: Mechanism, geometry: Geometry | None, motion: Motion) -> Quality:
    """Return the accuracy of a motion that started from the initial state of a mechanism.

    Parameters
    ----------
    mechanism
        Its bodies.
    geometry
        The collision shapes of the scene; None without contacts.
    motion
        The motion at the end.
    """
    start = motion_of(mechanism.links, mechanism.q, mechanism.v)
    change = energy_of(mechanism, motion) - energy_of(mechanism, start)
    return Quality(
        loop_error=loop_error(mechanism, motion) if mechanism.closures else None,
        energy_change=change if geometry is None else None,
        penetration=None if geometry is None else _penetration(geometry, motion),
        speed=None if geometry is None else largest_speed(motion),
    )


def _penetration(geometry: Geometry, motion: Motion) -> float:
    bodies = records(np.zeros(len(motion.positions) + 1, BODY))
    bodies["R"][0] = np.eye(3).ravel()
    bodies["x"][1:] = motion.positions
    bodies["R"][1:] = motion.rotations.transpose(0, 2, 1).reshape(-1, 9)  # by columns
    return max(0.0, -float(touching(geometry, bodies)["gap"].min(initial=0.0)))
