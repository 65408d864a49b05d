"""Ropes and belts in pictures: straight parts as bars, and arcs on pulleys as tubes, from their first instant.

The ends of a straight part stay where they are at the first instant in the bodies that carry the pulleys, which is
exact as long as the straight part keeps its direction to them.  A point or a centre that moves in its body is where it
is at each instant, and no arc is drawn about the latter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from multibody_cli.constraints.rope import BeltSpec, RopeSpec
from multibody_cli.forces.elastic_rope import ElasticRopeSpec
from multibody_cli.immutable import Immutable
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.meshes.tubes import tube
from multibody_cli.model import Floats
from multibody_cli.render.drawing import GROUND, STEEL, Bar, Solid
from multibody_cli.render.motion import MotionHistory
from multibody_cli.render.path_points import depends_on_coordinate, places_of
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.turning import turning_coordinate
from multibody_cli.spec.over import PulleySpec
from multibody_cli.spec.points import Attachment

ROUNDS = 60
"""Number of times that the ends of a straight part are fitted to each other."""

LEAST_ARC = 1e-3
"""Wrap angle, rad, below which no arc is drawn."""


class _Disc(Immutable, eq=False):
    """A point or pulley at the first instant: centre, axis, radius, sense and whole turns, and the body it rests on."""

    centre: Floats
    axis: Floats
    radius: float
    sense: float
    turns: int
    carrier: int

    def tangent(self, other: Floats, sense: float) -> Floats:
        """Return the end of the tangent to a point, along which the rope leaves in this sense."""
        if not self.radius:
            return self.centre
        flat = other - self.centre
        flat = flat - (self.axis @ flat) * self.axis
        distance = max(float(np.linalg.norm(flat)), self.radius)
        cosine = self.radius / distance
        sine = sense * math.sqrt(1.0 - cosine * cosine)
        return np.asarray(self.centre + self.radius / distance * (cosine * flat - sine * np.cross(self.axis, flat)))

    def arc(self, begin: Floats, end: Floats) -> Floats:
        """Return points (n, 3) of the arc from one end to the other; none if it is too short."""
        p, q = begin - self.centre, end - self.centre
        angle = self.sense * math.atan2(self.axis @ np.cross(p, q), p @ q)
        angle = (angle + LEAST_ARC) % math.tau - LEAST_ARC + math.tau * self.turns
        if angle < LEAST_ARC:
            return np.zeros((0, 3))
        turn = self.sense * np.linspace(0.0, angle, 3 + int(angle / 0.15))[:, None]
        return np.asarray(self.centre + np.cos(turn) * p + np.sin(turn) * np.cross(self.axis, p))


def rope_parts(
    scene: SceneSpec,
    number: Mapping[str, int],
    motion: MotionHistory,
    name: str,
    spec: RopeSpec | BeltSpec | ElasticRopeSpec,
    cable: Mesh,
    radius: float,
) -> Iterator[Bar | Solid]:
    """Yield the straight parts of a rope and its arcs.

    Parameters
    ----------
    scene, number, motion
        The scene, the numbers of its bodies, and their motion.
    name, spec
        The rope.
    cable, radius
        The mesh of a straight part of length 1 along z, and its radius, m.
    """
    entries = [entry for _, entry in spec.points]
    moving = {
        k: place for k, place in enumerate(places_of(entries, number, motion)) if depends_on_coordinate(entries[k])
    }
    discs = [_disc(scene, number, motion, entry, moving.get(k)) for k, entry in enumerate(entries)]
    elastic = isinstance(spec, ElasticRopeSpec)
    closed = spec.closed if isinstance(spec, ElasticRopeSpec) else isinstance(spec, BeltSpec)
    label = f"{'spring' if elastic else 'constraint'} {name}"
    around = [*discs, *discs[:1]] if closed else discs
    carriers = {k: (discs[k].carrier, discs[k].centre) for k in moving}
    shifts = {k: moving[k] - motion.point(body, _local(motion, body, at)) for k, (body, at) in carriers.items()}
    ends = [_straight(a, b) for a, b in itertools.pairwise(around)]
    for k, ((a, b), points) in enumerate(zip(itertools.pairwise(around), ends, strict=True)):
        local = np.array([_local(motion, one.carrier, point) for one, point in zip((a, b), points, strict=True)])
        beside = k, (k + 1) % len(discs)
        if shifts.keys() & set(beside):
            carried = [motion.point(one.carrier, point) for one, point in zip((a, b), local, strict=True)]
            places = [place + shifts.get(j, 0.0) for j, place in zip(beside, carried, strict=True)]
            yield Bar(label, (GROUND, GROUND), np.asarray(np.round(np.stack(places), 6)), cable, 1.0, STEEL)
        else:
            yield Bar(label, (a.carrier, b.carrier), local, cable, 1.0, STEEL)
    corners = itertools.pairwise([*ends, *ends[:1]] if closed else ends)
    for k, (disc, (before, after)) in enumerate(zip(around[1:], corners, strict=False), start=1):
        fixed = disc.radius and k % len(discs) not in shifts
        arc = disc.arc(before[1], after[0]) if fixed else np.zeros((0, 3))
        if len(arc):
            yield Solid(label, "joints", disc.carrier, tube(_local(motion, disc.carrier, arc), radius), STEEL)


def _disc(
    scene: SceneSpec, number: Mapping[str, int], motion: MotionHistory, entry: Attachment, places: Floats | None
) -> _Disc:
    body = number.get(entry.body, GROUND)
    centre = motion.point(body, entry.point)[0] if places is None else places[0]
    if not isinstance(entry, PulleySpec):
        return _Disc(centre, np.zeros(3), 0.0, 1.0, 0, body)
    axis = motion.axes(body)[0] @ np.array(entry.axis)
    carrier = entry.body
    if turning_coordinate(scene.joints, entry.body, entry.axis) is not None:
        carrier = next(joint.parent for joint in scene.joints.values() if joint.child == entry.body)
    return _Disc(centre, axis, entry.radius, float(entry.sense), entry.turns, number.get(carrier, GROUND))


def _straight(a: _Disc, b: _Disc) -> tuple[Floats, Floats]:
    begin, end = a.centre, b.centre
    for _ in range(ROUNDS):
        begin, end = a.tangent(end, a.sense), b.tangent(begin, -b.sense)
    return begin, end


def _local(motion: MotionHistory, body: int, points: Floats) -> Floats:
    """Return points of the first instant in the frame of a body."""
    origin = motion.position[0, body] if body >= 0 else np.zeros(3)
    return np.asarray((points - origin) @ motion.axes(body)[0])
