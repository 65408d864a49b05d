"""Joints of general shape on their way: whether they leave what they are described for, and come near singular ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.dynamics.independence import find_shares
from multibody_cli.dynamics.workspace import Work
from multibody_cli.joints.domain import WITHIN
from multibody_cli.model import JointEntry, Model, State

NEAR = 1e-3
"""Share of a column of the motion subspace that the others do not span, below which it is told."""


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

    def look(self, state: State, work: Work) -> str:
        """Take note of a state; words for the user where a coordinate has left its domain."""
        if self._joints:
            find_shares(work.columns, self._sizes, self._firsts, self._lasts, self._basis, self._shares)
            less = self._shares < self._least
            self._least[less], self._times[less] = self._shares[less], state.time[0]
        return departure(self._model, state)

    def tell(self) -> Iterator[str]:
        """Tell which joints came near a singular position."""
        for joint, least, time in zip(self._joints, self._least, self._times, strict=True):
            if least < NEAR:
                yield (
                    f"joint `{joint.name}` came near a singular position of its parametrization at t = {time:.6g} s, "
                    f"where its coordinates lose a freedom ({least:.1e} of its usual size is left): check the energy "
                    "there, take shorter steps, or other coordinates"
                )


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
