"""Joints of SDF: loops, relations of joints, axes with equal limits, and links without gravity."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sdf_files import axis, joint, link, model, read, write

import mbsim
from multibody_cli.foreign.ledger import ImportReport

Z = axis("0 0 1")
GRAVITY = {"gravity": [0.0, -9.81, 0.0]}

SQUARE = [(0, 0), (0, 1), (1, 1), (1, 0)]
OBLIQUE = [(0.1, -0.2), (0.3, 0.5), (1.1, 0.9), (1.4, 0.1)]
"""Hinges of four-bars; the first and the last are on the ground."""

RODS = {"crank": (0, 1), "coupler": (1, 2), "rocker": (2, 3)}


def rod_pose(hinges: list[tuple[float, float]], name: str) -> tuple[list[float], float, float]:
    """Center, angle and length of a rod."""
    start, end = (np.array(hinges[k], dtype=float) for k in RODS[name])
    along = end - start
    return ((start + end) / 2).tolist(), float(np.arctan2(along[1], along[0])), float(np.linalg.norm(along))


def four_bar_file(folder: Path, hinges: list[tuple[float, float]]) -> Path:
    """Rods of 1 kg/m, with frames at their centers; joint poses are those in the children."""
    links, joints = [], []
    for name in RODS:
        (x, y), angle, length = rod_pose(hinges, name)
        J = length**3 / 12
        inertia = f"<ixx>1e-4</ixx><iyy>{J!r}</iyy><izz>{J!r}</izz>"
        inertial = f"<inertial><mass>{length!r}</mass><inertia>{inertia}</inertia></inertial>"
        links.append(f'<link name="{name}"><pose>{x!r} {y!r} 0 0 0 {angle!r}</pose>{inertial}</link>')
    chain = ["world", *RODS, "world"]
    for k, (parent, child) in enumerate(pairwise(chain[:4])):
        half = rod_pose(hinges, child)[2] / 2
        joints.append(joint(f"j{k}", "revolute", parent, child, Z, pose=f"{-half!r} 0 0 0 0 0"))
    half = rod_pose(hinges, "rocker")[2] / 2
    joints.append(joint("j3", "revolute", "world", "rocker", Z, pose=f"{half!r} 0 0 0 0 0"))
    return write(folder, model(*links, *joints, name="four_bar"))


def four_bar_scene(folder: Path, hinges: list[tuple[float, float]]) -> Path:
    """The same four-bar in our words, where another joint closes the loop."""
    bodies, joints = [], []
    for name in RODS:
        length = rod_pose(hinges, name)[2]
        J = length**3 / 12
        bodies.append(f"  {name}: {{mass: {length!r}, inertia: {{principal: [1e-4, {J!r}, {J!r}]}}}}")
    angles = {name: rod_pose(hinges, name)[1] for name in RODS}
    half = {name: rod_pose(hinges, name)[2] / 2 for name in RODS}

    def hinge(name: str, parent: str, child: str, place: tuple[float, float], end: float, q: float) -> str:
        on = f"parent: {parent}, " if parent != "world" else ""
        origin = f"origin: {{position: [{place[0]!r}, {place[1]!r}, 0]}}"
        return (
            f"  {name}: {{type: revolute, {on}child: {child}, {origin}, "
            f"child_origin: {{position: [{end!r}, 0, 0]}}, q: {q!r} rad}}"
        )

    joints.append(hinge("j0", "world", "crank", hinges[0], -half["crank"], angles["crank"]))
    joints.append(hinge("j3", "world", "rocker", hinges[3], half["rocker"], angles["rocker"]))
    turn = angles["coupler"] - angles["rocker"]
    joints.append(hinge("j2", "rocker", "coupler", (-half["rocker"], 0.0), half["coupler"], turn))
    turn = angles["coupler"] - angles["crank"]
    joints.append(hinge("j1", "crank", "coupler", (half["crank"], 0.0), -half["coupler"], turn))
    path = folder / "four_bar.yaml"
    settings = "gravity: [0, -9.81, 0]\nsimulation: {duration: 0.1, step: 1 ms, integrator: rk4}"
    path.write_text("\n".join(["mbsim: 1", "bodies:", *bodies, "joints:", *joints, settings]))
    return path


@pytest.mark.filterwarnings("ignore:.*(contacts are disabled|imported|impulsive|constraint rows)")
@pytest.mark.parametrize("hinges", [SQUARE, OBLIQUE], ids=["square", "oblique"])
def test_a_loop_has_the_accelerations_of_our_own_scene(hinges: list[tuple[float, float]], tmp_path: Path) -> None:
    settings = {"simulation.step": 0.001, "simulation.integrator": "rk4", "joints.j0.v": 0.7}
    files = (four_bar_file(tmp_path, hinges), four_bar_scene(tmp_path, hinges))
    simulations = [mbsim.Simulation(mbsim.load(file, settings | GRAVITY)) for file in files]
    for _ in range(3):
        for name in RODS:
            for channel in ("position", "linear_velocity", "angular_velocity"):
                found, expected = (one.channel(f"bodies/{name}/{channel}") for one in simulations)
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        for name, sign in (("j0", 1.0), ("j2", -1.0)):  # j2 goes from the coupler to the rocker, and back in our scene
            found, expected = (float(one.a[name][0]) for one in simulations)
            assert found == pytest.approx(sign * expected, rel=1e-9, abs=1e-9)
        for simulation in simulations:
            simulation.step(50)
    assert abs(simulations[0].a["j0"][0]) > 0.1


@pytest.mark.filterwarnings("ignore:.*(contacts are disabled|imported)")
def test_a_mimic_of_each_form(tmp_path: Path) -> None:
    """The coordinates, and one degree of freedom with the mass of all: that of an equal scene is M = G^T M G."""
    mimic = '<mimic joint="lead"><multiplier>2</multiplier><offset>0.3</offset><reference>0.1</reference></mimic>'
    of_axis2 = '<mimic joint="knee" axis="axis2"><multiplier>-1</multiplier><offset>0</offset></mimic>'
    path = write(
        tmp_path,
        model(
            *(link(name, f"{k} 0 0 0 0 0") for k, name in enumerate("abcd")),
            joint("lead", "revolute", "world", "a", axis("0 1 0", "<limit><lower>-1</lower><upper>1</upper></limit>")),
            joint("follow", "prismatic", "a", "b", axis("0 0 1", mimic)),
            joint("knee", "universal", "b", "c", axis("1 0 0"), axis("0 1 0")),
            joint("toe", "revolute", "c", "d", axis("0 1 0", of_axis2)),
        ),
        version="1.11",
    )
    scene = mbsim.load(path, {"joints.lead.q": 0.4, "joints.lead.v": 0.5, "joints.knee.q": [0.2, 0.6]})
    simulation = mbsim.Simulation(scene)
    assert simulation.q["follow"] == pytest.approx(2 * (0.4 - 0.1) + 0.3, abs=1e-12)
    assert simulation.v["follow"] == pytest.approx(2 * 0.5, abs=1e-12)
    assert simulation.q["toe"] == pytest.approx(-0.6, abs=1e-12)
    assert not [entry for entry in ImportReport(read(path).ledger).losses if "mimic" in entry.item]


def test_a_mimic_of_drake(tmp_path: Path) -> None:
    mimic = '<drake:mimic joint="lead" multiplier="-0.5" offset="0.2"/>'
    ends = [joint("lead", "revolute", "world", "a", Z), joint("follow", "revolute", "a", "b", Z, inside=mimic)]
    draft = read(write(tmp_path, model(link("a"), link("b"), *ends)))
    assert draft.elements["couplings"]["follow"].value == {
        "type": "linear",
        "reduce": True,
        "terms": {"follow": 1.0, "lead": 0.5},
        "value": 0.2,
    }


GEARBOX = "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"


@pytest.mark.filterwarnings("ignore:.*(contacts are disabled|imported)")
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("turned", ["", "0 0 0 0 3.141592653589793 0"])
def test_a_gearbox_couples_two_hinges(is_reversed: bool, turned: str, tmp_path: Path) -> None:
    """Angles about the axes of the gearbox: of the output, -3 times that of the input, for any axes of the hinges."""
    input_ends = ("input", "base") if is_reversed else ("base", "input")
    path = write(
        tmp_path,
        model(
            link("base") if is_reversed else "",
            "" if is_reversed else link("base"),
            link("input", "1 0 0 0 0 0"),
            link("output", "0 1 0 0 0 0"),
            joint("hold", "fixed", "world", "input" if is_reversed else "base"),
            joint("in", "revolute", *input_ends, axis("0 0 1"), pose=turned),
            joint("out", "revolute", "base", "output", axis("0 0 -2")),
            joint("box", "gearbox", "input", "output", Z, Z, inside=GEARBOX),
        ),
    )
    simulation = mbsim.Simulation(mbsim.load(path, {"joints.in.v": 1.0}))
    simulation.step(20)
    rate_in = float(simulation.v["in"][0]) * (-1.0 if is_reversed else 1.0) * (-1.0 if turned else 1.0)
    assert abs(rate_in) > 0.1
    assert -float(simulation.v["out"][0]) == pytest.approx(-3.0 * rate_in, rel=1e-9)


def test_a_gearbox_without_hinges_is_dropped(tmp_path: Path) -> None:
    parts = [link("base"), link("input"), link("output"), joint("in", "revolute", "base", "input", axis("1 0 0"))]
    box = joint("box", "gearbox", "input", "output", Z, Z, inside=GEARBOX)
    [loss] = ImportReport(read(write(tmp_path, model(*parts, box))).ledger).losses
    assert loss.reason == "no hinge along its <axis> connects `input` to `base`"


LOCKED = "<limit><lower>{0}</lower><upper>{0}</upper></limit>"


@pytest.mark.parametrize(
    ("kind", "inside", "place"),
    [
        ("revolute", "", [0.5, 0, 0]),
        ("prismatic", "", [0.5, 0, 0.4]),
        ("screw", "<screw_thread_pitch>2</screw_thread_pitch>", [0.5, 0, 0.4 / np.pi]),
    ],
)
def test_an_axis_with_equal_limits_does_not_move(kind: str, inside: str, place: list[float], tmp_path: Path) -> None:
    for value in (0.0, 0.4):
        hinge = joint("j", kind, "a", "b", axis("0 0 1", LOCKED.format(value)), pose="-0.5 0 0 0 0 0", inside=inside)
        draft = read(write(tmp_path, model(link("a"), link("b", "1 0 0 0 0 0"), hinge)))
        found = draft.joints["j"]
        assert found.type == "fixed"
        turn = 0.0 if kind == "prismatic" else value
        shift = np.array(place) * [1, 1, value / 0.4]
        at = found.pose.at(found.child_pose.inverse)
        expected = shift + np.array([0.5 * np.cos(turn), 0.5 * np.sin(turn), 0.0])
        np.testing.assert_allclose(at.position, expected, atol=1e-15)
        assert any("does not move along its axis" in note for _, note in draft.ledger.notes)


@pytest.mark.filterwarnings("ignore:.*(contacts are disabled|imported)")
@pytest.mark.parametrize("which", [0, 1])
def test_one_axis_of_two_may_be_locked(which: int, tmp_path: Path) -> None:
    """The body is where two free axes would take it, with the locked one at its limit."""
    limits = ["", ""]
    limits[which] = LOCKED.format(0.4)
    for name, inside in (("locked", limits), ("free", ["", ""])):
        wrist = joint("j", "universal", "world", "a", axis("1 0 0", inside[0]), axis("0.6 0.8 0", inside[1]))
        write(tmp_path / name, model(link("a", "1 2 3 0.1 0 0"), wrist))
    values = [0.7, 0.7]
    values[which] = 0.4
    locked = mbsim.Simulation(mbsim.load(tmp_path / "locked/model.sdf", {"joints.j.q": 0.7}))
    free = mbsim.Simulation(mbsim.load(tmp_path / "free/model.sdf", {"joints.j.q": values}))
    for channel in ("position", "quaternion"):
        found, expected = (one.channel(f"bodies/a/{channel}") for one in (locked, free))
        np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.filterwarnings("ignore:.*(contacts are disabled|imported)")
def test_a_link_without_gravity_does_not_fall(tmp_path: Path) -> None:
    """A rod with an eccentric center of mass neither falls nor turns."""
    for gravity in ("", "<gravity>1 -2 -3</gravity>"):
        flagged = [link("a", inside="<gravity>0</gravity>"), link("b", "0 0 5 0 0 0")]
        lone = model(*flagged) if not gravity else f'<world name="w">{gravity}{model(*flagged)}</world>'
        simulation = mbsim.Simulation(mbsim.load(write(tmp_path, lone)))
        simulation.step(100)
        held, falling = ("m::a", "m::b") if gravity else ("a", "b")
        for channel in ("linear_velocity", "angular_velocity"):
            assert abs(simulation.channel(f"bodies/{held}/{channel}")).max() < 1e-12
        velocity = np.array([1, -2, -3] if gravity else [0, 0, -9.81]) * simulation.time
        np.testing.assert_allclose(simulation.channel(f"bodies/{falling}/linear_velocity"), velocity, atol=1e-9)
