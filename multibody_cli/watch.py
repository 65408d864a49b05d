"""Joints of general shape on their way: whether they leave their domain, come near singular positions, or jump."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.constraint_solver.column_independence import find_shares
from multibody_cli.constraint_solver.frame_continuity import find_strays
from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.domain import WITHIN
from multibody_cli.model import JointEntry, Model, State
from multibody_cli.tree.workspace import Work

NEAR = 1e-3
"""Share of a column of the motion subspace that the others do not span, below which it is told."""


SUSPECT = 0.1
"""The same for a run that diverged: it may have met the singular position between two looks."""

JUMP = 0.5
"""Angle, rad, between a frame and the one to which the motion subspace leads, above which it has jumped."""


class Watch:
    """Looks at the joints of general shape of a model at the output instants of a run."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._joints = [joint for joint in model.names.joints if joint.sizes]
        self._firsts = np.array([joint.columns.start for joint in self._joints], dtype=np.int64)
        self._lasts = np.array([joint.columns.stop for joint in self._joints], dtype=np.int64)
        self._sizes = np.ones(model.nv)
        for joint in self._joints:
            self._sizes[joint.columns] = joint.sizes
        self._basis, self._shares = np.zeros((6, 6)), np.ones(len(self._joints))
        self._least, self._times = np.ones((2, len(self._joints)))
        self._generated = list(_generated_in(model, self._joints))
        self._parts = np.array([part for part, _ in self._generated], dtype=np.int64)
        self._way, self._still, self._strays = np.zeros(model.nq), np.zeros(model.nv), np.zeros(len(self._parts))
        self._before = State(*(np.zeros(0) for _ in State._fields))
        self._jumps: dict[str, tuple[float, float]] = {}

    def look(self, state: State, work: Work) -> str:
        """Take note of a state; words for the user where a coordinate has left its domain."""
        if self._joints:
            find_shares(work.columns, self._sizes, self._firsts, self._lasts, self._basis, self._shares)
            less = self._shares < self._least
            self._least[less], self._times[less] = self._shares[less], state.time[0]
            self._look_back(state, work)
        return departure(self._model, state)

    def _look_back(self, state: State, work: Work) -> None:
        """Take note of the frames that have jumped since the last look."""
        before, self._before = self._before, State(*(array.copy() for array in state))
        if not len(before.time) or not np.isfinite(state.q).all():
            return
        scratch = (self._way, self._still, work.shaping, self._strays)
        find_strays(self._model.system.tree.parts, self._parts, before.q, state.q, *scratch)
        for (_, joint), stray in zip(self._generated, self._strays, strict=True):
            if stray > JUMP:
                self._jumps.setdefault(joint, (float(before.time[0]), float(state.time[0])))

    def tell(self, diverged: bool) -> Iterator[str]:
        """Tell which joints came near a singular position, and which jumped; `diverged` says how the run ended."""
        for name, (begin, end) in self._jumps.items():
            yield (
                f"the frame of joint `{name}` jumped between t = {begin:.6g} and {end:.6g} s, as one of Frenet does "
                "where its curve is straight, or one on a surface by expressions at a pole: the body was turned over "
                "there, and energy is not kept; take another orientation, or coordinates that do not come there"
            )
        for joint, least, time in zip(self._joints, self._least, self._times, strict=True):
            if least < (SUSPECT if diverged else NEAR):
                yield (
                    f"joint `{joint.name}` came near a singular position of its parametrization at t = {time:.6g} s, "
                    f"where its coordinates lose a freedom ({least:.1e} of its usual size is left): check the energy "
                    "there, take shorter steps, or other coordinates"
                )


def _generated_in(model: Model, joints: list[JointEntry]) -> Iterator[tuple[int, str]]:
    """List the generated parts of joints by their rows, each with the name of its joint."""
    for row, part in enumerate(model.system.tree.parts):
        for joint in joints:
            if part["code"] == PartCode.GENERATED and joint.columns.start <= part["iv"] < joint.columns.stop:
                yield row, joint.name


def departure(model: Model, state: State) -> str:
    """Words for the user where a coordinate has left its domain."""
    return next(filter(None, (_departure(joint, state) for joint in model.names.joints)), "")


def _departure(joint: JointEntry, state: State) -> str:
    for k, (lower, upper) in enumerate(joint.domains):
        q = state.q[joint.positions][k]
        if not lower - WITHIN <= q <= upper + WITHIN:
            place = "" if len(joint.coordinates) == 1 else f" coordinate {k + 1} of"
            return (
                f"{place} joint `{joint.name}` left its domain before t = {state.time[0]:.9g} s: it is {q:.6g} there, "
                f"and the joint is described from {lower:g} to {upper:g}; end the run before, or let it meet a limit "
                "(`ends: limit`) or go on by the same formulas (`ends: extend`)"
            ).strip()
    return ""
