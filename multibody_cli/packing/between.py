"""What acts between bodies, springs and muscles, into the tables of `Forces`."""

from __future__ import annotations

from multibody_cli.errors import ExpressionError
from multibody_cli.forces.between import BetweenSpec
from multibody_cli.forces.spring_spec import BushingSpec, SpringSpec
from multibody_cli.packing.constraints import Ground
from multibody_cli.packing.forces import ForcePacker, Frame
from multibody_cli.packing.layout import placement
from multibody_cli.scene.links import Placement
from multibody_cli.scene.load import LoadedScene
from multibody_cli.spec import Pose


def add_between(loaded: LoadedScene, ground: Ground, packer: ForcePacker) -> None:
    """Add every entry of `springs:` and `muscles:`.

    Raises
    ------
    SceneError
        Where the excitation of a muscle has no value during the run.
    """
    scene = loaded.scene
    for name, spring in scene.springs.items():
        if isinstance(spring, SpringSpec):
            packer.add_spring(name, spring, _spots(spring, ground))
        elif isinstance(spring, BushingSpec):
            parent, child = (
                _frame(ground, spring.parent, spring.origin),
                _frame(ground, spring.child, spring.child_origin),
            )
            packer.add_bushing(name, spring, parent, child)
    for name, muscle in scene.muscles.items():
        try:
            packer.add_muscle(name, muscle, _spots(muscle, ground), scene.simulation.duration)
        except ExpressionError as error:
            raise loaded.error(str(error), "muscles", name, "excitation") from None


def _spots(spec: BetweenSpec, ground: Ground) -> list[tuple[int, object]]:
    return [ground.spot(end.body, end.point) for _, end in spec.points]


def _frame(ground: Ground, body: str, pose: Pose) -> Frame:
    """A frame that is fixed in a body, seen from the body's joint frame."""
    row, at = ground.row(body), placement(pose)
    frame = ground.frames[row]
    return row, Placement(frame.position + frame.rotation @ at.position, frame.rotation @ at.rotation)
