"""Decomposition of a closed triangle mesh into convex parts, by the package coacd, with a cache on disk.

The parts are the same for the same triangles, parameters and version of the package.

Source: Wei, Liu, Ling and Su, Approximate convex decomposition for 3D meshes with collision-aware concavity and tree
search, ACM Trans. Graph. 41 (2022).
"""

from __future__ import annotations

import time
from functools import lru_cache
from hashlib import sha256
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from multibody_cli.errors import Refused
from multibody_cli.kernel import Floats, Integers
from multibody_cli.kernel.store import cache_root

CACHED = 1.0
"""Time of a decomposition above which its parts are stored, s."""

SEED = 0


def decompose(vertices: Floats, triangles: Integers, threshold: float, most: int) -> tuple[Floats, ...]:
    """Return the corners (n, 3) of convex parts that together approximate a closed mesh.

    Parameters
    ----------
    vertices, triangles
        (n, 3), and (m, 3) counterclockwise as seen from outside.
    threshold
        Concavity up to which a part is not divided, relative to the size of the mesh.
    most
        Largest number of parts; -1 for any.

    Raises
    ------
    Refused
        The package coacd is not installed.
    """
    return _decompose(vertices.tobytes(), triangles.astype(np.int64).tobytes(), threshold, most)


@lru_cache(maxsize=64)
def _decompose(vertices: bytes, triangles: bytes, threshold: float, most: int) -> tuple[Floats, ...]:
    try:
        version = metadata.version("coacd")
        import coacd
    except ImportError:
        raise Refused("`decompose` requires the package coacd: pip install 'multibody-cli[import]'") from None
    settings = {"threshold": threshold, "max_convex_hull": most, "seed": SEED}
    key = sha256(repr((version, sorted(settings.items()))).encode() + vertices + triangles).hexdigest()
    path = cache_root() / "decompositions" / f"{key}.npz"
    found = _read(path)
    if found is None:
        start = time.perf_counter()
        found = _run(coacd, vertices, triangles, settings)
        if time.perf_counter() - start > CACHED:
            _write(path, found)
    return found


def _run(coacd: Any, vertices: bytes, triangles: bytes, settings: dict[str, Any]) -> tuple[Floats, ...]:
    coacd.set_log_level("error")
    mesh = coacd.Mesh(np.frombuffer(vertices).reshape(-1, 3), np.frombuffer(triangles, np.int64).reshape(-1, 3))
    return tuple(np.array(corners, dtype=float) for corners, _ in coacd.run_coacd(mesh, **settings))


def _read(path: Path) -> tuple[Floats, ...] | None:
    """Return the stored parts; None if there are none, or if the file is damaged."""
    try:
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            return tuple(np.array(stored[f"part{k}"], dtype=float) for k in range(len(stored.files)))
    except (OSError, ValueError, KeyError, BadZipFile):
        return None


def _write(path: Path, parts: tuple[Floats, ...]) -> None:
    """Store parts; a folder that cannot be written is no error."""
    content = BytesIO()
    arrays: dict[str, Any] = {f"part{k}": part for k, part in enumerate(parts)}
    np.savez(content, **arrays)
    new = path.with_suffix(f".{time.time_ns()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(content.getvalue())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
