"""Initial state of scenes with loops: assembled within a tolerance, else refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import yaml
from loops import close_loops, loaded, start

from multibody_cli.compile import compile_scene
from multibody_cli.errors import SceneError


def bar(length):
    return {"mass": 1, "com": [length / 2, 0, 0], "inertia": {"principal": [0.02, 0.08, 0.09]}}


def four_bar(**fields):
    """A closed four-bar; `fields` are laid over its joints."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    scene = {
        "bodies": {"a": bar(0.5), "b": bar(1.2), "c": bar(0.9)},
        "joints": {
            "ja": {**hinge, "child": "a", "q": -0.9},
            "jb": {**hinge, "parent": "a", "child": "b", "origin": {"position": [0.5, 0, 0]}, "q": 0.7},
            "jc": {**hinge, "child": "c", "origin": {"position": [1.3, 0, 0]}, "q": -1.6},
            "close": {**hinge, "parent": "b", "child": "c", "origin": {"position": [1.2, 0, 0]}, "q": 0.3},
        },
    }
    close_loops(scene)
    del scene["joints"]["close"]["q"]
    for name, more in fields.items():
        scene["joints"][name] |= more
    return scene


def without(scene, joint, key):
    del scene["joints"][joint][key]
    return scene


def refusal(scene, **simulation):
    with pytest.raises(SceneError) as caught:
        compile_scene(loaded(scene, **simulation))
    return str(caught.value)


def test_a_closed_start_is_left_as_it_is():
    found = compile_scene(loaded(four_bar()))
    np.testing.assert_array_equal(found.state.q[:3], [-0.9, 0.7, -1.6])
    assert not any("assembled" in warning for warning in found.warnings)


def test_given_coordinates_are_kept():
    """The crank has a small error and is given; the other coordinates are not given and are adjusted."""
    scene = four_bar(ja={"q": -0.895})
    run = start(without(without(scene, "jb", "q"), "jc", "q"), assembly_tolerance=5.0)
    assert run.compiled.state.q[0] == -0.895
    assert run.joint("ja", "coordinates")[0] == pytest.approx(-0.895, abs=1e-10)  # the run closes errors below 1e-10
    assert run.errors()[0] < 1e-10
    assert any("assembled" in warning for warning in run.compiled.warnings)


def test_if_all_coordinates_are_given_the_correction_is_least_in_the_mass_metric():
    """The correction is M-orthogonal to the free motion of the loop: it is the shortest, to first order."""
    run = start(four_bar(ja={"q": -0.899}))
    moved = run.state.q[:3] - [-0.899, 0.7, -1.6]
    assert 1e-5 < np.abs(moved).max() < 2e-3
    assert run.errors()[0] < 1e-10
    from loops import oracle_of

    loops, _ = oracle_of(run)
    G, _ = loops.demands(np.zeros(loops.size))
    _, s, Vt = np.linalg.svd(G)
    tangent = Vt[(s > 1e-9 * s[0]).sum() :][0]
    M, _ = loops.mass_and_force(np.zeros(loops.size))
    tree, _, _, _ = (loops.hinges[name].columns.start for name in ("ja", "jb", "jc", "close"))
    # body motions that the joints of the tree make of the move
    tree_rows = G[:18]  # rows of the joints ja, jb, jc
    bodies = np.linalg.lstsq(tree_rows[:, :tree], -tree_rows[:, tree : tree + 3] @ moved, rcond=None)[0]
    inner = tangent[:tree] @ M[:tree, :tree] @ bodies
    sizes = np.sqrt(tangent[:tree] @ M[:tree, :tree] @ tangent[:tree] * (bodies @ M[:tree, :tree] @ bodies))
    assert abs(inner) < 1e-2 * sizes  # the move itself is of that size


def test_a_start_far_from_closure_is_refused_with_a_proposal():
    message = refusal(four_bar(ja={"q": -0.5}))
    assert "joints.close: has an initial error of" in message
    assert "assembly_tolerance" in message
    assert "correct the initial coordinates to `joints.ja.q: -0.6333" in message


PROPOSED = re.compile(r"`((?:joints|bodies)\.[^:`]+): ([^`]+)`")


def followed(scene, message):
    """Return the scene with all starts that a message proposes."""
    scene = json.loads(json.dumps(scene))
    found = PROPOSED.findall(message)
    assert found
    for key, value in found:
        section, name, word = key.split(".")
        scene[section][name][word] = yaml.safe_load(value)
    return scene


def ball_loop(**first):
    """Two rods on a ball joint between two others, and a free joint, which a wire ties to the second rod."""
    scene = {
        "bodies": {"a": bar(0.5), "b": bar(0.5), "c": bar(0.5)},
        "joints": {
            "first": {"type": "spherical", "child": "a", "q": {"rotvec": [0.1, -0.9, 0.4]}, **first},
            "second": {"type": "spherical", "parent": "a", "child": "b", "origin": {"position": [0.5, 0, 0]},
                       "q": {"rotvec": [0.2, 1.3, -0.3]}},
            "third": {"type": "spherical", "child": "b", "origin": {"position": [0.7, 0.1, 0.1]},
                      "child_origin": {"position": [0.5, 0, 0]}},
            "guide": {"type": "free", "child": "c", "parent": "a", "q": {"position": [0.4, 0.2, 0]}},
        },
        "constraints": {
            "wire": {
                "type": "distance",
                "between": [{"body": "c"}, {"body": "b", "point": [0.25, 0.1, 0]}],
                "length": 0.3,
            },
        },
    }  # fmt: skip
    return scene


def slid(x):
    """Free bodies of three kinds, tied to one another by rods of another length than their distances."""
    return {
        "bodies": {
            "rigid": {**bar(0.5), "position": [x, 0, 0], "rotation": {"rotvec": [0.1, 0.2, 0.3]}},
            "point": {"kind": "point", "mass": 1, "position": [1.0, 0.3, 0]},
            "disc": {**bar(0.5), "kind": "planar", "position": [2, 0, 0]},
        },
        "constraints": {
            "one": {"type": "distance", "between": [{"body": "rigid"}, {"body": "point"}], "length": 1.0},
            "two": {"type": "distance", "between": [{"body": "disc"}, {"body": "point"}], "length": 1.0},
        },
    }


def geared(reduce, **fields):
    """Three wheels in a train: b = -2 a + 0.3, written after c = 4 b; `fields` are laid over the joints."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    gear = {"type": "gear", "reduce": reduce}
    return {
        "bodies": {name: bar(0.5) for name in "abc"},
        "joints": {name: {**hinge, "child": name, **fields.get(name, {})} for name in "abc"},
        "couplings": {
            "second": {**gear, "joints": ["b", "c"], "ratio": 4.0},
            "first": {**gear, "joints": ["a", "b"], "ratio": -2.0, "offset": 0.3},
        },
    }


def played(**fields):
    """Wheels with two gears with backlash: b = -2 a + 0.3 and c = 4 b, within 0.05 each."""
    scene = geared(False, **fields)
    for gear in scene["couplings"].values():
        del gear["reduce"]
        gear["backlash"] = 0.1
    return scene


REFUSED = {
    "a four-bar off by 0.1": four_bar(jb={"q": 0.8}),
    "a four-bar off by 0.3": four_bar(jb={"q": 1.0}),
    "a four-bar of which some coordinates are given": without(four_bar(jb={"q": 1.0}), "ja", "q"),
    "ball joints and a free joint": ball_loop(),
    "angles of Euler": ball_loop(parametrization="euler_xzx"),
    "exponential coordinates": ball_loop(parametrization="exponential"),
    "free bodies": slid(0.2),
    "wheels outside their plays": played(a={"q": 0.7}, b={"q": 0.2}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_starts_that_a_refusal_proposes_are_accepted(name):
    """All together, and without a message."""
    message = refusal(REFUSED[name])
    assert "above `simulation.assembly_tolerance`" in message
    again = compile_scene(loaded(followed(REFUSED[name], message)))
    assert not any("assembled" in warning for warning in again.warnings)


def test_a_loop_that_cannot_close_is_refused():
    message = refusal(four_bar(jc={"origin": {"position": [9, 0, 0]}}))
    assert "joints.close: cannot be closed: with all joints free to move, an error of" in message
    assert re.search(r"an error of [0-9.]+ m along [xz] remains", message)


@pytest.mark.parametrize(
    ("close", "kept"),
    [
        ({"limits": [1.4, 1.5]}, "free to move within their limits, an error of"),
        ({"motion": {"velocity": 1}, "q": 1.5}, "free to move, apart from the `motion` of `close`, an error of"),
    ],
)
def test_a_loop_that_limits_or_motions_keep_open_is_refused_with_them(close, kept):
    assert f"joints.close: cannot be closed: with all joints {kept}" in refusal(four_bar(close=close))


def slider_crank(position, **crank):
    """A crank of 0.1 m and a rod of 0.3 m along x, and a slider with a prescribed position."""
    hinge = {"type": "revolute"}
    scene = {
        "bodies": {"crank": bar(0.1), "rod": bar(0.3), "slider": bar(0.1)},
        "joints": {
            "bearing": {**hinge, "child": "crank", **crank},
            "pin": {**hinge, "parent": "crank", "child": "rod", "origin": {"position": [0.1, 0, 0]}},
            "guide": {"type": "prismatic", "child": "slider", "axis": [1, 0, 0], "motion": {"position": position}},
            "wrist": {**hinge, "parent": "slider", "child": "rod", "child_origin": {"position": [0.3, 0, 0]}},
        },
    }
    return scene


@pytest.mark.parametrize("position", [0.3999, 0.395])
def test_a_start_with_collinear_rods_is_assembled(position):
    """No displacement shortens the rods to first order; the law of cosines yields the angle of the crank."""
    found = compile_scene(loaded(slider_crank(position)))
    angle = np.arccos((0.1**2 + position**2 - 0.3**2) / (0.2 * position))
    assert abs(found.state.q[0]) == pytest.approx(angle, rel=1e-6)


@pytest.mark.parametrize("crank", [{}, {"q": "60 deg"}, {"q": "150 deg"}, {"q": "180 deg"}])
def test_a_slider_crank_far_from_closure_is_not_called_impossible(crank):
    """The slider is where a crank at 90 degrees holds it."""
    scene = slider_crank(np.sqrt(0.3**2 - 0.1**2), **crank)
    assert "above `simulation.assembly_tolerance`" in refusal(scene)
    found = compile_scene(loaded(scene, assembly_tolerance=10.0))
    assert abs(np.sin(found.state.q[0])) == pytest.approx(1.0, rel=1e-9)


def scaled(size: float, **fields):
    """The four-bar of another size, with a given rate of its crank."""
    scene = four_bar(**{"ja": {"v": 4.0}, "jb": {"q": 0.75}, **fields})
    for body in scene["bodies"].values():
        body["com"] = [size * x for x in body["com"]]
        body["inertia"] = {"principal": [size**2 * x for x in body["inertia"]["principal"]]}
    for joint in scene["joints"].values():
        for frame in ("origin", "child_origin"):
            if frame in joint:
                joint[frame] = joint[frame] | {"position": [size * float(x) for x in joint[frame]["position"]]}
    return scene


SIZES = (1e-9, 1e-6, 1e-3, 1e3, 1e6)


@pytest.mark.parametrize("size", SIZES)
def test_a_mechanism_of_any_size_is_assembled_alike(size):
    """Angles, rates and messages have the same digits, except those of lengths."""
    found, wanted = (compile_scene(loaded(scaled(s), assembly_tolerance=10.0 * s)) for s in (size, 1.0))
    np.testing.assert_allclose(found.state.q, wanted.state.q, rtol=1e-9)
    np.testing.assert_allclose(found.state.v, wanted.state.v, rtol=1e-9)
    assert found.state.v[0] == 4.0
    assert [digits(one, size) for one in found.warnings] == [digits(one, 1.0) for one in wanted.warnings]


@pytest.mark.parametrize("size", SIZES)
def test_a_mechanism_of_any_size_is_refused_alike(size):
    far = {"jb": {"q": 1.2}}
    assert digits(refusal(scaled(size, **far)), size) == digits(refusal(scaled(1.0, **far)), 1.0)
    contradictory = {"jc": {"v": 0.5}}
    allowed = {"assembly_tolerance": 10.0 * size}
    message = refusal(scaled(size, **contradictory), **allowed)
    assert "contradicts the given initial velocities" in message
    assert digits(message, size) == digits(refusal(scaled(1.0, **contradictory), assembly_tolerance=10.0), 1.0)


def digits(message: str, size: float) -> str:
    """The message with its lengths and speeds in units of the size."""
    body = message.split(": ", 1)[1]
    return re.sub(r"([-0-9.e+]+) (?=m\b(?! or rad))", lambda found: f"{float(found[1]) / size:.2g} ", body)


def test_rates_follow_from_a_given_rate():
    run = start(four_bar(ja={"v": 2.0}))
    assert run.joint("ja", "velocity")[0] == pytest.approx(2.0, abs=1e-12)
    assert run.errors()[1] < 1e-10
    assert abs(run.joint("jc", "velocity")[0]) > 0.1


def test_contradictory_rates_are_refused():
    message = refusal(four_bar(ja={"v": 2.0}, jb={"v": 0.0}, jc={"v": 0.0}))
    assert "contradicts the given initial velocities" in message


@pytest.mark.parametrize("tilt", [1e-10, 1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize("tilted", ["jb", "jc", "close"])
def test_a_plane_loop_with_a_tilted_axis_is_as_without_or_names_the_axes(tilted, tilt):
    """No branch far away is taken to close a loop that an axis off by round-off of a drawing keeps open."""
    aligned = compile_scene(loaded(four_bar(ja={"v": 2.0}))).state
    scene = four_bar(ja={"v": 2.0}, **{tilted: {"axis": [tilt, 1, 0]}})
    try:
        found = compile_scene(loaded(scene)).state
    except SceneError as refused:
        message = str(refused)
    else:
        np.testing.assert_allclose(found.q, aligned.q, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.v, aligned.v, rtol=0, atol=1e-6)
        return
    assert re.search(rf"axes of `.*`{tilted}`|axes of `{tilted}`", message)
    assert f"differ by {tilt:.3g} rad: write both with the same numbers" in message


def test_contradictory_motions_are_refused():
    scene = four_bar(
        ja={"motion": {"velocity": "1"}}, jc={"motion": {"velocity": "-30"}}, jb={"motion": {"velocity": "3"}}
    )
    assert "prescribed motions or constraints contradict each other" in refusal(scene)


def test_redundant_rows_are_named():
    (warning,) = (w for w in compile_scene(loaded(four_bar())).warnings if "depend on the others" in w)
    assert "joints.close: 3 of its 5 constraint rows (along y, about x, about z) depend on the others" in warning


def test_a_constraint_that_no_motion_changes_has_no_effect():
    """The distance of two points of bodies on one hinge axis, beside a loop with redundant rows."""
    scene = four_bar()
    ends = [{"body": "a", "point": [0, 0.3, 0]}, {"body": "world", "point": [0, -0.2, 0]}]
    scene["constraints"] = {"rod": {"type": "distance", "between": ends, "length": 0.5}}
    (warning,) = (w for w in compile_scene(loaded(scene)).warnings if "constraints.rod" in w)
    assert "1 of its 1 constraint rows (along the line of its points) has no effect in the initial state" in warning


def test_elements_with_the_same_redundant_rows_share_a_warning():
    scene, other = four_bar(), four_bar()
    scene["bodies"] |= {f"{name}2": body for name, body in other["bodies"].items()}
    for name, joint in other["joints"].items():
        ends = {end: f"{joint[end]}2" for end in ("parent", "child") if joint.get(end, "world") != "world"}
        scene["joints"][f"{name}2"] = joint | ends
    (warning,) = (w for w in compile_scene(loaded(scene)).warnings if "depend on the others" in w)
    assert "joints.close: 3 of its 5" in warning
    assert warning.endswith("(and 1 similar)")


@pytest.mark.parametrize("has_dry_friction", [True, False])
def test_the_warning_of_redundant_rows_names_the_dry_friction_that_depends_on_them(has_dry_friction):
    friction = {"friction": {"coefficient": 0.1, "surface": {"radius": 0.01, "length": 0.02}}}
    scene = four_bar(ja=friction if has_dry_friction else {})
    (warning,) = (w for w in compile_scene(loaded(scene)).warnings if "depend on the others" in w)
    assert ("dry friction" in warning) == has_dry_friction


def test_a_loop_joint_may_have_a_prescribed_position():
    """The tree assembles itself around it."""
    run = start(four_bar(close={"motion": {"position": "0.3 + 0.01"}}), assembly_tolerance=0.1)
    assert run.joint("close", "coordinates")[0] == pytest.approx(0.31, abs=1e-12)
    assert run.errors()[0] < 1e-10


COUPLER = {"rotation": {"axis": [0, 1, 0], "angle": "${atan2(sqrt(1280), 22)}"}}
ROCKER = {"rotation": {"axis": [0, 1, 0], "angle": "${atan2(sqrt(1280), 4)}"}}


def driven_linkage(order, **crank):
    """Test scene 32 of RedMax, in cm and g, with its joints in an order; a minus sign swaps parent and child."""

    def at(frame, x):
        return {**frame, "position": [x, 0, 0]}

    joints = {
        "crank": {"parent": "base", "child": "crank", "origin": at({}, -5), "child_origin": at({}, -2), **crank},
        "coupler": {"parent": "crank", "child": "coupler", "origin": at({}, 2), "child_origin": at(COUPLER, -7)},
        "rocker": {"parent": "coupler", "child": "rocker", "origin": at(COUPLER, 7), "child_origin": at(ROCKER, 6)},
        "loop": {"parent": "base", "child": "rocker", "origin": at({}, 5), "child_origin": at(ROCKER, -6)},
    }
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    scene = {
        "gravity": [0, 0, -980],
        "bodies": {
            name: {"density": 1, "shapes": [{"type": "box", "size": [length, 0.5, 0.5]}]}
            for name, length in (("base", 10), ("crank", 4), ("coupler", 14), ("rocker", 12))
        },
        "joints": {"base": {**hinge, "child": "base", "origin": {"position": [0, 0, 10]}, "q": np.pi}},
    }
    for word in order:
        joint = joints[word.lstrip("-")]
        if word.startswith("-"):
            swapped = {"parent": "child", "child": "parent", "origin": "child_origin", "child_origin": "origin"}
            joint = {swapped.get(key, key): value for key, value in joint.items()}
        scene["joints"][word.lstrip("-")] = {**hinge, **joint}
    return scene


CUTS = (
    ("crank", "coupler", "rocker", "loop"),
    ("crank", "coupler", "loop", "rocker"),
    ("crank", "loop", "-rocker", "coupler"),
    ("loop", "-rocker", "-coupler", "crank"),
)


DRIVEN, GIVEN = {"motion": {"velocity": 4 * np.pi}}, {"v": 4 * np.pi}


@pytest.mark.parametrize(("cut", "given"), [*((cut, DRIVEN) for cut in CUTS), *((cut, GIVEN) for cut in CUTS[:3])])
def test_the_impulsive_start_does_not_depend_on_the_joint_that_closes_the_loop(cut, given):
    """The kinetic energy is that of an independent planar Lagrangian formulation, erg."""
    run = start(driven_linkage(cut, **given))
    assert run.observed().kinetic[0] == pytest.approx(4942.964589990998, rel=1e-12)
    assert run.joint("crank", "velocity")[0] == pytest.approx(4 * np.pi, rel=1e-12)


def test_a_driven_arm_on_a_free_base_starts_without_momentum():
    """An impulsive start from rest applies equal and opposite impulses to the two bodies."""
    arm = {
        "type": "revolute",
        "parent": "base",
        "child": "arm",
        "axis": [0, 1, 0],
        "origin": {"position": [0.3, 0.1, 0]},
    }
    scene = {"bodies": {"base": bar(0.6), "arm": bar(0.5)}, "joints": {"arm": {**arm, "motion": {"velocity": 3.0}}}}
    run = start(scene)
    found = run.observed()
    assert run.joint("arm", "velocity")[0] == 3.0
    assert np.linalg.norm(run.body("base", "angular_velocity")) > 0.1
    np.testing.assert_allclose(found.linear_momentum[0], 0, atol=1e-14)
    np.testing.assert_allclose(found.angular_momentum[0], 0, atol=1e-14)
    [warning] = run.compiled.warnings
    assert (
        "joints.arm: the rates that the scene leaves out are those of an impulsive start from rest: `base`" in warning
    )


def test_a_given_rest_of_a_driven_base_is_kept():
    arm = {"type": "revolute", "parent": "base", "child": "arm", "axis": [0, 1, 0], "motion": {"velocity": 3.0}}
    base = {**bar(0.6), "velocity": {"linear": [0, 0, 0], "angular": [0, 0, 0]}}
    run = start({"bodies": {"base": base, "arm": bar(0.5)}, "joints": {"arm": arm}})
    np.testing.assert_array_equal(run.body("base", "angular_velocity"), 0)
    assert not run.compiled.warnings


def test_a_mechanism_that_nothing_drives_keeps_rates_of_zero():
    """A double pendulum beside a linkage that is completed: the rate that it leaves out is 0, as it would be alone."""
    scene = driven_linkage(CUTS[0], motion={"velocity": 4 * np.pi})
    scene["bodies"] |= {"upper": bar(0.5), "lower": bar(0.5)}
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    scene["joints"] |= {
        "upper": {**hinge, "child": "upper", "v": 2.0},
        "lower": {**hinge, "parent": "upper", "child": "lower", "origin": {"position": [0.5, 0, 0]}},
    }
    run = start(scene)
    assert (run.joint("upper", "velocity")[0], run.joint("lower", "velocity")[0]) == (2.0, 0.0)
    assert run.observed().kinetic[0] > 4942.9


# --- constraints that are not defined at the start --------------------------------------------------------------------
HINGES = {
    "bodies": {"a": bar(0.5), "b": bar(0.4)},
    "joints": {name: {"type": "revolute", "axis": [0, 1, 0], "child": name} for name in "ab"},
}


@pytest.mark.parametrize("value", ["log(x)", "sqrt(x)", "1/x"], ids=["value", "slope", "pole"])
def test_a_function_that_is_not_finite_at_the_start_is_named(value):
    """It was a division by zero somewhere; sqrt(x) has a value at 0, and no slope."""
    coupling = {"type": "function", "inputs": {"x": "a"}, "output": "b", "value": value}
    scene = {**HINGES, "couplings": {"lever": coupling}}
    with pytest.raises(
        SceneError, match=r"couplings\.lever: is not defined in the initial position, between a and b: its `value`"
    ):
        compile_scene(loaded(scene))


def test_a_function_is_defined_where_its_input_is_placed():
    """The input follows another coordinate; at 0, where the file leaves it, the logarithm has no value."""
    log = {"type": "function", "inputs": {"x": "b"}, "output": "c", "value": "log(x)"}
    scene = {
        "bodies": {**HINGES["bodies"], "c": bar(0.3)},
        "joints": {**HINGES["joints"], "c": {"type": "revolute", "axis": [0, 1, 0], "child": "c"}},
        "couplings": {"same": {"type": "equal", "joints": ["a", "b"]}, "log": log},
    }
    scene["joints"]["a"] = {**scene["joints"]["a"], "q": 0.5}
    np.testing.assert_allclose(compile_scene(loaded(scene)).state.q, [0.5, 0.5, np.log(0.5)], atol=1e-12)


def test_a_rope_to_a_point_within_its_pulley_is_refused_with_the_cause():
    disc = {"body": "world", "radius": 0.2, "axis": [0, 1, 0], "slides": True}
    over = [{"body": "world", "point": [-0.3, 0, -1]}, disc, {"body": "ball"}]
    ball = {"mass": 1, "inertia": {"principal": [1, 1, 1]}, "position": [0.1, 0, 0]}
    scene = {"bodies": {"ball": ball}, "constraints": {"rope": {"type": "rope", "over": over}}}
    with pytest.raises(
        SceneError, match=r"constraints\.rope: is not defined in the initial position, along it: .* within the circle"
    ):
        compile_scene(loaded(scene))


@pytest.mark.parametrize(
    ("q", "words"), [(0.0, "6 of its 6 constraint rows"), (0.001, "the initial state was assembled")]
)
def test_a_second_joint_of_a_child_is_named_as_one_that_closes_a_loop(q, words):
    """A second joint of a rod by mistake: a weld that repeats a weld, or that turns a hinge back to 0."""
    scene = four_bar()
    body = scene["bodies"]["a"]
    first = {"type": "fixed"} if q == 0.0 else {"type": "revolute", "axis": [0, 1, 0], "q": q}
    joints = {"first": first | {"child": "a"}, "second": {"type": "fixed", "child": "a"}}
    found = compile_scene(loaded({"bodies": {"a": body}, "joints": joints}))
    [warning] = [one for one in found.warnings if words in one]
    assert warning.endswith("; `second` closes a loop, because `first` carries `a` already: is its `child` right?")
