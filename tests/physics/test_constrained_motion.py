"""Couplings and constraints in motion: textbook solutions, and the dense oracle on random mechanisms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from constraint_rows import Rows, rows_between
from hypothesis import assume, given, settings
from loops import THREE, RandomLoops, Run, accelerations_of, oracle_of, set_rates, start
from scipy.spatial.transform import Rotation
from structured import any_loops

from multibody_cli import MemorySink, prepare

G = 9.81
every_method = pytest.mark.parametrize("method", THREE)


def ball(mass=1.0, moment=0.1, **fields):
    return {"mass": mass, "inertia": {"principal": [moment] * 3}, **fields}


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# --- textbooks ----------------------------------------------------------------------------------------------------
@every_method
def test_a_pair_of_gears_accelerates_by_the_reduced_inertia(method):
    """alpha = tau / (I1 + I2 ratio^2); the torque on the output is I2 ratio alpha."""
    moments, ratio, torque = (0.3, 0.7), -0.4, 2.0
    joints = {
        "input": {"type": "revolute", "child": "a", "force": torque},
        "output": {"type": "revolute", "child": "b", "origin": {"position": [1, 0, 0]}},
    }
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"a": ball(moment=moments[0]), "b": ball(moment=moments[1])},
        "joints": joints,
        "couplings": {"teeth": {"type": "gear", "joints": ["input", "output"], "ratio": ratio}},
    }
    run = start(scene, method)
    alpha = torque / (moments[0] + moments[1] * ratio**2)
    close(run.joint("input", "acceleration"), alpha)
    close(run.joint("output", "acceleration"), ratio * alpha)
    close(run.multipliers("teeth"), moments[1] * ratio * alpha)
    run.advance(0.5)
    close(run.joint("input", "coordinates"), alpha * 0.5**2 / 2, 1e-9)
    close(run.joint("output", "coordinates"), ratio * alpha * 0.5**2 / 2, 1e-9)


@pytest.mark.parametrize("method", ["aba", "redmax"])
def test_reduced_couplings_set_their_coordinates(method):
    """q2 = r q1 + offset, 2 q3 = -(q1 + q2), and so their rates, exactly; I1 + r^2 I2 + c^2 I3 turns, c = dq3/dq1."""
    moments, ratio, offset, torque, angle, rate = (0.3, 0.7, 0.4), -0.4, 0.25, 2.0, 0.1, 0.6
    third = -(1 + ratio) / 2
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {f"b{k}": ball(moment=moments[k]) for k in range(3)},
        "joints": {f"j{k}": {"type": "revolute", "child": f"b{k}"} for k in range(3)},
        "couplings": {
            "teeth": {"type": "gear", "joints": ["j0", "j1"], "ratio": ratio, "offset": offset, "reduce": True},
            "sum": {"type": "linear", "terms": {"j2": 2.0, "j0": 1.0, "j1": 1.0}, "reduce": True},
        },
    }
    scene["joints"]["j0"] |= {"force": torque, "q": angle, "v": rate}
    run = start(scene, method)
    alpha = torque / (moments[0] + moments[1] * ratio**2 + moments[2] * third**2)
    for t in (0.0, 0.2, 0.5):
        run.advance(t)
        q, v, a = (
            [run.joint(f"j{k}", channel)[0] for k in range(3)]
            for channel in ("coordinates", "velocity", "acceleration")
        )
        close(q[0], angle + rate * t + alpha * t**2 / 2, 1e-12)
        close(v[0], rate + alpha * t, 1e-12)
        close(a, [alpha, ratio * alpha, third * alpha], 1e-12)
        close(q[1:], [offset + ratio * q[0], -(q[0] + offset + ratio * q[0]) / 2], 1e-15)
        close(v[1:], [ratio * v[0], third * v[0]], 1e-15)


@every_method
def test_a_rack_moves_with_its_pinion(method):
    """alpha = tau / (I + m r^2); the force on the rack is m r alpha."""
    moment, mass, radius, torque = 0.02, 3.0, 0.15, 0.5
    scene = {
        "bodies": {"wheel": ball(moment=moment), "rack": ball(mass)},
        "joints": {
            "pinion": {"type": "revolute", "child": "wheel", "force": torque},
            "slide": {"type": "prismatic", "child": "rack", "axis": [0, 1, 0]},
        },
        "constraints": {"teeth": {"type": "rack_pinion", "rack": "slide", "pinion": "pinion", "radius": radius}},
    }
    run = start(scene, method)
    alpha = torque / (moment + mass * radius**2)
    close(run.joint("pinion", "acceleration"), alpha)
    close(run.joint("slide", "acceleration"), radius * alpha)
    close(run.multipliers("teeth"), mass * radius * alpha)


@every_method
def test_equal_and_linear_share_a_torque(method):
    """Three wheels: q1 = q2, and q1 + 2 q3 = 0; all the torque turns I1 + I2 + I3 / 4."""
    moments, torque = (0.2, 0.3, 0.8), 1.7
    scene = {
        "bodies": {f"b{k}": ball(moment=moments[k]) for k in range(3)},
        "joints": {f"j{k}": {"type": "revolute", "child": f"b{k}"} for k in range(3)},
        "couplings": {
            "same": {"type": "equal", "joints": ["j0", "j1"]},
            "sum": {"type": "linear", "terms": {"j0": 1.0, "j2": 2.0}},
        },
    }
    scene["joints"]["j1"]["force"] = torque
    run = start(scene, method)
    alpha = torque / (moments[0] + moments[1] + moments[2] / 4)
    close([run.joint(f"j{k}", "acceleration")[0] for k in range(3)], [alpha, alpha, -alpha / 2])
    close(run.multipliers("sum"), moments[2] * -alpha / 4)


@every_method
@pytest.mark.parametrize("swap", [False, True])
def test_a_rod_makes_a_spherical_pendulum(method, swap):
    """A mass on a massless rod: a = g - (T / m) u with the tension T = m (v^2 / l + g . u)."""
    u, v, length, mass = np.array([0.6, 0.0, -0.8]), np.array([0.8, 1.5, 0.6]), 2.0, 1.3
    ends = [{"body": "world"}, {"body": "bob"}]
    bob = ball(mass, position=(length * u).tolist(), velocity={"linear": v.tolist()})
    scene = {
        "bodies": {"bob": bob},
        "constraints": {"rod": {"type": "distance", "between": ends[::-1] if swap else ends, "length": length}},
    }
    run = start(scene, method)
    g = np.array([0, 0, -G])
    tension = mass * (v @ v / length + g @ u)
    close(run.multipliers("rod"), -tension)
    loops, _ = oracle_of(run)
    close(accelerations_of(run, loops)[:3], g - tension / mass * u)
    run.advance(1.0)
    _, left = run.energy()
    close(left, mass * (v @ v / 2 + G * length * u[2]), 1e-7)
    assert abs(np.linalg.norm(run.body("bob", "position")) - length) < 1e-11


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_recorded_errors_are_those_of_the_recorded_positions(method, tmp_path):
    """Two rods whose lengths drift by feedback with a long step: each error is that of its own rod at each instant."""
    beads = {"a": {"kind": "point", "mass": 1, "position": [1, 0, 0]}}
    beads["b"] = {"kind": "point", "mass": 2, "position": [1.5, 0, 0]}
    ends = {"upper": ([{"body": "world"}, {"body": "a"}], 1.0), "lower": ([{"body": "a"}, {"body": "b"}], 0.5)}
    rods = {name: {"type": "distance", "between": between, "length": L} for name, (between, L) in ends.items()}
    options = {"method": method, "integrator": "semi_implicit_euler", "options": {"stabilization": "baumgarte"}}
    scene = {"mbsim": 1, "bodies": beads, "constraints": rods, "simulation": {"duration": 0.5, "step": 1e-3, **options}}
    (tmp_path / "rods.yaml").write_text(json.dumps(scene))
    sink = MemorySink()
    prepare(tmp_path / "rods.yaml", ["output.every=10 ms"]).run(sink)
    run = sink.trajectory()
    a, b = (run.channel(f"bodies/{name}/position").values for name in "ab")
    for name, lengths in (("upper", np.linalg.norm(a, axis=1) - 1.0), ("lower", np.linalg.norm(b - a, axis=1) - 0.5)):
        assert abs(lengths[-1]) > 1e-5
        np.testing.assert_allclose(run.channel(f"constraints/{name}/error").values.ravel(), lengths, atol=1e-14)


@every_method
def test_a_point_slides_down_a_plane(method):
    angle, mass = 0.5, 2.0
    normal = [math.sin(angle), 0.0, math.cos(angle)]
    plane = {"body": "world", "normal": normal}
    scene = {
        "bodies": {"block": ball(mass)},
        "constraints": {"slope": {"type": "point_on_plane", "point": {"body": "block"}, "plane": plane}},
    }
    run = start(scene, method)
    close(run.multipliers("slope"), mass * G * math.cos(angle))
    loops, _ = oracle_of(run)
    down = G * math.sin(angle) * np.array([math.cos(angle), 0, -math.sin(angle)])
    close(accelerations_of(run, loops), [*down, 0, 0, 0])


@every_method
def test_a_sphere_rolls_down_by_five_sevenths(method):
    angle, mass, radius = 0.4, 1.5, 0.3
    n = np.array([math.sin(angle), 0.0, math.cos(angle)])
    scene = {
        "bodies": {"ball": ball(mass, 0.4 * mass * radius**2, position=(radius * n).tolist())},
        "constraints": {
            "floor": {"type": "rolling", "body": "ball", "radius": radius, "plane": {"normal": n.tolist()}}
        },
    }
    run = start(scene, method)
    loops, _ = oracle_of(run)
    down = np.array([math.cos(angle), 0, -math.sin(angle)])
    a = 5 / 7 * G * math.sin(angle)
    close(accelerations_of(run, loops), [*(a * down), 0, a / radius, 0])
    forces = run.multipliers("floor")
    close(forces[0], mass * G * math.cos(angle))
    close(np.linalg.norm(forces[1:]), 2 / 7 * mass * G * math.sin(angle))
    run.advance(1.0)
    close(run.body("ball", "position"), radius * n + a / 2 * down, 1e-9)


@every_method
def test_a_tilted_disc_rolls_steadily(method):
    """With axis e3 at theta from the vertical z, precession W and n = w . e3,

        n W sin(theta) (C + m r^2) = A W^2 sin(theta) cos(theta) - m g r cos(theta)

    holds while the disc rolls in a circle (from Newton and Euler about the centre).
    """
    theta, W, m, r = 1.1, 2.5, 1.4, 0.35
    A, C = m * r * r / 4, m * r * r / 2
    sine, cosine = math.sin(theta), math.cos(theta)
    n = (A * W**2 * sine * cosine - m * G * r * cosine) / (W * sine * (C + m * r * r))
    e1, e2, e3 = np.array([1.0, 0, 0]), np.array([0, cosine, sine]), np.array([0, -sine, cosine])
    w = W * sine * e2 + n * e3
    velocity = -r * n * e1
    turn = Rotation.from_matrix(np.column_stack([e1, e2, e3]))
    body = {
        "mass": m,
        "inertia": {"principal": [A, A, C]},
        "position": (r * e2).tolist(),
        "rotation": {"quaternion": np.roll(turn.as_quat(), 1).tolist()},
        "velocity": {"linear": velocity.tolist(), "angular": w.tolist()},
    }
    scene = {
        "bodies": {"disc": body},
        "constraints": {"floor": {"type": "rolling", "body": "disc", "radius": r, "axis": [0, 0, 1]}},
    }
    run = start(scene, method)
    loops, _ = oracle_of(run)
    z = np.array([0, 0, 1.0])
    close(accelerations_of(run, loops), [*np.cross(W * z, velocity), *np.cross(W * z, w)], 1e-9)
    close(run.multipliers("floor")[0], m * (G + (np.cross(W * z, velocity))[2]))
    run.advance(1.0)
    about = Rotation.from_rotvec(W * z)
    close(run.body("disc", "angular_velocity"), about.apply(w), 1e-6)
    centre = np.cross(z, velocity) / W  # of the circle, from the disc's centre
    close(run.body("disc", "position"), r * e2 + centre - about.apply(centre), 1e-6)


@every_method
def test_a_knife_edge_on_a_slope_draws_a_cycloid(method):
    """Turning steadily, it climbs as high as it has slid down: x = g' sin^2(w t) / (2 w^2)."""
    slope, w, m = 0.6 * G, 1.7, 2.2
    scene = {
        "gravity": [slope, 0, -0.8 * G],
        "bodies": {"skate": ball(m)},
        "joints": {"ice": {"type": "free2d", "child": "skate", "v": [0, 0, w]}},
        "constraints": {"edge": {"type": "knife_edge", "body": "skate", "edge": [1, 0, 0]}},
    }
    run = start(scene, method)
    for t in (0.5, 1.0):
        run.advance(t)
        x = slope / (2 * w * w) * np.array([math.sin(w * t) ** 2, w * t - math.sin(2 * w * t) / 2])
        close(run.body("skate", "position"), [*x, 0], 1e-9)
        close(run.multipliers("edge"), 2 * m * slope * math.sin(w * t), 1e-8)


@every_method
def test_a_velocity_may_be_prescribed_as_a_function_of_time(method):
    """Two carts: v1 + 2 v2 = 0.5 t; the multiplier accelerates both by M^-1 J^T."""
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"a": ball(2.0), "b": ball(3.0)},
        "joints": {
            name: {"type": "prismatic", "child": name, "axis": [1, 0, 0], "origin": {"position": [0, y, 0]}}
            for name, y in (("a", 0), ("b", 1))
        },
        "constraints": {
            "belt": {
                "type": "velocity",
                "terms": [{"body": "a", "linear": [1, 0, 0]}, {"body": "b", "linear": [2, 0, 0]}],
                "value": "0.5*t",
            }
        },
    }
    run = start(scene, method)
    x = 0.5 / (1 / 2.0 + 4 / 3.0)
    close(run.multipliers("belt"), x)
    run.advance(1.0)
    close([run.joint(name, "velocity")[0] for name in "ab"], [x / 2.0, 2 * x / 3.0], 1e-10)


# --- random mechanisms --------------------------------------------------------------------------------------------
def random_rows(rng, machine: RandomLoops, kind: str):
    """A constraint that holds where the mechanism is."""
    run = start(machine.scene)
    if kind == "linear":
        return random_relation(rng, machine, run)
    bodies = list(machine.scene["bodies"])
    body = str(rng.choice(bodies))
    other = str(rng.choice([name for name in ["world", *bodies] if name != body]))
    return rows_between(rng, kind, body, other, oracle_of(run)[0].poses)


def random_relation(rng, machine: RandomLoops, run: Run):
    """A linear relation of coordinates that holds where the mechanism is."""
    words = {}
    for name, joint in run.loaded.scene.joints.items():
        for k, plain in enumerate(joint.plain):
            if plain and (name, k) not in machine.drivers and joint.type != "free":
                word = f"{name}/{k}"
                words[word] = run.joint(name, "coordinates")[k]
    assume(len(words) > 1)
    chosen = rng.permutation(list(words))[:3]
    terms = {str(word): float(rng.normal()) for word in chosen}
    return {"terms": terms, "value": float(sum(c * words[word] for word, c in terms.items()))}


@pytest.mark.parametrize("kind", ["distance", "point_on_plane", "knife_edge", "velocity", "rolling", "linear"])
def test_random_mechanisms_agree_with_the_oracle(kind):
    @settings(max_examples=12)
    @given(any_loops(max_bodies=3))
    def check(machine):
        rng = np.random.default_rng(len(machine.scene["joints"]) + 17)
        fields = random_rows(rng, machine, kind)
        section = "couplings" if kind == "linear" else "constraints"
        scene = {**machine.scene, section: {"row": {"type": kind, **fields}}}
        extra = [Rows(kind, fields)]
        set_rates(rng, scene, machine.drivers, extra)
        for method in THREE:
            run = start(scene, method)
            loops, v = oracle_of(run, extra)
            expected = loops.solve(v, machine.given(0.0))
            assume(expected.is_sharp)
            size = 1.0 + np.abs(expected.a).max()
            assert np.abs(accelerations_of(run, loops) - expected.a).max() / size < 1e-9

    check()
