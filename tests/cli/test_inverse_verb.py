"""`mbsim inverse`: output, files and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from command_result import Command

from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.inverse.motion import read_columns

SCENE = """mbsim: 1
gravity: [0, -9.81, 0]
bodies:
  base: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
  arm: {mass: 1.5, inertia: {principal: [0.01, 0.002, 0.01]}, com: [0.15, 0, 0]}
joints:
  lift: {type: prismatic, child: base, axis: [0, 1, 0]}
  elbow: {type: revolute, parent: base, child: arm, axis: [0, 0, 1], q: 0.3, coordinate_names: elbow_flexion, force: 1}
muscles:
  biceps:
    path: [{body: base, point: [0, 0.3, 0]}, {body: arm, point: [0.05, 0, 0]}]
    max_isometric_force: 500
    optimal_length: 0.28
    activation: 0
simulation: {duration: 1, step: 1 ms}
"""


def prepare(folder: Path) -> None:
    (folder / "arm.yaml").write_text(SCENE)
    t = np.linspace(0.0, 0.2, 21)
    rows = [f"{a!r}\t{20.0 + 100.0 * a!r}\t1.0" for a in t.tolist()]
    head = f"arm\nnRows={len(t)}\nnColumns=3\ninDegrees=yes\nendheader\ntime\telbow_flexion\tmarker"
    (folder / "arm.mot").write_text("\n".join([head, *rows]) + "\n")


def test_forces_of_a_motion(mbsim: Command, folder: Path) -> None:
    prepare(folder)
    ending = mbsim("inverse", "arm.yaml", "--motion", "arm.mot", "-o", "arm.h5", "-o", "arm.sto")
    assert ending.code == 0
    assert ending.stdout.splitlines()[0] == "21 instants from 0 s to 0.2 s"
    assert ending.stdout.splitlines()[-2:] == ["arm.h5", "arm.sto"]
    assert "nothing: residual" in ending.stdout
    assert "columns that move nothing: marker" in ending.stderr
    assert "unknown forces, which do not act: joints/elbow/force" in ending.stderr
    assert "neither the motion nor the constraints determine lift: they keep the values of the start" in ending.stderr
    times, names, values, *_ = read_columns(folder / "arm.sto")
    assert names == ["lift_force", "elbow_flexion_moment"]
    angle = np.radians(20.0 + 100.0 * times)
    np.testing.assert_allclose(values[:, 1], 1.5 * 9.81 * 0.15 * np.cos(angle), rtol=1e-9)
    ending = mbsim("rerun", "arm.h5")
    assert (ending.code, "arm.h5 has no run but `inverse_dynamics`" in ending.stderr) == (2, True)
    recorded = read_trajectory(folder / "arm.h5").channel("actuators/elbow_flexion/force").values[:, 0]
    np.testing.assert_array_equal(recorded, values[:, 1])


def test_muscles_and_the_summary_as_json(mbsim: Command, folder: Path) -> None:
    prepare(folder)
    ending = mbsim("inverse", "arm.yaml", "--motion", "arm.mot", "--muscles", "--json", "-o", "arm.csv")
    data = json.loads(ending.stdout)
    assert (ending.code, data["instants"], data["residuals"], data["held"]) == (0, 21, ["lift"], ["lift"])
    assert [row["muscle"] for row in data["muscles"]] == ["biceps"]
    head = (folder / "arm.csv").read_text().splitlines()[0]
    assert head == (
        "time (s),lift_force (N),elbow_flexion_moment (N m),lift_reserve (N),elbow_flexion_reserve (N m),"
        "biceps_activation (1),biceps_tension (N)"
    )


def test_refusals(mbsim: Command, folder: Path) -> None:
    prepare(folder)
    for words, message in (
        (["--on", "knee"], "--on knee: no coordinate `knee` that can have a force"),
        (["-o", "arm.txt"], "arm.txt: expected a name that ends in .h5"),
        (["-o", "arm.mot"], "arm.mot exists: use --force"),
        (["--muscles", "--reserve", "0"], "--reserve 0: expected a force above 0"),
        (["--muscles", "--set", "muscles={}"], "--muscles: the scene has no muscles"),
        (["--from", "1"], "arm.mot has no instant from 1 s to 0.2 s"),
    ):
        ending = mbsim("inverse", "arm.yaml", "--motion", "arm.mot", *words)
        assert ending.code == 2, words
        assert message in ending.stderr
    assert mbsim("inverse", "arm.yaml", "--motion", "none.mot").code == 2
