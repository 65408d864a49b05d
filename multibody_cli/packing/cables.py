"""Points and surfaces of cables as the arrays `CablePoints`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from multibody_cli.cables.lines import POINT, CablePoints, cable_points
from multibody_cli.cables.moving import JET, POINT_MOTION
from multibody_cli.cables.surface import SURFACE
from multibody_cli.cables.surface_kinds import SurfaceCode
from multibody_cli.expressions import FORMULA, parse
from multibody_cli.kernel import records
from multibody_cli.model import Records
from multibody_cli.spec import Pose
from multibody_cli.spec.entries import Matrix3, PackingContext, Vector3
from multibody_cli.spec.formulas import piecewise_of
from multibody_cli.spec.path import ArcSpec, MovingPoint, PathPoint, line_factors
from multibody_cli.spec.points import Attachment
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.generated import address_of
from multibody_cli.symbolic.program import write_lines
from multibody_cli.symbolic.reading import formula_of
from multibody_cli.symbolic.scalar import fresh_graph, name


class CablePacker:
    """Collects the entries of all cables."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, Any, float, int, int]] = []
        self._surfaces: list[tuple[Any, ...]] = []
        self._motions: list[tuple[Any, ...]] = []

    def add(self, points: Sequence[Attachment], context: PackingContext) -> tuple[int, int]:
        """Add the points and surfaces of a cable; return the range of their entries."""
        first = len(self._entries)
        for end, factor in zip(points, line_factors(points), strict=True):
            if isinstance(end, ArcSpec):
                row, centre, axes = context.frame(end.wrap.body, end.wrap.frame)
                kind, side = SurfaceCode[end.wrap.type.upper()], end.side or (0.0, 0.0, 0.0)
                for twin in end.wrap.TWINS:
                    self._entries.append((row, np.zeros(3), factor, len(self._surfaces), -1))
                    self._surfaces.append((kind, centre, axes.T.ravel(), end.wrap.size, side, end.only_cut, twin))
            else:
                self._entries.append((*context.attachment(end.body, end.point), factor, -1, self._motion(end, context)))
        return first, len(self._entries)

    def _motion(self, end: Attachment, context: PackingContext) -> int:
        """Add the dependence of a point on a coordinate; return its number, or -1 if it has none."""
        if not isinstance(end, MovingPoint) or end.coordinate is None:
            return -1
        _, origin, axes = context.frame(end.body, Pose())
        address = 0
        if end.moving is not None:
            address = address_of("A point as a function of a coordinate.", source_of(end, origin, axes), "ff")
        ends = (end.range if isinstance(end, PathPoint) else None) or (-math.inf, math.inf)
        places = *context.coordinate(end.coordinate), *context.joint_of(end.coordinate)
        self._motions.append((len(self._entries), address, *places, *ends))
        return len(self._motions) - 1

    def pack(self) -> CablePoints:
        """Return the arrays of all cables."""
        surfaces, motions = _filled(SURFACE, self._surfaces), _filled(POINT_MOTION, self._motions)
        motions["time"] = math.inf  # not watched yet
        return cable_points(np.array(self._entries, POINT), surfaces, motions)


def _filled(dtype: np.dtype[np.void], constants: Sequence[tuple[Any, ...]]) -> Records:
    """Return records whose first fields are constants."""
    table = np.zeros(len(constants), dtype)
    for record, values in zip(table, constants, strict=True):
        for field, value in zip(dtype.names or (), values, strict=False):
            record[field] = value
    return records(table)


def source_of(point: MovingPoint, origin: Vector3, axes: Matrix3) -> str:
    """Return the source of the function that computes a point and two derivatives, in the joint frame of its body.

    Parameters
    ----------
    point
        The point, which moves.
    origin, axes
        (3,) and (3, 3) the body frame in the joint frame.
    """
    with fresh_graph():
        q = name("q[0]")
        tables = piecewise_of(point.functions)
        own = [formula_of(parse(text, FORMULA), {"q": q}, tables) for text in point.moving or ()]
        jet = [
            float(x) + sum(float(a) * p for a, p in zip(row, own, strict=True))
            for x, row in zip(origin, axes, strict=True)
        ]
        while len(jet) < JET:
            jet += differentiate(jet[-3:], {q: 1.0})
        lines = write_lines([(f"out[{k}]", number) for k, number in enumerate(jet)])
    return "def generated(q, out):\n" + "".join(f"    {line}\n" for line in lines)
