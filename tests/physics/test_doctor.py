"""Figures and advice of an examination, compared with closed forms and with runs."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loops import start

import mbsim
from multibody_cli.methods.method import Method
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.doctor import subject
from multibody_cli.studies.doctor.diagnosis import Diagnosis, diagnose
from multibody_cli.studies.doctor.steps import written
from multibody_cli.studies.doctor.subject import Severity
from multibody_cli.studies.simulation import prepare

G = 9.81
EULER = "semi_implicit_euler"
POINT = {"mass": 1.0, "inertia": {"principal": [1e-3, 1e-3, 1e-3]}}

ENGINE = """
mbsim: 1
name: engine
vars: {r: 40 mm, l: 140 mm, a: 30 deg}
gravity: [0, -9.81, 0]
bodies:
  crank: {shapes: [{type: cylinder, radius: 90 mm, length: 20 mm, density: 7850}]}
  rod: {mass: 0.4 kg, shapes: [{type: box, size: ["${l}", 15 mm, 10 mm], position: ["${l/2}", 0, 0]}]}
  piston: {mass: 0.6 kg, shapes: [{type: box, size: [50 mm, 50 mm, 50 mm]}]}
joints:
  bearing: {type: revolute, child: crank, q: "${a}", force: "20*(1 - exp(-t/0.1))", damping: 0.05}
  bigend: {type: revolute, parent: crank, child: rod, origin: {position: ["${r}", 0, 0]}, q: "${-a - asin(r/l*sin(a))}"}
  bore: {type: prismatic, child: piston, axis: [1, 0, 0], q: "${r*cos(a)+sqrt(l**2-(r*sin(a))**2)}"}
  wristpin: {type: revolute, parent: piston, child: rod, child_origin: {position: ["${l}", 0, 0]}}
springs:
  return: {between: [{body: world, point: [0.3, 0, 0]}, {body: piston}], stiffness: 2 kN/m, rest_length: 120 mm}
simulation: {duration: 0.3 s, integrator: rk4}
"""


@pytest.fixture
def examine(tmp_path: Path):
    """Examine a scene that is written as data."""

    def examined(scene: dict[str, Any], **simulation: Any) -> Diagnosis:
        settings = {"duration": 0.1, "step": 1e-3, "integrator": "rk4", **simulation}
        path = tmp_path / "scene.yaml"
        path.write_text(json.dumps({"mbsim": 1, **scene, "simulation": settings}), encoding="utf-8")
        return diagnose(path)

    return examined


def causes(diagnosis: Diagnosis, check: str) -> list[str]:
    return [finding.cause for finding in diagnosis.findings if finding.check == check]


def rod(angle: float, **joint: Any) -> dict[str, Any]:
    """A rod of 1 m and 2 kg, hinged at its end; it hangs at the angle 0."""
    body = {"mass": 2.0, "com": [0, 0, -0.5], "inertia": {"principal": [1 / 6, 1 / 6, 0.01]}}
    hinge = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": angle, **joint}
    return {"bodies": {"rod": body}, "joints": {"hinge": hinge}}


# --- small motions --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_frequency_and_damping_of_a_compound_pendulum(examine, method):
    """w^2 = m g l / I and the ratio d / (2 sqrt(m g l I)), in any coordinates."""
    found = examine(rod(0.0, damping=0.3), method=method).motions
    inertia, stiffness = 2.0 / 3.0, 2.0 * G * 0.5
    [mode] = found.modes
    assert found.equilibrium
    assert mode.kind == "oscillates"
    assert mode.frequency == pytest.approx(math.sqrt(stiffness / inertia) / (2.0 * math.pi), rel=1e-8)
    assert mode.damping_ratio == pytest.approx(0.3 / (2.0 * math.sqrt(stiffness * inertia)), rel=1e-8)
    assert mode.shares == {"rod": 1.0}


def test_an_upright_pendulum_grows_and_is_advised_of(examine):
    diagnosis = examine(rod(math.pi))
    rate = math.sqrt(2.0 * G * 0.5 / (2.0 / 3.0))
    assert {mode.kind for mode in diagnosis.motions.modes} == {"grows", "decays"}
    assert [mode.time for mode in diagnosis.motions.modes] == pytest.approx([1.0 / rate] * 2, rel=1e-8)
    [cause] = causes(diagnosis, "stability")
    assert f"{15.0 * math.log(10.0) / rate:.3g} s" in cause
    assert not causes(examine(rod(0.0)), "stability")
    assert not causes(examine(rod(3.0)), "stability")


def chain(k: float = 100.0) -> dict[str, Any]:
    """Two equal masses on a line: world, spring, mass, spring, mass."""
    slider = {"type": "prismatic", "axis": [1, 0, 0]}
    joints = {"first": {**slider, "child": "a", "stiffness": k}}
    joints["second"] = {**slider, "parent": "a", "child": "b", "stiffness": k}
    return {"gravity": [0, 0, 0], "bodies": {"a": POINT, "b": POINT}, "joints": joints}


def test_frequencies_and_shapes_of_two_masses_on_springs(examine):
    """w^2 = k/m (3 -+ sqrt 5)/2; the second mass moves by the golden ratio times the first, and the reverse."""
    modes = examine(chain()).motions.modes
    wanted = [math.sqrt(100.0 * (3.0 + sign * math.sqrt(5.0)) / 2.0) / (2.0 * math.pi) for sign in (-1.0, 1.0)]
    assert [mode.frequency for mode in modes] == pytest.approx(wanted, rel=1e-8)
    golden = (1.0 + math.sqrt(5.0)) / 2.0
    share = golden**2 / (1.0 + golden**2)
    assert modes[0].shares == pytest.approx({"b": share, "a": 1.0 - share}, rel=1e-6)
    assert modes[1].shares == pytest.approx({"a": share, "b": 1.0 - share}, rel=1e-6)


def fourbar(angle: float = 0.0) -> dict[str, Any]:
    """A coupler of 3 kg on two parallel rods of 1 m and 2 kg, hinged to the world."""
    arm = rod(angle)["bodies"]["rod"]
    bar = {"mass": 3.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    below = {"position": [0, 0, -1]}
    joints = {
        "a": {**hinge, "child": "left", "q": angle},
        "b": {**hinge, "child": "right", "origin": {"position": [1, 0, 0]}, "q": angle},
        "c": {**hinge, "parent": "left", "child": "coupler", "origin": below, "q": -angle},
        "d": {**hinge, "parent": "right", "child": "coupler", "origin": below, "child_origin": {"position": [1, 0, 0]}},
    }
    return {"bodies": {"left": arm, "right": arm, "coupler": bar}, "joints": joints}


def test_a_parallelogram_has_one_dof_and_swings_like_a_pendulum(examine):
    """Gruebler: 18 - 20, and 3 redundant; w^2 = (m + M) g l / (2 m l^2 / 3 + M l^2), as the coupler translates."""
    diagnosis = examine(fourbar())
    count = diagnosis.count
    assert (count.total, count.of_bodies, count.of_joints, count.redundant) == (1, 18, 20, 3)
    assert diagnosis.n_dofs == 1
    [mode] = diagnosis.motions.modes
    wanted = math.sqrt((2.0 + 3.0) * G / (2.0 * 2.0 / 3.0 + 3.0)) / (2.0 * math.pi)
    assert mode.frequency == pytest.approx(wanted, rel=1e-8)
    turning = 2.0 / 3.0 / (2.0 * 2.0 / 3.0 + 3.0)
    assert mode.shares == pytest.approx({"coupler": 1.0 - 2.0 * turning, "left": turning, "right": turning}, rel=1e-6)


def test_prescribed_coordinates_and_couplings_are_counted(examine):
    scene = chain()
    scene["joints"]["first"] = {"type": "prismatic", "child": "a", "motion": {"position": 0.0}}
    count = examine(scene).count
    assert (count.total, count.of_bodies, count.of_joints, count.prescribed) == (1, 12, 10, 1)
    equal = {"type": "equal", "joints": ["first", "second"]}
    count = examine(chain() | {"couplings": {"equal": equal}}).count
    assert (count.total, count.of_constraints) == (1, 1)


# --- redundant constraints ------------------------------------------------------------------------------------------
def test_the_advice_for_a_planar_engine_removes_its_redundant_rows_and_keeps_its_motion(tmp_path):
    path = tmp_path / "engine.yaml"
    path.write_text(ENGINE)
    diagnosis = diagnose(path)
    assert (diagnosis.count.total, diagnosis.count.redundant) == (1, 3)
    [finding] = [one for one in diagnosis.findings if one.check == "redundant constraints"]
    assert finding.path == "joints.wristpin"
    assert "3 of its 5 constraint rows" in finding.cause
    assert "`kind: planar`" in finding.advice
    changed = diagnose(path, finding.settings)
    assert (changed.count.total, changed.count.redundant, changed.count.of_bodies) == (1, 0, 9)
    angles = []
    for settings in ((), finding.settings):
        sink = MemorySink(["joints/bearing/q", "joints/bearing/v"])
        prepare(path, settings).run(sink)
        angles.append([sink.trajectory().channel(f"joints/bearing/{word}").values[-1, 0] for word in "qv"])
    assert abs(angles[0][0] - math.radians(30.0)) > 1.0
    np.testing.assert_allclose(angles[1], angles[0], rtol=1e-5)


def test_planar_bodies_are_not_advised_where_the_frames_do_not_suit(examine):
    """The four-bar moves in the xz plane of its body frames."""
    found = [one for one in examine(fourbar(0.3)).findings if one.check == "redundant constraints"]
    assert found
    assert not any(one.settings for one in found)


DOOR = """
mbsim: 1
name: door
bodies:
  door: {mass: 20, com: [0.4, 0, 0.7], inertia: {principal: [5, 6, 1.1]}}
joints:
  low: {type: revolute, child: door, q: 0.3, v: 1}
  high: {type: revolute, child: door, origin: {position: [0, 0, 1.4]}, child_origin: {position: [0, 0, 1.4]}}
simulation: {duration: 0.5, step: 1 ms, integrator: rk4}
"""


def test_the_advice_for_two_hinges_on_one_axis_are_bearings_with_the_loads_of_statics(tmp_path):
    """The lower one carries m g, and both carry m g 0.4 / 1.4 across, with m w^2 0.4 / 2 towards the axis."""
    path = tmp_path / "door.yaml"
    path.write_text(DOOR)
    with pytest.warns(mbsim.SceneWarning, match="only the sum is certain"):
        mbsim.load(path)
    [finding] = [one for one in diagnose(path).findings if one.check == "redundant constraints"]
    assert finding.path == "joints.high"
    assert "make `low` a `spherical` joint" in finding.advice
    changed = diagnose(path, finding.settings)
    assert (changed.count.total, changed.count.redundant) == (1, 0)
    run = mbsim.Simulation(mbsim.load(path, list(finding.settings)))
    run.advance(0.5)
    low, high = (run.channel(f"joints/{name}/force")[3:] for name in ("low", "high"))
    couple, pull = 20 * 9.81 * 0.4 / 1.4, 20 * 0.4 / 2.0
    assert (low[2], high[2]) == pytest.approx((20 * 9.81, 0.0), abs=1e-9)
    assert np.linalg.norm(low[:2]) == pytest.approx(couple - pull, abs=1e-9)
    assert np.linalg.norm(high[:2]) == pytest.approx(couple + pull, abs=1e-9)
    assert run.channel("bodies/door/angular_velocity")[2] == pytest.approx(1.0, abs=1e-12)


# --- steps ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["rk4", "semi_implicit_euler"])
def test_the_longest_stable_step_divides_runs_that_blow_up_from_runs_that_do_not(examine, name):
    scene = chain(1e6)
    scene["joints"]["first"]["q"] = 1e-3
    longest = examine(scene, step=1e-5, duration=1e-3).steps[name]
    fastest = math.sqrt(1e6 * (3.0 + math.sqrt(5.0)) / 2.0)
    assert longest == pytest.approx({"rk4": 2.0 * math.sqrt(2.0), "semi_implicit_euler": 2.0}[name] / fastest, rel=1e-6)
    for factor in (0.98, 1.02):
        h = factor * longest
        run = start(scene, integrator=name, step=h, duration=1000 * h)
        for k in range(1, 400):
            if run.method.advance(run.state, k * h).status.name != "OK":
                break
        assert (np.abs(run.state.q).max() > 0.05) == (factor > 1)


def test_a_step_beyond_the_limit_comes_first(examine):
    diagnosis = examine(chain(1e6), step=3e-3, duration=0.3)
    assert diagnosis.findings[0].weight is Severity.WRONG
    assert any("stability limit of `rk4`" in cause for cause in causes(diagnosis, "step"))
    assert diagnosis.steps["linearly_implicit_euler"] == math.inf
    assert diagnosis.steps["dop853"] is None


def test_a_long_step_for_the_fastest_oscillation_is_reported(examine):
    period = 2.0 * math.pi / math.sqrt(100.0 * (3.0 + math.sqrt(5.0)) / 2.0)
    assert not causes(examine(chain(), step=period / 20, duration=period), "step")
    [cause] = causes(examine(chain(), step=period / 10, duration=period), "step")
    assert "in 10 steps" in cause


# --- bodies ---------------------------------------------------------------------------------------------------------
def ball(x: float, **fields: Any) -> dict[str, Any]:
    shape = {"type": "sphere", "radius": 0.1}
    return {"mass": 1.0, "shapes": [shape], "position": [x, 0, 0]} | fields


def test_overlapping_bodies_are_reported_with_their_depth(examine):
    [cause] = causes(examine({"bodies": {"a": ball(0.0), "b": ball(0.15), "c": ball(0.5)}}), "overlap")
    assert "`a` and `b` by 0.05 m" in cause
    assert "`c`" not in cause
    assert not causes(examine({"bodies": {"a": ball(0.0), "b": ball(0.25)}}), "overlap")


def test_overlapping_bodies_that_contacts_exclude_are_reported_once(examine):
    scene = {"bodies": {"a": ball(0.0), "b": ball(0.15)}, "contacts": {"overlap": "exclude"}}
    findings = [one for one in examine(scene, integrator=EULER).findings if "never touch" in one.cause]
    assert [(one.check, one.path) for one in findings] == [("overlap", "contacts.overlap")]
    assert "`a` and `b` by 0.05 m" in findings[0].cause


@pytest.mark.parametrize("fields", [{}, {"contact": False}], ids=["without contacts", "contact: false"])
def test_a_mesh_that_is_not_convex_is_examined_by_its_surface(examine, tmp_path, fields):
    """A cube of 2 km with a dent, whose bottom is the centre."""
    corners = [(x, y, z) for x in (-1e3, 1e3) for y in (-1e3, 1e3) for z in (-1e3, 1e3)]
    faces = ["0 1 3", "0 3 2", "4 6 7", "4 7 5", "0 4 5", "0 5 1", "2 3 7", "2 7 6", "0 2 6", "0 6 4"]
    faces += [f"{a} {b} 8" for a, b in ((1, 5), (5, 7), (7, 3), (3, 1))]
    lines = ["OFF", "9 14 0", *(" ".join(map(str, corner)) for corner in [*corners, (0, 0, 0)])]
    (tmp_path / "dent.off").write_text("\n".join([*lines, *(f"3 {face}" for face in faces), ""]))
    shape = {"type": "mesh", "file": "dent.off", "density": 1000, **fields}
    contacts = {"contacts": {}} if fields else {}
    found = causes(examine({"bodies": {"cube": {"shapes": [shape]}}, **contacts}, integrator=EULER), "units")
    assert f"has a radius of {1e3 * math.sqrt(3.0):.4g} m" in found


def test_bodies_that_nothing_holds_are_reported(examine):
    spring = {"between": [{"body": "world"}, {"body": "b"}], "stiffness": 1.0, "rest_length": 0.5}
    scene = {"bodies": {"a": ball(0.0), "b": ball(0.5)}, "springs": {"s": spring}}
    [cause] = causes(examine(scene, duration=2.0, step=0.01), "floating bodies")
    assert "`a`" in cause
    assert "`b`" not in cause
    assert f"{0.5 * G * 4.0:.3g} m" in cause
    assert not causes(examine(scene | {"gravity": [0, 0, 0]}), "floating bodies")


def test_the_words_for_floating_bodies_agree_with_their_number(examine):
    one = causes(examine({"bodies": {"a": ball(0.0)}}), "floating bodies")
    two = causes(examine({"bodies": {"a": ball(0.0), "b": ball(3.0)}}), "floating bodies")
    assert "body `a` falls freely" in one[0]
    assert "holds it" in one[0]
    assert "bodies `a`, `b` fall freely" in two[0]
    assert "holds them" in two[0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.0, "2 s"), (0.1, "0.1 s"), (0.0606, "60.6 ms"), (1e-4, "0.1 ms"), (4e-5, "40 us"), (3e-9, "0.003 us")],
)
def test_times_are_written_with_a_suitable_unit(seconds, text):
    assert written(seconds) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"bodies": {"a": ball(0.0, shapes=[{"type": "sphere", "radius": 10.0}], mass=2e6)}}, "mass of 2e+06 kg"),
        ({"bodies": {"a": ball(0.0, shapes=[{"type": "box", "size": [1000, 1, 1]}], mass=1e4)}}, "radius of 500 m"),
        ({"bodies": {"a": ball(0.0, shapes=[{"type": "sphere", "radius": 1e-3}])}}, "density of 2.387e+08 kg/m^3"),
        ({"gravity": [0, 0, -9810]}, "9810 m/s^2"),
        ({"joints": {"h": {"type": "revolute", "child": "a", "q": 30}}}, "30 rad"),
    ],
)
def test_values_in_wrong_units_are_reported(examine, change, text):
    scene = {"bodies": {"a": ball(0.0)}} | change
    if "joints" in scene:
        del scene["bodies"]["a"]["position"]
    [cause] = causes(examine(scene, duration=1e-3), "units")
    assert text in cause
    assert not causes(examine({"bodies": {"a": ball(0.0)}}), "units")


def test_mass_ratios_and_condition_numbers(examine):
    """Two sliders in series: M = [[m1 + m2, m2], [m2, m2]], scaled to [[1, r], [r, 1]] with r^2 = m2 / (m1 + m2)."""
    scene = chain()
    scene["bodies"] = {"a": POINT | {"mass": 1e-5}, "b": POINT}
    diagnosis = examine(scene, duration=1e-3)
    assert diagnosis.mass_ratio == (pytest.approx(1e5), "b", "a")
    assert "1e+05 times lighter than `b`" in causes(diagnosis, "mass ratios")[0]
    r = math.sqrt(1.0 / (1.0 + 1e-5))
    assert diagnosis.conditioning.mass_matrix == pytest.approx((1.0 + r) / (1.0 - r), rel=1e-6)


# --- expectations ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("entry", "weak"),
    [
        ({"channel": "joints/hinge/v", "max": 1e9}, True),
        ({"channel": "joints/hinge/v", "max": 3.9}, False),
        ({"channel": "joints/hinge/v", "min": -1e9}, True),
        ({"channel": "joints/hinge/q", "at": "final", "value": 0.0, "atol": 5.0}, True),
        ({"channel": "bodies/rod/position", "at": "final", "value": [0, 0, 0], "atol": 1e-9}, False),
        ({"energy_drift": {"max": 100.0}}, True),
        ({"energy_drift": {"max": 1e-6}}, False),
        ({"constraint_error": {"max": 1.0}}, True),
        ({"constraint_error": {"max": 1e-9}}, False),
    ],
)
def test_expectations_that_test_nothing(examine, entry, weak):
    """A rod of 1 m that falls from the horizontal: at most sqrt(3 g / l) = 5.4 rad/s and m g l / 2 = 9.8 J."""
    diagnosis = examine(rod(-1.5) | {"expect": [entry]}, duration=0.4)
    found = [one for one in diagnosis.findings if one.check == "expectations"]
    assert [one.path for one in found] == (["expect[0]"] if weak else [])


# --- the trial run --------------------------------------------------------------------------------------------------
def test_the_time_of_the_trial_run_begins_after_the_compilation(examine, monkeypatch):
    """A method that starts late, as one does whose kernels are compiled."""
    start = Method.start

    def start_late(*arguments):
        time.sleep(0.6)
        return start(*arguments)

    monkeypatch.setattr(Method, "start", start_late)
    monkeypatch.setattr(subject, "MAX_SECONDS", 0.5)
    assert not causes(examine(rod(0.5)), "trial run")


def test_a_start_without_finite_accelerations_has_no_modes(examine):
    diagnosis = examine(rod(0.0, force="1/q"), duration=1e-2)
    assert diagnosis.motions is None
    assert any("no finite value" in cause for cause in causes(diagnosis, "trial run"))


def test_a_fast_rotation_and_an_energy_error_are_reported(examine):
    fast = rod(0.0, v=100.0)
    diagnosis = examine(fast, integrator="semi_implicit_euler", step=5e-3)
    assert any("turns by up to 0.5 rad in a step" in cause for cause in causes(diagnosis, "trial run"))
    assert not causes(examine(fast, step=1e-3), "trial run")


# --- elimination --------------------------------------------------------------------------------------------------
def net(parents: list[int], ties: list[tuple[int, int]]) -> dict[str, Any]:
    """Bodies 1, 2, ... on balls in a tree, with ties between pairs of them, each of one row."""
    names = ["world", *(f"b{k}" for k in range(1, len(parents) + 1))]
    offsets = [np.array([math.cos(k), math.sin(2 * k), 1.0 + math.sin(k)]) for k in range(len(names))]
    places = [np.zeros(3)]
    for k, parent in enumerate(parents, 1):
        places.append(places[parent] + offsets[k])
    return {
        "bodies": {name: POINT for name in names[1:]},
        "joints": {
            f"j{k}": {
                "type": "spherical",
                "parent": names[parent],
                "child": names[k],
                "origin": {"position": offsets[k].tolist()},
            }
            for k, parent in enumerate(parents, 1)
        },
        "constraints": {
            f"tie{n}": {
                "type": "distance",
                "between": [{"body": names[a]}, {"body": names[b]}],
                "length": float(np.linalg.norm(places[a] - places[b])),
            }
            for n, (a, b) in enumerate(ties)
        },
    }


def ancestors(parents: list[int], k: int) -> set[int]:
    """The joints between a body and the ground, named by their children."""
    return {k} | ancestors(parents, parents[k - 1]) if k else set()


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_coupled_where_their_paths_share_a_joint(seed: int, examine: Any) -> None:
    """On random trees, beside couplings by fill-in."""
    generator = np.random.default_rng(seed)
    parents = [int(generator.integers(max(0, k - 3), k)) for k in range(1, 10)]
    pairs = [tuple(sorted(generator.choice(9, 2, replace=False) + 1)) for _ in range(6)]
    ties = [(int(a), int(b)) for a, b in dict.fromkeys(pairs)]
    found = examine(net(parents, ties), duration=1e-3).elimination
    paths = [ancestors(parents, a) ^ ancestors(parents, b) for a, b in ties]
    sharing = sum(bool(paths[m] & paths[n]) for n in range(len(ties)) for m in range(n))
    assert (found.rows, found.blocks) == (len(ties), len(ties))
    assert found.open_rows == max(sum(k in path for path in paths) for k in range(1, 10))
    assert found.couplings - found.fill_in == sharing
    assert found.couplings <= len(ties) * (len(ties) - 1) // 2


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ([], (0, 0, 0, 0, 0)),
        ([(3, 4)], (1, 1, 1, 0, 0)),
        ([(3, 4), (5, 6)], (2, 2, 1, 0, 0)),
        ([(3, 4), (3, 5), (4, 6)], (3, 3, 2, 3, 1)),  # the first couples the two others
    ],
)
def test_fill_in_of_four_arms(ties: list[tuple[int, int]], expected: tuple[int, ...], examine: Any) -> None:
    """Arms 3 to 6 are on one body; the paths of two ties share the joint of an arm that both have."""
    found = examine(net([0, 1, 2, 2, 2, 2], ties), duration=1e-3).elimination
    assert (found.rows, found.blocks, found.open_rows, found.couplings, found.fill_in) == expected
