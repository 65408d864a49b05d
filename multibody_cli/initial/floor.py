"""The floor of a scene, `contacts.floor`: a plane of the world below the lowest point of all shapes at the start."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.contacts.contract import Geometry, GeomKind, Records
from multibody_cli.immutable import replace
from multibody_cli.initial.initial_state import placed_bodies
from multibody_cli.model import Floats, Model, State
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.shapes.simple import PlaneSpec


def with_floor(loaded: LoadedScene, model: Model, state: State) -> LoadedScene:
    """Return the scene with its floor as a plane among the shapes of the world, in place of `contacts.floor`.

    Parameters
    ----------
    loaded, model, state
        The scene, which has gravity and shapes that can touch a floor, the compiled model, and its assembled initial
        state.
    """
    contacts, world = loaded.scene.contacts, loaded.scene.world
    assert contacts is not None
    if contacts.floor is None:
        return loaded
    gravity = np.array(loaded.scene.gravity)
    up = -gravity / np.linalg.norm(gravity)
    heights = lowest_points(model.system.contacts.geometry, placed_bodies(model, state), up)
    plane: dict[str, Any] = {"type": "plane", "position": ((heights.min() - contacts.floor) * up).tolist()}
    if not np.array_equal(up, [0.0, 0.0, 1.0]):
        plane["normal"] = up.tolist()
    shapes = [*world.shapes, PlaneSpec.model_validate(plane)]
    update = {
        "world": world.model_copy(update={"shapes": shapes}),
        "contacts": contacts.model_copy(update={"floor": None}),
    }
    written = loaded.data.get("world") or {}
    data = {
        **loaded.data,
        "world": {**written, "shapes": [*written.get("shapes", []), plane]},
        "contacts": {key: value for key, value in loaded.data["contacts"].items() if key != "floor"},
    }
    return replace(loaded, scene=loaded.scene.model_copy(update=update), data=data)


def lowest_points(geometry: Geometry, bodies: Records, up: Floats) -> Floats:
    """Return the height of the lowest point of each shape with contacts but planes, along a unit vector (3,), m.

    Parameters
    ----------
    geometry
        The shapes.
    bodies
        Records with the pose of every body in the fields x (m) and R, by columns.
    up
        The unit vector.
    """
    heights = []
    for geom in geometry.geoms[geometry.geoms["kind"] != GeomKind.PLANE]:
        body = bodies[geom["body"]]
        R = body["R"].reshape(3, 3).T
        u = geom["R"].reshape(3, 3) @ (R.T @ up)  # in the frame of the shape
        vertices = geometry.vertices[geom["first_vertex"] : geom["last_vertex"]]
        heights.append(up @ (body["x"] + R @ geom["x"]) - _reach(geom, vertices, u))
    return np.array(heights)


def _reach(geom: Any, vertices: Floats, u: Floats) -> float:
    """Return the largest coordinate of a shape along -u from its origin, m."""
    a, b, _ = size = geom["extent"]
    match geom["kind"]:
        case GeomKind.SPHERE:
            return float(a)
        case GeomKind.CAPSULE:
            return float(a + b * abs(u[2]))
        case GeomKind.CYLINDER:
            return float(a * np.hypot(u[0], u[1]) + b * abs(u[2]))
        case GeomKind.ELLIPSOID:
            return float(np.linalg.norm(size * u))
        case _:
            return float(-(vertices @ u).min())
