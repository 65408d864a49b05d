"""A path over one surface for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from force_scenes import INERTIA
from loops import loaded
from strategies import random_rotation

from multibody_cli.cables.lines import measure
from multibody_cli.compile import compile_scene
from multibody_cli.model import System
from multibody_cli.tree.workspace import Work, workspace_for

POSE = {"position": [0.1, -0.2, 0.3], "rotation": {"axis": [1, -2, 3], "angle": 0.6}}


def scene_over(surface: dict[str, Any], side: tuple[float, float, float] | None, pose: dict[str, Any]) -> System:
    """A spring between two points over a surface of a third body."""
    arc: dict[str, Any] = {"wrap": {**surface, "body": "c", **pose}}
    arc |= {} if side is None else {"side": list(side)}
    spring = {"path": [{"body": "a"}, arc, {"body": "b"}], "stiffness": 30, "damping": 4, "rest_length": 0.4}
    scene = {"bodies": {body: INERTIA for body in "abc"}, "springs": {"e": spring}}
    return compile_scene(loaded(scene)).model.system


class Path:
    """The path over a surface whose points are given in the frame of the surface.

    `aligned` bodies and surfaces have the axes of the world, without round-off; others random ones.
    """

    def __init__(
        self,
        surface: dict[str, Any],
        side: tuple[float, float, float] | None = None,
        seed: int = 0,
        aligned: bool = False,
    ) -> None:
        self.system, rng = scene_over(surface, side, {} if aligned else POSE), np.random.default_rng(seed)
        self.work: Work = workspace_for(self.system)
        self.points = self.system.forces.points
        self.surface = self.points.surfaces[0]
        for row in range(1, 4):
            body = self.work.bodies[row]
            body["R"] = (np.eye(3) if aligned else random_rotation(rng).T).ravel()
            body["x"], body["v"], body["w"] = np.zeros((3, 3)) if aligned else rng.normal(size=(3, 3))

    def between(self, a: Any, b: Any) -> tuple[float, float, float]:
        """Length, rate and shortest line of the path between two points (3,) in the frame of the surface, m."""
        entries, bodies = self.points.entries, self.work.bodies
        for entry, point in zip(entries[[0, -1]], (a, b), strict=True):
            body = bodies[entry["row"]]
            R = np.array(body["R"]).reshape(3, 3).T
            body["x"] = self.origin + self.axes @ np.asarray(point, dtype=float) - R @ entry["point"]
        length, rate, shortest = measure(self.points, 0, len(entries), bodies)
        return float(length), float(rate), float(shortest)

    @property
    def axes(self) -> Any:
        """The axes of the surface in the world."""
        return self._body_axes @ np.array(self.surface["axes"]).reshape(3, 3).T

    @property
    def origin(self) -> Any:
        """The centre of the surface in the world, m."""
        return self._body["x"] + self._body_axes @ self.surface["centre"]

    def local(self, lever: Any) -> Any:
        """A point at a lever of the body of the surface, in the frame of the surface, m."""
        return self.axes.T @ (self._body["x"] + lever - self.origin)

    @property
    def _body(self) -> Any:
        return self.work.bodies[self.points.entries[1]["row"]]

    @property
    def _body_axes(self) -> Any:
        return np.array(self._body["R"]).reshape(3, 3).T
