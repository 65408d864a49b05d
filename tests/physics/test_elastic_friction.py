"""Friction of elastic ropes over guides: hysteresis in closed form, and motions by a regularized law in SciPy."""

from __future__ import annotations

import itertools
import json
import math
from functools import lru_cache

import numpy as np
import pytest
from friction_trees import prepared
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from test_elastic_ropes import EA, elastic, every_method, frequencies, run
from test_pulleys import body, hinge, pulley, slider

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

G, R = 9.81, 0.2


def post(friction, x=0.0, z=0.0, name="world", r=R, sense=1, turns=0):
    found = pulley(name, r, sense, x, slides=True, turns=turns, friction=friction)
    return found | {"point": [x, 0, z]}


def feed_at(tension):
    """Force against which material with a tension is fed."""
    return tension + tension**2 / (2.0 * EA)


def tension_of(length, made):
    return EA * max(length / made - 1.0, 0.0)


# --- one guide, in closed form ----------------------------------------------------------------------------------------
@every_method
@pytest.mark.parametrize("turns", [0, 1])
def test_a_rope_drawn_to_and_fro_over_a_post_follows_its_hysteresis(tmp_path, method, turns):
    """Held at one end and driven at the other: it slips, sticks without creep on the way back, and slips back."""
    held, drawn, depth, period = 1.0, 1.5, 0.05, 0.4
    grip = math.exp(0.05 * (math.pi + turns * math.tau))
    scene = {"bodies": {"end": body(1.0)}, "gravity": [0, 0, 0]}
    drive = {"position": f"-{depth}*sin({math.tau / period}*t)"}
    scene["joints"] = {"end": slider("end", R, -drawn) | {"motion": drive}}
    over = {"body": "world", "point": [-R, 0, -held]}, post(0.05, turns=turns), "end"
    scene["springs"] = {"rope": elastic(*over, tension=40.0)}
    found = run(tmp_path, scene, method, duration=0.6 * period, step=5e-4)
    made = held / (1 + 40 / EA), drawn / (1 + 40 / EA)

    def slipping(x, ratio):
        """Tension of the held section if the other one has it times the ratio."""
        return brentq(
            lambda T: held / (1 + T / EA) + (drawn + x) / (1 + ratio * T / EA) - sum(made), 0, 4000, xtol=1e-13
        )

    tensions, fixed = [], made[0]
    for x in depth * np.sin(math.tau / period * found("time")):
        tight, loose = tension_of(held, fixed), tension_of(drawn + x, sum(made) - fixed)
        if loose > grip * tight:
            tight = slipping(x, grip)
        elif tight > grip * loose:
            tight = slipping(x, 1.0 / grip)
        fixed = held / (1 + tight / EA)
        tensions.append([tight, tension_of(drawn + x, sum(made) - fixed)])
    np.testing.assert_allclose(found("springs/rope/tension"), tensions, rtol=1e-9, atol=1e-7)
    ratios = np.array(tensions)[:, 1] / np.array(tensions)[:, 0]
    np.testing.assert_allclose([ratios.max(), ratios.min()], [grip, 1 / grip], rtol=1e-9)
    # of one slip: the material that passes against the difference of the forces
    forth = found("time") <= period / 4

    def resists(made_held, ratio):
        T = tension_of(held, made_held)
        return feed_at(ratio * T) - feed_at(T)

    reached = slipping(depth, grip)
    lost, _ = quad(resists, held / (1 + reached / EA), made[0], (grip,), epsrel=1e-12)
    np.testing.assert_allclose(found("energy/dissipation/springs/rope")[forth][-1], lost, rtol=3e-4)
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if METHODS[method].own_integrator is None else 1e-4)


@every_method
def test_a_load_that_sticks_on_a_capstan_swings_without_creep(tmp_path, method):
    """Its rope on the other side keeps tension and material exactly; its frequency is that of its own side."""
    load, own, held = 2.0, 0.8, 0.3
    weight = load * G
    scene = {"bodies": {"load": body(load)}, "joints": {"l": slider("load", R, -own) | {"v": 0.05}}}
    over = {"body": "world", "point": [-R, 0, -held]}, post(0.3, turns=2), "load"
    scene["springs"] = {"rope": elastic(*over, tension=[5.0, weight])}
    found = run(tmp_path, scene, method, duration=2.0, step=5e-4)
    np.testing.assert_allclose(found("springs/rope/tension")[:, 0], 5.0, rtol=1e-12)
    made = own / (1 + weight / EA)
    rate = math.sqrt(EA / made / load)
    expected = 0.05 / rate * np.sin(rate * found("time"))
    np.testing.assert_allclose(found("joints/l/q")[:, 0], expected, rtol=0, atol=2e-5)
    tension = weight - EA * found("joints/l/q")[:, 0] / made
    np.testing.assert_allclose(found("springs/rope/tension")[:, 1], tension, rtol=1e-10)
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if METHODS[method].own_integrator is None else 1e-4)


def test_the_frequency_of_a_rope_that_sticks(tmp_path):
    """The derivative of its forces has the slips at their values."""
    load, own = 2.0, 0.8
    scene = {"bodies": {"load": body(load)}, "joints": {"l": slider("load", R, -own)}}
    over = {"body": "world", "point": [-R, 0, -0.3]}, post(0.3, turns=2), "load"
    scene["springs"] = {"rope": elastic(*over, tension=[5.0, load * G])}
    with pytest.warns(mbsim.SceneWarning, match="keeps the slip over the guides .*, of `springs.rope`"):
        [found] = frequencies(tmp_path, scene)
    np.testing.assert_allclose(found, math.sqrt(EA * (1 + load * G / EA) / own / load), rtol=1e-7)


# --- motions, by a regularized law ------------------------------------------------------------------------------------
def slips(tensions, ratios, viscosity):
    """Rates of the slips forward over all guides, in proportion to the excess of a tension."""
    return [
        (max(after - ratio * before, 0.0) - max(before - ratio * after, 0.0)) / viscosity
        for (before, after), ratio in zip(itertools.pairwise(tensions), ratios, strict=True)
    ]


def by_scipy(*given):
    """Extrapolate `regularized` to a slip without viscosity."""
    return 2.0 * regularized(*given, 0.02) - regularized(*given, 0.04)


@lru_cache
def regularized(times, lengths, made, ratios, mass, weights, v, viscosity):
    """Two weights on the first and the last section of a rope over guides: their heights, and the loss.

    The guides between have fixed distances.
    """

    def rates(_, y):
        left, right, v_left, v_right, *x, _ = y
        passed = [0.0, *x, 0.0]
        long = [lengths[0] - left, *lengths[1:-1], lengths[-1] - right]
        T = [tension_of(long[k], made[k] + passed[k] - passed[k + 1]) for k in range(len(made))]
        rate = slips(T, ratios, viscosity)
        lost = sum(u * (feed_at(b) - feed_at(a)) for u, (a, b) in zip(rate, itertools.pairwise(T), strict=True))
        return v_left, v_right, (T[0] - weights[0]) / mass[0], (T[-1] - weights[1]) / mass[1], *rate, lost

    start = np.array([0.0, 0.0, *v, *(0.0 for _ in ratios), 0.0])

    def slopes(t, y):
        return np.transpose([(np.subtract(rates(t, y + d), rates(t, y - d))) / 2e-7 for d in 1e-7 * np.eye(len(y))])

    return solve_ivp(rates, (0.0, times[-1]), start, "Radau", times, jac=slopes, rtol=1e-7, atol=1e-9, max_step=2e-3).y


def weights_on(over, heights, masses, v, **fields):
    bodies = {"left": body(masses[0]), "right": body(masses[1])}
    joints = {
        "l": slider("left", heights[0][0], heights[0][1]) | {"v": v[0]},
        "r": slider("right", heights[1][0], heights[1][1]) | {"v": v[1]},
    }
    return {"bodies": bodies, "joints": joints, "springs": {"rope": elastic("left", *over, "right", **fields)}}


def agrees(found, wanted, method, order=2e-5):
    order = order if METHODS[method].own_integrator is None else 1e-3
    for name, expected in zip("lr", wanted, strict=False):
        np.testing.assert_allclose(found(f"joints/{name}/q")[:, 0], expected, rtol=0, atol=order)
    lost = found("energy/dissipation/springs/rope")
    np.testing.assert_allclose(lost, wanted[-1], rtol=0, atol=3e-4 * lost.max() + 100 * order)
    assert lost.max() > 0.05


@every_method
def test_weights_on_a_post_swing_slip_and_stick(tmp_path, method):
    masses, lengths, v = (3.0, 2.0), (1.0, 1.5), (0.4, -0.9)
    scene = weights_on([post(0.1)], [(-R, -1.0), (R, -1.5)], masses, v, tension=[29.0, 22.0])
    found = run(tmp_path, scene, method, duration=0.4)
    made = 1.0 / (1 + 29.0 / EA), 1.5 / (1 + 22.0 / EA)
    ratio = math.exp(0.1 * math.pi)
    wanted = by_scipy(tuple(found("time")), lengths, made, (ratio,), masses, (3 * G, 2 * G), v)
    agrees(found, wanted, method)
    tight, loose = found("springs/rope/tension").T
    assert (loose <= ratio * tight * (1 + 1e-9) + 1e-9).all()
    assert (tight <= ratio * loose * (1 + 1e-9) + 1e-9).all()
    assert (loose > ratio * tight * (1 - 1e-9)).any()
    assert (loose < 0.9 * ratio * tight).any()
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if METHODS[method].own_integrator is None else 2e-3)


@every_method
def test_weights_on_several_guides_swing_slip_and_stick(tmp_path, method):
    """Three corners of a square and a post: each guide has the angle of its own turn."""
    corners = [{"body": "world", "point": point, "friction": 0.03} for point in ([0, 0, 0], [0, 0, 1], [1, 0, 1])]
    masses, v = (3.0, 4.0), (0.3, 0.5)
    over = [
        *corners,
        post(0.02, 1.5, 1.0, r=0.25, sense=-1),
        {"body": "world", "point": [2.5, 0, 1.5], "friction": 0.05},
    ]
    scene = weights_on(over, [(0.0, -1.0), (2.5, -0.5)], masses, v, tension=30.0)
    scene["joints"]["l"]["origin"]["position"] = [-1, 0, 0]
    scene["joints"]["l"] |= {"axis": [1, 0, 0]}
    scene["gravity"] = [0, 0, 0]
    scene["joints"]["l"]["force"] = -29.0
    scene["joints"]["r"]["force"] = -38.0
    found = run(tmp_path, scene, method, duration=0.3)
    # tangents to the disc, from the corner at its height and to the last guide
    first, last = math.sqrt(0.5**2 - 0.25**2), math.sqrt(1.0 + 0.5**2 - 0.25**2)
    arrives, leaves = math.asin(0.25 / 0.5), math.atan2(0.5, 1.0) + math.asin(0.25 / math.hypot(1.0, 0.5))
    angles = math.pi / 2, math.pi / 2, arrives, arrives + leaves, math.pi / 2 + leaves
    ratios = tuple(math.exp(mu * one) for mu, one in zip((0.03, 0.03, 0.03, 0.02, 0.05), angles, strict=True))
    lengths = 1.0, 1.0, 1.0, first, last, 2.0
    made = tuple(length / (1 + 30.0 / EA) for length in lengths)
    wanted = by_scipy(tuple(found("time")), lengths, made, ratios, masses, (29.0, 38.0), v)
    agrees(found, wanted, method)
    tensions = found("springs/rope/tension")
    for k, ratio in enumerate(ratios):
        assert (tensions[:, k + 1] <= ratio * tensions[:, k] + 1e-8).all()
        assert (tensions[:, k] <= ratio * tensions[:, k + 1] + 1e-8).all()
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if METHODS[method].own_integrator is None else 2e-3)


@every_method
def test_a_windlass_drags_its_rope_by_friction(tmp_path, method):
    """A drum that a motor turns lifts the load beside the tail by exp(mu theta); the rope slips evenly at last."""
    load, tail, mu = 8.0, 2.0, 0.1
    bodies = {"load": body(load), "tail": body(tail), "drum": body(1.0)}
    joints = {"l": slider("load", -R, -1.0), "t": slider("tail", R, -1.0) | {"motion": {"position": 0}}}
    joints["motor"] = hinge("drum", motion={"velocity": 30.0})
    over = "load", post(mu, name="drum"), "tail"
    scene = {"bodies": bodies, "joints": joints, "springs": {"rope": elastic(*over, tension=[load * G, load * G])}}
    found = run(tmp_path, scene, method, duration=0.5, step=5e-4)
    tight, loose = found("springs/rope/tension")[1:].T
    np.testing.assert_allclose(tight / loose, math.exp(mu * math.pi), rtol=1e-9)
    drum, work = found("joints/motor/q")[:, 0], found("energy/work/joints/motor/motion")
    assert drum[-1] > 2.3 * math.tau
    moment = R * (feed_at(tight) - feed_at(loose))
    np.testing.assert_allclose(np.diff(work)[1:], 30.0 * 5e-3 * 0.5 * (moment[1:] + moment[:-1]), rtol=2e-2)
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if METHODS[method].own_integrator is None else 2e-3)


@every_method
def test_a_belt_that_slides_over_a_pulley_with_friction_turns_it(tmp_path, method):
    """Two sections between the driven pulley and the one over which the belt slips: T2 = T1 exp(mu theta)."""
    mu, torque = 0.2, 8.0
    bodies = {"a": body(1.0, 0.02), "b": body(1.0, 0.3)}
    joints = {"a": hinge("a", force=torque), "b": hinge("b", 1.0)}
    belt = elastic(pulley("a", R), post(mu, name="b") | {"point": [0, 0, 0]}, closed=True, tension=30.0)
    found = run(tmp_path, {"bodies": bodies, "joints": joints, "springs": {"belt": belt}}, method, duration=0.5)
    forward, backward = found("springs/belt/tension").T
    ratio = math.exp(mu * math.pi)
    assert (np.maximum(forward, backward) <= ratio * np.minimum(forward, backward) * (1 + 1e-9)).all()
    moment = R * np.abs(feed_at(forward) - feed_at(backward))
    np.testing.assert_allclose(np.abs(found("joints/b/acceleration")[:, 0]), moment / 0.3, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(forward + backward, 60.0, rtol=2e-2)
    assert np.abs(found("energy/ledger_residual")).max() < (1e-9 if METHODS[method].own_integrator is None else 2e-3)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "linearly_implicit_euler", "heun", "sdirk2"])
def test_other_integrators_slip_too(tmp_path, integrator):
    masses, v = (3.0, 2.0), (0.4, -0.9)
    scene = weights_on([post(0.1)], [(-R, -1.0), (R, -1.5)], masses, v, tension=[29.0, 22.0])
    wanted = run(tmp_path, scene, duration=0.2)
    errors = []
    for step in (2e-4, 1e-4):
        found = run(tmp_path, scene, duration=0.2, integrator=integrator, step=step)
        names = "joints/l/q", "joints/r/q", "energy/dissipation/springs/rope"
        errors.append(max(abs(np.ravel(found(name)[-1] - wanted(name)[-1])[0]) for name in names))
    first_order = integrator.endswith("euler")
    assert errors[1] < (0.6 * errors[0] if first_order else 1e-4)
    assert errors[0] < (5e-2 if first_order else 1e-4)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "linearly_implicit_euler", "sdirk2", "variational"])
def test_a_run_in_parts_has_the_same_bytes(tmp_path, method):
    """The slips are states; a program that changes `q` begins a new account of the energy of the rope."""
    scene = weights_on([post(0.1)], [(-R, -1.0), (R, -1.5)], (3.0, 2.0), (0.4, -0.9), tension=[29.0, 22.0])
    own = {"method": method} if method in METHODS else {"integrator": method}
    path = tmp_path / "scene.yaml"
    path.write_text(json.dumps({"mbsim": 1, "name": "s", **scene, "simulation": {"duration": 1, "step": 1e-3, **own}}))
    ends = []
    for parts in (1, 4):
        simulation = mbsim.Simulation(mbsim.load(path))
        for k in range(parts):
            simulation.advance(0.08 * (k + 1) / parts)
        names = "springs/rope/tension", "energy/dissipation/springs/rope", "energy/ledger_residual"
        ends.append(np.concatenate([np.ravel(simulation.channel(name)) for name in names]))
    np.testing.assert_array_equal(ends[0][:2], ends[1][:2])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12, atol=1e-14)
    simulation.q["l"][:] += 0.01
    before = simulation.channel("energy/ledger_residual"), simulation.channel("energy/dissipation/springs/rope")
    simulation.step()
    assert abs(simulation.channel("energy/ledger_residual") - before[0]) < 5e-3
    assert 0.0 <= simulation.channel("energy/dissipation/springs/rope") - before[1] < 0.1


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fields", "settings", "message"),
    [
        ({"damping": 1.0}, {}, "damping: is not supported with `friction`"),
        ({}, {"integrator": "dop853"}, "`dop853` has a variable step size, but the slip of a rope needs a small fixed"),
        ({}, {"method": "variational", "options": {"order": 4}}, "backward steps, which dry friction cannot take"),
        ({}, {"method": "variational", "options": {"implicit_forces": True}}, "advances once in a step: remove it"),
        ({"tension": [1, 2, 3]}, {}, "expected 2 numbers, one for each section, or 1; found 3"),
    ],
)
def test_what_friction_does_not_go_with_is_refused(tmp_path, fields, settings, message):
    scene = weights_on([post(0.1)], [(-R, -1.0), (R, -1.5)], (3.0, 2.0), (0.0, 0.0), **fields)
    with pytest.raises(SceneError, match=message):
        prepared(tmp_path, {**scene, "simulation": {"duration": 0.1, "step": 1e-3, **settings}})
