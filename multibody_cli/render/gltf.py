"""Animations as glTF 2.0: one node for each body, with tracks of translation and rotation, and one for each bar.

glTF has the y axis upward; a node above all others rotates the world accordingly.  Bars are stretched along z, as by a
track of scales.  Contact forces, colors of activations and deformations of affine bodies have no counterpart: an affine
body moves with the rotational part of its deformation.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from multibody_cli.meshes.mesh import Mesh
from multibody_cli.model import Floats
from multibody_cli.output.history import continued
from multibody_cli.render.camera import level_axes
from multibody_cli.render.drawing import GROUND, Bar, Drawing, Solid
from multibody_cli.render.image import decoded_color
from multibody_cli.render.motion import MotionHistory
from multibody_cli.spec import Vector

FLOAT, UNSIGNED_INT = 5126, 5125
VERTICES, INDICES = 34962, 34963
"""Numbers of component types and of uses of data in the format."""


class _Document:
    """A glTF document that grows: its JSON, and its binary buffer."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.json: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "mbsim"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            **{section: [] for section in ("nodes", "meshes", "materials", "accessors", "bufferViews")},
        }
        self._materials: dict[Vector, int] = {}

    def append(self, section: str, entry: dict[str, Any]) -> int:
        """Append an entry to a section, and return its number."""
        self.json.setdefault(section, []).append(entry)
        return len(self.json[section]) - 1

    def accessor(self, array: NDArray[Any], kind: str, use: int | None = None, has_bounds: bool = False) -> int:
        """Append an array; `kind` is SCALAR, VEC3 or VEC4."""
        component = UNSIGNED_INT if array.dtype == np.uint32 else FLOAT
        values = np.ascontiguousarray(array, dtype="<u4" if component == UNSIGNED_INT else "<f4")
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.content), "byteLength": values.nbytes}
        self.content += values.tobytes()
        number = self.append("bufferViews", view if use is None else {**view, "target": use})
        entry = {"bufferView": number, "componentType": component, "count": len(values), "type": kind}
        if has_bounds:
            flat = values.reshape(len(values), -1)
            entry |= {"min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        return self.append("accessors", entry)

    def primitive(self, mesh: Mesh, color: Vector) -> dict[str, Any]:
        """Append a mesh of a color, and return the primitive of it."""
        if color not in self._materials:
            shade = {"baseColorFactor": [*decoded_color(color), 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6}
            self._materials[color] = self.append("materials", {"pbrMetallicRoughness": shade, "doubleSided": True})
        return {
            "attributes": {
                "POSITION": self.accessor(mesh.vertices, "VEC3", VERTICES, has_bounds=True),
                "NORMAL": self.accessor(mesh.normals, "VEC3", VERTICES),
            },
            "indices": self.accessor(mesh.triangles.astype(np.uint32).ravel(), "SCALAR", INDICES),
            "material": self._materials[color],
        }


def gltf(name: str, drawing: Drawing, motion: MotionHistory, up: Floats, is_binary: bool) -> bytes:
    """Return a file of glTF 2.0.

    Parameters
    ----------
    name
        Name of the scene.
    drawing, motion
        The mechanism and its motion; a single instant makes no animation.
    up
        Unit vector that points up.
    is_binary
        Whether the file is binary (`*.glb`) or text (`*.gltf`).
    """
    document = _Document()
    level = level_axes(up)
    turned = Rotation.from_matrix(np.array([level[0], up, -level[1]])).as_quat()
    root = {"name": name, "rotation": turned.tolist(), "children": []}
    document.append("nodes", root)
    tracks: list[tuple[int, str, Floats]] = []
    for body in range(GROUND, len(drawing.bodies)):
        solids = [one for one in drawing.solids if one.body == body]
        if solids:
            node = _node(document, root, "world" if body == GROUND else drawing.bodies[body], solids)
            if body != GROUND:
                quaternion = np.roll(motion.quaternion[:, body], -1, axis=1)
                tracks += [(node, "translation", motion.position[:, body]), (node, "rotation", _continuous(quaternion))]
    for bar in drawing.bars:
        node = _node(document, root, bar.name, [bar])
        tracks += [(node, path, values) for path, values in _bar_tracks(bar, motion).items()]
    _animate(document, motion.time, tracks)
    if is_binary:
        return _binary(document)
    uri = f"data:application/octet-stream;base64,{base64.b64encode(document.content).decode()}"
    return _json({**document.json, "buffers": [{"byteLength": len(document.content), "uri": uri}]})


def _node(document: _Document, root: Any, name: str, elements: list[Solid] | list[Bar]) -> int:
    primitives = [document.primitive(one.mesh, one.color) for one in elements]
    mesh = document.append("meshes", {"name": name, "primitives": primitives})
    node = document.append("nodes", {"name": name, "mesh": mesh})
    root["children"].append(node)
    return node


def _bar_tracks(bar: Bar, motion: MotionHistory) -> dict[str, Floats]:
    """Return translation, rotation and scale of a bar: the shortest rotation from z to its direction."""
    begin, end = (motion.point(body, point) for body, point in zip(bar.bodies, bar.points, strict=True))
    along = end - begin
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-12)
    x, y, z = (along / length[:, None]).T
    half = np.stack([-y, x, np.zeros_like(x), 1.0 + z], axis=1)
    half[half[:, 3] < 1e-9] = [1.0, 0.0, 0.0, 0.0]
    rotation = half / np.linalg.norm(half, axis=1, keepdims=True)
    scale = np.stack([np.ones_like(length), np.ones_like(length), length / bar.length], axis=1)
    return {"translation": begin, "rotation": _continuous(rotation), "scale": scale}


def _animate(document: _Document, time: Floats, tracks: list[tuple[int, str, Floats]]) -> None:
    """Give nodes their first values, and with several instants the tracks of an animation."""
    for node, path, values in tracks:
        document.json["nodes"][node][path] = values[0].tolist()
    if len(time) < 2 or not tracks:
        return
    instants = document.accessor(time - time[0], "SCALAR", has_bounds=True)
    animation: dict[str, Any] = {"name": "motion", "samplers": [], "channels": []}
    for node, path, values in tracks:
        output = document.accessor(values, f"VEC{values.shape[1]}")
        animation["samplers"].append({"input": instants, "output": output, "interpolation": "LINEAR"})
        target = {"node": node, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})
    document.append("animations", animation)


def _continuous(quaternion: Floats) -> Floats:
    """Return unit quaternions (T, 4) with signs such that neighbors are on the same side."""
    return continued(quaternion[:, None], quaternion[:1])[:, 0]


def _binary(document: _Document) -> bytes:
    text = _json({**document.json, "buffers": [{"byteLength": len(document.content)}]})
    text += b" " * (-len(text) % 4)
    content = bytes(document.content) + bytes(-len(document.content) % 4)
    chunks = b"".join(
        struct.pack("<I4s", len(part), kind) + part for kind, part in ((b"JSON", text), (b"BIN\0", content))
    )
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
