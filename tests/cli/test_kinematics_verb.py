"""`mbsim kinematics`: output, tables and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from command_result import Command

from multibody_cli.studies.inverse.motion import read_columns

ARM = """mbsim: 1
bodies:
  arm: {mass: 0, points: {tip: [1, 0, 0]}}
  ball: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  hinge: {type: revolute, child: arm, axis: [0, 0, 1], MOTION}
  wrist: {type: spherical, parent: arm, child: ball, origin: {position: [1, 0, 0]}}
simulation: {duration: 1, step: 1 ms}
output: {every: 50 ms}
"""


def test_a_prescribed_motion_needs_no_file_and_no_mass(mbsim: Command, folder: Path) -> None:
    (folder / "arm.yaml").write_text(ARM.replace("MOTION", 'motion: {position: "t**2"}'))
    ending = mbsim("kinematics", "arm.yaml", "-o", "arm.csv")
    assert ending.code == 0
    assert ending.stdout.splitlines()[0] == "21 instants from 0 s to 1 s"
    assert "determine wrist/0, wrist/1, wrist/2" in ending.stderr
    times, names, values, *_ = read_columns(folder / "arm.csv")
    assert names[:4] == ["hinge", "hinge_rate", "hinge_acceleration", "wrist/0_rate"]
    np.testing.assert_allclose(values[:, :3], np.column_stack([times**2, 2.0 * times, 2.0 + 0.0 * times]), atol=1e-12)


def test_markers_and_the_summary_as_json(mbsim: Command, folder: Path) -> None:
    (folder / "arm.yaml").write_text(
        ARM.replace("MOTION", "q: 0.1").replace("mass: 0", "mass: 1, inertia: {principal: [1, 1, 1]}")
    )
    t = np.linspace(0.0, 1.0, 11)
    rows = [",".join(map(repr, row)) for row in np.column_stack([t, np.cos(t), np.sin(t)]).tolist()]
    (folder / "tip.csv").write_text("\n".join(["time,tip_x,tip_y", *rows]))
    ending = mbsim("kinematics", "arm.yaml", "--motion", "tip.csv", "--json", "-o", "arm.csv")
    data = json.loads(ending.stdout)
    assert ending.code == 0
    assert (data["instants"], data["fit"][0]["measured"], data["singular_positions"]) == (11, "arm/tip", [])
    assert data["fit"][0]["largest"] < 1e-14
    np.testing.assert_allclose(data["coordinates"][0]["largest"], 1.0, rtol=1e-14)


def test_refusals(mbsim: Command, folder: Path) -> None:
    (folder / "arm.yaml").write_text(
        ARM.replace("MOTION", "q: 0.1").replace("mass: 0", "mass: 1, inertia: {principal: [1, 1, 1]}")
    )
    for words, message in (
        ([], "--motion FILE is required: the scene prescribes no motion"),
        (["-o", "arm.h5"], "`mbsim inverse` writes a result file of a motion"),
        (["--motion", "none.csv"], "cannot read the file"),
    ):
        ending = mbsim("kinematics", "arm.yaml", *words)
        assert ending.code == 2, words
        assert message in ending.stderr
