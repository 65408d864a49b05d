"""Laws of impact in scenes, for every method: energy, accounts, alarms, and impacts that pass on."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import mbsim
from multibody_cli.methods import METHODS

HEAD = "mbsim: 1\nname: impacts\ngravity: [0, 0, 0]\n"
RUN = "simulation: {duration: %s ms, step: 1 ms}\noutput: {every: 1 ms}\n"
FLOOR = "world: {shapes: [{type: plane, friction: 1}]}\n"
FRICTION, IMPACT = "energy/dissipation/contacts/friction", "energy/dissipation/contacts/impact"

KANE = {"e": 1.0, "mu": 1.48, "angle": 0.8789286886595062, "vx": -0.43185288573628977, "w": 2.0580882875399436}
"""A rod that hits the floor with its lower end, to which Newton's restitution adds 44 % of its energy."""
SECOND = {"e": 0.9, "mu": 0.5077, "angle": 0.7388, "vx": 0.1673, "w": 2.1199}


LYING = "{type: capsule, radius: 0.01, length: 1, rotation: {axis: [0, 1, 0], angle: 90 deg}}"


def rod(e, mu, angle, vx, w, shape=LYING):
    """A rod in the plane y = 0 that approaches the floor; its contact is closed in the first step."""
    height = 0.5 * math.sin(angle) + 0.0105
    return (
        HEAD + FLOOR + f"contacts: {{friction: {mu * mu}, restitution: {e}}}\n"
        f"bodies: {{rod: {{mass: 1, inertia: {{principal: [1e-3, {1 / 12!r}, {1 / 12!r}]}}, shapes: [{shape}], "
        f"position: [0, 0, {height!r}], rotation: {{axis: [0, 1, 0], angle: {angle!r}}}, "
        f"velocity: {{linear: [{vx!r}, 0, -1], angular: [0, {w!r}, 0]}}}}}}\n" + RUN % 3
    )


def run_of(text, *changes):
    """Return the trajectory of a scene, whose warnings are part of its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.load(text, changes).run()


def energies_of(run):
    """Return the kinetic energy and both accounts."""
    return (run[name].values for name in ("energy/kinetic", FRICTION, IMPACT))


@pytest.mark.parametrize("method", METHODS)
def test_a_rod_with_much_friction_gains_no_energy(method):
    """With e = 1, friction alone dissipates."""
    for case in (KANE, {**KANE, "mu": 0.51}, SECOND):
        kinetic, friction, impact = energies_of(run_of(rod(**case), f"simulation.method={method}"))
        assert kinetic[1] < kinetic[0]
        assert np.diff(friction).min() >= 0.0
        assert np.diff(impact).min() >= -1e-15
        assert kinetic[0] - kinetic[1] == pytest.approx(friction[1] + impact[1], rel=1e-9)
        if case["e"] == 1.0:
            assert impact[1] == pytest.approx(0.0, abs=1e-12)
            assert friction[1] > 1e-3


def stronge(e, mu, angle, vx, w):
    """Return the velocity of the center and the spin after the impact of `rod` whose slip stops and sticks or reverses.

    Before: slip u_t < 0 with friction +mu.  Normal impulse s of each phase, energies of the normal: Stronge 1990.
    The rod is 0.5 mm above the floor at the start.
    """
    height = 0.5 * math.sin(angle) + 0.0005
    angle += w * brentq(lambda t: height - t - 0.5 * math.sin(angle + w * t), 0.0, 1e-3)
    r = np.array([0.5 * math.cos(angle), -0.5 * math.sin(angle) - 0.01])
    J = np.array([[0.0, 1.0, -r[0]], [1.0, 0.0, r[1]]])  # of (vx, vz, w): normal, tangent
    M = np.diag([1.0, 1.0, 12.0])
    W, v = J @ M @ J.T, np.array([vx, -1.0, w])
    u, x = J @ v, np.zeros(2)
    sign = math.copysign(1.0, u[1])
    for g in (-mu * sign, -W[1, 0] / W[1, 1] if abs(W[1, 0]) <= mu * W[1, 1] else mu * sign):
        rate = W @ [1.0, g]
        stop = -u[1] / rate[1] if u[1] * rate[1] < 0.0 else math.inf
        if not x[0]:
            assert u[0] + rate[0] * stop < 0.0, "slip stops during compression"
            absorbed = -(u[0] + 0.5 * rate[0] * stop) * stop
            x, u = x + np.array([1.0, g]) * stop, u + rate * stop
    absorbed += 0.5 * u[0] ** 2 / rate[0]
    x = x + np.array([1.0, g]) * (-u[0] + e * math.sqrt(2.0 * rate[0] * absorbed)) / rate[0]
    return v + M @ J.T @ x


@pytest.mark.parametrize("case", [KANE, {**KANE, "mu": 0.9}, {**KANE, "e": 0.5}], ids=str)
def test_a_single_contact_has_stronges_restitution(case):
    """The rod after the impact against the closed form of impacts in a plane."""
    run = run_of(rod(**case))
    vx, vz, w = stronge(**case)
    assert run["bodies/linear_velocity"].values[1, 0] == pytest.approx([vx, 0.0, vz], abs=1e-6)
    assert run["bodies/angular_velocity"].values[1, 0] == pytest.approx([0.0, w, 0.0], abs=1e-6)


LINKAGE = """
contacts: {friction: 0.64, restitution: 0.9}
bodies:
  base: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}, position: [0, 0, 1.2],
         velocity: {linear: [-0.4, 0.1, -1], angular: [0, 0.3, 0]}}
  left: &bar {mass: 0.5, inertia: {principal: [0.01, 0.02, 0.02]}}
  right: *bar
  foot: {mass: 0.5, inertia: {principal: [0.01, 0.02, 0.02]},
         shapes: [{type: sphere, radius: 0.05, position: [0.3, 0, -0.5]}]}
joints:
  hip: {type: revolute, parent: base, child: left, axis: [0, 1, 0], q: 1.2,
        friction: &dry {coefficient: MU, surface: {radius: 1 cm, length: 2 cm}}}
  other: {type: revolute, parent: base, child: right, axis: [0, 1, 0], q: 1.2, origin: {position: [0.5, 0, 0]},
          friction: *dry}
  knee: {type: revolute, parent: left, child: foot, axis: [0, 1, 0], q: -1.2, origin: {position: [0.6, 0, 0]}}
"""
LOOP = (
    "  last: {type: spherical, parent: foot, child: right, child_origin: {position: [0.6, 0, 0]}, "
    "origin: {position: [0.5, 0, 0]}}\n"
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("closing", ["", LOOP], ids=["tree", "loop"])
def test_little_friction_of_a_joint_changes_an_impact_little(method, closing):
    """An oblique impact of a linkage: the motion after it is continuous in the friction of its joints."""

    def after(mu):
        text = HEAD + FLOOR + LINKAGE.replace("MU", str(mu)) + closing + RUN % 520
        run = run_of(text.replace("ms, step", f"ms, method: {method}, step").replace("every: 1 ms", "every: 20 ms"))
        kinetic, friction, _ = energies_of(run)
        assert 0.0 < friction[-1] < kinetic[0] - kinetic[-1] + 1e-3
        return np.append(run["bodies/linear_velocity"].values[-1], run["bodies/angular_velocity"].values[-1])

    without = after(0.0)
    assert np.abs(after(1e-12) - without).max() < 1e-9
    assert 1e-5 < np.abs(after(1e-3) - without).max() < 1e-3


def test_newtons_law_is_an_option_with_an_alarm():
    """It adds 44 %; two rods side by side, with two contacts, gain energy as well, and none by default."""
    two = ", ".join(LYING.replace("{type", f"{{position: [0, {y}, 0], type") for y in (-0.2, 0.2))
    for text in (rod(**KANE), rod(**KANE, shape=two)):
        newton, default = run_of(text, "contacts.impacts=newton"), run_of(text)
        assert newton["energy/kinetic"].values[1] > 1.1 * newton["energy/kinetic"].values[0]
        assert "contacts and friction added" in str(newton.attrs["message"])
        assert default["energy/kinetic"].values[1] <= default["energy/kinetic"].values[0] * (1.0 + 1e-14)
        assert "added" not in str(default.attrs["message"])
    kinetic, friction, _ = energies_of(run_of(rod(**KANE), "contacts.impacts=newton"))
    assert (kinetic[1], friction[1]) == pytest.approx((1.1110, -0.3412), abs=1e-4)


def random_impacts(rng, count, spherical):
    """Return a scene of bodies that hit the floor, each with as many points as it has in its pose, and their inertias.

    Half of the poses are special: faces, edges and corners, up to 1e-9 and 1e-5 rad.  Inertias are those of spheres,
    with which free rotations keep their energy exactly, or of boxes.
    """
    bodies, masses = {}, np.zeros((count, 4))
    for i in range(count):
        special = np.radians(rng.choice([0, 30, 45, 90, 180], 3)) + rng.choice([0.0, 1e-9, 1e-5], 3)
        x, y, z = special if rng.uniform() < 0.5 else rng.uniform(0.0, 2.0 * math.pi, 3)
        half = rng.uniform(0.05, 0.5, 3)
        axis = np.array(
            [-math.sin(y), math.sin(x) * math.cos(y), math.cos(x) * math.cos(y)]
        )  # the vertical in the body
        length = 2.0 * half[0]
        low, shape = [
            (abs(axis) @ half, {"type": "box", "size": (2.0 * half).tolist()}),
            (abs(axis[2]) * half[0] + 0.02, {"type": "capsule", "radius": 0.02, "length": length}),
            (
                abs(axis[2]) * half[0] + half[1] * math.sqrt(max(1.0 - axis[2] ** 2, 0.0)),
                {"type": "cylinder", "radius": half[1], "length": length},
            ),
        ][rng.integers(3)]
        masses[i, 0], masses[i, 1:] = rng.uniform(0.5, 2.0), rng.uniform(0.003, 0.2)
        if not spherical:
            masses[i, 1:] = masses[i, 0] / 3.0 * ((half**2).sum() - half**2)
        v, w = rng.normal(size=3), 2.0 * rng.normal(size=3) * (rng.uniform() < 0.8)
        e = float(rng.choice([0.0, 1.0, rng.uniform()]))
        bodies[f"b{i}"] = {
            "mass": masses[i, 0],
            "inertia": {"principal": masses[i, 1:].tolist()},
            "shapes": [shape | {"friction": rng.uniform(0.0, 2.0) ** 2, "restitution": e}],
            "position": [4.0 * (i % 10), 4.0 * (i // 10), float(low + rng.choice([0.0, 1e-4, 5e-4]))],
            "rotation": {"euler": [float(z), float(y), float(x)], "order": "ZYX"},
            "velocity": {"linear": [v[0], v[1], -1.0 - abs(v[2])], "angular": w.tolist()},
        }
    return bodies, masses


def check_random_impacts(seed, count, law):
    """No body gains energy beyond round-off; the accounts dissipate the loss of all bodies; nearly all rebound."""
    bodies, masses = random_impacts(np.random.default_rng(seed), count, True)
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "world": {"shapes": [{"type": "plane", "friction": 1}]},
        "contacts": {"friction": 1, "impacts": law},
        "bodies": bodies,
        "simulation": {"duration": 3e-3, "step": 1e-3},
        "output": {"every": 1e-3},
    }
    run = run_of(json.dumps(scene, indent=1))
    v, w = (run[f"bodies/{name}_velocity"].values for name in ("linear", "angular"))
    kinetic = 0.5 * (masses[:, 0] * (v**2).sum(2) + masses[:, 1] * (w**2).sum(2))
    rises = np.diff(kinetic, axis=0) / kinetic[0]
    assert rises.max() < 1e-12
    assert (rises[0] < -1e-6).sum() + (abs(np.diff(v, axis=0)[0]).max(1) > 1e-3).sum() > 1.8 * count
    total, friction, impact = energies_of(run)
    assert np.diff(friction).min() > -1e-12
    assert np.diff(impact).min() > -1e-12
    assert total[0] - total == pytest.approx(friction + impact, rel=1e-9)
    assert "added" not in str(run.attrs["message"])


def test_random_impacts_gain_no_energy():
    check_random_impacts(0, 60, "energetic")


@pytest.mark.nightly
@pytest.mark.parametrize("law", ["energetic", "propagating"])
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_thousand_random_impacts_gain_no_energy(seed, law):
    check_random_impacts(seed, 100, law)


def check_impacts_in_a_corner(seed, count, law):
    """Bodies with the inertias of boxes hit a floor and two walls for 0.6 s: all steps are solved and add no energy.

    Contacts add energy in a step if the kinetic energy of a body exceeds that of the step without impulses, with the
    velocity v*, and its impulses M (v' - v*) do work at the mean of the velocities before and after the impact.  At the
    time t of a step of h, the velocity before it is v + 2 t / h (v* - v) (`impact_order`); t is unknown here.  Even
    seeds have no gravity.
    """
    bodies, masses = random_impacts(np.random.default_rng(seed), count, False)
    for body in bodies.values():
        body["position"][:2] = [1.0, 1.0]
    gravity, h = -9.81 * (seed % 2), 1e-3
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, gravity],
        "world": {"shapes": [{"type": "plane", "friction": 1, "normal": normal} for normal in np.eye(3).tolist()]},
        "contacts": {"friction": 1, "impacts": law, "pairs": [[name, "world"] for name in bodies]},
        "bodies": bodies,
        "simulation": {"duration": 0.6, "step": h},
        "output": {"every": h},
    }
    run = run_of(json.dumps(scene, indent=1))
    assert run["time"].values[-1] == pytest.approx(0.6)
    assert not run["contacts/unsolved"].values.any()
    assert "added" not in str(run.attrs["message"])
    v, w = (run[f"bodies/{name}_velocity"].values for name in ("linear", "angular"))
    axes = Rotation.from_quat(run["bodies/quaternion"].values[:-1].reshape(-1, 4), scalar_first=True)
    before, after = (
        np.concatenate([u, axes.inv().apply(spin.reshape(-1, 3)).reshape(u.shape)], 2)
        for u, spin in ((v[:-1], w[:-1]), (v[1:], w[1:]))
    )  # along the principal axes at the start of each step
    M, spin = masses[:, [0, 0, 0, 1, 2, 3]], before[..., 3:]
    free = before + h * np.concatenate([0.0 * spin, -np.cross(spin, M[:, 3:] * spin) / M[:, 3:]], 2)
    free[..., 2] += h * gravity
    impulse = M * (after - free)
    gains = [(0.5 * impulse * (start + after)).sum(2) for start in (free, before, 2.0 * free - before)]
    assert (np.min(gains, axis=0) / (M * (before**2 + free**2)).sum(2)).max() < 1e-13
    struck = (np.abs(impulse) > 1e-6).any(2)
    assert struck.any(0).all()
    assert struck.sum() > 2 * count


@pytest.mark.parametrize(("seed", "law"), [(0, "energetic"), (1, "propagating")])
def test_impacts_in_a_corner_gain_no_energy(seed, law):
    check_impacts_in_a_corner(seed, 50, law)


@pytest.mark.nightly
@pytest.mark.parametrize("law", ["energetic", "propagating"])
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_thousand_bodies_in_corners_gain_no_energy(seed, law):
    check_impacts_in_a_corner(seed, 50, law)


# --- impacts that pass on -------------------------------------------------------------------------------------------
def balls(places, velocities, law, e=1.0):
    """Return the velocities (n, 3) after 10 ms of equal balls of 5 cm radius, and the run."""
    ball = "  b%d: {mass: 1, shapes: [{type: sphere, radius: 0.05}], position: %s, velocity: {linear: %s}}\n"
    lines = [ball % (i, list(x), list(v)) for i, (x, v) in enumerate(zip(places, velocities, strict=True))]
    text = HEAD + f"contacts: {{friction: 0, restitution: {e}, impacts: {law}}}\nbodies:\n" + "".join(lines) + RUN % 10
    run = run_of(text)
    return run["bodies/linear_velocity"].values[-1], run


@pytest.mark.parametrize("moving", [1, 2, 3, 4])
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-4])
def test_as_many_balls_leave_a_row_as_hit_it(moving, gap):
    """Newton's cradle: one out for one in, two for two."""
    places = [((0.1 + gap) * i - 5e-4 * (i < moving), 0.0, 0.0) for i in range(5)]
    velocities = [(1.0 * (i < moving), 0.0, 0.0) for i in range(5)]
    after, _ = balls(places, velocities, "propagating")
    assert after[:, 0] == pytest.approx([0.0] * (5 - moving) + [1.0] * moving, abs=1e-12)
    assert after[:, 1:] == pytest.approx(0.0, abs=1e-12)


def test_a_row_that_does_not_pass_on_moves_away_together():
    """The simultaneous law: four balls leave with the speed 2 / 5, and the first rebounds with 3 / 5."""
    places, velocities = [(0.1 * i, 0.0, 0.0) for i in range(5)], [(1.0 * (i < 1), 0.0, 0.0) for i in range(5)]
    after, _ = balls(places, velocities, "energetic")
    assert after[:, 0] == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=1e-12)


def row_of_balls(masses, gaps, speed, e, law, method="aba"):
    """Return the velocities over time of a row of balls at rest, 4 cm wide and apart, which the first one hits."""
    places = 0.04 * np.arange(len(masses)) + np.append(0.0, np.cumsum(gaps))
    bodies = {
        f"b{i}": {
            "mass": float(m),
            "shapes": [{"type": "sphere", "radius": 0.02}],
            "position": [float(x), 0, 0],
            "velocity": {"linear": [speed * (i == 0), 0, 0]},
        }
        for i, (m, x) in enumerate(zip(masses, places, strict=True))
    }
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "contacts": {"friction": 0, "restitution": float(e), "impacts": law},
        "bodies": bodies,
        "simulation": {"duration": 4e-3, "step": 1e-3, "method": method},
        "output": {"every": 1e-3},
    }
    run = run_of(json.dumps(scene, indent=1))
    assert run.attrs["status"] == "complete"
    return run["bodies/linear_velocity"].values[..., 0]


def impacts_in_turn(masses, gaps, speed, e):
    """Return the velocities after 4 ms of such a row, impact by impact in the order of their times."""
    v, gaps, left = np.append(speed, np.zeros(len(gaps))), np.array(gaps), 4e-3
    while True:
        u = np.diff(v)
        wait = [gap / -closing if closing < -1e-12 * speed else math.inf for gap, closing in zip(gaps, u, strict=True)]
        k = int(np.argmin(wait))
        left -= wait[k]
        if left < 0.0:
            return v
        gaps = np.maximum(gaps + wait[k] * u, 0.0)
        impulse = -(1.0 + e) * u[k] / (1.0 / masses[k] + 1.0 / masses[k + 1])
        v[k] -= impulse / masses[k]
        v[k + 1] += impulse / masses[k + 1]


@pytest.mark.parametrize("method", METHODS)
def test_impacts_across_gaps_follow_one_another_in_a_step(method):
    """By default as well: one ball out for one in, though three balls meet within a step."""
    after = row_of_balls([1.0, 1.0, 1.0], [3e-4, 1e-4], 1.0, 1.0, "energetic", method)
    assert after[1] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("law", ["energetic", "propagating"])
@pytest.mark.parametrize(
    ("speed", "gaps"),
    [(1.0, (3e-4, 1e-8)), (5.0, (3e-3, 1e-3)), (500.0, (0.26, 0.08)), (0.01, (3e-6, 1e-6)), (1.0, (4e-4, 0.0, 1e-4))],
)
def test_impacts_of_all_speeds_and_gaps_follow_one_another(speed, gaps, law):
    """Gaps from 1e-5 of the way in a step.  Two balls that touch share the impact by default, and the next one parts
    them: 1/3 rebounds, 2/3 and 2/3 move on, and the last leaves two of 2/9 with 8/9."""
    after = row_of_balls([1.0] * (len(gaps) + 1), gaps, speed, 1.0, law)[1]
    expected = [-3.0, 2.0, 2.0, 8.0] if 0.0 in gaps and law == "energetic" else [0.0] * len(gaps) + [9.0]
    assert after / speed == pytest.approx(np.array(expected) / 9.0, abs=1e-12)


def test_a_pile_whose_boxes_rebound_adds_no_energy():
    """Inelastic boxes meet without end: passes are bounded, and no step adds energy."""
    file = Path(__file__).parents[2] / "scenes" / "bench" / "box_pile.yaml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        settings = ["simulation.duration=0.5", "contacts.restitution=0.5", "output.every=0.002"]
        run = mbsim.load(str(file), settings).run(check=False)  # its expectations are for boxes that do not rebound
    assert run["time"].values[-1] == pytest.approx(0.5)
    energy = run["energy/kinetic"].values + run["energy/potential"].values
    assert np.diff(energy).max() <= 1e-12 * energy[0]


def test_random_rows_of_balls_move_as_impact_by_impact():
    """Of rows in which balls may meet again in the same step, four of five have 1 % of the speeds; all lose energy."""
    rng, close = np.random.default_rng(0), 0
    for _ in range(40):
        masses, e = 10.0 ** rng.uniform(-0.5, 0.5, rng.integers(3, 6)), rng.choice([1.0, rng.uniform(0.3, 1.0)])
        speed = 10.0 ** rng.uniform(-1.0, 1.5)
        gaps = 1e-3 * speed * 10.0 ** rng.uniform(-3.0, -0.5, len(masses) - 1)
        v = row_of_balls(masses, gaps, speed, e, "energetic")
        assert np.diff((masses * v**2).sum(1)).max() <= 1e-12 * masses[0] * speed**2
        close += np.abs(v[-1] - impacts_in_turn(masses, gaps, speed, e)).max() < 0.01 * speed
    assert close >= 32


@pytest.mark.parametrize("e", [1.0, 0.8])
def test_a_rack_breaks_symmetrically(e):
    """A triangle of ten touching balls: mirror images about the line of the shot, momentum, and no gain of energy."""
    rack = [(0.1 * math.sin(math.pi / 3) * k, 0.1 * (j - 0.5 * k), 0.0) for k in range(4) for j in range(k + 1)]
    mirror = [0] + [1 + k * (k + 1) // 2 + k - j for k in range(4) for j in range(k + 1)]
    places = [(-0.1005, 0.0, 0.0), *rack]
    after, run = balls(places, [(2.0, 0.0, 0.0)] + [(0.0, 0.0, 0.0)] * 10, "propagating", e)
    assert after[mirror] * [1.0, -1.0, 1.0] == pytest.approx(after, abs=1e-9)
    assert after.sum(0) == pytest.approx([2.0, 0.0, 0.0], abs=1e-12)
    energy = run["energy/kinetic"].values
    assert np.diff(energy).max() <= 1e-12
    if e == 1.0:
        assert energy[-1] == pytest.approx(energy[0], rel=1e-12)
    assert (np.abs(after).max(1) > 0.01).sum() >= 5


@pytest.mark.parametrize("method", ["aba", "baraff", "variational"])
def test_friction_of_a_joint_in_a_rebound_is_in_the_ledger(method):
    """A sphere beside a guide hits the floor: the loads of the guide multiply its friction, which acts as after it."""
    text = """
    mbsim: 1
    contacts: {}
    world: {shapes: [{type: plane, restitution: 0.5}]}
    bodies:
      rod:
        mass: 1
        inertia: {principal: [0.01, 0.01, 0.01]}
        shapes: [{type: sphere, radius: 0.05, position: [0.1, 0, 0], restitution: 0.5}]
    joints:
      guide: {type: prismatic, child: rod, q: 0.2, v: -2,
        friction: {coefficient: 0.4, surface: {size: [0.05, 0.05, 0.1]}}}
    simulation: {duration: 0.12 s, step: 0.2 ms}
    output: {every: 0.2 ms}
    """
    found = mbsim.load(text, [f"simulation.method={method}"]).run(check=False)
    assert np.ravel(found["joints/guide/v"])[-1] > 0.5
    assert np.abs(found["energy/ledger_residual"].to_numpy()).max() < 0.05  # of 3.5 J
    assert float(found["energy/dissipation/contacts/impact"][-1]) < 3.5
