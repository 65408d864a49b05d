"""Monitor of joint domains: reports coordinates outside their domain, near-singular positions and frame jumps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from multibody_cli.alarms.contract import Raised, Remedy
from multibody_cli.joints.column_independence import compute_column_independence
from multibody_cli.joints.contract import Coordinate, PartCode
from multibody_cli.joints.domain import WITHIN
from multibody_cli.joints.frame_continuity import compute_frame_errors
from multibody_cli.model import JointEntry, Model, State
from multibody_cli.tree.workspace import Work

NEAR = 1e-3
"""Relative size of the part of a column of S independent of the other columns, below which a warning is issued."""

SUSPECT = 0.1
"""The same threshold for a run that diverged: it may have passed a singular position between two output instants."""

JUMP = 0.5
"""Angle, rad, between a frame and the frame predicted by the motion subspace, above which the frame has jumped."""


class JointDomainMonitor:
    """Checks the general joints of a model at the output instants of a run."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._joints = [joint for joint in model.names.joints if joint.sizes]
        self._bounded = [joint for joint in model.names.joints if joint.domains]
        self._first_columns = np.array([joint.columns.start for joint in self._joints], dtype=np.int64)
        self._last_columns = np.array([joint.columns.stop for joint in self._joints], dtype=np.int64)
        self._sizes = np.ones(model.nv)
        for joint in self._joints:
            self._sizes[joint.columns] = np.hypot(*(np.array(joint.sizes) / (1.0, model.system.tree.length)).T)
        self._basis, self._independence = np.zeros((6, 6)), np.ones(len(self._joints))
        self._least_independence, self._least_times = np.ones((2, len(self._joints)))
        self._least_q = np.zeros((len(self._joints), model.nq))
        self._generated = list(_generated_in(model, self._joints))
        self._parts = np.array([part for part, _ in self._generated], dtype=np.int64)
        self._scratch_q, self._zero_v, self._frame_errors = (
            np.zeros(model.nq),
            np.zeros(model.nv),
            np.zeros(len(self._parts)),
        )
        self._before = State(*(np.zeros(0) for _ in State._fields))
        self._jumps: dict[str, tuple[float, float]] = {}

    @property
    def watches(self) -> bool:
        """Whether the model has joints to check."""
        return bool(self._joints or self._bounded)

    def check(self, state: State, work: Work) -> str:
        """Check a state; return a message if a coordinate has left its domain, else an empty string."""
        if self._joints:
            own = self._sizes, self._first_columns, self._last_columns, self._basis, self._independence
            compute_column_independence(work.columns, self._model.system.tree.length, *own)
            smaller = self._independence < self._least_independence
            self._least_independence[smaller], self._least_times[smaller] = self._independence[smaller], state.time[0]
            self._least_q[smaller] = state.q
            self._check_frames(state, work)
        return _first_violation(self._bounded, state)

    def _check_frames(self, state: State, work: Work) -> None:
        """Note the frames that have jumped since the last check."""
        before, self._before = self._before, state.copy()
        if not len(before.time) or not np.isfinite(state.q).all():
            return
        scratch = (self._scratch_q, self._zero_v, work.generated_buffers, self._frame_errors)
        compute_frame_errors(self._model.system.tree.parts, self._parts, before.q, state.q, *scratch)
        for (_, joint), frame_error in zip(self._generated, self._frame_errors, strict=True):
            if frame_error > JUMP:
                self._jumps.setdefault(joint, (float(before.time[0]), float(state.time[0])))

    def alarms(self, failed: bool) -> Iterator[Raised]:
        """Return warnings of frame jumps and near-singular positions; `failed` is whether the run failed."""
        for name, (begin, end) in self._jumps.items():
            yield Raised(
                "joints",
                "warning",
                f"the frame of joint `{name}` jumped between t = {begin:.6g} and {end:.6g} s, as a Frenet frame does "
                "where the curve is straight, or a frame on a surface at a pole of its expressions: the body was "
                "rotated there and energy is not conserved; choose another orientation or other coordinates",
            )
        for k in np.flatnonzero(self._least_independence < (SUSPECT if failed else NEAR)):
            joint, time = self._joints[k], self._least_times[k]
            turns = [i for i, kind in enumerate(joint.coordinates) if kind is Coordinate.ANGLE]
            is_gimbal = len(turns) == 3 and not self._has_map(joint)
            angle = self._least_q[k][joint.positions][joint.numbers[turns[1]]] if is_gimbal else 0.0
            where = f", where its angle {turns[1] + 1} is {angle:.3g} rad" if is_gimbal else ""
            yield Raised(
                "joints",
                "warning",
                f"joint `{joint.name}` came near a singular position of its parametrization at t = {time:.6g} s"
                f"{where}: it loses a degree of freedom there (a column of S fell to "
                f"{self._least_independence[k]:.1e} of its usual size)",
                Remedy(change=self._other_coordinates(joint)),
            )

    def other_coordinates(self) -> str:
        """Return advice of a run that failed near a singular position; empty without one."""
        suspects = np.flatnonzero(self._least_independence < SUSPECT)
        return " and ".join(self._other_coordinates(self._joints[k]) for k in suspects)

    def _has_map(self, joint: JointEntry) -> bool:
        return any(name == joint.name for _, name in self._generated)

    def _other_coordinates(self, joint: JointEntry) -> str:
        if self._has_map(joint):
            return f"choose other coordinates or another start of joint `{joint.name}`, or check the energy there"
        return (
            f"make `{joint.name}` a `spherical` joint with `parametrization: quaternion`, or choose another sequence "
            "of its axes"
        )


def _generated_in(model: Model, joints: list[JointEntry]) -> Iterator[tuple[int, str]]:
    """List the generated parts of joints: row of the part and name of the joint."""
    for row, part in enumerate(model.system.tree.parts):
        for joint in joints:
            if part["code"] == PartCode.GENERATED and joint.columns.start <= part["iv"] < joint.columns.stop:
                yield row, joint.name


def domain_violation(model: Model, state: State) -> str:
    """Return a message for the first coordinate that has left its domain; empty if there is none."""
    return _first_violation(model.names.joints, state)


def _first_violation(joints: Iterable[JointEntry], state: State) -> str:
    return next(filter(None, (_joint_violation(joint, state) for joint in joints)), "")


def _joint_violation(joint: JointEntry, state: State) -> str:
    for k, (lower, upper) in enumerate(joint.domains):
        q = state.q[joint.positions][joint.numbers[k]]
        if not lower - WITHIN <= q <= upper + WITHIN:
            place = "" if len(joint.coordinates) == 1 else f" coordinate {k + 1} of"
            return (
                f"{place} joint `{joint.name}` left its domain before t = {state.time[0]:.9g} s: its value is {q:.6g}, "
                f"and the domain is {lower:g} to {upper:g}; end the run earlier, add limits (`ends: limit`) or "
                "extrapolate the formulas (`ends: extend`)"
            ).strip()
    return ""
