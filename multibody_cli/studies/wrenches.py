"""Wrenches of joints and elements: in chosen axes, as one table of reactions, and all that act on each body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.escaping import decoded, path_component
from multibody_cli.immutable import Immutable, replace
from multibody_cli.joints.spec import WORLD
from multibody_cli.model import Floats, Integers
from multibody_cli.output.bodies import rotate
from multibody_cli.output.channel import AXES, Array
from multibody_cli.output.trajectory import ALL_ROWS, ChannelRecord, Trajectory
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.wrenches import bushings_of
from multibody_cli.spec import Pose
from multibody_cli.spec.rotations import IDENTITY

FRAMES = ("world", "body", "joint")
"""Axes of the components of a wrench: of the world, of the body on which it acts, or of its joint frame there."""

RECORDED = "joint"
"""The axes in which wrenches are recorded."""

_OF_ELEMENTS = "wrenches/"
_BACK = np.array([1.0, -1.0, -1.0, -1.0])
"""Factors of the components of the quaternion of the opposite rotation."""


class WrenchFrame(Immutable):
    """The body on which a recorded wrench acts, and its frame there, relative to the body frame."""

    body: str
    pose: Pose


class Applied(Immutable):
    """A wrench on a body at T instants: the force, N, the moment, N m, about a point, m, all (T, 3) in world axes.

    With `has_place`, the point is that of the element: of a joint, a bushing or gravity; otherwise it is the origin of
    the body frame.
    """

    element: str
    point: Floats
    force: Floats
    moment: Floats
    has_place: bool = True

    def about(self, point: Floats) -> Floats:
        """Return the moment (T, 3) about another point (T, 3), N m."""
        return self.moment + np.cross(self.point - point, self.force)


def wrench_frames(scene: SceneSpec) -> dict[str, WrenchFrame]:
    """Return the frames of the wrenches of joints and bushings, by their channels."""
    frames: dict[str, WrenchFrame] = {}
    for name, joint in scene.joints.items():
        own = WrenchFrame(joint.child, joint.child_origin)
        frames |= dict.fromkeys((f"joints/{path_component(name)}/{word}" for word in ("force", "friction")), own)
    for name, bushing in bushings_of(scene).items():
        frames[f"springs/{path_component(name)}/wrench"] = WrenchFrame(bushing.child, bushing.child_origin)
    return frames


def is_wrench(scene: SceneSpec, path: str) -> bool:
    """Whether a channel has components in axes that can be chosen."""
    return path.startswith(_OF_ELEMENTS) or path in wrench_frames(scene)


# --- axes -------------------------------------------------------------------------------------------------------------
class WrenchAxes(Immutable):
    """The axes in which the wrenches of a scene are expressed.

    Parameters
    ----------
    frame
        A word of `FRAMES`; with "joint", wrenches are as recorded: those of joints and bushings in the axes of their
        own frames, and those of `wrenches/` in the axes of the world.
    frames
        The frames of the wrenches of joints and bushings, by their channels, as pairs.
    """

    frame: str
    frames: tuple[tuple[str, WrenchFrame], ...]

    def express(self, trajectory: Trajectory) -> Trajectory:
        """Return a run whose wrenches have these axes; their moments stay about the same points."""
        frame, frames = self.frame, dict(self.frames)
        if frame == RECORDED:
            return trajectory

        def convert(record: ChannelRecord, rows: slice) -> ChannelRecord:
            own = frames.get(record.path)
            if own is not None:
                rotation = np.array([own.pose.rotation])
                turned = _turned(record.values, lambda vector: rotate(rotation, vector))
                if frame == WORLD:
                    orientation = _orientation(trajectory, own.body, rows, len(turned))
                    turned = _turned(turned, lambda vector: rotate(orientation, vector))
            elif record.path.startswith(_OF_ELEMENTS) and frame == "body":
                orientation = _orientation(trajectory, decoded(record.path.split("/")[-1]), rows, len(record.values))
                turned = _turned(record.values, lambda vector: rotate(orientation * _BACK, vector))
            else:
                return record
            about = f"{record.description} In the axes of the {frame}."
            return replace(record, values=turned, frame=frame, description=about)

        return trajectory.converted(convert)


def wrench_axes(scene: SceneSpec, frame: str) -> WrenchAxes:
    """Return the axes of the wrenches of a scene, by a word of `FRAMES`."""
    return WrenchAxes(frame, tuple(wrench_frames(scene).items()))


def express_wrenches(trajectory: Trajectory, scene: SceneSpec, frame: str) -> Trajectory:
    """Return a run of a scene whose wrenches have other axes; see `WrenchAxes`."""
    return wrench_axes(scene, frame).express(trajectory)


def _turned(wrenches: Floats, turn: Callable[[Floats], Floats]) -> Floats:
    """Return wrenches (T, 6) whose moments and forces are turned."""
    return np.concatenate([turn(wrenches[:, :3]), turn(wrenches[:, 3:])], axis=1)


def _orientation(trajectory: Trajectory, body: str, rows: slice, count: int) -> Floats:
    """Return the quaternions (T, 4) of a body, or of the world."""
    if body == WORLD:
        return np.tile(np.array(IDENTITY, dtype=float), (count, 1))
    return trajectory.channel(f"bodies/{path_component(body)}/quaternion", rows).values


# --- one table of all joints ------------------------------------------------------------------------------------------
class Reactions(Immutable, eq=False):
    """The wrenches of all joints as one table: a row for each instant and joint.

    Parameters
    ----------
    trajectory
        The run, with its wrenches in the wanted axes.
    joints
        Names of the joints.
    instants
        (T,) rows of the output instants.
    frame
        The axes.
    """

    trajectory: Trajectory
    joints: tuple[str, ...]
    instants: Integers
    frame: str

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return ["time", "joint", "Fx", "Fy", "Fz", "Mx", "My", "Mz"]

    @property
    def units(self) -> list[str]:
        """Units of the columns; 1 for text."""
        return ["s", "1", "N", "N", "N", "N m", "N m", "N m"]

    @property
    def descriptions(self) -> list[str]:
        """Sentences that describe the columns."""
        axes = {"joint": "the joint frame of the child", "body": "the child", WORLD: "the world"}[self.frame]
        force = f"Force of the joint on its child, in the axes of {axes}."
        moment = f"Moment of the joint on its child about the origin of its joint frame there, in the axes of {axes}."
        return ["Time of the output instant.", "Name of the joint.", *[force] * 3, *[moment] * 3]

    def blocks(self) -> Iterator[list[Array]]:
        """Read the whole table."""
        yield list(self.whole_columns())

    def row_blocks(self) -> Iterator[list[Array]]:
        """Read the whole table."""
        return self.blocks()

    def whole_columns(self) -> Iterator[Array]:
        """Read column after column, (T joints,); the joints of an instant are consecutive."""
        count, paths = len(self.instants), [f"joints/{path_component(name)}/force" for name in self.joints]
        wrenches = np.stack([self.trajectory.channel(path).values[self.instants] for path in paths], axis=1)
        yield np.repeat(self.trajectory.time[self.instants], len(self.joints))
        yield np.tile(np.array(self.joints), count)
        for label in ("fx", "fy", "fz", "mx", "my", "mz"):
            yield wrenches[:, :, AXES["moment_force"].index(label)].ravel()


def reactions_of(trajectory: Trajectory, scene: SceneSpec, instants: Integers, frame: str | None) -> Reactions:
    """Return the wrenches of all joints of a run, which are already in the axes of `frame`.

    Raises
    ------
    ResultError
        The scene has no joints, or the run has not recorded them.
    """
    if not scene.joints:
        raise ResultError(f"{trajectory.source} has no joints, so that it has no reactions")
    return Reactions(trajectory=trajectory, joints=tuple(scene.joints), instants=instants, frame=frame or "joint")


# --- all that act on each body ----------------------------------------------------------------------------------------
def applied_wrenches(
    trajectory: Trajectory, scene: SceneSpec, masses: Mapping[str, float], rows: slice = ALL_ROWS
) -> dict[str, list[Applied]]:
    """Return all wrenches that act on each body: of gravity, joints, elements and contacts.

    Their sum is the rate of change of the momentum of the body.  Impulses of contacts and of dry friction are those of
    the last step, whose levers are those at its start.

    Parameters
    ----------
    trajectory
        The run, which has recorded poses of bodies and the groups `joints` and `wrenches`.
    scene
        Its scene.
    masses
        Masses of the bodies, kg.
    rows
        The instants.

    Raises
    ------
    ResultError
        The run has not recorded the channels from which a wrench is computed.
    """
    origins: dict[str, Floats] = {}
    found: dict[str, list[Applied]] = {}
    for name in scene.bodies:
        path = f"bodies/{path_component(name)}"
        origins[name], com = (trajectory.channel(f"{path}/{word}", rows).values for word in ("position", "com"))
        weight = np.tile(masses[name] * np.array(scene.gravity), (len(com), 1))
        found[name] = [Applied(element="gravity", point=com, force=weight, moment=np.zeros_like(com))]
    frames, in_world = wrench_frames(scene), express_wrenches(trajectory, scene, WORLD)
    for name, joint in scene.joints.items():
        path = f"joints/{path_component(name)}"
        wrench, frame = in_world.channel(f"{path}/force", rows).values, WrenchFrame(joint.child, joint.child_origin)
        point = _place(trajectory, frame, rows, len(wrench))
        for sign, body in ((1.0, joint.child), (-1.0, joint.parent)):
            if body != WORLD:
                force, moment = sign * wrench[:, 3:], sign * wrench[:, :3]
                found[body].append(Applied(element=path, point=point, force=force, moment=moment))
    for path in (one for one in trajectory.paths if one.startswith(_OF_ELEMENTS)):
        element, _, body = path.removeprefix(_OF_ELEMENTS).rpartition("/")
        wrench, own, place = trajectory.channel(path, rows).values, decoded(body), frames.get(f"{element}/wrench")
        one = Applied(element, origins[own], wrench[:, 3:], wrench[:, :3], has_place=place is not None)
        if place is not None:
            point = _place(trajectory, place, rows, len(wrench))
            one = replace(one, point=point, moment=one.about(point))
        found[own].append(one)
    for number, name in enumerate(scene.bodies if "bodies/contact_force" in trajectory.paths else ()):
        force, moment = (
            trajectory.channel(f"bodies/contact_{word}", rows).values[:, number] for word in ("force", "torque")
        )
        found[name].append(Applied("contacts", origins[name], force, moment, has_place=False))
    return found


def _place(trajectory: Trajectory, frame: WrenchFrame, rows: slice, count: int) -> Floats:
    """Return the origin (T, 3) of the frame of a wrench, m."""
    arm = rotate(_orientation(trajectory, frame.body, rows, count), np.array(frame.pose.position))
    if frame.body == WORLD:
        return arm
    return arm + trajectory.channel(f"bodies/{path_component(frame.body)}/position", rows).values
