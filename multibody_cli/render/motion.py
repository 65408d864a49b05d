"""Motion of the bodies of a run at selected output instants, with contacts, activations and reactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.escaping import path_component
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Integers as Integers
from multibody_cli.model import Floats
from multibody_cli.output.contact_channels import OFFSET
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.spec.rotations import rotation_matrices

NO_FORCES = np.zeros((0, 3))
NO_BODIES = np.zeros((0, 2), np.int64)


class ContactHistory(Immutable, eq=False):
    """Contacts of all instants: those of instant k are rows offset[k] to offset[k + 1] - 1.

    Parameters
    ----------
    offset
        (T + 1,) first row of each instant.
    point, force
        (N, 3) contact points, m, and forces on body B, N: the impulses of the last step divided by the step.
    bodies
        (N, 2) indices of both bodies; -1 is the world.
    """

    offset: Integers
    point: Floats = NO_FORCES
    force: Floats = NO_FORCES
    bodies: Integers = NO_BODIES


class AppliedHistory(Immutable, eq=False):
    """All wrenches on some bodies at T instants: those of a free-body diagram.

    Parameters
    ----------
    names
        The n elements that act, each with its body, as in `joints/hinge on rod`.
    bodies
        The bodies, by their indices.
    point, force, moment
        (T, n, 3) points, m, forces, N, and moments about the points, N m, in world axes.
    """

    names: tuple[str, ...]
    bodies: frozenset[int]
    point: Floats
    force: Floats
    moment: Floats


class MotionHistory(Immutable, eq=False):
    """Poses of the bodies in the world at T instants.

    Parameters
    ----------
    time
        (T,) instants, s.
    position, quaternion
        (T, B, 3) origins of the body frames, m, and (T, B, 4) orientations (w, x, y, z).
    deformation
        (T, 3, 3) deformation gradients of affine bodies, by the index of the body.
    contacts
        The contacts.
    activation
        (T, M) activations of the muscles, 0 to 1, in the order of the scene; NaN if they were not recorded.
    reaction
        (T, J, 6) wrenches [moment; force] of the joints on their children, in the child's joint frame, N m and N; NaN
        if they were not recorded.
    coordinates
        (T, n) coordinates of the joints, rad or m, by name, if they were recorded.
    applied
        The wrenches of a free-body diagram, which has no arrows of contacts; None without one.
    """

    time: Floats
    position: Floats
    quaternion: Floats
    deformation: dict[int, Floats]
    contacts: ContactHistory
    activation: Floats
    reaction: Floats
    coordinates: Mapping[str, Floats]
    applied: AppliedHistory | None = None

    def axes(self, body: int) -> Floats:
        """Return the matrices (T, 3, 3) from the body frame to the world: rotations, or deformations."""
        if body < 0:
            return np.broadcast_to(np.eye(3), (len(self.time), 3, 3))
        return self.deformation[body] if body in self.deformation else rotation_matrices(self.quaternion[:, body])

    def point(self, body: int, point: Sequence[float] | Floats) -> Floats:
        """Return the positions (T, 3) of a point (3,) that is fixed in a body, or moves in it (T, 3), m."""
        origin = self.position[:, body] if body >= 0 else np.zeros(3)
        placed: Floats = origin + (self.axes(body) @ np.asarray(point, dtype=float)[..., None])[..., 0]
        return placed


def choose_rows(
    time: Floats, at: Sequence[float] = (), begin: float | None = None, end: float | None = None, spacing: float = 0.0
) -> Integers:
    """Choose output instants.

    Parameters
    ----------
    time
        (T,) output instants, s.
    at
        Times, s; for each the nearest output instant is chosen, and the other parameters have no effect.
    begin, end
        Range, s; None is the first and the last instant.
    spacing
        Time between two chosen instants, s: those nearest to its multiples; 0 chooses all.

    Raises
    ------
    ArgumentError
        A time lies outside of the run, or the range holds no instant.
    """
    if not len(time):
        raise ArgumentError("the result has no output instants: there is nothing to draw")
    slack = 1e-9 * (1.0 + abs(time[-1]))
    for word, value in (*(("--at", one) for one in at), ("--from", begin), ("--to", end)):
        if value is not None and not time[0] - slack <= value <= time[-1] + slack:
            raise ArgumentError(
                f"{word} {value:g} s lies outside of the recorded time, from {time[0]:g} to {time[-1]:g} s"
            )
    if at:
        return np.array([nearest_row(time, one) for one in at])
    first, last = time[0] if begin is None else begin, time[-1] if end is None else end
    rows = np.flatnonzero((time >= first - slack) & (time <= last + slack))
    if not len(rows):
        raise ArgumentError(f"there is no output instant between --from {first:g} s and --to {last:g} s")
    if spacing > 0.0:
        wanted = np.arange(time[rows[0]], time[rows[-1]] + 0.5 * spacing, spacing)
        rows = np.array([nearest_row(time, one) for one in np.minimum(wanted, time[rows[-1]])])
    return rows


def nearest_row(time: Floats, wanted: float) -> int:
    """Return the index of the instant nearest to a time, s."""
    after = int(np.clip(np.searchsorted(time, wanted), 1, max(1, len(time) - 1)))
    return after - 1 if len(time) == 1 or wanted - time[after - 1] <= time[after] - wanted else after


def read_motion(trajectory: Trajectory, rows: Integers, muscles: Sequence[str], joints: Sequence[str]) -> MotionHistory:
    """Read the motion of a run.

    Parameters
    ----------
    trajectory
        The run.
    rows
        Indices of the output instants, in any order.
    muscles, joints
        Names of muscles and joints, in the order of the scene.

    Raises
    ------
    ResultError
        The poses of the bodies were not recorded.
    """
    missing = [path for path in ("bodies/position", "bodies/quaternion") if path not in trajectory.paths]
    if missing:
        raise ResultError(
            f"{trajectory.source} has no {' and '.join(missing)}, which `output.channels` excludes: record them to "
            "draw the bodies"
        )

    def read(path: str) -> Floats:
        values: Floats = trajectory.channel(path).values[rows]
        return values

    def columns(paths: Sequence[str], *shape: int) -> Floats:
        nothing = np.full((len(rows), *shape), np.nan)
        values = [read(path).reshape(nothing.shape) if path in trajectory.paths else nothing for path in paths]
        return np.stack(values, axis=1) if values else np.zeros((len(rows), 0, *shape))

    deformation = {
        body: read(path).reshape(-1, 3, 3)
        for body, name in enumerate(trajectory.bodies)
        if (path := f"bodies/{path_component(name)}/deformation") in trajectory.paths
    }
    return MotionHistory(
        time=trajectory.time[rows],
        position=read("bodies/position"),
        quaternion=read("bodies/quaternion"),
        deformation=deformation,
        contacts=_read_contacts(trajectory, rows),
        activation=columns([f"muscles/{path_component(name)}/activation" for name in muscles]),
        reaction=columns([f"joints/{path_component(name)}/force" for name in joints], 6),
        coordinates={
            name: read(path) for name in joints if (path := f"joints/{path_component(name)}/q") in trajectory.paths
        },
    )


def _read_contacts(trajectory: Trajectory, rows: Integers) -> ContactHistory:
    names = ("point", "normal", "normal_impulse", "tangential_impulse", "body_a", "body_b")
    paths = [f"contacts/{name}" for name in names]
    if OFFSET not in trajectory.paths or any(path not in trajectory.paths for path in paths):
        return ContactHistory(np.zeros(len(rows) + 1, np.int64))
    bounds = trajectory.channel(OFFSET).values
    counts = bounds[rows + 1] - bounds[rows]
    offset = np.concatenate([[0], np.cumsum(counts)])
    chosen = np.arange(offset[-1]) + np.repeat(bounds[rows] - offset[:-1], counts)
    point, normal, along, across, a, b = (trajectory.channel(path).values[chosen] for path in paths)
    force = (normal * along[:, None] + across) / trajectory.attributes["step"]
    return ContactHistory(offset, point, force, np.stack([a, b], axis=1))
