"""Constraints by expressions: equal to the built-in elements by all methods, and to closed forms."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import SceneText
from multibody_cli.packing.elimination import candidates_of
from multibody_cli.scene.load import load_scene

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")

BALL = {"mass": 2.0, "inertia": {"principal": [0.1, 0.12, 0.15]}}
HINGE = {"type": "revolute", "axis": [0, 1, 0]}
NORMAL = [0, 0.6, 0.8]
HOOK, EYE = {"body": "world", "point": [0, 0, 2]}, {"body": "ball", "point": [0.1, 0, 0.1]}
ENDS = {"d": {"distance": [HOOK, EYE]}}
ARM_AXIS, TIP_AXIS = {"body": "arm", "axis": [0, 0, 1]}, {"body": "tip", "axis": [0, 0, 1]}
WHEEL, DISC = {"body": "wheel", "axis": [0, 3, 4]}, {"body": "disc", "axis": [0, -4, 3]}

every_method = pytest.mark.parametrize("method", METHODS)


def machine() -> dict[str, Any]:
    """A loaded ball, a double pendulum with a ball joint, a slide, and two tilted wheels."""
    at = {"origin": {"position": [2, 0, 0]}}
    return {
        "bodies": {
            "ball": {**BALL, "position": [0.5, 0, 1]},
            "arm": {**BALL, "com": [0.3, 0, 0]},
            "tip": BALL,
            "follower": BALL,
            "wheel": BALL,
            "disc": BALL,
        },
        "joints": {
            "shoulder": {**HINGE, "child": "arm", "force": "2*sin(3*t)"},
            "elbow": {
                "type": "spherical", "parent": "arm", "child": "tip", "origin": {"position": [0.6, 0, 0]},
                "v": [2, 1, 3],
            },
            "slide": {"type": "prismatic", "axis": [0, 0, 1], "child": "follower", **at},
            "wheel_axle": {"type": "revolute", "axis": WHEEL["axis"], "child": "wheel", "force": "1 + t", **at},
            "disc_axle": {"type": "revolute", "axis": DISC["axis"], "child": "disc", **at},
        },
    }  # fmt: skip


def run(entries: dict[str, Any], method: str, step: float = 2e-3, **simulation: Any) -> Any:
    """All channels of a run of the machine, or of another scene, under constraints or couplings."""
    simulation = {"duration": 0.4, "step": step, "method": method, "assembly_tolerance": 2.0, **simulation}
    scene = {"mbsim": 1, **machine(), **entries, "simulation": simulation, "output": {"every": 0.02}}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*(impulsive start|was assembled)")
        found = mbsim.load(json.dumps(scene, indent=1)).run()
    assert found.attrs["status"] == "complete"
    return found


TIP = {"body": "tip", "point": [0.1, 0.2, 0.1]}
PAIRS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "rod": (
        "constraints",
        {"type": "distance", "between": [HOOK, EYE], "length": 1.2},
        {"inputs": ENDS, "parameters": {"l": 1.2}, "value": "d - l"},
    ),
    "rope": (
        "constraints",
        {"type": "distance", "between": [HOOK, EYE], "limits": [None, 1.1], "restitution": 0.4},
        {"inputs": ENDS, "value": "d", "limits": [None, 1.1], "restitution": 0.4},
    ),
    "winch": (
        "constraints",
        {"type": "rope", "over": [HOOK, EYE], "length": "1.25 - 0.2*sin(2*t)"},
        {"inputs": ENDS, "value": "1.25 - 0.2*sin(2*t) - d", "limits": [0, None]},
    ),
    "plane": (
        "constraints",
        {"type": "point_on_plane", "point": TIP, "plane": {"body": "ball", "normal": NORMAL}},
        {
            "inputs": {
                "h": {"position": TIP, "relative_to": {"body": "ball"}, "along": {"body": "ball", "axis": NORMAL}}
            },
            "value": "h",
        },
    ),
    "velocity": (
        "constraints",
        {
            "type": "velocity",
            "terms": [{**TIP, "linear": [1, 0, 0]}, {"body": "wheel", "angular": [0, 2, 0]}],
            "value": "sin(t)",
        },
        {
            "inputs": {
                "u": {"velocity": TIP, "along": [1, 0, 0]}, "w": {"angular_velocity": "wheel", "along": [0, 1, 0]}
            },
            "value": "u + 2*w - sin(t)",
        },
    ),
    "cam": (
        "couplings",
        {"type": "function", "output": "slide", "inputs": {"q": "shoulder"}, "value": "0.2*sin(q) + q**2"},
        {"inputs": {"z": "slide", "q": "shoulder"}, "value": "z - 0.2*sin(q) - q**2"},
    ),
    "play": (
        "couplings",
        {"type": "gear", "joints": ["wheel_axle", "disc_axle"], "ratio": 2, "backlash": 0.02},
        {"inputs": {"p": "wheel_axle", "q": "disc_axle"}, "value": "q - 2*p", "limits": [-0.01, 0.01]},
    ),
    "cone": (
        "constraints",
        {
            "type": "expression",
            "inputs": {"c": {"direction": ARM_AXIS, "along": TIP_AXIS}},
            "value": "c",
            "limits": [float(np.cos(0.4)), None],
        },
        {
            "inputs": {"h": {"angle": [ARM_AXIS, TIP_AXIS]}},
            "value": "cos(h)",
            "limits": [float(np.cos(0.4)), None],
        },
    ),
}  # fmt: skip


def compare(found: Any, expected: Any, tolerance: float) -> None:
    for name in ("bodies/position", "bodies/linear_velocity", "energy/kinetic", "energy/ledger_residual"):
        np.testing.assert_allclose(found[name].values, expected[name].values, atol=tolerance)
    paths = [path for path in found if path.endswith("it/multiplier")]
    for path in paths:
        other = path if path in expected else path.replace("constraints", "couplings")
        np.testing.assert_allclose(abs(found[path].values), abs(expected[other].values), atol=1e3 * tolerance)
    assert paths


@every_method
@pytest.mark.parametrize("pair", PAIRS)
def test_an_expression_is_the_built_in_element(pair: str, method: str) -> None:
    section, element, expression = PAIRS[pair]
    found = run({"constraints": {"it": {"type": "expression", **expression}}}, method)
    compare(found, run({section: {"it": element}}, method), 1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"integrator": "semi_implicit_euler"},
        {"integrator": "linearly_implicit_euler"},
        {"integrator": "dop853"},
        {"options": {"stabilization": "baumgarte"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_every_integrator_takes_an_expression(method: str, settings: dict[str, Any]) -> None:
    _, element, expression = PAIRS["rod"]
    found = run({"constraints": {"it": {"type": "expression", **expression}}}, method, **settings)
    # `baraff` predicts the errors of Euler steps, unless a row may vanish
    tolerance = 1e-3 if method == "baraff" and settings.get("integrator") == "semi_implicit_euler" else 1e-9
    compare(found, run({"constraints": {"it": element}}, method, **settings), tolerance)


RATIO = {
    "inputs": {
        "w": {"angular_velocity": "wheel", "along": WHEEL},
        "r": {"angular_velocity": "tip", "along": {"body": "tip", "axis": [1, 0, 0]}},
    },
    "value": "r - 0.5*w",
}
LENGTH = {"inputs": ENDS, "value": "d - 1.12 - 0.2*sin(3*t)"}
CAM = {
    "inputs": {
        "z": {"position": {"body": "follower"}, "along": [0, 0, 1]},
        "s": {"direction": {"body": "tip", "axis": [1, 0, 0]}, "along": [0, 0, 1]},
    },
    "value": "z - 0.05*s - 0.3*s**2",
}


@pytest.mark.parametrize("expression", [RATIO, LENGTH, CAM], ids=["ratio", "length", "cam"])
def test_methods_agree(expression: dict[str, Any]) -> None:
    """To the errors of the integrators: of fourth order, and of second order."""
    found = {
        method: run({"constraints": {"it": {"type": "expression", **expression}}}, method, step=1e-3)
        for method in METHODS
    }
    for method, one in found.items():
        for name in ("bodies/position", "bodies/linear_velocity"):
            tolerance = 1e-4 if method.startswith("variational") else 1e-8
            np.testing.assert_allclose(one[name].values, found["aba"][name].values, atol=tolerance)
        residual = np.abs(one["energy/ledger_residual"].values).max()
        assert residual < (2e-4 if method.startswith("variational") else 1e-8)


@every_method
def test_wheels_turn_at_the_ratio_of_their_body_axes(method: str) -> None:
    """J1 w' + 4 J2 w' = torque about axes of equal inertia; with a torque 1 + t the speed is quadratic."""
    inputs = {
        "w": {"angular_velocity": "wheel", "along": WHEEL},
        "r": {"angular_velocity": "disc", "along": DISC},
    }
    ratio = {"type": "expression", "inputs": inputs, "value": "r - 2*w"}
    round_body = {"mass": 2.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    bodies = machine()["bodies"] | {"wheel": round_body, "disc": round_body}
    found = run({"bodies": bodies, "constraints": {"it": ratio}}, method)
    t = found["time"].values
    speed = (t + 0.5 * t**2) / 0.5
    np.testing.assert_allclose(found["joints/wheel_axle/v"].values[:, 0], speed, atol=1e-9)
    np.testing.assert_allclose(found["joints/disc_axle/v"].values[:, 0], 2 * speed, atol=1e-9)


@every_method
def test_a_load_on_a_rod_of_varying_length_has_its_force_and_work(method: str) -> None:
    """m (g - l'') pulls, and does the work of weight and kinetic energy."""
    rod = {
        "type": "expression",
        "inputs": {"d": {"distance": [{"body": "world"}, {"body": "load"}]}},
        "value": "d - 1 - t**2",
    }
    load = {**BALL, "position": [0, 0, -1]}
    found = run({"bodies": {"load": load}, "joints": {}, "constraints": {"it": rod}}, method)
    t = found["time"].values
    np.testing.assert_allclose(found["bodies/position"].values[:, 0, 2], -1 - t**2, atol=1e-12)
    np.testing.assert_allclose(np.abs(found["constraints/it/multiplier"].values[1:, 0]), 2.0 * (9.81 - 2.0), rtol=1e-6)
    work = 2.0 * ((2 * t) ** 2 / 2 - 9.81 * t**2)
    np.testing.assert_allclose(found["energy/work/constraints/it"].values, work, atol=1e-9)


@every_method
def test_a_ball_falls_from_its_hook_into_its_rope(method: str) -> None:
    """At the start the points coincide, and the rope has no direction."""
    rope = {
        "type": "expression",
        "inputs": {"d": {"distance": [{"body": "world"}, {"body": "ball"}]}},
        "value": "d",
        "limits": [None, 0.3],
    }
    found = run({"bodies": {"ball": BALL}, "joints": {}, "constraints": {"it": rope}}, method)
    t = found["time"].values
    fallen = np.minimum(0.5 * 9.81 * t**2, 0.3)
    np.testing.assert_allclose(found["bodies/position"].values[:, 0, 2], -fallen, atol=2e-2 * 9.81 * 2e-3)
    np.testing.assert_allclose(found["bodies/position"].values[-1, 0], [0, 0, -0.3], atol=1e-9)


@every_method
@pytest.mark.parametrize("offset", [0.0, 1e-17, 1e-13, 1e-9])
def test_a_ball_passes_through_the_hook_of_its_slack_rope(method: str, offset: float) -> None:
    """At 7 m/s, at the end of a step; it turns back where the rope is taut, as with the built-in element."""
    ball = {**BALL, "position": [-0.7 + offset, 0, 0], "velocity": {"linear": [7, 0, 0]}}
    ends = [{"body": "world"}, {"body": "ball"}]
    limits = {"limits": [None, 0.75], "restitution": 1.0}
    ropes = (
        {"type": "expression", "inputs": {"d": {"distance": ends}}, "value": "d", **limits},
        {"type": "distance", "between": ends, **limits},
    )
    ends_of_runs = []
    for rope in ropes:
        scene = {"bodies": {"ball": ball}, "joints": {}, "constraints": {"it": rope}, "gravity": [0, 0, 0]}
        found = run(scene, method, duration=0.24)
        velocity = found["bodies/linear_velocity"].values[:, 0, 0]
        np.testing.assert_allclose(velocity[found["time"].values < 0.2], 7.0, atol=1e-9)
        assert velocity[-1] == pytest.approx(-7.0, abs=1e-6)
        ends_of_runs.append(found["bodies/position"].values[-1, 0, 0])
    assert ends_of_runs[0] == pytest.approx(ends_of_runs[1], abs=1e-9)


@every_method
def test_an_axis_passes_through_the_apex_of_its_cone(method: str) -> None:
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"ball": BALL},
        "joints": {"socket": {"type": "spherical", "child": "ball", "q": {"rotvec": [-0.3, 0, 0]}, "v": [2, 0, 0]}},
        "constraints": {
            "cone": {
                "type": "expression",
                "inputs": {"h": {"angle": [[0, 0, 1], {"body": "ball", "axis": [0, 0, 1]}]}},
                "value": "h",
                "limits": [None, 0.4],
                "restitution": 1.0,
            }
        },
    }
    found = run(scene, method, duration=0.4)
    rate = found["bodies/angular_velocity"].values[:, 0, 0]
    np.testing.assert_allclose(rate[found["time"].values < 0.34], 2.0, atol=1e-6)
    assert rate[-1] == pytest.approx(-2.0, abs=1e-3)


@pytest.mark.parametrize(
    ("inputs", "value"),
    [
        ({"h": {"angle": [[0, 0, 1], {"body": "ball", "axis": [0, 0, 1]}]}}, "h"),
        ({"h": {"angle": [[0, 0, 1], {"body": "ball", "axis": [0, 0, -1]}]}}, "h - pi"),
        ({"d": {"distance": [{"body": "world"}, {"body": "ball"}]}}, "d"),
        ({"d": {"distance": [{"body": "world"}, {"body": "ball"}]}}, "2*d**2"),
    ],
    ids=["parallel", "opposite", "together", "square"],
)
def test_an_equality_without_slope_at_the_start_is_refused(inputs: dict[str, Any], value: str) -> None:
    entries = {"bodies": {"ball": BALL}, "joints": {}}
    with pytest.raises(mbsim.SceneError, match=r"is changed by no motion in the initial .*: the points of a"):
        run({**entries, "constraints": {"it": {"type": "expression", "inputs": inputs, "value": value}}}, "aba")


def test_expressions_of_two_bodies_are_nodes_of_the_elimination() -> None:
    ends = [{"body": "a", "point": [0, 0, 1]}, {"body": "b"}]
    inputs: dict[str, dict[str, Any]] = {
        "two": {"x": {"position": ends[0], "relative_to": ends[1], "along": {"body": "b", "axis": [1, 2, 3]}}},
        "one": {"x": {"position": ends[0], "along": {"body": "a", "axis": [0, 0, 1]}}},
        "three": {"x": {"distance": ends}, "c": {"direction": {"body": "c", "axis": [1, 0, 0]}, "along": [1, 0, 0]}},
        "coordinate": {"x": {"distance": ends}, "q": "hinge"},
    }
    scene = {
        "mbsim": 1,
        "bodies": {name: BALL for name in "abc"},
        "joints": {"hinge": {**HINGE, "child": "c"}},
        "constraints": {
            name: {"type": "expression", "inputs": some, "value": " + ".join(some)} for name, some in inputs.items()
        },
        "simulation": {"duration": 1.0},
    }
    loaded = load_scene(SceneText(json.dumps(scene, indent=1), "chain.yaml"))
    found = {one.name: one.ends for one in candidates_of(loaded.scene, True) if one.section == "constraints"}
    assert found == {"two": ("a", "b"), "one": ("a", "world")}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("by", ["bodies", "coordinates"])
def test_a_moving_expression_does_the_work_of_impacts_that_it_transmits(
    by: str, restitution: float, method: str
) -> None:
    """A drive of 2 m/s jerks 2 kg by a rope: the impulse is 4 N s (1 + e), and its work that at 2 m/s.

    A third body between the drive and the rope transmits it once more.
    """
    read = (lambda name: {"position": {"body": name}, "along": [1, 0, 0]}) if by == "bodies" else lambda name: name
    bodies = {
        name: {"mass": mass, "inertia": {"principal": [1] * 3}} for name, mass in zip("abc", (3, 2, 5), strict=True)
    }
    rails = {name: {"type": "prismatic", "child": name, "axis": [1, 0, 0]} for name in "abc"}
    constraints = {
        "drive": {"type": "expression", "inputs": {"x": read("c")}, "value": "x - 2*t"},
        "link": {"type": "expression", "inputs": {"x": read("a"), "y": read("c")}, "value": "x - y"},
        "rope": {"type": "expression", "inputs": {"x": read("a"), "y": read("b")}, "value": "x - y",
                 "limits": [None, 0.501], "restitution": restitution},
    }  # fmt: skip
    joints = {**rails, "a": {**rails["a"], "v": 2.0}, "c": {**rails["c"], "v": 2.0}}
    entries = {"gravity": [0, 0, 0], "bodies": bodies, "joints": joints, "constraints": constraints}
    found = run(entries, method, step=0.01, duration=0.4)
    work, lost = (found[f"energy/{kind}/{name}"].values[-1] for kind, name in (
        ("work", "constraints/drive"), ("dissipation", "constraints/rope")))  # fmt: skip
    total = found["energy/total"].values
    assert work == pytest.approx(8.0 * (1.0 + restitution), rel=1e-9)
    assert lost == pytest.approx(4.0 * (1.0 - restitution**2), rel=1e-9)
    assert total[-1] - total[0] == pytest.approx(work - lost, rel=1e-9)
