"""Static and kinetic friction of contacts and joints: closed forms, accurate solutions of the law, and every method."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import yaml
from scipy.integrate import solve_ivp

from multibody_cli import MemorySink, prepare
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Feature

G = 9.81
METHOD = pytest.mark.parametrize("method", sorted(METHODS))
STATIC, KINETIC = 0.6, 0.4


def test_every_method_has_friction():
    assert all({Feature.CONTACT, Feature.JOINT_FRICTION} <= set(kind.supports) for kind in METHODS.values())


def law(v, stribeck_speed, static=STATIC, kinetic=KINETIC):
    """Coefficient of friction at a slip speed."""
    return kinetic + (static - kinetic) * np.exp(-((v / stribeck_speed) ** 2))


def coefficients(stribeck_speed=0.01, static=STATIC, kinetic=KINETIC):
    return {"static": static, "kinetic": kinetic, "stribeck_speed": stribeck_speed}


# --- a block that slides along x: a box on a plane, or a slider -------------------------------------------------------
def box(friction, v=0.0, slope=0.0, **more):
    """A box of 2 kg on a slope, which falls along x."""
    s, c, shape = math.sin(slope), math.cos(slope), {"type": "box", "size": [0.2, 0.2, 0.02]}
    at = {"position": [0.01 * s, 0, 0.01 * c], "rotation": {"axis": [0, 1, 0], "angle": slope}}
    return {
        "world": {"shapes": [{"type": "plane", "normal": [s, 0, c], "friction": 1.0}]},
        "contacts": {},
        "bodies": {
            "block": {
                "mass": 2.0,
                "shapes": [{**shape, "friction": squares(friction)}],
                "velocity": {"linear": [v * c, 0, -v * s]},
                **at,
            }
        },
        **more,
    }


def squares(friction):
    """Coefficients of a surface whose geometric means with 1 are the given ones."""
    if isinstance(friction, dict):
        return {**friction, "static": friction["static"] ** 2, "kinetic": friction["kinetic"] ** 2}
    return friction**2


def slider(friction, v=0.0, slope=0.0, **more):
    """A slider of 2 kg on a rail that falls along x."""
    surface = {"size": [0.1, 0.03, 0.03]}
    rail = {"type": "prismatic", "child": "block", "axis": [1, 0, 0], "v": v}
    tilt = {"rotation": {"axis": [0, 1, 0], "angle": slope}}
    return {
        "bodies": {"block": {"mass": 2.0, "inertia": {"principal": [0.01] * 3}}},
        "joints": {"rail": {**rail, "origin": tilt, "friction": {"coefficient": friction, "surface": surface}}},
        **more,
    }


KINDS = pytest.mark.parametrize("kind", [box, slider])


@pytest.fixture
def play(tmp_path):
    """Run a scene that is given as a mapping; every step is solved."""

    def play(scene, duration, step, *settings):
        file = tmp_path / "scene.yaml"
        times = {"simulation": {"duration": duration, "step": step}, "output": {"every": step}}
        file.write_text(yaml.safe_dump({"mbsim": 1, **times, **scene}), encoding="utf-8")
        sink = MemorySink()
        prepare(file, [*settings, "simulation.alarms.phase=false"]).run(sink)
        found = sink.trajectory()
        assert found.attributes["status"] == "complete"
        if "contacts/unsolved" in found.paths:
            assert not found.channel("contacts/unsolved").values.any()
        for path in found.paths:
            if path.startswith("energy/dissipation/"):
                assert np.diff(found.channel(path).values).min() >= -1e-12
        return found

    return play


def motion(found):
    """Displacement and speed of the block along its way."""
    x, v = (found.channel(f"bodies/block/{name}").values for name in ("position", "linear_velocity"))
    return np.linalg.norm(x - x[0], axis=1), np.linalg.norm(v, axis=1)


# --- closed forms -----------------------------------------------------------------------------------------------------
@METHOD
@KINDS
@pytest.mark.parametrize("excess", [1e-6, -1e-6])
def test_a_block_at_rest_stays_below_the_static_angle_and_slides_beyond(play, kind, method, excess):
    slope = math.atan(STATIC) * (1 - excess)
    found = play(kind(coefficients(), slope=slope), 0.1, 1e-3, f"simulation.method={method}")
    x, v = motion(found)
    if excess > 0:
        assert v[10:].max() < 1e-15
        assert v.max() < 1e-13, "in the first steps, round-off of the initial pose is removed"
        assert x.max() < 1e-15
    else:
        gained = G * (math.sin(slope) - STATIC * math.cos(slope)) * 1e-3
        assert v[1] == pytest.approx(gained, rel=1e-4)
        assert v[-1] >= 100 * v[1]


@METHOD
@KINDS
def test_far_above_the_stribeck_speed_friction_is_kinetic(play, kind, method):
    slope = math.atan(0.5)
    _, v = motion(play(kind(coefficients(), v=1.0, slope=slope), 0.1, 1e-3, f"simulation.method={method}"))
    assert v[-1] == pytest.approx(1.0 + G * (math.sin(slope) - KINETIC * math.cos(slope)) * 0.1, rel=1e-12)


@METHOD
@KINDS
def test_a_block_that_slows_down_converges_to_its_equation_in_first_order(play, kind, method):
    """v' = -mu(v) g from 1 m/s, with a Stribeck speed of 0.5 m/s, until just before it stops."""
    until, speed = 0.18, 0.5
    exact = solve_ivp(
        lambda _, y: [-G * law(y[0], speed)], (0, until), [1.0], rtol=1e-12, atol=1e-14, method="DOP853"
    ).y[0, -1]
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        _, v = motion(play(kind(coefficients(speed), v=1.0), until, step, f"simulation.method={method}"))
        errors.append(v[-1] - exact)
    assert 0.02 < exact < 0.2
    assert abs(errors[-1]) < 1e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.1)


@KINDS
def test_a_block_stops_and_friction_takes_all_of_its_energy(play, kind):
    found = play(kind(coefficients(), v=1.0), 0.4, 1e-3)
    x, v = motion(found)
    assert v[-1] == 0.0
    assert x[-1] == pytest.approx(1.0 / (2 * KINETIC * G), rel=1e-2)
    account = "contacts" if kind is box else "joints/rail"
    assert found.channel(f"energy/dissipation/{account}/friction").values[-1] == pytest.approx(1.0, rel=1e-12)


@METHOD
def test_friction_of_a_hinge_depends_on_the_speed_of_its_surface(play, method):
    """The journal of 1 cm has 0.05 m/s at 5 rad/s, five times the Stribeck speed."""
    journal = {"coefficient": coefficients(), "surface": {"radius": 0.01, "length": 0.05}}
    scene = {
        "bodies": {"wheel": {"mass": 2.0, "inertia": {"principal": [0.004] * 3}}},
        "joints": {"axle": {"type": "revolute", "child": "wheel", "axis": [0, 1, 0], "friction": journal}},
    }
    held, slides = STATIC * 2.0 * G * 0.01, KINETIC * 2.0 * G * 0.01
    stuck = play(scene, 0.05, 1e-3, f"simulation.method={method}", f"joints.axle.force={0.999999 * held}")
    assert np.abs(stuck.channel("joints/axle/v").values).max() < 1e-15
    fixed = {"bodies": scene["bodies"], "joints": {"axle": {**scene["joints"]["axle"], "axis": [0, 0, 1], "v": 5.0}}}
    runs = play(fixed, 0.01, 1e-3, f"simulation.method={method}").channel("joints/axle/v").values[:, 0]
    axial = slides / 0.004 * 0.01  # the weight presses the ends, whose points have the radius of the journal
    assert runs[-1] == pytest.approx(5.0 - axial, rel=1e-9)


# --- stick-slip -------------------------------------------------------------------------------------------------------
MASS, STIFFNESS, PULL, SPEED = 2.0, 800.0, 0.1, 0.05


def stick_slip(until):
    """Instants at which the block starts to slide, and its displacement at the end, by events."""
    t, x, v, starts = 0.0, 0.0, 0.0, []
    while True:
        t_start = (x + STATIC * MASS * G / STIFFNESS) / PULL
        if t_start >= until:
            return np.array(starts), x
        starts.append(t_start)

        def rates(t, y):
            return [y[1], STIFFNESS / MASS * (PULL * t - y[0]) - law(y[1], SPEED) * G]

        def stops(t, y):
            return y[1] if t > starts[-1] + 0.02 else 1.0

        stops.terminal, stops.direction = True, -1
        way = solve_ivp(rates, (t_start, until), [x, v], events=stops, rtol=1e-11, atol=1e-13, method="DOP853")
        t, x, v = way.t[-1], way.y[0, -1], 0.0
        if way.status == 0:
            return np.array(starts), x
        assert abs(STIFFNESS * (PULL * t - x)) < STATIC * MASS * G


def pulled(scene):
    """The block with a spring to a body that moves with constant speed."""
    scene["bodies"]["puller"] = {"mass": 1.0, "inertia": {"principal": [1.0] * 3}, "shapes": []}
    scene.setdefault("joints", {})["drive"] = {
        "type": "prismatic",
        "child": "puller",
        "axis": [1, 0, 0],
        "origin": {"position": [1.0, 0.0, scene["bodies"]["block"].get("position", [0, 0, 0])[2]]},
        "motion": {"velocity": PULL},
    }
    ends = [{"body": "block", "point": [0, 0, 0]}, {"body": "puller", "point": [0, 0, 0]}]
    scene["springs"] = {"spring": {"between": ends, "stiffness": STIFFNESS, "rest_length": 1.0}}
    return scene


@METHOD
@KINDS
def test_a_block_pulled_by_a_spring_sticks_and_slips(play, kind, method):
    until, step = 1.3, 2e-4
    starts, end = stick_slip(until)
    assert len(starts) >= 4
    x, v = motion(play(pulled(kind(coefficients(SPEED))), until, step, f"simulation.method={method}"))
    moves = v > 1e-9
    assert v[~moves].max() < 1e-13, "no creep"
    found = step * np.flatnonzero(moves[1:] & ~moves[:-1])
    np.testing.assert_allclose(found, starts, atol=4 * step)
    assert x[-1] == pytest.approx(end, abs=4e-4 * end)


# --- solvers and special values ---------------------------------------------------------------------------------------
@KINDS
@METHOD
def test_equal_coefficients_are_one_coefficient_bit_by_bit(play, kind, method):
    runs = [
        motion(play(kind(friction, v=0.3, slope=0.1), 0.1, 1e-3, f"simulation.method={method}"))
        for friction in (0.4, coefficients(static=0.4, kinetic=0.4))
    ]
    for one, other in zip(*runs, strict=True):
        assert one.tobytes() == other.tobytes()


def swinging(coefficient, **hinge):
    """A double pendulum with friction in its hinges."""
    journal = {"coefficient": coefficient, "surface": {"radius": 0.02, "length": 0.05}}
    bar = {"mass": 1.0, "inertia": {"principal": [0.01] * 3}, "com": [0.2, 0, 0]}
    joint = {"type": "revolute", "axis": [0, 1, 0], "friction": journal, **hinge}
    return {
        "bodies": {"one": bar, "two": bar},
        "joints": {
            "first": {**joint, "child": "one"},
            "second": {**joint, "parent": "one", "child": "two", "origin": {"position": [0.4, 0, 0]}},
        },
    }


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_the_recursion_moves_a_tree_as_rows_do(play, method):
    """The shares of the friction are kept from step to step only as long as the coefficient is the same."""
    scene, runs = swinging(coefficients(0.02, static=0.9, kinetic=0.3)), []
    for solver in ("proximal", "staggered_projections"):
        found = play(scene, 1.5, 1e-3, f"simulation.method={method}", f"contacts={{method: {solver}}}")
        runs.append([found.channel(f"joints/{name}/v").values[:, 0] for name in ("first", "second")])
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-7)
    slip = 0.02 * np.abs(runs[0][0])
    assert slip.min() < 0.001 < 0.04 < slip.max(), "the coefficient varies"


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_a_fast_joint_without_kinetic_friction_swings_freely(play, method):
    """Fast, it moves as one without friction."""
    free = play(swinging(1e-14, v=6.0), 0.02, 1e-3, f"simulation.method={method}")
    loaded = play(
        swinging(coefficients(1e-4, static=0.9, kinetic=0.0), v=6.0), 0.02, 1e-3, f"simulation.method={method}"
    )
    for name in ("first", "second"):
        rates = [run.channel(f"joints/{name}/v").values for run in (free, loaded)]
        np.testing.assert_allclose(*rates, rtol=1e-9)


@KINDS
def test_staggered_projections_have_the_same_law(play, kind):
    runs = [
        motion(play(kind(coefficients(0.5), v=1.0), 0.15, 1e-3, f"contacts={{method: {solver}}}"))[1]
        for solver in ("proximal", "staggered_projections")
    ]
    np.testing.assert_allclose(*runs, atol=1e-9)


@pytest.mark.parametrize("impacts", ["energetic", "newton", "propagating"])
def test_an_impact_has_the_coefficient_of_the_slip_before_it(play, impacts):
    """A ball that slides through the impact: its tangential velocity changes by mu(v) (1 + e) u_n."""
    speed, fall, restitution = 0.5, 1.0, 0.5
    ball = {"mass": 1.0, "shapes": [{"type": "sphere", "radius": 0.1}], "position": [0, 0, 0.1005]}
    scene = {
        "gravity": [0, 0, 0],
        "world": {"shapes": [{"type": "plane"}]},
        "contacts": {"friction": coefficients(speed), "restitution": restitution, "impacts": impacts},
        "bodies": {"block": {**ball, "velocity": {"linear": [0.6 * 6, 0.8 * 6, -fall]}}},
    }
    for slip, mu in ((6.0, KINETIC), (5.0 * speed, law(5.0 * speed, speed)), (3.0, KINETIC)):
        scene["bodies"]["block"]["velocity"]["linear"] = [0.6 * slip, 0.8 * slip, -fall]
        v = play(scene, 2e-3, 1e-3).channel("bodies/block/linear_velocity").values[-1]
        lost = mu * (1 + restitution) * fall
        np.testing.assert_allclose(v, [0.6 * (slip - lost), 0.8 * (slip - lost), restitution * fall], rtol=1e-9)


def test_sleep_changes_no_motion(play):
    """A stack at rest within the static cone sleeps; it wakes where a force exceeds it."""
    cube = {"mass": 1.0, "shapes": [{"type": "box", "size": [0.1] * 3}]}
    names = ["one", "two", "block"]
    scene = {
        "world": {"shapes": [{"type": "plane"}]},
        "contacts": {"friction": coefficients()},
        "bodies": {name: {**cube, "position": [0, 0, 0.05 + 0.1 * k]} for k, name in enumerate(names)},
        "forces": {
            "load": {"body": "block", "force": [{"times": [0, 0.1, 0.11], "values": [0, 0, 1.15 * STATIC * G]}, 0, 0]}
        },
    }
    asleep, awake = (
        play(scene, 0.2, 1e-3, f"contacts.sleeping={word}").channel("bodies/block/linear_velocity").values
        for word in ("true", "false")
    )
    np.testing.assert_allclose(asleep, awake, atol=1e-12)
    assert not np.any(asleep[5:100])
    assert asleep[-1, 0] > 0.5 * 0.1 * (0.69 - KINETIC) * G


@pytest.mark.parametrize(
    ("one", "other"), list(itertools.product([0.5, coefficients(0.04)], [0.8, coefficients(0.01, 0.9, 0.1)]))
)
def test_two_materials_have_the_geometric_means_of_their_coefficients(play, one, other):
    def of(friction, name):
        return friction[name] if isinstance(friction, dict) else friction

    static, kinetic = (math.sqrt(of(one, name) * of(other, name)) for name in ("static", "kinetic"))
    speeds = [friction["stribeck_speed"] for friction in (one, other) if isinstance(friction, dict)]
    mu = law(0.02, math.prod(speeds) ** (1 / len(speeds)), static, kinetic) if speeds else static
    scene = box(one, v=0.02)
    scene["world"]["shapes"][0]["friction"] = one
    scene["bodies"]["block"]["shapes"][0]["friction"] = other
    _, v = motion(play(scene, 1e-4, 1e-4))
    assert v[-1] == pytest.approx(0.02 - mu * G * 1e-4, rel=1e-9)
