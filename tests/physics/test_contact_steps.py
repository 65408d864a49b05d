"""Steps with contacts against closed forms, for every method."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from final_samples import last_instants

from multibody_cli.methods import METHODS

ROOT = Path(__file__).parents[2]
SLOPE = math.radians(20.0)
G = 9.81

HEAD = "mbsim: 1\nsimulation: {duration: %s, step: 1 ms}\noutput: {every: 1 ms}\n"
FLOOR = "world: {shapes: [{type: plane}]}\n"


def box_on_slope(mu: float) -> str:
    turn = "rotation: {axis: [0, 1, 0], angle: 20 deg}"
    place = f"[{0.05 * math.sin(SLOPE)!r}, 0, {0.05 * math.cos(SLOPE)!r}]"
    return (
        HEAD % "20 ms"
        + f"world: {{shapes: [{{type: plane, {turn}}}]}}\ncontacts: {{friction: {mu}}}\n"
        + f"bodies: {{box: {{mass: 1, shapes: [{{type: box, size: [0.2, 0.2, 0.1]}}], {turn}, position: {place}}}}}\n"
    )


def falling_rod(restitution: float) -> str:
    """A rod at 30 degrees that comes down without turning, with no gravity, and meets the floor in the first step."""
    height = 0.5 * math.sin(math.pi / 6) + 0.01
    moment = 1.0 / 12.0
    return (
        HEAD % "1 ms"
        + FLOOR
        + f"gravity: [0, 0, 0]\ncontacts: {{friction: 0, restitution: {restitution}}}\n"
        + f"bodies: {{rod: {{mass: 1, inertia: {{principal: [{moment!r}, {moment!r}, 1e-3]}}, com: [0, 0, 0], "
        + "shapes: [{type: capsule, radius: 0.01, length: 1}], rotation: {axis: [0, 1, 0], angle: 60 deg}, "
        + f"position: [0, 0, {height!r}], velocity: {{linear: [0, 0, -2]}}}}}}\n"
    )


TURNED = "rotation: {axis: [0, 1, 0], angle: %s}"
ROD = "{mass: 1, shapes: [{type: capsule, radius: 0.02, length: %s, position: %s, " + TURNED + "}]}"

ARM = (
    HEAD % "20 ms"
    + "world: {shapes: [{type: plane, position: [0, 0, -0.3]}]}\ncontacts: {friction: 0.3}\n"
    + f"bodies: {{a: {ROD % (0.56, '[0.3, 0, 0]', '90 deg')}, b: {ROD % (0.36, '[0.2, 0, 0]', '90 deg')}}}\n"
    + "joints:\n  j1: {type: revolute, child: a, axis: [0, 1, 0], q: 16 deg, v: 1}\n"
    + "  j2: {type: revolute, parent: a, child: b, axis: [0, 1, 0], origin: {position: [0.6, 0, 0]}}\n"
)

LOOP = (
    HEAD % "20 ms"
    + "world: {shapes: [{type: plane, position: [0, 0, -0.6]}]}\ncontacts: {friction: 0.3}\n"
    + f"bodies: {{a: {ROD % (0.5, '[0, 0, -0.3]', 0)}, b: {ROD % (0.36, '[0.2, 0, 0]', '90 deg')}, "
    + f"c: {ROD % (0.5, '[0, 0, -0.3]', 0)}}}\n"
    + "joints:\n  j1: {type: revolute, child: a, axis: [0, 1, 0], q: 15 deg, v: -2}\n"
    + "  j2: {type: revolute, parent: a, child: b, axis: [0, 1, 0], origin: {position: [0, 0, -0.6]}, "
    + "q: -15 deg, v: 2}\n"
    + "  j3: {type: revolute, child: c, axis: [0, 1, 0], origin: {position: [0.4, 0, 0]}, q: 15 deg, v: -2}\n"
    + "  j4: {type: revolute, parent: b, child: c, axis: [0, 1, 0], origin: {position: [0.4, 0, 0]}, "
    + "child_origin: {position: [0, 0, -0.6]}}\n"
)

SCENES = {
    "arm": ARM,
    "loop": LOOP,
    "stick": box_on_slope(0.4),
    "slide": box_on_slope(0.2),
    "rod_0": falling_rod(0.0),
    "rod_half": falling_rod(0.5),
    "rod_1": falling_rod(1.0),
    "stack": HEAD % "10 ms"
    + FLOOR
    + "contacts: {friction: 0.5}\n"
    + "bodies:\n"
    + "".join(
        f"  b{k}: {{mass: 0.5, shapes: [{{type: box, size: [0.1, 0.1, 0.1]}}], position: [0, 0, {0.05 + 0.1 * k}]}}\n"
        for k in range(3)
    ),
    "pendulum": HEAD % "10 ms"
    + "world: {shapes: [{type: plane, position: [0, 0, -1]}]}\ncontacts: {friction: 0.3}\n"
    + "bodies: {rod: {mass: 1, shapes: [{type: sphere, radius: 0.1, position: [0, 0, -0.45]}]}}\n"
    + "joints: {hinge: {type: prismatic, axis: [0, 0, 1], child: rod, q: -0.45}}\n",
    "table": HEAD % "10 ms"
    + "contacts: {friction: 0.9}\n"
    + "bodies:\n"
    + "  table: {mass: 5, shapes: [{type: box, size: [4, 1, 0.2]}]}\n"
    + "  box: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.2], "
    + "velocity: {linear: [0.5, 0, 0]}}\n"
    + "joints: {rail: {type: prismatic, axis: [1, 0, 0], child: table, motion: {position: 0.5*t + 2*t**2}}}\n",
    "turntable": HEAD % "100 ms"
    + "contacts: {friction: 0.9}\n"
    + "bodies:\n"
    + "  table: {mass: 5, shapes: [{type: cylinder, radius: 1, length: 0.2}]}\n"
    + "  box: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0.5, 0, 0.2], "
    + "velocity: {linear: [0, 1, 0], angular: [0, 0, 2]}}\n"
    + "joints: {axle: {type: revolute, axis: [0, 0, 1], child: table, motion: {velocity: 2}}}\n",
    "lever": HEAD % "10 ms"
    + FLOOR
    + "contacts: {friction: 0}\n"
    + "bodies: {bar: {mass: 2, com: [0.3, 0, 0], inertia: {principal: [0.1, 0.1, 0.1]}, "
    + "shapes: [{type: sphere, radius: 0.1, position: [1, 0, 0]}]}}\n"
    + "joints: {hinge: {type: revolute, axis: [0, 1, 0], child: bar, origin: {position: [0, 0, 0.1]}}}\n",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict]:
    """The last instants of all scenes by all methods."""
    folder = tmp_path_factory.mktemp("contacts")
    paths = [folder / f"{name}.yaml" for name in SCENES]
    for path in paths:
        path.write_text(SCENES[path.stem])
    return last_instants(paths)


METHOD = pytest.mark.parametrize("method", sorted(METHODS))


@METHOD
def test_a_box_below_the_threshold_of_friction_does_not_creep(found, method):
    run = found["stick", method]
    assert math.hypot(*run["bodies/linear_velocity"][0]) < 1e-15
    assert abs(run["energy/total"] - run["energy/first"]) < 1e-14
    assert run["creep"] < 1e-15
    assert run["mode"] == [1, 1, 1, 1]
    weight, step = 9.81, 1e-3
    assert sum(run["normal_impulse"]) == pytest.approx(weight * math.cos(SLOPE) * step, rel=1e-12)
    pull = [sum(impulse[k] for impulse in run["tangential_impulse"]) for k in range(3)]
    assert math.hypot(*pull) == pytest.approx(weight * math.sin(SLOPE) * step, rel=1e-12)


@METHOD
def test_a_box_above_it_slides_as_coulomb_says(found, method):
    run = found["slide", method]
    speed = (math.sin(SLOPE) - 0.2 * math.cos(SLOPE)) * G * 0.02
    x, y, z = run["bodies/linear_velocity"][0]
    assert x == pytest.approx(speed * math.cos(SLOPE), rel=1e-12)
    assert z == pytest.approx(-speed * math.sin(SLOPE), rel=1e-12)
    assert abs(y) < 1e-13
    assert math.hypot(*run["bodies/angular_velocity"][0]) < 1e-12
    friction = 0.2 * G * math.cos(SLOPE) * 0.5 * speed * 0.02
    assert run["energy/dissipation/contacts/friction"] == pytest.approx(friction, rel=1e-9)
    assert abs(run["energy/dissipation/contacts/impact"]) < 1e-14


@METHOD
@pytest.mark.parametrize(("scene", "e"), [("rod_0", 0.0), ("rod_half", 0.5), ("rod_1", 1.0)])
def test_an_impact_gives_back_the_share_of_restitution(found, method, scene, e):
    """J = (1 + e) v / (1/m + l^2 cos^2 / I) at the lower end of the rod."""
    run = found[scene, method]
    arm = 0.5 * math.cos(math.pi / 6)
    J = (1.0 + e) * 2.0 / (1.0 + arm**2 * 12.0)
    assert run["bodies/linear_velocity"][0][2] == pytest.approx(J - 2.0, rel=1e-9)
    assert abs(run["bodies/angular_velocity"][0][1]) == pytest.approx(12.0 * J * arm, rel=1e-9)
    lost = 2.0 - 0.5 * ((J - 2.0) ** 2 + 12.0 * (J * arm) ** 2)
    assert run["energy/dissipation/contacts/impact"] == pytest.approx(lost, abs=1e-9)


@METHOD
def test_a_stack_rests(found, method):
    run = found["stack", method]
    assert max(math.hypot(*v) for v in run["bodies/linear_velocity"]) < 1e-14
    assert run["energy/rise"] < 1e-14
    on_floor = sum(x for x, a in zip(run["normal_impulse"], run["body_a"], strict=True) if a == -1)
    assert on_floor == pytest.approx(3 * 0.5 * G * 1e-3, rel=1e-12)


@METHOD
def test_a_body_on_a_joint_rests_on_the_floor(found, method):
    run = found["pendulum", method]
    assert math.hypot(*run["bodies/linear_velocity"][0]) < 1e-14


@METHOD
def test_a_lever_on_the_floor_loads_its_hinge_as_statics_says(found, method):
    """The contact bears 0.3 of the weight, and the hinge the rest."""
    run, weight = found["lever", method], 2.0 * G
    assert run["normal_impulse"] == pytest.approx([0.3 * weight * 1e-3], rel=1e-12)
    assert run["joints/hinge/force"] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, 0.7 * weight], abs=1e-11)
    assert run["joints/hinge/acceleration"] == pytest.approx([0.0], abs=1e-11)


@METHOD
@pytest.mark.parametrize(("scene", "bodies"), [("arm", 2), ("loop", 3)])
def test_machines_meet_the_floor_alike_by_every_method(found, method, scene, bodies):
    """Two links that fall onto a floor, and a four-bar whose coupler does: joints and loops hold while they strike."""
    run = found[scene, method]
    assert run["energy/dissipation/contacts/impact"] > 0.1
    assert run["energy/rise"] < 1e-3  # of the integration of the joints' rates, 1 ms
    assert run["normal_impulse"]
    assert min(run["gap"]) > -1e-9
    for k in range(bodies):
        # baraff moves bodies, the others joints: their steps differ by the square of the step
        assert run["bodies/position"][k] == pytest.approx(found[scene, "aba"]["bodies/position"][k], abs=1e-6)
    assert run["constraint_error"] < 1e-12


@pytest.mark.parametrize("method", [name for name in sorted(METHODS) if METHODS[name].own_integrator is None])
def test_a_box_that_sticks_to_a_driven_table_has_its_velocity(found, method):
    """At the end of the step, not that of the table at its start, which is 4 mm/s less."""
    table, box = found["table", method]["bodies/linear_velocity"]
    assert table[0] == pytest.approx(0.54, abs=1e-14)
    assert box == pytest.approx(table, abs=1e-12)


@METHOD
def test_a_box_that_sticks_to_a_turntable_separates_in_the_first_order_of_the_step(found, method):
    """A step moves it along the tangent at its start: outward at h w^2 r / 2, with the angle of the table."""
    run, h, w, r, T = found["turntable", method], 1e-3, 2.0, 0.5, 0.1
    x, y, _ = run["bodies/position"][1]
    assert run["mode"] == [1, 1, 1, 1]
    assert run["creep"] < 1e-14
    assert math.hypot(x, y) - r == pytest.approx(0.5 * h * w**2 * r * T, rel=1e-3)
    assert math.atan2(y, x) == pytest.approx(w * T, abs=(w * h) ** 2 * w * T)
