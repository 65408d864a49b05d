"""`mbsim kinematics`: output, tables and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from command_result import Command

from multibody_cli.output.trajectory import read_trajectory
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


def test_a_result_file_without_masses(mbsim: Command, folder: Path) -> None:
    (folder / "arm.yaml").write_text(ARM.replace("MOTION", 'motion: {position: "t**2"}'))
    assert mbsim("kinematics", "arm.yaml", "-o", "arm.h5", "-o", "arm.csv").code == 0
    file = read_trajectory(folder / "arm.h5")
    t = file.time
    np.testing.assert_allclose(t, np.arange(21) / 20, rtol=1e-15)
    tip = np.column_stack([np.cos(t**2), np.sin(t**2), 0.0 * t])
    side = np.column_stack([-tip[:, 1], tip[:, 0], 0.0 * t])
    np.testing.assert_allclose(file.channel("points/arm/tip/position").values, tip, atol=1e-14)
    wanted = 2.0 * side - (2.0 * t[:, None]) ** 2 * tip
    np.testing.assert_allclose(file.channel("points/arm/tip/acceleration").values, wanted, atol=1e-13)
    np.testing.assert_allclose(file.channel("joints/hinge/acceleration").values[:, 0], 2.0, atol=1e-14)
    forces = {"joints/hinge/force", "energy/kinetic", "momentum/linear"}
    assert not forces & set(file.paths)
    assert (file.attributes["method"], file.attributes["status"], file.events.names) == ("kinematics", "complete", ())


def test_the_file_of_a_four_bar(mbsim: Command, folder: Path) -> None:
    """A rocker of a parallelogram at rate 1 passes the flat position: branch, angle, event, and a loop joint."""
    body = "{mass: 1, inertia: {principal: [1, 1, 1]}}"
    (folder / "bar.yaml").write_text(f"""mbsim: 1
bodies: {{crank: {body}, coupler: {body}, rocker: {body}}}
joints:
  a: {{type: revolute, child: crank, axis: [0, 0, 1], motion: {{position: "-0.305 + t"}}}}
  b: {{type: revolute, parent: crank, child: coupler, origin: {{position: [0.2, 0, 0]}}, axis: [0, 0, 1], q: 0.305}}
  d: {{type: revolute, child: rocker, origin: {{position: [0.6, 0, 0]}}, axis: [0, 0, 1], q: -0.305}}
  c: {{type: revolute, parent: coupler, child: rocker, origin: {{position: [0.6, 0, 0]}},
    child_origin: {{position: [0.2, 0, 0]}}, axis: [0, 0, 1]}}
simulation: {{duration: 1, step: 1 ms, method: baraff}}
output: {{every: 10 ms}}
""")
    assert mbsim("kinematics", "bar.yaml", "-o", "bar.h5").code == 0
    file = read_trajectory(folder / "bar.h5")
    angle = -0.305 + file.time
    values = {path: file.channel(path).values for path in file.paths}
    np.testing.assert_allclose(values["four_bars/a/transmission_angle"], np.abs(angle), atol=1e-9)
    np.testing.assert_array_equal(values["four_bars/a/branch"], np.sign(angle))
    np.testing.assert_allclose(values["joints/c/v"], np.ones((101, 1)), atol=1e-8)
    assert file.attributes["description"] == "Kinematics of the motion of bar; four-bar a b c d: parallelogram"
    [event] = file.events.as_rows()
    assert (event["event"], event["direction"]) == ("branching point", "touching")
    np.testing.assert_allclose(event["time"], 0.305, atol=1e-6)
    shown = mbsim("info", "bar.h5")
    assert "branching point" in shown.stdout
    assert mbsim("plot", "bar.h5", "four_bars/a/branch", "-o", "branch.png").code == 0
    assert mbsim("export", "bar.h5", "four_bars", "-o", "bars.csv").code == 0
    assert "bar.h5 has no run but `kinematics`" in mbsim("rerun", "bar.h5").stderr


SLIDER_CRANK = """mbsim: 1
bodies:
  crank: {mass: 1, inertia: {principal: [1, 1, 1]}}
  rod: {mass: 1, inertia: {principal: [1, 1, 1]}}
  piston: {mass: 2, inertia: {principal: [1, 1, 1]}}
joints:
  guide: {type: prismatic, child: piston, axis: [1, 0, 0], motion: {position: "0.2 + 0.06*sin(2*pi*t)"}}
  main: {type: revolute, child: crank, axis: [0, 0, 1], q: 82.819244 deg}
  pin: {type: revolute, parent: crank, child: rod, origin: {position: [0.05, 0, 0]}, axis: [0, 0, 1], q: -97.180755 deg}
  wrist: {type: revolute, parent: rod, child: piston, origin: {position: [200 mm, 0, 0]}, axis: [0, 0, 1]}
simulation: {duration: 1 s, step: 1 ms}
output: {every: 10 ms}
"""


def test_a_motion_of_the_scene_beyond_its_reach_ends_at_the_last_possible_instant(mbsim: Command, folder: Path) -> None:
    """The piston leaves the reach of 250 mm at sin(2 pi t) = 5/6; warnings about loads and rates are left out."""
    (folder / "slider.yaml").write_text(SLIDER_CRANK)
    ending = mbsim("kinematics", "slider.yaml", "--json", "-o", "slider.csv")
    assert ending.code == 0
    data = json.loads(ending.stdout)
    assert (data["instants"], data["end"]) == (16, 0.15)
    [singular] = data["singular_positions"]
    assert singular["kind"] == "dead centre"
    np.testing.assert_allclose(singular["at s"], np.arcsin(5 / 6) / (2 * np.pi), atol=1e-6)
    [warning] = ending.stderr.splitlines()
    assert warning.startswith("warning: the motion leads beyond the dead centre at t = 0.15678")
    times, names, values, *_ = read_columns(folder / "slider.csv")
    x = 0.2 + 0.06 * np.sin(2 * np.pi * times)
    angle = np.arccos((0.05**2 + x**2 - 0.2**2) / (0.1 * x))  # law of cosines
    np.testing.assert_allclose(values[:, names.index("main")], angle, atol=1e-9)
    wrist = values[:, names.index("wrist")]  # it closes the loop
    np.testing.assert_allclose(wrist, -(values[:, names.index("main")] + values[:, names.index("pin")]), atol=1e-9)
    rate = values[:, names.index("main_rate")] + values[:, names.index("pin_rate")]
    np.testing.assert_allclose(values[:, names.index("wrist_rate")], -rate, atol=1e-7)
    (folder / "slider.yaml").write_text(SLIDER_CRANK.replace("0.2 + ", "0.3 + "))
    ending = mbsim("kinematics", "slider.yaml", "-o", "slider.csv")
    assert ending.code == 2
    assert "cannot be closed" in ending.stderr


def test_its_file_is_a_motion_of_inverse(mbsim: Command, folder: Path) -> None:
    """The forces are those of the prescribed motion itself."""
    text = ARM.replace("MOTION", "q: 0").replace("mass: 0", "mass: 1, inertia: {principal: [1, 1, 1]}")
    (folder / "moved.yaml").write_text(text.replace("q: 0", 'motion: {position: "t**2"}'))
    (folder / "arm.yaml").write_text(text)
    assert mbsim("kinematics", "moved.yaml", "-o", "arm.h5").code == 0
    assert mbsim("inverse", "arm.yaml", "--motion", "arm.h5", "-o", "forces.csv").code == 0
    _, names, values, *_ = read_columns(folder / "forces.csv")
    force = values[:, names.index("hinge_moment")]
    about_hinge = 1.0 + (1.0 + 1.0)  # of the arm, and of the ball, which turns with it at a distance of 1 m
    np.testing.assert_allclose(force, 2.0 * about_hinge, atol=1e-12)


def test_refusals(mbsim: Command, folder: Path) -> None:
    (folder / "arm.yaml").write_text(
        ARM.replace("MOTION", "q: 0.1").replace("mass: 0", "mass: 1, inertia: {principal: [1, 1, 1]}")
    )
    for words, message in (
        ([], "--motion FILE is required: the scene prescribes no motion"),
        (["-o", "arm.txt"], "expected a name that ends in .h5"),
        (["-o", "a.h5", "-o", "b.h5"], "expected one result file"),
        (["--motion", "none.csv"], "cannot read the file"),
    ):
        ending = mbsim("kinematics", "arm.yaml", *words)
        assert ending.code == 2, words
        assert message in ending.stderr
