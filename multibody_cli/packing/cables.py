"""Points and surfaces of cables as the arrays `CablePoints`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multibody_cli.cables.lines import POINT, CablePoints
from multibody_cli.cables.surface import SURFACE
from multibody_cli.cables.surface_kinds import SurfaceCode
from multibody_cli.kernel import records
from multibody_cli.spec.entries import PackingContext
from multibody_cli.spec.path import ArcSpec, line_factors
from multibody_cli.spec.points import Attachment


class CablePacker:
    """Collects the entries of all cables."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, Any, float, int]] = []
        self._surfaces: list[tuple[Any, ...]] = []

    def add(self, points: Sequence[Attachment], context: PackingContext) -> tuple[int, int]:
        """Add the points and surfaces of a cable; return the range of their entries."""
        first = len(self._entries)
        for end, factor in zip(points, line_factors(points), strict=True):
            if isinstance(end, ArcSpec):
                row, centre, axes = context.frame(end.wrap.body, end.wrap.frame)
                self._entries.append((row, np.zeros(3), factor, len(self._surfaces)))
                kind, side = SurfaceCode[end.wrap.type.upper()], end.side or (0.0, 0.0, 0.0)
                self._surfaces.append((kind, centre, axes.T.ravel(), end.wrap.size, side, end.only_cut))
            else:
                self._entries.append((*context.attachment(end.body, end.point), factor, -1))
        return first, len(self._entries)

    def pack(self) -> CablePoints:
        """Return the arrays of all cables."""
        surfaces = np.zeros(len(self._surfaces), SURFACE)
        for surface, constants in zip(surfaces, self._surfaces, strict=True):
            for name, value in zip(SURFACE.names or (), constants, strict=False):
                surface[name] = value
        return CablePoints(records(np.array(self._entries, POINT)), records(surfaces))
