"""glTF: another reader has the bodies where the run has them, and the tracks reach the later instants."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pytest
from renders import rendered
from scipy.spatial.transform import Rotation

from multibody_cli.render.drawing import placed_at
from multibody_cli.render.gltf import gltf
from multibody_cli.render.picture import Picture

Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
SIZES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


def written(picture: Picture, is_binary: bool = False) -> bytes:
    return gltf("scene", picture.drawing, picture.motion, picture.up, is_binary)


class Reader:
    """Nodes of a text file at the instants of its animation."""

    def __init__(self, text: bytes) -> None:
        self.json = json.loads(text)
        self.content = base64.b64decode(self.json["buffers"][0]["uri"].partition(",")[2])

    def numbers(self, accessor: int) -> np.ndarray:
        about = self.json["accessors"][accessor]
        view, size = self.json["bufferViews"][about["bufferView"]], SIZES[about["type"]]
        kind = {5126: "<f4", 5125: "<u4"}[about["componentType"]]
        return np.frombuffer(self.content, kind, about["count"] * size, view["byteOffset"]).reshape(-1, size)

    def tracks(self) -> dict[tuple[int, str], np.ndarray]:
        [animation] = self.json["animations"]
        return {
            (channel["target"]["node"], channel["target"]["path"]): self.numbers(
                animation["samplers"][channel["sampler"]]["output"]
            )
            for channel in animation["channels"]
        }

    def vertices(self, node: int, row: int) -> np.ndarray:
        """Vertices of a node in the world at an instant."""
        entry: dict[str, Any] = self.json["nodes"][node]
        parts = [
            self.numbers(one["attributes"]["POSITION"]) for one in self.json["meshes"][entry["mesh"]]["primitives"]
        ]
        tracks = self.tracks()
        points = np.concatenate(parts) * tracks.get((node, "scale"), np.ones((row + 1, 3)))[row]
        points = points @ Rotation.from_quat(tracks[node, "rotation"][row]).as_matrix().T
        points = points + tracks[node, "translation"][row]
        return points @ Rotation.from_quat(self.json["nodes"][0]["rotation"]).as_matrix().T


@pytest.mark.parametrize("scene", ["universal_joint", "springs", "arm_muscles"])
def test_tracks_place_all_vertices_at_every_instant(scene):
    picture = rendered(scene)
    reader, rows = Reader(written(picture)), (0, len(picture.rows) // 2, len(picture.rows) - 1)
    names = [node["name"] for node in reader.json["nodes"]]
    bodies = picture.drawing.bodies
    for row in rows:
        placed = placed_at(picture.drawing, picture.motion, row)[
            : len(picture.drawing.solids) + len(picture.drawing.bars)
        ]
        ends = [one.mesh.vertices @ one.linear.T + one.position for one in placed]
        for k, body in enumerate(bodies):
            own = [end for end, one in zip(ends, picture.drawing.solids, strict=False) if one.body == k]
            found = reader.vertices(names.index(body), row)
            assert found == pytest.approx(np.concatenate(own) @ Y_UP.T, abs=1e-5 * picture.drawing.reach)
        first = len(names) - len(picture.drawing.bars)
        for k, end in enumerate(ends[len(picture.drawing.solids) :]):
            found = reader.vertices(first + k, row) @ Y_UP  # rotated about its own axis by any angle
            middle = np.sort(np.linalg.norm(found - found.mean(axis=0), axis=1))
            assert middle == pytest.approx(np.sort(np.linalg.norm(end - end.mean(axis=0), axis=1)), abs=1e-4)
            assert found.mean(axis=0) == pytest.approx(end.mean(axis=0), abs=2.0 * picture.drawing.symbol)
    time = reader.numbers(reader.json["animations"][0]["samplers"][0]["input"]).ravel()
    assert time == pytest.approx(picture.motion.time - picture.motion.time[0])


def test_gravity_points_down_the_y_axis():
    sideways = rendered("revolute_joint", "gravity=[0, -9.81, 0]")
    for picture in (rendered("revolute_joint"), sideways):
        turned = Rotation.from_quat(json.loads(written(picture))["nodes"][0]["rotation"]).as_matrix()
        assert turned @ picture.up == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)


def test_another_program_reads_the_binary_file():
    trimesh = pytest.importorskip("trimesh")
    picture = rendered("stewart_platform")
    model = trimesh.load(io.BytesIO(written(picture, is_binary=True)), file_type="glb")
    placed = placed_at(picture.drawing, picture.motion, 0)
    points = np.concatenate([one.mesh.vertices @ one.linear.T + one.position for one in placed]) @ Y_UP.T
    assert model.bounds == pytest.approx(np.array([points.min(axis=0), points.max(axis=0)]), abs=1e-5)


def test_a_single_instant_has_no_animation_and_both_files_the_same_content():
    whole = rendered("revolute_joint")
    still = Picture(whole.loaded, whole.trajectory, whole.rows[:1])
    text, binary = written(still), written(still, is_binary=True)
    found = json.loads(text)
    assert "animations" not in found
    length = int.from_bytes(binary[12:16], "little")
    other = json.loads(binary[20 : 20 + length])
    assert {**found, "buffers": 0} == {**other, "buffers": 0}
    assert int.from_bytes(binary[8:12], "little") == len(binary)
    assert written(still) == text
