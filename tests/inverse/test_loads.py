"""Measured forces on bodies: they have the effect of forces of the scene, in every form of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import Refused

SCENE = """mbsim: 1
gravity: [0, -9.81, 0]
bodies:
  thigh: {mass: 2, com: [0, -0.2, 0.01], inertia: {principal: [0.02, 0.01, 0.02]}}
  shank: {mass: 1, com: [0.02, -0.2, 0], inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  hip: {type: composite, child: thigh, parts: [{type: revolute, axis: [0, 0, 1]}, {type: revolute, axis: [1, 0, 0]}],
    q: [0.3, 0.2], origin: {position: [0.1, 0.9, 0]}}
  knee: {type: revolute, parent: thigh, child: shank, origin: {position: [0, -0.4, 0]},
    child_origin: {position: [0.01, 0.02, 0]}, axis: [0, 0, 1], q: -0.6}
FORCES
simulation: {duration: 0.5, step: 1 ms}
output: {every: 0.01 s}
"""

LOAD = """forces:
  push: {body: shank, point: [0.03, -0.35, 0.02], FORCE}
"""

XML = """<?xml version="1.0"?><OpenSimDocument Version="40000"><ExternalLoads name="loads"><objects>
<ExternalForce name="right"><applied_to_body>{body}</applied_to_body>
<force_expressed_in_body>{force_body}</force_expressed_in_body>
<point_expressed_in_body>{point_body}</point_expressed_in_body><force_identifier>f_v</force_identifier>
<point_identifier>f_p</point_identifier><torque_identifier>f_t</torque_identifier></ExternalForce>
</objects><datafile>{file}</datafile></ExternalLoads></OpenSimDocument>"""

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")  # of splines

FORCE = np.array([20.0, 45.0, -5.0])
TORQUE = np.array([1.0, -2.0, 0.5])
POINT = np.array([0.03, -0.35, 0.02])


def table(path: Path, times: np.ndarray, points: np.ndarray) -> Path:
    """Write a constant force and torque at points (T, 3)."""
    heads = [f"f_{kind}{axis}" for kind in "vpt" for axis in "xyz"]
    rows = np.column_stack([times, np.tile(FORCE, (len(times), 1)), points, np.tile(TORQUE, (len(times), 1))])
    lines = ["loads", f"nRows={len(rows)}", "nColumns=10", "endheader", "\t".join(["time", *heads])]
    path.write_text("\n".join([*lines, *("\t".join(map(repr, row)) for row in rows.tolist())]) + "\n")
    return path


def runs(tmp_path: Path, frame: str) -> tuple[Path, Path, Path]:
    """Return the scene without the load, the run with it, and the scene with it."""
    plain, loaded, run = tmp_path / "plain.yaml", tmp_path / "loaded.yaml", tmp_path / "run.h5"
    words = f"force: {FORCE.tolist()}, torque: {TORQUE.tolist()}, frame: {frame}"
    plain.write_text(SCENE.replace("FORCES", ""))
    loaded.write_text(SCENE.replace("FORCES", LOAD.replace("FORCE", words)))
    mbsim.load(loaded).run(run)
    return plain, run, loaded


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize("point_in", ["ground", "shank"])
def test_loads_of_a_file_are_those_of_the_scene(frame: str, point_in: str, tmp_path: Path) -> None:
    """A run without other forces: with its loads from a file, no force is left."""
    plain, run, loaded = runs(tmp_path, frame)
    before = mbsim.read(run)
    x, R = before["bodies/position"].values, rotations(before["bodies/quaternion"].values)
    places = x[:, 1] + np.einsum("tij,j->ti", R[:, 1], POINT)
    points = {
        "ground": places,
        "shank": np.tile(POINT, (len(x), 1)),
    }[point_in]
    table(tmp_path / "grf.sto", before["time"].values, points)
    own = "ground" if frame == "world" else "/bodyset/shank"
    (tmp_path / "loads.xml").write_text(
        XML.format(body="/bodyset/shank", force_body=own, point_body=point_in, file="grf.sto")
    )
    out = tmp_path / "out.h5"
    found = mbsim.inverse(plain, run, loads=[str(tmp_path / "loads.xml")], output=out)
    assert np.abs(found.forces).max() < 2e-10
    np.testing.assert_allclose(mbsim.inverse(loaded, run).forces, 0.0, atol=1e-10)
    after = mbsim.read(out)  # the wrenches of joints contain the loads
    np.testing.assert_allclose(after["joints/hip/force"], before["joints/hip/force"], atol=1e-8)


def rotations(quaternions: np.ndarray) -> np.ndarray:
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def test_a_load_of_the_command_line(tmp_path: Path) -> None:
    plain, run, _ = runs(tmp_path, "world")
    before = mbsim.read(run)
    R = rotations(before["bodies/quaternion"].values)
    places = before["bodies/position"].values[:, 1] + np.einsum("tij,j->ti", R[:, 1], POINT)
    grf = table(tmp_path / "grf.sto", before["time"].values, places)
    found = mbsim.inverse(plain, run, loads=[f"shank={grf}:f_v,f_p,f_t"])
    assert np.abs(found.forces).max() < 2e-10
    only = mbsim.inverse(plain, run, loads=[f"shank={grf}:f_v,f_p"])
    assert np.abs(only.forces).max() > 0.1


def test_what_is_refused(tmp_path: Path) -> None:
    plain, run, _ = runs(tmp_path, "world")
    grf = table(tmp_path / "grf.sto", np.linspace(0.0, 0.3, 5), np.zeros((5, 3)))
    for word, message in (
        (f"foot={grf}:f_v,f_p", '--loads: forces."load 1".body: unknown body `foot`; valid: shank, thigh, world'),
        (f"shank={grf}:g_v", "grf.sto:5: no column `g_vx`"),
        ("shank", "expected a file of ExternalLoads (.xml), a result file, or BODY=TABLE:FORCE,POINT,TORQUE"),
        (str(tmp_path / "none.xml"), "none.xml"),
    ):
        with pytest.raises(Refused) as error:
            mbsim.inverse(plain, run, loads=[word])
        assert message in str(error.value)
    found = mbsim.inverse(plain, run, loads=[f"shank={grf}:f_v,f_p"])
    assert found.remarks == ("forces.load 1 has values from 0 s to 0.3 s; beyond, it keeps those of the ends",)
