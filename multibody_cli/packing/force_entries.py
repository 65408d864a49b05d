"""The entries of `forces:`, `springs:` and `muscles:` of a scene, packed into the tables of `Forces`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from multibody_cli.errors import ExpressionError
from multibody_cli.forces.contract import Matrix3, Vector3
from multibody_cli.forces.muscle import MuscleSpec
from multibody_cli.mass import MassProperties
from multibody_cli.packing.constraints import ConstraintContext
from multibody_cli.packing.layout import placement
from multibody_cli.scene.load import LoadedScene
from multibody_cli.spec import BodyPoint, Pose, SignalSpec, Spec, Vector


@dataclass(frozen=True)
class ForceContext:
    """The model into which force elements are packed (`forces.contract.PackingContext`).

    Parameters
    ----------
    ground
        Rows and joint frames of the bodies.
    masses
        Mass properties of each body by its name.
    duration
        Of the run, s.
    """

    ground: ConstraintContext
    masses: Mapping[str, MassProperties]
    duration: float

    def row(self, body: str) -> int:
        """Row of a body; 0 for the world."""
        return self.ground.row(body)

    def com(self, body: str) -> Vector3:
        """Centre of mass in the joint frame, m."""
        x, y, z = self.masses[body].com
        return self.ground.point(body, (x, y, z))

    def axes(self, body: str) -> Matrix3:
        """Rotation of the body frame in the joint frame."""
        return np.asarray(self.ground.frames[self.row(body)].rotation)

    def attachment(self, body: str, point: Vector) -> tuple[int, Vector3]:
        """Row that moves with a point of a body, and the point in the frame of that row, m."""
        return self.ground.attachment(body, point)

    def frame(self, body: str, pose: Pose) -> tuple[int, Vector3, Matrix3]:
        """Row of a body, and a frame that is fixed in it: origin and rotation in the joint frame."""
        row, at = self.row(body), placement(pose)
        frame = self.ground.frames[row]
        return row, frame.position + frame.rotation @ at.position, frame.rotation @ at.rotation

    def cable(self, points: Sequence[BodyPoint]) -> tuple[int, int]:
        """Add the points of a cable; the range that they take."""
        return self.ground.packer.cable([self.attachment(end.body, end.point) for end in points])

    def coordinate(self, name: str) -> tuple[int, int]:
        """Index of a coordinate of a joint in q and in v, by its name."""
        return self.ground.coordinate(name)

    def signal(self, spec: SignalSpec) -> int:
        """Number of a function of time."""
        return self.ground.packer.signal(spec)

    def activation(self, spec: MuscleSpec) -> int:
        """Number of the activation of a muscle."""
        return self.ground.packer.activation(spec, self.duration)


def add_section(loaded: LoadedScene, section: Literal["forces", "springs", "muscles"], context: ForceContext) -> None:
    """Add every entry of a section.

    Raises
    ------
    SceneError
        Where the excitation of a muscle has no value during the run.
    """
    entries: Mapping[str, Spec] = getattr(loaded.scene, section)
    for name, spec in entries.items():
        try:
            context.ground.packer.add(section, name, spec, context)
        except ExpressionError as error:
            raise loaded.error(str(error), section, name, "excitation") from None
