"""Mesh files `.msh` of MuJoCo: four counts, vertices, normals, texture coordinates and triangles, in 32 bits each.

Source: MuJoCo, XML reference, asset/mesh.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import Floats, Integers

HEADER = 4
"""Numbers of vertices, normals, texture coordinates and triangles."""


def read_msh(data: bytes) -> tuple[Floats, Integers]:
    """Return the vertices (n, 3) and the triangles (m, 3) of a file.

    Raises
    ------
    ValueError
        The counts do not suit the size of the file, or a triangle has a vertex that is not there.
    """
    words = np.frombuffer(data, "<i4", len(data) // 4)
    if len(words) < HEADER:
        raise ValueError("it is no mesh of MuJoCo: it has no header")
    vertices, normals, coordinates, triangles = (int(count) for count in words[:HEADER])
    last = HEADER + 3 * vertices
    size = last + 3 * normals + 2 * coordinates + 3 * triangles
    if min(vertices, normals, coordinates, triangles) < 0 or 4 * size != len(data):
        raise ValueError("it is no mesh of MuJoCo: its counts do not suit its size")
    found = words[size - 3 * triangles :].reshape(-1, 3).astype(np.int64)
    if triangles and not 0 <= found.min() <= found.max() < vertices:
        raise ValueError("a triangle has a vertex that is not in the file")
    return words[HEADER:last].view("<f4").reshape(-1, 3).astype(float), found
