"""Elastic ropes and belts on pulleys that turn: frequencies in closed form, and motions by SciPy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from friction_trees import prepared
from loops import loaded
from scipy.integrate import solve_ivp
from test_pulleys import body, hinge, pulley, slider

import mbsim
from multibody_cli import MemorySink
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

G = 9.81
EA = 2000.0
every_method = pytest.mark.parametrize("method", METHODS)


def elastic(*over, **fields):
    fields = {"stiffness": EA, **fields}
    return {"over": [one if isinstance(one, dict) else {"body": one} for one in over], **fields}


def run(tmp_path, scene, method="aba", step=2e-4, duration=0.2, integrator="rk4"):
    own = {} if METHODS[method].own_integrator else {"integrator": integrator}
    settings = {"duration": duration, "step": step, "method": method, **own}
    sink = MemorySink()
    prepared(tmp_path, {**scene, "simulation": settings, "output": {"every": 10 * step}}).run(sink)
    found = sink.trajectory()
    return lambda name: found.channel(name).values


def frequencies(tmp_path, scene):
    """Angular frequencies of small motions about the start, in increasing order."""
    path = tmp_path / "scene.yaml"
    path.write_text(json.dumps({"mbsim": 1, "name": "scene", **scene, "simulation": {"duration": 1, "step": 1e-4}}))
    eigenvalues = np.linalg.eigvals(mbsim.Simulation(mbsim.load(path)).linearize().A)
    assert np.abs(eigenvalues.real).max() < 1e-3  # double zeros of free motions split by round-off
    return np.sort(eigenvalues.imag[eigenvalues.imag > 1.0])


# --- Atwood's machine -------------------------------------------------------------------------------------------------
R, M, N, INERTIA, LEFT, RIGHT = 0.2, 3.0, 2.0, 0.05, 1.0, 1.5


def atwood(m=M, n=N, lengths=(LEFT, RIGHT), **fields):
    bodies = {"wheel": body(2.0, INERTIA), "left": body(m), "right": body(n)}
    joints = {
        "axle": hinge("wheel"),
        "l": slider("left", -R, -lengths[0]),
        "r": slider("right", R, -lengths[1]),
    }
    return {
        "bodies": bodies,
        "joints": joints,
        "springs": {"rope": elastic("left", pulley("wheel", R), "right", **fields)},
    }


def atwood_motion(times, tensions, damping, v=(0.0, 0.0, 0.0), masses=(M, N), lengths=(LEFT, RIGHT)):
    """Heights z of both weights and angle of the wheel, by their equations of motion, and the loss."""
    material = [length / (1.0 + tension / EA) for length, tension in zip(lengths, tensions, strict=True)]

    def tension(length, made, lengthening, feeding):
        s = length / made
        if s <= 1.0:
            return 0.0, 0.0, 0.0
        rate = (lengthening - s * feeding) / made
        viscous = max(damping * rate, -EA * (s - 1.0))
        return EA * (s - 1.0) + viscous, 0.5 * EA * (s * s - 1.0) + s * viscous, viscous * rate * made

    def rates(_, y):
        left, right, angle, v_left, v_right, spin, _ = y
        T, feed, loss = tension(lengths[0] - left, material[0] + R * -angle, -v_left, -R * spin)
        U, other, more = tension(lengths[1] - right, material[1] + R * angle, -v_right, R * spin)
        turning = R * (other - feed) / INERTIA
        return v_left, v_right, spin, T / masses[0] - G, U / masses[1] - G, turning, loss + more

    y = solve_ivp(rates, (0.0, times[-1]), (0, 0, 0, *v, 0), "DOP853", times, rtol=1e-12, atol=1e-13, max_step=1e-3).y
    return y


@pytest.mark.parametrize("damping", [0.0, 4.0])
@every_method
def test_atwood_machine_with_a_heavy_pulley(tmp_path, method, damping):
    """Weights at rest, from taut and unstretched sections: against the equations of motion in SciPy."""
    scene = atwood(damping=damping)
    found = run(tmp_path, scene, method, duration=0.4)
    wanted = atwood_motion(found("time"), (0.0, 0.0), damping)
    order = 1e-8 if METHODS[method].own_integrator is None else 1e-4
    for name, values in zip("lr", wanted, strict=False):
        np.testing.assert_allclose(found(f"joints/{name}/q")[:, 0], values, rtol=0, atol=order)
    np.testing.assert_allclose(found("joints/axle/q")[:, 0], wanted[2], rtol=0, atol=order / R)
    np.testing.assert_allclose(found("energy/dissipation/springs/rope")[-1], wanted[-1, -1], rtol=0, atol=100 * order)
    if METHODS[method].own_integrator is None:
        assert np.abs(found("energy/ledger_residual")).max() < 1e-7


def test_frequencies_of_atwood_machine(tmp_path):
    """Equal weights in equilibrium: one motion in phase, one against each other that the inertia of the wheel joins."""
    m = M
    s = 1.0 + m * G / EA
    stiffness = EA * s / LEFT  # EA over the material, which is LEFT / s
    found = frequencies(tmp_path, atwood(m, m, (LEFT, LEFT), tension=m * G))
    np.testing.assert_allclose(found[0], math.sqrt(stiffness / m), rtol=1e-7)
    against = stiffness * (1.0 / m + 2.0 * s**2 * R**2 / INERTIA)
    np.testing.assert_allclose(found[1], math.sqrt(against), rtol=1e-7)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_the_damper_of_a_rope_that_is_just_taut_acts_from_the_first_instant(tmp_path, method):
    """A mass leaves the length at rest, damped, until shortly before the rope has its largest tension."""
    m, c, v, length = 2.0, 20.0, 1.3, 1.7
    ends = {"body": "world", "point": [0, 0, 0]}, "right"
    rope = elastic(*ends, damping=c * length, stiffness=EA)
    scene = {"gravity": [0, 0, 0], "bodies": {"right": body(m)}, "springs": {"rope": rope}}
    scene["joints"] = {"r": {**slider("right", 0, length), "v": v}}
    found = run(tmp_path, scene, method, step=1e-3, duration=0.06)
    decay = c / (2 * m)
    rate = math.sqrt(EA / length / m - decay**2)
    t = found("time")
    np.testing.assert_allclose(found("joints/r/q")[:, 0], v * np.exp(-decay * t) * np.sin(rate * t) / rate, atol=1e-9)


def test_a_rope_that_goes_slack_is_caught_again(tmp_path):
    """Weights that are thrown up fall back into the rope; the tension is never negative."""
    v = (1.5, 0.7, -2.0)
    scene = atwood(damping=3.0)
    for name, rate in zip(("l", "r", "axle"), v, strict=True):
        scene["joints"][name]["v"] = rate
    found = run(tmp_path, scene, duration=0.6, step=1e-4)
    wanted = atwood_motion(found("time"), (0.0, 0.0), 3.0, v)
    np.testing.assert_allclose(found("joints/l/q")[:, 0], wanted[0], rtol=0, atol=2e-5)
    np.testing.assert_allclose(found("joints/axle/q")[:, 0], wanted[2], rtol=0, atol=2e-4)
    tension, strain = found("springs/rope/tension"), found("springs/rope/strain")
    assert tension.min() == 0.0
    assert tension.max() > 50.0
    assert strain.min() < -0.01
    assert not tension[strain < 0.0].any()


# --- belts ------------------------------------------------------------------------------------------------------------
def drive(sense, tension, damping=0.0, v=0.0):
    bodies = {"small": body(1.0, 0.01), "large": body(2.0, 0.08)}
    joints = {"first": hinge("small", v=v), "second": hinge("large", 0.8)}
    belt = elastic(pulley("small", 0.1), pulley("large", 0.25, sense), closed=True, tension=tension, damping=damping)
    return {"bodies": bodies, "joints": joints, "springs": {"belt": belt}}


@pytest.mark.parametrize("sense", [1, -1], ids=["open", "crossed"])
def test_torsional_frequency_of_a_belt_drive(tmp_path, sense):
    """Two spans of the stiffness EA/L between two inertias; the stretch of the pretension counts twice."""
    s = 1.0 + 100.0 / EA
    straight = math.sqrt(0.8**2 - (0.1 - sense * 0.25) ** 2)
    stiffness = 2.0 * EA * s / straight
    [found] = frequencies(tmp_path, drive(sense, 100.0))
    np.testing.assert_allclose(found, s * math.sqrt(stiffness * (0.1**2 / 0.01 + 0.25**2 / 0.08)), rtol=1e-7)


@every_method
@pytest.mark.parametrize("sense", [1, -1], ids=["open", "crossed"])
def test_a_belt_drive_swings_and_keeps_its_energy(tmp_path, method, sense):
    """Small swings have their closed form, beside the even turning of both pulleys."""
    v, tension = 0.02, 100.0
    found = run(tmp_path, drive(sense, tension, v=v), method, step=1e-4)
    s = 1.0 + tension / EA
    rate = s * math.sqrt(2.0 * EA * s / math.sqrt(0.8**2 - (0.1 - sense * 0.25) ** 2) * (1.0 + 0.25**2 / 0.08))
    ratio = 0.1 / 0.25
    mean = v * 0.01 / (0.01 + 0.08 * ratio**2)
    time = found("time")
    np.testing.assert_allclose(found("joints/first/v")[:, 0], mean + (v - mean) * np.cos(rate * time), atol=2e-5)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-9
    np.testing.assert_allclose(found("springs/belt/tension").sum(axis=1), 2 * tension, rtol=1e-4)


def test_a_slack_side_of_a_belt_does_not_press(tmp_path):
    found = run(tmp_path, drive(1, 5.0, v=30.0), step=1e-5, duration=0.1)
    assert found("springs/belt/tension").min() == 0.0
    assert np.abs(found("energy/ledger_residual")).max() < 1e-7 * found("energy/kinetic").max()


# --- other machines ---------------------------------------------------------------------------------------------------
@every_method
def test_a_hoist_is_stiffer_as_it_winds(tmp_path, method):
    """The material of the rope below a driven drum becomes shorter: against its equation of motion in SciPy."""
    load = 5.0
    scene = {"bodies": {"drum": body(1.0), "load": body(load)}}
    scene["joints"] = {"winch": hinge("drum", motion={"position": "t**2"}), "l": slider("load", -R, -2.0)}
    scene["springs"] = {"rope": elastic("load", pulley("drum", R), tension=load * G, stiffness=1e4)}
    found = run(tmp_path, scene, method, duration=2.0, step=5e-4)
    made = 2.0 / (1.0 + load * G / 1e4)

    def rates(t, y):
        s = (2.0 - y[0]) / (made - R * t**2)
        return y[1], max(1e4 * (s - 1.0), 0.0) / load - G

    wanted = solve_ivp(rates, (0.0, 2.0), (0, 0), "DOP853", found("time"), rtol=1e-12, atol=1e-13).y
    order = 1e-6 if METHODS[method].own_integrator is None else 2e-4
    np.testing.assert_allclose(found("joints/l/q")[:, 0], wanted[0], rtol=0, atol=order)


def test_a_tackle_of_a_sliding_rope_has_one_tension(tmp_path):
    """Two strands carry the load: it swings with four times the stiffness of the whole rope."""
    load, r = 4.0, 0.1
    scene = {"bodies": {"block": body(load)}, "joints": {"lift": slider("block", 0, -1)}}
    over = {"body": "world"}, pulley("block", r, -1, r, slides=True), {"body": "world", "point": [2 * r, 0, 0]}
    rope = elastic(*over, tension=load * G / 2)
    [found] = frequencies(tmp_path, {**scene, "springs": {"rope": rope}})
    length = 2.0 + math.pi * r
    made = length / (1.0 + load * G / 2 / EA)
    np.testing.assert_allclose(found, math.sqrt(4.0 * EA / made / load), rtol=1e-7)


@pytest.mark.parametrize("method", ["aba", "baraff", "variational"])
def test_an_elastic_belt_on_a_carrier_that_turns(tmp_path, method):
    """The turns of the belt about the sun count: the planet follows the ratio within the stretch of the belt."""
    bodies = {"arm": body(1.0, 5.0), "planet": body(1.0, 0.02), "sun": body(1.0, 0.03)}
    joints = {"arm": hinge("arm", v=9.0), "planet": hinge("planet", 0.5, parent="arm"), "sun": hinge("sun", v=9.0)}
    springs = {"belt": elastic(pulley("sun", 0.1), pulley("planet", 0.15), closed=True, tension=50.0)}
    scene = {"bodies": bodies, "joints": joints, "springs": springs, "gravity": [0, 0, 0]}
    scene["joints"]["planet"]["v"] = 0.05
    found = run(tmp_path, scene, method, duration=1.5)
    arm, planet, sun = (found(f"joints/{name}/q")[:, 0] for name in joints)
    assert arm[-1] > 2.1 * math.tau
    difference = 0.1 * (sun - arm) - 0.15 * planet
    assert np.abs(difference).max() > 1e-5
    strain = found("springs/belt/strain")
    slope = (1.0 + 50.0 / EA) ** 2 / math.sqrt(0.5**2 - 0.05**2)  # of the strain with the material
    np.testing.assert_allclose(strain[:, 1] - strain[:, 0], 2.0 * slope * difference, rtol=1e-4, atol=1e-9)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-7


def carrier(sun, planet, **fields):
    bodies = {"arm": body(1.0, 5.0), "planet": body(1.0, 0.02), "sun": body(1.0, 0.03)}
    joints = {"arm": hinge("arm"), "planet": hinge("planet", 0.5, parent="arm"), "sun": hinge("sun")}
    springs = {"belt": elastic(pulley("sun", sun), pulley("planet", planet), closed=True, tension=50.0)}
    return {"gravity": [0, 0, 0], "bodies": bodies, "joints": joints, "springs": springs, **fields}


SETTINGS = [
    *((name, {} if METHODS[name].own_integrator else {"integrator": "rk4"}) for name in METHODS),
    ("aba", {"integrator": "linearly_implicit_euler"}),
    ("aba", {"integrator": "sdirk2"}),
]


@pytest.mark.parametrize(("method", "own"), [one for one in SETTINGS if not METHODS[one[0]].maximal])
@pytest.mark.parametrize("angle", [1.0, math.pi, 4.0, -20.0, 100.0])
def test_a_program_that_turns_the_carrier_of_a_belt_turns_its_belt(tmp_path, method, own, angle):
    """The whole mechanism is turned, at once, and moves as before: its belt has its turns about the sun."""
    path = tmp_path / "scene.yaml"
    settings = {"duration": 0.1, "step": 1e-3, "method": method, **own}
    path.write_text(json.dumps({"mbsim": 1, "name": "scene", **carrier(0.1, 0.15), "simulation": settings}))
    scene = mbsim.load(path)
    found = []
    for turn in (0.0, angle):
        simulation = mbsim.Simulation(scene)
        simulation.q["arm"][:] = simulation.q["sun"][:] = turn
        np.testing.assert_allclose(simulation.bias(), 0.0, atol=1e-10)
        np.testing.assert_allclose(simulation.channel("springs/belt/tension"), 50.0, rtol=1e-10)
        simulation.v["planet"][:] = 3.0
        simulation.advance(0.1)
        found.append([*simulation.v["planet"], *simulation.channel("springs/belt/tension")])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-7)


def test_a_program_cannot_take_a_rope_off_its_peg_by_half_a_turn(tmp_path):
    """The last position is that of the ropes until `q` is one that they can reach."""
    path = tmp_path / "scene.yaml"
    arm = hinge("arm", q=-2.5) | {"child_origin": {"position": [-1, 0, 0]}}
    over = {"body": "world", "point": [1, 0, -0.5]}, pulley("world", 0.1, slides=True), {"body": "arm"}
    scene = {"bodies": {"arm": body(1.0)}, "joints": {"arm": arm}, "springs": {"rope": elastic(*over, tension=5)}}
    scene |= {"mbsim": 1, "name": "scene", "simulation": {"duration": 0.1, "step": 1e-3}}
    path.write_text(json.dumps(scene))
    simulation = mbsim.Simulation(mbsim.load(path))
    before = simulation.channel("springs/rope/strain")
    simulation.q["arm"][:] = -2.4
    made = 0.1 * 0.1 / (simulation.channel("springs/rope/strain") - before)  # its arc alone becomes longer
    simulation.q["arm"][:] = 17.5
    wound = simulation.channel("springs/rope/strain")
    np.testing.assert_allclose(wound - before, 0.1 * 20.0 / made, rtol=1e-9)
    simulation.q["arm"][:] = -22.5
    for evaluate in (simulation.step, simulation.bias, lambda: simulation.channel("time")):
        with pytest.raises(mbsim.ArgumentError, match=r"springs\.rope: the change of `q` turns an end of it by 0\.45"):
            evaluate()
    simulation.q["arm"][:] = -2.5
    np.testing.assert_allclose(simulation.channel("springs/rope/strain"), before, rtol=0, atol=1e-12)


def test_an_elastic_rope_that_leaves_its_peg_by_half_a_turn_makes_the_run_untrusted(tmp_path):
    arm = hinge("arm", motion={"velocity": -5}) | {"child_origin": {"position": [-1, 0, 0]}}
    over = {"body": "world", "point": [1, 0, -0.5]}, pulley("world", 0.1, slides=True), {"body": "arm"}
    scene = {"bodies": {"arm": body(1.0)}, "joints": {"arm": arm}, "springs": {"rope": elastic(*over, tension=5)}}
    outcomes = []
    for duration in (0.1, 2.0):
        settings = {"duration": duration, "step": 1e-3}
        outcomes.append(prepared(tmp_path, {**scene, "simulation": settings}).run(MemorySink()).outcome)
    assert [one.status for one in outcomes] == ["complete", "untrusted"]
    assert "had no length, and no tension" in outcomes[1].message


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_implicit_integrators_take_long_steps_of_stiff_ropes(tmp_path, integrator):
    """A rope of 0.2 ms at its period: the weights of the machine move as on an inextensible one."""
    scene = atwood(stiffness=1e9, damping=1e3)
    found = run(tmp_path, scene, step=2e-3, duration=0.2, integrator=integrator)
    a = (M - N) * G / (M + N + INERTIA / R**2)
    np.testing.assert_allclose(found("joints/l/v")[-1, 0], -a * 0.2, rtol=2e-3)
    np.testing.assert_allclose(found("springs/rope/tension")[-1], [M * (G - a), N * (G + a)], rtol=5e-3)


def test_implicit_steps_have_their_order(tmp_path):
    scene = atwood(damping=4.0, tension=[M * G, N * G])
    ends = [run(tmp_path, scene, step=h, integrator="sdirk2")("joints/l/q")[-1, 0] for h in (2e-3, 1e-3, 5e-4)]
    assert abs(ends[0] - ends[1]) / abs(ends[1] - ends[2]) == pytest.approx(4.0, rel=0.1)


# --- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tension": [1, 2, 3]}, "expected 2 numbers, one for each section, or 1; found 3"),
        ({"tension": 1, "slack": 1}, "expected either `tension` or `slack`"),
        ({"closed": True}, "a belt leads over pulleys alone"),
    ],
)
def test_ropes_that_have_no_meaning_are_refused(fields, message):
    scene = atwood()
    scene["springs"]["rope"] |= fields
    with pytest.raises(SceneError, match=message):
        loaded(scene)


def test_a_rope_without_length_at_the_start_is_refused(tmp_path):
    scene = atwood()
    scene["joints"]["l"]["origin"]["position"] = [0.05, 0, 0]
    with pytest.raises(SceneError, match=r"springs\.rope: has no length in the initial position, in section 1"):
        prepared(tmp_path, {**scene, "simulation": {"duration": 0.1, "step": 1e-3}})


@pytest.mark.parametrize("place", [[0, 0, 0], [0.3, 0.2, -0.1]], ids=["at the origin", "to round-off"])
def test_an_elastic_rope_whose_ends_coincide_is_refused(tmp_path, place):
    """It would have neither material nor a direction; with `slack` it has a length without tension."""
    guide = {"body": "world", "point": place}
    load = body(2.0) | {"position": [1.1 * x for x in place]}
    rope = elastic(guide, guide, {"body": "load", "point": [-0.1 * x for x in place]}, tension=5)
    scene = {"bodies": {"load": load}, "springs": {"rope": rope}, "simulation": {"duration": 0.1, "step": 1e-3}}
    with pytest.raises(SceneError, match=r"springs\.rope: .*, in section 1, where two points next to each other"):
        prepared(tmp_path, scene)
    rope["slack"] = 0.1 * rope.pop("tension")
    prepared(tmp_path, scene)


def test_an_elastic_rope_whose_end_is_at_its_guide_is_refused(tmp_path):
    """Its tension has no direction there, although the section has a length."""
    rope = elastic({"body": "world"}, {"body": "world", "point": [0, 0, -1]}, {"body": "load"}, tension=5)
    load = body(2.0) | {"position": [0, 0, -1]}
    scene = {"bodies": {"load": load}, "springs": {"rope": rope}, "simulation": {"duration": 0.1, "step": 1e-3}}
    with pytest.raises(SceneError, match=r"in section 1, where two points next to each other coincide: move"):
        prepared(tmp_path, scene)


@every_method
def test_an_elastic_rope_whose_end_enters_a_circle_makes_the_run_untrusted(tmp_path, method):
    """The slack rope would lie on the disc that the ball passes through; beside the disc the run is complete."""
    own = {} if METHODS[method].own_integrator else {"integrator": "rk4"}
    over = {"body": "world", "point": [-1, 0, -0.2]}, pulley("world", 0.3, slides=True), "ball"
    ball = body(1.0) | {"position": [1, 0, 0], "velocity": {"linear": [-3, 0, 0.2]}}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"ball": ball},
        "springs": {"rope": elastic(*over, slack=0.5)},
        "simulation": {"duration": 0.4, "step": 1e-3, "method": method, **own},
    }
    outcome = prepared(tmp_path, scene).run(MemorySink()).outcome
    assert outcome.status == "untrusted"
    assert "elastic_rope `rope`: a section of it had no length, and no tension" in outcome.message
    scene["simulation"]["duration"] = 0.2
    assert prepared(tmp_path, scene).run(MemorySink()).outcome.status == "complete"


def test_a_section_whose_material_is_taken_up_has_no_tension(tmp_path):
    """A drum winds more than the section has: the strain is -1, and the program warns."""
    bodies = {"drum": body(1.0), "load": body(5.0)}
    joints = {"winch": hinge("drum", motion={"velocity": 10}), "l": slider("load", -R, -0.1)}
    scene = {"bodies": bodies, "joints": joints, "springs": {"rope": elastic("load", pulley("drum", R))}}
    scene["joints"]["l"]["motion"] = {"velocity": 0}
    found = run(tmp_path, scene, step=1e-3, duration=0.1)
    strain, gone = found("springs/rope/strain")[:, 0], R * 10 * found("time") + 1e-12 >= 0.1
    assert gone.any()
    np.testing.assert_array_equal(strain[gone], -1.0)
    np.testing.assert_array_equal(found("springs/rope/tension")[gone], 0.0)
    assert (strain[~gone][1:] > 0.0).all()


def test_the_pulley_of_a_rope_must_turn(tmp_path):
    scene = atwood()
    scene["joints"]["axle"] = {"type": "free", "child": "wheel"}
    with pytest.raises(SceneError, match="no coordinate counts the turns of `wheel` about this axis"):
        loaded(scene)
