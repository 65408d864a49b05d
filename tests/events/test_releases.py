"""Joints, ropes and belts that events release and close: closed forms of motion and energy, by all methods."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipk

import mbsim
from multibody_cli.document.source import SceneText
from multibody_cli.errors import SceneError
from multibody_cli.studies.simulation import prepare

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
ORDER = {method: ("simulation.options.order=6",) for method in METHODS[4:]}
by_all_methods = pytest.mark.parametrize("method", METHODS)


def run(text, method, one_sided=False):
    order = () if one_sided else ORDER.get(method, ())  # steps of order 4 and 6 have no one-sided constraints
    simulation = prepare(SceneText(text, Path("scene.yaml")), [f"simulation.method={method}", *order])
    summary, trajectory = simulation.run_in_memory()
    assert summary.outcome.status == "complete", summary.outcome.message
    return trajectory


def final(trajectory, channel):
    return np.ravel(trajectory.channel(channel).values[-1])


PENDULUM = """
mbsim: 1
bodies:
  bob: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.1, 0.1]}, rotation: {axis: [0, 1, 0], angle: 1.2}}
joints:
  hinge: {type: revolute, child: bob, axis: [0, 1, 0], active: true}
events:
  release: {when: joints.hinge.q, direction: falling, once: true, set: {joints.hinge.active: false}}
  landing: {when: bodies.bob.com.z + 1.5, direction: falling, end: true}
simulation: {duration: 2, step: 0.5 ms}
"""


@by_all_methods
def test_a_pendulum_that_leaves_its_joint_flies_on_a_parabola(method):
    """It leaves at the lowest point, after a quarter period; its centre lands after sqrt(2 h / g)."""
    trajectory = run(PENDULUM, method)
    g, h, inertia = 9.81, 1.0, 0.1 + 0.25
    quarter = ellipk(math.sin(0.6) ** 2) / math.sqrt(g * 0.5 / inertia)
    rate = math.sqrt(2.0 * g * 0.5 * (1.0 - math.cos(1.2)) / inertia)
    flight = math.sqrt(2.0 * h / g)
    left, landed = trajectory.events.of("release")[0], trajectory.events.of("landing")[0]
    tolerance = 2e-9 if method in ORDER else 1e-11
    assert left == pytest.approx(quarter, abs=tolerance)
    assert landed - left == pytest.approx(flight, abs=1e-12 if method not in ORDER else tolerance)
    com = final(trajectory, "bodies/bob/com")
    np.testing.assert_allclose(com, [0.5 * rate * flight, 0.0, -1.5], atol=10 * tolerance)
    np.testing.assert_allclose(final(trajectory, "bodies/angular_velocity"), [0.0, -rate, 0.0], atol=10 * tolerance)
    assert final(trajectory, "energy/work/events/release") == pytest.approx([0.0], abs=1e-10)
    released = trajectory.time > left
    np.testing.assert_allclose(trajectory.channel("joints/hinge/constraint_error").values[released], 0.0, atol=1e-15)
    np.testing.assert_allclose(trajectory.channel("joints/hinge/q").values[released], 0.0, atol=1e-12)
    np.testing.assert_allclose(trajectory.channel("joints/hinge/force").values[released], 0.0, atol=1e-12)
    assert np.abs(trajectory.channel("energy/ledger_residual").values).max() < (1e-7 if method in ORDER else 1e-9)


SPRUNG = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  carrier: {mass: 1, inertia: {principal: [1, 1, 1]}}
  bob: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  ground: {type: fixed, child: carrier}
  hinge: {JOINT, parent: carrier, child: bob, active: true, stiffness: 3, FORCE, REST}
events:
  release: {when: t - 0.30003, once: true, set: {joints.hinge.active: false}}
simulation: {duration: 1, step: 0.5 ms}
"""
JOINT_AT_REST = {
    "revolute": ("type: revolute, axis: [0, 1, 0]", "force: 0.2", "rest: 0.5"),
    "spherical": ("type: spherical", "force: [0, 0.2, 0]", "rest: {axis: [0, 1, 0], angle: 0.5}"),
}


@by_all_methods
@pytest.mark.parametrize("joint", JOINT_AT_REST)
def test_a_released_joint_takes_its_spring_out_of_the_energy(joint, method):
    """The hinge swings as an oscillator until then; its spring has no energy without it, and the event removes it."""
    text = SPRUNG
    for word, value in zip(("JOINT", "FORCE", "REST"), JOINT_AT_REST[joint], strict=True):
        text = text.replace(word, value)
    trajectory = run(text, method)
    k, rest, force, inertia, left = 3.0, 0.5, 0.2, 0.1 + 0.25, 0.30003
    w, mean = math.sqrt(k / inertia), rest + force / k
    angle, rate = mean * (1.0 - math.cos(w * left)), mean * w * math.sin(w * left)
    stored = 0.5 * k * (angle - rest) ** 2
    tolerance = 1e-8
    assert stored > 0.01
    released = trajectory.time > left
    np.testing.assert_array_equal(trajectory.channel("energy/elastic").values[released], 0.0)
    np.testing.assert_array_equal(trajectory.channel("joints/hinge/force").values[released], 0.0)
    assert final(trajectory, "energy/work/events/release") == pytest.approx([-stored], abs=tolerance)
    assert final(trajectory, "energy/kinetic") == pytest.approx([0.5 * inertia * rate**2], abs=tolerance)
    assert final(trajectory, "energy/work/joints/hinge/force") == pytest.approx([force * angle], abs=tolerance)
    assert np.abs(trajectory.channel("energy/ledger_residual").values).max() < tolerance


LATCH = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  a: {mass: 1, inertia: {principal: [0.1, 0.2, 0.3]}, position: [-1, 0, 0], velocity: {linear: [1, 0, 0]}}
  b: {mass: 3, inertia: {principal: [0.3, 0.2, 0.4]}, position: [0.50003, 0.3, 0]}
joints:
  latch: {type: fixed, parent: a, child: b, origin: {position: [0.5, 0.3, 0]}, active: false}
events:
  meet:
    when: bodies.b.position.x - bodies.a.position.x - 0.5
    direction: falling
    once: true
    set: {joints.latch.active: true}
simulation: {duration: 2, step: 1 ms}
"""


@by_all_methods
def test_two_bodies_that_latch_in_flight(method):
    """Linear and angular momentum stay, both have one twist, and the energy of the difference is lost."""
    trajectory = run(LATCH, method)
    mu, r2 = 0.75, 0.34
    spin = 0.3 * mu / (0.3 + 0.4 + mu * r2)
    assert trajectory.events.time == pytest.approx([1.00003], abs=1e-12)
    lost = 0.5 * mu - 0.5 * (0.7 + mu * r2) * spin**2
    assert final(trajectory, "energy/work/events/meet") == pytest.approx([-lost], abs=1e-10)
    angular = trajectory.channel("bodies/angular_velocity").values[-1]
    np.testing.assert_allclose(angular, [[0.0, 0.0, spin]] * 2, atol=1e-9)
    for name in ("linear", "angular"):
        momentum = trajectory.channel(f"momentum/{name}").values
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9, err_msg=name)
    apart = np.diff(trajectory.channel("bodies/position").values[-1], axis=0)
    assert np.linalg.norm(apart) == pytest.approx(math.sqrt(r2), abs=1e-9)
    centre = np.array([(3 * 0.50003 - 1.0) / 4.0 + 0.25 * 2.0, 0.9 / 4.0, 0.0])
    found = trajectory.channel("bodies/position").values[-1]
    np.testing.assert_allclose((found[0] + 3.0 * found[1]) / 4.0, centre, atol=1e-9)


ROPE = """
mbsim: 1
gravity: [0, 0, GRAVITY]
bodies:
  ball: {mass: 2, inertia: {principal: [1, 1, 1]}, position: POSITION, velocity: {linear: VELOCITY}}
constraints:
  rope: {type: rope, over: [{body: world}, {body: ball}], ACTIVE}
events:
  change: {when: "WHEN", once: true, set: {constraints.rope.active: SET}}
simulation: {duration: 1, step: 1 ms}
"""


def rope(**words):
    text = ROPE
    for name, value in words.items():
        text = text.replace(name.upper(), str(value))
    return text


@by_all_methods
def test_a_load_falls_where_its_rope_is_cut(method):
    text = rope(gravity=-10, position=[0, 0, -1], velocity=[0, 0, 0], active="active: true", when="t - 0.30003",
                set="false")  # fmt: skip
    trajectory = run(text, method, one_sided=True)
    t = trajectory.time - 0.30003
    z = trajectory.channel("bodies/position").values[:, 0, 2]
    np.testing.assert_allclose(z, -1.0 - 5.0 * np.maximum(t, 0.0) ** 2, atol=1e-10)
    tension = trajectory.channel("constraints/rope/multiplier").values[:, 0]
    np.testing.assert_allclose(tension, np.where(t > 0.0, 0.0, 20.0), atol=1e-7)
    assert final(trajectory, "energy/work/events/change") == pytest.approx([0.0], abs=1e-10)


@by_all_methods
def test_a_rope_that_is_fastened_holds_the_length_at_that_instant(method):
    """The ball loses its rate along the rope, and goes on about the world at a constant rate."""
    text = rope(gravity=0, position=[0.3, 0.4, 0], velocity=[1, 0.2, 0], active="active: false", when="t - 0.20003",
                set="true")  # fmt: skip
    trajectory = run(text, method, one_sided=True)
    r = np.array([0.3, 0.4]) + 0.20003 * np.array([1.0, 0.2])
    length, v = float(np.hypot(*r)), np.array([1.0, 0.2])
    along = float(v @ r) / length
    rate = float(r[0] * v[1] - r[1] * v[0]) / length**2
    angle = math.atan2(r[1], r[0]) + rate * (1.0 - 0.20003)
    tolerance = 1e-6 if method in ORDER else 1e-9
    place = final(trajectory, "bodies/position")
    np.testing.assert_allclose(place, [length * math.cos(angle), length * math.sin(angle), 0.0], atol=tolerance)
    assert final(trajectory, "energy/kinetic") == pytest.approx([0.5 * 2.0 * (v @ v - along**2)], abs=tolerance)
    assert np.abs(trajectory.channel("energy/ledger_residual").values).max() < tolerance


@by_all_methods
def test_a_rope_that_engages_at_its_length_stops_the_ball(method):
    text = rope(gravity=0, position=[0.3, 0, 0], velocity=[1, 0, 0], active="active: false, length: 0.7",
                when="bodies.ball.position.x - 0.7", set="true")  # fmt: skip
    trajectory = run(text, method, one_sided=True)
    assert trajectory.events.time == pytest.approx([0.4], abs=1e-12)
    np.testing.assert_allclose(final(trajectory, "bodies/position"), [0.7, 0.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(final(trajectory, "bodies/linear_velocity"), 0.0, atol=1e-10)
    work, lost = (
        final(trajectory, "energy/work/events/change"),
        final(trajectory, "energy/dissipation/constraints/rope"),
    )
    np.testing.assert_allclose(lost - work, 1.0, atol=1e-10)
    assert np.abs(trajectory.channel("energy/ledger_residual").values).max() < 1e-10


BELT = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  one: {mass: 1, inertia: {principal: [2, 2, 2]}}
  two: {mass: 1, inertia: {principal: [3, 3, 3]}}
joints:
  one: {type: revolute, child: one, axis: [0, 0, 1], v: 10}
  two: {type: revolute, child: two, axis: [0, 0, 1], origin: {position: [2, 0, 0]}, v: 1}
constraints:
  belt:
    type: belt
    active: false
    over:
      - {body: one, radius: 0.2, axis: [0, 0, 1]}
      - {body: two, radius: 0.4, axis: [0, 0, 1]}
events:
  on: {when: t - 0.30003, set: {constraints.belt.active: true}}
  off: {when: t - 0.60005, set: {constraints.belt.active: false}}
simulation: {duration: 1, step: 1 ms}
"""


@by_all_methods
def test_a_belt_that_is_put_on_and_taken_off(method):
    """The impulse S r acts on both pulleys: I1 w1 + S r1 and I2 w2 + S r2, and r1 w1 = r2 w2 after it."""
    trajectory = run(BELT, method)
    r1, r2, I1, I2 = 0.2, 0.4, 2.0, 3.0
    S = (r2 * 1.0 - r1 * 10.0) / (r1 * r1 / I1 + r2 * r2 / I2)
    rates = 10.0 + S * r1 / I1, 1.0 - S * r2 / I2
    assert rates[0] * r1 == pytest.approx(rates[1] * r2)
    np.testing.assert_allclose(trajectory.events.time, [0.30003, 0.60005], atol=1e-12)
    for name, rate, first in zip(("one", "two"), rates, (10.0, 1.0), strict=True):
        v = trajectory.channel(f"joints/{name}/v").values[:, 0]
        np.testing.assert_allclose(v, np.where(trajectory.time > 0.30003, rate, first), atol=1e-9)
    lost = 0.5 * I1 * (100.0 - rates[0] ** 2) + 0.5 * I2 * (1.0 - rates[1] ** 2)
    assert final(trajectory, "energy/work/events/on") == pytest.approx([-lost], rel=1e-10)
    assert np.abs(trajectory.channel("energy/ledger_residual").values).max() < 1e-9


DRUM = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  drum: {mass: 1, inertia: {principal: [1, 0.2, 1]}}
  arm: {mass: 1, inertia: {principal: [1, 0.6, 1]}}
joints:
  drum: {type: revolute, axis: [0, 1, 0], child: drum}
  arm: {type: revolute, axis: [0, 1, 0], child: arm, v: 9}
constraints:
  rope: {type: rope, active: false, over: OVER}
events:
  on: {when: t - 0.50003, once: true, set: {constraints.rope.active: true}}
simulation: {duration: 1, step: 1 ms}
"""
TIP = "{body: arm, point: [0, 0, 0.7]}"
WOUND = "{{body: drum, radius: 0.2, axis: [0, 1, 0], sense: {}}}"
WAYS = {"from the drum": f"[{WOUND.format(1)}, {TIP}]", "to the drum": f"[{TIP}, {WOUND.format(-1)}]"}


@pytest.mark.parametrize("method", ["aba", "baraff"])
@pytest.mark.parametrize("over", WAYS.values(), ids=WAYS)
def test_a_rope_that_is_fastened_to_a_drum_has_no_turns_of_before(over, method):
    """The arm has turned about the drum by 4.5 rad: then the rope is laid on, and takes the drum along as it is."""
    trajectory = run(DRUM.replace("OVER", over), method)
    on, rate = 0.50003, 9.0 * 0.6 / (0.6 + 0.2)
    np.testing.assert_allclose(final(trajectory, "joints/drum/v"), rate, atol=1e-10)
    np.testing.assert_allclose(final(trajectory, "joints/arm/v"), rate, atol=1e-10)
    np.testing.assert_allclose(final(trajectory, "joints/drum/q"), rate * (1.0 - on), atol=1e-10)
    np.testing.assert_allclose(final(trajectory, "joints/arm/q"), 9.0 * on + rate * (1.0 - on), atol=1e-10)
    np.testing.assert_allclose(final(trajectory, "constraints/rope/error"), 0.0, atol=1e-10)
    lost = final(trajectory, "energy/dissipation/constraints/rope") - final(trajectory, "energy/work/events/on")
    assert lost == pytest.approx([0.5 * 0.6 * 81.0 - 0.5 * 0.8 * rate**2], abs=1e-10)


ATWOOD = """
mbsim: 1
gravity: [0, 0, -10]
bodies:
  wheel: {mass: 1, inertia: {principal: [1, 0.08, 1]}}
  left: {mass: 2, com: [0, 0, 0], inertia: {principal: [1, 1, 1]}}
  right: {mass: 3, inertia: {principal: [1, 1, 1]}}
joints:
  axle: {type: revolute, axis: [0, 1, 0], child: wheel, v: 9}
  left: {type: prismatic, axis: [0, 0, 1], child: left, origin: {position: [-0.2, 0, -1]}}
  right: {type: prismatic, axis: [0, 0, 1], child: right, origin: {position: [0.2, 0, -1]}}
constraints:
  rope: {type: rope, active: false, over: [{body: left}, {body: wheel, radius: 0.2, axis: [0, 1, 0]}, {body: right}]}
events:
  on: {when: t - 0.50003, once: true, set: {constraints.rope.active: true}}
  other: {when: t - 0.70001, once: true, set: {bodies.left.com: [0, 0.1, 0]}}
simulation: {duration: 1, step: 1 ms}
"""


def test_a_rope_that_is_fastened_in_a_simulation_in_python():
    """Weights fall beside a wheel that turns, until a rope joins them, which a later event with another value keeps.

    The impulses S, T on both sides satisfy 2 (p + u) = S, 3 (u - p) = T, I/r^2 (p - p0) = T - S, with the rate u of
    the weights down, and p of the rope from left to right.
    """
    on, heavy, p0 = 0.50003, 0.08 / 0.2**2, 0.2 * 9.0
    fallen, u, after = 5.0 * on**2, 10.0 * on, 1.0 - on
    p = (3.0 * u - 2.0 * u + heavy * p0) / (5.0 + heavy)
    assert min(p + u, u - p) > 0.0  # both sides pull
    faster = 10.0 / (5.0 + heavy)
    way = p * after + 0.5 * faster * after**2
    simulation = mbsim.Simulation(mbsim.load(ATWOOD))
    simulation.advance(1.0)
    assert simulation.events.time.tolist() == pytest.approx([on, 0.70001], abs=1e-12)
    for name, value in (("axle", 9.0 * on + way / 0.2), ("left", way - fallen), ("right", -way - fallen)):
        assert simulation.q[name][0] == pytest.approx(value, abs=1e-10), name
    assert simulation.v["left"][0] == pytest.approx(p + faster * after, abs=1e-10)
    tensions = simulation.channel("constraints/rope/multiplier")
    np.testing.assert_allclose(tensions, [2.0 * (10.0 + faster), 3.0 * (10.0 - faster)], rtol=1e-9)


def test_a_joint_is_not_closed_where_it_is_not_met():
    """The hinge closes where both of its frames meet alone, and names the event elsewhere."""
    text = PENDULUM.replace("landing: {when: bodies.bob.com.z + 1.5, direction: falling, end: true}",
                            "hold: {when: t - 1.5, set: {joints.hinge.active: true}}")  # fmt: skip
    outcome = prepare(SceneText(text, Path("scene.yaml"))).run_in_memory()[0].outcome
    assert outcome.status == "diverged"
    assert "the event `hold` moves bodies at once" in outcome.message


def test_a_simulation_in_python_releases_a_joint_with_the_bits_of_a_run():
    scene = mbsim.load(PENDULUM.replace("mbsim: 1", "mbsim: 1\nname: bob"), {"output.every": "10 ms"})
    found, simulation = scene.run(check=False), mbsim.Simulation(scene)
    simulation.advance(2.0)
    np.testing.assert_array_equal(simulation.channel("bodies/position"), found["bodies/position"].values[-1])
    assert simulation.ended_by == "landing"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("active: true", "limits: [-1, 1], active: true"), "joints.hinge.limits: a joint with `active` has none"),
        ((", active: true", ""), "write `active: true` at the joint: it then closes a loop"),
    ],
)
def test_refusals(change, message):
    text = PENDULUM.replace(*change).replace(", rotation: {axis: [0, 1, 0], angle: 1.2}", "")
    with pytest.raises(SceneError) as error:
        prepare(SceneText(text, Path("scene.yaml")))
    assert message in str(error.value)
