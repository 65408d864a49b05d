"""`mbsim modes` and `mbsim linearize`: output, files and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_result import Command
from scipy.io import loadmat

SCENE = """mbsim: 1
gravity: [0, 0, 0]
bodies:
  a: {mass: 1, inertia: {principal: [1, 1, 1]}}
  b: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  one: {type: prismatic, axis: [1, 0, 0], child: a, stiffness: 100, damping: 0.2}
  two: {type: prismatic, axis: [1, 0, 0], parent: a, child: b, stiffness: 100}
  free: {type: revolute, axis: [0, 0, 1], parent: b, child: c}
simulation: {duration: 0.1 s, step: 1 ms}
""".replace("joints:", "  c: {mass: 0, inertia: {principal: [0, 0, 1]}}\njoints:")


@pytest.mark.parametrize("about", [(), ("--equilibrium",)])
def test_modes_at_a_kink_name_their_side(mbsim: Command, folder: Path, about: tuple[str, ...]) -> None:
    """1e6 N/m to one side has 159.2 Hz with 1 kg, and 1e-3 N/m to the other one 0.00503 Hz."""
    text = (
        SCENE.split("joints:", maxsplit=1)[0]
        + """joints:
  slide: {type: prismatic, axis: [1, 0, 0], child: a, force: "-1e6*max(q, 0) - 1e-3*q"}
  two: {type: prismatic, axis: [0, 1, 0], child: b, stiffness: 100}
  hinge: {type: revolute, axis: [0, 0, 1], child: c, stiffness: 1}
simulation: {duration: 0.1 s, step: 1 ms}
"""
    )
    (folder / "kink.yaml").write_text(text)
    ending = mbsim("modes", "kink.yaml", *about, "--json")
    found = json.loads(ending.stdout)
    [side] = found["kinks"]
    assert side.endswith(("slide increases", "slide decreases"))
    assert f"a force has a kink at this state: the derivatives are those of the side on which {side}" in ending.stderr
    [mode] = [one for one in found["modes"] if "slide" in one["shape"]]
    stiffness = 1e6 + 1e-3 if side.endswith("increases") else 1e-3
    assert mode["frequency"] == pytest.approx(stiffness**0.5 / (2 * np.pi), rel=1e-6)
    (folder / "smooth.yaml").write_text(text.replace("-1e6*max(q, 0) - 1e-3*q", "-1e6*q"))
    ending = mbsim("modes", "smooth.yaml", *about, "--json")
    assert (json.loads(ending.stdout)["kinks"], "kink" in ending.stderr) == ([], False)


def test_modes_as_table_json_and_motion(mbsim: Command, folder: Path) -> None:
    (folder / "two.yaml").write_text(SCENE)
    ending = mbsim("modes", "two.yaml", "--equilibrium", "--mode", "2", "-o", "second.h5")
    assert ending.code == 0
    assert ending.stdout.splitlines()[0].split()[:4] == ["mode", "frequency", "Hz", "damping"]
    assert len(ending.stdout.splitlines()) == 4
    assert "2 exponents of 0" in ending.stderr
    found = json.loads(mbsim("modes", "two.yaml", "--equilibrium", "--json").stdout)
    w = 10.0 * np.sqrt([(3 - 5**0.5) / 2, (3 + 5**0.5) / 2])
    np.testing.assert_allclose(found["undamped_frequencies"], [0, *w / (2 * np.pi)], rtol=1e-12)
    assert found["free_exponents"] == 2
    assert set(found["modes"][0]["shape"]) == {"one", "two"}
    assert mbsim("render", "second.h5", "-o", "second.html").code == 0
    ending = mbsim("modes", "two.yaml", "--mode", "3", "-o", "third.h5")
    assert (ending.code, "--mode 3: the scene has 2 modes" in ending.stderr) == (2, True)
    ending = mbsim("modes", "two.yaml", "--mode", "1")
    assert (ending.code, "add -o FILE.h5" in ending.stderr) == (2, True)
    at = mbsim("modes", "two.yaml", "--at", "0.05s", "--json")
    assert len(json.loads(at.stdout)["modes"]) == 2
    ending = mbsim("modes", "two.yaml", "--at", "0.0505s")
    assert (ending.code, "--at" in ending.stderr) == (2, True)


ROTOR = """mbsim: 1
gravity: [0, 0, 0]
bodies:
  pitch: {mass: 0, inertia: {principal: [0, 0, 0]}}
  yaw: {mass: 0, inertia: {principal: [0, 0, 0]}}
  disc: {mass: 3, inertia: {principal: [0.025, 0.025, 0.04]}}
joints:
  about_x: {type: revolute, axis: [1, 0, 0], child: pitch, stiffness: 50}
  about_y: {type: revolute, axis: [0, 1, 0], parent: pitch, child: yaw, stiffness: 50}
  spin: {type: revolute, axis: [0, 0, 1], parent: yaw, child: disc}
simulation: {duration: 1 s, step: 1 ms}
"""


def test_a_campbell_diagram_has_the_split_frequencies_of_its_rates(mbsim: Command, folder: Path) -> None:
    """w = sqrt(s^2 + k/a) -+ s with s = p W/(2 a), for the rates W."""
    (folder / "rotor.yaml").write_text(ROTOR)
    words = ("modes", "rotor.yaml", "--steady", "spin=-20:80:6", "--campbell")
    ending = mbsim(*words, "c.csv", "--campbell", "c.svg")
    assert (ending.code, ending.stdout) == (0, "c.csv: 2 frequencies at 6 rates\nc.svg: 2 frequencies at 6 rates\n")
    rates, *found = np.loadtxt(folder / "c.csv", delimiter=",", skiprows=1).T
    np.testing.assert_array_equal(rates, [-20, 0, 20, 40, 60, 80])
    split = 0.04 * np.abs(rates) / (2 * 0.025)
    exact = np.sqrt(split**2 + 50 / 0.025) + np.array([[-1], [1]]) * split
    np.testing.assert_allclose(found, exact / (2 * np.pi), rtol=1e-11)
    for more, message in (
        (["c.csv"], "c.csv exists: use --force"),
        (["c.txt"], "c.txt: a picture is named"),
        (["d.csv", "--json"], "omit -o, --json and --equilibrium"),
        (["d.csv", "--steady", "about_x=0:1:2"], "--campbell: expected one range of rates"),
        (["d.csv", "--steady", "spin=5:0:3"], "--steady spin=5:0:3: expected LOW:HIGH:COUNT"),
        (["d.csv", "--steady", "spin=0:5:1"], "--steady spin=0:5:1: expected LOW:HIGH:COUNT"),
        (["d.csv", "--steady", "spin=0:x:3"], "--steady spin=0:x:3: expected LOW:HIGH:COUNT"),
    ):
        ending = mbsim(*words, *more)
        assert (ending.code, message in ending.stderr) == (2, True), (more, ending.stderr)


@pytest.mark.parametrize(
    ("joint", "reason"), [("fixed", "nothing can move"), ("free", "no force opposes or causes a small motion")]
)
def test_a_scene_without_modes(mbsim: Command, folder: Path, joint: str, reason: str) -> None:
    body = "gravity: [0, 0, 0]\nbodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}}\n"
    (folder / "one.yaml").write_text(
        f"mbsim: 1\n{body}joints: {{j: {{type: {joint}, child: a}}}}\nsimulation: {{duration: 1 s, step: 1 ms}}\n"
    )
    assert mbsim("modes", "one.yaml").stdout == f"no modes: {reason}\n"
    ending = mbsim("modes", "one.yaml", "--mode", "1", "-o", "one.h5")
    assert (ending.code, "--mode 1: the scene has 0 modes" in ending.stderr) == (2, True)


def test_the_step_is_checked_for_runs_alone(mbsim: Command, folder: Path) -> None:
    """With w = 1e5 1/s, steps of 1 ms are not stable."""
    (folder / "two.yaml").write_text(SCENE.replace("stiffness: 100}", "stiffness: 1e10}"))
    for verb in (["modes"], ["equilibrium"], ["linearize", "--to", "two.npz"]):
        ending = mbsim(verb[0], "two.yaml", *verb[1:])
        assert (ending.code, "the step of" in ending.stderr) == (0, False)
    assert "the step of" in mbsim("modes", "two.yaml", "--at", "1 ms").stderr
    ending = mbsim("modes", "two.yaml", "--at", "-1")
    assert (ending.code, "--at -1: expected a time (s) of at least 0" in ending.stderr) == (2, True)


@pytest.mark.parametrize("suffix", ["npz", "json", "mat"])
def test_matrices_in_each_format(mbsim: Command, folder: Path, suffix: str) -> None:
    (folder / "two.yaml").write_text(SCENE)
    name = f"two.{suffix}"
    ending = mbsim("linearize", "two.yaml", "--to", name, "--output", "bodies/b/com[x]", "--input", "force/two")
    assert (ending.code, ending.stdout) == (
        0,
        f"{name}: 6 states, 1 input, 1 output, at t = 0 s; derivatives: exact\n",
    )
    path = folder / name
    if suffix == "json":
        data = json.loads(path.read_text())
    else:
        data = dict(np.load(path)) if suffix == "npz" else loadmat(path, squeeze_me=True)
    assert (float(data["time"]), str(data["derivatives"])) == (0.0, "exact")
    assert [str(one) for one in data["states"]] == ["q/one", "q/two", "q/free", "v/one", "v/two", "v/free"]
    np.testing.assert_allclose(np.ravel(data["C"]), [1, 1, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.asarray(data["A"])[3], [-100, 100, 0, -0.2, 0, 0], atol=1e-10)
    assert mbsim("linearize", "two.yaml", "--to", name).code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "a.txt"], "--to a.txt: expected a name that ends in .npz, .mat, .json"),
        ([], "nothing to write: add --to FILE.npz for the matrices, or --bode FILE.png for a Bode plot"),
        (["--to", "a.npz", "--frequencies", "1,2"], "--frequencies is the range of a Bode plot"),
        (["--bode", "a.csv", "--frequencies", "1"], "--frequencies 1: expected two frequencies"),
        (["--bode", "a.txt"], "a.txt: a picture is named"),
        (["--to", "a.npz", "--input", "force/tow"], "--input force/tow: no such input"),
        (
            ["--to", "a.npz", "--output", "joints/one/w"],
            "--output joints/one/w: no channel `joints/one/w`: did you mean",
        ),
        (["--to", "a.npz", "--output", "joints/one/q[z]"], "--output joints/one/q[z]: channel `joints/one/q`"),
        (["--to", "a.npz", "--at", "noon"], "--at noon"),
    ],
)
def test_refusals_of_linearize(mbsim: Command, folder: Path, words: list[str], message: str) -> None:
    (folder / "two.yaml").write_text(SCENE)
    ending = mbsim("linearize", "two.yaml", *words)
    assert (ending.code, message in ending.stderr) == (2, True), ending.stderr
