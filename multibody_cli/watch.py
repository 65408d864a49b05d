"""Joints of general shape on their way: whether they leave what they are described for, and come near singular ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from multibody_cli.dynamics.workspace import Work
from multibody_cli.model import JointEntry, Model, State

WITHIN = 1e-9
"""How far outside of its domain a coordinate may be by rounding."""

NEAR = 1e-3
"""Smallest singular value of the motion subspace, its columns in their usual size, below which it is told."""


class Watch:
    """Looks at the joints of general shape of a model at the output instants of a run."""

    def __init__(self, model: Model) -> None:
        self._joints = [joint for joint in model.names.joints if joint.sizes]
        self._nearest = {joint.name: (math.inf, 0.0) for joint in self._joints}

    def look(self, state: State, work: Work) -> str:
        """Take note of a state; words for the user where a coordinate has left its domain."""
        for joint in self._joints:
            left = _departure(joint, state)
            if left:
                return left
            smallest = _smallest(joint, work)
            if smallest < self._nearest[joint.name][0]:
                self._nearest[joint.name] = smallest, float(state.time[0])
        return ""

    def tell(self) -> Iterator[str]:
        """Tell which joints came near a singular position."""
        for name, (smallest, time) in self._nearest.items():
            if smallest < NEAR:
                yield (
                    f"joint `{name}` came near a singular position of its parametrization at t = {time:.6g} s, where "
                    f"its coordinates lose a freedom ({smallest:.1e} of its usual size is left): check the energy "
                    "there, take shorter steps, or other coordinates"
                )


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


def _smallest(joint: JointEntry, work: Work) -> float:
    columns = work.columns[joint.columns]
    S = np.column_stack([columns["angular"], columns["linear"]]) / np.array(joint.sizes)[:, None]
    return float(np.linalg.svd(S, compute_uv=False)[-1])
