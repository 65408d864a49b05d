"""Poses of joints that are defined by formulas, at many coordinates: the curve or the surface that a child follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.joints.contract import Part
from multibody_cli.joints.joint_map import PER_HEAD, JointMap, pose_and_subspace
from multibody_cli.model import Floats
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import fresh_graph


def poses(part: Part, q: Floats) -> tuple[Floats, Floats]:
    """Return positions (n, 3), m, and rotation matrices (n, 3, 3) of a generated part at coordinates q (n, nq)."""
    assert part.joint_map is not None
    with fresh_graph():
        R, p, _ = pose_and_subspace(part.joint_map)
        numbers = evaluate([*R.x, *R.y, *R.z, *p], _values_of_names(part.joint_map, np.array(part.constants), q))
    values = np.stack([np.broadcast_to(number, len(q)) for number in numbers], axis=1)
    return values[:, 9:], values[:, :9].reshape(-1, 3, 3).swapaxes(1, 2)


def _values_of_names(joint_map: JointMap, constants: Floats, q: Floats) -> dict[str, Any]:
    """Return the values of the names in the formulas, each (n,): coordinates, and the constants of their pieces."""
    names: dict[str, Any] = {f"q[{k}]": q[:, k] for k in range(q.shape[1])}
    along = [k for k, pieces in enumerate(joint_map.pieces) if pieces]
    row = np.zeros(len(q), np.int64)
    for head, k in enumerate(along):
        pieces = joint_map.pieces[k]
        start, per_unit, count = constants[PER_HEAD * head : PER_HEAD * (head + 1)]
        way = per_unit * (q[:, k] - start)
        whole = np.floor(way)
        if pieces is not None and not pieces.closed:
            whole = np.clip(whole, 0.0, count - 1.0)
        names[f"u{k}"] = way - whole
        row = row * int(count) + np.mod(whole, count).astype(np.int64)
    first = PER_HEAD * len(along) + joint_map.stride * row
    names |= {f"c[{k}]": number for k, number in enumerate(constants)}
    names |= {f"c[at + {k}]": constants[first + k] for k in range(joint_map.stride)}
    return names
