"""Data of the player: the drawing and the motion of each run, events and plots, as a header and binary arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.output.selection import ScalarChannel
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.render.binary import Binary, quantized, smallest_three
from multibody_cli.render.drawing import (
    ACTIVE,
    ARROW,
    CONTACT_COLOR,
    FORCE_COLOR,
    LONGEST,
    MOMENT_COLOR,
    RELAXED,
    TYPICAL,
    Drawing,
    arrow_scale,
    arrow_scales,
)
from multibody_cli.render.motion import Integers, MotionHistory

# --- events of a run that a time line marks: contacts that begin, limits that are reached, alarms ---------------------
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
    for several in (_new_contacts(trajectory.bodies, motion), _limits(trajectory, motion, rows), _alarms(trajectory)):
        events = [one for one in several if motion.time[0] <= one.time <= motion.time[-1]]
        every = -(-len(events) // MOST) if events else 1
        found += events[::every]
    return found


def _new_contacts(bodies: Sequence[str], motion: MotionHistory) -> Iterator[Event]:
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


MOST_REACTIONS = 600_000
"""Maximum number of wrenches (instants times joints) that a page holds."""


class Shown(NamedTuple):
    """A run in a page: its label, its drawing and its motion."""

    label: str
    drawing: Drawing
    motion: MotionHistory


def run_data(shown: Shown, binary: Binary) -> dict[str, Any]:
    """Return the header of a run, and add its arrays."""
    drawing, motion = shown.drawing, shown.motion
    largest: Any
    position, origin, step = quantized(motion.position)
    quaternion, largest = smallest_three(motion.quaternion)
    meshes: list[dict[str, Any]] = []

    def mesh_number(mesh: Any) -> int:
        meshes.append(
            {
                "vertices": binary.add(mesh.vertices, "<f4"),
                "normals": binary.add(mesh.normals, "<f4"),
                "triangles": binary.add(mesh.triangles, "<u4"),
            }
        )
        return len(meshes) - 1

    return {
        "label": shown.label,
        "bodies": list(drawing.bodies),
        "centres": drawing.centres.tolist(),
        "symbol": drawing.symbol,
        "reach": drawing.reach,
        "solids": [{**vars(one), "mesh": mesh_number(one.mesh)} for one in drawing.solids],
        "bars": [{**vars(one), "points": one.points.tolist(), "mesh": mesh_number(one.mesh)} for one in drawing.bars],
        "arrow": mesh_number(ARROW),
        "meshes": meshes,
        "time": binary.add(motion.time, "<f8"),
        "position": _words(position, origin, step, binary),
        "quaternion": binary.add_series(quaternion),
        "largest": binary.add_series(largest),
        "deformation": {str(body): binary.add(A, "<f4") for body, A in motion.deformation.items()},
        "activation": _words(*quantized(motion.activation), binary),
        "contacts": _contacts(drawing, motion, binary),
        "reactions": _reactions(drawing, motion, binary),
        "applied": _applied(drawing, motion, binary),
    }


def colors() -> dict[str, Any]:
    """Return the colors of forces and muscles."""
    return {
        "contact": CONTACT_COLOR,
        "force": FORCE_COLOR,
        "moment": MOMENT_COLOR,
        "relaxed": RELAXED,
        "active": ACTIVE,
    }


def plot_data(
    trajectory: Trajectory, scalars: Sequence[ScalarChannel], rows: Any, binary: Binary
) -> list[dict[str, Any]]:
    """Return one plot for each unit among the scalars, with all their values."""
    units = dict.fromkeys((one.units, one.is_error) for one in scalars)
    return [
        {
            "units": unit,
            "lines": [
                {"label": str(one), "values": binary.add(_values(trajectory, one)[rows], "<f4")}
                for one in scalars
                if (one.units, one.is_error) == (unit, is_error)
            ],
        }
        for unit, is_error in units
    ]


def has_too_many_reactions(motion: MotionHistory) -> bool:
    """Whether the reactions are left out of a page for their number."""
    instants, joints, _ = motion.reaction.shape
    return bool(instants * joints > MOST_REACTIONS)


def _values(trajectory: Trajectory, scalar: ScalarChannel) -> Floats:
    values = trajectory.channel(scalar.channel).values
    column: Floats = values.reshape(len(values), -1)[:, scalar.column]
    return column


def _words(words: Any, origin: Floats, step: Floats, binary: Binary) -> dict[str, Any]:
    return {"words": binary.add_series(words), "origin": origin.ravel().tolist(), "step": step.ravel().tolist()}


def _contacts(drawing: Drawing, motion: MotionHistory, binary: Binary) -> dict[str, Any]:
    contacts = motion.contacts
    point, force = (quantized(values) for values in (contacts.point, contacts.force))
    return {
        "offset": binary.add(contacts.offset, "<u4"),
        "point": _words(*point, binary),
        "force": _words(*force, binary),
        "bodies": binary.add(contacts.bodies, "<i4"),
        "scale": arrow_scale(contacts.force, drawing.reach),
        "longest": LONGEST * drawing.reach,
    }


def _applied(drawing: Drawing, motion: MotionHistory, binary: Binary) -> dict[str, Any] | None:
    """Return the arrows of a free-body diagram."""
    applied = motion.applied
    if applied is None:
        return None
    return {
        "count": len(applied.names),
        "point": _words(*quantized(applied.point), binary),
        "vectors": [_words(*quantized(vectors), binary) for vectors in (applied.moment, applied.force)],
        "scales": arrow_scales(applied, drawing.reach)[::-1],
        "longest": LONGEST * drawing.reach,
    }


def _reactions(drawing: Drawing, motion: MotionHistory, binary: Binary) -> dict[str, Any] | None:
    kept = [k for k in range(len(drawing.joints)) if np.isfinite(motion.reaction[:, k]).any()]
    if not kept or has_too_many_reactions(motion):
        return None
    wrench = motion.reaction[:, kept]
    norms = np.linalg.norm(wrench.reshape(len(wrench), len(kept), 2, 3), axis=-1)
    scales = []
    for part in (norms[..., 0], norms[..., 1]):
        positive = part[np.isfinite(part) & (part > 0.0)]
        scales.append(TYPICAL * drawing.reach / float(np.quantile(positive, 0.95)) if len(positive) else 0.0)
    return {
        "joints": [
            {"name": one.name, "body": one.body, "position": one.position.tolist(), "rotation": one.rotation.tolist()}
            for one in (drawing.joints[k] for k in kept)
        ],
        "wrench": _words(*quantized(wrench), binary),
        "scales": scales,
        "longest": LONGEST * drawing.reach,
    }
