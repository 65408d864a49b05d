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


def test_shapes_are_amplitudes_with_phases(mbsim: Command, folder: Path) -> None:
    """Ratios of two equal masses and springs are the golden ratio; the joint of the second is relative to the first."""
    (folder / "two.yaml").write_text(SCENE.replace(", damping: 0.2", ""))
    text = mbsim("modes", "two.yaml", "--equilibrium", "--shapes").stdout.partition("shapes:")[2]
    cells = {words[0]: words[1:] for words in map(str.split, text.splitlines()[2:])}
    assert list(cells) == ["one", "two"]  # `free` rests
    golden = (1 + 5**0.5) / 2  # positions (1, golden) and (golden, -1)
    for column, ratio in ((1, golden - 1), (2, -1 / golden - 1)):
        one, two = (float(cells[name][column]) for name in ("one", "two"))
        assert two / one == pytest.approx(ratio, rel=2e-3)


FLAT = """mbsim: 1
gravity: [0, 0, 0]
vars: {angle: 0 deg}
bodies:
  crank: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
  coupler: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
  rocker: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  a: {type: revolute, child: crank, axis: [0, -1, 0], stiffness: 10, q: "${angle}"}
  b: {type: revolute, parent: crank, child: coupler, origin: {position: [0.2, 0, 0]}, axis: [0, -1, 0], q: "${-angle}"}
  d: {type: revolute, child: rocker, origin: {position: [0.6, 0, 0]}, axis: [0, -1, 0], q: "${angle}"}
  c: {type: revolute, parent: coupler, child: rocker, origin: {position: [0.6, 0, 0]},
    child_origin: {position: [0.2, 0, 0]}, axis: [0, -1, 0]}
simulation: {duration: 20 ms, step: 1 ms}
"""


@pytest.mark.parametrize("words", [("modes",), ("linearize", "--to", "flat.npz", "--force"), ("doctor",)])
def test_a_start_where_branches_meet_has_a_warning(mbsim: Command, folder: Path, words: tuple[str, ...]) -> None:
    """A parallelogram in line, which may also become crossed, and one beside it."""
    (folder / "flat.yaml").write_text(FLAT)
    verb, *more = words
    message = "the loop of joint `c` is in a singular position"
    for angle, is_singular in (("0 deg", True), ("10 deg", False)):
        ending = mbsim(verb, "flat.yaml", *more, "--set", f"vars.angle={angle}")
        assert ending.code == 0
        assert (message in (ending.stdout if verb == "doctor" else ending.stderr)) == is_singular
        assert "constraint rows" not in ending.stderr or verb == "doctor"
        if verb == "doctor":
            assert ("oscillates" in ending.stdout) != is_singular


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


def read_csv(path: Path) -> tuple[list[str], np.ndarray]:
    """Return the heads and the columns of a table."""
    return path.read_text().splitlines()[0].split(","), np.genfromtxt(path, delimiter=",", skip_header=1).T


def test_a_campbell_diagram_follows_the_whirls_of_a_rotor(mbsim: Command, folder: Path) -> None:
    """w = sqrt(s^2 + k/a) +- s with s = p W/(2 a), for the rates W of both signs, with equal frequencies at 0."""
    (folder / "rotor.yaml").write_text(ROTOR)
    words = ("modes", "rotor.yaml", "--steady", "spin=-20:80:6", "--campbell")
    ending = mbsim(*words, "c.CSV", "--campbell", "c.svg")
    assert (ending.code, ending.stdout) == (0, "c.CSV: 2 modes at 6 rates\nc.svg: 2 modes at 6 rates\n")
    assert "grows" not in ending.stderr
    heads, (rates, first, growth, second, _) = read_csv(folder / "c.CSV")
    assert heads[:3] == ["rate of spin (rad/s)", "frequency 1 (Hz)", "growth 1 (1/s)"]
    np.testing.assert_array_equal(rates, [-20, 0, 20, 40, 60, 80])
    split = 0.04 * rates / (2 * 0.025)
    exact = np.sqrt(split**2 + 50 / 0.025) + np.array([[1], [-1]]) * split
    np.testing.assert_allclose([first, second], exact / (2 * np.pi), rtol=1e-11)
    np.testing.assert_allclose(growth, 0, atol=1e-10)
    for more, message in (
        (["c.CSV"], "c.CSV exists: use --force"),
        (["c.txt"], "c.txt: expected a name that ends in .csv, .png, .svg or .pdf"),
        (["d.csv", "--json"], "omit -o, --json, --shapes, --equilibrium"),
        (["d.csv", "--shapes"], "omit -o, --json, --shapes, --equilibrium"),
        (["d.csv", "--steady", "about_x=0:1:2"], "--campbell: expected one range of rates"),
        (["d.csv", "--steady", "spin=5:0:3"], "--steady spin=5:0:3: expected LOW:HIGH:COUNT"),
        (["d.csv", "--steady", "spin=0:5:1"], "--steady spin=0:5:1: expected LOW:HIGH:COUNT"),
        (["d.csv", "--steady", "spin=0:5:1.5"], "--steady spin=0:5:1.5: expected LOW:HIGH:COUNT"),
        (["d.csv", "--steady", "spin=0:5"], "--steady spin=0:5: expected LOW:HIGH:COUNT"),
        (["d.csv", "--steady", "spin=0:x:3"], "--steady spin=x: expected an angular speed"),
        (["d.csv", "--steady", "spin=0:3 m:3"], "--steady spin=3 m: expected an angular speed (rad/s)"),
        (["d.csv", "--steady", "spn=0:3:3", "--steady", "spin"], "no coordinate `spn` that can have a constant rate"),
    ):
        ending = mbsim(*words, *more)
        assert (ending.code, message in ending.stderr) == (2, True), (more, ending.stderr)


HUB = """mbsim: 1
gravity: [0, 0, 0]
bodies:
  hub: {mass: 1, inertia: {principal: [1, 1, 1]}}
  a: {mass: 1, com: [OFFSET, 0, 0], inertia: {principal: [1, 1, 1]}}
  b: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  spin: {type: revolute, axis: [0, 0, 1], child: hub}
  radial: {type: prismatic, axis: [1, 0, 0], parent: hub, child: a, stiffness: 100}
  vertical: {type: prismatic, axis: [0, 0, 1], parent: hub, child: b, stiffness: 400}
simulation: {duration: 1 s, step: 1 ms}
"""


@pytest.mark.parametrize(
    ("span", "growing"), [("0:12:5", "12"), ("0 rpm:3000 rpm:4", "104.72 to 314.159"), ("-12:14:14", "-12, 12 to 14")]
)
def test_a_mode_keeps_its_column_and_grows_beyond_its_critical_rate(
    mbsim: Command, folder: Path, span: str, growing: str
) -> None:
    """The exponent of the radial mode is sqrt(W^2 - k/m), and that of the vertical one is constant."""
    (folder / "hub.yaml").write_text(HUB.replace("OFFSET", "0"))
    ending = mbsim("modes", "hub.yaml", "--steady", f"spin={span}", "--campbell", "c.csv", "--campbell", "c.png")
    _, (rates, *columns) = read_csv(folder / "c.csv")
    assert (ending.code, len(columns)) == (0, 4)
    radial, growth, vertical, steady = columns if columns[3].max() < 1 else columns[2:] + columns[:2]
    below, beyond = np.abs(rates) < 10 - 1e-6, np.abs(rates) > 10 + 1e-6
    np.testing.assert_allclose(radial[below], np.sqrt(100 - rates[below] ** 2) / (2 * np.pi), rtol=1e-9)
    np.testing.assert_allclose(growth[below], 0, atol=1e-9)
    assert np.isnan(radial[~below]).all()
    np.testing.assert_allclose(growth[beyond], np.sqrt(rates[beyond] ** 2 - 100), rtol=1e-9)
    np.testing.assert_allclose(vertical, 20 / (2 * np.pi), rtol=1e-10)
    np.testing.assert_allclose(steady, 0, atol=1e-9)
    assert f"grows at spin = {growing} rad/s, by up to {np.nanmax(growth):.3g} 1/s" in ending.stderr
    assert ending.stderr.count("grows") == 1


def test_a_rate_without_a_steady_motion_is_a_gap(mbsim: Command, folder: Path) -> None:
    """k q = m W^2 (q + e) has no solution at W^2 = k/m; the start is the solution at 15 rad/s, which is unstable."""
    (folder / "hub.yaml").write_text(HUB.replace("OFFSET", "0.1").replace("stiffness: 100", "stiffness: 100, q: -0.18"))
    words = ("modes", "hub.yaml", "--steady", "spin=0:15:4", "--campbell")
    ending = mbsim(*words, "c.csv", "--campbell", "c.svg")
    assert (ending.code, ending.stdout) == (0, "c.csv: 2 modes at 4 rates\nc.svg: 2 modes at 4 rates\n")
    assert "no modes at spin = 10 rad/s: " in ending.stderr
    assert ending.stderr.count("no modes at") == 1
    _, (_, radial, growth, vertical, _) = read_csv(folder / "c.csv")
    W = np.array([0.0, 5.0, 15.0])
    r = 0.1 * 100 / (100 - W**2)
    squares = 100 - W**2 + 4 * r**2 * W**2 / (3 + r**2)  # with the momentum of the free hub
    np.testing.assert_allclose(radial[:2], np.sqrt(squares[:2]) / (2 * np.pi), rtol=1e-9)
    assert np.isnan([radial[2], growth[2], vertical[2], radial[3]]).all()
    assert growth[3] == pytest.approx(np.sqrt(-squares[2]), rel=1e-9)
    ending = mbsim("modes", "hub.yaml", "--steady", "spin=10:15:2", "--campbell", "first.csv")
    assert (ending.code, ending.stdout) == (0, "first.csv: 2 modes at 2 rates\n")
    assert np.isnan(read_csv(folder / "first.csv")[1][1:, 0]).all()
    (folder / "fall.yaml").write_text(HUB.replace("gravity: [0, 0, 0]", "").replace(", stiffness: 400", ""))
    ending = mbsim(
        "modes", "fall.yaml", "--steady", "spin=0:9:3", "--campbell", "d.csv", "--set", "bodies.a.com=[0,0,0]"
    )
    assert (ending.code, "no modes at any rate: at spin = 0 rad/s: " in ending.stderr) == (1, True), ending.stderr
    assert not (folder / "d.csv").exists()


def test_internal_damping_lets_a_whirl_grow_beyond_its_critical_rate(mbsim: Command, folder: Path) -> None:
    """In axes that turn, z = x + i y obeys z'' + (c + 2 i W) z' + (k - W^2) z = 0; a whirl turns over at W^2 = k."""
    (folder / "shaft.yaml").write_text("""mbsim: 1
gravity: [0, 0, 0]
bodies:
  hub: {mass: 1, inertia: {principal: [1, 1, 1]}}
  guide: {mass: 0, inertia: {principal: [0, 0, 0]}}
  disc: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  spin: {type: revolute, axis: [0, 0, 1], child: hub}
  x: {type: prismatic, axis: [1, 0, 0], parent: hub, child: guide, stiffness: 100, damping: 2}
  y: {type: prismatic, axis: [0, 1, 0], parent: guide, child: disc, stiffness: 100, damping: 2}
simulation: {duration: 1 s, step: 1 ms}
""")
    ending = mbsim("modes", "shaft.yaml", "--steady", "spin=0:20:9", "--campbell", "c.csv", "--campbell", "c.svg")
    assert (ending.code, ending.stdout.split(": ")[1]) == (0, "2 modes at 9 rates\nc.svg")
    assert "mode 1 grows at spin = 12.5 to 20 rad/s" in ending.stderr
    _, (rates, *columns) = read_csv(folder / "c.csv")
    at = ~np.isin(rates, [10.0])  # an exponent of 0
    b = 2 + 2j * rates
    root = np.sqrt(b**2 - 4 * (100 - rates**2))
    root *= np.sign(root.imag)
    for (frequency, growth), s in zip((columns[:2], columns[2:]), ((-b + root) / 2, (-b - root) / 2), strict=True):
        np.testing.assert_allclose(frequency[at], np.abs(s.imag[at]) / (2 * np.pi), rtol=1e-9)
        np.testing.assert_allclose(growth[at], s.real[at], rtol=1e-8, atol=1e-8)


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
        (["--bode", "a.txt"], "a.txt: expected a name that ends in .csv, .png, .svg or .pdf"),
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
