"""Events of a run that a time line marks: contacts that begin, limits that are reached, alarms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.output.trajectory import Trajectory
from multibody_cli.render.motion import Integers, MotionHistory

MOST = 400
"""Maximum number of marks of one kind; beyond, they are thinned out evenly."""


class Event(NamedTuple):
    """An event: its time, s, its kind (`contact`, `limit` or `alarm`), and a text."""

    time: float
    kind: str
    text: str


def events_of(trajectory: Trajectory, motion: MotionHistory, rows: Integers) -> list[Event]:
    """Return the events at the instants of a motion, each kind in the order of time."""
    found = []
    for several in (_contacts(trajectory.bodies, motion), _limits(trajectory, motion, rows), _alarms(trajectory)):
        events = [one for one in several if motion.time[0] <= one.time <= motion.time[-1]]
        every = -(-len(events) // MOST) if events else 1
        found += events[::every]
    return found


def _contacts(bodies: Sequence[str], motion: MotionHistory) -> Iterator[Event]:
    """Yield the instants at which two bodies touch that did not at the instant before."""
    contacts = motion.contacts
    before: set[tuple[int, int]] | None = None
    for row, time in enumerate(motion.time):
        part = slice(contacts.offset[row], contacts.offset[row + 1])
        loaded = np.linalg.norm(contacts.force[part], axis=1) > 0.0
        pairs = {(int(a), int(b)) for a, b in contacts.bodies[part][loaded]}
        new = sorted(pairs - before) if before is not None else []
        if new:
            words = ", ".join(" and ".join("world" if k < 0 else bodies[k] for k in pair) for pair in new[:3])
            yield Event(float(time), "contact", f"contact of {words}" + (" and others" if len(new) > 3 else ""))
        before = pairs


def _limits(trajectory: Trajectory, motion: MotionHistory, rows: Integers) -> Iterator[Event]:
    for path in trajectory.paths:
        if path.startswith("joints/") and path.endswith("/limit_force"):
            is_active = np.any(trajectory.channel(path).values[rows] > 0.0, axis=1)
            for row in np.flatnonzero(is_active[1:] & ~is_active[:-1]) + 1:
                yield Event(float(motion.time[row]), "limit", f"limit of joint {path.split('/')[1]}")


def _alarms(trajectory: Trajectory) -> Iterator[Event]:
    for alarm in json.loads(trajectory.attributes.get("alarms", "[]")):
        if alarm["time"] is not None:
            yield Event(float(alarm["time"]), "alarm", f"alarm {alarm['name']}: {alarm['message']}")
