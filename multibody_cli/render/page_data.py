"""Data of the player: the drawing and the motion of each run, events and plots, as a header and binary arrays."""

from __future__ import annotations

from collections.abc import Sequence
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
    force_scale,
)
from multibody_cli.render.events import Event
from multibody_cli.render.motion import MotionHistory

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
        "solids": [
            {"name": one.name, "layer": one.layer, "body": one.body, "color": one.color, "mesh": mesh_number(one.mesh)}
            for one in drawing.solids
        ],
        "bars": [
            {
                "name": one.name,
                "bodies": one.bodies,
                "points": one.points.tolist(),
                "length": one.length,
                "color": one.color,
                "muscle": one.muscle,
                "mesh": mesh_number(one.mesh),
            }
            for one in drawing.bars
        ],
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


def event_data(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the events."""
    return [event._asdict() for event in events]


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
        "scale": force_scale(motion, drawing.reach),
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
