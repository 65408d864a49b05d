"""Ropes and struts, one-sided distances: instants of closed forms, conservation in a jerk, and edges of the passes."""

from __future__ import annotations

import numpy as np
import pytest
from friction_trees import prepared, started
from test_tree_contacts import L as LINK
from test_tree_contacts import arm, compare

from multibody_cli import MemorySink
from multibody_cli.methods import METHODS

G, L, H = 9.81, 1.0, 1e-3
every_method = pytest.mark.parametrize("method", METHODS)


def between(a, b, point=(0.0, 0.0, 0.0), **fields):
    ends = [{"body": a, "point": list(point)}, {"body": b}]
    return {"rope": {"type": "distance", "between": ends, **fields}}


def ball(position, velocity=(0.0, 0.0, 0.0), mass=2.0):
    inertia = {"principal": [0.01, 0.01, 0.01]}
    return {"mass": mass, "inertia": inertia, "position": list(position), "velocity": {"linear": list(velocity)}}


def runs(tmp_path, bodies, constraints, method, duration, step=H, **more):
    own = {} if METHODS[method].own_integrator else {"integrator": more.pop("integrator", "semi_implicit_euler")}
    settings = {"duration": duration, "step": step, "method": method, **own}
    scene = {"bodies": bodies, "constraints": constraints, "simulation": settings, "output": {"every": step}, **more}
    sink = MemorySink()
    prepared(tmp_path, scene).run(sink)
    found = sink.trajectory()
    return lambda name: found.channel(name).values


# --- a pendulum on a rope ---------------------------------------------------------------------------------------------
@every_method
def test_a_falling_ball_is_jerked_within_a_step_of_the_instant_at_which_its_rope_is_taut(tmp_path, method):
    """It falls at a distance of 0.6 L beside the suspension, and loses the part of its velocity along the rope."""
    taut, fall = np.sqrt(2.0 * 0.8 / G), np.sqrt(2.0 * 0.8 * G)
    found = runs(tmp_path, {"ball": ball([0.6, 0, 0])}, between("world", "ball", limits=[None, L]), method, 0.6)
    time, distance = found("time"), np.linalg.norm(found("bodies/position")[:, 0], axis=1)
    multiplier = found("constraints/rope/multiplier")[:, 0]
    first = int(np.argmax(distance > L - 1e-9))
    assert abs(time[first] - taut) <= H
    assert distance.max() < L + 1e-9
    assert not multiplier[: first - 1].any()
    assert multiplier[first + 1 :].min() > 0.0
    x, v = (found(f"bodies/{name}")[:, 0] for name in ("position", "linear_velocity"))
    np.testing.assert_allclose((x[first + 1 :] * v[first + 1 :]).sum(axis=1), 0.0, atol=1e-2)
    np.testing.assert_allclose(np.linalg.norm(v[first + 2]), 0.6 * fall, rtol=1e-2)
    tension = 2.0 * (G * -x[:, 2] + (v * v).sum(axis=1))
    np.testing.assert_allclose(multiplier[first + 2 :], tension[first + 2 :], rtol=1e-2)
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], (0.8 * fall) ** 2, rtol=2e-2)
    assert np.abs(found("energy/ledger_residual")[-1]) < 0.1


@every_method
def test_a_pendulum_goes_slack_flies_and_is_taut_again(tmp_path, method):
    """With v0^2 = 3.5 g L below it is slack at the angle phi above the horizontal, sin(phi) = 1/2, with the speed u.

    It flies for 4 u cos(phi) / g, and meets the circle where its velocity is u (-sin(phi), -3 cos(phi)).
    """
    phi, v0, h = np.pi / 6, float(np.sqrt(3.5 * G * L)), 2e-4
    bodies = {"ball": ball([0, 0, -L], [v0, 0, 0])}
    found = runs(tmp_path, bodies, between("world", "ball", limits=[None, L]), method, 1.4, h)
    time, x = found("time"), found("bodies/position")[:, 0]
    slack = np.linalg.norm(x, axis=1) < L - 1e-5  # above v^2 h^2 / L, and reached 0.01 s after the rope is slack
    leaves = int(np.argmax(slack))
    meets = leaves + int(np.argmax(~slack[leaves:]))
    np.testing.assert_allclose(x[leaves, 2], L * np.sin(phi), atol=2e-2)
    np.testing.assert_allclose(
        time[meets] - time[leaves], 4.0 * np.cos(phi) * np.sqrt(L * np.sin(phi) / G), atol=1.2e-2
    )
    u = np.sqrt(G * L * np.sin(phi))
    radial = u * (3.0 * np.cos(phi) * np.sin(3.0 * phi) - np.sin(phi) * np.cos(3.0 * phi))
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], radial**2, rtol=0.05)
    assert not found("constraints/rope/multiplier")[leaves + 1 : meets - 1].any()


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "linearly_implicit_euler", "rk4"])
def test_integrators_agree_on_a_taut_rope(tmp_path, integrator):
    """Past the jerk the energy is that of a rod."""
    bodies, rope = {"ball": ball([0.6, 0, 0])}, between("world", "ball", limits=[None, L])
    found = runs(tmp_path, bodies, rope, "aba", 1.0, 1e-4, integrator=integrator)
    energy = found("energy/kinetic") + found("energy/potential")
    np.testing.assert_allclose(energy[4100:], energy[4100], atol=2e-2)


# --- two bodies -------------------------------------------------------------------------------------------------------
@every_method
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_rope_between_two_balls_conserves_their_momentum(tmp_path, method, restitution):
    """Balls of 1 and 3 kg fly apart at 2 m/s: along the rope the velocities become those of an impact."""
    bodies = {"a": ball([0, 0, 0], [-1, 0.5, 0], 1.0), "b": ball([0.5, 0, 0], [1, 0.5, 0.3], 3.0)}
    rope = between("a", "b", limits=[None, L], restitution=restitution)
    found = runs(tmp_path, bodies, rope, method, 0.5, gravity=[0, 0, 0])
    v = found("bodies/linear_velocity")
    np.testing.assert_allclose(found("momentum/linear"), np.tile([2.0, 2.0, 0.9], (len(v), 1)), atol=1e-12)
    angular = found("momentum/angular")
    shift = 0.0 if METHODS[method].own_integrator else 2.0 * H  # back to the length of the rope, past which it flew
    np.testing.assert_allclose(angular, np.tile(angular[0], (len(v), 1)), atol=1e-10 + 0.75 * 0.3 * shift)
    lost = 0.5 * 0.75 * (1.0 - restitution**2) * 2.0**2  # of the reduced mass; 0.3 m/s across the rope is a small part
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], lost, rtol=0.03, atol=5e-5)
    np.testing.assert_allclose(np.ptp(found("energy/kinetic")), lost, rtol=0.03, atol=5e-5)
    distance = np.linalg.norm(found("bodies/position")[:, 1] - found("bodies/position")[:, 0], axis=1)
    assert distance.max() < L + 1e-9
    assert (distance[-1] < 0.95 * L) == (restitution > 0.0)


@every_method
def test_a_strut_presses_and_does_not_pull(tmp_path, method):
    """A ball falls onto its strut, rests on it, and is drawn off by nothing."""
    bodies = {"ball": ball([0, 0, 1.05 * L], [0, 0, 0.2])}
    found = runs(tmp_path, bodies, between("world", "ball", limits=[L, None]), method, 0.6)
    height, load = found("bodies/position")[:, 0, 2], found("constraints/rope/multiplier")[:, 0]
    assert height.max() > 1.05 * L
    assert height.min() > L - 1e-9
    np.testing.assert_allclose(load[-1], 2.0 * G, rtol=1e-9)
    np.testing.assert_allclose(height[-1], L, atol=1e-9)
    assert not load[:50].any()


# --- beside friction of joints and contacts ---------------------------------------------------------------------------
def tied(tmp_path, scene, link, point, slack):
    """Tie a body of a scene to a point of the world, with a rope that is longer than their distance at the start."""
    sink = MemorySink()
    prepared(tmp_path, scene, f"simulation.duration={H}").run(sink)
    distance = np.linalg.norm(sink.trajectory().channel(f"bodies/{link}/position").values[0] - point)
    scene["constraints"] = between("world", link, point, limits=[None, float(distance) + slack])
    return scene


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff", "variational", "variational_maximal"])
def test_a_rope_to_the_world_is_an_edge_of_the_passes(tmp_path, monkeypatch, method):
    """An arm with friction in its hinges that swings into a rope."""
    scene = tied(tmp_path, arm(3, 5.0), "link1", (-0.5, 0.0, 5.5), 0.02)
    assert compare(tmp_path, monkeypatch, scene, method, 150) > 10


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
def test_a_rope_and_the_floor_are_edges_of_the_same_passes(tmp_path, method):
    scene = tied(tmp_path, arm(5), "link0", (-0.5, 0.0, 2.0), 0.02)
    state, stepper = started(prepared(tmp_path, scene, f"simulation.method={method}"))
    both = 0
    for _ in range(400):
        assert stepper.step(state, 1) is None
        sizes = stepper.contact_work.step.sizes[0]
        both += sizes["contacts"] * sizes["constraint_rows"]
        assert not stepper.contact_work.factors.rank.any()
    assert both > 30
    assert not stepper.contact_work.diagnostics.unsolved_steps.any()


def test_a_rope_costs_the_passes_no_more_than_linear_work(tmp_path):
    """No step of an arm of 40 hinges that swings into a rope solves rows."""
    scene = tied(tmp_path, arm(40, 40.0), "link20", (-6.0, 0.0, 44.0), 0.01)
    state, stepper = started(prepared(tmp_path, scene))
    touched = 0
    for _ in range(300):
        assert stepper.step(state, 1) is None
        touched += stepper.contact_work.step.sizes["constraint_rows"][0]
        assert not stepper.contact_work.factors.rank.any()
    assert touched > 20
    assert not stepper.contact_work.diagnostics.unsolved_steps.any()


# --- special positions ------------------------------------------------------------------------------------------------
@every_method
def test_points_that_coincide_have_a_slack_rope(tmp_path, method):
    """It has no direction; the fall is free until the rope is taut."""
    found = runs(tmp_path, {"ball": ball([0, 0, 0])}, between("world", "ball", limits=[None, L]), method, 0.6)
    time, z = found("time"), found("bodies/position")[:, 0, 2]
    free = time < np.sqrt(2.0 * L / G) - H
    np.testing.assert_allclose(z[free], -0.5 * G * time[free] ** 2, atol=2.0 * G * H)
    np.testing.assert_allclose(z[-1], -L, atol=1e-9)
    np.testing.assert_allclose(found("constraints/rope/multiplier")[-1, 0], 2.0 * G, rtol=1e-6)


@every_method
def test_a_rope_along_a_straight_arm_does_not_act(tmp_path, method):
    """It is taut where no joint moves its end along it: the motion is that without the rope."""
    ends = []
    for constraints in (between("world", "link1", (0.0, 0.0, 5.0), limits=[None, 1.5 * LINK]), {}):
        scene = arm(2, 5.0, 0.0)
        scene["joints"]["joint0"] |= {"q": 0.3, "v": 0.5}
        scene["joints"]["joint1"]["q"] = 0.0
        for name in ("joint0", "joint1"):
            del scene["joints"][name]["friction"]
        bodies, joints = scene["bodies"], scene["joints"]
        found = runs(tmp_path, bodies, constraints, method, 0.05, joints=joints)
        ends.append(found("joints/joint0/q")[-1])
        assert np.isfinite(found("bodies/position")).all()
    np.testing.assert_allclose(*ends, atol=1e-6)


@every_method
def test_a_ball_that_bounces_within_an_elastic_rope_gains_no_energy(tmp_path, method):
    """The rate of an approach changes as the rope turns, at constant velocity; 24 impacts lose little."""
    bodies, rope = {"ball": ball([0.3, 0, 0], [1, 2, 0.5])}, between("world", "ball", limits=[None, L], restitution=1.0)
    energy = runs(tmp_path, bodies, rope, method, 20.0, gravity=[0, 0, 0])("energy/kinetic")
    assert np.diff(energy).max() < 1e-5
    assert 0.995 * energy[0] < energy[-1] < (1.0 + 1e-6) * energy[0]
