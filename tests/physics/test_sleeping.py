"""Sleeping islands: bodies at rest keep their state and their impulses, wake exactly, and never creep."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.output.carried_state import collect, restore

BENCH = Path(__file__).parents[2] / "scenes" / "bench"
G = 9.81
STEP = 2e-3
FLOOR = "mbsim: 1\nname: sleeping\nworld: {shapes: [{type: plane}]}\ncontacts: {friction: 0.5}\n"
TIMES = "simulation: {duration: 1 s, step: 2 ms}\n"
BRICK = "{type: box, size: [0.2, 0.1, 0.1], density: 2000}"
CUBE = "{type: box, size: [0.2, 0.2, 0.2]}"


def simulation(text: str, *settings: str) -> mbsim.Simulation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.Simulation(mbsim.load(text, list(settings)))


def pair(text: str) -> tuple[mbsim.Simulation, mbsim.Simulation]:
    """The scene with and without sleep."""
    return simulation(text), simulation(text, "contacts.sleeping=false")


def asleep(sim: mbsim.Simulation) -> int:
    """The number of bodies whose impulses the last step kept."""
    work = sim._method.contact_work
    sleeps = work.sleep.asleep[work.groups.articulation[1:]]
    return int(np.count_nonzero(sleeps))


def loads(sim: mbsim.Simulation) -> np.ndarray:
    """The impulses of the last step, by contact."""
    work = sim._method.contact_work
    return work.detection.contacts["impulse"][: work.step.sizes["contacts"][0]].copy()


def state(sim: mbsim.Simulation) -> np.ndarray:
    return np.concatenate([sim._state.q, sim._state.v])


def wall(rows: int, columns: int, order: int = 1) -> str:
    """Bricks in rows; `order` -1 lists them from the last to the first."""
    names = [(i, j) for i in range(rows) for j in range(columns)][::order]
    lines = [
        f"  b{i}_{j}: {{shapes: [{BRICK}], position: [{0.2 * j + 0.1 * (i % 2)!r}, 0, {0.1 * i + 0.05!r}]}}\n"
        for i, j in names
    ]
    return FLOOR + TIMES + "bodies:\n" + "".join(lines)


SHOT = "  shot: {shapes: [{type: sphere, radius: 0.04, density: 3000}], position: [%s], velocity: {linear: [%s]}}\n"


def limp_robot(tilt: float, axes: tuple[str, ...]) -> str:
    """Six legs of three cylinders on damped hinges fall on the floor; `tilt` is the scale of their angles."""
    cylinder = "type: cylinder, radius: 0.04, density: 1000, rotation: {axis: [0, 1, 0], angle: 90 deg}"
    bodies = [f"  trunk: {{shapes: [{{length: 0.2, {cylinder}}}]}}"]
    joints = [f"  root: {{type: free, child: trunk, q: {{position: [0, 0, {0.041 + tilt!r}]}}}}"]
    for leg in range(6):
        parent, turn = "trunk", 60 * leg
        x, y = 0.14 * math.cos(math.pi * leg / 3), 0.14 * math.sin(math.pi * leg / 3)
        for i in range(3):
            body, length = f"l{leg}{i}", 0.12 + 0.01 * ((5 * leg + 3 * i) % 7)
            q = tilt * math.sin(7 * leg + 5 * i) if axes[i % len(axes)] == "[0, 1, 0]" else 0.1 * math.sin(3 * leg + i)
            bodies.append(f"  {body}: {{shapes: [{{length: {length!r}, {cylinder}}}]}}")
            joints.append(
                f"  j{body}: {{type: revolute, parent: {parent}, child: {body}, axis: {axes[i % len(axes)]}, q: {q!r}, "
                f"origin: {{position: [{x!r}, {y!r}, 0], rotation: {{axis: [0, 0, 1], angle: {turn} deg}}}}, "
                f"child_origin: {{position: [{-length / 2 - 0.02!r}, 0, 0]}}, damping: 0.02}}"
            )
            parent, turn, x, y = body, 0, length / 2 + 0.02, 0.0
    return FLOOR + "\n".join(["bodies:", *bodies, "joints:", *joints, "simulation: {duration: 1 s, step: 1 ms}", ""])


# --- at rest --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", [("[0, 1, 0]",), ("[0, 1, 0]", "[0, 0, 1]")], ids=["level hinges", "crossed hinges"])
@pytest.mark.parametrize("tilt", [1e-9, 1e-5, 1e-3, 1e-2, 0.1])
def test_limp_robots_sleep_on_the_floor(axes: tuple[str, ...], tilt: float):
    """Links near the plane of their hinges: the rows have the rank of the motion, and rest is that of boxes."""
    sim = simulation(limp_robot(tilt, axes))
    work = sim._method.contact_work
    for _ in range(1000):
        sim.step()
        if work.step.sizes["contacts"][0] > 0:
            assert work.factors.rank[0] <= len(sim._state.v)
        if asleep(sim):
            break
    assert asleep(sim) == 19
    assert np.all(sim._state.v == 0.0)
    assert loads(sim)[:, 0].sum() == pytest.approx(sim._model.system.tree.links["mass"].sum() * G * 1e-3, rel=1e-9)


def test_a_wall_sleeps_and_stands_as_it_does_awake():
    sleeping, awake = pair(wall(4, 3))
    for sim in (sleeping, awake):
        sim.step(100)
    assert (asleep(sleeping), asleep(awake)) == (12, 0)
    assert np.all(sleeping._state.v == 0.0)
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-12
    weight = 12 * 2000 * 0.2 * 0.1 * 0.1 * G * STEP
    for sim in (sleeping, awake):
        work = sim._method.contact_work
        on_floor = work.detection.contacts["body_a"][: work.step.sizes["contacts"][0]] == 0
        assert loads(sim)[on_floor, 0].sum() == pytest.approx(weight, rel=1e-12)


def on_slope(angle: float) -> str:
    """A box on a slope, whose contact axes are not those of the world."""
    turn = f"rotation: {{axis: [0.36, 0.48, 0.8], angle: {angle}}}"
    s, c = math.sin(angle), 1.0 - math.cos(angle)
    place = 0.05 * np.array([0.48 * s + 0.36 * 0.8 * c, -0.36 * s + 0.48 * 0.8 * c, 1.0 - c + 0.64 * c])
    return (
        f"mbsim: 1\nname: slope\nworld: {{shapes: [{{type: plane, {turn}}}]}}\ncontacts: {{friction: 1}}\n{TIMES}"
        f"bodies: {{box: {{mass: 1, shapes: [{{type: box, size: [0.2, 0.3, 0.1]}}], {turn}, "
        f"position: {place.tolist()}}}}}\n"
    )


SLOPES = [(on_slope(angle), 1) for angle in (0.2, 0.3, 0.45, 0.5, 0.6)]


@pytest.mark.parametrize(("text", "bodies"), [(wall(3, 2), 6), *SLOPES])
def test_what_sleeps_keeps_every_bit_of_its_state_its_loads_and_its_energies(text, bodies):
    sim = simulation(text)
    sim.step(20)
    before, carried, energies = state(sim), loads(sim), sim._state.ledger.copy()
    sim.step(2000)
    assert asleep(sim) == bodies
    assert np.array_equal(state(sim), before)
    assert np.array_equal(loads(sim), carried)
    assert np.array_equal(sim._state.ledger, energies)


def test_quaternions_of_bodies_at_rest_keep_their_bits():
    """Normalization of these would change their last bits in each step."""
    turns = "".join(
        f"  c{k}: {{mass: 1, shapes: [{CUBE}], position: [{k}, 0, 0.1], rotation: {{axis: [0, 0, 1], "
        f"angle: {0.1 + 0.37 * k!r}}}}}\n"
        for k in range(12)
    )
    sim = simulation(FLOOR + TIMES + "bodies:\n" + turns)
    sim.step(20)
    assert asleep(sim) == 12


def test_the_order_of_bodies_has_no_effect():
    one, other = simulation(wall(4, 3)), simulation(wall(4, 3, -1))
    for sim in (one, other):
        sim.step(50)
        assert asleep(sim) == 12
    for i in range(4):
        for j in range(3):
            assert np.abs(one.q[f"b{i}_{j}"] - other.q[f"b{i}_{j}"]).max() < 1e-12


@pytest.mark.parametrize("method", ["redmax", "baraff"])
def test_bodies_sleep_with_every_method_of_accelerations(method):
    sim = simulation(wall(2, 2), f"simulation.method={method}")
    sim.step(20)
    assert asleep(sim) == 4


# --- bodies that do not sleep---------------------------------------------------------------------------------------
SLOPE = """
mbsim: 1
name: slope
vars: {mu: 0.3, alpha: 20 deg}
gravity: ["${9.81*sin(alpha)}", 0, "${-9.81*cos(alpha)}"]
world: {shapes: [{type: plane}]}
contacts: {friction: "${mu}"}
bodies: {box: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.1]}], position: [0, 0, 0.05]}}
simulation: {duration: 1 s, step: 1 ms}
"""


@pytest.mark.parametrize("margin", [1e-3, 1e-6])
def test_a_box_just_above_the_angle_of_friction_accelerates(margin):
    threshold = math.tan(math.radians(20.0))
    sim = simulation(SLOPE, f"vars.mu={threshold * (1.0 - margin)!r}")
    sim.step(1000)
    assert sim.v["box"][0] == pytest.approx(margin * G * math.sin(math.radians(20.0)), rel=1e-3)
    assert asleep(sim) == 0


def test_a_box_just_below_it_sleeps_where_it_lies():
    threshold = math.tan(math.radians(20.0))
    sim = simulation(SLOPE, f"vars.mu={threshold * (1.0 + 1e-6)!r}")
    sim.step(1000)
    assert np.abs(sim.q["box"] - [0, 0, 0.05, 1, 0, 0, 0]).max() < 1e-15
    assert asleep(sim) == 1


def test_a_box_that_slides_slowly_and_uniformly_is_not_stopped():
    """Where friction balances gravity, the box keeps its speed of 1e-6 m/s."""
    threshold = math.tan(math.radians(20.0))
    sim = simulation(SLOPE, f"vars.mu={threshold!r}", "bodies.box.velocity={linear: [1e-6, 0, 0]}")
    sim.step(1000)
    assert sim.v["box"][0] == pytest.approx(1e-6, rel=1e-6)
    assert asleep(sim) == 0


def test_a_box_that_moves_on_the_wall_keeps_its_island_awake():
    text = (
        wall(2, 2)
        + f"  top: {{mass: 1, shapes: [{CUBE}], position: [0.15, 0, 0.3], velocity: {{linear: [1, 0, 0]}}}}\n"
    )
    sim = simulation(text)
    sim.step(5)
    assert asleep(sim) == 0


def test_an_impact_does_not_stop_what_slides_on_slowly():
    """Without friction, a tangential speed of 4e-11 of the speed of the impact remains."""
    ball = "{shapes: [{type: sphere, radius: 0.1, density: 1000}], position: [0, 0, 0.3], "
    sim = simulation(
        FLOOR + TIMES + f"bodies: {{ball: {ball} velocity: {{linear: [2e-9, 0, -50]}}}}}}\n", "contacts.friction=0"
    )
    sim.step(50)
    assert sim.v["ball"][2] == pytest.approx(0.0, abs=1e-12)
    assert sim.v["ball"][0] == pytest.approx(2e-9, rel=1e-6)


def test_two_islands_sleep_apart():
    text = (
        FLOOR
        + TIMES
        + "bodies:\n"
        + "".join(
            f"  c{k}: {{mass: 1, shapes: [{CUBE}], position: [{3 * k}, 0, 0.1], velocity: {{linear: [0, {k}, 0]}}}}\n"
            for k in range(2)
        )
    )
    sleeping, awake = pair(text)
    for sim in (sleeping, awake):
        sim.step(20)
    assert asleep(sleeping) == 1
    assert sleeping.v["c1"][1] == pytest.approx(1 - 0.5 * G * 0.04, rel=1e-9)
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-13


# --- waking ---------------------------------------------------------------------------------------------------------
def distance_after_a_step(sim: mbsim.Simulation, other: mbsim.Simulation) -> float:
    """Take a step of both from the state and the impulses of the first; return how far apart they end."""
    restore(other._holders, collect(sim._holders))
    other._seen = other._snapshot()
    sim.step(1)
    other.step(1)
    return np.abs(state(sim) - state(other)).max()


IMPACTS = [("0.25, -1.05, 0.26", "0, 8, 0.5"), ("0.22, -1.05, 0.27", "0, 8, 0.5"), ("0.31, -1.05, 0.24", "0, 12, 0.3")]


@pytest.mark.parametrize("shot", IMPACTS)
def test_an_impact_wakes_a_wall_in_its_step(shot):
    """With the same loads before it, to the last bit: redundant loads decide which solution friction has."""
    sleeping, awake = pair(wall(4, 3) + SHOT % shot)
    bricks, slept = slice(0, 6 * 12), 0
    while np.abs(sleeping._state.v[bricks]).max() < 0.1:
        slept = max(slept, asleep(sleeping))
        apart = distance_after_a_step(sleeping, awake)
        assert apart < 1e-12
    assert slept == 12
    assert asleep(sleeping) == asleep(awake) == 0
    assert apart == 0.0


@pytest.mark.parametrize("shot", IMPACTS)
def test_an_impact_without_friction_moves_a_wall_as_one_that_was_awake(shot):
    """For any loads, because the motion is unique."""
    sleeping, awake = (
        simulation(wall(4, 3) + SHOT % shot, "contacts.friction=0", *settings)
        for settings in ([], ["contacts.sleeping=false"])
    )
    bricks, slept = slice(0, 6 * 12), 0
    while np.abs(awake._state.v[bricks]).max() < 0.1:
        slept = max(slept, asleep(sleeping))
        sleeping.step(1)
        awake.step(1)
        assert np.abs(state(sleeping) - state(awake)).max() < 1e-10
    assert slept == 12
    assert asleep(sleeping) == 0


def test_a_block_that_is_hit_moves_as_one_that_was_awake():
    block = f"bodies:\n  block: {{mass: 3, shapes: [{CUBE}], position: [0, 0, 0.1]}}\n"
    sleeping, awake = pair(FLOOR + TIMES + block + SHOT % ("0.03, -0.6, 0.12", "0, 8, 0.5"))
    for k in range(120):
        sleeping.step(1)
        awake.step(1)
        assert k != 20 or asleep(sleeping) == 1
        assert np.abs(state(sleeping) - state(awake)).max() < 1e-10
    assert sleeping.q["block"][1] > 0.1


def test_energy_and_momentum_of_an_impact_on_a_sleeping_block():
    """A shot without restitution and friction moves on together with the block, in the same step."""
    text = (
        FLOOR + TIMES + "bodies:\n"
        f"  block: {{mass: 3, shapes: [{CUBE}], position: [0, 0, 0.1]}}\n"
        "  shot: {mass: 1, shapes: [{type: sphere, radius: 0.05}], position: [-0.98, 0, 0.1], "
        "velocity: {linear: [2, 0, 0]}}\n"
    )
    sim = simulation(text, "contacts.friction=0", "gravity=[0, 0, 0]")
    sim.step(100)
    assert asleep(sim) == 1
    assert sim.v["block"][0] == 0.0
    sim.step(400)
    assert sim.v["block"][0] == pytest.approx(0.5, rel=1e-12)
    assert 3 * sim.v["block"][0] + sim.v["shot"][0] == pytest.approx(2.0, rel=1e-13)
    before = float(sim.channel("energy/total"))
    dissipated = float(sim.channel("energy/dissipation/contacts/impact"))
    assert before + dissipated == pytest.approx(0.5 * 4, rel=1e-12)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "linearly_implicit_euler"])
def test_a_force_that_grows_moves_the_box_when_it_exceeds_friction(integrator):
    """The force is 0 until 0.2 s, and 10 (t - 0.2) N then; friction holds 0.5 m g until 0.6905 s."""
    text = (
        FLOOR + TIMES + f"bodies: {{box: {{mass: 1, shapes: [{CUBE}], position: [0, 0, 0.1]}}}}\n"
        "forces: {pull: {body: box, force: ['max(10*(t - 0.2), 0)', 0, 0], frame: world}}\n"
    )
    sim = simulation(text, f"simulation.integrator={integrator}")
    sim.step(100)
    assert asleep(sim) == 1
    sim.step(200)
    assert asleep(sim) == 0
    sim.step(45)
    assert sim.v["box"][0] == 0.0 or abs(sim.v["box"][0]) < 1e-15
    sim.step(155)
    expected = sum(max(10 * (k * STEP - 0.2) - 0.5 * G, 0.0) * STEP for k in range(500))
    assert sim.v["box"][0] == pytest.approx(expected, rel=1e-9)


def test_a_platform_that_starts_carries_what_sleeps_on_it():
    text = (
        FLOOR + TIMES + "bodies:\n  table: {mass: 5, shapes: [{type: box, size: [1, 1, 0.1]}]}\n"
        f"  box: {{mass: 1, shapes: [{CUBE}], position: [0, 0, 1.15]}}\n"
        "joints: {slide: {type: prismatic, child: table, axis: [1, 0, 0], origin: {position: [0, 0, 1]}, "
        "motion: {position: '0.5*max(t - 0.2, 0)**2'}}}\n"
    )
    sleeping, awake = pair(text)
    sleeping.step(90)
    awake.step(90)
    assert asleep(sleeping) >= 1
    sleeping.step(200)
    awake.step(200)
    assert asleep(sleeping) == 0
    assert sleeping.v["box"][0] == pytest.approx(0.38, rel=0.02)
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-12


def test_a_plank_falls_when_one_of_its_supports_is_taken_away():
    text = (
        FLOOR + TIMES + "bodies:\n"
        f"  left: {{mass: 1, shapes: [{CUBE}], position: [-0.4, 0, 0.1]}}\n"
        f"  right: {{mass: 1, shapes: [{CUBE}], position: [0.4, 0, 0.1]}}\n"
        "  plank: {mass: 2, shapes: [{type: box, size: [1.2, 0.2, 0.1]}], position: [0, 0, 0.25]}\n"
    )
    sleeping, awake = pair(text)
    for sim in (sleeping, awake):
        sim.step(50)
    assert asleep(sleeping) == 3
    for sim in (sleeping, awake):
        sim.q["right"][0] = 5.0
        sim.step(10)
    assert asleep(sleeping) == 1
    assert sleeping.q["plank"][2] < 0.25 - 1e-4
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-11


def test_a_velocity_that_a_program_writes_wakes_the_body():
    sleeping, awake = pair(wall(3, 2))
    for sim in (sleeping, awake):
        sim.step(30)
        sim.v["b2_1"][:3] = [0.5, 0.2, 0.0]
        sim.step(1)
    assert asleep(sleeping) == 0
    for _ in range(10):
        sleeping.step(1)
        awake.step(1)
    assert sleeping.q["b2_1"][0] > 0.2 + 1e-3
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-11


def test_bodies_of_a_machine_sleep_and_wake_together():
    """A body on a spring-loaded slider rests on the floor; a shot lifts its partner on the other side of the joint."""
    text = (
        FLOOR + TIMES + "bodies:\n"
        f"  base: {{mass: 3, shapes: [{CUBE}], position: [0, 0, 0.1]}}\n"
        f"  arm: {{mass: 1, shapes: [{{type: box, size: [0.6, 0.1, 0.1], contact: false}}]}}\n"
        "joints: {hinge: {type: revolute, parent: base, child: arm, axis: [0, 1, 0], damping: 0.5, stiffness: 500}}\n"
    )
    sleeping, awake = pair(text)
    for sim in (sleeping, awake):
        sim.step(300)
    assert asleep(sleeping) == 2
    for sim in (sleeping, awake):
        sim.v["hinge"][0] = 0.5
        sim.step(20)
    assert asleep(sleeping) == 0
    assert np.abs(state(sleeping) - state(awake)).max() < 1e-11


# --- the same bits --------------------------------------------------------------------------------------------------
def test_a_restored_simulation_sleeps_and_wakes_with_the_same_bits():
    text = wall(3, 2) + SHOT % ("0.15, -0.55, 0.16", "0, 6, 0.5")
    sim, other = simulation(text), simulation(text)
    sim.step(20)
    assert asleep(sim) == 6
    saved = sim.save()
    sim.step(80)
    other.restore(saved)
    other.step(30)
    other.channel("energy/kinetic")  # an output between steps changes nothing
    other.step(50)
    assert np.abs(sim._state.v).max() > 0.1
    assert np.array_equal(state(sim), state(other))
    assert np.array_equal(loads(sim), loads(other))
