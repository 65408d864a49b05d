"""Mesh files `.vtp` of VTK, as of the bones of OpenSim: polygons of pieces, with numbers as text.

Source: VTK, file formats, XML PolyData.
"""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

import numpy as np

from multibody_cli.kernel import Floats, Integers

CONTENT = ("Points", "Polys")
"""Elements whose arrays are read; lines and vertices have no area."""


def read_vtp(data: bytes) -> tuple[Floats, Integers]:
    """Return the vertices (n, 3) and the triangles (m, 3) of a file; a polygon is a fan of triangles.

    Raises
    ------
    ValueError
        The file is not XML, has entities, strips or numbers that are not text, or a polygon has a vertex that is not
        there.
    """
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is not XML: {expat.ErrorString(error.code)}") from None
    vertices: list[Floats] = []
    triangles: list[Integers] = []
    count = 0
    for piece in reader.pieces:
        points = _numbers(piece, "Points", "", float).reshape(-1, 3)
        corners, ends = (_numbers(piece, "Polys", name, int) for name in ("connectivity", "offsets"))
        sizes = np.diff(ends, prepend=0)
        if len(ends) and (ends[-1] != len(corners) or sizes.min() < 0):
            raise ValueError("the offsets of its polygons do not suit their corners")
        if len(corners) and not 0 <= corners.min() <= corners.max() < len(points):
            raise ValueError("a polygon has a vertex that is not in the file")
        for first, size in zip((ends - sizes).tolist(), sizes.tolist(), strict=True):
            own = corners[first : first + size]
            fan = [np.full(max(size - 2, 0), own[0] if size else 0), own[1:-1], own[2:]]
            triangles.append(np.column_stack(fan) + count)
        vertices.append(points)
        count += len(points)
    return np.vstack([np.zeros((0, 3)), *vertices]), np.vstack([np.zeros((0, 3), np.int64), *triangles])


def _numbers(piece: dict[tuple[str, str], str], element: str, name: str, kind: type) -> Any:
    """Return the numbers of an array of a piece; that of the points may have any name."""
    texts = [text for (own, label), text in piece.items() if own == element and name in ("", label)]
    return np.array(texts[0].split() if texts else [], dtype=kind)


class _Reader:
    """Collects the texts of the arrays of each piece, by their element and name."""

    def __init__(self) -> None:
        self.pieces: list[dict[tuple[str, str], str]] = []
        self._element, self._array = "", ("", "")
        self._texts: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._texts.append
        self.parser.EntityDeclHandler = self._entity

    def _entity(self, *declared: object) -> None:
        raise ValueError("it declares entities")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "Piece":
            self.pieces.append({})
            if attributes.get("NumberOfStrips", "0") != "0":
                raise ValueError("it has strips of triangles: save it with polygons")
        elif tag in CONTENT:
            self._element = tag
        elif tag == "DataArray" and self._element:
            if attributes.get("format") != "ascii":
                raise ValueError("its numbers are not text: save it with `ascii`")
            self._array = self._element, attributes.get("Name", "")
            self._texts.clear()

    def _end(self, tag: str) -> None:
        if tag == "DataArray" and self._element:
            if not self.pieces:
                raise ValueError("an array is in no <Piece>")
            self.pieces[-1].setdefault(self._array, "".join(self._texts))
        elif tag in CONTENT:
            self._element = ""
