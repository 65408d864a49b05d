"""Ropes over pulleys and belts: closed forms of machines, by every method, with energy balanced."""

from __future__ import annotations

import math

import numpy as np
import pytest
from friction_trees import prepared

from multibody_cli import MemorySink
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

G, H, DURATION = 9.81, 1e-3, 0.2
every_method = pytest.mark.parametrize("method", METHODS)


def body(mass, inertia=0.01):
    return {"mass": mass, "inertia": {"principal": [inertia, inertia, inertia]}}


def slider(child, x, z, parent="world"):
    return {"type": "prismatic", "parent": parent, "child": child, "axis": [0, 0, 1], "origin": {"position": [x, 0, z]}}


def hinge(child, x=0.0, z=0.0, parent="world", **fields):
    origin = {"position": [x, 0, z]}
    return {"type": "revolute", "parent": parent, "child": child, "axis": [0, 1, 0], "origin": origin, **fields}


def pulley(name, radius, sense=1, x=0.0, z=0.0, **fields):
    return {"body": name, "point": [x, 0, z], "radius": radius, "axis": [0, 1, 0], "sense": sense, **fields}


def rope(*over, **fields):
    return {"type": "rope", "over": [one if isinstance(one, dict) else {"body": one} for one in over], **fields}


def belt(*over):
    return {"type": "belt", "over": list(over)}


def run(tmp_path, bodies, joints, constraints, method, duration=DURATION, step=H, balance=1e-10):
    own = {} if METHODS[method].own_integrator else {"integrator": "rk4"}
    settings = {"duration": duration, "step": step, "method": method, **own}
    scene = {"bodies": bodies, "joints": joints, "constraints": constraints, "simulation": settings}
    sink = MemorySink()
    prepared(tmp_path, {**scene, "output": {"every": 10 * step}}).run(sink)
    found = sink.trajectory()
    assert np.abs(found.channel("energy/ledger_residual").values).max() < balance
    return lambda name: found.channel(name).values


def accelerates(found, accelerations, tensions, duration=DURATION):
    """The rates grow evenly, and the tensions are constant."""
    for name, a in accelerations.items():
        np.testing.assert_allclose(found(f"joints/{name}/v")[:, 0], a * found("time"), rtol=1e-10, atol=1e-10)
    for name, expected in tensions.items():
        multiplier = found(f"constraints/{name}/multiplier")
        np.testing.assert_allclose(multiplier, np.tile(expected, (len(multiplier), 1)), rtol=1e-10, atol=1e-10)


@every_method
def test_atwood_machine_with_a_heavy_pulley(tmp_path, method):
    r, m, n, inertia = 0.2, 3.0, 1.0, 0.05
    bodies = {"wheel": body(2.0, inertia), "left": body(m), "right": body(n)}
    joints = {"axle": hinge("wheel"), "l": slider("left", -r, -1), "r": slider("right", r, -1.5)}
    found = run(tmp_path, bodies, joints, {"rope": rope("left", pulley("wheel", r), "right")}, method)
    a = (m - n) * G / (m + n + inertia / r**2)
    accelerates(found, {"l": -a, "r": a, "axle": -a / r}, {"rope": [m * (G - a), n * (G + a)]})


@every_method
def test_movable_pulley(tmp_path, method):
    """The load hangs in the bight between the ceiling and a fixed pulley; the weight moves twice as far."""
    r, s, load, m, i, j = 0.1, 0.15, 5.0, 3.0, 0.02, 0.03
    bodies = {"block": body(load - 1.0), "movable": body(1.0, i), "fixed": body(1.0, j), "weight": body(m)}
    joints = {
        "lift": slider("block", r, -1),
        "spin": hinge("movable", parent="block"),
        "axle": hinge("fixed", 2 * r + s),
    }
    joints["w"] = slider("weight", 2 * r + 2 * s, -0.7)
    over = {"body": "world"}, pulley("movable", r, -1), pulley("fixed", s), "weight"
    found = run(tmp_path, bodies, joints, {"rope": rope(*over)}, method)
    a = (2 * m - load) * G / (load + i / r**2 + 4 * m + 4 * j / s**2)
    last = m * (G - 2 * a)
    middle = last - 2 * a * j / s**2
    rates = {"lift": a, "w": -2 * a, "axle": 2 * a / s, "spin": -a / r}
    accelerates(found, rates, {"rope": [middle - a * i / r**2, middle, last]})


@every_method
def test_block_and_tackle(tmp_path, method):
    """Four strands carry the load: the rope slides over all pulleys under one tension."""
    r, load, m = 0.1, 9.0, 3.0
    bodies = {"block": body(load), "weight": body(m)}
    joints = {"lift": slider("block", 0, -1), "w": slider("weight", 8 * r, -0.8)}
    lower = [pulley("block", r, -1, x, slides=True) for x in (r, 5 * r)]
    upper = [pulley("world", r, 1, x, slides=True) for x in (3 * r, 7 * r)]
    over = {"body": "world"}, lower[0], upper[0], lower[1], upper[1], "weight"
    found = run(tmp_path, bodies, joints, {"rope": rope(*over)}, method)
    a = (4 * m - load) * G / (load + 16 * m)
    accelerates(found, {"lift": a, "w": -4 * a}, {"rope": [m * (G - 4 * a)]})


@every_method
def test_differential_hoist_of_weston(tmp_path, method):
    """Two drums on one axle, and a movable pulley in the bight between them: it rises by (R - r)/2 per radian."""
    big, small, load, inertia, i = 0.3, 0.2, 10.0, 0.4, 0.05
    radius, x = (big + small) / 2, (small - big) / 2
    bodies = {"axle": body(3.0, inertia), "block": body(load - 1.0), "wheel": body(1.0, i)}
    joints = {"turn": hinge("axle"), "lift": slider("block", x, -1), "spin": hinge("wheel", parent="block")}
    over = pulley("axle", big, -1), pulley("wheel", radius, -1), pulley("axle", small, -1)
    found = run(tmp_path, bodies, joints, {"chain": rope(*over)}, method)
    lever = (big - small) / 2
    angular = load * G * lever / (inertia + load * lever**2 + i)
    a = angular * lever
    both = load * (G - a)
    difference = i * angular / radius
    accelerates(found, {"lift": -a}, {"chain": [(both - difference) / 2, (both + difference) / 2]})
    np.testing.assert_allclose(np.abs(found("joints/turn/v")[-1, 0]), angular * DURATION, rtol=1e-10)


@every_method
def test_a_winch_lifts_at_its_speed(tmp_path, method):
    """The drum winds several turns; the tension is the weight, and the motor does the work of lifting."""
    r, m, rate = 0.05, 4.0, 30.0
    bodies = {"drum": body(1.0), "load": body(m)}
    joints = {"motor": hinge("drum", motion={"velocity": rate}), "lift": {**slider("load", -r, -2), "v": r * rate}}
    found = run(tmp_path, bodies, joints, {"rope": rope("load", pulley("drum", r))}, method, 0.5)
    np.testing.assert_allclose(found("joints/lift/q")[:, 0], r * rate * found("time"), atol=1e-10)
    np.testing.assert_allclose(found("constraints/rope/multiplier"), m * G, rtol=1e-10)
    np.testing.assert_allclose(found("energy/work/joints/motor/motion")[-1], m * G * r * rate * 0.5, rtol=1e-10)


@every_method
@pytest.mark.parametrize("sense", [1, -1], ids=["open", "crossed"])
def test_belt_drive_with_inertia(tmp_path, method, sense):
    """A weight on a drum drives the first pulley, which drives the second one by the belt."""
    r, s, drum, m, i, j = 0.1, 0.25, 0.15, 2.0, 0.05, 0.4
    bodies = {"a": body(1.0, i), "b": body(1.0, j), "weight": body(m)}
    joints = {"ha": hinge("a"), "hb": hinge("b", 1.0, 0.2), "w": slider("weight", -drum, -1)}
    constraints = {"belt": belt(pulley("a", r), pulley("b", s, sense)), "rope": rope("weight", pulley("a", drum))}
    found = run(tmp_path, bodies, joints, constraints, method)
    a = m * G / (m + i / drum**2 + j * (r / s / drum) ** 2)
    rates = {"w": -a, "ha": -a / drum, "hb": -sense * a / drum * r / s}
    accelerates(found, rates, {"rope": [m * (G - a)]})
    belts = found("constraints/belt/multiplier")
    difference = j * a / drum * r / s / s
    np.testing.assert_allclose(np.abs(belts[:, 0] - belts[:, 1]), difference, rtol=1e-10)


@every_method
def test_a_slack_rope_jerks_its_drum(tmp_path, method):
    """A weight falls freely by the slack s; then it shares its momentum with the drum."""
    r, m, inertia, slack, step = 0.2, 2.0, 0.12, 0.05, 2e-4
    bodies = {"drum": body(1.0, inertia), "weight": body(m)}
    joints = {"axle": hinge("drum"), "w": slider("weight", -r, -1)}
    own = {} if METHODS[method].own_integrator else {"integrator": "rk4"}
    settings = {"duration": 0.2, "step": step, "method": method, **own}
    constraints = {"rope": rope("weight", pulley("drum", r), slack=[slack])}
    scene = {"bodies": bodies, "joints": joints, "constraints": constraints, "simulation": settings}
    sink = MemorySink()
    prepared(tmp_path, {**scene, "output": {"every": step}}).run(sink)
    found = sink.trajectory().channel
    carried = inertia / r**2
    speed = math.sqrt(2.0 * G * slack)
    lost = 0.5 * speed**2 * m * carried / (m + carried)
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope").values[-1], lost, rtol=1e-2)
    after = found("time").values > speed / G + 2 * step
    np.testing.assert_allclose(
        found("constraints/rope/multiplier").values[after, 0], G * m * carried / (m + carried), rtol=1e-9
    )
    before = found("time").values < speed / G - 2 * step
    assert not found("joints/axle/v").values[before].any()
    assert not found("constraints/rope/multiplier").values[before].any()


@every_method
def test_a_rope_winds_round_a_post(tmp_path, method):
    """The free part l of a rope with a ball on a post of radius r: the speed is constant, and l^2 falls by 2 r v t."""
    r, v = 0.1, 6.0
    over = {"body": "world", "point": [-0.3, 0, -0.5]}, pulley("world", r, -1, slides=True), "ball"
    bodies = {"ball": body(1.0) | {"position": [1, 0, -r], "velocity": {"linear": [0, 0, v]}}}
    own = {} if METHODS[method].own_integrator else {"integrator": "rk4"}
    scene = {"gravity": [0, 0, 0], "bodies": bodies, "constraints": {"rope": rope(*over)}}
    settings = {"duration": 0.8, "step": 2e-4, "method": method, **own}
    prepared_once = prepared(tmp_path, {**scene, "simulation": settings, "output": {"every": 1e-2}})
    runs = [MemorySink(), MemorySink()]
    for sink in runs:  # the second run begins without the turns of the first one
        assert prepared_once.run(sink).outcome.status == "complete"
    found, again = (sink.trajectory() for sink in runs)
    time, free = found.channel("time").values, found.channel("constraints/rope/length").values[:, 1]
    np.testing.assert_allclose(free**2, 1.0 - 2.0 * r * v * time, rtol=0, atol=1e-5)
    x = found.channel("bodies/position").values[:, 0]
    turned = np.unwrap(np.arctan2(x[:, 2], x[:, 0]))[-1]
    assert turned > 1.1 * math.tau
    np.testing.assert_array_equal(again.channel("bodies/position").values[:, 0], x)


@every_method
@pytest.mark.parametrize("sense", [1, -1], ids=["open", "crossed"])
def test_a_belt_on_a_carrier_that_turns(tmp_path, method, sense):
    """A planet turns by the ratio of the belt while its arm goes round: the turns of the belt about the sun count."""
    bodies = {"arm": body(1.0, 5.0), "planet": body(1.0, 0.02), "sun": body(1.0, 0.03)}
    joints = {"arm": hinge("arm", v=9.0), "planet": hinge("planet", 0.5, parent="arm", v=0.3), "sun": hinge("sun")}
    constraints = {"belt": belt(pulley("sun", 0.1), pulley("planet", 0.15, sense))}
    balance = 1e-9 if METHODS[method].own_integrator is None else 1e-4
    found = run(tmp_path, bodies, joints, constraints, method, 1.5, balance=balance)
    arm, planet, sun = (found(f"joints/{name}/q")[:, 0] for name in joints)
    assert arm[-1] > 2.1 * math.tau
    np.testing.assert_allclose(0.1 * (sun - arm), sense * 0.15 * planet, rtol=0, atol=1e-10)


COINCIDE = "has no direction along it, where two points next to each other coincide: move one of them, or give"


def test_a_taut_rope_without_length_is_refused(tmp_path):
    """It would act in no direction."""
    settings = {"duration": 0.1, "step": H}
    scene = {"bodies": {"ball": body(1.0)}, "constraints": {"rope": rope("world", "ball")}, "simulation": settings}
    with pytest.raises(SceneError, match=COINCIDE):
        prepared(tmp_path, scene)
    scene["constraints"]["rope"]["slack"] = [0.1]
    prepared(tmp_path, scene)


@pytest.mark.parametrize("place", [[0, 0, 0], [0.3, 0.2, -0.1]], ids=["at the origin", "to round-off"])
def test_a_taut_rope_over_a_guide_without_length_is_refused(tmp_path, place):
    guide = {"body": "world", "point": place}
    load = body(1.0) | {"position": [1.1 * x for x in place]}
    over = guide, guide, {"body": "ball", "point": [-0.1 * x for x in place]}
    scene = {"bodies": {"ball": load}, "constraints": {"rope": rope(*over)}}
    with pytest.raises(SceneError, match=COINCIDE):
        prepared(tmp_path, scene | {"simulation": {"duration": 0.1, "step": H}})


def test_a_taut_rope_whose_end_is_at_its_guide_is_refused(tmp_path):
    """The tension has no direction on the end, although the rope has a length behind the guide."""
    guide = {"body": "world", "point": [0.1, 0, 2]}
    scene = {"bodies": {"end": body(1.0) | {"position": [0.1, 0, 2]}, "ball": body(1.0)}}
    scene["constraints"] = {"rope": rope("end", guide, "ball")}
    scene["simulation"] = {"duration": 0.1, "step": H}
    with pytest.raises(SceneError, match=COINCIDE):
        prepared(tmp_path, scene)
    scene["constraints"]["rope"]["slack"] = [0.1]
    prepared(tmp_path, scene)


@every_method
def test_a_belt_over_circles_that_overlap(tmp_path, method):
    """Seen along the axes the circles overlap; the pulleys are beside each other."""
    r, s = 0.1, 0.25
    bodies = {"first": body(1.0, 0.01), "second": body(1.0, 0.02)}
    joints = {"f": hinge("first", v=2.0), "s": hinge("second", 0.16)}
    belts = {"belt": belt(pulley("first", r), {**pulley("second", s), "point": [0, 0.05, 0]})}
    found = run(tmp_path, bodies, joints, belts, method)
    np.testing.assert_allclose(found("joints/s/q")[:, 0], 2.0 * r / s * found("time"), rtol=1e-10, atol=1e-12)


@every_method
def test_a_yo_yo_counts_its_turns(tmp_path, method):
    """It unwinds by more than a turn, in a joint of three coordinates of which the last one is its rotation."""
    r, m, inertia = 0.02, 0.3, 2e-4
    bodies = {"yoyo": body(m, inertia)}
    origin = {"position": [r, 0, -0.5], "rotation": {"axis": [1, 0, 0], "angle": math.pi / 2}}
    joints = {"plane": {"type": "free2d", "parent": "world", "child": "yoyo", "origin": origin}}
    over = {"body": "world"}, {"body": "yoyo", "radius": r, "axis": [0, 0, 1], "sense": 1}
    found = run(tmp_path, bodies, joints, {"string": rope(*over)}, method, 0.5)
    a = G / (1.0 + inertia / (m * r**2))
    time = found("time")
    q = found("joints/plane/q")
    assert np.abs(q[-1, 2]) > 2.0 * math.pi
    np.testing.assert_allclose(np.abs(q[:, 2]), 0.5 * a / r * time**2, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found("constraints/string/multiplier")[:, 0], m * (G - a), rtol=1e-9)


@every_method
def test_a_rope_is_taut_where_all_else_is_assembled(tmp_path, method):
    """A coupling places the weights, and the wheel keeps its angle; the position in the file is another one."""
    r, inertia = 0.2, 0.05
    bodies = {"wheel": body(2.0, inertia), "left": body(3.0), "right": body(1.0)}
    joints = {"axle": hinge("wheel"), "l": {**slider("left", -r, -1), "q": 0.3}, "r": slider("right", r, -1.5)}
    coupling = {"type": "linear", "terms": {"l": 1, "r": 1}, "value": 0.1}
    over = "left", pulley("wheel", r), "right"
    own = {} if METHODS[method].own_integrator else {"integrator": "rk4"}
    scene = {"bodies": bodies, "joints": joints, "couplings": {"cord": coupling}, "constraints": {"rope": rope(*over)}}
    scene["simulation"] = {"duration": 0.1, "step": H, "method": method, **own}
    sink = MemorySink()
    prepared(tmp_path, {**scene, "output": {"every": H}}).run(sink)
    found = sink.trajectory().channel
    np.testing.assert_allclose(found("joints/r/q").values[0], -0.2, atol=1e-12)
    np.testing.assert_allclose(found("constraints/rope/error").values[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(found("joints/axle/q").values[0], 0.0, atol=1e-12)
    a = 2.0 * G / (4.0 + inertia / r**2)
    np.testing.assert_allclose(found("joints/l/v").values[-1], -0.1 * a, rtol=1e-9)


SWINGS = {
    "off its peg": ([1, 0, -0.1], [0, 0, -9], -1, 0.0),
    "through the circle": ([0.5, 0, 0], [-2, 0, 0], 1, 0.5),
}


@pytest.mark.parametrize("method", ["aba", "baraff", "variational", "variational_maximal"])
@pytest.mark.parametrize(("position", "velocity", "sense", "slack"), SWINGS.values(), ids=SWINGS)
def test_a_rope_that_loses_its_length_makes_the_run_untrusted(tmp_path, method, position, velocity, sense, slack):
    """It cannot leave the peg by half a turn, and within the circle it has no length."""
    ball = body(1.0) | {"position": position, "velocity": {"linear": velocity}}
    over = {"body": "world", "point": [-0.3, 0, -0.5]}, pulley("world", 0.1, sense, slides=True), "ball"
    own = {} if METHODS[method].own_integrator else {"integrator": "rk4"}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"ball": ball},
        "constraints": {"rope": rope(*over, slack=[slack])},
        "simulation": {"duration": 1.6, "step": H, "method": method, **own},
        "output": {"every": 5 * H},
    }
    outcome = prepared(tmp_path, scene).run(MemorySink()).outcome
    assert outcome.status in ("untrusted", "diverged")
    if METHODS[method].own_integrator is None:
        assert "constraints `rope` is not defined, and has no effect there" in outcome.message


def test_a_rope_winds_by_less_than_half_a_turn(tmp_path):
    """A ball winds its rope up around a peg: energy and tension are those of the free length."""
    r, free, speed, height = 0.1, 1.0, 2.0, 1.0
    ball = body(1.0) | {"position": [r, 0, -free], "velocity": {"linear": [-speed, 0, 0]}}
    over = {"body": "world", "point": [r, 0, height]}, pulley("world", r, 1, slides=True), "ball"
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"ball": ball},
        "constraints": {"rope": rope(*over)},
        "simulation": {"duration": 0.8, "step": H, "integrator": "rk4"},
        "output": {"every": 10 * H},
    }
    sink = MemorySink()
    outcome = prepared(tmp_path, scene).run(sink).outcome
    found = sink.trajectory().channel
    assert outcome.status == "complete"
    time = found("time").values
    length = np.sqrt(free**2 - 2.0 * r * speed * time)  # the free length l winds with d(l^2/2)/dt = -r v
    x = found("bodies/position").values[:, 0]
    np.testing.assert_allclose(np.sqrt((x**2).sum(axis=1) - r**2), length, rtol=1e-8)
    np.testing.assert_allclose(found("constraints/rope/multiplier").values[:, 0], speed**2 / length, rtol=1e-6)


@pytest.mark.parametrize("method", ["aba", "baraff", "variational_maximal"])
@pytest.mark.parametrize("q", [0.0, 2.5, -40.0])
@pytest.mark.parametrize("drum", ["first", "last", "between"])
def test_a_pulley_may_start_at_any_angle_and_have_any_frame(tmp_path, method, q, drum):
    """Its axis z is that of the joint, against it in the sense -1; weights and rates are those of Atwood's machine."""
    r, m, inertia = 0.2, 3.0, 0.05
    frame = {"rotation": {"axis": [1, 0, 0], "angle": math.pi / 2}}
    wheel = {"body": "wheel", "radius": r, "axis": [0, 0, 1], "sense": 1 if drum != "first" else -1}
    joints = {"axle": hinge("wheel", q=q, child_origin=frame), "l": slider("left", -r, -1)}
    bodies = {"wheel": body(2.0, inertia), "left": body(m)}
    over = {"first": [wheel, "left"], "last": ["left", wheel], "between": ["left", wheel, "right"]}[drum]
    n = 0.0
    if drum == "between":
        n = 1.0
        bodies["right"], joints["r"] = body(n), slider("right", r, -1.5)
    found = run(tmp_path, bodies, joints, {"rope": rope(*over)}, method, 0.45)  # a turn that is not counted shows
    a = (m - n) * G / (m + n + inertia / r**2)
    np.testing.assert_allclose(found("constraints/rope/error")[0], 0.0, atol=1e-12)
    accelerates(found, {"l": -a, "axle": -a / r}, {})


@pytest.mark.parametrize("turns", [0, 2])
@pytest.mark.parametrize("tilt", [0.0, 0.7, -2.0])
@pytest.mark.parametrize("sense", [1, -1])
def test_a_given_length_is_that_of_the_spans_the_arc_and_the_turns(tmp_path, turns, tilt, sense):
    """A rope that only touches its disc wraps by 0, for any round-off of its direction."""
    r, radial = 0.2, np.array([math.cos(tilt), 0.0, math.sin(tilt)])
    along = np.array([math.sin(tilt), 0.0, -math.cos(tilt)])
    end = {"body": "world", "point": (r * radial - 0.5 * along).tolist()}
    disc = {"body": "world", "radius": r, "axis": [0, 1, 0], "sense": sense, "slides": True, "turns": turns}
    ball = body(1.0) | {"position": (r * radial + 0.3 * along).tolist()}
    over = [end, disc, {"body": "ball"}][::sense]
    scene = {"gravity": [0, 0, 0], "bodies": {"ball": ball}, "simulation": {"duration": H, "step": H}}
    scene["constraints"] = {"rope": rope(*over, length=0.9 + 2 * math.pi * r * turns)}
    sink = MemorySink()
    prepared(tmp_path, scene).run(sink)
    np.testing.assert_allclose(sink.trajectory().channel("constraints/rope/error").values[0], 0.1, atol=1e-12)
