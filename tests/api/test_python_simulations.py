"""Simulations step by step: the same motion as a run, views of the state, channels, failures."""

from __future__ import annotations

import re

import numpy as np
import pytest
from swing import GALLERY, SWING, load

import mbsim
from multibody_cli.kernel.workers import cores

LOOSE = """
mbsim: 1
name: loose
bodies:
  arm: {mass: 1.0, com: [0, 0, 0.3], inertia: {principal: [0.1, 0.1, 0.05]}}
  ball: {mass: 0.4, inertia: {principal: [0.01, 0.02, 0.03]}, position: [1, 2, 3], velocity: {linear: [1, 0, 0]}}
joints:
  arm: {type: spherical, child: arm, v: [0.1, 0.2, 0.3]}
  lift: {type: prismatic, parent: world, child: plate, axis: [0, 0, 1], motion: {position: "0.1*sin(t)"}}
simulation: {duration: 1 s, step: 1 ms}
""".replace("joints:", "  plate: {mass: 1.0, inertia: {principal: [1, 1, 1]}}\njoints:")


def final(run, sim) -> None:
    """Compare the last row of a run with a simulation, bit by bit."""
    for path in run.data_vars:
        if run[path].dims[0] == "time" and not path.startswith("solver/") and path not in REPORTED:
            np.testing.assert_array_equal(run[path].values[-1], sim.channel(path), err_msg=path)


REPORTED = ("contacts/residual", "contacts/unsolved")
"""Channels that refer to the time since the last output."""

SETTINGS = [
    ("revolute_joint", {}),
    ("revolute_joint", {"simulation.method": "symbolic"}),
    ("spherical_joint", {"simulation.integrator": "semi_implicit_euler"}),
    ("damped_oscillators", {"simulation.integrator": "linearly_implicit_euler"}),
    ("damped_oscillators", {"simulation.integrator": "sdirk2"}),
    ("couplings", {}),
    ("couplings", {"simulation.method": "baraff"}),
    ("spherical_joint", {"simulation.method": "variational"}),
    ("falling_boxes", {"simulation.duration": "0.2 s"}),
    ("joint_friction", {}),
    ("limits", {}),
]


@pytest.mark.parametrize(("name", "overrides"), SETTINGS, ids=[f"{name}-{k}" for k, (name, _) in enumerate(SETTINGS)])
def test_steps_have_the_bits_of_a_run(name, overrides):
    """Also if they are taken one by one, and if channels are read in between."""
    steps = 60
    scene = load(GALLERY / f"{name}.yaml", overrides)
    duration = steps * scene.step
    scene = load(GALLERY / f"{name}.yaml", {**overrides, "simulation.duration": duration, "output.every": duration})
    run = scene.run(check=False)
    once, single = mbsim.Simulation(scene), mbsim.Simulation(scene)
    once.advance(duration)
    for k in range(steps):
        single.step()
        if k == 20:
            single.channel("energy/total")
    final(run, once)
    final(run, single)


def test_an_adaptive_integrator_advances_to_any_time():
    scene = load(SWING, {"simulation.integrator": "dop853", "simulation.tolerance": 1e-12})
    sim, fine = mbsim.Simulation(scene), mbsim.Simulation(load(SWING, {"simulation.step": "0.1 ms"}))
    sim.advance(0.12345)
    assert sim.time == 0.12345
    fine.advance(0.1234)
    sim.reset()
    sim.advance(0.1234)
    np.testing.assert_allclose(sim.q["hinge"], fine.q["hinge"], rtol=1e-10)
    sim.force["hinge"][:] = 1.0
    fine.force["hinge"][:] = 1.0
    sim.step(100)
    fine.step(1000)
    np.testing.assert_allclose(sim.q["hinge"], fine.q["hinge"], rtol=1e-9)


@pytest.mark.parametrize("events", [{}, {"events": {"turn": {"when": "joints.hinge.v"}}}])
def test_steps_of_an_adaptive_integrator_end_at_multiples_whatever_the_calls(events):
    scene = load(SWING, {"simulation.integrator": "dop853", "simulation.step": 0.1, **events})
    once, single = mbsim.Simulation(scene), mbsim.Simulation(scene)
    once.step(30)
    for _ in range(30):
        single.step()
    assert once.time == single.time == 30 * 0.1  # the sum of 30 steps is 3.0000000000000013
    assert once.q["hinge"][0] == single.q["hinge"][0]


PRESSED = """
mbsim: 1
gravity: [0.3, -0.2, -9.81]
world: {shapes: [{type: plane, normal: [0.05, -0.1, 1]}]}
contacts: {friction: 0.4, restitution: 0.5, overlap: exclude}
bodies:
  b0:
    {mass: 0.31, shapes: [{type: cylinder, position: [-0.014, -0.008, 0.003],
      rotation: {quaternion: [-0.6, 0.4, 0.35, -0.6]}, radius: 0.034, length: 0.096}], position: [0, 0, 0.32],
      rotation: {quaternion: [-0.31, -0.65, 0.66, 0.24]},
      velocity: {linear: [0.057, -0.13, -1.51], angular: [2.74, -2.89, -2.07]}}
  b1:
    {mass: 0.38, shapes: [{type: ellipsoid, position: [0.009, -0.01, 0.006],
      rotation: {quaternion: [0.71, 0.42, -0.56, 0.08]}, radii: [0.097, 0.081, 0.076]}]}
  b2:
    {mass: 0.69, shapes: [{type: box, position: [0.004, 0.007, 0.011],
      rotation: {quaternion: [-0.11, 0.46, 0.51, 0.72]}, size: [0.099, 0.11, 0.12]}], position: [1, 0.1, 0.27],
      velocity: {linear: [-0.8, 0.1, -1], angular: [1.3, -1.08, -1.09]}}
joints:
  hinge:
    {type: revolute, parent: b0, child: b1, axis: [0.19, 0.27, 0.93], limits: [-0.05, 0.04],
      origin: {position: [-0.092, -0.056, 0.066], rotation: {quaternion: [-0.91, -0.35, -0.05, 0.21]}},
      child_origin: {position: [-0.11, -0.05, -0.045], rotation: {quaternion: [0.89, -0.26, 0.24, 0.27]}}}
springs:
  rope:
    {between: [{body: b1, point: [0.043, -0.036, -0.025]}, {body: b2, point: [-0.062, -0.073, 0.07]}], stiffness: 300,
      damping: 1, rest_length: [0, 0.25]}
simulation: {duration: 0.1 s, step: 1 ms}
"""


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
def test_a_limit_that_is_pressed_when_a_body_hits_the_ground(method):
    """A taut rope presses the limit.  Its multiplier is a force, wherever a call ended before."""
    scene = load(PRESSED, {"simulation.method": method})
    motions = []
    for count in (100, 10, 1):
        sim = mbsim.Simulation(scene)
        for _ in range(100 // count):
            sim.step(count)
        motions.append((sim.q[...].tolist(), sim.v[...].tolist()))
    assert motions[0] == motions[1] == motions[2]


# --- views --------------------------------------------------------------------------------------------------------
def test_views_share_the_memory_of_the_state():
    sim = mbsim.Simulation(load(SWING))
    angle, rate = sim.q["hinge"], sim.v["hinge"]
    assert (angle.shape, list(sim.q)) == ((1,), ["hinge"])
    sim.step()
    assert angle[0] == sim.q[...][0] < np.pi / 2
    angle[:], rate[:] = 0.3, -2.0
    np.testing.assert_allclose(sim.channel("joints/hinge/q"), 0.3)
    np.testing.assert_allclose(sim.channel("energy/kinetic"), 0.5 * (0.5 / 3.0) * 4.0, rtol=3e-3)
    sim.step()
    np.testing.assert_allclose(angle, 0.3 - 2e-3, atol=1e-5)
    with pytest.raises(ValueError, match="read-only"):
        sim.a["hinge"][:] = 1.0


def test_values_are_assigned_by_name_into_the_state():
    written, assigned = mbsim.Simulation(load(SWING)), mbsim.Simulation(load(SWING))
    written.q["hinge"][:], written.force[...][:] = 1.0, [0.5]
    assigned.q["hinge"], assigned.force[...] = 1.0, [0.5]
    assigned.force[...] += 0.25
    written.force[...][:] += 0.25
    for sim in (written, assigned):
        sim.step(10)
    assert assigned.q["hinge"][0] == written.q["hinge"][0] != 1.0


@pytest.mark.parametrize("name", ["q", "v", "a", "force"])
def test_views_are_not_replaced_by_other_arrays(name):
    """An array in the place of the views would be ignored by the steps."""
    with pytest.raises(AttributeError, match="no setter"):
        setattr(mbsim.Simulation(load(SWING)), name, np.zeros(1))


def test_arguments_of_other_types_are_refused_with_the_expected_ones():
    sim = mbsim.Simulation(load(SWING))
    with pytest.raises(mbsim.ArgumentError, match=r"as in Simulation\(load\('scene.yaml'\)\), found 'swing.yaml'"):
        mbsim.Simulation("swing.yaml")
    with pytest.raises(mbsim.ArgumentError, match="expected a time in s, found '1 s'"):
        sim.advance("1 s")
    with pytest.raises(mbsim.ArgumentError, match="expected the bytes that `save` returned, found str"):
        sim.restore("state")
    with pytest.raises(mbsim.UnknownName, match="no joint or free body `slice"):
        sim.q[:]


def test_a_changed_state_begins_afresh():
    """The motion from a state that was written has the bits of a scene that begins there."""
    for overrides in ({}, {"simulation.integrator": "semi_implicit_euler"}, {"simulation.method": "variational"}):
        other = mbsim.Simulation(load(SWING, {"joints.hinge.q": 0.3, "joints.hinge.v": -2.0, **overrides}))
        sim = mbsim.Simulation(load(SWING, overrides))
        sim.step(7)
        sim.q["hinge"][:], sim.v["hinge"][:] = 0.3, -2.0
        sim.step(50)
        other.step(50)
        assert sim.q["hinge"][0] == other.q["hinge"][0]
        assert sim.v["hinge"][0] == other.v["hinge"][0]
        assert sim.time == 57 * 1e-3


def test_bodies_that_move_freely_have_names():
    sim = mbsim.Simulation(load(LOOSE))
    assert list(sim.v) == ["arm", "lift", "ball"]
    assert list(sim.force) == ["arm"]
    assert {name: view.size for name, view in sim.q.items()} == {"arm": 4, "lift": 1, "ball": 7}
    np.testing.assert_array_equal(sim.q["ball"][:3], [1, 2, 3])
    sim.v["ball"][:3] = [0, 0, 5]
    sim.step(100)
    np.testing.assert_allclose(sim.channel("bodies/ball/position"), [1, 2, 3.5 - 9.81 * 0.005], rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        sim.q["lift"][:] = 0.0


def test_unknown_names_have_hints():
    sim = mbsim.Simulation(load(SWING))
    with pytest.raises(KeyError, match="did you mean `hinge`") as raised:
        sim.force["hing"]
    assert str(raised.value) == "no joint with applied forces `hing`: did you mean `hinge`?"
    assert sim.force.get("door") is None
    with pytest.raises(mbsim.UnknownName, match="no channel `energy/totl`: did you mean `energy/total`"):
        sim.channel("energy/totl")


STACK = """
mbsim: 1
name: stack
world: {shapes: [{type: plane}]}
contacts: {}
bodies:
  low: {mass: 4, shapes: [{type: box, size: [1, 1, 0.2]}], position: [0, 0, 0.1]}
  top: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.3]}
simulation: {duration: 20 ms, step: 1 ms}
"""


def test_forces_between_two_bodies_are_channels():
    sim = mbsim.Simulation(load(STACK))
    assert not sim.channel("contacts/low:top/force").any()
    for _ in range(2):
        sim.step(5)
        np.testing.assert_allclose(sim.channel("contacts/low:top/force"), [0, 0, 9.81], atol=1e-9)
        assert sim.channel("contacts/low:world/force[z]") == pytest.approx(-5 * 9.81, rel=1e-9)
    for path, remedy in {
        "contacts/low:tpo/force": "there is no body `tpo`: did you mean `top`?",
        "contacts/low:low/force": "a pair has two different bodies",
    }.items():
        with pytest.raises(mbsim.UnknownName) as raised:
            sim.channel(path)
        assert str(raised.value) == f"no channel `{path}`: {remedy}"
    with pytest.raises(mbsim.UnknownName, match="the scene has no contacts"):
        mbsim.Simulation(load(SWING)).channel("contacts/rod:world/force")


def test_a_component_of_a_channel_follows_in_brackets():
    sim = mbsim.Simulation(load(SWING))
    force, position = sim.channel("joints/hinge/force"), sim.channel("bodies/rod/position")
    assert [sim.channel(f"joints/hinge/force[{word}]") for word in ("mx", "fz")] == [force[0], force[5]]
    assert sim.channel("bodies/rod/position[z]") == position[2]
    assert sim.channel("bodies/rod/com[x]") == sim.channel("bodies/rod/com")[0]
    for path, remedy in {
        "joints/hinge/force[fq]": "channel `joints/hinge/force` has no component `fq`: valid: fx, fy, fz, mx, my, mz",
        "joints/hinge/force[z]": "channel `joints/hinge/force` has no component `z`: did you mean `fz` or `mz`?",
        "bodies/rod/com[fz]": "channel `bodies/rod/com` has no component `fz`: did you mean `z`?",
        "bodies/rod/com[w]": "channel `bodies/rod/com` has no component `w`: valid: x, y, z",
        "energy/total[0]": "channel `energy/total` has no component `0`: it is a single number",
        "joints/hing/force[fz]": "no channel `joints/hing/force`: did you mean `joints/hinge/force`",
    }.items():
        with pytest.raises(mbsim.UnknownName, match=re.escape(remedy)):
            sim.channel(path)
    with pytest.raises(mbsim.ArgumentError, match="no body `rood`"):
        sim.jacobian("rood")
    with pytest.raises(mbsim.ArgumentError, match=r"expected a point of shape \(3,\), found \(2,\)"):
        sim.jacobian("rod", (0, 1))
    with pytest.raises(mbsim.ArgumentError, match="expected a number of steps of at least 0, found -1"):
        sim.step(-1)


# --- failures and independence ------------------------------------------------------------------------------------
def test_a_failed_step_has_the_words_of_a_run_and_can_be_reset():
    sim = mbsim.Simulation(load(SWING))
    sim.step(10)
    sim.force["hinge"][:] = 1e300
    with pytest.raises(mbsim.RunFailed, match=r"^diverged: step \d+ .* joint hinge grew fastest"):
        sim.step(50)
    sim.reset()
    sim.step(10)
    assert sim.time == 0.01


@pytest.mark.parametrize("part", ["q", "v", "force"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_named(part, value):
    sim = mbsim.Simulation(load(SWING))
    sim.step(3)
    saved = sim.save()
    getattr(sim, part)["hinge"] = value
    with pytest.raises(mbsim.RunFailed, match=f"^cannot save: {part} of `hinge` is not finite"):
        sim.save()
    with pytest.raises(mbsim.RunFailed, match=f"^cannot step: {part} of `hinge` is not finite: call `reset`"):
        sim.step()
    with pytest.raises(mbsim.RunFailed, match="is not finite: call `reset` or `restore`"):
        sim.step()
    sim.restore(saved)
    sim.step()
    assert np.isfinite(sim.q["hinge"]).all()


def test_the_second_step_after_a_failed_one_names_the_state():
    sim = mbsim.Simulation(load(SWING))
    sim.force["hinge"][:] = 1e300
    with pytest.raises(mbsim.RunFailed, match="grew fastest"):
        sim.step(50)
    with pytest.raises(mbsim.RunFailed, match=r"^cannot step: . of `hinge` is not finite"):
        sim.step()


def test_times_that_are_not_reached_are_refused():
    sim = mbsim.Simulation(load(SWING))
    with pytest.raises(mbsim.ArgumentError, match=r"nearest: 0\.001 s or 0\.002 s"):
        sim.advance(0.0015)
    sim.advance(0.002)
    with pytest.raises(mbsim.ArgumentError, match=r"the present time is 0\.002 s"):
        sim.advance(0.001)
    sim.advance(0.002)
    assert sim.time == 0.002


@pytest.mark.parametrize("settings", [{}, {"simulation.integrator": "dop853"}])
def test_steps_past_the_end_of_an_excitation_are_refused(settings):
    """The activation is computed for the duration; beyond it, the last value would hold."""
    sim = mbsim.Simulation(
        load(GALLERY / "excitation.yaml", {"simulation.duration": "10 ms", "output.every": "1 ms", **settings})
    )
    sim.advance(0.01)
    with pytest.raises(mbsim.ArgumentError, match=r"`excitation` are computed up to `simulation.duration`, 0.01 s"):
        sim.advance(0.02)
    if not settings:
        with pytest.raises(mbsim.ArgumentError, match="cannot step to"):
            sim.step()
    assert sim.time == 0.01


def test_a_count_of_steps_is_a_whole_number():
    sim = mbsim.Simulation(load(SWING))
    with pytest.raises(mbsim.ArgumentError, match=r"expected a whole number of steps, found 2\.5"):
        sim.step(2.5)
    assert sim.time == 0.0


def test_a_number_of_threads_that_is_none_is_an_argument_error(monkeypatch):
    monkeypatch.setenv("MBSIM_JOBS", "abc")
    with pytest.raises(mbsim.ArgumentError, match="expected a number of processes or threads"):
        cores()
