"""The drawing of a mechanism from its scene and its motion: bodies, ground, joints, springs and muscles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from multibody_cli.constraints.rope import BeltSpec, RopeSpec
from multibody_cli.escaping import path_component
from multibody_cli.forces.elastic_rope import ElasticRopeSpec
from multibody_cli.forces.spring import SpringSpec
from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.spec import JointSpec
from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh, merged
from multibody_cli.meshes.tubes import coil
from multibody_cli.model import Floats
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.render.arcs import chain, surface_solids
from multibody_cli.render.camera import FAR
from multibody_cli.render.drawing import (
    BODY_COLORS,
    GROUND,
    GROUND_COLOR,
    RELAXED,
    SPRING_COLOR,
    STEEL,
    Bar,
    Drawing,
    JointFrame,
    Layer,
    Solid,
)
from multibody_cli.render.motion import MotionHistory
from multibody_cli.render.path_points import depends_on_coordinate, places_of
from multibody_cli.render.ropes import rope_parts
from multibody_cli.render.shapes import plane_tiles, quarters, shape_meshes
from multibody_cli.render.symbols import joint_symbols, surface_symbols
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes.contract import ShapeSpec
from multibody_cli.scene.strands import generated_names
from multibody_cli.spec import Vector
from multibody_cli.spec.path import ArcSpec, line_factors
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.rotations import frame_about, rotation_matrix

LEAST, MOST, SLIM = 0.003, 0.014, 0.3
"""Least and greatest size of a symbol relative to the mechanism; between both, this multiple of the width of a body."""

SHADE = 0.72
"""Brightness of the darker parts of a round body, relative."""

AXIS_COLORS: tuple[Vector, ...] = ((0.85, 0.2, 0.2), (0.2, 0.65, 0.25), (0.2, 0.35, 0.9))
"""Colors of the axes of the frame of a named point."""

SAMPLED = 60
"""Number of instants at which the size of the motion is measured."""


class _Scale(Immutable):
    """Sizes: of a symbol, of the mechanism at the start, of its motion, m, and the centre of the motion (3,)."""

    symbol: float
    reach: float
    travel: float
    centre: Floats


def draw_mechanism(
    loaded: LoadedScene, trajectory: Trajectory, motion: MotionHistory, with_points: bool = False
) -> Drawing:
    """Return the drawing of a mechanism.

    Parameters
    ----------
    loaded
        The scene.
    trajectory
        The run, or the start of the scene, with the ranges of the coordinates.
    motion
        The instants that are drawn, of which the first determines the size of symbols.
    with_points
        Whether named points are drawn, as frames.

    Raises
    ------
    Refused
        The file of a mesh cannot be read.
    """
    scene = loaded.scene
    number = {name: k for k, name in enumerate(trajectory.bodies)}
    shapes = list(_shapes(loaded, number))
    scale = _scale(scene, number, shapes, motion)
    bodies = [*shapes, *_skeletons(scene, number, trajectory.com, shapes, scale.symbol)]
    joints = [one for name in scene.joints for one in _joint(scene, trajectory, number, name, scale.symbol)]
    points = _named_points(scene, number, scale.symbol) if with_points else ()
    ropes = list(_ropes(scene, number, motion, scale.symbol))
    straight = [one for one in ropes if isinstance(one, Bar)]
    arcs = [one for one in ropes if isinstance(one, Solid)]
    return Drawing(
        bodies=trajectory.bodies,
        centres=trajectory.com,
        solids=(*bodies, *_planes(scene, number, scale), *joints, *surface_solids(scene, number), *arcs, *points),
        bars=(*_bars(scene, number, motion, scale.symbol), *straight),
        joints=tuple(
            JointFrame(name, number[joint.child], np.array(pose.position), rotation_matrix(pose.rotation))
            for name, joint in scene.joints.items()
            for pose in (joint.child_origin,)
        ),
        symbol=scale.symbol,
        reach=scale.reach,
    )


def body_color(number: int) -> Vector:
    """Return the color of a body whose shapes have none; that of the world for `GROUND`."""
    return GROUND_COLOR if number == GROUND else BODY_COLORS[number % len(BODY_COLORS)]


def shades(color: Vector) -> tuple[Vector, Vector]:
    """Return a color and a darker one, in which the parts of a round body alternate."""
    r, g, b = color
    return color, (SHADE * r, SHADE * g, SHADE * b)


def _owners(
    scene: SceneSpec, number: Mapping[str, int]
) -> Iterator[tuple[str, int, Sequence[str | int], Sequence[ShapeSpec]]]:
    yield "world", GROUND, ("world",), scene.world.shapes
    for name, body in scene.bodies.items():
        if name in number:
            yield f"body {name}", number[name], ("bodies", name), body.shapes


def _shapes(loaded: LoadedScene, number: Mapping[str, int]) -> Iterator[Solid]:
    for name, body, place, shapes in _owners(loaded.scene, number):
        layer: Layer = "ground" if body == GROUND else "bodies"
        for k, shape in enumerate(shapes):
            if not shape.visible:
                continue
            path = (*place, "shapes", k, "file")
            file = loaded.resolve_path(shape.file, *path) if hasattr(shape, "file") else Path()
            meshes = shape_meshes(shape, file)
            for mesh, color in zip(meshes, shades(shape.color or body_color(body)), strict=False):
                yield Solid(name, layer, body, mesh, color)


def _planes(scene: SceneSpec, number: Mapping[str, int], scale: _Scale) -> Iterator[Solid]:
    """Yield the infinite planes as tiles around the motion."""
    for name, body, _, shapes in _owners(scene, number):
        for shape in shapes:
            if shape.type == "plane" and shape.visible:
                r, g, b = shape.color or GROUND_COLOR
                around = scale.centre if body == GROUND else np.zeros(3)
                for shade, tiles in zip((1.0, 0.9), plane_tiles(shape, around, 5.0 * scale.travel), strict=True):
                    yield Solid(name, "ground", body, tiles, (shade * r, shade * g, shade * b))


def _points_on(scene: SceneSpec, body: str) -> list[Vector]:
    """Return the points of a body in which others act: joints, ends of springs and muscles, and forces."""
    points: list[Vector] = []
    for joint in scene.joints.values():
        points += [joint.child_origin.position] if joint.child == body else []
        points += [joint.origin.position] if joint.parent == body else []
    for entry in (*scene.springs.values(), *scene.muscles.values(), *scene.constraints.values()):
        points += [end.point for _, end in entry.points if end.body == body and not depends_on_coordinate(end)]
    forces = (force for force in scene.forces.values() if getattr(force, "body", None) == body)
    points += [point for force in forces if isinstance(point := getattr(force, "point", None), tuple)]
    return list(dict.fromkeys(points))


def _named_points(scene: SceneSpec, number: Mapping[str, int], symbol: float) -> Iterator[Solid]:
    """Yield the frames of named points: their axes x, y, z in red, green and blue."""
    length = 5.0 * symbol
    axis = solids.cylinder(0.25 * symbol, length, 10)
    for body, points in scene.named_points.items():
        for name, frame in points.items():
            rotation = rotation_matrix(frame.rotation)
            for k, color in enumerate(AXIS_COLORS):
                middle = np.array(frame.position) + 0.5 * length * rotation[:, k]
                placed = axis.moved(middle, frame_about(rotation[:, k]))
                yield Solid(f"point {body}/{name}", "points", number.get(body, GROUND), placed, color)


def _skeletons(
    scene: SceneSpec, number: Mapping[str, int], centres: Floats, shapes: Sequence[Solid], symbol: float
) -> Iterator[Solid]:
    """Yield bodies without shapes: a ball at the center of mass, with rods to the points in which others act."""
    shaped = {solid.body for solid in shapes}
    for name, body in scene.bodies.items():
        k = number.get(name)
        if k is None or k in shaped or body.shapes:
            continue
        centre = centres[k]
        ball = solids.sphere((1.1 if body.kind == "point" else 2.0) * symbol, 24)
        first, second = (one.moved(centre, np.eye(3)) for one in quarters(ball))
        parts, (color, darker) = [first], shades(body_color(k))
        for point in np.array(_points_on(scene, name)).reshape(-1, 3):
            length = float(np.linalg.norm(point - centre))
            if length > symbol:
                rod = solids.cylinder(0.55 * symbol, length, 16)
                parts.append(rod.moved(0.5 * (centre + point), frame_about((point - centre) / length)))
        yield Solid(f"body {name}", "bodies", k, merged(parts), color)
        yield Solid(f"body {name}", "bodies", k, second, darker)


def _scale(scene: SceneSpec, number: Mapping[str, int], shapes: Sequence[Solid], motion: MotionHistory) -> _Scale:
    """Measure the mechanism: its bodies, its points at the start, and its motion."""
    rows = np.unique(np.linspace(0, len(motion.time) - 1, SAMPLED).round().astype(int))
    local: dict[int, list[Floats]] = {k: [] for k in (GROUND, *number.values())}
    widths = []
    for solid in shapes:
        local[solid.body].append(solid.mesh.corners)
        if solid.body != GROUND:
            widths.append(float(np.ptp(solid.mesh.vertices, axis=0).min()))
    for name, k in number.items():
        local[k] += [np.zeros((1, 3)), np.array(_points_on(scene, name)).reshape(-1, 3)]
    moving = []
    for k, parts in local.items():
        corners = np.concatenate([np.zeros((0, 3)), *parts])
        if k != GROUND:
            origin, axes = motion.position[rows, k], motion.axes(k)[rows]
            moving.append(origin[:, None] + np.einsum("tij,nj->tni", axes, corners))
    points = np.concatenate(moving, axis=1)
    ends = [np.array(_points_on(scene, "world")).reshape(-1, 3), points[0]]
    reach = float(np.linalg.norm(np.ptp(np.concatenate(ends), axis=0))) or 1.0
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    travel = max(float(np.linalg.norm(high - low)), reach)
    shown = reach if widths else min(travel, FAR * reach)  # bodies without shapes are symbols, to be seen in all motion
    slim = SLIM * float(np.median(widths)) if widths else shown
    symbol = min(max(slim, LEAST * shown), MOST * shown)
    return _Scale(symbol, reach, travel, 0.5 * (low + high))


def _joint(
    scene: SceneSpec, trajectory: Trajectory, number: Mapping[str, int], name: str, symbol: float
) -> Iterator[Solid]:
    """Yield the symbols of a joint; a surface only for a body that has no shapes."""
    joint = scene.joints[name]
    ends = {"F": (joint.parent, joint.origin), "M": (joint.child, joint.child_origin)}
    ranges = _ranges(trajectory, name, joint)
    bare = {frame for frame, (body, _) in ends.items() if body not in scene.bodies or not scene.bodies[body].shapes}
    if "F" in bare and joint.parent not in scene.bodies and scene.world.shapes:
        bare.remove("F")
    surfaces = [one for one in surface_symbols(joint, ranges) if one.frame in bare]
    for frame, mesh, color in (*joint_symbols(joint, ranges, symbol), *surfaces):
        body, pose = ends[frame]
        placed = mesh.moved(pose.position, rotation_matrix(pose.rotation))
        yield Solid(f"joint {name}", "joints", number.get(body, GROUND), placed, color)


def _ranges(trajectory: Trajectory, name: str, joint: JointSpec) -> Floats:
    """Return the range (n, 2) of each coordinate in the picture: its domain, else that of the motion, widened.

    An angle without domain has a full turn at least.
    """
    path = f"joints/{path_component(name)}/q"
    n = len(joint.coordinates)
    q = trajectory.channel(path).values if path in trajectory.paths else np.zeros((1, n))
    q = q[np.isfinite(q).all(axis=1)]
    low, high = (q.min(axis=0), q.max(axis=0)) if len(q) else (np.zeros(n), np.zeros(n))
    if not joint.own_domains:
        return np.stack([low, high], axis=1)
    middle, half = 0.5 * (low + high), 0.6 * (high - low)
    least = np.array([np.pi if kind is Coordinate.ANGLE else 0.5 for kind in joint.coordinates])
    half = np.where(half > 1e-6, np.maximum(half, np.where(least > 1.0, least, 0.0)), least)
    drawn = np.stack([middle - half, middle + half], axis=1)
    domains = np.array(joint.own_domains).reshape(-1, 2)
    return np.where(np.isfinite(domains).all(axis=1, keepdims=True), domains, drawn)


def _cable(radius: float) -> Mesh:
    """Return a cylinder of length 1 from the origin along z."""
    return solids.cylinder(radius, 1.0, 14).moved((0.0, 0.0, 0.5), np.eye(3))


def _ropes(scene: SceneSpec, number: Mapping[str, int], motion: MotionHistory, symbol: float) -> Iterator[Bar | Solid]:
    """Yield the parts of ropes and belts."""
    radius = 0.45 * symbol
    for name, spec in (*scene.constraints.items(), *scene.springs.items()):
        if isinstance(spec, RopeSpec | BeltSpec | ElasticRopeSpec):
            yield from rope_parts(scene, number, motion, name, spec, _cable(radius), radius)


def _bars(scene: SceneSpec, number: Mapping[str, int], motion: MotionHistory, symbol: float) -> Iterator[Bar]:
    """Yield springs, segments of strands, muscles, and rods that keep a distance."""

    def ends(entries: Sequence[Attachment]) -> Iterator[tuple[tuple[int, int], Floats]]:
        factors, points = list(line_factors(entries)), [k for k, entry in enumerate(entries) if not entry.ORIENTED]
        places: list[Floats] = []
        for i, k in itertools.pairwise(points):
            if factors[k] == 0.0:  # between two branches
                continue
            a, b = entries[i], entries[k]
            arcs = [entry for entry in entries[i + 1 : k] if isinstance(entry, ArcSpec)]
            bodies = number.get(a.body, GROUND), number.get(b.body, GROUND)
            if not (arcs or depends_on_coordinate(a) or depends_on_coordinate(b)):
                yield bodies, np.array([a.point, b.point])
                continue
            places = places or places_of(entries, number, motion)
            begin, end = places[i], places[k]
            for piece in chain(arcs, number, motion, begin, end) if arcs else [np.stack([begin, end])]:
                yield (GROUND, GROUND), np.round(piece, 6)  # in a page, numbers are text

    strung = {name for strand, spec in scene.strands.items() for name in dict(generated_names(strand, spec))["springs"]}
    for name, spring in scene.springs.items():
        if isinstance(spring, ElasticRopeSpec):
            continue
        path = [end for _, end in spring.points]
        straight = isinstance(spring, SpringSpec) and len(path) == 2 and name not in strung
        for bodies, points in ends(path):
            mesh, length = (_coil(motion, bodies, points, symbol)) if straight else (_cable(0.35 * symbol), 1.0)
            yield Bar(f"spring {name}", bodies, points, mesh, length, SPRING_COLOR)
    for k, (name, muscle) in enumerate(scene.muscles.items()):
        for bodies, points in ends([end for _, end in muscle.points]):
            yield Bar(f"muscle {name}", bodies, points, _cable(0.8 * symbol), 1.0, RELAXED, muscle=k)
    for name, constraint in scene.constraints.items():
        if isinstance(constraint, RopeSpec | BeltSpec):
            continue
        for bodies, points in ends([end for _, end in constraint.points]):
            yield Bar(f"constraint {name}", bodies, points, _cable(0.45 * symbol), 1.0, STEEL)


def _coil(motion: MotionHistory, bodies: tuple[int, int], points: Floats, symbol: float) -> tuple[Mesh, float]:
    """Return the coil of a spring and its length: the mean of its motion."""
    a, b = (motion.point(body, point) for body, point in zip(bodies, points, strict=True))
    length = max(float(np.linalg.norm(b - a, axis=1).mean()), symbol)
    turns = int(np.clip(length / (1.1 * symbol), 5, 16))
    return coil(1.5 * symbol, length, 0.26 * symbol, turns), length
