"""A picture of a run or of a scene at its start: drawing, motion and camera, which every file format shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate
from multibody_cli.model import Floats
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.render.camera import (
    FAR,
    PARALLEL,
    Camera,
    View,
    default_view,
    extreme_points,
    fitted_camera,
    upward,
    view_along,
)
from multibody_cli.render.drawing import SURFACE_COLOR, Drawing, arrow_scales, scaled_arrows
from multibody_cli.render.free_body import with_applied_wrenches
from multibody_cli.render.mechanism import draw_mechanism
from multibody_cli.render.motion import Integers, MotionHistory, read_motion
from multibody_cli.scene.load import LoadedScene
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.timeline import Callbacks

PARALLEL_HINGES = 1e-6
"""Largest sine of the angle of two hinges that are parallel."""

OUT_OF_PLANE = 0.1
"""Largest force along the hinges, relative to the largest one, that a view along them may hide."""

HOLLOW = 0.4
"""Size of a surface that could hide bodies from the side, relative to the mechanism in its motion."""


class Picture(Immutable, eq=False):
    """The contents of a picture.

    Parameters
    ----------
    loaded
        The scene.
    trajectory
        The run, or the start of the scene.
    rows
        Output instants in the picture, in the order of the animation.
    direction
        Direction of view; None selects one.
    with_points
        Whether named points of bodies are drawn.
    free
        Bodies of which a free-body diagram is drawn.
    """

    loaded: LoadedScene
    trajectory: Trajectory
    rows: Integers
    direction: View | None = None
    with_points: bool = False
    free: tuple[str, ...] = ()

    @cached_property
    def motion(self) -> MotionHistory:
        """The motion at the instants."""
        scene = self.loaded.scene
        motion = read_motion(self.trajectory, self.rows, list(scene.muscles), list(scene.joints))
        if not self.free:
            return motion
        return with_applied_wrenches(motion, self.loaded, self.trajectory, self.rows, self.free)

    @cached_property
    def scale(self) -> str:
        """Scale of the arrows of a free-body diagram; empty without one."""
        applied = self.motion.applied
        if applied is None:
            return ""
        tenth = 0.1 * self.drawing.reach
        found = []
        for scale, word in zip(arrow_scales(applied, self.drawing.reach), ("N (violet)", "N*m (green)"), strict=True):
            found += [f"{tenth / scale:.3g} {word}"] if scale else []
        return f"an arrow of {tenth:.3g} m is {' or '.join(found)}"

    @cached_property
    def drawing(self) -> Drawing:
        """The elements of the mechanism."""
        return draw_mechanism(self.loaded, self.trajectory, self.motion, self.with_points)

    @property
    def shows_inside(self) -> bool:
        """Whether bodies are translucent: with muscles, or in a free-body diagram."""
        return bool(self.free) or any(bar.muscle >= 0 for bar in self.drawing.bars)

    @cached_property
    def up(self) -> Floats:
        """Unit vector that points up in the picture."""
        return upward(np.array(self.loaded.scene.gravity))

    @cached_property
    def points(self) -> Floats:
        """Points (n, 3) that the camera shows, m."""
        points, applied = extreme_points(self.drawing, self.motion), self.motion.applied
        if applied is None:
            return points
        ends = [applied.point + arrows for arrows in scaled_arrows(applied, self.drawing.reach)]
        return np.concatenate([points, *(end.reshape(-1, 3) for end in ends)])

    @cached_property
    def path(self) -> Floats | None:
        """Path (T, 3) of the middle of the bodies, m, if they go so far that a camera at rest would show them tiny.

        It has the horizontal part, or the vertical part, or both, whichever is long; None if neither is.
        """
        middle = self.motion.position.mean(axis=1) if self.drawing.bodies else np.zeros((len(self.rows), 3))
        rise = np.outer(middle @ self.up, self.up)
        long = [part for part in (middle - rise, rise) if _extent(part) > FAR * self.drawing.reach]
        return np.sum(long, axis=0) if long else None

    @cached_property
    def view(self) -> View:
        """Direction of view."""
        surfaces = [one.mesh.vertices for one in self.drawing.solids if one.color == SURFACE_COLOR]
        widths = [_extent(one) for one in (self.points, *surfaces)]
        is_hollow = any(width > HOLLOW * widths[0] for width in widths[1:])
        if self.direction is None and (normal := self._normal) is not None:
            return view_along(normal, self.up)
        return self.direction or default_view(self.points, self.up, is_hollow)

    def camera(self, points: Floats, aspect: float) -> Camera:
        """Return the camera that shows points (n, 3), m; lines of sight on a free-body diagram are parallel."""
        return fitted_camera(points, self.view, self.up, aspect, PARALLEL if self.free else None)

    @property
    def _normal(self) -> Floats | None:
        """Unit vector along all hinges, if the forces of a free-body diagram are across it; else None."""
        axes, applied = [*self._hinges()], self.motion.applied
        if applied is None or not axes or np.abs(np.cross(axes, axes[0])).max() > PARALLEL_HINGES:
            return None
        out_of_plane = np.abs(applied.force @ axes[0]).max(initial=0.0)
        return axes[0] if out_of_plane <= OUT_OF_PLANE * np.abs(applied.force).max(initial=0.0) else None

    def _hinges(self) -> Iterator[Floats]:
        """Yield the axes of the hinges in the world at the first instant."""
        for frame in self.drawing.joints:
            joint = self.loaded.scene.joints[frame.name]
            given = getattr(joint, "axis", None)
            if given is not None and joint.coordinates == (Coordinate.ANGLE,):
                axis = frame.rotation @ np.array(given)
                yield np.asarray(self.motion.axes(frame.body)[0] @ axis / np.linalg.norm(axis))


def _extent(points: Floats) -> float:
    """Return the diagonal of the bounding box of points (n, 3), m."""
    return float(np.linalg.norm(np.ptp(points, axis=0)))


def start_of(simulation: PreparedSimulation) -> Trajectory:
    """Return the first output instant of a scene as a run: its assembled start."""
    return simulation.run_in_memory(callbacks=Callbacks(stop_asked=lambda: True))[1]


def about(trajectory: Trajectory, names: Sequence[str] = (), scale: str = "") -> str:
    """Return lines about a run: description, method and step, status if not complete, ghosts, and scale of arrows."""
    known = trajectory.attributes
    settings = ", ".join(filter(None, [known["method"], known["integrator"], f"step {known['step']:g} s"]))
    status = "" if known["status"] in ("complete", "interrupted") else f", {known['status']}"
    ghosts = f"faint: {', '.join(names)}" if names else ""
    return "\n".join(filter(None, [str(known["description"]).strip(), settings + status, ghosts, scale]))
