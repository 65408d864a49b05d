"""Points of paths that move in their bodies with a coordinate, and points that exist in a range of one.

A point that moves in one body as a point of another body does is that point: paths through both are the same in every
method and integrator, step by step.
"""

from __future__ import annotations

import itertools
import json
from functools import cache

import numpy as np
import pytest
from loops import loaded
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from multibody_cli import MemorySink, load
from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.errors import SceneError
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.linearization import differentiate_forces
from multibody_cli.methods import METHODS
from multibody_cli.render.picture import Picture
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.tree.jacobian import add_jacobian_transposed_times
from multibody_cli.tree.workspace import workspace_for

every_method = pytest.mark.parametrize("method", METHODS)
BLOCK = {"mass": 1.5, "inertia": {"principal": [0.02, 0.03, 0.04]}}
JOINTS = {
    "slide": {"type": "prismatic", "axis": [0, 0.6, 0.8], "child": "a", "q": 0.1,
              "origin": {"position": [0.1, 0, 0.2]}},
    "turn": {"type": "revolute", "axis": [0, 1, 0], "child": "b", "origin": {"position": [0, 0.3, 0]}, "q": 0.3,
             "child_origin": {"position": [0, 0, 0.2]}},
    "wrist": {"type": "cylindrical", "axis": [0, 0, 1], "parent": "b", "child": "c", "q": [0.2, 0.4],
              "child_origin": {"position": [0.05, 0, 0.1]}},
}  # fmt: skip
PAIRS = {
    # of "slide" the point (0.2, 0.1, 0) of a, in the world
    "slide": ({"body": "a", "point": [0.2, 0.1, 0]}, ("world", "slide", ["0.3", "0.1 + 0.6*q", "0.2 + 0.8*q"])),
    # of "turn" the point (0.1, 0.2, -0.3) of b
    "turn": (
        {"body": "b", "point": [0.1, 0.2, -0.3]},
        ("world", "turn", ["0.1*cos(q) - 0.5*sin(q)", "0.5", "-0.1*sin(q) - 0.5*cos(q)"]),
    ),
    # of "turn" a point of the world, in b, which it does not leave
    "back": (
        {"body": "world", "point": [0.3, 0.2, -0.1]},
        ("b", "turn", ["0.3*cos(q) + 0.1*sin(q)", "-0.1", "0.3*sin(q) - 0.1*cos(q) + 0.2"]),
    ),
}


WHEEL = {"body": "b", "point": [0, 0.4, -0.2], "radius": 0.06, "axis": [0, 1, 0]}
DISC = {"body": "a", "point": [0.1, 0.5, 0.1], "radius": 0.08, "axis": [0.6, 0.8, 0], "slides": True}


def scene_of(pair, moving, settings, elastic=False, **sections):
    """A spring along a path through the point, or an elastic rope that leads over a wheel and a disc as well.

    The point may be the centre of another disc, whose axis has the direction of that of its joint.
    """
    fixed, (body, coordinate, place) = PAIRS[pair]
    point = {"body": body, "coordinate": coordinate, "moving": place} if moving else dict(fixed)
    far = {"body": "world", "point": [0.9, -0.4, 0.3]} if fixed["body"] != "world" else {"body": "a"}
    near = {"body": "c", "point": [0.1, 0.05, -0.1]}
    spring = {"path": [far, point, near], "stiffness": 400, "damping": 3, "rest_length": 0.6}
    if elastic:
        point |= {"radius": 0.03, "axis": [0, 1, 0], "slides": True} if elastic == "disc" else {}
        spring = {"over": [far, point, DISC, WHEEL, near], "stiffness": 400, "damping": 3, "tension": 40}
    own = METHODS[settings["method"]].own_integrator
    integrator = {} if own else {"integrator": "rk4"}
    return {
        "mbsim": 1,
        "name": "points",
        "bodies": dict.fromkeys("abc", BLOCK),
        "joints": JOINTS,
        "springs": {"s": spring},
        "simulation": {"duration": 0.1, "step": 1e-3, **integrator, **settings},
        "output": {"every": 0.01},
        **sections,
    }


def run_of(scene):
    sink = MemorySink()
    load(json.dumps(scene) + "\n").prepared.run(sink)
    return sink.trajectory()


def differences(pair, settings, elastic=False):
    """Largest differences of channels between a path with the moving point and with the fixed one."""
    fixed, moving = (run_of(scene_of(pair, one, settings, elastic)) for one in (False, True))
    own = ("strain", "tension") if elastic else ("length", "force")
    paths = (*(f"springs/s/{name}" for name in own),
             "joints/slide/q", "joints/turn/v", "joints/wrist/acceleration")  # fmt: skip
    values = [[found.channel(path).values for found in (fixed, moving)] for path in paths]
    assert np.ptp(values[0][0]) > 0.01
    return np.array([np.abs(other - one).max() / (1.0 + np.abs(one).max()) for one, other in values])


REDUCED = ["aba", "redmax", "symbolic", "variational"]
pairs = pytest.mark.parametrize("pair", PAIRS)


@pytest.mark.parametrize("elastic", [False, "rope", "disc"])
@pytest.mark.parametrize("method", REDUCED)
@pairs
def test_a_point_that_moves_as_a_point_of_another_body_is_that_point(method, pair, elastic):
    assert differences(pair, {"method": method}, elastic).max() < 1e-11


@pytest.mark.parametrize("elastic", [False, True], ids=["path", "rope"])
@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
@pytest.mark.parametrize("method", REDUCED[:3])
@pairs
def test_implicit_steps_are_the_same(integrator, method, pair, elastic):
    assert differences(pair, {"method": method, "integrator": integrator, "step": 5e-3}, elastic).max() < 1e-11


@pytest.mark.parametrize(
    ("method", "integrator", "order"),
    [("baraff", "rk4", 4), ("baraff", "linearly_implicit_euler", 1), ("baraff", "sdirk2", 2),
     ("variational_maximal", None, 2)],
)  # fmt: skip
@pytest.mark.parametrize("elastic", [False, "rope", "disc"])
@pairs
def test_maximal_coordinates_agree_with_the_order_of_the_step(method, integrator, order, pair, elastic):
    """Off the manifold of the joint, within a step, the two points differ."""
    settings = {"method": method, **({"integrator": integrator} if integrator else {})}
    coarse, fine = (differences(pair, {**settings, "step": h}, elastic) for h in (2.5e-3, 1.25e-3))
    assert coarse.max() < 0.05
    assert (fine < 1e-12).all() if coarse.max() < 1e-12 else fine.max() < 1.5 * coarse.max() / 2**order


def roped(pair, moving, settings, one_sided):
    scene = scene_of(pair, moving, settings, gravity=[1, 2, -9.81])
    path = scene.pop("springs")["s"]["path"]
    length = start_length(pair)
    if one_sided == "friction":
        path[1] = {**path[1], "friction": 0.3}
        if not METHODS[settings["method"]].own_integrator:  # of first order, so that errors of the step are larger
            step = 2e-4 if METHODS[settings["method"]].maximal else 1e-3
            scene["simulation"] |= {"integrator": "semi_implicit_euler", "step": step}
        scene["gravity"] = [1, 2, -9.81] if pair == "slide" else [-1, -2, 9.81]  # so that the rope is taut
    if one_sided in ("rope", "friction"):
        return {**scene, "constraints": {"s": {"type": "rope", "over": path, "length": length}}}
    limits = [None, length] if pair == "slide" else [length, None]  # a rope or a strut, whichever is loaded
    bounds = {"limits": limits} if one_sided else {"length": length}
    return {**scene, "constraints": {"s": {"type": "distance", "path": path, **bounds}}}


@cache
def start_length(pair):
    return float(run_of(scene_of(pair, False, {"method": "aba"})).channel("springs/s/length").values[0])


ROPES = [*itertools.product(METHODS, PAIRS, [False, True]), *((method, "slide", "rope") for method in METHODS)]
WITH_FRICTION = [*((method, "slide") for method in METHODS), *((method, "back") for method in REDUCED)]


@pytest.mark.parametrize(
    ("method", "pair", "one_sided"), [*ROPES, *((method, pair, "friction") for method, pair in WITH_FRICTION)]
)
def test_ropes_through_points_that_move(method, pair, one_sided):
    """The start is moved onto the constraint; maximal coordinates differ by errors of the step."""
    settings = {"method": method, "duration": 0.2}
    fixed, moving = (run_of(roped(pair, one, settings, one_sided)) for one in (False, True))
    bound = 1e-9 if method in REDUCED else 2e-3
    for path in ("joints/slide/q", "joints/turn/q", "joints/wrist/q", "constraints/s/multiplier"):
        one, other = (found.channel(path).values for found in (fixed, moving))
        np.testing.assert_allclose(other, one, atol=bound * (1.0 + np.abs(one).max()), err_msg=path)
    assert np.abs(moving.channel("constraints/s/error").values).max() < 1e-9 or one_sided
    assert np.abs(fixed.channel("constraints/s/multiplier").values).max() > 1.0
    if one_sided == "friction":
        one, other = (found.channel("constraints/s/friction").values for found in (fixed, moving))
        np.testing.assert_allclose(other, one, atol=bound * (1.0 + np.abs(one).max()))
        assert np.abs(one).max() > 0.1


# --- lengths, moment arms, and derivatives ----------------------------------------------------------------------------
X, Y = [-1.0, -0.3, 0.2, 0.9, 2.0], [0.03, 0.05, 0.02, 0.06, -0.01]
SPLINE = CubicSpline(X, Y, bc_type="natural")
MIXED = [
    {"body": "world", "point": [0.9, -0.4, 0.3]},
    {"body": "b", "coordinate": "turn", "moving": ["f(q)", "0.1*q**2", 0.05], "functions": {"f": {"x": X, "y": Y}}},
    {"body": "c", "coordinate": "wrist/1", "moving": [0.1, "0.05 + 0.3*q", "-0.1*sin(3*q)"]},
    {"body": "a", "coordinate": "wrist/0", "moving": ["0.2 - 0.1*q", "0.1*cos(q)", 0]},
]


def turned(axis, angle):
    return Rotation.from_rotvec(np.array(axis) * angle).as_matrix()


def written_length(slide, turn, angle, travel):
    """Length of the path `MIXED` for the coordinates."""
    R = turned([0, 1, 0], turn)
    b = np.array([0, 0.3, 0]) - R @ [0, 0, 0.2]
    C = R @ turned([0, 0, 1], angle)
    c = b + R @ [0, 0, travel] - C @ [0.05, 0, 0.1]
    a = np.array([0.1, 0, 0.2]) + slide * np.array([0, 0.6, 0.8])
    points = [
        np.array([0.9, -0.4, 0.3]),
        b + R @ [SPLINE(turn), 0.1 * turn**2, 0.05],
        c + C @ [0.1, 0.05 + 0.3 * travel, -0.1 * np.sin(3 * travel)],
        a + np.array([0.2 - 0.1 * angle, 0.1 * np.cos(angle), 0]),
    ]
    return np.linalg.norm(np.diff(points, axis=0), axis=1).sum()


@every_method
def test_lengths_rates_and_moment_arms_are_those_of_the_written_path(method):
    muscle = {"path": MIXED, "max_isometric_force": 40, "optimal_length": 1.2, "tendon_slack_length": 0.4,
              "max_velocity": 10, "activation": 0.5}  # fmt: skip
    found = run_of(scene_of("slide", True, {"method": method, "duration": 0.2}, springs={}, muscles={"m": muscle}))
    value = {path: found.channel(path).values for path in found.paths if not path.startswith("contacts")}
    q, v = (np.hstack([value[f"joints/{name}/{word}"] for name in JOINTS]) for word in "qv")
    arms = value["muscles/m/moment_arm"]
    assert arms.shape == q.shape
    assert np.ptp(arms, axis=0).min() > 1e-3
    h = 1e-5 * np.eye(4)
    for k in range(len(q)):
        slopes = [(written_length(*(q[k] + one)) - written_length(*(q[k] - one))) / 2e-5 for one in h]
        assert value["muscles/m/length"][k] == pytest.approx(written_length(*q[k]), abs=1e-9)
        np.testing.assert_allclose(arms[k], -np.array(slopes), atol=1e-8)
        assert value["muscles/m/velocity"][k] == pytest.approx(np.dot(slopes, v[k]), abs=1e-7)


@pytest.mark.parametrize("elastic", [False, "rope", "pulleys", "belt"])
def test_exact_stiffness_and_damping_are_derivatives_of_the_force(elastic):
    """Of joints on the ground, whose motion subspaces are constant: K = d tau/dq and D = d tau/dv.

    The elastic rope is always taut, and leads over a disc and a wheel as well, whose centres move with `pulleys`.
    """
    path = [
        {"body": "a", "coordinate": "turn", "moving": ["0.2 + 0.1*q", "0.1*q**2", "0.3*sin(q)"]},
        {"body": "b", "coordinate": "slide", "moving": ["q**3", "0.5 + 0.3*q", "-0.2*cos(2*q)"]},
        {"body": "world", "coordinate": "turn", "moving": [0.5, "sin(2*q)/4", "0.4 - 0.2*q"]},
    ]
    spring = {"path": path, "stiffness": 300, "damping": 20, "rest_length": 0.3}
    if elastic:
        discs = DISC, {**WHEEL, "sense": -1}
        if elastic != "rope":
            discs = [{**{key: one[key] for key in one if key != "point"}, **path[k]} for k, one in enumerate(discs)]
        over = [*path[:2], *discs, path[2]] if elastic != "belt" else discs
        spring = {"over": over, "closed": elastic == "belt", "stiffness": 30, "damping": 2, "tension": 3000}
    joints = {name: JOINTS[name] for name in ("slide", "turn")}
    bodies = dict.fromkeys("ab", BLOCK)
    scene = scene_of("slide", True, {"method": "aba"}, springs={"s": spring}, joints=joints, bodies=bodies)
    compiled = compile_scene(loaded(scene))
    system, work = compiled.model.system, workspace_for(compiled.model.system)
    powers = np.zeros(len(compiled.model.names.accounts))

    def tau(q, v):
        q, v, found = q.copy(), v.copy(), np.zeros(2)
        update_kinematics(system, 0.0, q, v, np.zeros(2), work)
        work.bodies["t"], work.bodies["f"] = 0.0, 0.0
        apply_forces(system.forces, 0.0, q, v, work, powers)
        work.wrenches["t"], work.wrenches["f"] = -work.bodies["t"], -work.bodies["f"]
        add_jacobian_transposed_times(system.tree, work, found)
        return found

    rng, h = np.random.default_rng(2), 1e-5 * np.eye(2)
    for _ in range(5):
        q, v = rng.normal(size=(2, 2))
        state = compiled.state._replace(q=q, v=v)
        K, D = np.zeros((2, 2)), np.zeros((2, 2))
        differentiate_forces(system, work, state, powers, K, D)
        wanted = np.array([(tau(q + one, v) - tau(q - one, v)) / 2e-5 for one in h]).T
        np.testing.assert_allclose(K, wanted, atol=1e-6 * np.abs(wanted).max())
        wanted = np.array([(tau(q, v + one) - tau(q, v - one)) / 2e-5 for one in h]).T
        np.testing.assert_allclose(D, wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_a_prescribed_coordinate_moves_a_point_and_its_drive_does_the_work(method):
    joints = {**JOINTS, "turn": {**JOINTS["turn"], "q": None, "motion": {"position": "0.3 + sin(4*t)**2"}}}
    joints["turn"].pop("q")
    springs = {"s": {"path": MIXED, "stiffness": 200, "damping": 5, "rest_length": 0.5}}
    settings = {"method": method, "duration": 0.3}
    drift = []
    for step in (2e-3, 1e-3):
        found = run_of(scene_of("slide", True, {**settings, "step": step}, springs=springs, joints=joints))
        total = sum(found.channel(f"energy/{word}").values for word in ("kinetic", "potential", "elastic"))
        total -= sum(found.channel(path).values for path in found.paths if path.startswith("energy/work/"))
        total += sum(found.channel(path).values for path in found.paths if path.startswith("energy/dissipation/"))
        drift.append(np.ptp(total))
    assert drift[1] < 1e-4
    assert drift[1] < drift[0] / 12.0


def test_tensions_of_a_simulation_are_those_of_its_present_state():
    """Where no force has been evaluated since the state was set."""
    muscle = {"path": MIXED, "max_isometric_force": 40, "optimal_length": 1.2, "activation": 0.5, "max_velocity": 10}
    scene = scene_of("slide", True, {"method": "aba"}, springs={}, muscles={"m": muscle})
    found = run_of(scene)
    compiled = compile_scene(loaded(scene))
    q = np.hstack([found.channel(f"joints/{name}/q").values[-1] for name in JOINTS])
    v = np.hstack([found.channel(f"joints/{name}/v").values[-1] for name in JOINTS])
    state = compiled.state._replace(q=q, v=v)
    tension = EquationsOfMotion(compiled.model).tensions(state)[0]
    assert tension == pytest.approx(found.channel("muscles/m/force").values[-1], rel=1e-9)


def test_a_picture_has_the_lines_of_the_path():
    """Of all instants, with a point that vanishes; they are as long as the path."""
    path = [*MIXED[:3], {"body": "b", "point": [0.3, 0.1, 0.2], "coordinate": "turn", "range": [-6, 0.2]}, MIXED[3]]
    scene = scene_of("slide", True, {"method": "aba"}, springs={"s": {"path": path, "stiffness": 9, "rest_length": 1}})
    compiled = load(json.dumps(scene) + "\n")
    sink = MemorySink()
    compiled.prepared.run(sink)
    picture = Picture(compiled.prepared.loaded, sink.trajectory(), np.arange(11))
    ends = [[picture.motion.point(body, at) for body, at in zip(bar.bodies, bar.points, strict=True)]
            for bar in picture.drawing.bars]  # fmt: skip
    found = sum(np.linalg.norm(end - begin, axis=1) for begin, end in ends)
    np.testing.assert_allclose(found, sink.trajectory().channel("springs/s/length").values, atol=1e-5)


# --- points in a range ------------------------------------------------------------------------------------------------
AT = [0.3, 0.1, 0.2]
WRAP = {"wrap": {"type": "sphere", "body": "c", "radius": 0.05, "position": [0, 0, 0.3]}}
PATHS = {
    "points": ([MIXED[0], MIXED[2]], [{"body": "a", "point": [0.1, 0, 0]}]),
    "before a surface": ([MIXED[0]], [WRAP, {"body": "a", "point": [0.1, 0, 0]}]),
    "behind a surface": ([MIXED[0], WRAP], [{"body": "a", "point": [0.1, 0, 0]}]),
}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("method", ["aba", "baraff", "variational_maximal"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_path_without_a_point_is_that_without_the_point(name, method, exists):
    before, after = PATHS[name]
    point = {"body": "b", "point": AT}
    bounds = {"coordinate": "wrist/0", "range": [-6, 6] if exists else [5, 6]}
    paths = [*before, {**point, **bounds}, *after], [*before, *([point] if exists else []), *after]
    found = [
        run_of(scene_of("slide", True, {"method": method},
                        springs={"s": {"path": path, "stiffness": 300, "damping": 2, "rest_length": 0.5}}))
        for path in paths
    ]  # fmt: skip
    for channel in ("springs/s/length", "springs/s/force", "joints/turn/v"):
        np.testing.assert_array_equal(*(one.channel(channel).values for one in found))


def test_surfaces_on_both_sides_of_an_absent_point_count_once():
    """While the point is there the path wraps over the ball before and behind it, and passes it after it vanished."""
    ball = {"wrap": {"type": "sphere", "body": "c", "radius": 0.12, "position": [0, 0, 0.1]}, "side": [-1, 0, 0]}
    there, end = {"body": "b", "point": [0.05, 0.02, 0.25]}, {"body": "a", "point": [0.1, 0, 0]}
    through = {**there, "coordinate": "turn", "range": [-6, 0.305]}
    given = [MIXED[0], ball, through, ball, end], [MIXED[0], ball, end], [MIXED[0], ball, there, ball, end]
    given = *given, [MIXED[0], there, ball, end], [MIXED[0], ball, there, end]
    runs = [
        run_of(scene_of("slide", True, {"method": "aba", "duration": 0.05},
                        joints={**JOINTS, "turn": {**JOINTS["turn"], "v": v}},
                        springs={"s": {"path": path, "stiffness": 0.1, "rest_length": 0.5}}))
        for path in given for v in (1.0, -1.0)
    ]  # fmt: skip
    lengths = [run.channel("springs/s/length").values for run in runs]
    turn = runs[0].channel("joints/turn/q").values[:, 0]
    assert turn[-1] > 0.305 > turn[0]
    assert (lengths[4] - lengths[6] > 0.2).all()  # both arcs are there
    assert (lengths[4] - lengths[8] > 0.2).all()
    np.testing.assert_allclose(lengths[1], lengths[5], atol=1e-9)  # it turns back, within the range
    for k in (0, -1):
        np.testing.assert_allclose(lengths[0][k], lengths[2 if k else 4][k], atol=1e-5)


# --- refused ----------------------------------------------------------------------------------------------------------
WRONG = {
    "path[1].moving: expected the `coordinate` on which it depends": {"moving": ["q", 0, 0]},
    "path[1].coordinate: has no effect without `moving` or `range`": {"coordinate": "turn"},
    "path[1].point: has no effect beside `moving`": {"coordinate": "turn", "moving": ["q", 0, 0], "point": [1, 2, 3]},
    "path[1].functions: has no effect without `moving`": {
        "coordinate": "turn", "range": [0, 1], "functions": {"f": {"x": X, "y": Y}}},
    "no expression uses it": {"coordinate": "turn", "moving": [1, 0, 0]},
    "unknown joint `trun`": {"coordinate": "trun", "moving": ["q", 0, 0]},
    "`wrist` has 2 coordinates": {"coordinate": "wrist", "moving": ["q", 0, 0]},
    "expected a lower value below the upper one": {"coordinate": "turn", "range": [1, 0]},
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_points_without_meaning_are_refused(message):
    path = [MIXED[0], {"body": "b", **WRONG[message]}, {"body": "a"}]
    springs = {"s": {"path": path, "stiffness": 1, "rest_length": 1}}
    with pytest.raises(SceneError) as found:
        load(json.dumps(scene_of("slide", True, {"method": "aba"}, springs=springs)) + "\n")
    assert message in str(found.value)


def test_jumps_of_constraints_and_of_paths_with_friction_are_refused_by_name():
    ranged = [MIXED[0], {"body": "b", "coordinate": "turn", "range": [0, 1]}, {"body": "a"}]
    scene = scene_of("slide", True, {"method": "aba"}, paths={"p": {"path": ranged, "friction": 3}},
                     constraints={"c": {"type": "distance", "path": ranged, "length": 1}})  # fmt: skip
    with pytest.raises(SceneError) as found:
        load(json.dumps(scene) + "\n")
    assert "paths.p.friction: `friction` is not supported with the `range` of a point" in str(found.value)
    assert "constraints.c.path[1].range: the length of a constraint does not jump" in str(found.value)


def pendulum(path, settings):
    """A weight on a hinge, which a spring along the path pulls through an end of the range."""
    scene = {
        "bodies": {"b": BLOCK},
        "joints": {"turn": {"type": "revolute", "axis": [0, 1, 0], "child": "b", "q": -0.4, "v": 3}},
        "springs": {"s": {"path": path, "stiffness": 0.2, "rest_length": 0.1}},
        "simulation": {"duration": 0.4, "step": 1e-3, "integrator": "rk4", **settings},
    }
    return {"mbsim": 1, "name": "range", "gravity": [0, 0, 0], **scene}


@pytest.mark.parametrize("settings", [{}, {"integrator": "linearly_implicit_euler"}, {"method": "baraff"}])
@pytest.mark.parametrize(("height", "jumps"), [(0.0, False), (0.05, True)])
def test_a_jump_of_the_length_at_an_end_of_a_range_is_reported(settings, height, jumps):
    """At q = 0 the line between the neighbors is along x, through the point at the height 0."""
    point = {"body": "world", "point": [0.2, 0, height], "coordinate": "turn", "range": [0, 6]}
    path = [{"body": "world", "point": [-0.5, 0, 0]}, point, {"body": "b", "point": [0.6, 0, 0]}]
    sink, scene = MemorySink(), load(json.dumps(pendulum(path, settings)) + "\n")
    message = scene.prepared.run(sink).outcome.message
    found = sink.trajectory()
    q, length = (found.channel(name).values for name in ("joints/turn/q", "springs/s/length"))
    assert q.min() < 0.0 < q.max()
    assert (np.abs(np.diff(length)).max() > 2e-3) == jumps
    assert ("spring `s`: its length jumped" in message) == jumps
