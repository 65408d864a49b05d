"""Muscles: moment arms, activation that follows an excitation, and warnings of a run."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loops import THREE, Data, Run, loaded, start
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from variational_runs import METHODS as VARIATIONAL
from variational_runs import delivered, stepped

from multibody_cli import MemorySink, prepare
from multibody_cli.errors import SceneError
from multibody_cli.forces.muscle import MuscleSpec
from multibody_cli.packing.excitation import follow_excitation

Pose = tuple[np.ndarray, Rotation]

every_method = pytest.mark.parametrize("method", [*THREE, *VARIATIONAL])


def started(scene: Data, method: str) -> Run:
    if method in VARIATIONAL:
        return stepped(scene, method, 0.002)
    return start(scene, method, "dop853", tolerance=1e-11)


@every_method
def test_the_first_acceleration_is_the_published_one(method: str) -> None:
    run = started(delivered("muscle_pendulum"), method)
    assert run.joint("hinge", "acceleration") == pytest.approx([-85.52217102103235], rel=1e-11)


# --- moment arms ----------------------------------------------------------------------------------------------------
BODY = {"mass": 1.5, "com": [0.05, -0.1, 0.1], "inertia": {"principal": [0.1, 0.15, 0.2]}}
PLACES: dict[str, dict[str, tuple[list[float], list[float]]]] = {
    "shoulder": {"origin": ([0.1, 0.0, 0.2], [0.3, -0.2, 0.5]), "child_origin": ([0.0, 0.1, 0.3], [0.1, 0.7, 0.0])},
    "elbow": {"origin": ([0.1, 0.0, -0.3], [-0.4, 0.2, 0.1]), "child_origin": ([0.2, 0.1, 0.2], [0.0, 0.3, -0.6])},
    "slider": {"origin": ([-0.1, 0.2, 0.1], [0.2, 0.2, 0.9]), "child_origin": ([0.0, -0.2, 0.1], [0.5, 0.0, 0.1])},
}
"""Position and rotation vector of the two frames of each joint."""

TYPES: dict[str, Data] = {
    "shoulder": {"type": "spherical", "child": "a", "q": {"rotvec": [0.4, -0.5, 0.6]}, "v": [1.0, -2.0, 1.5]},
    "elbow": {"type": "revolute", "parent": "a", "child": "b", "axis": [1, 2, -2], "q": 0.7, "v": -1.0},
    "slider": {"type": "prismatic", "parent": "b", "child": "c", "axis": [2, -1, 2], "q": 0.1, "v": 0.5},
}
PATHS = {
    "long": [("world", [0.3, -0.2, 0.6]), ("a", [0.2, 0.1, 0.1]), ("b", [-0.1, 0.2, 0.3]), ("c", [0.1, 0.3, -0.2])],
    "short": [("a", [0.1, 0.2, -0.1]), ("b", [0.2, -0.1, 0.1])],
}
STRENGTH = {"max_isometric_force": 20.0, "optimal_length": 0.8, "max_velocity": 5.0, "activation": 0.7}
SHOULDER, ELBOW, SLIDER = slice(0, 3), 3, 4


def arm() -> Data:
    """Three bodies on a spherical, a revolute and a prismatic joint, a muscle across all, and one across the second."""
    joints = {
        name: {
            **joint,
            **{side: {"position": x, "rotation": {"rotvec": r}} for side, (x, r) in PLACES[name].items()},
        }
        for name, joint in TYPES.items()
    }
    muscles = {
        name: {**STRENGTH, "path": [{"body": body, "point": point} for body, point in path]}
        for name, path in PATHS.items()
    }
    return {"bodies": {name: BODY for name in "abc"}, "joints": joints, "muscles": muscles}


def after(one: Pose, other: Pose) -> Pose:
    (x, R), (y, Q) = one, other
    return x + R.apply(y), R * Q


def written_lengths(rotation: Rotation, angle: float, way: float) -> np.ndarray:
    """Lengths of the two paths, written out: joint after joint, point after point."""
    unit = {name: np.array(joint["axis"]) / 3.0 for name, joint in TYPES.items() if "axis" in joint}
    moved: dict[str, Pose] = {
        "shoulder": (np.zeros(3), rotation),
        "elbow": (np.zeros(3), Rotation.from_rotvec(angle * unit["elbow"])),
        "slider": (way * unit["slider"], Rotation.identity()),
    }
    pose: Pose = (np.zeros(3), Rotation.identity())
    poses = {"world": pose}
    for name, joint in TYPES.items():
        (x, r), (y, s) = PLACES[name]["origin"], PLACES[name]["child_origin"]
        back = Rotation.from_rotvec(s).inv()
        pose = after(after(after(pose, (np.array(x), Rotation.from_rotvec(r))), moved[name]), (-back.apply(y), back))
        poses[joint["child"]] = pose
    lengths = []
    for path in PATHS.values():
        points = [poses[body][0] + poses[body][1].apply(point) for body, point in path]
        lengths.append(sum(float(np.linalg.norm(b - a)) for a, b in pairwise(points)))
    return np.array(lengths)


def slopes(rotation: Rotation, angle: float, way: float) -> np.ndarray:
    """(dl/dq) of both paths, (2, 5), where the velocities of the spherical joint are those about its child's axes."""
    h = 1e-3
    found = np.zeros((2, 5))
    for k in range(5):
        d = np.zeros(5)
        d[k] = h
        shifted = [
            written_lengths(rotation * Rotation.from_rotvec(s * d[SHOULDER]), angle + s * d[ELBOW], way + s * d[SLIDER])
            for s in (-2, -1, 1, 2)
        ]
        found[:, k] = (shifted[0] - 8 * shifted[1] + 8 * shifted[2] - shifted[3]) / (12 * h)
    return found


@every_method
def test_moment_arms_are_derivatives_of_the_path_length(method: str) -> None:
    """-dl/dq against finite differences of the written length, and the rate of the length from them, along a run."""
    run = started(arm(), method)
    names = run.compiled.model.names
    assert [muscle.coordinates for muscle in names.muscles] == [
        ("shoulder/0", "shoulder/1", "shoulder/2", "elbow", "slider"),
        ("elbow",),
    ]
    arms = []
    for t in (0.0, 0.1, 0.2, 0.3, 0.4):
        if t > 0.0:
            run.advance(t)
        samples = run.observed()
        q = [run.joint(name, "coordinates") for name in TYPES]
        v = np.concatenate([run.joint(name, "velocity") for name in TYPES])
        place = Rotation.from_rotvec(q[0]), float(q[1][0]), float(q[2][0])
        wanted = -slopes(*place)
        np.testing.assert_allclose(samples.muscle_length[0], written_lengths(*place), rtol=0, atol=1e-9)
        np.testing.assert_allclose(samples.moment_arm[0], [*wanted[0], wanted[1, ELBOW]], rtol=0, atol=1e-9)
        np.testing.assert_allclose(samples.muscle_velocity[0], -wanted @ v, rtol=0, atol=1e-8)
        arms.append(samples.moment_arm[0])
    assert np.ptp(arms, axis=0).min() > 0.01  # all of them changed


# --- activation -----------------------------------------------------------------------------------------------------
STEP = {"times": [0, 0.1, 0.100001, 0.3, 0.300001, 1], "values": [0, 0, 1, 1, 0, 0]}
"""An excitation that steps up and down, in a microsecond each."""


def pulled(**drive: Any) -> Data:
    """A slider that a muscle pulls at."""
    muscle = {"path": [{"body": "world"}, {"body": "a"}], "max_isometric_force": 1, "optimal_length": 0.5, **drive}
    slide = {"type": "prismatic", "child": "a", "axis": [1, 0, 0], "q": 0.5}
    return {"bodies": {"a": BODY}, "joints": {"slide": slide}, "muscles": {"m": muscle}}


def followed(rise: float, fall: float, instants: np.ndarray) -> list[float]:
    """The activation from 0.3 on, solved once more from corner to corner: da/dt = (u - a) / tau."""

    def rate(t: float, a: np.ndarray) -> np.ndarray:
        u = np.interp(t, STEP["times"], STEP["values"])
        return (u - a) / np.where(u > a, rise * (0.5 + 1.5 * a), fall / (0.5 + 1.5 * a))

    a, found = np.array([0.3]), []
    for low, high in pairwise([*STEP["times"][:-1], instants[-1]]):
        solved = solve_ivp(rate, (low, high), a, "DOP853", rtol=1e-10, atol=1e-12, dense_output=True)
        found += [float(solved.sol(t)[0]) for t in instants if low < t <= high]
        a = solved.y[:, -1]
    return found


@pytest.mark.parametrize(("rise", "fall"), [(0.01, 0.04), (0.03, 0.02)])
def test_activation_follows_the_excitation(rise: float, fall: float) -> None:
    drive = {"excitation": STEP, "activation_time": rise, "deactivation_time": fall, "initial_activation": 0.3}
    run = start(pulled(**drive), "aba", "rk4", step=0.005, duration=0.5)
    instants = 0.005 * np.arange(1, 101)
    found = [run.advance(t).observed().activation[0, 0] for t in instants]
    np.testing.assert_allclose(found, followed(rise, fall, instants), rtol=0, atol=1e-9)
    assert min(found) < 0.1
    assert max(found) > 0.95


def test_equal_activation_and_excitation_stay_constant() -> None:
    run = start(pulled(excitation=0.37, initial_activation=0.37), "aba", "rk4", step=0.01, duration=0.5)
    for t in (0.1, 0.27, 0.5):
        assert run.advance(t).observed().activation[0, 0] == pytest.approx(0.37, rel=0, abs=1e-15)


def test_activation_of_first_order_is_an_exponential() -> None:
    drive = {"activation_dynamics": "first_order", "activation_time": 0.02, "deactivation_time": 0.05}
    run = start(pulled(excitation=0.8, initial_activation=0.1, **drive), "aba", "rk4", step=0.005, duration=0.1)
    for t in (0.01, 0.05, 0.1):
        wanted = 0.8 - 0.7 * np.exp(-t / 0.02)
        assert run.advance(t).observed().activation[0, 0] == pytest.approx(wanted, rel=0, abs=1e-9)


def test_the_least_activation_is_kept() -> None:
    """The activation falls to it at the rate of the excitation, stays, and rises from it at once; none starts below.

    The excitation rises over 20 ns, of which it exceeds the least activation for 15/16.
    """
    fall, rise = 0.05, 0.02
    excitation = {"times": [0, 0.25, 0.25 + 2e-8, 0.4], "values": [0, 0, 0.8, 0.8], "interpolation": "linear"}
    drive = {"excitation": excitation, "minimum_activation": 0.05, "initial_activation": 0.6}
    times = {"activation_dynamics": "first_order", "activation_time": rise, "deactivation_time": fall}
    run = start(pulled(**drive, **times), "aba", "rk4", step=0.005, duration=0.4)
    reached = fall * np.log(0.6 / 0.05)
    for t in (0.02, 0.1, 0.12, 0.13, 0.2, 0.25, 0.26, 0.3, 0.4):
        wanted = 0.6 * np.exp(-t / fall) if t < reached else 0.05
        wanted = 0.8 - 0.75 * np.exp(-(t - 0.25 - 17 / 32 * 2e-8) / rise) if t > 0.25 else wanted
        assert run.advance(t).observed().activation[0, 0] == pytest.approx(wanted, rel=0, abs=1e-9)
    low = start(pulled(activation=0.0, minimum_activation=0.05), "aba", "rk4", step=0.005)
    assert low.observed().activation[0, 0] == 0.05


def test_activation_of_de_groote_is_smooth_between_rise_and_fall() -> None:
    drive = {"excitation": "0.5 + 0.4*sin(30*t)", "activation_dynamics": "degroote2016", "initial_activation": 0.2}
    run = start(pulled(**drive), "aba", "rk4", step=0.005, duration=0.2)

    def rate(t: float, a: np.ndarray) -> np.ndarray:
        apart, z = 0.5 + 0.4 * np.sin(30 * t) - a, 0.5 + 1.5 * a
        f = 0.5 * np.tanh(0.1 * apart)
        return ((f + 0.5) / (0.01 * z) + z * (0.5 - f) / 0.04) * apart

    solved = solve_ivp(rate, (0.0, 0.2), [0.2], "DOP853", rtol=1e-12, atol=1e-14, dense_output=True).sol
    for t in (0.03, 0.1, 0.2):
        assert run.advance(t).observed().activation[0, 0] == pytest.approx(solved(t)[0], rel=0, abs=1e-9)


# --- pennation --------------------------------------------------------------------------------------------------------
MODELS = ["cubic", "thelen2003", "millard2012", "degroote2016"]


def tension(curves: str, q: float, v: float = 0.0, **special: Any) -> Any:
    """Samples of a muscle of 0.1 m with a tendon of 0.2 m and a strength of 100 N, at a length and a rate."""
    numbers = {"max_isometric_force": 100, "optimal_length": 0.1, "tendon_slack_length": 0.2, "activation": 0.6}
    scene = pulled(**{**numbers, "curves": curves, "pennation_angle": 0.4, **special})
    scene["joints"]["slide"] |= {"q": q, "v": v}
    return start(scene, "aba", "rk4").observed()


@pytest.mark.parametrize("curves", MODELS)
def test_fibers_at_their_optimal_length_have_their_published_angle_and_force(curves: str) -> None:
    found = tension(curves, 0.2 + 0.1 * np.cos(0.4), activation=1.0, fiber_damping=0.0)
    assert found.pennation[0, 0] == pytest.approx(0.4, rel=1e-12)
    assert found.fiber_length[0, 0] == pytest.approx(0.1, rel=1e-12)
    assert found.muscle_force[0, 0] == pytest.approx(100 * np.cos(0.4), rel=0.02)  # De Groote's curves pass near 1


@pytest.mark.parametrize("curves", MODELS)
def test_fibers_keep_their_thickness(curves: str) -> None:
    found = tension(curves, 0.33, v=0.2)
    length, angle = found.fiber_length[0, 0], found.pennation[0, 0]
    assert length * np.sin(angle) == pytest.approx(0.1 * np.sin(0.4), rel=1e-12)
    assert length * np.cos(angle) == pytest.approx(0.13, rel=1e-12)
    assert found.fiber_velocity[0, 0] == pytest.approx(0.2 * np.cos(angle), rel=1e-12)


@pytest.mark.parametrize("curves", MODELS)
def test_a_path_shorter_than_its_tendon_is_slack(curves: str) -> None:
    for q in (0.2, 0.15):
        found = tension(curves, q, v=-1.0)
        assert found.muscle_force[0, 0] == 0.0
        assert found.pennation[0, 0] == pytest.approx(np.pi / 2, rel=1e-12)
    near = tension(curves, 0.2 + 1e-9)
    assert 0.0 <= near.muscle_force[0, 0] < 1e-4


def test_fibers_have_no_negative_force() -> None:
    """At the largest velocity of shortening the damping would: 0.1 of 100 N."""
    fast = tension("millard2012", 0.28, v=-2.0, activation=0.0)
    assert fast.muscle_force[0, 0] == 0.0
    slow = tension("millard2012", 0.28, v=-0.5, activation=0.5, pennation_angle=0.0)
    assert 0.0 < slow.muscle_force[0, 0] < 20.0


# --- warnings -------------------------------------------------------------------------------------------------------
WARNINGS = {
    "ring": "two neighboring points of its path coincided: the line between them has no direction there; move a "
    "point, or remove one",
    "slack": "its fibers were too short to apply a force: the path is too short for this `tendon_slack_length`",
    "torn": "its fibers were so long that activation had no effect: the path is too long for this "
    "`tendon_slack_length`",
    "quick": "its fibers moved faster than `max_velocity`, where their force no longer changes",
    "excited": "its activation left the range from 0 to 1, and was clipped",
}

SLIDERS: dict[str, tuple[Data, float, float]] = {
    "ring": ({"optimal_length": 0.5, "tendon_slack_length": 0.6}, -0.1, 1.0),
    "slack": ({"optimal_length": 0.4, "tendon_slack_length": 0.2}, 0.5, -1.0),
    "torn": ({"optimal_length": 0.2}, 0.3, 1.0),
    "quick": ({"optimal_length": 0.5, "max_velocity": 1.0}, 0.45, -1.0),
    "excited": ({"optimal_length": 0.5, "activation": "10*t"}, 0.5, -0.5),
    "quiet": ({"optimal_length": 0.5}, 0.5, 0.1),
}
"""Muscles with special properties, and place and speed of the sliders on which their forces are small."""


def lane(*names: str) -> Data:
    """Sliders side by side, each with its muscle; one slides through a ring point of its path 0.1 s after the start."""
    scene: Data = {"gravity": [0, 0, 0], "bodies": {}, "joints": {}, "muscles": {}}
    for k, name in enumerate(names):
        special, q, v = SLIDERS[name]
        scene["bodies"][name] = BODY
        slide = {"type": "prismatic", "child": name, "axis": [1, 0, 0], "origin": {"position": [0, k, 0]}}
        scene["joints"][name] = {**slide, "q": q, "v": v}
        anchors = [[0, k, 1], [0, k, 0]] if name == "ring" else [[0, k, 0]]
        path = [*({"body": "world", "point": point} for point in anchors), {"body": name}]
        scene["muscles"][name] = {"path": path, "max_isometric_force": 1e-9, "activation": 0.2, **special}
    return scene


def message_of(scene: Data, method: str, path: Path) -> str:
    """Message at the end of a run of 0.2 s."""
    path.write_text(json.dumps({"mbsim": 1, **scene, "simulation": {"duration": 0.2, "step": 0.01, "method": method}}))
    outcome = prepare(path).run(MemorySink()).outcome
    assert outcome.status == "complete"
    return outcome.message


@every_method
def test_a_run_warns_of_muscles_outside_their_domain(method: str, tmp_path: Path) -> None:
    wanted = "; ".join(f"muscle `{name}`: {words}" for name, words in WARNINGS.items())
    assert message_of(lane(*SLIDERS), method, tmp_path / "scene.yaml") == wanted


@pytest.mark.parametrize("curves", MODELS)
def test_a_rigid_tendon_that_is_slack_is_reported_with_all_curves(curves: str, tmp_path: Path) -> None:
    """The bells of Thelen and De Groote have a force at all lengths, but a slack tendon has none."""
    scene = lane("quiet")
    scene["muscles"]["quiet"] |= {"curves": curves, "tendon_slack_length": 0.6}
    assert message_of(scene, "aba", tmp_path / "scene.yaml") == f"muscle `quiet`: {WARNINGS['slack']}"


def test_a_run_without_domain_violations_has_no_warnings(tmp_path: Path) -> None:
    assert message_of(lane("quiet"), "aba", tmp_path / "scene.yaml") == ""


def test_a_muscle_may_have_several_warnings(tmp_path: Path) -> None:
    scene = lane("slack")
    scene["muscles"]["slack"] |= {"max_velocity": 2.0, "activation": "10*t"}
    wanted = [f"muscle `slack`: {WARNINGS[name]}" for name in ("slack", "quick", "excited")]
    assert message_of(scene, "aba", tmp_path / "scene.yaml").split("; ") == wanted


def test_a_spring_of_zero_length_is_warned_of(tmp_path: Path) -> None:
    """A spring through a coincident path point warns; a spring of zero rest length and zero length does not."""
    scene = lane("ring")
    path = scene.pop("muscles")["ring"]["path"]
    scene["springs"] = {
        "through": {"path": path, "stiffness": 1e-9, "rest_length": 1},
        "bare": {"between": path[1:], "stiffness": 1e-9, "rest_length": 0},
    }
    assert message_of(scene, "aba", tmp_path / "scene.yaml") == f"spring `through`: {WARNINGS['ring']}"


@pytest.mark.parametrize("initial", [0.011, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("duration", [0.05, 0.1, 1.0])
def test_an_activation_that_decays_has_instants_apart(initial: float, duration: float) -> None:
    """The last step of its integration may be round-off."""
    spec = MuscleSpec.model_validate(
        {
            "path": [{"body": "world"}, {"body": "limb"}],
            "max_isometric_force": 1.0,
            "optimal_length": 1.0,
            "excitation": 0.0,
            "minimum_activation": 0.01,
            "initial_activation": initial,
        }
    )
    times, values, _ = follow_excitation(spec, duration)
    assert np.diff(times).min() > 0.0
    assert abs(times[-1] - duration) <= 1e-15
    np.testing.assert_array_less(np.diff(values), 1e-12)


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({"active": "log(x)"}, "active: has no finite value at x = 0"),
        ({"active": "x - 0.5"}, "active: is negative at x = 0"),
        ({"velocity": "1 - x"}, "velocity: falls at x = -1.49"),
        ({"tendon": {"x": [1, 1.1, 1.2], "y": [0, 2, 1], "interpolation": "natural"}}, "tendon: falls at x = 1.2"),
    ],
)
def test_curves_without_forces_are_refused(curves: Data, message: str) -> None:
    """The first one had no name, and with the others fibers and tendon of any length balanced."""
    with pytest.raises(SceneError, match=f"muscles.m.curves.{message}"):
        loaded(pulled(curves={"type": "millard2012", **curves}))
