"""The model into which constraints, force elements and sensors are packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from multibody_cli.errors import ExpressionError
from multibody_cli.forces.muscle import MuscleSpec
from multibody_cli.immutable import Immutable
from multibody_cli.joints.spec import JointSpec
from multibody_cli.mass import MassProperties
from multibody_cli.model import JointEntry
from multibody_cli.packing.forces import ForcePacker
from multibody_cli.packing.layout import placement
from multibody_cli.packing.markers import Markers
from multibody_cli.packing.quantities import CoordinateReference
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.turning import turning_coordinate
from multibody_cli.spec import Pose, SignalSpec, Spec, Vector
from multibody_cli.spec.entries import Matrix3, Vector3, split_coordinate
from multibody_cli.spec.points import Attachment
from multibody_cli.symbolic.tables import Piecewise


class Context(Immutable):
    """Access to the model: the `PackingContext` of `spec.entries`.

    Parameters
    ----------
    rows
        Row of each body by its name.
    frames
        Body frames in the joint frames, by row.
    packer
        Packs functions of time and forces.
    markers
        Packs points of affine bodies.
    masses
        Mass properties of each body by its name.
    duration
        Of the run, s.
    joints
        The joints of the scene.
    entries
        The joints in the arrays of the model, by name.
    """

    rows: Mapping[str, int]
    frames: Mapping[int, Placement]
    packer: ForcePacker
    markers: Markers
    masses: Mapping[str, MassProperties]
    duration: float
    joints: Mapping[str, JointSpec]
    entries: Mapping[str, JointEntry]

    def row(self, body: str) -> int:
        """Return the row of a body; 0 for the world."""
        return self.rows[body]

    def point(self, body: str, point: Vector) -> Vector3:
        """Return a point of the body frame in the joint frame of the body, m; of the world: unchanged."""
        frame = self.frames[self.rows[body]]
        return np.asarray(frame.position + frame.rotation @ np.array(point))

    def attachment(self, body: str, point: Vector) -> tuple[int, Vector3]:
        """Return the row that moves with a point of a body, and the point relative to that row."""
        if self.markers.takes(body):
            return self.markers.row(body, point), np.zeros(3)
        return self.row(body), self.point(body, point)

    def axes(self, body: str) -> Matrix3:
        """Return the rotation of the body frame in the joint frame; of the world: the unit matrix."""
        return np.asarray(self.frames[self.rows[body]].rotation)

    def direction(self, body: str, direction: Vector) -> Vector3:
        """Return a direction of the body frame in the joint frame of the body; of the world: unchanged."""
        return np.asarray(self.axes(body) @ np.array(direction))

    def com(self, body: str) -> Vector3:
        """Return the centre of mass in the joint frame, m."""
        x, y, z = self.masses[body].com
        return self.point(body, (x, y, z))

    def frame(self, body: str, pose: Pose) -> tuple[int, Vector3, Matrix3]:
        """Return the row of a body, and a frame that is fixed in it: origin and rotation in the joint frame."""
        found = self.frames[self.row(body)] @ placement(pose)
        return self.row(body), found.position, found.rotation

    def cable(self, points: Sequence[Attachment]) -> tuple[int, int]:
        """Add the points and surfaces of a cable; return the range that their entries take."""
        return self.packer.cables.add(points, self)

    def spans(self, spans: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
        """Add the spans of an elastic rope; return the range that they take."""
        self.packer.spans += spans
        return len(self.packer.spans) - len(spans), len(self.packer.spans)

    def coordinate(self, name: str) -> tuple[int, int]:
        """Return the index of a coordinate in q and in v."""
        joint, index = split_coordinate(name)
        return self.packer.quantities.places[CoordinateReference(joint, int(index or 0))]

    def joint_of(self, coordinate: str) -> tuple[int, int, int, int, int]:
        """Return the joint of a coordinate: its first column in v and the end, and the rows of its frame and bodies.

        The bodies are the parent and the child.
        """
        name, _ = split_coordinate(coordinate)
        columns, joint = self.entries[name].columns, self.joints[name]
        return columns.start, columns.stop, self.entries[name].row, self.row(joint.parent), self.row(joint.child)

    def turning(self, body: str, axis: Vector) -> tuple[int, int, float]:
        """Return the indices in q and v of the coordinate that turns a body about an axis, and its sign about it."""
        found = turning_coordinate(self.joints, body, axis)
        assert found is not None  # `scene.checks.constraints`
        return *self.coordinate(found[0]), found[1]

    def signal(self, spec: SignalSpec) -> int:
        """Return the number of a function of time."""
        return self.packer.signal(spec)

    def activation(self, spec: MuscleSpec) -> int:
        """Return the number of the activation of a muscle."""
        return self.packer.activation(spec, self.duration)

    def curve(self, curve: Piecewise) -> int:
        """Return the number of a curve of a muscle."""
        return self.packer.curves.add(curve)

    def state(self) -> int:
        """Return the number of a new state of a force element."""
        self.packer.state_count += 1
        return self.packer.state_count - 1


def add_section(loaded: LoadedScene, section: Literal["forces", "springs", "muscles"], context: Context) -> None:
    """Add every entry of a section to the tables of `Forces`.

    Raises
    ------
    SceneError
        Where the excitation of a muscle has no value during the run.
    """
    entries: Mapping[str, Spec] = getattr(loaded.scene, section)
    for name, spec in entries.items():
        try:
            context.packer.add(section, name, spec, context)
        except ExpressionError as error:
            raise loaded.error(str(error), section, name, "excitation") from None
