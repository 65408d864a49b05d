"""Everything that pushes or moves, into the arrays of `Forces` and `Motions`, with its accounts in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.forces.elements import DTYPES, Forces
from multibody_cli.forces.muscle_spec import MuscleSpec
from multibody_cli.forces.spec import DragSpec, LoadSpec
from multibody_cli.forces.spring_spec import BushingSpec, SpringSpec
from multibody_cli.joints.contract import Part, PartCode, Start
from multibody_cli.joints.motion import ACCELERATION, MOTION, POSITION, VELOCITY, Motions
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.kernel import records
from multibody_cli.mass import MassProperties
from multibody_cli.model import Account
from multibody_cli.packing.excitation import follow_excitation
from multibody_cli.packing.markers import Markers
from multibody_cli.scene.links import IN_PLACE, Placement
from multibody_cli.signals import SignalPacker
from multibody_cli.spec import SignalSpec, Spec

Frame = tuple[int, Placement]

_GIVEN = {"position": POSITION, "velocity": VELOCITY, "acceleration": ACCELERATION}


class ForcePacker:
    """Collects force elements and prescribed motions; each of them opens an account."""

    def __init__(self) -> None:
        self.accounts: list[Account] = []
        self._signals = SignalPacker()
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in DTYPES}
        self._motions: list[tuple[int, ...]] = []

    def add_joint(
        self, name: str, spec: MovingJointSpec, parts: Sequence[Part], start: Start, row: int, iq: int, iv: int
    ) -> None:
        """Add the actuator, springs, dampers and prescribed motion of a joint whose numbers begin at iq and iv."""
        if spec.stiffness is not None or spec.damping is not None:
            self._add_springs(name, spec, parts, start, iq, iv)
        if spec.force is not None:
            account = self.account("work", f"joints/{name}/force")
            for k, signal in enumerate(spec.force):
                self._rows["actuators"].append((iv + k, self.signal(signal), account))
        if spec.motion is not None:
            account = self.account("work", f"joints/{name}/motion")
            for k, prescribed in enumerate(spec.motion.signals):
                if prescribed is not None:
                    # a table of positions must bring velocities and accelerations, so it is a cubic spline
                    number = self.signal(prescribed, cubic=spec.motion.given == "position")
                    self._motions.append((iq + k, iv + k, _GIVEN[spec.motion.given], number, row, account))

    def add_load(self, name: str, spec: LoadSpec, row: int, body_frame: Placement) -> None:
        """Add a force and torque on a body."""
        account = self.account(spec.ACCOUNT, f"forces/{name}")
        point = body_frame.position + body_frame.rotation @ np.array(spec.point)
        force = [self.signal(signal) for signal in spec.force]
        torque = [self.signal(signal) for signal in spec.torque]
        axes = body_frame.rotation.T.ravel()
        self._rows["loads"].append((row, spec.frame == "body", point, axes, force, torque, account))

    def add_drag(self, name: str, spec: DragSpec, row: int, mass: MassProperties, body_frame: Placement) -> None:
        """Add viscous drag on a body."""
        account = self.account(spec.ACCOUNT, f"forces/{name}")
        com = body_frame.position + body_frame.rotation @ mass.com
        self._rows["drags"].append((row, com, spec.viscous.linear, spec.viscous.angular, account))

    def add_spring(self, name: str, spec: SpringSpec, points: Sequence[tuple[int, Any]]) -> None:
        """Add a spring through points of bodies, each with its row."""
        account = self.account("dissipation", f"springs/{name}")
        self._rows["springs"].append((*self._path(points), *spec.coefficients, spec.rest_length, account))

    def add_bushing(self, name: str, spec: BushingSpec, parent: Frame, child: Frame) -> None:
        """Add a bushing between two frames, each with its row, seen from the joint frames of their bodies."""
        account = self.account("dissipation", f"springs/{name}")
        frames = [entry for _, at in (parent, child) for entry in (at.position, at.rotation.T.ravel())]
        stiffness, damping = spec.stiffness, spec.damping
        coefficients = (stiffness.linear, damping.linear, stiffness.angular, damping.angular)
        self._rows["bushings"].append((parent[0], child[0], *frames, *coefficients, account))

    def add_muscle(self, name: str, spec: MuscleSpec, points: Sequence[tuple[int, Any]], duration: float) -> None:
        """Add a muscle through points of bodies, each with its row, for a run of this duration, s."""
        account = self.account("work", f"muscles/{name}")
        if spec.activation is not None:
            activation = self.signal(spec.activation)
        else:
            activation = self._signals.add_hermite(*follow_excitation(spec, duration))
        numbers = (spec.max_isometric_force, spec.optimal_length, spec.tendon_slack_length, spec.max_velocity)
        self._rows["muscles"].append((*self._path(points), *numbers, activation, account))

    def pack(self) -> tuple[Forces, Motions]:
        """Give the arrays of everything that was added."""
        signals = self._signals.pack()
        tables = {name: records(np.array(self._rows[name], dtype=dtype)) for name, dtype in DTYPES.items()}
        return Forces(signals=signals, **tables), Motions(records(np.array(self._motions, MOTION)), signals)

    def account(self, kind: Any, cause: str) -> int:
        """Open an account of the ledger; its number."""
        self.accounts.append(Account(kind, cause))
        return len(self.accounts) - 1

    def signal(self, spec: SignalSpec, cubic: bool = False) -> int:
        """Add a function of time; its number."""
        if spec.constant is not None:
            return self._signals.add_constant(spec.constant)
        if spec.expression is not None:
            return self._signals.add_expression(spec.expression.body)
        cubic = cubic or spec.interpolation == "cubic"
        return self._signals.add_table(np.array(spec.times), np.array(spec.values), cubic)

    def _path(self, points: Sequence[tuple[int, Any]]) -> tuple[int, int]:
        """Add the points of a cable: the range that they take."""
        first = len(self._rows["points"])
        self._rows["points"] += points
        return first, len(self._rows["points"])

    def _add_springs(
        self, name: str, spec: MovingJointSpec, parts: Sequence[Part], start: Start, iq: int, iv: int
    ) -> None:
        account = self.account("dissipation", f"joints/{name}/damping")
        freedoms = len(spec.coordinates)
        stiffness = spec.stiffness or (0.0,) * freedoms
        damping = spec.damping or (0.0,) * freedoms
        i = j = 0
        for part in parts:
            quaternions = part.nq - part.nv
            for _ in range(part.nv - 3 * quaternions):
                self._rows["joint_springs"].append((iq + i, iv + j, stiffness[j], start.rest[i], damping[j], account))
                i, j = i + 1, j + 1
            if quaternions:
                outer = part.code == PartCode.BALL
                rest_w, *rest = start.rest[i : i + 4]
                self._rows["rotation_springs"].append(
                    (iq + i, iv + j, outer, stiffness[j : j + 3], damping[j : j + 3], rest_w, rest, account)
                )
                i, j = i + 4, j + 3


def add_forces(
    packer: ForcePacker,
    specs: Mapping[str, Spec],
    rows: Mapping[str, int],
    masses: Mapping[str, MassProperties],
    frames: Mapping[int, Placement],
    markers: Markers,
) -> None:
    """Add every entry of `forces:`."""
    for name, spec in specs.items():
        if isinstance(spec, LoadSpec) and markers.takes(spec.body):
            here = spec.model_copy(update={"point": (0.0, 0.0, 0.0)})
            packer.add_load(name, here, markers.row(spec.body, spec.point), IN_PLACE)
        elif isinstance(spec, LoadSpec):
            packer.add_load(name, spec, rows[spec.body], frames[rows[spec.body]])
        elif isinstance(spec, DragSpec):
            packer.add_drag(name, spec, rows[spec.body], masses[spec.body], frames[rows[spec.body]])
