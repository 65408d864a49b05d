"""Bodies without mass, and inertias that no body has: where the mass matrix is regular, the motion is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from loops import Data, Run, start

from multibody_cli.errors import SceneError
from multibody_cli.mass import MassProperties, objection_to
from multibody_cli.methods import METHODS

ROD = {
    "mass": 1.5,
    "com": [0.2, 0.1, -0.1],
    "inertia": {"principal": [0.05, 0.06, 0.04], "rotation": {"rotvec": [1, 2, 3]}},
}
NOTHING: Data = {"mass": 0}
REDUCED = [name for name, kind in METHODS.items() if not kind.maximal]
BY_ACCELERATION = [name for name in REDUCED if name != "variational"]
CHANNELS = ("position", "quaternion", "linear_velocity", "angular_velocity")


def hinge(parent: str, child: str, axis: Any, position: Any = (0, 0, 0), **fields: Any) -> Data:
    return {
        "type": "revolute",
        "parent": parent,
        "child": child,
        "axis": [*axis],
        "origin": {"position": [*position]},
        **fields,
    }


def chain(q: Any, v: Any, between: Data = NOTHING) -> Data:
    """A body on three hinges with different anchors, with bodies between, and a rod on its end."""
    anchors = np.array([[0.1, 0, 0.2], [-0.2, 0.3, 0], [0.1, 0.1, -0.4]])
    axes = ([1, 0, 0], [0, 1, 0], [1, 2, -2])
    parents, children = ("world", "one", "two"), ("one", "two", "trunk")
    steps = np.diff(anchors, axis=0, prepend=np.zeros((1, 3)))
    joints = {
        f"j{k}": hinge(parents[k], children[k], axes[k], steps[k].tolist(), q=float(q[k]), v=float(v[k]))
        for k in range(3)
    }
    joints["j2"]["child_origin"] = {"position": anchors[2].tolist()}
    joints["tip"] = hinge("trunk", "rod", [0, 0, 1], [0.5, 0, 0], q=0.4, v=-1.0)
    return {"bodies": {"one": between, "two": between, "trunk": ROD, "rod": ROD}, "joints": joints}


def composite(q: Any, v: Any) -> Data:
    """The same without bodies between."""
    scene = chain(q, v)
    parts = [
        {"type": "revolute", "axis": [1, 0, 0], "position": [0.1, 0, 0.2]},
        {"type": "revolute", "axis": [0, 1, 0], "position": [-0.2, 0.3, 0]},
        {"type": "revolute", "axis": [1, 2, -2], "position": [0.1, 0.1, -0.4]},
    ]
    joint = {"type": "composite", "child": "trunk", "parts": parts, "q": [*map(float, q)], "v": [*map(float, v)]}
    return {"bodies": {"trunk": ROD, "rod": ROD}, "joints": {"all": joint, "tip": scene["joints"]["tip"]}}


STATES = {
    "straight": (np.zeros(3), np.zeros(3)),
    "right angles": (np.array([0.5, -0.5, 1.0]) * np.pi, np.array([1.0, 2.0, -1.0])),
    "any": (np.array([0.3, -0.8, 1.1]), np.array([2.0, -1.0, 0.5])),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("method", BY_ACCELERATION)
def test_bodies_without_mass_are_as_none(method: str, state: str) -> None:
    """A chain of bodies without mass has the accelerations of one joint with the anchors as its parts."""
    one, other = start(composite(*STATES[state]), method), start(chain(*STATES[state]), method)
    a = one.joint("all", "acceleration")
    np.testing.assert_allclose([*other.state.a[:3]], a, rtol=1e-11, atol=1e-11 * np.abs(a).max())
    for channel in CHANNELS:
        np.testing.assert_allclose(other.body("trunk", channel), one.body("trunk", channel), atol=1e-14)


def test_little_mass_tends_to_none() -> None:
    """The difference is proportional to the mass, so that bodies without mass are its limit."""
    found = [
        start(
            chain(*STATES["any"], {"mass": m, "inertia": {"principal": [m, m, m]}} if m else NOTHING), "redmax"
        ).state.a
        for m in (0.0, 1e-6, 2e-6)
    ]
    np.testing.assert_allclose(found[2] - found[0], 2.0 * (found[1] - found[0]), rtol=1e-4)


@pytest.mark.parametrize("method", REDUCED)
def test_energy_is_kept_with_bodies_without_mass(method: str) -> None:
    run = start(chain(*STATES["any"]), method, step=1e-3)
    before, _ = run.energy()
    after, _ = run.advance(0.3).energy()
    assert abs(after - before) < (1e-4 if method == "variational" else 1e-6)


@pytest.mark.parametrize("method", REDUCED)
def test_all_masses_but_one_may_be_zero(method: str) -> None:
    """Also with a spring and a damper on a body without mass; the ledger holds their work."""
    links = [f"b{k}" for k in range(3)]
    joints = {
        "b0": {"type": "spherical", "child": "b0", "q": {"rotvec": [0.3, 0.2, 0.1]}},
        "b1": {"type": "prismatic", "axis": [0, 0, 1], "parent": "b0", "child": "b1", "q": -0.5, "stiffness": 40.0},
        "b2": hinge("b1", "b2", [0, 1, 0], [0, 0, -0.2], damping=0.2),
    }
    springs = {
        "s": {
            "between": [{"body": "world", "point": [1, 0, 0]}, {"body": "b1"}],
            "stiffness": 30,
            "damping": 2,
            "rest_length": 0.4,
        }
    }
    bodies = dict.fromkeys(links, NOTHING) | {"b2": ROD}
    run = start({"bodies": bodies, "joints": joints, "springs": springs}, method, step=5e-4)
    _, first = run.energy()
    _, last = run.advance(0.2).energy()
    assert abs(last - first) < (1e-3 if method == "variational" else 1e-7)


@pytest.mark.parametrize("joint", ["fixed", "spherical"])
@pytest.mark.parametrize("method", REDUCED)
def test_a_body_without_mass_carries_contacts(method: str, joint: str) -> None:
    """A ball of a foot without mass moves a box, or stops on its own, as that of a foot of 1 ug."""
    ball = {"type": "sphere", "radius": 0.1, "friction": 0.4, "restitution": 0.3}
    velocity = {"linear": [0.5, 0, 0], "angular": [0, 3, 1]}
    box = {"mass": 2, "inertia": {"principal": [0.02, 0.03, 0.04]}, "position": [0, 0, 0.25], "velocity": velocity}
    arm = {"type": joint, "parent": "box", "child": "foot", "origin": {"position": [0.05, 0, 0]}}
    joints = {"ankle": arm}
    if joint == "spherical":  # a toe adds inertia to the foot
        joints["toe"] = {"type": "fixed", "parent": "foot", "child": "toe"}
    toe = {"mass": 0.1, "com": [0.05, 0.01, 0], "inertia": {"principal": [1e-3, 1e-3, 1e-3]}}
    bodies = {"box": box} | ({"toe": toe} if joint == "spherical" else {})
    runs = []
    for foot in (NOTHING, {"mass": 1e-9, "inertia": {"principal": [1e-11, 1e-11, 1e-11]}}):
        scene = {"bodies": {**bodies, "foot": {**foot, "shapes": [ball]}}, "joints": joints, "contacts": {}}
        scene["world"] = {"shapes": [{"type": "plane", "friction": 0.5}]}
        run = start(scene, method, integrator="semi_implicit_euler", step=1e-3)
        before = run.energy()[1]
        runs.append(run.advance(0.25))
        assert run.energy()[1] - before < 1e-3  # impulses add no energy
    for channel in CHANNELS:
        np.testing.assert_allclose(runs[0].body("box", channel), runs[1].body("box", channel), atol=1e-6)


POINT: Data = {"mass": 1, "inertia": {"principal": [0, 0, 0]}}
NEGATIVE: Data = {"mass": 1, "inertia": {"principal": [1, 1, -1]}}
PIN = hinge("world", "a", [0, 0, 1])
TIP = hinge("a", "b", [0, 0, 1])
ROD_END = {"type": "fixed", "parent": "a", "child": "b", "origin": {"position": [1, 1, 1]}}
REFUSALS: dict[str, tuple[Data, Data, str]] = {
    "leaf": (
        {"a": ROD, "b": NOTHING},
        {"j": TIP},
        "joints.j: moves no .* inertias of `b` .* `fixed` or give it `armature`",
    ),
    "free": ({"b": NOTHING}, {}, "bodies.b: moves no mass or inertia .* connect it by a `fixed` joint"),
    "one axis": ({"a": NOTHING, "b": ROD}, {"i": PIN, "j": TIP}, "joints.i: moves no mass"),
    "point on an axis": (
        {"a": NOTHING, "b": POINT},
        {"i": {"type": "spherical", "child": "a"}, "j": ROD_END},
        "joints.i: moves no mass",
    ),
    "negative": ({"a": NEGATIVE}, {"j": PIN}, "joints.j: moves negative mass or inertia .* of `a`"),
    "negative and free": ({"a": NEGATIVE}, {}, "bodies.a: moves negative mass or inertia"),
    "kind point": ({"a": {"kind": "point", "mass": 0}}, {}, "bodies.a: moves no mass"),
    "kind planar": ({"a": {"kind": "planar", "mass": 0}}, {}, "bodies.a: moves no mass"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_singular_mass_matrix_is_refused_by_name(name: str) -> None:
    bodies, joints, message = REFUSALS[name]
    with pytest.raises(SceneError, match=message):
        start({"bodies": bodies, "joints": joints}, "aba")


@pytest.mark.parametrize("method", BY_ACCELERATION)
def test_armature_is_inertia_of_a_joint_without_any(method: str) -> None:
    """A hinge of a body without mass turns by its force: 0.02 kg m^2 dv/dt = 0.3 N m."""
    run = start({"bodies": {"a": NOTHING}, "joints": {"j": {**PIN, "armature": 0.02, "force": 0.3}}}, method, step=1e-3)
    run.advance(0.1)
    assert run.joint("j", "velocity")[0] == pytest.approx(0.3 / 0.02 * 0.1, rel=1e-9)


def test_an_affine_body_needs_second_moments() -> None:
    with pytest.raises(SceneError, match=r"bodies.a.*an affine body needs a positive second moment"):
        start({"bodies": {"a": {"kind": "affine", "mass": 0}}}, "baraff")


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(REDUCED)))
def test_methods_in_body_coordinates_refuse_bodies_without_mass(method: str) -> None:
    with pytest.raises(SceneError, match=r"bodies.one: has no mass or a moment .* divides by both.*`redmax`"):
        start(chain(*STATES["any"]), method)


@pytest.mark.parametrize("moments", [(1.0, 1.0, 3.0), (0.1, 2.0, 0.2), (0.5, 0.1, 2.0)])
@pytest.mark.parametrize("method", METHODS)
def test_a_top_with_an_impossible_inertia_obeys_the_equations_of_euler(method: str, moments: Any) -> None:
    body = {"mass": 1, "inertia": {"principal": [*moments]}, "velocity": {"angular": [0.7, 1.5, -0.6]}}
    run = start({"gravity": [0, 0, 0], "bodies": {"top": body}}, method, step=1e-3)
    J = np.array(moments)

    def momentum(run: Run) -> np.ndarray:
        from scipy.spatial.transform import Rotation

        R = Rotation.from_quat(np.roll(run.body("top", "quaternion"), -1)).as_matrix()
        return R @ (J * (R.T @ run.body("top", "angular_velocity")))

    before, energy = momentum(run), run.energy()[0]
    run.advance(0.5)
    np.testing.assert_allclose(momentum(run), before, atol=1e-5 if method.startswith("variational") else 1e-9)
    assert abs(run.energy()[0] - energy) < (1e-5 if method.startswith("variational") else 1e-9)
    assert any("no body has this inertia" in text for text in run.compiled.warnings)


@pytest.mark.parametrize("method", REDUCED)
def test_a_negative_moment_is_accepted_where_the_coordinates_have_inertia(method: str) -> None:
    """A pendulum of length l: (J + m l^2) dv/dt = -m g l, with J = -0.1 kg m^2."""
    body = {"mass": 2.0, "com": [0.5, 0, 0], "inertia": {"principal": [0.2, -0.1, 0.2]}}
    run = start({"bodies": {"rod": body}, "joints": {"pin": hinge("world", "rod", [0, 1, 0])}}, method, step=1e-4)
    if method != "variational":
        assert run.state.a[0] == pytest.approx(2.0 * 9.81 * 0.5 / (-0.1 + 2.0 * 0.25), rel=1e-12)
    run.advance(0.2)
    w, q = run.joint("pin", "velocity")[0], run.joint("pin", "coordinates")[0]
    assert 0.5 * 0.4 * w**2 == pytest.approx(2.0 * 9.81 * 0.5 * np.sin(q), rel=1e-5)


@pytest.mark.parametrize(
    ("mass", "moments", "reason"),
    [
        (1.0, (1.0, 2.0, 3.0), ""),
        (1.0, (0.0, 1.0, 1.0), ""),
        (1.0, (0.0, 0.0, 0.0), ""),
        (0.0, (0.0, 0.0, 0.0), ""),
        (1.0, (1.0, 2.0, 3.0 + 1e-10), ""),
        (1.0, (-1e-12, 1.0, 1.0), ""),
        (1.0, (1.0, 2.0, 3.1), "the principal moment 3.1 exceeds the sum of the two others, 1 + 2 = 3 kg*m^2"),
        (1.0, (-0.5, 1.0, 1.0), "a principal moment is negative (-0.5 kg*m^2)"),
        (0.0, (1.0, 1.0, 1.0), "it has a moment of 1 kg*m^2 without mass"),
    ],
)
def test_reasons_for_which_no_body_has_an_inertia(mass: float, moments: Any, reason: str) -> None:
    assert objection_to(MassProperties(mass, np.zeros(3), np.diag(moments))) == reason


AFTER_A_BALL: dict[str, Data] = {
    "spring": {"stiffness": 30.0, "damping": 0.4},
    "limits": {"limits": [-0.5, 0.15], "restitution": 0.5},
    "motion": {"motion": {"position": "0.1 + 0.8*t + 0.2*sin(3*t)"}, "v": 1.4},
    "force": {"force": "3*sin(5*t) - 2*q - 0.3*v"},
    "armature": {"armature": 0.05},
}
"""Fields of a hinge."""


@pytest.mark.parametrize("method", BY_ACCELERATION)
@pytest.mark.parametrize("name", AFTER_A_BALL)
def test_a_coordinate_after_a_ball_has_all_that_a_hinge_has(name: str, method: str) -> None:
    """Its number in q is not its index: a ball has four numbers and three coordinates."""
    fields = {"q": 0.1, "v": 0.6} | AFTER_A_BALL[name]
    ball = {"type": "spherical", "child": "between", "q": {"rotvec": [0.3, -0.2, 0.5]}, "v": [0.2, 1.0, -0.4]}
    pin = hinge("between", "trunk", [1, 2, 2], [0.1, 0.2, 0.3], child_origin={"position": [0.1, 0.2, 0.3]})
    pin |= {word: fields[word] for word in fields if name != "motion" or word == "motion"}
    parts = [{"type": "spherical"}, {"type": "revolute", "axis": [1, 2, 2], "position": [0.1, 0.2, 0.3]}]
    whole: Data = {"type": "composite", "child": "trunk", "parts": parts}
    whole |= {word: [ball[word], fields[word]] for word in ("q", "v")}
    unused = {"limits": None, "motion": None, "force": 0.0, "stiffness": 0.0, "damping": 0.0, "armature": 0.0}
    for word, value in AFTER_A_BALL[name].items():
        if word == "motion":
            whole[word] = {"position": [None] * 3 + [value["position"]]}
        elif word in unused:
            whole[word] = [unused[word]] * 3 + [value]
        elif word not in ("q", "v"):
            whole[word] = value
    runs = [
        start({"bodies": {"trunk": ROD}, "joints": {"both": whole}}, method, step=1e-3),
        start({"bodies": {"between": NOTHING, "trunk": ROD}, "joints": {"ball": ball, "pin": pin}}, method, step=1e-3),
    ]
    for run in runs:
        run.advance(0.3)
    for channel in CHANNELS:
        np.testing.assert_allclose(runs[0].body("trunk", channel), runs[1].body("trunk", channel), atol=1e-9)
    q = [*runs[1].joint("ball", "coordinates"), *runs[1].joint("pin", "coordinates")]
    np.testing.assert_allclose(runs[0].joint("both", "coordinates"), q, atol=1e-9)
